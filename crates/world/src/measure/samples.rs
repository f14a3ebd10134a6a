//! Distributions: exact while they are small, in buckets of 3 % once they are not.
//!
//! A simulated run has tens of thousands of messages, and its percentiles are compared bit by bit; exact ones are
//! worth the megabyte. An emulated one may go on for an hour at a million packets a second, and a network has ten thousand channels: what a run keeps has an end
//! in its length, and grows with its channels by what a distribution in buckets takes.

use laxity_qos::ahead::fetch_end;
use laxity_qos::seldom::seldom;

use crate::results::Summary;

/// Rows kept one by one, at most.
const EXACT: usize = 1 << 18;
/// So many are always kept: buckets take as much.
const FEW: usize = 1 << 12;
/// So many are kept by all channels of a run together, as far as each may keep a few.
const TOGETHER: usize = 1 << 24;
/// Those that are kept one by one lie in so many runs, at most: a run that is full stays where it is, and of ten thousand channels nobody has room for more than a run that is
/// not needed. Were they moved to where there is more room, as a vector's are, that would be the more memory the longer a run, all of which the system has to clear.
const RUNS: usize = 256;
/// So many are put into buckets together: what a distribution has come to is then in registers, and these are all in the first cache.
const BATCH: usize = 64;
/// Buckets of a sign: 32 in each power of two from 2⁻⁵⁰ to 2¹⁴ seconds.
const BUCKETS: usize = 64 * 32;
/// The least exponent that has buckets of its own.
const LEAST: i64 = -50;

/// Distributions of seconds of which each gets a value when all others do: what is counted together lies together, where one look finds it.
#[derive(Debug, Clone)]
pub(crate) struct Rows<const N: usize> {
    /// Those that came last, one by one: a run, or once all others are in buckets as many as go there together.
    rows: Vec<[f64; N]>,
    /// How many make a run.
    run: u32,
    /// Those before; none if these are all.
    past: Option<Box<Past<N>>>,
}

#[derive(Debug, Clone)]
enum Past<const N: usize> {
    /// Run by run.
    Exact(Vec<Vec<[f64; N]>>),
    /// In buckets, since there were too many.
    Folded([Folded; N]),
}

/// One by itself.
pub(crate) type Samples = Rows<1>;

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

impl<const N: usize> Default for Rows<N> {
    fn default() -> Self {
        Self::among(1)
    }
}

impl<const N: usize> Rows<N> {
    /// Those of one of so many channels.
    pub(crate) fn among(channels: usize) -> Self {
        let exact = (TOGETHER / channels.max(1)).clamp(FEW, EXACT);
        Self { rows: Vec::new(), run: (exact / RUNS) as u32, past: None }
    }

    /// Adds a value to each.
    #[inline]
    pub(crate) fn push(&mut self, row: [f64; N]) {
        self.rows.push(row);
        if seldom(self.rows.len() == self.rows.capacity()) {
            self.make_room();
        }
    }

    /// A row is to come: asks for where it will lie.
    #[inline]
    pub(crate) fn fetch(&self) {
        fetch_end(&self.rows);
    }

    /// There is no room for another row: makes some for four times as many until the first run is full; then a run goes to those before, all of which go into buckets once they are as many as may be kept one
    /// by one.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let run = self.run as usize;
        if self.past.is_none() && self.rows.len() < run {
            return self.rows.reserve_exact((3 * self.rows.len()).min(run - self.rows.len()));
        }
        let past = self.past.get_or_insert_with(|| Box::new(Past::Exact(Vec::new())));
        match &mut **past {
            Past::Folded(folded) => {
                fold(folded, &self.rows);
                self.rows.clear();
            }
            Past::Exact(runs) => {
                runs.push(std::mem::replace(&mut self.rows, Vec::with_capacity(run)));
                if runs.len() == RUNS {
                    let mut folded = std::array::from_fn(|_| Folded::new());
                    runs.iter().for_each(|run| fold(&mut folded, run));
                    **past = Past::Folded(folded);
                    self.rows = Vec::with_capacity(BATCH);
                }
            }
        }
    }

    /// The distributions in a few numbers, and as curves if those are asked for; `None` each if nothing was counted.
    pub(crate) fn summaries(self, curve: bool) -> [Option<Summary>; N] {
        let rows = self.rows;
        let runs = match self.past.map(|past| *past) {
            Some(Past::Folded(mut folded)) => {
                fold(&mut folded, &rows);
                return folded.map(|folded| Some(folded.summary(curve)));
            }
            Some(Past::Exact(runs)) => runs,
            None => Vec::new(),
        };
        std::array::from_fn(|n| {
            exactly(runs.iter().flatten().chain(&rows).map(|row| row[n]).collect(), curve)
        })
    }
}

/// Puts `rows` into buckets.
fn fold<const N: usize>(folded: &mut [Folded; N], rows: &[[f64; N]]) {
    for (n, folded) in folded.iter_mut().enumerate() {
        folded.add(rows.iter().map(|row| row[n]));
    }
}

impl Samples {
    /// See [`Rows::summaries`].
    pub(crate) fn summary(self, curve: bool) -> Option<Summary> {
        let [summary] = self.summaries(curve);
        summary
    }
}

/// The distribution of these values, if there are any.
fn exactly(mut values: Vec<f64>, curve: bool) -> Option<Summary> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let mean = values.iter().sum::<f64>() / n as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
    // Nearest rank: the smallest value that at least that share of the values does not exceed.
    let percentile = |p: f64| values[((p / 100.0 * n as f64).ceil() as usize).clamp(1, n) - 1];
    let moments = Moments { count: n as u64, mean, deviation: variance.sqrt() };
    Some(summary(&moments, (values[0], values[n - 1]), percentile, curve))
}

/// What is known of a distribution without its order.
struct Moments {
    count: u64,
    mean: f64,
    deviation: f64,
}

/// The summary of what has these percentiles.
fn summary(of: &Moments, (min, max): (f64, f64), percentile: impl Fn(f64) -> f64, curve: bool) -> Summary {
    let Moments { count, mean, deviation } = *of;
    let of_at_least = |least: u64, p: f64| (count >= least).then(|| percentile(p));
    let curve =
        if curve { shares(count).map(|share| (share, percentile(share * 100.0))).collect() } else { vec![] };
    Summary {
        count,
        min,
        mean,
        deviation,
        p1: percentile(1.0),
        p50: percentile(50.0),
        p99: percentile(99.0),
        p999: of_at_least(1000, 99.9),
        p9999: of_at_least(10_000, 99.99),
        max,
        curve,
    }
}

/// Shares at which a curve of `count` values is told, ascending: every 2 %, eight in each decade of either tail as far as there are
/// values in it, and the two ends.
fn shares(count: u64) -> impl Iterator<Item = f64> {
    // 2 % is where the tails begin: 10^(-14/8) is just below.
    let tail =
        (14..).map(|k| 10f64.powf(f64::from(k) / -8.0)).take_while(move |share| share * count as f64 >= 1.0);
    let mut tail: Vec<f64> = tail.collect();
    let upper: Vec<f64> = tail.iter().map(|share| 1.0 - share).collect();
    tail.reverse();
    let middle = (1..50).map(|i| f64::from(i) / 50.0);
    [0.0].into_iter().chain(tail).chain(middle).chain(upper).chain([1.0])
}

impl Folded {
    fn new() -> Self {
        let (min, max) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { count: 0, sum: 0.0, squares: 0.0, min, max, buckets: vec![0; 2 * BUCKETS] }
    }

    fn add(&mut self, values: impl Iterator<Item = f64>) {
        let Self { mut count, mut sum, mut squares, mut min, mut max, .. } = *self;
        // Exponent and the first five bits of the fraction, as they stand in the number.
        let least = ((1023 + LEAST) as u64) << 5;
        for value in values {
            count += 1;
            sum += value;
            squares += value * value;
            min = min.min(value);
            max = max.max(value);
            let size = ((value.abs().to_bits() >> 47).saturating_sub(least) as usize).min(BUCKETS - 1);
            self.buckets[if value < 0.0 { BUCKETS - 1 - size } else { BUCKETS + size }] += 1;
        }
        (self.count, self.sum, self.squares, self.min, self.max) = (count, sum, squares, min, max);
    }

    /// The middle of a bucket.
    fn value(bucket: usize) -> f64 {
        let (sign, size) =
            if bucket < BUCKETS { (-1.0, BUCKETS - 1 - bucket) } else { (1.0, bucket - BUCKETS) };
        let edge =
            |size: usize| (1.0 + (size % 32) as f64 / 32.0) * 2f64.powi((LEAST + (size / 32) as i64) as i32);
        sign * (edge(size) + edge(size + 1)) / 2.0
    }

    fn summary(&self, curve: bool) -> Summary {
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
        let deviation = (self.squares / n - mean * mean).max(0.0).sqrt();
        summary(&Moments { count: self.count, mean, deviation }, (self.min, self.max), percentile, curve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_exact() {
        let mut samples = Samples::default();
        for v in (1..=100).rev() {
            samples.push([f64::from(v)]);
        }
        let s = samples.summary(false).unwrap();
        assert_eq!((s.count, s.min, s.p1, s.p50, s.p99, s.max), (100, 1.0, 1.0, 50.0, 99.0, 100.0));
        assert_eq!(s.mean, 50.5);
        assert!((s.deviation - 28.866).abs() < 1e-3);
        assert_eq!((s.p999, s.p9999, s.curve.len()), (None, None, 0), "a hundred have no thousandth");
        assert_eq!(Samples::default().summary(true), None);
    }

    /// A curve tells each share's value by nearest rank, and goes as far into either tail as there are values.
    #[test]
    fn a_curve_reaches_both_ends() {
        for n in [1u32, 2, 99, 1000, 20_000] {
            let mut samples = Samples::default();
            (1..=n).for_each(|v| samples.push([f64::from(v)]));
            let s = samples.summary(true).unwrap();
            assert!(s.curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{:?}", s.curve);
            assert_eq!((s.curve[0], *s.curve.last().unwrap()), ((0.0, 1.0), (1.0, f64::from(n))));
            for (share, value) in &s.curve[1..] {
                assert_eq!(*value, (share * 100.0 / 100.0 * f64::from(n)).ceil().max(1.0), "{share} of {n}");
            }
            let below = s.curve.iter().filter(|(share, _)| *share > 0.0 && *share < 0.001).count();
            assert_eq!(below > 0, n > 1000, "of {n}");
            assert_eq!((s.p999.is_some(), s.p9999.is_some()), (n >= 1000, n >= 10_000));
            assert_eq!(s.p9999, (n == 20_000).then_some(19_998.0));
        }
    }

    /// What has come since the last batch was put into buckets counts, too.
    #[test]
    fn no_value_is_left_out() {
        for more in [0, 1, BATCH - 1, BATCH, BATCH + 1] {
            let mut samples = Samples::default();
            (0..EXACT + more).for_each(|i| samples.push([if i < EXACT { 1.0 } else { 3.0 }]));
            let s = samples.summary(false).unwrap();
            assert_eq!((s.count, s.min), ((EXACT + more) as u64, 1.0));
            assert_eq!(s.max, if more == 0 { 1.0 } else { 3.0 });
            assert!((s.mean - 1.0 - 2.0 * more as f64 / s.count as f64).abs() < 1e-12, "{more}: {}", s.mean);
        }
    }

    /// Sixty-four channels keep all that one keeps, a hundred a hundredth of what sixty-four do together, and ten thousand a few each.
    #[test]
    fn what_many_keep_has_an_end() {
        for (channels, exact) in [(0, EXACT), (1, EXACT), (64, EXACT), (100, 167_680), (10_000, FEW)] {
            let mut samples = Samples::among(channels);
            for i in 1..exact {
                samples.push([i as f64]);
                let Some(Past::Exact(runs)) = samples.past.as_deref() else {
                    assert!(samples.past.is_none() && samples.rows.len() == i, "{channels}: {i}");
                    assert!(
                        samples.rows.capacity() <= (4 * i).max(16),
                        "{channels}: room for {}",
                        samples.rows.capacity()
                    );
                    continue;
                };
                assert_eq!(runs.iter().map(Vec::len).sum::<usize>() + samples.rows.len(), i, "{channels}");
                assert!(
                    runs.iter().chain([&samples.rows]).all(|run| run.capacity() == exact / RUNS),
                    "{channels}"
                );
            }
            samples.push([0.0]);
            assert!(matches!(samples.past.as_deref(), Some(Past::Folded(_))), "{channels}");
            assert_eq!((samples.rows.len(), samples.rows.capacity()), (0, BATCH), "{channels}");
            let summary = samples.summary(false).unwrap();
            assert_eq!((summary.count, summary.max), (exact as u64, (exact - 1) as f64));
        }
    }

    /// Folded at the last value or never: counts and extremes agree, percentiles to 3 %.
    #[test]
    fn a_large_distribution_is_folded() {
        let value = |i: usize| ((i * 7919) % EXACT) as f64 * 1e-7 - 5e-3;
        let (mut exact, mut folded) = (Rows::default(), Rows::default());
        for i in 0..EXACT {
            if i + 1 < EXACT {
                exact.push([value(i), -value(i)]);
            }
            folded.push([value(i), -value(i)]);
        }
        assert!(folded.rows.is_empty() && matches!(exact.past.as_deref(), Some(Past::Exact(_))));
        let (exact, folded) = (exact.summaries(true), folded.summaries(true));
        assert_eq!(folded[1].as_ref().unwrap().max, -folded[0].as_ref().unwrap().min, "each has its own");
        for (exact, folded) in exact.into_iter().zip(folded) {
            let (exact, folded) = (exact.unwrap(), folded.unwrap());
            assert_eq!((exact.count + 1, folded.count), (EXACT as u64, EXACT as u64));
            let extremes = [(exact.min, folded.min), (exact.max, folded.max)];
            let tails = [(exact.p999, folded.p999), (exact.p9999, folded.p9999)]
                .map(|(a, b)| (a.unwrap(), b.unwrap()));
            let curves =
                exact.curve.iter().zip(&folded.curve).map(|(a, b)| (a.1, b.1)).filter(|(a, _)| *a != 0.0);
            let middle = [(exact.p1, folded.p1), (exact.p50, folded.p50), (exact.p99, folded.p99)];
            for (a, b) in middle.into_iter().chain(extremes).chain(tails).chain(curves) {
                assert!((a - b).abs() <= 0.032 * a.abs(), "{a} and {b}");
            }
            assert!((exact.deviation / folded.deviation - 1.0).abs() < 1e-3);
        }
    }
}
