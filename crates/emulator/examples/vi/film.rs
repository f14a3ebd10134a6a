use laxity_vi::{Address, Bandwidth, Descriptor, Nic, ViAttributes, ViError};

fn main() -> Result<(), ViError> {
    let nic = Nic::open(std::env::var("ADAPTER").expect("ADAPTER names the socket of one"))?;
    let tag = nic.create_tag()?;
    let memory = nic.register(4096, tag, Default::default())?;
    let message = [memory.segment(0..4096)];
    let bandwidth = Bandwidth::Constant { bytes_per_second: 50_000_000, message: 4096 };
    let mut film = nic.create_vi(&ViAttributes { bandwidth, ..ViAttributes::new(tag) })?;
    let mut flood = nic.create_vi(&ViAttributes::new(tag))?;
    for (discriminator, vi) in [(1, &mut film), (2, &mut flood)] {
        vi.connect(Address { host: 1, discriminator }, None)?;
        vi.post_sends(&[Descriptor::send(&message); 128])?;
    }
    (0..10_000).try_for_each(|_| {
        while flood.poll_send().is_some() && flood.post_send(&Descriptor::send(&message)).is_ok() {}
        film.wait_send(None)?;
        film.post_send(&Descriptor::send(&message))
    })
}
