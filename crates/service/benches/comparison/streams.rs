//! Streams of messages with a number and the instant of sending, and their delays.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use laxity_client::{Channel, ChannelName, Contract, Listener};
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Payload of a datagram of UDP.
const DATAGRAM: usize = 1400;
/// The number of a message of no stream.
const FOREIGN: u64 = u64::MAX;
/// A wait for a message is at most so long, so that the end is noticed.
const LOOK: Duration = Duration::from_millis(50);

/// Messages of `size` bytes, one in each `period`, each due within `deadline`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) size: usize,
    pub(crate) period: Duration,
    pub(crate) deadline: Duration,
    /// The interval of the contract. A sender that was stopped catches up by what it is shorter than
    /// the period.
    pub(crate) interval: Duration,
}

/// The stream of the comparison: 1 kB each 10 ms.
pub(crate) const STREAM: Stream = Stream {
    size: 1000,
    period: Duration::from_millis(10),
    deadline: Duration::from_millis(5),
    interval: Duration::from_millis(5),
};
/// A lawful stream beside it: 75 kB each 50 ms, which take 6.2 ms of the line.
pub(crate) const BULK: Stream = Stream {
    size: 75_000,
    period: Duration::from_millis(50),
    deadline: Duration::from_millis(30),
    interval: Duration::from_millis(45),
};

/// Nanoseconds of `CLOCK_MONOTONIC`, which all namespaces share.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    time.as_nanos() as u64
}

impl Stream {
    /// The contract of the stream.
    pub(crate) fn contract(&self) -> Contract {
        Contract::periodic(self.size as u32, self.interval, self.deadline)
    }

    /// Sends messages for `seconds`, and answers how many.
    pub(crate) fn send(&self, seconds: u64, mut put: impl FnMut(&[u8])) -> u64 {
        let count = u128::from(seconds) * 1_000_000_000 / self.period.as_nanos();
        let begin = now() + 50_000_000;
        let mut message = vec![b'x'; self.size];
        for number in 0..count as u64 {
            let at = Duration::from_nanos(begin) + self.period * number as u32;
            let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &at.into());
            message[..8].copy_from_slice(&number.to_be_bytes());
            message[8..16].copy_from_slice(&now().to_be_bytes());
            put(&message);
        }
        count as u64
    }

    /// Datagrams of a message over UDP.
    fn parts(&self) -> usize {
        self.size.div_ceil(DATAGRAM)
    }
}

/// Sends a message in datagrams, each with the front of the message.
pub(crate) fn put_datagrams(socket: &UdpSocket, message: &[u8]) {
    let mut datagram = [0; DATAGRAM];
    datagram[..16].copy_from_slice(&message[..16]);
    for part in message.chunks(DATAGRAM) {
        // A full queue drops it.
        let _ = socket.send(&datagram[..part.len().max(16)]);
    }
}

/// Sends a message over a channel; waits until it is within the contract.
pub(crate) fn put_message(channel: &mut Channel, message: &[u8]) {
    // A channel that broke is seen by what is lost.
    let _ = channel.send(message);
}

fn front(message: &[u8]) -> Option<(u64, u64)> {
    let word = |at: usize| Some(u64::from_be_bytes(message.get(at..at + 8)?.try_into().ok()?));
    Some((word(0)?, word(8)?))
}

/// Messages that arrived, and their delays.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delays {
    /// Messages sent.
    pub(crate) sent: u64,
    /// Nanoseconds from before the call of the sender until the receiver had the whole message.
    pub(crate) delays: Vec<u64>,
    /// Messages that arrived after a later one.
    pub(crate) overtaken: u64,
    /// Messages with another length or other bytes than were sent.
    pub(crate) torn: u64,
    /// The longest delay until the queue of the receiver, as the nodes count it, in nanoseconds.
    pub(crate) worst: u64,
    /// Messages with such a delay above the deadline.
    pub(crate) missed: u64,
    /// The number of the last one.
    pub(crate) last: Option<u64>,
}

impl Delays {
    fn take(&mut self, number: u64, stamp: u64) {
        self.delays.push(now().saturating_sub(stamp));
        self.overtaken += u64::from(self.last.is_some_and(|last| last >= number));
        self.last = Some(number);
    }

    /// Receives datagrams until `stop`.
    pub(crate) fn of_datagrams(stream: Stream, socket: &UdpSocket, stop: &AtomicBool) -> Self {
        let (mut delays, mut parts, mut buffer) = (Self::default(), BTreeMap::new(), [0; 2048]);
        let _ = socket.set_read_timeout(Some(LOOK));
        while !stop.load(Ordering::Relaxed) {
            let Ok(length) = socket.recv(&mut buffer) else { continue };
            let Some((number, stamp)) = front(&buffer[..length]) else { continue };
            let count = parts.entry(number).or_insert(0);
            *count += 1;
            if number != FOREIGN && *count == stream.parts() {
                parts.remove(&number);
                delays.take(number, stamp);
            }
        }
        delays
    }

    /// Receives messages of the channel `of` until `stop`.
    pub(crate) fn of_messages(
        stream: Stream,
        listener: &mut Listener,
        of: ChannelName,
        stop: &AtomicBool,
    ) -> Self {
        let mut delays = Self::default();
        while !stop.load(Ordering::Relaxed) {
            let Ok(Some(message)) = listener.recv_timeout(LOOK) else { continue };
            let Some((number, stamp)) = front(&message.payload) else { continue };
            if message.channel == Some(of) {
                delays.take(number, stamp);
                let whole = message.payload.len() == stream.size;
                let own = whole && message.payload[16..].iter().all(|byte| *byte == b'x');
                delays.torn += u64::from(!own);
                delays.worst = delays.worst.max(message.delay.as_nanos() as u64);
                delays.missed += u64::from(message.delay > stream.deadline);
            }
        }
        delays
    }

    /// Messages that were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.delays.len() as u64)
    }

    /// Messages that arrived after `deadline`.
    pub(crate) fn late(&self, deadline: Duration) -> u64 {
        self.delays.iter().filter(|delay| u128::from(**delay) > deadline.as_nanos()).count() as u64
    }

    /// The delay that the part `of` of the messages that arrived does not exceed; `None` without any.
    pub(crate) fn quantile(&self, of: f64) -> Option<Duration> {
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        let at = ((of * delays.len() as f64) as usize).min(delays.len().saturating_sub(1));
        delays.get(at).map(|delay| Duration::from_nanos(*delay))
    }
}
