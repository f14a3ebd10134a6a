//! A stream that no disturbance of others may touch.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use laxity_client::{Contract, NodeStatus};

use super::net::Net;
use super::{MS, text};

/// The interval of the stream.
const INTERVAL: Duration = Duration::from_millis(5);
/// A stream has more messages than this.
const LEAST: u64 = 10;

pub(crate) fn numbered(number: u64, length: usize) -> Vec<u8> {
    [&number.to_be_bytes()[..], &text(number, length - 8)].concat()
}

/// The number of a message, which is whole.
pub(crate) fn number(message: &[u8]) -> u64 {
    let number = u64::from_be_bytes(message[..8].try_into().unwrap());
    assert_eq!(message, numbered(number, message.len()));
    number
}

pub(crate) fn count(status: &NodeStatus, name: &str) -> u64 {
    status.counters.iter().find(|(known, _)| known == name).map_or(0, |(_, count)| *count)
}

/// Runs `during` beside a stream of 200 B each 5 ms from one node to a neighbour. All of the stream
/// arrives in order and whole, and no packet is late without a stop of the platform. A message may
/// be lost if a daemon was stopped for longer than an interval.
pub(crate) fn beside_a_stream<R>(net: &Net, from: &str, to: &str, during: impl FnOnce() -> R) -> R {
    let (sender, receiver) = (net.client(from), net.client(to));
    let mut listener = receiver.listen("steady").unwrap();
    net.know(from, "steady");
    let mut channel = sender.open("steady", Contract::periodic(200, INTERVAL, 50 * MS)).unwrap();
    let name = channel.name();
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut numbers = Vec::new();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            // A disturbance may be over sooner than a stream is worth a judgement.
            while !stop.load(Ordering::Relaxed) || sent.load(Ordering::Relaxed) <= LEAST {
                channel.send(&numbered(sent.load(Ordering::Relaxed), 200)).unwrap();
                sent.fetch_add(1, Ordering::Relaxed);
            }
        });
        let collected = scope.spawn(|| {
            let mut quiet = 0;
            while quiet < 10 {
                match listener.recv_timeout(50 * MS).unwrap() {
                    Some(message) => {
                        assert_eq!(message.channel, Some(name));
                        numbers.push(number(&message.payload));
                        quiet = 0;
                    }
                    // The sender ends after `stop`: then half a second without a message is the end.
                    None if stop.load(Ordering::Relaxed) => quiet += 1,
                    None => {}
                }
            }
        });
        // A disturbance that panics ends the stream, too.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(during));
        stop.store(true, Ordering::Relaxed);
        collected.join().unwrap();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    assert!(numbers.is_sorted_by(|a, b| a < b), "in order, each once");
    let (sent, status) = (sent.into_inner(), [from, to].map(|node| net.client(node).status().unwrap()));
    let longest = status.iter().map(|status| count(status, "stall_longest_us")).max().unwrap();
    let all = numbers.len() as u64 == sent;
    assert!(all || longest > 5000, "{} of {sent}, and no stop above {longest} us", numbers.len());
    assert!(sent > LEAST && numbers.len() as u64 > sent / 2, "{} of {sent}", numbers.len());
    for status in &status {
        assert_eq!(count(status, "late_unexplained"), 0, "{}: {:?}", status.name, status.stalls);
    }
    channel.close().unwrap();
    outcome
}
