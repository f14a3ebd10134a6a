//! Lateness of a clock.
//!
//! An emulation that runs behind real time still computes, but its results are those of a slower
//! host. Lateness is therefore a result, which verdicts use. The mean would hide the one late wait
//! that broke a deadline, and a list of all would be too large, so a run keeps the count, the
//! maximum and a histogram. Its buckets are the same for every run, so any two can be added: every
//! power of two of a picosecond is split into 32 equal parts, as in Tene's HdrHistogram, and a
//! percentile is exact to 3 % at every magnitude.
//!
//! A simulation is never late, so on-time events are counted beside the histogram. Its 15 KB are
//! allocated at the first late event.

use laxity_units::Span;

/// Binary logarithm of the number of parts of a power of two.
const PART_BITS: u32 = 5;
const PARTS: u64 = 1 << PART_BITS;
/// Numbers below [`PARTS`] have a bucket each, and so has every part of each power from there on.
const BUCKETS: usize = ((u64::BITS - PART_BITS + 1) as usize) << PART_BITS;

/// Lateness of every event of a run.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Lateness {
    on_time: u64,
    /// Empty until an event is late; the bucket of zero is unused.
    late: Vec<u64>,
    max: Span,
}

/// Bucket of the histogram of a [`Lateness`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatenessBucket {
    /// Minimum lateness of the bucket.
    pub from: Span,
    /// Maximum lateness of the bucket.
    pub to: Span,
    /// Number of events.
    pub count: u64,
}

impl std::fmt::Debug for Lateness {
    /// A summary instead of two thousand buckets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [median, tail] = [0.5, 0.999].map(|q| self.quantile(q));
        let mut summary = f.debug_struct("Lateness");
        summary.field("count", &self.count()).field("p50", &median).field("p99.9", &tail);
        summary.field("max", &self.max).finish_non_exhaustive()
    }
}

impl Lateness {
    /// Adds one event that was `late`.
    #[inline]
    pub fn record(&mut self, late: Span) {
        if late.is_zero() {
            self.on_time += 1;
        } else {
            self.record_late(late);
        }
    }

    pub(crate) fn record_on_time(&mut self, count: u64) {
        self.on_time += count;
    }

    fn record_late(&mut self, late: Span) {
        if self.late.is_empty() {
            self.late = vec![0; BUCKETS];
        }
        self.late[index(late.as_ps())] += 1;
        self.max = self.max.max(late);
    }

    /// Adds the events of `other`.
    pub fn merge(&mut self, other: &Lateness) {
        if self.late.len() < other.late.len() {
            self.late.resize(other.late.len(), 0);
        }
        for (count, more) in self.late.iter_mut().zip(&other.late) {
            *count += more;
        }
        self.on_time += other.on_time;
        self.max = self.max.max(other.max);
    }

    /// Number of events.
    pub fn count(&self) -> u64 {
        self.on_time + self.late.iter().sum::<u64>()
    }

    /// Maximum lateness.
    pub fn max(&self) -> Span {
        self.max
    }

    /// Quantile `q` of the lateness, at most 3 % too great; zero without events.
    ///
    /// `q` is between 0 and 1, and `quantile(1.0)` is the maximum.
    pub fn quantile(&self, q: f64) -> Span {
        assert!((0.0..=1.0).contains(&q), "a share is between 0 and 1, not {q}");
        let rank = (q * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for bucket in self.buckets() {
            seen += bucket.count;
            if seen >= rank {
                return bucket.to.min(self.max);
            }
        }
        self.max
    }

    /// Non-empty buckets, in rising order.
    pub fn buckets(&self) -> impl Iterator<Item = LatenessBucket> {
        let late = self.late.iter().enumerate().skip(1).map(|(index, count)| bucket(index, *count));
        std::iter::once(bucket(0, self.on_time)).chain(late).filter(|bucket| bucket.count != 0)
    }
}

/// Index of the bucket of `ps`.
#[inline]
fn index(ps: u64) -> usize {
    if ps < PARTS {
        return ps as usize;
    }
    let power = ps.ilog2() - PART_BITS;
    // The leading one of the shifted value adds the step to the next power's first bucket.
    (u64::from(power) * PARTS + (ps >> power)) as usize
}

fn bucket(index: usize, count: u64) -> LatenessBucket {
    let index = index as u64;
    let power = (index / PARTS).saturating_sub(1);
    let from = (index - power * PARTS) << power;
    LatenessBucket { from: Span::from_ps(from), to: Span::from_ps(from + ((1 << power) - 1)), count }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> Lateness {
        let mut lateness = Lateness::default();
        for ps in values {
            lateness.record(Span::from_ps(*ps));
        }
        lateness
    }

    /// Values of all magnitudes with equal probability.
    fn magnitude() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..=64_u32).prop_map(|(value, shift)| value.checked_shr(shift).unwrap_or(0))
    }

    #[test]
    fn the_buckets_have_no_hole_and_no_overlap() {
        let mut next = Some(0);
        for index in 0..BUCKETS {
            let bucket = bucket(index, 1);
            assert_eq!(Some(bucket.from.as_ps()), next, "bucket {index}");
            next = bucket.to.as_ps().checked_add(1);
        }
        assert_eq!(next, None, "the last bucket ends at the longest span");
    }

    proptest! {
        #[test]
        fn every_span_has_a_narrow_bucket_that_holds_it(ps in magnitude()) {
            let bucket = of(&[ps]).buckets().next().unwrap();
            let (from, to) = (bucket.from.as_ps(), bucket.to.as_ps());
            prop_assert!(from <= ps && ps <= to, "{ps} is in {bucket:?}");
            prop_assert!((to - from) as f64 <= from as f64 / 32.0, "{bucket:?} is too wide");
        }

        #[test]
        fn merging_is_recording_both(
            a in proptest::collection::vec(magnitude(), 0..20),
            b in proptest::collection::vec(magnitude(), 0..20),
        ) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let both = [a, b].concat();
            prop_assert_eq!(&merged, &of(&both));
            prop_assert_eq!(merged.count(), both.len() as u64);
            prop_assert_eq!(merged.max().as_ps(), both.into_iter().max().unwrap_or(0));
        }

        #[test]
        fn a_quantile_is_that_of_the_sorted_list(
            mut values in proptest::collection::vec(magnitude(), 1..200),
            q in 0.0..=1.0_f64,
        ) {
            let found = of(&values).quantile(q).as_ps();
            values.sort_unstable();
            let exact = values[((q * values.len() as f64).ceil() as usize).max(1) - 1];
            prop_assert!(exact <= found, "{found} for {exact}");
            prop_assert!((found - exact) as f64 <= exact as f64 / 32.0, "{found} for {exact}");
        }
    }

    #[test]
    fn no_events_were_late_by_nothing() {
        assert_eq!(Lateness::default().quantile(0.5), Span::ZERO);
    }
}
