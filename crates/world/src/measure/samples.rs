//! Distributions: exact while they are small, in buckets of 3 % once they are not.
//!
//! A simulated run has tens of thousands of messages, and its percentiles are compared bit by bit; exact ones are
//! worth the megabyte. An emulated one may go on for an hour at a million packets a second.

use crate::results::Summary;

/// Values kept one by one, at most.
const EXACT: usize = 1 << 18;
/// Buckets of a sign: 32 in each power of two from 2⁻⁵⁰ to 2¹⁴ seconds.
const BUCKETS: usize = 64 * 32;
/// The least exponent that has buckets of its own.
const LEAST: i64 = -50;

/// A distribution of seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    exact: Vec<f64>,
    folded: Option<Box<Folded>>,
}

/// A distribution in buckets.
#[derive(Debug, Clone)]
struct Folded {
    count: u64,
    sum: f64,
    squares: f64,
    min: f64,
    max: f64,
    /// Negative values first, each sign by size.
    buckets: Vec<u64>,
}

impl Samples {
    #[inline]
    pub(crate) fn push(&mut self, value: f64) {
        if let Some(folded) = &mut self.folded {
            return folded.push(value);
        }
        self.exact.push(value);
        if self.exact.len() == EXACT {
            let mut folded = Folded::new();
            std::mem::take(&mut self.exact).into_iter().for_each(|value| folded.push(value));
            self.folded = Some(Box::new(folded));
        }
    }

    /// The distribution in a few numbers; `None` if nothing was counted.
    pub(crate) fn summary(mut self) -> Option<Summary> {
        if let Some(folded) = self.folded {
            return Some(folded.summary());
        }
        let n = self.exact.len();
        if n == 0 {
            return None;
        }
        self.exact.sort_unstable_by(f64::total_cmp);
        let mean = self.exact.iter().sum::<f64>() / n as f64;
        let variance = self.exact.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
        // Nearest rank: the smallest value that at least that share of the values does not exceed.
        let percentile = |p: f64| self.exact[((p / 100.0 * n as f64).ceil() as usize).clamp(1, n) - 1];
        Some(Summary {
            count: n as u64,
            min: self.exact[0],
            mean,
            deviation: variance.sqrt(),
            p1: percentile(1.0),
            p50: percentile(50.0),
            p99: percentile(99.0),
            max: self.exact[n - 1],
        })
    }
}

impl Folded {
    fn new() -> Self {
        let (min, max) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { count: 0, sum: 0.0, squares: 0.0, min, max, buckets: vec![0; 2 * BUCKETS] }
    }

    fn push(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        // Exponent and the first five bits of the fraction, as they stand in the number.
        let least = ((1023 + LEAST) as u64) << 5;
        let size = ((value.abs().to_bits() >> 47).saturating_sub(least) as usize).min(BUCKETS - 1);
        self.buckets[if value < 0.0 { BUCKETS - 1 - size } else { BUCKETS + size }] += 1;
    }

    /// The middle of a bucket.
    fn value(bucket: usize) -> f64 {
        let (sign, size) =
            if bucket < BUCKETS { (-1.0, BUCKETS - 1 - bucket) } else { (1.0, bucket - BUCKETS) };
        let edge =
            |size: usize| (1.0 + (size % 32) as f64 / 32.0) * 2f64.powi((LEAST + (size / 32) as i64) as i32);
        sign * (edge(size) + edge(size + 1)) / 2.0
    }

    fn summary(&self) -> Summary {
        let n = self.count as f64;
        let mean = self.sum / n;
        let percentile = |p: f64| {
            let rank = ((p / 100.0 * n).ceil() as u64).clamp(1, self.count);
            let mut seen = 0;
            let bucket = self.buckets.iter().position(|count| {
                seen += count;
                seen >= rank
            });
            Self::value(bucket.expect("every value has a bucket")).clamp(self.min, self.max)
        };
        Summary {
            count: self.count,
            min: self.min,
            mean,
            deviation: (self.squares / n - mean * mean).max(0.0).sqrt(),
            p1: percentile(1.0),
            p50: percentile(50.0),
            p99: percentile(99.0),
            max: self.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_exact() {
        let mut samples = Samples::default();
        for v in (1..=100).rev() {
            samples.push(f64::from(v));
        }
        let s = samples.summary().unwrap();
        assert_eq!((s.count, s.min, s.p1, s.p50, s.p99, s.max), (100, 1.0, 1.0, 50.0, 99.0, 100.0));
        assert_eq!(s.mean, 50.5);
        assert!((s.deviation - 28.866).abs() < 1e-3);
        assert_eq!(Samples::default().summary(), None);
    }

    /// Folded at the last value or never: counts and extremes agree, percentiles to 3 %.
    #[test]
    fn a_large_distribution_is_folded() {
        let value = |i: usize| ((i * 7919) % EXACT) as f64 * 1e-7 - 5e-3;
        let (mut exact, mut folded) = (Samples::default(), Samples::default());
        for i in 0..EXACT {
            if i + 1 < EXACT {
                exact.push(value(i));
            }
            folded.push(value(i));
        }
        assert!(folded.exact.is_empty() && exact.folded.is_none());
        let (exact, folded) = (exact.summary().unwrap(), folded.summary().unwrap());
        assert_eq!((exact.min, folded.count), (folded.min, EXACT as u64));
        for (a, b) in [(exact.p1, folded.p1), (exact.p50, folded.p50), (exact.p99, folded.p99)] {
            assert!((a - b).abs() <= 0.032 * a.abs(), "{a} and {b}");
        }
        assert!((exact.deviation / folded.deviation - 1.0).abs() < 1e-3);
    }
}
