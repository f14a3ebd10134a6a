//! A clock that never goes back, made of one that may.

use laxity_units::{Span, Time};

/// Time that passed since the start, by a clock that may be set back.
///
/// Leases and retransmissions are spans, so only differences count. A clock that is set back would
/// stretch every span by the step; here the step passes no time. A clock that is set forward ends
/// leases early, which costs channels and never a promise.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Elapsed {
    /// The clock at the last input.
    clock: Option<Time>,
    passed: Time,
}

impl Elapsed {
    /// The time that passed, with the clock at `clock`, and whether the clock was set back.
    pub(crate) fn at(&mut self, clock: Time) -> (Time, bool) {
        let before = self.clock.unwrap_or(clock);
        self.passed = self.passed.saturating_add(clock.saturating_since(before));
        self.clock = Some(clock);
        (self.passed, clock < before)
    }

    /// The clock's reading when `passed` has passed, if it is not set meanwhile.
    pub(crate) fn clock_at(&self, passed: Time) -> Time {
        let left: Span = passed.saturating_since(self.passed);
        self.clock.unwrap_or(Time::ZERO).saturating_add(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_passes_no_time() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut elapsed = Elapsed::default();
        assert_eq!(elapsed.at(at(100)), (Time::ZERO, false));
        assert_eq!(elapsed.at(at(130)), (at(30), false));
        assert_eq!(elapsed.at(at(50)), (at(30), true));
        assert_eq!(elapsed.clock_at(at(40)), at(60));
        assert_eq!(elapsed.at(at(60)), (at(40), false));
    }
}
