//! `laxity recv`: messages at a name.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use laxity_client::{Channel, ChannelName, Client, Error, Listener};
use laxity_machine::signal::StopOnSignal;

use crate::Exit;
use crate::arguments::Recv;
use crate::service::ping::Probe;
use crate::service::{connect, finish, span};
use crate::terminal::Terminal;

/// A wait for a message is at most so long, so that the end of the time is noticed.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn receive(options: &Recv, terminal: &mut Terminal) -> Exit {
    let outcome = run(options, terminal);
    finish(outcome, terminal)
}

/// Messages of a channel, and their longest delay beside the bound.
#[derive(Default)]
struct Count {
    messages: u64,
    bytes: u64,
    worst: Duration,
    /// `None` for datagrams, and while the daemon does not know the channel.
    bound: Option<Duration>,
    late: u64,
    lost: u64,
}

impl Count {
    /// Counts a message with that delay. Another contract has another bound, so the daemon is asked
    /// again about a message that is late.
    fn add(&mut self, length: usize, delay: Duration, bound: impl FnOnce() -> Option<Duration>) {
        self.messages += 1;
        self.bytes += length as u64;
        self.worst = self.worst.max(delay);
        let is_late = |bound: Option<Duration>| bound.is_none_or(|bound| delay > bound);
        if is_late(self.bound) {
            self.bound = bound().or(self.bound);
            self.late += u64::from(self.bound.is_some() && is_late(self.bound));
        }
    }
}

/// The bound of a channel that ends at the node.
fn bound(client: &Client, channel: Option<ChannelName>) -> Option<Duration> {
    let row = client.status().ok()?.rows.into_iter().find(|row| Some(row.channel) == channel)?;
    Some(Duration::from_nanos(row.contract.deadline_ns))
}

fn run(options: &Recv, terminal: &mut Terminal) -> Result<Exit, Error> {
    let stop = StopOnSignal::install().map_err(|refused| Error::Failed(refused.to_string()))?;
    let client = connect(&options.daemon)?;
    let mut listener = client.listen(&options.name)?;
    terminal.note(&format!("listening at `{}` on {}", options.name, client.node()));
    let mut counts = BTreeMap::new();
    let outcome = take(options, (&client, &mut listener), &mut counts, &stop);
    // Of what has come before a signal, or before the daemon went, too.
    if options.report {
        terminal.line("channel        messages     bytes   worst delay         bound      late      lost");
        for (channel, count) in &counts {
            let name = channel.map_or_else(|| "datagrams".to_owned(), |name| name.to_string());
            let [worst, bound] = [Some(count.worst), count.bound]
                .map(|time| time.map_or_else(|| "none".to_owned(), |time| span(time.as_nanos() as u64)));
            let Count { messages, bytes, late, lost, .. } = count;
            let mark = if *late + *lost > 0 { " !" } else { "" };
            terminal.line(&format!(
                "{name:<14} {messages:>8} {bytes:>9} {worst:>13} {bound:>13} {late:>9} {lost:>9}{mark}"
            ));
        }
    }
    let failed = counts.values().any(|count| count.late + count.lost > 0);
    let asked = options.count.unwrap_or(options.report.into());
    outcome.map(|taken| match options.report && failed {
        true => Exit::Fails,
        false if taken < asked => Exit::NotJudged,
        false => Exit::Holds,
    })
}

/// Takes messages until their number, the time or a signal ends it: how many.
#[allow(clippy::disallowed_methods, reason = "the user asks for a time by the machine's clock")]
fn take(
    options: &Recv,
    (client, listener): (&Client, &mut Listener),
    counts: &mut BTreeMap<Option<ChannelName>, Count>,
    stop: &StopOnSignal,
) -> Result<u64, Error> {
    let end = options.time.map(|time| Instant::now() + Duration::from_secs_f64(time.as_secs_f64()));
    let mut taken = 0;
    let (mut replies, mut out) = (BTreeMap::new(), std::io::stdout().lock());
    let goes_on = || !stop.flag().is_set() && end.is_none_or(|end| Instant::now() < end);
    while options.count.is_none_or(|count| taken < count) && goes_on() {
        let Some(message) = listener.recv_timeout(LOOK)? else { continue };
        if options.report {
            let count: &mut Count = counts.entry(message.channel).or_default();
            let bound = || message.channel.and_then(|_| bound(client, message.channel));
            count.add(message.payload.len(), message.delay, bound);
            count.lost += u64::from(message.lost);
        }
        taken += 1;
        if options.echo {
            echo(client, &mut replies, message.channel, &message.payload)?;
        } else if !options.report {
            out.write_all(&message.payload).and_then(|()| out.flush())?;
        }
    }
    Ok(taken)
}

/// Sends a message of `laxity ping` back, over a channel of the same contract.
fn echo(
    client: &Client,
    replies: &mut BTreeMap<ChannelName, Channel>,
    channel: Option<ChannelName>,
    payload: &[u8],
) -> Result<(), Error> {
    let (Some(name), Some(probe)) = (channel, Probe::read(payload)) else { return Ok(()) };
    if let std::collections::btree_map::Entry::Vacant(entry) = replies.entry(name) {
        entry.insert(client.open(&probe.reply, probe.contract)?);
    }
    let reply = replies.get_mut(&name).expect("it was opened");
    match reply.try_send(payload) {
        // The program that asked is gone.
        Err(Error::Lost | Error::Ended) => drop(replies.remove(&name)),
        Err(Error::Excess) | Ok(()) => {}
        Err(other) => return Err(other),
    }
    Ok(())
}

/// Waits for a message, for `ping`.
pub(crate) fn next(listener: &mut Listener, most: Duration) -> Result<Option<Vec<u8>>, Error> {
    Ok(listener.recv_timeout(most)?.map(|message| message.payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_late_by_the_bound_of_the_contract_in_use() {
        let ms = Duration::from_millis;
        let mut count = Count::default();
        count.add(10, ms(4), || Some(ms(5)));
        count.add(10, ms(5), || panic!("a message within the bound asks for nothing"));
        count.add(10, ms(6), || Some(ms(5)));
        assert_eq!((count.messages, count.bytes, count.late), (3, 30, 1));
        count.add(10, ms(7), || Some(ms(8)));
        count.add(10, ms(9), || None);
        assert_eq!((count.bound, count.late, count.worst), (Some(ms(8)), 2, ms(9)));
        let mut datagrams = Count::default();
        datagrams.add(10, Duration::ZERO, || None);
        assert_eq!((datagrams.bound, datagrams.late), (None, 0));
    }
}
