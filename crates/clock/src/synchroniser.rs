//! The node's side of Cristian's probabilistic clock synchronisation.
//!
//! A round trip bounds the error by half its length (`round_trip`). Delays of a loaded network
//! vary, so a node asks until a round trip is short enough: the bound is then chosen beforehand,
//! and the number of attempts is random. Replies with a larger error are rejected.
//!
//! # The shown clock
//!
//! The node's programs see `L`, a clock that advances with the own clock and approaches the
//! estimate `E`:
//!
//! ```text
//! L(s) = L₀ + (s − s₀) ± min(|E(s₀) − L₀|, ⌊σ (s − s₀)⌋)                                   (5)
//! ```
//!
//! With σ < 1 `L` never decreases and has no gap. A correction forward by more than `jump` is made
//! at once, which keeps `L` monotone. A correction backward is always amortised.
//!
//! The stated error is the greatest distance of `L` from a time that interval (4) leaves possible.
//! The stated error thus contains the round trip, the aging since the last success, and the part of
//! the correction that is still ahead.
//!
//! # Guarantee
//!
//! If the facts of [`Known`] hold and no clock has stepped since the last adopted round trip began,
//! the reference shows a time within the stated error of `L`. *Proof:* interval (4) of that round
//! trip contains the reference's time.
//!
//! # Steps
//!
//! A step of either clock makes the last round trip worthless, and no node can see the step of
//! another node before it asks again. The guarantee returns with the first adopted round trip that
//! began after the step. For this reason the newest round trip alone counts: an intersection with
//! older ones would be tighter, and wrong for as long after a step. Steps are detected in three
//! ways:
//!
//! * the own clock shows less than before: the error is unknown until the next success, `L` goes on
//!   from its value;
//! * the readings of a round trip contradict each other: the round trip is rejected;
//! * the interval of a new round trip excludes the aged interval of the last: the step is reported,
//!   and the node asks again at once, since the step may have occurred within the round trip
//!   itself.
//!
//! A step smaller than the sum of both errors can remain undetected. It is then within what (4)
//! allows anyway, once the new round trip is adopted.

use laxity_units::{Span, Time};

use crate::drift::{Tolerance, UNIT};
use crate::message::ClockMessage;
use crate::round_trip::{Interval, Known, RoundTrip};
use crate::shift::Shift;

/// When a node asks, and which answers it adopts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SynchroniserPolicy {
    /// Largest error of a round trip that is adopted.
    pub accept: Span,
    /// From a success to the next request, by the own clock.
    pub period: Span,
    /// From a request to the next, if the request is lost or its reply is rejected; not zero.
    pub retry: Span,
    /// Rate at which corrections are amortised, σ.
    pub slew: Tolerance,
    /// Corrections forward that are longer are made at once.
    pub jump: Span,
}

/// The time that a node shows to its programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// The synchronised time.
    pub time: Time,
    /// Bound on the distance from the reference's time; `None` if a step made it unknown.
    pub error: Option<Span>,
}

/// The effect of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SynchroniserOutcome {
    /// No reply to the request that is outstanding, but a request, a duplicate or an old reply.
    Ignored,
    /// The readings contradict each other or the known facts.
    Contradictory,
    /// The round trip was too long: its error is above [`SynchroniserPolicy::accept`].
    TooLong(Span),
    /// The round trip was adopted.
    Adopted {
        /// Its error.
        error: Span,
        /// A clock stepped since the last success: the distance from the expected time of the
        /// reference.
        step: Option<Shift>,
    },
}

/// Counters of a node's synchronisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SynchroniserCounts {
    /// Requests sent.
    pub requests: u64,
    /// Requests without a reply in time.
    pub unanswered: u64,
    /// Messages ignored.
    pub ignored: u64,
    /// Replies that contradict themselves or the known facts.
    pub contradictory: u64,
    /// Replies rejected as too long.
    pub too_long: u64,
    /// Replies adopted.
    pub adopted: u64,
    /// Steps found by comparison of intervals.
    pub steps: u64,
    /// Steps backward of the own clock.
    pub own_steps: u64,
}

/// A node that synchronises its clock with a reference.
///
/// Arguments `now` are readings of the own clock, not of the synchronised one.
#[derive(Debug, Clone)]
pub struct Synchroniser {
    known: Known,
    policy: SynchroniserPolicy,
    /// The latest reading.
    last: Time,
    exchange: Exchange,
    next_number: u64,
    adopted: Option<Interval>,
    shown: Option<Line>,
    counts: SynchroniserCounts,
}

#[derive(Debug, Clone, Copy)]
enum Exchange {
    /// The next request is due.
    Idle { at: Time },
    /// A reply is outstanding.
    Waiting { number: u64, sent: Time },
}

/// The shown clock since the latest correction, by (5).
#[derive(Debug, Clone, Copy)]
struct Line {
    from: Time,
    value: Time,
    correction: Shift,
}

impl Line {
    fn at(&self, now: Time, slew: Tolerance) -> Time {
        let past = now.saturating_since(self.from);
        let made = past.scale_floor(slew.ppb().into(), UNIT).min(self.correction.size());
        match self.correction {
            Shift::Forward(_) => self.value.saturating_add(past).saturating_add(made),
            Shift::Backward(_) => self.value.saturating_add(past - made),
        }
    }
}

impl Synchroniser {
    /// A node that asks for the first time when its clock shows `start`; requests are numbered from
    /// `first_number`.
    ///
    /// A first number that others cannot guess keeps forged replies out where the channel does not
    /// authenticate. Panics if [`SynchroniserPolicy::retry`] is zero.
    pub fn new(known: Known, policy: SynchroniserPolicy, start: Time, first_number: u64) -> Self {
        assert!(!policy.retry.is_zero(), "a node waits between two requests");
        Self {
            known,
            policy,
            last: Time::ZERO,
            exchange: Exchange::Idle { at: start },
            next_number: first_number,
            adopted: None,
            shown: None,
            counts: SynchroniserCounts::default(),
        }
    }

    /// The request to send now, if one is due.
    pub fn poll_transmit(&mut self, now: Time) -> Option<ClockMessage> {
        self.observe(now);
        let Exchange::Idle { at } = self.exchange else { return None };
        if now < at {
            return None;
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        self.exchange = Exchange::Waiting { number, sent: now };
        self.counts.requests += 1;
        Some(ClockMessage::Request { number })
    }

    /// The reading at which [`handle_timeout`](Self::handle_timeout) and then
    /// [`poll_transmit`](Self::poll_transmit) are due.
    pub fn poll_timeout(&self) -> Option<Time> {
        match self.exchange {
            Exchange::Idle { at } => Some(at),
            Exchange::Waiting { sent, .. } => Some(sent.saturating_add(self.policy.retry)),
        }
    }

    /// Gives up a request that waited too long.
    pub fn handle_timeout(&mut self, now: Time) {
        self.observe(now);
        if let Exchange::Waiting { sent, .. } = self.exchange
            && now.since(sent) >= self.policy.retry
        {
            self.counts.unanswered += 1;
            self.exchange = Exchange::Idle { at: now };
        }
    }

    /// Takes a message that arrived when the own clock showed `now`.
    pub fn handle(&mut self, now: Time, message: ClockMessage) -> SynchroniserOutcome {
        self.observe(now);
        let (
            ClockMessage::Reply { number, received, answered },
            Exchange::Waiting { number: expected, sent },
        ) = (message, self.exchange)
        else {
            self.counts.ignored += 1;
            return SynchroniserOutcome::Ignored;
        };
        if number != expected {
            self.counts.ignored += 1;
            return SynchroniserOutcome::Ignored;
        }
        self.exchange = Exchange::Idle { at: sent.saturating_add(self.policy.retry) };
        let trip = RoundTrip { sent, received, answered, returned: now };
        let Some(interval) = self.known.interval(&trip) else {
            self.counts.contradictory += 1;
            return SynchroniserOutcome::Contradictory;
        };
        let error = self.known.aged(&interval, now).error();
        if error > self.policy.accept {
            self.counts.too_long += 1;
            return SynchroniserOutcome::TooLong(error);
        }
        let step = self.adopt(now, interval);
        let pause = if step.is_some() { Span::ZERO } else { self.policy.period };
        self.exchange = Exchange::Idle { at: now.saturating_add(pause) };
        SynchroniserOutcome::Adopted { error, step }
    }

    /// The synchronised time when the own clock shows `now`; `None` before the first success.
    pub fn show(&mut self, now: Time) -> Option<Shown> {
        self.observe(now);
        let time = self.shown?.at(now, self.policy.slew);
        let error = self.adopted.map(|interval| self.known.aged(&interval, now).error_of(time));
        Some(Shown { time, error })
    }

    /// The counters.
    pub fn counts(&self) -> SynchroniserCounts {
        self.counts
    }

    /// The error that [`show`](Self::show) states at most, if at most `failures` requests in a row
    /// fail and no clock steps.
    ///
    /// The bound is `3 accept + ρ' pause`, with `pause = period + (failures + 1) retry` and grains.
    /// *Proof:* when a success is due the shown clock is in the middle of an interval of `accept` or
    /// less that has aged for `pause`, so it is within `accept + ρ' pause` of the reference's time.
    /// The new interval contains that time and is at most `2 accept` wide. The correction then
    /// approaches the middle faster than the interval ages.
    ///
    /// `None` if a correction of `2 accept + ρ' pause` lasts longer than a period. A correction that
    /// does not is faster than ρ'. The caller calls at the readings of
    /// [`poll_timeout`](Self::poll_timeout).
    pub fn steady_error(known: &Known, policy: &SynchroniserPolicy, failures: u64) -> Option<Span> {
        let grain = known.own_grain;
        let pause = policy.period + grain + (policy.retry + grain).saturating_mul(failures + 1);
        let aged = policy.accept + known.aging(pause);
        let correction = aged + policy.accept;
        let made = policy.period.scale_floor(policy.slew.ppb().into(), UNIT);
        (made >= correction).then_some(correction + policy.accept)
    }

    /// Notices that the own clock stepped back: no reading before this one can be compared with
    /// those that follow.
    fn observe(&mut self, now: Time) {
        if now < self.last {
            self.counts.own_steps += 1;
            self.adopted = None;
            self.exchange = Exchange::Idle { at: now };
            let last = self.last;
            let slew = self.policy.slew;
            self.shown = self.shown.map(|line| Line {
                from: now,
                value: line.at(last, slew),
                correction: Shift::NONE,
            });
        }
        self.last = now;
    }

    /// Makes `interval` the one that counts, and the shown clock approach its middle.
    fn adopt(&mut self, now: Time, interval: Interval) -> Option<Shift> {
        let fresh = self.known.aged(&interval, now);
        let expected = self.adopted.map(|old| self.known.aged(&old, now));
        let step = expected.filter(|old| old.excludes(&fresh));
        let step = step.map(|old| Shift::between(old.estimate(), fresh.estimate()));
        self.counts.adopted += 1;
        self.counts.steps += u64::from(step.is_some());
        self.adopted = Some(interval);
        let (target, slew) = (fresh.estimate(), self.policy.slew);
        let value = self.shown.map_or(target, |line| line.at(now, slew));
        let correction = Shift::between(value, target);
        self.shown = Some(match correction {
            Shift::Forward(by) if by > self.policy.jump => {
                Line { from: now, value: target, correction: Shift::NONE }
            }
            _ => Line { from: now, value, correction },
        });
        step
    }
}
