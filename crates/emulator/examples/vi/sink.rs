// Receives the messages of `film` at an adapter, at the discriminators 1 and 2. It ends when both
// have ended, and prints the number of messages.

use laxity_vi::{DEPTH, Descriptor, Nic, ViAttributes, ViError};

fn main() -> Result<(), ViError> {
    let nic = Nic::open(std::env::var("ADAPTER").expect("ADAPTER names the socket of one"))?;
    let tag = nic.create_tag()?;
    let memory = nic.register(1 << 16, tag, Default::default())?;
    let room = [memory.segment(0..1 << 16)];
    let mut done = nic.create_completion_queue(2 * DEPTH)?;
    let mut vis = Vec::new();
    for _ in 0..2 {
        let wanted = ViAttributes { receive_completions: Some(&done), ..ViAttributes::new(tag) };
        let mut vi = nic.create_vi(&wanted)?;
        // Posted before the connection, so that no message finds an empty queue.
        vi.post_receives(&vec![Descriptor::receive(&room); DEPTH as usize])?;
        vis.push((vi, 0_u64, true));
    }
    println!("ready");
    for (discriminator, (vi, _, _)) in (1..).zip(&vis) {
        nic.accept(nic.wait_connection(discriminator, None)?, vi)?;
    }
    while vis.iter().any(|(_, _, goes_on)| *goes_on) {
        let (whose, _) = done.wait(None)?;
        let Some((vi, came, goes_on)) = vis.iter_mut().find(|(vi, _, _)| vi.id() == whose) else { continue };
        match vi.poll_receive() {
            Some(message) if message.status.is_done() => {
                *came += 1;
                vi.post_receive(&Descriptor::receive(&room))?;
            }
            // Flushed: the peer has gone.
            Some(_) => *goes_on = false,
            None => {}
        }
    }
    let counts: Vec<String> = vis.iter().map(|(_, came, _)| came.to_string()).collect();
    println!("took {}", counts.join(" and "));
    Ok(())
}
