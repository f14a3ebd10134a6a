//! Messages that answer others, at hosts.
//!
//! A round of a channel begins when the last message of a round of the channel that it answers is
//! delivered. A channel with a contract sends each message as soon as the message conforms, so its host
//! never has more of it than the contract allows.

use std::collections::{BTreeMap, VecDeque};

use laxity_engine::Stream;
use laxity_model::source::Sizes;
use laxity_qos::channel::{Delivery, Sent};
use laxity_qos::discipline::Class;
use laxity_qos::traffic::LogicalClock;
use laxity_units::{Bytes, Span, Time};

use crate::experiment::{Chance, Experiment, SourceSpec};

/// The channels that answer, and those that are answered.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    of: BTreeMap<usize, Exchanged>,
    /// Channels of which a message is to be scheduled.
    begun: Vec<usize>,
}

/// A channel that answers or is answered.
#[derive(Debug)]
struct Exchanged {
    /// Messages of a round.
    round: u32,
    /// Delivered messages of the current round.
    delivered: u32,
    /// The channels that answer it.
    answers: Vec<usize>,
    /// Its source, if it answers another and sends here.
    source: Option<Answering>,
}

/// The source of a channel that answers another.
#[derive(Debug)]
struct Answering {
    sizes: Sizes,
    random: Stream,
    /// The contract that it keeps.
    clock: Option<LogicalClock>,
    /// It begins the rounds of a closed loop.
    begins: Option<Begins>,
    /// Rounds that are not sent: from when on they can be, the beginning of their exchange, and how many
    /// messages are left.
    waiting: VecDeque<(Time, Time, u32)>,
    /// When the last message was sent, or will be.
    last: Time,
    /// Whether a message is scheduled.
    scheduled: bool,
    /// The beginnings of the exchanges of messages that the host has not answered for.
    sent: VecDeque<Time>,
    /// The same by the number of the message, of messages on their way.
    under_way: BTreeMap<u64, Time>,
}

/// The rounds of a closed loop so far.
#[derive(Debug, Default)]
struct Begins {
    rounds: u64,
    /// The end of the last.
    ended: Time,
}

impl Rounds {
    /// The rounds of `experiment`; `sends` says of a channel whether its source is here.
    pub(super) fn new(experiment: &Experiment, sends: impl Fn(usize) -> bool) -> Self {
        let mut rounds = Self::default();
        for (i, channel) in experiment.channels.iter().enumerate() {
            let SourceSpec::Rounds { sizes, after, .. } = channel.source else { continue };
            let of = |i: usize| Exchanged {
                round: experiment.round_of(i),
                delivered: 0,
                answers: Vec::new(),
                source: None,
            };
            rounds.of.entry(after).or_insert_with(|| of(after)).answers.push(i);
            rounds.of.entry(i).or_insert_with(|| of(i)).source = sends(i).then(|| Answering {
                sizes,
                random: experiment.chance(Chance::Source(i)),
                clock: (channel.class == Class::RealTime).then(|| LogicalClock::new(channel.spec)),
                begins: experiment.begins_rounds(i).then(Begins::default),
                waiting: VecDeque::new(),
                last: Time::ZERO,
                scheduled: false,
                sent: VecDeque::new(),
                under_way: BTreeMap::new(),
            });
        }
        rounds
    }

    /// Whether there are none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Begins the first round of each closed loop.
    pub(super) fn start(&mut self) {
        let begins = |of: &Exchanged| of.source.as_ref().is_some_and(|source| source.begins.is_some());
        let first: Vec<usize> = self.of.iter().filter(|(_, of)| begins(of)).map(|(i, _)| *i).collect();
        first.into_iter().for_each(|i| self.begin(i, Time::ZERO, Time::ZERO));
    }

    /// A channel of which a message is to be scheduled by [`next`](Self::next), if there is one.
    #[inline]
    pub(super) fn poll_begun(&mut self) -> Option<usize> {
        self.begun.pop()
    }

    /// The next message of `channel`: when it is sent, and its size. The one before was sent.
    pub(super) fn next(&mut self, channel: usize) -> Option<(Time, Bytes)> {
        let Exchanged { source, .. } = self.of.get_mut(&channel)?;
        let source = source.as_mut()?;
        let Some((from, beginning, left)) = source.waiting.front_mut() else {
            source.scheduled = false;
            return None;
        };
        let size = source.sizes.draw(&mut source.random);
        let mut at = source.last.max(*from);
        if let Some(clock) = &mut source.clock {
            at = at.max(clock.conforms_from());
            clock.arrive(at, size);
        }
        source.last = at;
        source.scheduled = true;
        source.sent.push_back(*beginning);
        *left -= 1;
        if *left == 0 {
            source.waiting.pop_front();
        }
        Some((at, size))
    }

    /// The host has accepted a message of `channel`, or not.
    pub(super) fn answered(&mut self, channel: usize, answer: Sent) {
        let Some(Exchanged { source: Some(source), .. }) = self.of.get_mut(&channel) else { return };
        let Some(beginning) = source.sent.pop_front() else { return };
        if let Sent::Accepted { message } | Sent::Excess { message } = answer {
            source.under_way.insert(message, beginning);
        }
    }

    /// A message of `channel` is delivered at `now`. Returns the time from the beginning of its exchange if
    /// that is an answer of which it is the last message.
    pub(super) fn deliver(&mut self, now: Time, channel: usize, delivery: &Delivery) -> Option<Span> {
        let of = self.of.get_mut(&channel)?;
        let beginning = match &mut of.source {
            Some(source) => {
                let beginning = source.under_way.remove(&delivery.message);
                // Messages before this one were lost, or overtaken.
                source.under_way = source.under_way.split_off(&delivery.message);
                beginning
            }
            None if delivery.class == Class::RealTime => Some(delivery.due_from),
            None => Some(delivery.sent),
        };
        of.delivered += 1;
        if of.delivered < of.round {
            return None;
        }
        of.delivered = 0;
        let is_answer = of.source.as_ref().is_some_and(|source| source.begins.is_none());
        let answers = std::mem::take(&mut of.answers);
        for answer in &answers {
            let beginning = if self.closes(*answer, now) { now } else { beginning.unwrap_or(now) };
            self.begin(*answer, now, beginning);
        }
        self.of.entry(channel).and_modify(|of| of.answers = answers);
        beginning.filter(|_| is_answer).map(|beginning| now.saturating_since(beginning))
    }

    /// Whether a round of a closed loop ends when one of `channel` is to begin.
    fn closes(&mut self, channel: usize, now: Time) -> bool {
        let source = self.of.get_mut(&channel).and_then(|of| of.source.as_mut());
        let Some(begins) = source.and_then(|source| source.begins.as_mut()) else { return false };
        begins.rounds += 1;
        begins.ended = now;
        true
    }

    /// A round of `channel` can be sent from `now` on, in an exchange that began then or before.
    fn begin(&mut self, channel: usize, now: Time, beginning: Time) {
        let Some(Exchanged { source: Some(source), round, .. }) = self.of.get_mut(&channel) else { return };
        source.waiting.push_back((now, beginning, *round));
        if !std::mem::replace(&mut source.scheduled, true) {
            self.begun.push(channel);
        }
    }

    /// The mean time of a round of the closed loop that `channel` begins, of those that have ended; rounded
    /// down.
    pub(super) fn mean_round(&self, channel: usize) -> Option<Span> {
        let begins = self.of.get(&channel)?.source.as_ref()?.begins.as_ref()?;
        (begins.rounds > 0).then(|| begins.ended.since(Time::ZERO) / begins.rounds)
    }
}
