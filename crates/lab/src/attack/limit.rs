//! The wall-clock limit of a search, and the share of each phase.
//!
//! Each phase stops at a share of the whole time, so that a slow phase leaves time for the next:
//!
//! | phase | stops at |
//! |---|---|
//! | runs with the experiment's own traffic | a quarter |
//! | enumeration of a small space | a half |
//! | climbs | nine tenths |
//! | confirmation of what was found | the end |
//!
//! No component reads a clock, so the caller passes the elapsed time.

use laxity_units::Span;

/// The time that a search may take.
#[derive(Clone, Copy)]
pub struct TimeLimit<'a> {
    /// The whole time; `None` for a search that only its steps limit.
    pub limit: Option<Span>,
    /// How much time has passed since the search began.
    pub passed: &'a (dyn Fn() -> Span + Sync),
}

/// A phase of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchPhase {
    /// Runs with the experiment's own traffic.
    Plain,
    /// Enumeration of a small space.
    Grid,
    /// Climbs.
    Climb,
    /// Confirmation of what was found.
    Confirm,
}

impl SearchPhase {
    /// The share of the whole time, in percent, at which the phase stops.
    fn stops_at(self) -> u64 {
        match self {
            SearchPhase::Plain => 25,
            SearchPhase::Grid => 50,
            SearchPhase::Climb => 90,
            SearchPhase::Confirm => 100,
        }
    }
}

impl TimeLimit<'static> {
    /// No limit.
    pub const NONE: Self = Self { limit: None, passed: &|| Span::ZERO };
}

impl TimeLimit<'_> {
    /// Whether `phase` may go on.
    pub fn allows(&self, phase: SearchPhase) -> bool {
        let stop = |limit: Span| limit.scale_floor(phase.stops_at(), 100);
        self.limit.is_none_or(|limit| (self.passed)() < stop(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_stops_at_its_share_of_the_time() {
        for (phase, ms) in [
            (SearchPhase::Plain, 250),
            (SearchPhase::Grid, 500),
            (SearchPhase::Climb, 900),
            (SearchPhase::Confirm, 1000),
        ] {
            let allows = |passed: Span| {
                let passed = move || passed;
                TimeLimit { limit: Some(Span::from_secs(1)), passed: &passed }.allows(phase)
            };
            let stop = Span::from_ms(ms);
            assert!(allows(stop.saturating_sub(Span::from_ps(1))) && !allows(stop), "{phase:?}");
        }
        assert!(TimeLimit::NONE.allows(SearchPhase::Plain));
        let late = TimeLimit { limit: None, passed: &|| Span::MAX };
        assert!(late.allows(SearchPhase::Confirm), "steps alone limit such a search");
    }
}
