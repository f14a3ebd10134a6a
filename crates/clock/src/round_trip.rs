//! The information in one round trip: an interval that contains the reference's time.
//!
//! # Setting
//!
//! A node with clock `S` asks a reference with clock `C`. The request leaves at true time `τ₁` and
//! arrives at `τ₂`. The reply leaves at `τ₃` and arrives at `τ₄`. The node reads `t₁` and `t₄` from
//! `S`, the reference reads `t₂` and `t₃` from `C`. Known are:
//!
//! * ρ, a bound on the rate of `C` as `S` measures it, and ρ_C, a bound on the rate of `C` in true
//!   time;
//! * `g_S` and `g_C`, the grains of readings: `shown ≤ clock < shown + g`;
//! * `m₁` and `m₂`, true times that a request and a reply take at least. Zero is always correct.
//!
//! # Proof
//!
//! Neither clock steps from `τ₁` to `τ₄`. `S` advances by less than `t₄ − t₁ + g_S` in that time,
//! hence `C` by less than `(1 + ρ)(t₄ − t₁ + g_S)`. The advance of `C` is the sum of three parts:
//! the request's way, at least `(1 − ρ_C) m₁`; the stay at the reference, more than `t₃ − t₂ −
//! g_C`; and the reply's way, `b`. Therefore
//!
//! ```text
//! (1 − ρ_C) m₂  ≤  b  <  (1 + ρ)(t₄ − t₁ + g_S) − (t₃ − t₂ − g_C) − (1 − ρ_C) m₁ .
//! ```
//!
//! `C` is `C(τ₃) + b` at `τ₄`, with `t₃ ≤ C(τ₃) < t₃ + g_C`. So `C(τ₄)` lies in `[low, high]`:
//!
//! ```text
//! low  = t₃ + (1 − ρ_C) m₂                                                              (1)
//! high = t₃ + (1 + ρ)(t₄ − t₁ + g_S) − (t₃ − t₂) + 2 g_C − (1 − ρ_C) m₁                  (2)
//! ```
//!
//! The node adopts the middle. With the round trip `r = (t₄ − t₁) − (t₃ − t₂)` and `m = (m₁ +
//! m₂)/2`, the error is at most half the width,
//!
//! ```text
//! e = r/2 − m + ρ (t₄ − t₁)/2 + ρ_C m + grains .                                         (3)
//! ```
//!
//! This is Cristian's bound ("Probabilistic clock synchronization", 1989) with two additions: the
//! stay at the reference is subtracted, as NTP does, and minima may differ by direction. The thesis
//! (3.1.2) uses a derivative of the same algorithm.
//!
//! # Aging
//!
//! At a later reading `s`, `S` has advanced since `τ₄` by more than `s − t₄ − g_S` and less than `s
//! − t₄ + g_S`. The reading of `C` is up to `g_C` behind `C`. So the reference shows a time in
//!
//! ```text
//! [ low + (1 − ρ)(s − t₄ − g_S) − g_C ,  high + (1 + ρ)(s − t₄ + g_S) ] .                (4)
//! ```
//!
//! All roundings go outwards. Stamps may be taken at inexact places: a `t₁` or `t₃` taken earlier
//! than the message leaves, or a `t₂` or `t₄` taken later than it arrives, lengthens a way and
//! keeps the proof.

use laxity_units::{Span, Time};

use crate::drift::{Tolerance, UNIT};

/// The facts on which a bound of the synchronisation error rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Bound on the drift of the node's own clock.
    pub own: Tolerance,
    /// Bound on the drift of the reference's clock, ρ_C.
    pub reference: Tolerance,
    /// Grain of readings of the node's own clock; at least one picosecond.
    pub own_grain: Span,
    /// Grain of readings of the reference's clock; at least one picosecond.
    pub reference_grain: Span,
    /// True time that a request takes at least, `m₁`.
    pub least_request: Span,
    /// True time that a reply takes at least, `m₂`.
    pub least_reply: Span,
}

/// The four readings of one request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// The node's clock when the request left, `t₁`.
    pub sent: Time,
    /// The reference's clock when the request arrived, `t₂`.
    pub received: Time,
    /// The reference's clock when the reply left, `t₃`.
    pub answered: Time,
    /// The node's clock when the reply arrived, `t₄`.
    pub returned: Time,
}

/// Times of the reference, in picoseconds, of which one is the reference's at a reading of the
/// node's clock.
///
/// Ends may lie outside what [`Time`] can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// The node's reading, `t₄`.
    pub at: Time,
    /// The earliest time.
    pub low: i128,
    /// The latest time.
    pub high: i128,
}

fn ps(time: Time) -> i128 {
    time.as_ps().into()
}

fn span(span: Span) -> i128 {
    span.as_ps().into()
}

/// `x (1 + ρ)`, rounded up; `x` is not negative.
fn up(x: i128, bound: Tolerance) -> i128 {
    let unit = i128::from(UNIT);
    x + (x * i128::from(bound.ppb()) + unit - 1) / unit
}

/// `x (1 − ρ)`, rounded down; `x` is not negative.
fn down(x: i128, bound: Tolerance) -> i128 {
    let unit = i128::from(UNIT);
    x - (x * i128::from(bound.ppb()) + unit - 1) / unit
}

impl Known {
    /// ρ: the bound on the rate of the reference's clock as the node's own clock measures it.
    pub fn relative(&self) -> Tolerance {
        self.reference.seen_by(self.own)
    }

    /// The times that `trip` leaves possible for the reference's exact clock at `trip.returned`, by
    /// (1) and (2).
    ///
    /// `None` if the readings contradict each other or the known facts, so that a clock stepped
    /// during the trip.
    pub fn interval(&self, trip: &RoundTrip) -> Option<Interval> {
        if trip.returned < trip.sent || trip.answered < trip.received {
            return None;
        }
        let least = |way: Span| down(span(way), self.reference);
        let whole = up(span(trip.returned.since(trip.sent)) + span(self.own_grain), self.relative());
        let stay = span(trip.answered.since(trip.received));
        let low = ps(trip.answered) + least(self.least_reply);
        let high =
            ps(trip.answered) + whole - stay + 2 * span(self.reference_grain) - least(self.least_request);
        (low <= high).then_some(Interval { at: trip.returned, low, high })
    }

    /// The times that the reference can show at the later reading `now`, by (4); a `now` before
    /// `interval.at` counts as it.
    #[must_use]
    pub fn aged(&self, interval: &Interval, now: Time) -> Interval {
        let (past, grain) = (span(now.saturating_since(interval.at)), span(self.own_grain));
        Interval {
            at: interval.at.max(now),
            low: interval.low + down((past - grain).max(0), self.relative()) - span(self.reference_grain),
            high: interval.high + up(past + grain, self.relative()),
        }
    }

    /// The error bound right after a round trip of `round_trip`, of which the reference held the
    /// request for `held`: (3).
    ///
    /// `None` if no round trip is as short.
    pub fn error(&self, round_trip: Span, held: Span) -> Option<Span> {
        let received = Time::ZERO + Span::from_secs(1);
        let trip = RoundTrip {
            sent: received,
            received,
            answered: received.saturating_add(held),
            returned: received.saturating_add(held).saturating_add(round_trip),
        };
        let interval = self.interval(&trip)?;
        Some(self.aged(&interval, trip.returned).error())
    }

    /// Bound on the growth of an error in `past`, as the node's own clock counts: `ρ (past + g_S)`,
    /// rounded up, and 1 ps.
    pub fn aging(&self, past: Span) -> Span {
        self.relative().share(past + self.own_grain) + Span::from_ps(1)
    }
}

impl Interval {
    /// Half the width, rounded up: the error of the middle.
    pub fn error(&self) -> Span {
        clamped(self.high - self.middle())
    }

    /// The greatest distance of `time` from a time in the interval.
    pub fn error_of(&self, time: Time) -> Span {
        clamped((ps(time) - self.low).max(self.high - ps(time)))
    }

    /// The middle, rounded down, as an instant.
    pub fn estimate(&self) -> Time {
        Time::from_ps(clamped(self.middle()).as_ps())
    }

    /// Whether no time is in both intervals.
    pub fn excludes(&self, other: &Interval) -> bool {
        self.high < other.low || other.high < self.low
    }

    fn middle(&self) -> i128 {
        (self.low + self.high).div_euclid(2)
    }
}

/// `ps` as a span, between zero and [`Span::MAX`].
fn clamped(ps: i128) -> Span {
    Span::from_ps(u64::try_from(ps.max(0)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Drift;

    fn known(ppm: i64) -> Known {
        let bound = Tolerance::of(Drift::from_ppb(ppm * 1000).unwrap());
        Known {
            own: Tolerance::NONE,
            reference: bound,
            own_grain: Span::from_ns(2),
            reference_grain: Span::from_ns(3),
            least_request: Span::from_us(20),
            least_reply: Span::from_us(30),
        }
    }

    /// ρ = 100 ppm: the node waits 1 ms, of which the reference holds 800 us; 20 and 30 us are the
    /// least ways.
    ///
    /// low = t₃ + 29.997 us. high = t₃ + 1.0001 · 1000.002 us − 800 us + 6 ns − 19.998 us = t₃ +
    /// 180.1100002 us.
    #[test]
    fn an_interval_by_hand() {
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        let trip = RoundTrip { sent: at(5000), received: at(100), answered: at(900), returned: at(6000) };
        let interval = known(100).interval(&trip).unwrap();
        let t3 = 900_000_000;
        assert_eq!((interval.low - t3, interval.high - t3), (29_997_000, 180_110_001));
        // A second later: 0.9999 (1 s − 2 ns) − 3 ns and 1.0001 (1 s + 2 ns) further.
        let aged = known(100).aged(&interval, trip.returned + Span::from_secs(1));
        assert_eq!(aged.low - interval.low, 999_900_000_000 - 2000 - 3000, "0.9999 · 2 ns, rounded");
        assert_eq!(aged.high - interval.high, 1_000_100_000_000 + 2001);
        // (3): 200/2 − 25 + 0.05 + 0.0025 us, and grains: 2/2 (1.0001), 3 ns for (2), half of 3 + 2
        // ns for (4).
        let error = known(100).error(Span::from_us(200), Span::from_us(800)).unwrap();
        assert_eq!(error.as_ps(), (75_052_500 + 1000 + 3000 + 2500) + 1);
        assert_eq!(interval.estimate().as_ps(), 900_000_000 + 105_053_500);
        assert_eq!(interval.error_of(at(900)).as_ps(), 180_110_001);
        assert_eq!(interval.error_of(at(1100)).as_ps(), 170_003_000);
    }

    #[test]
    fn contradictions_are_no_interval() {
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        let trip = RoundTrip { sent: at(10), received: at(100), answered: at(100), returned: at(60) };
        assert!(known(0).interval(&trip).is_some(), "50 us, the least");
        for bad in [
            RoundTrip { returned: at(59), ..trip },
            RoundTrip { sent: at(61), ..trip },
            RoundTrip { received: at(101), ..trip },
            RoundTrip { answered: at(151), ..trip },
        ] {
            assert_eq!(known(0).interval(&bad), None, "{bad:?}");
        }
        assert_eq!(known(0).error(Span::from_us(49), Span::ZERO), None);
        // Readings from outside may be any: the result is wide, and no arithmetic overflows.
        let far =
            RoundTrip { sent: Time::ZERO, received: Time::MAX, answered: Time::MAX, returned: Time::MAX };
        let interval = known(100_000).interval(&far).unwrap();
        assert_eq!((interval.estimate(), interval.error_of(Time::ZERO)), (Time::MAX, Span::MAX));
        let _ = known(100_000).aged(&interval, Time::MAX);
    }

    #[test]
    fn intervals_that_touch_do_not_exclude_each_other() {
        let interval = |low, high| Interval { at: Time::ZERO, low, high };
        assert!(!interval(0, 5).excludes(&interval(5, 9)) && !interval(5, 9).excludes(&interval(0, 5)));
        assert!(interval(0, 4).excludes(&interval(5, 9)) && interval(5, 9).excludes(&interval(0, 4)));
        assert_eq!((interval(-4, 1).estimate(), interval(-4, 1).error()), (Time::ZERO, Span::from_ps(3)));
    }
}
