//! `laxity ping`: round trips over two channels.

use std::time::{Duration, Instant};

use laxity_client::Contract;
use laxity_world::text::clean;

use crate::Exit;
use crate::arguments::Ping;
use crate::service::receive::next;
use crate::service::{Failure, connect, contract, finish, for_seconds, open, span};
use crate::terminal::Terminal;

/// Beyond the interval, in nanoseconds, so that a reply is not early either.
const EARLY: u64 = 100_000;
/// Bytes of a probe before the name of the receiver of replies: number, time, contract.
const FRONT: usize = 8 + 8 + 4 + 8 + 4 + 8 + 1;

/// A message of `laxity ping`.
pub(crate) struct Probe {
    number: u64,
    /// When it was sent, in nanoseconds since the start.
    sent: u64,
    /// The contract of both channels.
    pub(crate) contract: Contract,
    /// The receiver of replies.
    pub(crate) reply: String,
}

impl Probe {
    fn write(&self, size: usize) -> Vec<u8> {
        let contract = &self.contract;
        let mut bytes = Vec::with_capacity(size);
        bytes.extend(self.number.to_be_bytes());
        bytes.extend(self.sent.to_be_bytes());
        bytes.extend(contract.max_message.to_be_bytes());
        bytes.extend(contract.interval_ns.to_be_bytes());
        bytes.extend(contract.burst.to_be_bytes());
        bytes.extend(contract.deadline_ns.to_be_bytes());
        bytes.push(self.reply.len() as u8);
        bytes.extend(self.reply.as_bytes());
        bytes.resize(size.max(bytes.len()), 0);
        bytes
    }

    /// A probe of a message; `None` if it is none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (front, rest) = bytes.split_at_checked(FRONT)?;
        let long = |at: usize| u64::from_be_bytes(front[at..at + 8].try_into().expect("eight bytes"));
        let word = |at: usize| u32::from_be_bytes(front[at..at + 4].try_into().expect("four bytes"));
        let name = rest.get(..usize::from(front[FRONT - 1]))?;
        let contract = Contract {
            max_message: word(16),
            min_message: 1,
            interval_ns: long(20),
            burst: word(28),
            deadline_ns: long(32),
        };
        let reply = std::str::from_utf8(name).ok()?.to_owned();
        Some(Self { number: long(0), sent: long(8), contract, reply })
    }
}

pub(crate) fn ping(options: &Ping, terminal: &mut Terminal) -> Exit {
    let outcome = run(options, terminal);
    finish(outcome, terminal)
}

#[allow(clippy::disallowed_methods, reason = "round trips are measured by the machine's clock")]
fn run(options: &Ping, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let client = connect(&options.daemon)?;
    let reply = format!("ping-{}-{}", client.node(), std::process::id());
    let least = FRONT + reply.len();
    let mut contract = contract(&options.contract);
    contract.max_message = contract.max_message.max(least as u32);
    let mut listener = client.listen(&reply)?;
    let mut channel = open(&client, &options.name, contract, for_seconds, terminal)?;
    terminal.note(&format!("channel {} over {}", channel.name(), channel.route().join(" → ")));
    let (start, size) = (Instant::now(), contract.max_message as usize);
    let since = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let bound = 2 * contract.deadline_ns;
    // The first reply waits for the channel back.
    let patience = Duration::from_nanos(bound) + Duration::from_secs(3);
    let (mut trips, mut late) = (Vec::new(), 0);
    // The first establishes the channel back, and is not counted.
    for number in 0..=options.count {
        let sent = since();
        let probe = Probe { number, sent, contract, reply: reply.clone() };
        channel.send(&probe.write(size))?;
        while let Some(message) = next(&mut listener, patience)? {
            let Some(answer) = Probe::read(&message) else { continue };
            if answer.number == number {
                let trip = since() - answer.sent;
                if number > 0 {
                    trips.push(trip);
                    late += u64::from(trip > bound);
                }
                break;
            }
        }
        // A message that is early would wait for its logical arrival, and the round trip with it.
        let next = sent.saturating_add(contract.interval_ns).saturating_add(EARLY);
        while since() < next {
            std::thread::park_timeout(Duration::from_nanos(next.saturating_sub(since())));
        }
    }
    channel.close()?;
    trips.sort_unstable();
    let Some(worst) = trips.last() else {
        let name = clean(&options.name);
        terminal.line(&format!(
            "no reply to any message; the receiver replies if it is `laxity recv {name} --echo`"
        ));
        return Ok(Exit::Fails);
    };
    let at = |part: f64| span(trips[((trips.len() - 1) as f64 * part) as usize]);
    let lost = options.count - trips.len() as u64;
    terminal.line(&format!(
        "{} round trips: p50 {}, p99 {}, worst {}, bound {}; {late} late, {lost} lost",
        trips.len(),
        at(0.5),
        at(0.99),
        span(*worst),
        span(bound),
    ));
    Ok(if late + lost == 0 { Exit::Holds } else { Exit::Fails })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_read_as_it_was_written() {
        let contract =
            Contract::periodic(200, Duration::from_millis(3), Duration::from_millis(2)).with_burst(4);
        let probe = Probe { number: 7, sent: 9, contract, reply: "ping-a-1".to_owned() };
        let read = Probe::read(&probe.write(200)).unwrap();
        assert_eq!(
            (read.number, read.sent, read.contract, read.reply.as_str()),
            (7, 9, contract, "ping-a-1")
        );
        assert!(Probe::read(&probe.write(0)[..FRONT + 3]).is_none(), "cut off");
    }
}
