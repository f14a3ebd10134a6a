//! The length of a queue over a run of unknown length.

use laxity_units::{Span, Time};
use serde_json::{Value, json};

/// Buckets at most; then two become one.
const MOST: usize = 600;

/// The largest length in each of equal parts of the time so far.
#[derive(Debug)]
pub(super) struct Level {
    width: Span,
    largest: Vec<u32>,
    now: u32,
    since: Time,
    /// Items times picoseconds.
    area: u128,
}

impl Default for Level {
    fn default() -> Self {
        Self { width: Span::from_us(1), largest: Vec::new(), now: 0, since: Time::ZERO, area: 0 }
    }
}

impl Level {
    /// The length is `value` from `at` on.
    pub(super) fn set(&mut self, at: Time, value: u32) {
        self.area += u128::from(self.now) * u128::from(at.saturating_since(self.since).as_ps());
        self.since = self.since.max(at);
        let bucket = loop {
            let bucket = (at.as_ps() / self.width.as_ps()) as usize;
            if bucket < MOST {
                break bucket;
            }
            self.width = self.width.saturating_mul(2);
            self.largest = self.largest.chunks(2).map(|two| two.iter().copied().max().unwrap_or(0)).collect();
        };
        // The old length lasted into the buckets since.
        while self.largest.len() <= bucket {
            self.largest.push(self.now);
        }
        self.largest[bucket] = self.largest[bucket].max(value);
        self.now = value;
    }

    /// The largest length.
    pub(super) fn most(&self) -> u32 {
        self.largest.iter().copied().max().unwrap_or(0)
    }

    /// The lengths as JSON, of a run that ended at `end` seconds.
    pub(super) fn finish(&self, end: f64) -> Value {
        let until = end - self.since.as_ps() as f64 / 1e12;
        let area = self.area as f64 / 1e12 + f64::from(self.now) * until.max(0.0);
        json!({
            "most": self.most(),
            "mean": if end > 0.0 { area / end } else { 0.0 },
            "width": self.width.as_secs_f64(),
            "largest": self.largest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_each_part_stays_however_long_the_run() {
        let mut level = Level::default();
        for number in 0..10_000_u64 {
            let at = Time::ZERO + Span::from_us(number * 10);
            level.set(at, if number == 7_000 { 9 } else { 1 });
            level.set(at + Span::from_us(5), 0);
        }
        assert_eq!(level.most(), 9);
        assert!(level.largest.len() <= MOST);
        let at = (70_000.0 / level.width.as_secs_f64() / 1e6) as usize;
        assert_eq!(level.largest[at], 9);
        let finished = level.finish(0.1);
        assert!((finished["mean"].as_f64().unwrap() - 0.5).abs() < 0.01, "{finished}");
    }

    #[test]
    fn a_length_lasts_until_the_next() {
        let mut level = Level::default();
        level.set(Time::ZERO + Span::from_us(1), 3);
        level.set(Time::ZERO + Span::from_us(4), 0);
        assert_eq!(level.largest, [0, 3, 3, 3, 3]);
    }
}
