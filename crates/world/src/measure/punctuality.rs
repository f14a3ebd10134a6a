//! How many messages were there by their deadline, of those that were sent within their contract.
//!
//! Counts of late messages are of messages that arrive, so a channel that drops every tenth message
//! misses no deadline. An application has another question: of the messages that it sent, how many
//! were there by their deadline. A message that was dropped, lost, refused or left in a queue was
//! not. A message beyond the contract has no guarantee and does not count: with `ℓ` for the logical
//! arrival, by a clock that only messages within the contract move, a message sent at `t` is within
//! the contract if
//!
//! ```text
//! ℓ ≤ t + (B_max − 1) I_min
//! ```
//!
//! and keeps the further limits of the contract, each by a clock of its own in the same way.
//!
//! A message larger than `M_max` counts by the `ℓ` of its last piece, as the host carries it. One that
//! the host drops for its size, too small or not divisible into pieces, is beyond the contract.
//!
//! A host that enforces contracts spends the contract on each message that it accepts. So a source
//! that sends too much finds its queue full of its own excess, though some of its messages are within
//! the contract by the clock above. A drop counts as *blocked* if the message is beyond the contract by
//! a clock that all accepted messages move. A blocked message was not in time, and is no failure of the
//! host. By the second clock at most `B_max − 1` earlier messages have a logical arrival still ahead of
//! a message within the contract, so that message finds its buffers. A source that keeps its contract
//! has no blocked message: the messages that the host accepts are some of those that move the first
//! clock.
//!
//! Messages count if they were sent in the window, and their deadlines lie in the run or they were
//! lost in it. A message of which a packet was lost or dropped can never be delivered, so it fails
//! at once: a deadline behind the end of the run does not excuse it. A message of which a network took
//! a packet by its declared impairments fails when its deadline passes, and is excused: such losses are
//! expected.
//!
//! A network can duplicate a packet, and lose one of the two. A message is therefore only marked as
//! lost, and counts as what it was if it arrives all the same.
//!
//! A host on a thread of its own says only at the end what it sent and how that was answered, so
//! what came is kept until then and both are gone through in order.

use std::collections::VecDeque;

use laxity_qos::ahead::{fetch_back, pop_front};
use laxity_qos::channel::{Dropped, Sent};
use laxity_qos::short_queue::ShortQueue;
use laxity_qos::traffic::LogicalClock;
use laxity_units::{Bytes, Span, Time};

/// The report of a host elsewhere on the messages of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// One was offered.
    Offered,
    /// The first that was offered and not answered, or one of what is sent without end, was
    /// answered.
    Answered(Bytes, Sent),
}

/// The messages of a channel with deadlines, and what became of them.
#[derive(Debug, Clone)]
pub(crate) struct Punctuality {
    deadline: Span,
    /// The host's clock of logical arrivals; `None` where it enforces no contract.
    clock: Option<LogicalClock>,
    /// The clocks of the contract's limits by which messages count, moved by those alone; none if all of
    /// them count.
    contract: Vec<LogicalClock>,
    /// When messages were offered that are not answered yet, and whether in the window.
    offered: ShortQueue<(Time, bool)>,
    /// Messages under way, by their numbers, in which they arrive and usually leave.
    under_way: VecDeque<UnderWay>,
    /// By how much our clock is ahead of the host's, which takes back what it drops.
    ahead: Span,
    /// Deadlines of those that came, and whether in time; as soon as they are past, they are counted.
    settled: ShortQueue<(Time, bool)>,
    in_time: u64,
    due: u64,
    blocked: u64,
    /// The fates of messages, until the host has reported them; `None` if the host is here.
    came: Option<Vec<(Time, u64, Fate)>>,
}

/// The fate of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It arrived, and its deadline counts from then.
    Arrived(Time),
    /// A packet of it was lost or dropped.
    Lost,
    /// Declared impairments took a packet of it.
    Impaired,
}

/// A message that was taken and has not arrived.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    message: u64,
    deadline: Time,
    /// It was offered in the window.
    counted: bool,
    /// A packet of it was lost or dropped.
    lost: bool,
    /// Declared impairments took a packet of it.
    impaired: bool,
}

impl Punctuality {
    /// Of a channel with `deadline`, under `contract` if it is enforced.
    pub(crate) fn new(deadline: Span, contract: Option<LogicalClock>) -> Self {
        Self {
            deadline,
            clock: contract,
            contract: Vec::new(),
            offered: ShortQueue::new(),
            under_way: VecDeque::new(),
            ahead: Span::ZERO,
            settled: ShortQueue::new(),
            in_time: 0,
            due: 0,
            blocked: 0,
            came: None,
        }
    }

    /// The same, where only messages within `contract` count: a clock for each limit.
    #[must_use]
    pub(crate) fn within(self, contract: Vec<LogicalClock>) -> Self {
        Self { contract, ..self }
    }

    /// Whether a message of `size` sent at `now` is within the contract.
    fn conforms(&mut self, now: Time, size: Bytes) -> bool {
        let conforms = self.contract.iter().all(|clock| clock.conforms(now, size));
        if conforms {
            for clock in &mut self.contract {
                clock.arrive(now, size);
            }
        }
        conforms
    }

    /// The same for a host that reports at the end.
    #[must_use]
    pub(crate) fn told_later(self) -> Self {
        Self { came: Some(Vec::new()), ..self }
    }

    /// Prefetches the slots of a message.
    #[inline]
    pub(crate) fn fetch(&self) {
        fetch_back(&self.under_way);
        self.settled.fetch_back();
    }

    /// Applies the host's report on a run of which the window was from `opened` to `closed`.
    pub(crate) fn hear(&mut self, said: &[(Time, Said)], opened: Time, closed: Time) {
        let mut came = self.came.take().unwrap_or_default().into_iter().peekable();
        for (at, said) in said {
            while let Some(one) = came.next_if(|(now, ..)| now < at) {
                self.end_as_said(one);
            }
            let counted = opened <= *at && *at < closed;
            match said {
                Said::Offered => self.offer(*at, counted),
                Said::Answered(size, answer) => self.answer(*at, *size, *answer, counted),
            }
        }
        came.for_each(|one| self.end_as_said(one));
    }

    fn end_as_said(&mut self, (now, message, fate): (Time, u64, Fate)) {
        match fate {
            Fate::Arrived(due_from) => self.arrive(now, message, due_from),
            Fate::Lost => self.lose(now, message),
            Fate::Impaired => self.impair(now, message),
        }
    }

    /// A message was offered; `counted` if in the window.
    pub(crate) fn offer(&mut self, now: Time, counted: bool) {
        self.offered.push_back((now, counted));
    }

    /// The message that was offered first was answered; `counted` if now is in the window, for what
    /// is never offered.
    pub(crate) fn answer(&mut self, now: Time, size: Bytes, answer: Sent, counted: bool) {
        let counted = self.offered.pop_front().map_or(counted, |(_, counted)| counted);
        let counted = counted
            & match answer {
                Sent::WouldBlock => true,
                Sent::Dropped(Dropped::Oversize | Dropped::Undersized) => false,
                _ => self.conforms(now, size),
            };
        match answer {
            Sent::Accepted { message } => {
                let arrival = self.clock.as_mut().map(|clock| clock.arrive(now, size));
                let from = arrival.map_or(now, |arrival| arrival.at.saturating_add(arrival.stretch));
                self.depart(message, from, counted);
            }
            Sent::Excess { message } => {
                self.depart(message, now, counted);
            }
            Sent::Dropped(_) if counted => {
                self.count(false);
                self.blocked += u64::from(self.clock.is_some_and(|clock| !clock.conforms(now, size)));
            }
            Sent::Dropped(_) => {}
            Sent::WouldBlock => {}
        }
    }

    /// A message of which the deadline counts from `from` is under way, the last by its number.
    fn depart(&mut self, message: u64, from: Time, counted: bool) {
        debug_assert!(self.under_way.back().is_none_or(|last| last.message < message));
        let deadline = from.saturating_add(self.deadline);
        self.under_way.push_back(UnderWay { message, deadline, counted, lost: false, impaired: false });
    }

    /// A packet of message `message` was lost or dropped.
    pub(crate) fn lose(&mut self, now: Time, message: u64) {
        if let Some(one) = self.marked(now, message, Fate::Lost) {
            one.lost = true;
        }
    }

    /// Declared impairments took a packet of message `message`.
    pub(crate) fn impair(&mut self, now: Time, message: u64) {
        if let Some(one) = self.marked(now, message, Fate::Impaired) {
            one.impaired = true;
        }
    }

    /// A message that is under way, if the host is here.
    fn marked(&mut self, now: Time, message: u64, fate: Fate) -> Option<&mut UnderWay> {
        if let Some(came) = &mut self.came {
            came.push((now, message, fate));
            return None;
        }
        let place = self.under_way.binary_search_by_key(&message, |other| other.message).ok()?;
        Some(&mut self.under_way[place])
    }

    /// Takes out a message that is under way: mostly the first.
    fn end(&mut self, message: u64) -> Option<UnderWay> {
        if self.under_way.front()?.message == message {
            return pop_front(&mut self.under_way);
        }
        let place = self.under_way.binary_search_by_key(&message, |other| other.message).ok()?;
        self.under_way.remove(place)
    }

    /// Message `message`, of which the deadline counts from `due_from`, is at its destination.
    pub(crate) fn arrive(&mut self, now: Time, message: u64, due_from: Time) {
        if let Some(came) = &mut self.came {
            came.push((now, message, Fate::Arrived(due_from)));
            return;
        }
        let Some(UnderWay { deadline, counted, .. }) = self.end(message) else { return };
        let due = due_from.saturating_add(self.deadline);
        self.ahead = deadline.saturating_since(due);
        if counted {
            self.settle(now, due, now <= due);
        }
    }

    fn settle(&mut self, now: Time, due: Time, in_time: bool) {
        // First, for then the one that waits mostly waits alone.
        while self.settled.front().is_some_and(|(due, _)| *due <= now) {
            self.count_first();
        }
        match due <= now {
            true => self.count(in_time),
            false => self.settled.push_back((due, in_time)),
        }
    }

    fn count_first(&mut self) {
        let (_, in_time) = self.settled.pop_front().expect("there is a first");
        self.count(in_time);
    }

    fn count(&mut self, in_time: bool) {
        self.due += 1;
        self.in_time += u64::from(in_time);
    }

    /// The messages that count in a run that ends at `end`, and those that came in time; `None` if
    /// none counts.
    pub(crate) fn kept(mut self, end: Time) -> Option<Kept> {
        self.settled.retain(|(due, _)| *due <= end);
        while !self.settled.is_empty() {
            self.count_first();
        }
        let failed =
            |one: &UnderWay| one.counted && (one.lost || one.deadline <= end.saturating_add(self.ahead));
        let failed: Vec<&UnderWay> = self.under_way.iter().filter(|one| failed(one)).collect();
        let unanswered = self.offered.iter().filter(|(_, counted)| *counted);
        let unanswered = unanswered.filter(|(at, _)| at.saturating_add(self.deadline) <= end).count();
        let due = self.due + (failed.len() + unanswered) as u64;
        let impaired = failed.iter().filter(|one| one.impaired).count() as u64;
        (due > 0).then_some(Kept { due, in_time: self.in_time, blocked: self.blocked, impaired })
    }
}

/// The outcome of the messages of a channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Messages sent within their contract that were lost, or of which the deadlines lie in the run.
    pub(crate) due: u64,
    /// Those among them that came in time.
    pub(crate) in_time: u64,
    /// Those that were dropped behind messages of the channel beyond its contract.
    pub(crate) blocked: u64,
    /// Those that failed and of which declared impairments took a packet.
    pub(crate) impaired: u64,
}

impl Kept {
    /// Messages that were late, lost, dropped or incomplete, without those that were blocked.
    pub(crate) fn failed(self) -> u64 {
        self.due - self.in_time - self.blocked
    }

    /// The share that came in time; at least one message was due.
    pub(crate) fn share(self) -> f64 {
        self.in_time as f64 / self.due as f64
    }
}

#[cfg(test)]
mod tests;
