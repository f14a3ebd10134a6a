//! How late a clock was.
//!
//! An emulation that runs behind real time still computes, and its results are then those of a slower host.
//! A log line tells this to whoever reads logs; lateness as a result tells it to the verdict on a claim. The
//! mean would hide the one late wait that broke a deadline, and a list of all would outgrow the run, so a
//! run keeps the number, the maximum and a histogram whose buckets are powers of two of a picosecond: they
//! are the same for every run, so any two can be added.

use laxity_units::Span;

/// One bucket for no lateness, one for each possible length of a span in bits.
const BUCKETS: usize = 65;

/// The lateness of every event of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lateness {
    counts: [u64; BUCKETS],
    max: Span,
}

/// One bar of the histogram of a [`Lateness`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The least lateness in it.
    pub from: Span,
    /// The greatest lateness in it.
    pub to: Span,
    /// How many events were so late.
    pub count: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], max: Span::ZERO }
    }
}

impl Lateness {
    /// Adds one event that was `late`.
    #[inline]
    pub fn record(&mut self, late: Span) {
        self.counts[(u64::BITS - late.as_ps().leading_zeros()) as usize] += 1;
        self.max = self.max.max(late);
    }

    /// Adds all that `other` recorded.
    pub fn merge(&mut self, other: &Lateness) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.max = self.max.max(other.max);
    }

    /// How many events were recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The greatest lateness.
    pub fn max(&self) -> Span {
        self.max
    }

    /// The buckets that are not empty, in rising order: zero, then `[2^k, 2^(k+1))` ps for each `k`.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        self.counts.iter().enumerate().filter(|(_, count)| **count != 0).map(|(bits, count)| Bucket {
            from: Span::from_ps(if bits == 0 { 0 } else { 1 << (bits - 1) }),
            to: Span::from_ps(if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }),
            count: *count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_span_has_the_bucket_that_holds_it() {
        for ps in [0, 1, 2, 3, 4, 1023, 1024, u64::MAX] {
            let mut lateness = Lateness::default();
            lateness.record(Span::from_ps(ps));
            let bucket = lateness.buckets().next().unwrap();
            assert!(bucket.from.as_ps() <= ps && ps <= bucket.to.as_ps(), "{ps} is in {bucket:?}");
            assert!(ps == 0 || bucket.to.as_ps() / 2 < bucket.from.as_ps(), "{bucket:?} is too wide");
        }
    }

    #[test]
    fn merging_is_recording_both() {
        let (mut a, mut b, mut both) = (Lateness::default(), Lateness::default(), Lateness::default());
        for (late, part) in [(3, true), (0, false), (900, true), (5, false)] {
            if part { &mut a } else { &mut b }.record(Span::from_ps(late));
            both.record(Span::from_ps(late));
        }
        a.merge(&b);
        assert_eq!(a, both);
        assert_eq!((a.count(), a.max()), (4, Span::from_ps(900)));
    }
}
