//! Round trips of small messages, beside a blocking exchange over UDP.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use laxity_client::{Client, Contract};

use crate::counted;
use crate::daemons::{Daemons, open};

const TRIPS: usize = 2000;
/// Programs that are connected and silent.
const OTHERS: usize = 20;

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Half a round trip of a blocking exchange over UDP.
fn plain_trip() -> Duration {
    let (here, there) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    here.connect(there.local_addr().unwrap()).unwrap();
    there.connect(here.local_addr().unwrap()).unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok(length) = there.recv(&mut buffer) {
            if there.send(&buffer[..length]).is_err() {
                return;
            }
        }
    });
    let mut buffer = [0; 64];
    let trip = |_| {
        std::thread::park_timeout(Duration::from_micros(300));
        let begin = Instant::now();
        here.send(&[1; 64]).unwrap();
        here.recv(&mut buffer).unwrap();
        begin.elapsed() / 2
    };
    middle((0..TRIPS).map(trip).collect())
}

/// The same over two channels.
fn trip(a: &Client, b: &Client) -> Duration {
    let contract =
        Contract::periodic(64, Duration::from_micros(200), Duration::from_millis(50)).with_burst(4);
    let (mut there, mut here) = (b.listen("there").unwrap(), a.listen("here").unwrap());
    let (mut forth, mut back) = (open(a, "there", contract), open(b, "here", contract));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..TRIPS {
                let message = there.recv().unwrap();
                back.try_send(&message.payload).unwrap();
            }
        });
        let trip = |_| {
            std::thread::park_timeout(Duration::from_micros(300));
            let begin = Instant::now();
            forth.try_send(&[1; 64]).unwrap();
            here.recv().unwrap();
            begin.elapsed() / 2
        };
        middle((0..TRIPS).map(trip).collect())
    })
}

/// Prints the figures.
pub(crate) fn measure(daemons: &Daemons) {
    let (a, b) = (daemons.client(0), daemons.client(1));
    let _others: Vec<Client> = (0..OTHERS).map(|_| daemons.client(0)).collect();
    let ((plain, plain_cpu), (channel, cpu)) = (counted(plain_trip), counted(|| trip(&a, &b)));
    let ratio = channel.as_secs_f64() / plain.as_secs_f64();
    let (plain_cpu, cpu) = (plain_cpu / (2 * TRIPS as u32), cpu / (2 * TRIPS as u32));
    println!(
        "one way, 64 B, program to program, medians of {TRIPS}, {OTHERS} other programs: UDP blocking {plain:.1?}, \
         channel {channel:.1?}, {ratio:.2} times; CPU time {plain_cpu:.1?} and {cpu:.1?}"
    );
}
