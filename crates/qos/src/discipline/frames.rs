//! Frames: intervals of time that begin at the same instants for all flows.
//!
//! Frames have lengths `T`, `2 T`, `4 T`, … for a base `T`, and each begins together with a frame
//! of half its length. A flow's frame fits the interval of its contract, because a framing
//! discipline ties delay to the frame: short frames for flows that send often, long ones for flows
//! that may wait.

use laxity_units::{Span, Time};

use super::sharing::Sharing;

/// The base of frames, which determines all lengths.
#[derive(Debug, Clone, Copy)]
pub struct Frames {
    base: Span,
}

impl Frames {
    /// Frames of a base, which is at least a picosecond.
    pub(super) fn of(base: Span) -> Self {
        Self { base: base.max(Span::from_ps(1)) }
    }

    /// The level of the longest frame that is at most `interval`, as a power of two of the base;
    /// level 0 if the base is longer.
    pub(super) fn within(self, interval: Span) -> u8 {
        interval.div_floor(self.base).checked_ilog2().unwrap_or(0) as u8
    }

    /// The level of the shortest frame that is at least `interval`.
    pub(super) fn around(self, interval: Span) -> u8 {
        interval.div_ceil(self.base).max(1).checked_next_power_of_two().map_or(63, u64::ilog2) as u8
    }

    pub(super) fn length(self, level: u8) -> Span {
        self.base.saturating_mul(1u64.checked_shl(u32::from(level)).unwrap_or(u64::MAX))
    }

    /// Number of frames of `level` that have ended by `now`.
    pub(super) fn number(self, level: u8, now: Time) -> u64 {
        now.saturating_since(Time::ZERO).div_floor(self.length(level))
    }

    /// End of the frame of `level` that contains `now`.
    pub(super) fn end(self, level: u8, now: Time) -> Time {
        let frames = self.number(level, now).saturating_add(1);
        Time::ZERO.saturating_add(self.length(level).saturating_mul(frames))
    }

    /// Whether every frame up to level `own` has capacity for the work that must leave in it, plus
    /// one item of another flow that was begun before.
    ///
    /// Flow `i` has frames of `level(i)`, and `work(i)` in each of them. All levels with frames that
    /// are not longer count, because their work has to leave before the end of this frame.
    pub(super) fn have_room(
        self,
        sharing: &Sharing,
        own: u8,
        level: impl Fn(usize) -> u8,
        work: impl Fn(usize) -> Span,
    ) -> bool {
        let all = 0..sharing.flows.len();
        let mut lengths = (0..=own).filter(|length| all.clone().any(|flow| level(flow) == *length));
        lengths.all(|length| {
            let (inside, longer): (Vec<usize>, Vec<usize>) =
                all.clone().partition(|flow| level(*flow) <= length);
            let of_flow = |flow: usize| work(flow).saturating_mul(1u64 << (length - level(flow)));
            let leaves = inside.into_iter().map(of_flow).fold(Span::ZERO, Span::saturating_add);
            let begun = longer.into_iter().map(|flow| sharing.item(flow)).fold(sharing.without(), Span::max);
            leaves.saturating_add(begun) <= self.length(length)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_fit_intervals_from_both_sides() {
        let frames = Frames::of(Span::from_us(10));
        let level = [1, 10, 19, 20, 39, 40].map(|us| frames.within(Span::from_us(us)));
        assert_eq!(level, [0, 0, 0, 1, 1, 2]);
        let level = [1, 10, 11, 20, 21, 40].map(|us| frames.around(Span::from_us(us)));
        assert_eq!(level, [0, 0, 1, 1, 2, 2]);
        assert_eq!(frames.length(3), Span::from_us(80));
        let at = |us| Time::ZERO + Span::from_us(us);
        assert_eq!([0, 39, 40, 41].map(|us| frames.end(2, at(us))), [40, 40, 80, 80].map(at));
        assert_eq!([0, 39, 40, 80].map(|us| frames.number(2, at(us))), [0, 0, 1, 2]);
    }

    #[test]
    fn without_a_base_there_are_frames_all_the_same() {
        let frames = Frames::of(Span::ZERO);
        assert_eq!((frames.length(0), frames.length(63)), (Span::from_ps(1), Span::from_ps(1 << 63)));
        assert_eq!((frames.within(Span::MAX), frames.around(Span::MAX)), (63, 63));
    }
}
