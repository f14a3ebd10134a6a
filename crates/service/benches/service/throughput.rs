//! Packets a second on one processor: a plain pair of `sendmmsg` and `recvmmsg`, the messages of a
//! channel, and datagrams; all from program to program. The CPU time of a packet is compared, which
//! other work on the processor does not change.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use laxity_client::{Client, Contract};
use laxity_machine::udp::{UdpReceiver, UdpSender};

use crate::daemons::{Daemons, open, patiently};
use crate::{SECONDS, counted};

/// Packets of a batch.
const BATCH: usize = 32;
/// Lengths of messages in bytes. The longer one fills a packet of 1400 B but for its headers.
const LENGTHS: [usize; 2] = [64, 1300];

/// Packets a second of a thread that sends and receives batches.
fn plain(length: usize) -> f64 {
    let (here, there) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    here.connect(there.local_addr().unwrap()).unwrap();
    let (mut sender, mut receiver, payload) = (UdpSender::new(false), UdpReceiver::new(), vec![1; length]);
    let (begin, mut count) = (Instant::now(), 0_u64);
    while begin.elapsed() < Duration::from_secs(SECONDS) {
        (0..BATCH).for_each(|_| sender.add(&payload));
        sender.flush(&here);
        count += receiver.receive(&there, |_| {}).unwrap_or(0) as u64;
    }
    count as f64 / SECONDS as f64
}

/// Messages a second that `b` receives while `send` sends batches.
fn received(b: &Client, name: &str, send: impl Fn(&AtomicBool) + Sync) -> f64 {
    let mut listener = b.listen(name).unwrap();
    let (stop, mut count) = (AtomicBool::new(false), 0_u64);
    std::thread::scope(|scope| {
        scope.spawn(|| send(&stop));
        // The first messages are not counted: the sender has to find the receiver.
        while listener.recv_timeout(Duration::from_millis(10)).unwrap().is_none() {}
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(SECONDS) {
            count += u64::from(listener.recv_timeout(Duration::from_millis(10)).unwrap().is_some());
        }
        stop.store(true, Ordering::Relaxed);
        // The sender may wait for its channel, whose last messages are in the way.
        while let Ok(Some(_)) = listener.recv_timeout(Duration::from_millis(20)) {}
    });
    count as f64 / SECONDS as f64
}

fn channel(a: &Client, b: &Client, length: usize) -> f64 {
    let name = format!("channel of {length}");
    received(b, &name, |stop| {
        // A million messages a second: more than the processor has time for.
        let contract = Contract::periodic(length as u32, Duration::from_micros(1), Duration::from_millis(20))
            .with_burst(4096);
        let (mut channel, payload) = (open(a, &name, contract), vec![1; length]);
        while !stop.load(Ordering::Relaxed) {
            let posted = (0..BATCH).take_while(|_| channel.post(&payload).is_ok()).count();
            if posted < BATCH {
                std::thread::yield_now();
            }
        }
    })
}

fn datagrams(a: &Client, b: &Client, length: usize) -> f64 {
    let name = format!("datagrams of {length}");
    received(b, &name, |stop| {
        let (address, payload) = (patiently(|| a.resolve(&name).ok()), vec![1; length]);
        while !stop.load(Ordering::Relaxed) {
            if a.datagrams(address, (0..BATCH).map(|_| &payload[..])) < BATCH {
                std::thread::yield_now();
            }
        }
    })
}

/// Prints the figures.
pub(crate) fn measure(daemons: &Daemons) {
    let (a, b) = (daemons.client(0), daemons.client(1));
    for length in LENGTHS {
        let each = |(rate, cpu): (f64, Duration)| cpu.as_secs_f64() * 1e6 / (rate * SECONDS as f64).max(1.0);
        let plain = each(counted(|| plain(length)));
        println!(
            "plain pair, {length} B: CPU time {plain:.2} us, {:.2} million/s of one processor",
            1.0 / plain
        );
        for (what, measured) in [
            ("channel", counted(|| channel(&a, &b, length))),
            ("datagrams", counted(|| datagrams(&a, &b, length))),
        ] {
            let each = each(measured);
            println!("{what}, {length} B: CPU time {each:.2} us, {:.2} times as fast", plain / each);
        }
    }
}
