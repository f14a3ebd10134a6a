//! A sketch of a distribution: percentiles within 0.05 % from the first value to the last.
//!
//! A run has from a hundred values of a channel to many millions, and the meaning of a percentile
//! must not depend on which. The buckets are those of HdrHistogram: 1024 of equal width between two
//! powers of two. A bucket at `v` is at most `v / 1024` wide, and the sketch answers with its
//! middle, so the relative error is at most 1 / 2048 = 0.0488 % ([`RELATIVE_ERROR`]). Below 2048 ps
//! each picosecond has a bucket of its own, and percentiles are exact. Count, sum, minimum and
//! maximum are exact, and so are percentiles that are the minimum or the maximum.
//!
//! A negative value (the laxity of a late message) has the bucket of its magnitude with the other
//! sign: the error is relative to the magnitude on both sides of zero, and no bucket holds both
//! signs.
//!
//! # Memory
//!
//! A range from 1 ps to 106 days with both signs has 112 639 buckets, of which a channel fills a
//! few hundred. Only those that hold something are stored, in a hash table of 8 bytes a slot that
//! is at most three quarters full. A sketch of `n` values takes no more than 22 bytes a value, and
//! no more than the filled buckets ask for however large `n` grows. The crate `hdrhistogram` stores
//! every bucket from 0 on (98 KiB for 10 ms at 0.1 %, and as much for each sign), and
//! `sketches-ddsketch` stores every bucket between the least and the greatest value and computes a
//! logarithm for each value. A network of 800 channels has 5000 distributions.
//!
//! # Variance
//!
//! The sum of squared deviations from the mean is kept, never a sum of squares, which cancels: a
//! batch is summed around its first value, and batches are merged by the formula of Chan, Golub and
//! LeVeque (Updating formulae and a pairwise algorithm for computing sample variances, 1979). A
//! constant value has a deviation of exactly zero.

use laxity_units::Time;

/// Bits of a value that its bucket distinguishes, behind the leading one.
const PRECISION: u32 = 10;
/// Buckets between two powers of two.
const SUB: u32 = 1 << PRECISION;
/// The relative error of a percentile, at most.
pub const RELATIVE_ERROR: f64 = 1.0 / (2 * SUB) as f64;
/// Picoseconds in a second.
const PER_SECOND: f64 = 1e12;

/// A distribution of signed spans of time in picoseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sketch {
    count: u64,
    sum: i128,
    min: i64,
    max: i64,
    /// The value that came first, from which the mean is counted: at an hour, a picosecond is the
    /// last digit of a double.
    first: i64,
    /// The mean less the first value, in picoseconds.
    mean: f64,
    /// The sum of the squared deviations from the mean.
    squares: f64,
    buckets: Buckets,
}

/// From `from` to `to` in picoseconds; negative if `to` is before `from`. A distance of more than
/// 106 days is 106 days.
#[inline]
pub(crate) fn picoseconds(from: Time, to: Time) -> i64 {
    let distance = |span: u64| i64::try_from(span).unwrap_or(i64::MAX);
    match to >= from {
        true => distance(to.since(from).as_ps()),
        false => -distance(from.since(to).as_ps()),
    }
}

/// Picoseconds as seconds.
fn seconds(picoseconds: i64) -> f64 {
    picoseconds as f64 / PER_SECOND
}

impl Sketch {
    /// Adds the values of one batch.
    pub fn add(&mut self, values: impl ExactSizeIterator<Item = i64> + Clone) {
        let Some(first) = values.clone().next() else { return };
        let count = values.len() as u64;
        let (mut min, mut max, mut sum) = (first, first, 0_i128);
        for value in values.clone() {
            (min, max) = (min.min(value), max.max(value));
            sum += i128::from(value);
            self.buckets.add(bucket_of(value), 1);
        }
        let around = |value: i64| value.saturating_sub(first) as f64;
        let mean = values.clone().map(around).sum::<f64>() / count as f64;
        let squares = values.map(|value| (around(value) - mean).powi(2)).sum();
        self.take(&Moments { count, sum, min, max, first, mean, squares });
    }

    /// Adds the distribution of other values, for example of the same channel in a run with another
    /// seed.
    pub fn merge(&mut self, other: &Sketch) {
        let Sketch { count, sum, min, max, first, mean, squares, ref buckets } = *other;
        if count > 0 {
            self.take(&Moments { count, sum, min, max, first, mean, squares });
            buckets.filled().for_each(|(bucket, count)| self.buckets.add(bucket, count));
        }
    }

    /// The formula of Chan, Golub and LeVeque for the squares, and sums of the rest.
    fn take(&mut self, other: &Moments) {
        if self.count == 0 {
            (self.min, self.max, self.first) = (other.min, other.max, other.first);
        }
        let (before, count) = (self.count as f64, self.count + other.count);
        let distance = other.first.saturating_sub(self.first) as f64 + other.mean - self.mean;
        let share = other.count as f64 / count as f64;
        self.squares += other.squares + distance * distance * before * share;
        self.mean += distance * share;
        self.count = count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value in seconds; 0 of none.
    pub fn min(&self) -> f64 {
        seconds(self.min)
    }

    /// The largest value in seconds; 0 of none.
    pub fn max(&self) -> f64 {
        seconds(self.max)
    }

    /// The mean in seconds, of the exact sum; 0 of none.
    pub fn mean(&self) -> f64 {
        let count = self.count.max(1);
        let (whole, rest) = (self.sum.div_euclid(i128::from(count)), self.sum.rem_euclid(i128::from(count)));
        (whole as f64 + rest as f64 / count as f64) / PER_SECOND
    }

    /// The standard deviation in seconds, of all values and not of a sample of them; 0 of none.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt() / PER_SECOND
    }

    /// The values in order, for percentiles.
    pub fn ranks(&self) -> Ranks {
        let mut below = 0;
        let up_to = self.buckets.sorted().map(|(bucket, count)| {
            below += count;
            (bucket, below)
        });
        Ranks { up_to: up_to.collect(), min: self.min, max: self.max, count: self.count }
    }
}

/// The moments of some values, which do not depend on their order.
struct Moments {
    count: u64,
    sum: i128,
    min: i64,
    max: i64,
    first: i64,
    mean: f64,
    squares: f64,
}

/// The filled buckets of a sketch in order.
#[derive(Debug, Clone)]
pub struct Ranks {
    /// Each bucket, and how many values there are up to its end.
    up_to: Vec<(i32, u64)>,
    min: i64,
    max: i64,
    count: u64,
}

impl Ranks {
    /// The smallest value that at least that share (0 to 1) of the values does not exceed, in
    /// seconds within [`RELATIVE_ERROR`]; 0 of none.
    pub fn at(&self, share: f64) -> f64 {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        if rank == 1 {
            return seconds(self.min);
        }
        // The last bucket has all values, and a share beyond 1 is the largest.
        let place = self.up_to.partition_point(|(_, up_to)| *up_to < rank);
        match self.up_to.get(place) {
            Some((bucket, _)) if rank < self.count => seconds(middle(*bucket).clamp(self.min, self.max)),
            _ => seconds(self.max),
        }
    }
}

/// The bucket of a value: of the sign of the value, and greater for a greater value.
#[inline]
fn bucket_of(value: i64) -> i32 {
    let size = value.unsigned_abs();
    let shift = (63 - PRECISION).saturating_sub((size | 1).leading_zeros());
    let bucket = (shift * SUB) as i32 + (size >> shift) as i32;
    if value < 0 { -bucket } else { bucket }
}

/// The middle of a bucket.
fn middle(bucket: i32) -> i64 {
    let place = bucket.unsigned_abs();
    let shift = (place / SUB).saturating_sub(1);
    let first = u64::from(place - shift * SUB) << shift;
    let middle = i64::try_from(first + ((1 << shift) - 1) / 2).unwrap_or(i64::MAX);
    if bucket < 0 { -middle } else { middle }
}

/// How many values each bucket holds: a hash table with open addressing, of the buckets that hold
/// any.
///
/// A slot has the bucket in its upper 17 bits and the count below, of which 2^47 would take a
/// thousand values a microsecond for four years. No filled slot is zero, since the least bucket is
/// above -2^16.
#[derive(Debug, Clone, Default)]
struct Buckets {
    /// A power of two of them, or none.
    slots: Vec<u64>,
    filled: usize,
}

/// Bits of a slot that count.
const COUNT_BITS: u32 = 47;
/// Makes the number of the least bucket positive.
const BIAS: i32 = 1 << 16;
/// Slots of the first table.
const FIRST: usize = 16;

impl Buckets {
    #[inline]
    fn add(&mut self, bucket: i32, count: u64) {
        if 4 * self.filled >= 3 * self.slots.len() {
            self.grow();
        }
        let (tag, mask) = ((bucket + BIAS) as u64, self.slots.len() - 1);
        // Fibonacci hashing: neighbours are far apart, and buckets in a row fill the table evenly.
        let hash = (tag as u32).wrapping_mul(0x9E37_79B9) as usize;
        let mut place = hash >> (32 - self.slots.len().trailing_zeros());
        loop {
            let slot = &mut self.slots[place & mask];
            if *slot >> COUNT_BITS == tag {
                *slot += count;
                return;
            }
            if *slot == 0 {
                *slot = tag << COUNT_BITS | count;
                self.filled += 1;
                return;
            }
            place += 1;
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let larger = Self { slots: vec![0; (2 * self.slots.len()).max(FIRST)], filled: 0 };
        let smaller = std::mem::replace(self, larger);
        smaller.filled().for_each(|(bucket, count)| self.add(bucket, count));
    }

    /// The buckets that hold any values, in no order that means anything.
    fn filled(&self) -> impl Iterator<Item = (i32, u64)> {
        self.slots.iter().filter(|slot| **slot != 0).map(|slot| opened(*slot))
    }

    /// The same from the least bucket to the greatest: slots compare as their buckets do.
    fn sorted(&self) -> impl ExactSizeIterator<Item = (i32, u64)> {
        let mut filled = Vec::with_capacity(self.filled);
        filled.extend(self.slots.iter().copied().filter(|slot| *slot != 0));
        filled.sort_unstable();
        filled.into_iter().map(opened)
    }
}

/// The bucket and the count of a slot.
fn opened(slot: u64) -> (i32, u64) {
    ((slot >> COUNT_BITS) as i32 - BIAS, slot & ((1 << COUNT_BITS) - 1))
}

/// Equal if every bucket holds as many; the order in which buckets were filled is not compared.
impl PartialEq for Buckets {
    fn eq(&self, other: &Self) -> bool {
        self.sorted().eq(other.sorted())
    }
}

#[cfg(test)]
mod tests;
