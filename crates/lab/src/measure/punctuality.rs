//! How much of what was sent came in time.
//!
//! Misses are counted of messages that arrive, so a channel that drops every tenth message misses none. What an
//! application asks is another question: of all that it sent, how much was there by its deadline. A message that was
//! dropped, lost, refused or left in a queue was not. Only messages whose deadlines lie in the run are asked about: of
//! the others nobody can know.

use std::collections::{BTreeMap, VecDeque};

use laxity_qos::channel::Sent;
use laxity_qos::traffic::{LogicalClock, TrafficSpec};
use laxity_units::{Bytes, Span, Time};

/// The messages of a channel with deadlines, and what became of them.
#[derive(Debug, Clone)]
pub(crate) struct Punctuality {
    deadline: Span,
    /// What the host counts logical arrivals by; `None` where it enforces no contract.
    clock: Option<LogicalClock>,
    /// When messages were offered that are not answered yet.
    offered: VecDeque<Time>,
    /// Deadlines of those that are under way, by their numbers.
    under_way: BTreeMap<u64, Time>,
    /// By how much our clock is ahead of the host's, which takes back what it drops.
    ahead: Span,
    /// Deadlines of those that came, were dropped or lost, and whether in time; as soon as they are past, they are counted.
    settled: VecDeque<(Time, bool)>,
    in_time: u64,
    due: u64,
}

impl Punctuality {
    /// Of a channel whose messages have `deadline` in all, under `contract` if it is enforced.
    pub(crate) fn new(deadline: Span, contract: Option<TrafficSpec>) -> Self {
        Self {
            deadline,
            clock: contract.map(LogicalClock::new),
            offered: VecDeque::new(),
            under_way: BTreeMap::new(),
            ahead: Span::ZERO,
            settled: VecDeque::new(),
            in_time: 0,
            due: 0,
        }
    }

    /// A message was offered.
    pub(crate) fn offer(&mut self, now: Time) {
        self.offered.push_back(now);
    }

    /// The message that was offered first was answered.
    pub(crate) fn answer(&mut self, now: Time, size: Bytes, answer: Sent) {
        self.offered.pop_front();
        match answer {
            Sent::Accepted { message } => {
                let arrival = self.clock.as_mut().map(|clock| clock.arrive(now, size));
                let from = arrival.map_or(now, |arrival| arrival.at.saturating_add(arrival.stretch));
                self.under_way.insert(message, from.saturating_add(self.deadline));
            }
            Sent::Excess { message } => {
                self.under_way.insert(message, now.saturating_add(self.deadline));
            }
            Sent::Dropped(_) => self.settle(now, now.saturating_add(self.deadline), false),
            Sent::WouldBlock => {}
        }
    }

    /// Message `message`, whose deadline counts from `due_from`, is where it was to go.
    pub(crate) fn arrive(&mut self, now: Time, message: u64, due_from: Time) {
        let Some(expected) = self.under_way.remove(&message) else { return };
        let due = due_from.saturating_add(self.deadline);
        self.ahead = expected.saturating_since(due);
        self.settle(now, due, now <= due);
    }

    fn settle(&mut self, now: Time, due: Time, in_time: bool) {
        self.settled.push_back((due, in_time));
        while self.settled.front().is_some_and(|(due, _)| *due <= now) {
            self.count_first();
        }
    }

    fn count_first(&mut self) {
        let (_, in_time) = self.settled.pop_front().expect("there is a first");
        self.due += 1;
        self.in_time += u64::from(in_time);
    }

    /// The share that came in time of the messages whose deadlines lie in a run that ends at `end`; `None` if there are
    /// none.
    pub(crate) fn share(mut self, end: Time) -> Option<f64> {
        self.settled.retain(|(due, _)| *due <= end);
        while !self.settled.is_empty() {
            self.count_first();
        }
        let late = self.under_way.values().filter(|due| **due <= end.saturating_add(self.ahead)).count();
        let unanswered = self.offered.iter().filter(|at| at.saturating_add(self.deadline) <= end).count();
        let due = self.due + (late + unanswered) as u64;
        (due > 0).then(|| self.in_time as f64 / due as f64)
    }
}

#[cfg(test)]
mod tests {
    use laxity_qos::channel::Dropped;

    use super::*;

    const SPEC: TrafficSpec = TrafficSpec {
        max_message: Bytes::from_kib(4),
        min_message: Bytes::from_kib(4),
        burst: 3,
        min_interval: Span::from_ms(10),
    };

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    /// Three messages at once, due at 5, 15 and 25 ms.
    fn burst() -> Punctuality {
        let mut punctuality = Punctuality::new(Span::from_ms(5), Some(SPEC));
        for message in 0..3 {
            punctuality.offer(ms(0));
            punctuality.answer(ms(0), SPEC.max_message, Sent::Accepted { message });
        }
        punctuality
    }

    #[test]
    fn what_is_not_due_yet_is_not_asked_about() {
        assert_eq!(burst().share(ms(4)), None);
        assert_eq!(burst().share(ms(20)), Some(0.0));
        let mut some = burst();
        some.arrive(ms(3), 0, ms(0));
        assert_eq!((some.clone().share(ms(4)), some.clone().share(ms(14))), (None, Some(1.0)));
        some.arrive(ms(16), 1, ms(10));
        assert_eq!(some.share(ms(24)), Some(0.5));
    }

    #[test]
    fn what_was_dropped_or_never_taken_was_not_in_time() {
        let mut punctuality = burst();
        (0..3).for_each(|n| punctuality.arrive(ms(n), n, ms(10 * n)));
        punctuality.offer(ms(1));
        punctuality.answer(ms(1), SPEC.max_message, Sent::Dropped(Dropped::MessageQueue));
        assert_eq!(punctuality.clone().share(ms(100)), Some(0.75));
        // The application waits for room that never comes.
        punctuality.offer(ms(90));
        assert_eq!((punctuality.clone().share(ms(94)), punctuality.share(ms(95))), (Some(0.75), Some(0.6)));
    }
}
