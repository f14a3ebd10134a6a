//! Attribution of lateness to its cause.
//!
//! A guarantee on an ordinary machine is analysis plus an allowance for the platform, which takes
//! the processor away for milliseconds now and then; a virtual machine's host does so even from a
//! thread of the highest priority. A late event alone does not show which of the two failed, so a
//! verdict on the run would be worthless. But a spinning thread is a witness: two successive
//! readings of the counter are tens of nanoseconds apart unless the platform stalled between them.
//!
//! * *Late while spinning*: the wait began before its time, so the thread had no work left, and the
//!   missing time lies between the last two readings. This is a *stall*.
//! * *Late from the start*: the time had passed when the wait began. Steps between two waits that
//!   took longer than the threshold are gaps too, since no step of an emulation is that long. The
//!   gaps since the thread was last on time are added up. An event that is late by at most that sum
//!   would have been on time without them, however many events ago they were: a *stall*. A later
//!   one is *backlog*: the machine is too slow for its load.
//!
//! A step of the program that takes longer than the threshold also counts as a stall, since from
//! inside the two are indistinguishable; the list of [`Gap`]s shows which were seen while spinning.

use laxity_units::{Span, Time};

/// Number of gaps kept: the longest.
const KEPT: usize = 32;

/// Activity of the spinning thread during a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum During {
    /// Between two readings of the counter in a wait: no code of the world ran.
    Spin,
    /// Between two waits: the world handled an event or took inputs.
    Step,
}

/// Interval in which time went missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// End, in the time of the run.
    pub at: Time,
    /// Length, in real time.
    pub length: Span,
    /// Activity of the thread.
    pub during: During,
}

/// Events that were late for one cause; spans are in the time of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LateEvents {
    /// Number of events.
    pub count: u64,
    /// Sum of their lateness.
    pub total: Span,
    /// Maximum lateness.
    pub longest: Span,
}

impl LateEvents {
    fn add(&mut self, late: Span) {
        self.count += 1;
        self.total = self.total.saturating_add(late);
        self.longest = self.longest.max(late);
    }
}

/// Causes of all lateness of a run; the module's header defines them.
///
/// Counts waits that reached their time: the events of a run, plus one if it ended at its time
/// limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    /// Number of waits late by at most the allowance.
    pub on_time: u64,
    /// Late because the machine is too slow.
    pub backlog: LateEvents,
    /// Late because the platform stalled.
    pub stall: LateEvents,
    /// Number of gaps of at least the threshold, whether or not an event was late for them.
    pub gap_count: u64,
    /// Sum of their lengths, in real time.
    pub gap_total: Span,
    gaps: Vec<Gap>,
}

impl Default for Attribution {
    fn default() -> Self {
        let (backlog, stall) = (LateEvents::default(), LateEvents::default());
        let gaps = Vec::with_capacity(KEPT);
        Self { on_time: 0, backlog, stall, gap_count: 0, gap_total: Span::ZERO, gaps }
    }
}

impl Attribution {
    /// Longest gaps, at most 32, in order of time.
    pub fn gaps(&self) -> Vec<Gap> {
        let mut gaps = self.gaps.clone();
        gaps.sort_by_key(|gap| gap.at);
        gaps
    }

    /// Number of waits that reached their time, on time or late.
    pub fn reached(&self) -> u64 {
        self.on_time + self.backlog.count + self.stall.count
    }

    pub(super) fn add_backlog(&mut self, late: Span) {
        self.backlog.add(late);
    }

    pub(super) fn add_stall(&mut self, late: Span) {
        self.stall.add(late);
    }

    #[cold]
    pub(super) fn add_gap(&mut self, gap: Gap) {
        self.gap_count += 1;
        self.gap_total = self.gap_total.saturating_add(gap.length);
        if self.gaps.len() < KEPT {
            self.gaps.push(gap);
        } else if let Some(least) = self.gaps.iter_mut().min_by_key(|gap| gap.length)
            && least.length < gap.length
        {
            *least = gap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gaps_are_kept_in_order_of_time() {
        let mut attribution = Attribution::default();
        for n in 0..100_u64 {
            let length = Span::from_us(n * 37 % 100);
            attribution.add_gap(Gap { at: Time::from_ns(n), length, during: During::Spin });
        }
        let gaps = attribution.gaps();
        assert_eq!((gaps.len(), attribution.gap_count), (KEPT, 100));
        assert!(gaps.is_sorted_by_key(|gap| gap.at));
        assert_eq!(gaps.iter().map(|gap| gap.length).min(), Some(Span::from_us(68)));
        assert_eq!(attribution.gap_total, Span::from_us((0..100).sum()));
    }
}
