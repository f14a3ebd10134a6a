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

/// Messages of a channel, and their longest delay.
#[derive(Default)]
struct Count {
    messages: u64,
    bytes: u64,
    worst: Duration,
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
        terminal.line("channel        messages     bytes   worst delay");
        for (channel, count) in &counts {
            let name = channel.map_or_else(|| "datagrams".to_owned(), |name| name.to_string());
            let worst = span(count.worst.as_nanos() as u64);
            terminal.line(&format!("{name:<14} {:>8} {:>9} {worst:>13}", count.messages, count.bytes));
        }
    }
    outcome.map(|()| Exit::Holds)
}

/// Takes messages until their number, the time or a signal ends it.
#[allow(clippy::disallowed_methods, reason = "the user asks for a time by the machine's clock")]
fn take(
    options: &Recv,
    (client, listener): (&Client, &mut Listener),
    counts: &mut BTreeMap<Option<ChannelName>, Count>,
    stop: &StopOnSignal,
) -> Result<(), Error> {
    let end = options.time.map(|time| Instant::now() + Duration::from_secs_f64(time.as_secs_f64()));
    let mut left = options.count;
    let (mut replies, mut out) = (BTreeMap::new(), std::io::stdout().lock());
    let goes_on = || !stop.flag().is_set() && end.is_none_or(|end| Instant::now() < end);
    while left != Some(0) && goes_on() {
        let Some(message) = listener.recv_timeout(LOOK)? else { continue };
        let count = counts.entry(message.channel).or_default();
        count.messages += 1;
        count.bytes += message.payload.len() as u64;
        count.worst = count.worst.max(message.delay);
        left = left.map(|left| left - 1);
        if options.echo {
            echo(client, &mut replies, message.channel, &message.payload)?;
        } else if !options.report {
            out.write_all(&message.payload).and_then(|()| out.flush())?;
        }
    }
    Ok(())
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
        Err(Error::Lost) => drop(replies.remove(&name)),
        Err(Error::Excess) | Ok(()) => {}
        Err(other) => return Err(other),
    }
    Ok(())
}

/// Waits for a message, for `ping`.
pub(crate) fn next(listener: &mut Listener, most: Duration) -> Result<Option<Vec<u8>>, Error> {
    Ok(listener.recv_timeout(most)?.map(|message| message.payload))
}
