//! The clock of a node: a model that maps true time to shown time, and back, without rounding
//! errors.
//!
//! An oscillator has an offset, a rate error that varies within the oscillator's tolerance, and a
//! grain. Now and then an operator or a fault sets it to another time. Between such changes the
//! clock is a straight line:
//!
//! ```text
//! c(t)     = base + (t − from) (1 + drift)       exact, in units of 10⁻⁹ ps
//! shown(t) = ⌊c(t) / grain⌋ · grain
//! ```
//!
//! The line is kept in billionths of a picosecond, so that neither the rate nor a change loses a
//! fraction. A bound that counts picoseconds can thus be tested against the model with no margin.
//!
//! [`NodeClock::first_at`] is the inverse: the first true instant at which the clock shows a time,
//! which is when a timer of the node fires. Without steps the two maps are a Galois connection:
//! `shown(t) ≥ l  ⇔  t ≥ first_at(l)`.

use std::fmt;

use laxity_units::{Span, Time};

use crate::drift::{Drift, UNIT};
use crate::shift::Shift;

/// The clock of one node, over a whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeClock {
    grain: Span,
    /// At least one; in order of `from`, of which the first is zero.
    lines: Vec<Line>,
}

/// The clock from one change to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    /// True time.
    from: Time,
    /// The exact time at `from`, in units of 10⁻⁹ ps.
    base: u128,
    /// Units of 10⁻⁹ ps in a true picosecond.
    rate: u64,
}

/// Why a change of a clock is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockError {
    /// A change precedes the one before it.
    Order,
    /// The clock would show a time that [`Time`] cannot name.
    Range,
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClockError::Order => write!(f, "changes of a clock are in the order of true time"),
            ClockError::Range => write!(f, "the clock would show a time before zero or after 213 days"),
        }
    }
}

impl std::error::Error for ClockError {}

impl Line {
    fn at(&self, now: Time) -> u128 {
        self.base + u128::from(now.since(self.from).as_ps()) * u128::from(self.rate)
    }
}

impl NodeClock {
    /// True time itself.
    pub fn perfect() -> Self {
        Self::new(Time::ZERO, Drift::NONE)
    }

    /// A clock that shows `start` at true time zero, with a grain of one picosecond.
    ///
    /// A clock that is behind others starts at less. Offsets that are negative need a common start
    /// above zero.
    pub fn new(start: Time, drift: Drift) -> Self {
        let base = u128::from(start.as_ps()) * u128::from(UNIT);
        Self { grain: Span::from_ps(1), lines: vec![Line { from: Time::ZERO, base, rate: drift.rate() }] }
    }

    /// The same clock, of which readings are whole multiples of `grain`, rounded down; panics if
    /// `grain` is zero.
    #[must_use]
    pub fn with_grain(mut self, grain: Span) -> Self {
        assert!(!grain.is_zero(), "a clock has a grain");
        self.grain = grain;
        self
    }

    /// From true time `at` on the clock is shifted by `step` and drifts by `drift`.
    ///
    /// # Errors
    ///
    /// [`ClockError::Order`] before the latest change, [`ClockError::Range`] if the clock would
    /// show less than zero or more than [`Time::MAX`] at `at`. The clock is then unchanged.
    pub fn change(&mut self, at: Time, step: Shift, drift: Drift) -> Result<(), ClockError> {
        let last = self.lines.last().expect("a clock has a line");
        if at < last.from {
            return Err(ClockError::Order);
        }
        let size = u128::from(step.size().as_ps()) * u128::from(UNIT);
        let base = match step {
            Shift::Forward(_) => last.at(at).checked_add(size),
            Shift::Backward(_) => last.at(at).checked_sub(size),
        };
        let base =
            base.filter(|base| base / u128::from(UNIT) <= u128::from(u64::MAX)).ok_or(ClockError::Range)?;
        self.lines.push(Line { from: at, base, rate: drift.rate() });
        Ok(())
    }

    /// The grain of readings.
    pub fn grain(&self) -> Span {
        self.grain
    }

    /// The time that the clock shows at true time `now`; [`Time::MAX`] beyond what can be named.
    pub fn shown(&self, now: Time) -> Time {
        let behind = self.lines.partition_point(|line| line.from <= now);
        let ps = self.lines[behind - 1].at(now) / u128::from(UNIT);
        let ps = u64::try_from(ps).unwrap_or(u64::MAX);
        Time::from_ps(ps - ps % self.grain.as_ps())
    }

    /// The first true instant, not before `from`, at which the clock shows `local` or more.
    ///
    /// `None` if the instant cannot be named. A step backward can make the clock show less
    /// afterwards.
    pub fn first_at(&self, local: Time, from: Time) -> Option<Time> {
        // The reading is `local` or more as soon as the exact time is at the next multiple of the
        // grain.
        let grain = u128::from(self.grain.as_ps());
        let multiple = u128::from(local.as_ps()).div_ceil(grain) * grain;
        let needed = u128::from(u64::try_from(multiple).ok()?) * u128::from(UNIT);
        let first = self.lines.partition_point(|line| line.from <= from) - 1;
        self.lines[first..].iter().enumerate().find_map(|(n, line)| {
            let begin = line.from.max(from);
            let missing = needed.saturating_sub(line.base).div_ceil(u128::from(line.rate));
            let reached = u64::try_from(u128::from(line.from.as_ps()) + missing).ok()?;
            let reached = Time::from_ps(reached).max(begin);
            let end = self.lines.get(first + n + 1).map(|next| next.from);
            end.is_none_or(|end| reached < end).then_some(reached)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ppm(ppm: i64) -> Drift {
        Drift::from_ppb(ppm * 1000).unwrap()
    }

    /// 100 ppm fast from 3 ms on, set back by 1 s after 10 s, and 50 ppm slow from there.
    #[test]
    fn a_clock_by_hand() {
        let second = |s: u64| Time::ZERO + Span::from_secs(s);
        let mut clock = NodeClock::new(Time::ZERO + Span::from_ms(3), ppm(100));
        clock.change(second(10), Shift::Backward(Span::from_secs(1)), ppm(-50)).unwrap();
        assert_eq!(clock.shown(Time::ZERO), Time::ZERO + Span::from_ms(3));
        // 10 s and 1 ms less 1 ps; 3 ms.
        assert_eq!(clock.shown(second(10) - Span::from_ps(1)), second(10) + Span::from_ps(4_000_000_000 - 2));
        assert_eq!(clock.shown(second(10)), second(9) + Span::from_ms(4));
        assert_eq!(clock.shown(second(20)), second(19) + Span::from_us(3500));
        // 9.5 s are shown before the step, and again from 496 ms/0.99995 = 496.0248… ms after it.
        let half = second(9) + Span::from_ms(500);
        let before = clock.first_at(half, Time::ZERO).unwrap();
        assert!(before < second(10) && clock.shown(before) == half);
        assert_eq!(clock.first_at(half, second(10)), Some(second(10) + Span::from_ps(496_024_801_241)));
        // Shown already when the question is asked.
        assert_eq!(clock.first_at(half, second(15)), Some(second(15)));
        assert_eq!(clock.change(second(9), Shift::NONE, ppm(0)), Err(ClockError::Order));
        assert_eq!(
            clock.change(second(20), Shift::Backward(Span::from_secs(30)), ppm(0)),
            Err(ClockError::Range)
        );
        assert_eq!(clock.change(second(20), Shift::Forward(Span::MAX), ppm(0)), Err(ClockError::Range));
    }

    /// 500 ppm gain a picosecond in 2000, even if the clock changes after each.
    #[test]
    fn changes_keep_fractions() {
        let mut clock = NodeClock::new(Time::ZERO, ppm(500));
        for n in 1..2000 {
            clock.change(Time::from_ps(n), Shift::NONE, ppm(500)).unwrap();
        }
        assert_eq!(clock.shown(Time::from_ps(2000)), Time::from_ps(2001));
        assert_eq!(clock.shown(Time::from_ps(1999)), Time::from_ps(1999));
    }

    #[test]
    fn a_grain_rounds_down() {
        let clock = NodeClock::new(Time::from_ns(1500), Drift::NONE).with_grain(Span::from_us(2));
        assert_eq!(clock.shown(Time::from_ns(499)), Time::ZERO);
        assert_eq!(clock.shown(Time::from_ns(500)), Time::from_ns(2000));
        assert_eq!(clock.first_at(Time::from_ns(1), Time::ZERO), Some(Time::from_ns(500)));
        assert_eq!(clock.first_at(Time::from_ns(2001), Time::ZERO), Some(Time::from_ns(2500)));
        assert_eq!(NodeClock::perfect().first_at(Time::MAX, Time::ZERO), Some(Time::MAX));
        assert_eq!(clock.first_at(Time::MAX, Time::ZERO), None);
    }

    fn clock() -> impl Strategy<Value = NodeClock> {
        let changes = prop::collection::vec((0u64..1 << 40, -500i64..=500), 0..6);
        (0u64..1 << 50, -500i64..=500, 1u64..5000, changes).prop_map(|(start, drift, grain, changes)| {
            let mut clock = NodeClock::new(Time::from_ps(start), ppm(drift)).with_grain(Span::from_ps(grain));
            let mut at = Time::ZERO;
            for (later, drift) in changes {
                at += Span::from_ps(later);
                clock.change(at, Shift::NONE, ppm(drift)).unwrap();
            }
            clock
        })
    }

    proptest! {
        /// Without steps either map is the inverse of the other, whatever is rounded.
        #[test]
        fn the_maps_are_inverse(clock in clock(), t in 0u64..1 << 43, near in 0i64..20_000) {
            let now = Time::from_ps(t);
            let local = clock.shown(now);
            let alarm = clock.first_at(local, Time::ZERO).unwrap();
            prop_assert!(alarm <= now && clock.shown(alarm) == local);
            prop_assert!(alarm == Time::ZERO || clock.shown(alarm - Span::from_ps(1)) < local);
            let other = local.saturating_add(Span::from_ps(near as u64));
            let alarm = clock.first_at(other, Time::ZERO).unwrap();
            prop_assert_eq!(clock.shown(now) >= other, now >= alarm);
        }

        /// With steps the instant is the first from where the question is asked.
        #[test]
        fn steps_do_not_hide_an_instant(clock in clock(), step in 0u64..1 << 40, back in any::<bool>(), at in 0u64..1 << 44, from in 0u64..1 << 45, more in 0u64..1 << 41) {
            let mut clock = clock;
            let step = if back { Shift::Backward(Span::from_ps(step)) } else { Shift::Forward(Span::from_ps(step)) };
            let changed = clock.change(Time::from_ps(at), step, Drift::NONE);
            let from = Time::from_ps(from);
            let local = clock.shown(from).saturating_add(Span::from_ps(more));
            let first = clock.first_at(local, from).unwrap();
            prop_assert!(first >= from && clock.shown(first) >= local);
            if first > from {
                prop_assert!(clock.shown(first - Span::from_ps(1)) < local);
            }
            if let (Ok(()), Shift::Backward(_)) = (changed, step) {
                // The clock shows again the time from just before the step.
                let again = clock.shown(Time::from_ps(at.saturating_sub(1)));
                prop_assert!(clock.first_at(again, Time::from_ps(at)).is_some());
            }
        }
    }
}
