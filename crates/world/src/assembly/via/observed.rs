//! Channels on which real programs send.
//!
//! A program identifies its channel by its connection: from the channel's `from` to its `to`, with
//! the channel's number in the file, from 1, as discriminator. The reverse direction is the channel
//! that answers it (`rounds`), if there is one.
//!
//! A message is *sent* when the adapter notices its doorbell, and *received* when the other program
//! is notified: the programs' time to post and to see is not measured. Programs are admitted by the
//! residual capacity of units, which is no bound, so there is no promise here. Rates cover the time
//! from the first doorbell until the last reception.

use laxity_units::{Bytes, Span, Time};

use super::outcome::Counted;
use crate::experiment::{ChannelSpec, Experiment, SourceSpec};
use crate::measure::{Gaps, Meter, Tally};
use crate::promise::Promise;
use crate::results::Channel;

/// The results of a channel on which programs sent.
#[derive(Debug, Clone)]
pub struct Observed {
    route: (u32, u32),
    answer: Option<u32>,
    meter: Meter,
    gaps: Gaps,
    /// How long after it was sent a message may be seen at the earliest.
    playout: Span,
    /// Whether a program ever was this channel.
    seen: bool,
    /// When the first was sent, and the last received.
    from: Option<Time>,
    until: Time,
}

impl Observed {
    /// All channels of `experiment`, without messages.
    pub fn all(experiment: &Experiment) -> Vec<Self> {
        let observed = |channel: &ChannelSpec| Self {
            route: (channel.route[0] as u32, channel.route[1] as u32),
            answer: match channel.source {
                SourceSpec::Rounds { after, .. } => Some(after as u32),
                _ => None,
            },
            meter: Meter { deadline: channel.deadline, ..Meter::default() },
            gaps: Gaps::new(channel.vtick().map(|vtick| vtick.interval())),
            playout: channel.playout.unwrap_or(Span::ZERO),
            seen: false,
            from: None,
            until: Time::ZERO,
        };
        experiment.channels.iter().map(observed).collect()
    }

    /// The places of the channel that a connection is which goes from a node to another and was
    /// asked for at `discriminator`, and of the one that goes back on it.
    pub fn of_connection(all: &mut [Self], (from, to): (u32, u32), discriminator: u64) -> [Option<u32>; 2] {
        let place = discriminator.checked_sub(1).and_then(|place| usize::try_from(place).ok());
        let Some(place) =
            place.filter(|place| all.get(*place).is_some_and(|channel| channel.route == (from, to)))
        else {
            return [None; 2];
        };
        let back = all[place].answer.filter(|back| all[*back as usize].route == (to, from));
        all[place].seen = true;
        back.into_iter().for_each(|back| all[back as usize].seen = true);
        [Some(place as u32), back]
    }

    /// How long after it was rung for a message may be seen at the earliest.
    pub fn playout(&self) -> Span {
        self.playout
    }

    /// A program has rung for a message.
    pub fn send(&mut self, now: Time, size: Bytes) {
        self.from.get_or_insert(now);
        self.meter.offer(size);
    }

    /// The message that was rung for at `sent` was sent, and its program is notified.
    pub fn complete(&mut self, now: Time, sent: Time) {
        self.meter.complete(now, Some(sent));
    }

    /// A message that was rung for at `sent` is there, and its program is notified.
    pub fn receive(&mut self, now: Time, sent: Time, size: Bytes) {
        self.until = now;
        self.meter.take(now, sent, size, true);
        self.meter.delivery_worst = self.meter.delivery_worst.max(Some(now.saturating_since(sent)));
        self.gaps.receive(now, sent, self.gaps.current(), true);
    }

    /// A message found no descriptor, or no receiver.
    pub fn lose(&mut self) {
        self.meter.tally.dropped.add(laxity_qos::channel::Dropped::NoDescriptor, 1);
        self.meter.tally.dropped_packets += 1;
    }

    /// The results until `end` of channel `i` of `experiment`, if a program used it.
    pub(super) fn into_channel(self, experiment: &Experiment, i: usize, end: Time) -> Option<Channel> {
        let Self { meter, gaps, seen, from, until, .. } = self;
        let window = from.map_or(0.0, |from| until.saturating_since(from).as_secs_f64());
        let (opened, ended) = (Tally::default(), meter.tally.clone());
        let counted = Counted { opened: &opened, closed: &ended, ended: &ended, window, end };
        let told = counted.channel(experiment, i, (meter, &gaps), &Promise::BestEffort, &mut None);
        seen.then(|| Channel { no_bound: NO_BOUND.into(), ..told })
    }
}

/// Why there is none.
const NO_BOUND: &str = "a program of its own is promised nothing";
