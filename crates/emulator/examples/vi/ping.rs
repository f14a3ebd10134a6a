use std::time::Instant;

use laxity_vi::{Address, Descriptor, Nic, Region, Vi, ViAttributes, ViError};

/// Bytes of a message; and the values of Nagar et al. for SVIA, PVIA and QoSVIA in microseconds:
/// Table 1's one-way latency, and Table 2's with bulks. Its row for 16 KiB has two values for three
/// systems.
const SIZES: [(usize, [u32; 3], [Option<u32>; 3]); 4] = [
    (4, [30, 69, 73], [Some(8), Some(26), Some(32)]),
    (1024, [53, 90, 90], [Some(14), Some(28), Some(34)]),
    (4096, [121, 153, 157], [Some(48), Some(36), Some(46)]),
    (16_384, [385, 423, 426], [None, None, None]),
];
const ROUNDS: u32 = 300;
/// Messages of a bulk.
const BULK: usize = 16;

fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        match look() {
            Some(found) => return found,
            // The other program may be on the same processor.
            None => std::thread::yield_now(),
        }
    }
}

/// Sends `count` messages, or receives as many and posts buffers for the next before it continues.
fn turn(vi: &mut Vi, memory: &Region, size: usize, count: usize, sends: bool) -> Result<(), ViError> {
    let (message, room) = ([memory.segment(0..size)], [memory.segment(1 << 14..1 << 15)]);
    if sends {
        vi.post_sends(&vec![Descriptor::send(&message); count])?;
        for _ in 0..count {
            assert!(until(|| vi.poll_send()).status.is_done());
        }
    } else {
        for _ in 0..count {
            let came = until(|| vi.poll_receive());
            assert!(came.status.is_done() && came.length == size as u32, "{came:?}");
            vi.post_receive(&Descriptor::receive(&room))?;
        }
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "a program measures its own time")]
fn main() -> Result<(), ViError> {
    let nic = Nic::open(std::env::var("ADAPTER").expect("ADAPTER names the socket of one"))?;
    let tag = nic.create_tag()?;
    let memory = nic.register(1 << 15, tag, Default::default())?;
    let mut vi = nic.create_vi(&ViAttributes::new(tag))?;
    vi.post_receives(&vec![Descriptor::receive(&[memory.segment(1 << 14..1 << 15)]); 2 * BULK])?;
    let calls = nic.attributes().host == 0;
    if calls {
        vi.connect(Address { host: 1, discriminator: 1 }, None)?;
        println!("us one way       ping-pong                      ping-bulk of {BULK}");
        println!("      B   here    SVIA  PVIA  QoSVIA    here    SVIA  PVIA  QoSVIA");
    } else {
        println!("ready");
        nic.accept(nic.wait_connection(1, None)?, &vi)?;
    }
    for (size, table_1, table_2) in SIZES {
        // Half of the median round, and of the mean of bulks.
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let began = Instant::now();
            turn(&mut vi, &memory, size, 1, calls)?;
            turn(&mut vi, &memory, size, 1, !calls)?;
            rounds.push(began.elapsed());
        }
        rounds.sort();
        let began = Instant::now();
        for _ in 0..ROUNDS / 10 {
            turn(&mut vi, &memory, size, BULK, calls)?;
            turn(&mut vi, &memory, size, BULK, !calls)?;
        }
        let messages = f64::from(ROUNDS / 10) * 2.0 * BULK as f64;
        if calls {
            let [bulk, one_way] =
                [began.elapsed().as_secs_f64() / messages, rounds[rounds.len() / 2].as_secs_f64() / 2.0];
            let [s, p, q] = table_1;
            let [bulk_s, bulk_p, bulk_q] = table_2.map(|us| us.map_or("-".into(), |us| us.to_string()));
            println!(
                "{size:>7} {:>6.1} {s:>7} {p:>5} {q:>7} {:>7.1} {bulk_s:>7} {bulk_p:>5} {bulk_q:>7}",
                one_way * 1e6,
                bulk * 1e6
            );
        }
    }
    Ok(())
}
