//! The time of a node, which never goes back.

use laxity_units::{Span, Time};

/// The clock of a node, with each step backward added up again.
///
/// The time equals the clock until the clock is set back. A step backward passes no time, like in
/// the network manager. So no logical arrival and no lease lies ahead by the step.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Steady {
    /// The clock at the last input.
    clock: Time,
    /// All steps backward together.
    ahead: Span,
}

impl Steady {
    /// The time with the clock at `clock`, and whether the clock was set back.
    pub(crate) fn at(&mut self, clock: Time) -> (Time, bool) {
        let back = self.clock.saturating_since(clock);
        self.ahead = self.ahead.saturating_add(back);
        self.clock = clock;
        (clock.saturating_add(self.ahead), !back.is_zero())
    }

    /// The reading of the clock at `time`, if the clock is not set meanwhile.
    pub(crate) fn clock_at(&self, time: Time) -> Time {
        time.saturating_sub(self.ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_backward_passes_no_time() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut steady = Steady::default();
        assert_eq!(steady.at(at(100)), (at(100), false));
        assert_eq!(steady.at(at(70)), (at(100), true));
        assert_eq!(steady.at(at(75)), (at(105), false));
        assert_eq!(steady.clock_at(at(110)), at(80));
        assert_eq!(steady.at(at(70)), (at(105), true));
        assert_eq!(steady.clock_at(at(105)), at(70));
    }
}
