use laxity_vi::{Address, Bandwidth, Descriptor, Error, Nic, ViAttributes};

fn main() -> Result<(), Error> {
    let nic = Nic::open(std::env::var("ADAPTER").expect("ADAPTER names the socket of one"))?;
    let tag = nic.create_tag()?;
    let memory = nic.register(4096, tag, Default::default())?;
    let message = [memory.segment(0..4096)];
    let mut done = nic.create_completion_queue(512)?;
    let film = Bandwidth::Constant { bytes_per_second: 50_000_000, message: 4096 };
    let mut vis = Vec::new();
    for (discriminator, bandwidth, window) in [(1, film, 128), (2, Bandwidth::None, 128)] {
        let wanted = ViAttributes { bandwidth, send_completions: Some(&done), ..ViAttributes::new(tag) };
        let mut vi = nic.create_vi(&wanted)?;
        vi.connect(Address { host: 1, discriminator }, None)?;
        vi.post_sends(&vec![Descriptor::send(&message); window])?;
        vis.push((vi, 0));
    }
    while vis[0].1 < 10_000 {
        let (whose, _) = done.wait(None)?;
        let (vi, sent) = vis.iter_mut().find(|(vi, _)| vi.id() == whose).expect("it is one of the two");
        *sent += u64::from(vi.poll_send().is_some_and(|sent| sent.status.is_done()));
        vi.post_send(&Descriptor::send(&message))?;
    }
    println!("{} messages of the film beside {} of the flood", vis[0].1, vis[1].1);
    Ok(())
}
