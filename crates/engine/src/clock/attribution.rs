//! Whose fault it is when an event is late.
//!
//! A guarantee on an ordinary machine is analysis plus an allowance for the platform, which takes the
//! processor away for milliseconds now and then, from outside a virtual machine even from a thread of the
//! highest priority. A late event alone does not say which of the two failed, so the verdict on a run would
//! be worth nothing. But a thread that spins is a witness: two neighbouring readings of the counter lie tens of
//! nanoseconds apart unless the platform stood still between them.
//!
//! * *Late while spinning*: the wait had begun before its time, so nothing of ours was left to do, and the
//!   time that is missing lies between the last two readings. This is a *stall*.
//! * *Late from the start*: the time had passed when the wait began. Steps between two waits that took longer
//!   than the threshold are gaps too, since no step of an emulation is that long. The gaps since the thread was last
//!   in time are added up; an event that is late by no more than they are would have been on time without
//!   them, however many events ago they were: a *stall*. One that is later is *backlog*: the machine is too slow
//!   for what is asked of it.
//!
//! A step of our own that takes longer than the threshold is counted as a stall as well, since from inside the
//! two look alike; the list of [`Gap`]s says which were seen while spinning.

use laxity_units::{Span, Time};

/// How many gaps are kept: the longest.
const KEPT: usize = 32;

/// Where the spinning thread was when time went missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum During {
    /// Between two readings of the counter while it waited: nothing of ours ran.
    Spin,
    /// Between two waits: the world handled an event or took inputs.
    Step,
}

/// Time that went missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// When it ended, in the time of the run.
    pub at: Time,
    /// How long it was, in real time.
    pub length: Span,
    /// What the thread was doing.
    pub during: During,
}

/// Events that were late for one cause; spans are in the time of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Late {
    /// How many.
    pub count: u64,
    /// Their lateness, added up.
    pub total: Span,
    /// The greatest lateness.
    pub longest: Span,
}

impl Late {
    fn add(&mut self, late: Span) {
        self.count += 1;
        self.total = self.total.saturating_add(late);
        self.longest = self.longest.max(late);
    }
}

/// The causes of all lateness of a run; the module's header says how they are told apart.
///
/// Counts waits that reached their time: the events of a run, and one more if it ended at its time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    /// How many were late by the allowance or less.
    pub on_time: u64,
    /// Late because the machine cannot keep up.
    pub backlog: Late,
    /// Late because the platform stood still.
    pub stall: Late,
    /// How many gaps of the threshold or longer were seen, whether or not an event was late for them.
    pub gap_count: u64,
    /// Their length in real time, added up.
    pub gap_total: Span,
    gaps: Vec<Gap>,
}

impl Default for Attribution {
    fn default() -> Self {
        let (backlog, stall) = (Late::default(), Late::default());
        let gaps = Vec::with_capacity(KEPT);
        Self { on_time: 0, backlog, stall, gap_count: 0, gap_total: Span::ZERO, gaps }
    }
}

impl Attribution {
    /// The longest gaps seen, at most 32, in order of time.
    pub fn gaps(&self) -> Vec<Gap> {
        let mut gaps = self.gaps.clone();
        gaps.sort_by_key(|gap| gap.at);
        gaps
    }

    /// How many waits reached their time, on time or late.
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
