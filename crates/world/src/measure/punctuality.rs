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
//! ℓ ≤ t + (B_max − 1) I_min.
//! ```
//!
//! Messages count if they were sent in the window, and their deadlines lie in the run or they were
//! lost in it. A message of which a packet was lost or dropped can never be delivered, so it fails
//! at once: a deadline behind the end of the run does not excuse it. A message that a network lost by
//! its declared impairments fails when its deadline passes, since such losses are expected.
//!
//! A network can duplicate a packet, and lose one of the two. A message is therefore only marked as
//! lost, and counts as what it was if it arrives all the same.
//!
//! A host on a thread of its own says only at the end what it sent and how that was answered, so
//! what came is kept until then and both are gone through in order.

use std::collections::VecDeque;

use laxity_qos::ahead::{fetch_back, pop_front};
use laxity_qos::channel::Sent;
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
    /// The clock of the contract by which messages count, moved by those alone; `None` if all of
    /// them count.
    contract: Option<LogicalClock>,
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
    /// Arrivals and the starts of their deadlines, and losses, which have none, until the host has
    /// reported its messages; `None` if the host is here.
    came: Option<Vec<(Time, u64, Option<Time>)>>,
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
}

impl Punctuality {
    /// Of a channel with `deadline`, under `contract` if it is enforced.
    pub(crate) fn new(deadline: Span, contract: Option<LogicalClock>) -> Self {
        Self {
            deadline,
            clock: contract,
            contract: None,
            offered: ShortQueue::new(),
            under_way: VecDeque::new(),
            ahead: Span::ZERO,
            settled: ShortQueue::new(),
            in_time: 0,
            due: 0,
            came: None,
        }
    }

    /// The same, where only messages within `contract` count.
    #[must_use]
    pub(crate) fn within(self, contract: LogicalClock) -> Self {
        Self { contract: Some(contract), ..self }
    }

    /// Whether a message of `size` sent at `now` is within the contract.
    fn conforms(&mut self, now: Time, size: Bytes) -> bool {
        let Some(clock) = &mut self.contract else { return true };
        let conforms = clock.conforms(now, size);
        if conforms {
            clock.arrive(now, size);
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

    fn end_as_said(&mut self, (now, message, due_from): (Time, u64, Option<Time>)) {
        match due_from {
            Some(due_from) => self.arrive(now, message, due_from),
            None => self.lose(now, message),
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
        let counted = counted & (answer == Sent::WouldBlock || self.conforms(now, size));
        match answer {
            Sent::Accepted { message } => {
                let arrival = self.clock.as_mut().map(|clock| clock.arrive(now, size));
                let from = arrival.map_or(now, |arrival| arrival.at.saturating_add(arrival.stretch));
                self.depart(message, from, counted);
            }
            Sent::Excess { message } => {
                self.depart(message, now, counted);
            }
            Sent::Dropped(_) if counted => self.count(false),
            Sent::Dropped(_) => {}
            Sent::WouldBlock => {}
        }
    }

    /// A message of which the deadline counts from `from` is under way, the last by its number.
    fn depart(&mut self, message: u64, from: Time, counted: bool) {
        debug_assert!(self.under_way.back().is_none_or(|last| last.message < message));
        let deadline = from.saturating_add(self.deadline);
        self.under_way.push_back(UnderWay { message, deadline, counted, lost: false });
    }

    /// A packet of message `message` was lost or dropped.
    pub(crate) fn lose(&mut self, now: Time, message: u64) {
        if let Some(came) = &mut self.came {
            came.push((now, message, None));
        } else if let Ok(place) = self.under_way.binary_search_by_key(&message, |other| other.message) {
            self.under_way[place].lost = true;
        }
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
            came.push((now, message, Some(due_from)));
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
        let failed = self.under_way.iter().filter(|one| failed(one)).count();
        let unanswered = self.offered.iter().filter(|(_, counted)| *counted);
        let unanswered = unanswered.filter(|(at, _)| at.saturating_add(self.deadline) <= end).count();
        let due = self.due + (failed + unanswered) as u64;
        (due > 0).then_some(Kept { due, in_time: self.in_time })
    }
}

/// The outcome of the messages of a channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Messages sent within their contract that were lost, or of which the deadlines lie in the run.
    pub(crate) due: u64,
    /// Those among them that came in time.
    pub(crate) in_time: u64,
}

impl Kept {
    /// Messages that were late, lost, dropped or incomplete.
    pub(crate) fn failed(self) -> u64 {
        self.due - self.in_time
    }

    /// The share that came in time; at least one message was due.
    pub(crate) fn share(self) -> f64 {
        self.in_time as f64 / self.due as f64
    }
}

#[cfg(test)]
mod tests {
    use laxity_qos::channel::Dropped;

    use laxity_qos::traffic::TrafficSpec;

    use super::*;

    const SPEC: TrafficSpec = TrafficSpec {
        max_message: Bytes::from_kib(4),
        min_message: Bytes::from_kib(4),
        burst: 3,
        min_interval: Span::from_ms(10),
    };

    impl Punctuality {
        fn share(self, end: Time) -> Option<f64> {
            self.kept(end).map(Kept::share)
        }
    }

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    /// Three messages at once, due at 5, 15 and 25 ms.
    fn burst() -> Punctuality {
        let mut punctuality = Punctuality::new(Span::from_ms(5), Some(LogicalClock::new(SPEC)));
        for message in 0..3 {
            punctuality.offer(ms(0), true);
            punctuality.answer(ms(0), SPEC.max_message, Sent::Accepted { message }, true);
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
        punctuality.offer(ms(1), true);
        punctuality.answer(ms(1), SPEC.max_message, Sent::Dropped(Dropped::MessageQueue), true);
        assert_eq!(punctuality.clone().share(ms(100)), Some(0.75));
        // The application waits for a slot that is never free.
        punctuality.offer(ms(90), true);
        assert_eq!((punctuality.clone().share(ms(94)), punctuality.share(ms(95))), (Some(0.75), Some(0.6)));
    }

    /// The deadline is 5 ms, and the run ends at 1 ms.
    #[test]
    fn what_was_lost_has_failed_before_its_deadline() {
        let kept = |due, in_time| Some(Kept { due, in_time });
        let mut punctuality = burst();
        punctuality.lose(ms(1), 1);
        assert_eq!(punctuality.clone().kept(ms(1)), kept(1, 0));
        // Another packet of the same message, and a message that is unknown.
        punctuality.lose(ms(1), 1);
        punctuality.lose(ms(1), 7);
        assert_eq!(punctuality.clone().kept(ms(1)), kept(1, 0));
        assert_eq!(punctuality.clone().kept(ms(20)), kept(2, 0));
        // The packet that was lost was one of two copies.
        punctuality.arrive(ms(2), 1, ms(10));
        assert_eq!((punctuality.clone().kept(ms(2)), punctuality.kept(ms(15))), (None, kept(2, 1)));

        let mut dropped = burst();
        dropped.offer(ms(1), true);
        dropped.answer(ms(1), SPEC.max_message, Sent::Dropped(Dropped::MessageQueue), true);
        assert_eq!(dropped.kept(ms(1)), kept(1, 0));

        let mut outside = Punctuality::new(Span::from_ms(5), None);
        outside.offer(ms(0), false);
        outside.answer(ms(0), SPEC.max_message, Sent::Accepted { message: 0 }, false);
        outside.lose(ms(1), 0);
        assert_eq!(outside.kept(ms(20)), None);
    }

    /// Every other one is late. In a long run only the last message that was in time waits to be
    /// counted, until the next arrives.
    #[test]
    fn what_is_past_is_counted_and_gone() {
        let mut punctuality = Punctuality::new(Span::from_ms(5), None);
        for message in 0..1000 {
            let at = ms(10 * message);
            punctuality.offer(at, true);
            punctuality.answer(at, SPEC.max_message, Sent::Accepted { message }, true);
            punctuality.arrive(at + Span::from_ms(if message % 2 == 0 { 1 } else { 6 }), message, at);
            assert_eq!(punctuality.settled.len() as u64, (message + 1) % 2, "{message}");
            assert!(punctuality.under_way.is_empty());
        }
        assert_eq!(punctuality.share(ms(20_000)), Some(0.5));
    }

    /// Of five messages at once the contract covers three, and one more after each interval. The
    /// two that exceed the contract do not count, whatever becomes of them, and do not move the
    /// clock of the contract.
    #[test]
    fn what_exceeds_the_contract_does_not_count() {
        let mut punctuality =
            Punctuality::new(Span::from_ms(5), Some(LogicalClock::new(SPEC))).within(LogicalClock::new(SPEC));
        for message in 0..3 {
            punctuality.offer(ms(0), true);
            punctuality.answer(ms(0), SPEC.max_message, Sent::Accepted { message }, true);
            punctuality.arrive(ms(0), message, ms(10 * message));
        }
        for _ in 0..2 {
            punctuality.offer(ms(0), true);
            punctuality.answer(ms(0), SPEC.max_message, Sent::Dropped(Dropped::MessageQueue), true);
        }
        assert_eq!(punctuality.clone().kept(ms(100)), Some(Kept { due: 3, in_time: 3 }));
        // One message a picosecond early, which is beyond the contract, and one in time, which is
        // lost.
        for at in [ms(10) - Span::from_ps(1), ms(10)] {
            punctuality.offer(at, true);
            punctuality.answer(at, SPEC.max_message, Sent::Dropped(Dropped::MessageQueue), true);
        }
        assert_eq!(punctuality.kept(ms(100)), Some(Kept { due: 4, in_time: 3 }));
    }

    #[test]
    fn only_what_was_sent_in_the_window_is_asked_about() {
        let mut punctuality = Punctuality::new(Span::from_ms(5), None);
        for (message, at) in [0, 10, 20].into_iter().enumerate() {
            punctuality.offer(ms(at), at == 10);
            let message = message as u64;
            punctuality.answer(ms(at), SPEC.max_message, Sent::Accepted { message }, at == 10);
        }
        // The first and the last are late, and were sent outside.
        punctuality.arrive(ms(9), 0, ms(0));
        punctuality.arrive(ms(14), 1, ms(10));
        assert_eq!(punctuality.share(ms(100)), Some(1.0));
    }

    /// Due at 5 and 15, they arrive at 5 and just after 15; the one due at 25 is checked from then
    /// on.
    #[test]
    fn what_comes_when_it_is_due_is_in_time() {
        let mut punctuality = burst();
        punctuality.arrive(ms(5), 0, ms(0));
        assert_eq!(punctuality.clone().share(ms(5)), Some(1.0));
        punctuality.arrive(ms(15) + Span::from_ps(1), 1, ms(10));
        assert_eq!(punctuality.clone().share(ms(24)), Some(0.5));
        assert_eq!(punctuality.share(ms(25)), Some(1.0 / 3.0));
    }

    /// A run may end before what came in it is due: that is asked about if the two are at the same
    /// time.
    #[test]
    fn what_is_due_when_the_run_ends_is_asked_about() {
        let mut punctuality = burst();
        punctuality.arrive(ms(3), 0, ms(0));
        assert_eq!(punctuality.clone().share(ms(5)), Some(1.0));
        assert_eq!(punctuality.share(ms(4)), None);
    }

    /// Of four messages at once the second was dropped after it had been taken. So the third is due
    /// from 10 on where our clock has 20, and the fourth at 25 where it has 35: by 30 both missing
    /// ones are late.
    #[test]
    fn what_the_host_takes_back_makes_later_messages_due_sooner() {
        let mut punctuality = burst();
        punctuality.offer(ms(0), true);
        punctuality.answer(ms(0), SPEC.max_message, Sent::Accepted { message: 3 }, true);
        punctuality.arrive(ms(1), 0, ms(0));
        punctuality.arrive(ms(12), 2, ms(10));
        assert_eq!(punctuality.share(ms(30)), Some(0.5));
    }

    /// Responses as the window opens and as it closes: the first is in the window. It arrives at
    /// the instant at which it is said to have been sent.
    #[test]
    fn what_is_told_at_the_edges_is_counted_at_the_first() {
        let size = SPEC.max_message;
        let mut elsewhere = Punctuality::new(Span::from_ms(5), None).told_later();
        let answered = |at, message| (at, Said::Answered(size, Sent::Accepted { message }));
        elsewhere.arrive(ms(20), 0, ms(20));
        elsewhere.hear(&[answered(ms(20), 0), answered(ms(30), 1)], ms(20), ms(30));
        assert_eq!(elsewhere.share(ms(100)), Some(1.0));
    }

    #[test]
    fn a_host_that_tells_at_the_end_comes_to_the_same() {
        let size = SPEC.max_message;
        let mut here = Punctuality::new(Span::from_ms(5), Some(LogicalClock::new(SPEC)));
        let mut elsewhere = here.clone().told_later();
        let mut said = Vec::new();
        for message in 0..4 {
            let at = ms(2 * message);
            let answer = match message {
                3 => Sent::Dropped(Dropped::MessageQueue),
                message => Sent::Accepted { message },
            };
            said.extend([(at, Said::Offered), (at, Said::Answered(size, answer))]);
            here.offer(at, true);
            here.answer(at, size, answer, true);
            if message < 2 {
                let (came, from) = (at + Span::from_ms(1), ms(10 * message));
                here.arrive(came, message, from);
                elsewhere.arrive(came, message, from);
            } else if message == 2 {
                here.lose(at, message);
                elsewhere.lose(at, message);
            }
        }
        assert_eq!(here.clone().kept(ms(6)), Some(Kept { due: 3, in_time: 1 }));
        elsewhere.hear(&said, ms(0), ms(100));
        let share = elsewhere.share(ms(200));
        assert_eq!(share, Some(0.5));
        assert_eq!(share, here.share(ms(200)));
    }
}
