//! Streams over three nodes beside floods, a violator, and channels that come and go.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use laxity_client::{Contract, Error};

use crate::cases::prompt;
use crate::daemons::{Daemons, count};
use crate::line::{Hosts, pour};
use crate::streams::{Delays, STREAM, put_message};

/// From one channel of the program that opens and closes them to the next.
const COMING: Duration = Duration::from_millis(100);

/// The figures of the run.
pub(crate) struct Kept {
    /// The streams.
    pub(crate) streams: Vec<Delays>,
    /// Messages of the violator: within its contract, and beyond.
    pub(crate) violator: (u64, u64),
    /// Channels that were opened and closed, or refused, beside the streams.
    pub(crate) came: u64,
    /// Late packets that no stop of a daemon covers.
    pub(crate) unexplained: u64,
    /// The longest stop of a daemon.
    pub(crate) longest: Duration,
}

/// Runs three streams for `seconds`.
pub(crate) fn keep(hosts: &Hosts, daemons: &Daemons, seconds: u64) -> Result<Kept, String> {
    let text = |why: Error| why.to_string();
    let (sender, receiver) = (daemons.client(0)?, daemons.client(2)?);
    let names = ["one", "two", "three"];
    let mut listeners = Vec::new();
    for name in names {
        listeners.push(receiver.listen(name).map_err(text)?);
    }
    let _other = receiver.listen("other").map_err(text)?;
    daemons.know(0, "other")?;
    let mut channels = Vec::new();
    for name in names {
        channels.push(sender.open(name, STREAM.contract()).map_err(text)?);
    }
    let mut violator =
        sender.open("other", Contract::periodic(1000, STREAM.period, 8 * STREAM.deadline)).map_err(text)?;
    let (stop, came) = (AtomicBool::new(false), AtomicU64::new(0));
    let (stop, came) = (&stop, &came);
    let streams = std::thread::scope(|scope| {
        let flood = scope.spawn(|| {
            prompt();
            hosts.flood(true, stop)
        });
        let violator = &mut violator;
        scope.spawn(move || {
            prompt();
            pour(stop, 1000, |message| drop(violator.post(message)));
        });
        scope.spawn(move || {
            let asked = Contract::periodic(500, Duration::from_millis(20), Duration::from_millis(40));
            while let (false, Ok(program)) = (stop.load(Ordering::Relaxed), daemons.client(0)) {
                if matches!(program.open("other", asked), Ok(_) | Err(Error::Refused(_))) {
                    came.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(COMING);
            }
        });
        let receivers: Vec<_> = listeners
            .iter_mut()
            .zip(&channels)
            .map(|(listener, channel)| {
                let of = channel.name();
                scope.spawn(move || {
                    prompt();
                    Delays::of_messages(STREAM, listener, of, stop)
                })
            })
            .collect();
        let senders: Vec<_> = channels
            .iter_mut()
            .map(|channel| {
                scope.spawn(move || {
                    prompt();
                    STREAM.send(seconds, |message| put_message(channel, message))
                })
            })
            .collect();
        let sent: Vec<u64> = senders.into_iter().map(|sender| sender.join().expect("it ends")).collect();
        std::thread::sleep(Duration::from_millis(400));
        stop.store(true, Ordering::Relaxed);
        flood.join().expect("the flood ends")?;
        let received = receivers.into_iter().map(|receiver| receiver.join().expect("it ends"));
        Ok::<_, String>(received.zip(sent).map(|(delays, sent)| Delays { sent, ..delays }).collect())
    })?;
    let mut longest = 0;
    for host in 0..3 {
        longest = longest.max(count(&daemons.status(host)?, "stall_longest_us"));
    }
    Ok(Kept {
        streams,
        violator: (violator.accepted(), violator.excess()),
        came: came.load(Ordering::Relaxed),
        unexplained: daemons.sum("late_unexplained")? + daemons.sum("late_by_overruns")?,
        longest: Duration::from_micros(longest),
    })
}
