//! Distributions of what a run measures, each in a [`Sketch`].
//!
//! Values that are measured together are stored together, as one row. Rows wait in a short batch,
//! and a full batch goes into the sketches at once: for a single value, the buckets of a sketch
//! would be fetched into the cache each time.

use laxity_qos::ahead::fetch_end;
use laxity_qos::seldom::seldom;

use crate::results::Summary;
use crate::sketch::{Ranks, Sketch};

/// Rows of a full batch.
const BATCH: usize = 64;

/// Distributions of picoseconds, each of which gets a value when all others do.
#[derive(Debug, Clone)]
pub(crate) struct Rows<const N: usize> {
    /// Rows that are in no sketch yet; never as many as there is capacity for.
    batch: Vec<[i64; N]>,
    /// All rows before; none if there are none.
    sketches: Option<Box<[Sketch; N]>>,
}

/// One distribution by itself.
pub(crate) type Samples = Rows<1>;

impl<const N: usize> Default for Rows<N> {
    fn default() -> Self {
        Self { batch: Vec::new(), sketches: None }
    }
}

impl<const N: usize> Rows<N> {
    /// Adds a value to each distribution.
    #[inline]
    pub(crate) fn push(&mut self, row: [i64; N]) {
        self.batch.push(row);
        if seldom(self.batch.len() == self.batch.capacity()) {
            self.make_room();
        }
    }

    /// Prefetches the memory of the next row.
    #[inline]
    pub(crate) fn fetch(&self) {
        fetch_end(&self.batch);
    }

    /// Makes capacity for another row: four times as much until the batch is full, then by emptying
    /// the batch.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        match self.batch.len() {
            BATCH.. => self.fold(),
            len => self.batch.reserve_exact((3 * len).min(BATCH - len)),
        }
    }

    /// Moves the batch into the sketches.
    fn fold(&mut self) {
        let sketches =
            self.sketches.get_or_insert_with(|| Box::new(std::array::from_fn(|_| Sketch::default())));
        for (n, sketch) in sketches.iter_mut().enumerate() {
            sketch.add(self.batch.iter().map(|row| row[n]));
        }
        self.batch.clear();
    }

    /// The distributions in a few numbers, and as curves if `curve`; `None` each without values.
    pub(crate) fn summaries(mut self, curve: bool) -> [Option<Summary>; N] {
        self.fold();
        match self.sketches {
            Some(sketches) => sketches.each_ref().map(|sketch| summary(sketch, curve)),
            None => std::array::from_fn(|_| None),
        }
    }
}

impl Samples {
    /// See [`Rows::summaries`].
    pub(crate) fn summary(self, curve: bool) -> Option<Summary> {
        let [summary] = self.summaries(curve);
        summary
    }
}

/// The distribution in a few numbers, if there are any values.
fn summary(sketch: &Sketch, curve: bool) -> Option<Summary> {
    let count = sketch.count();
    if count == 0 {
        return None;
    }
    let ranks = sketch.ranks();
    let of_at_least = |least: u64, share: f64| (count >= least).then(|| ranks.at(share));
    Some(Summary {
        count,
        min: sketch.min(),
        mean: sketch.mean(),
        deviation: sketch.deviation(),
        p1: ranks.at(0.01),
        p50: ranks.at(0.5),
        p99: ranks.at(0.99),
        p999: of_at_least(1000, 0.999),
        p9999: of_at_least(10_000, 0.9999),
        max: sketch.max(),
        curve: if curve { curve_of(&ranks, count) } else { Vec::new() },
    })
}

/// Each share of [`shares`] with its value.
fn curve_of(ranks: &Ranks, count: u64) -> Vec<(f64, f64)> {
    shares(count).map(|share| (share, ranks.at(share))).collect()
}

/// 10^(-k/8) of each k below 8. The functions for powers of systems and of WebAssembly differ in the
/// last bit, and powers of ten are exact.
const EIGHTHS: [f64; 8] = [
    1.0,
    0.749_894_209_332_455_8,
    0.562_341_325_190_349_1,
    0.421_696_503_428_582_2,
    0.316_227_766_016_837_94,
    0.237_137_370_566_165_52,
    0.177_827_941_003_892_3,
    0.133_352_143_216_332_4,
];

/// Shares at which a curve of `count` values is given, ascending: every 2 %, eight in each decade
/// of either tail as far as there are values in it, and the two ends.
fn shares(count: u64) -> impl Iterator<Item = f64> {
    // 2 % is where the tails begin: 10^(-14/8) is just below.
    let tail = (14..).map(|k| EIGHTHS[k % 8] / 10f64.powi((k / 8) as i32));
    let tail = tail.take_while(move |share| share * count as f64 >= 1.0);
    let mut tail: Vec<f64> = tail.collect();
    let upper: Vec<f64> = tail.iter().map(|share| 1.0 - share).collect();
    tail.reverse();
    let middle = (1..50).map(|i| f64::from(i) / 50.0);
    [0.0].into_iter().chain(tail).chain(middle).chain(upper).chain([1.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Picoseconds in a second, so that a value of this many reads as 1.
    const S: i64 = 1_000_000_000_000;

    #[test]
    fn a_summary_of_a_hundred() {
        let mut samples = Samples::default();
        for v in (1..=100).rev() {
            samples.push([v * S]);
        }
        let s = samples.summary(false).unwrap();
        assert_eq!((s.count, s.min, s.p1, s.max, s.mean), (100, 1.0, 1.0, 100.0, 50.5));
        // Nearest rank: the 50th and the 99th of a hundred.
        for (found, exact) in [(s.p50, 50.0), (s.p99, 99.0)] {
            assert!((found - exact).abs() <= exact / 2048.0, "{found} for {exact}");
        }
        // The variance of 1..=n is (n² - 1) / 12.
        assert!((s.deviation - (9999.0 / 12.0_f64).sqrt()).abs() < 1e-12, "{}", s.deviation);
        assert_eq!((s.p999, s.p9999, s.curve.len()), (None, None, 0), "a hundred have no thousandth");
        assert_eq!(Samples::default().summary(true), None);
    }

    /// A curve has the value of each share by nearest rank, and goes as far into both tails as
    /// there are values.
    #[test]
    fn a_curve_reaches_both_ends() {
        for n in [1u32, 2, 99, 1000, 20_000] {
            let mut samples = Samples::default();
            (1..=n).for_each(|v| samples.push([i64::from(v) * S]));
            let s = samples.summary(true).unwrap();
            assert!(s.curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{:?}", s.curve);
            assert_eq!((s.curve[0], *s.curve.last().unwrap()), ((0.0, 1.0), (1.0, f64::from(n))));
            for (share, value) in &s.curve[1..] {
                let exact = (share * f64::from(n)).ceil().max(1.0);
                assert!((value - exact).abs() <= exact / 2048.0, "{share} of {n}: {value} for {exact}");
            }
            let below = s.curve.iter().filter(|(share, _)| *share > 0.0 && *share < 0.001).count();
            assert_eq!(below > 0, n > 1000, "of {n}");
            assert_eq!((s.p999.is_some(), s.p9999.is_some()), (n >= 1000, n >= 10_000));
        }
    }

    /// A row counts once, whether it is in a sketch or in the batch, and each column has its own
    /// values.
    #[test]
    fn no_row_is_left_out() {
        for n in [1, 2, 5, BATCH - 1, BATCH, BATCH + 1, 10 * BATCH + 3] {
            let mut rows = Rows::default();
            for i in 0..n as i64 {
                rows.push([i * S, -2 * i * S]);
                assert!(rows.batch.len() < BATCH && rows.batch.capacity() <= BATCH, "after {i}");
            }
            let [up, down] = rows.summaries(false).map(Option::unwrap);
            let last = (n - 1) as f64;
            assert_eq!((up.count, up.min, up.max, up.mean), (n as u64, 0.0, last, last / 2.0));
            assert_eq!((down.count, down.min, down.max, down.mean), (n as u64, -2.0 * last, 0.0, -last));
        }
    }
}
