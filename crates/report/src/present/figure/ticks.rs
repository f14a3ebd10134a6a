//! The marks of an axis.
//!
//! The library's own marks support neither named positions nor an axis of throughput that starts at
//! zero; [`Ticks`] is a custom coordinate type.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// Positions on one axis: its extent, its marks and their labels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ticks {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) at: Vec<f64>,
    pub(super) log: bool,
}

impl Ticks {
    /// Round marks from zero (or the least value, if that is negative) past the largest.
    pub(super) fn from_zero(values: &[f64]) -> Self {
        let least = values.iter().copied().fold(0.0, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        if least == most {
            return Self { from: 0.0, to: 1.0, at: vec![0.0, 1.0], log: false };
        }
        let step = round_step(most - least, 6.0);
        let first = (least / step).floor() as i64;
        // Room above the topmost line, or it hides in the frame.
        let last = ((most / step) - 0.02).ceil().max((most / step * 1.02).ceil()) as i64;
        Self {
            from: first as f64 * step,
            to: last as f64 * step,
            at: (first..=last).map(|i| i as f64 * step).collect(),
            log: false,
        }
    }

    /// Likewise for counts: no mark stands at half a packet.
    pub(super) fn counts(values: &[f64]) -> Self {
        let mut ticks = Self::from_zero(values);
        ticks.at.retain(|at| at.fract() == 0.0);
        ticks
    }

    /// Likewise, ending close past the largest value and not at a mark.
    pub(super) fn tight(values: &[f64]) -> Self {
        let most = values.iter().copied().fold(0.0, f64::max);
        let mut ticks = Self::from_zero(values);
        if most > 0.0 {
            ticks.to = most * 1.03;
            ticks.at.retain(|at| *at <= ticks.to);
        }
        ticks
    }

    /// Round marks between the least and the largest value, with a little room at the sides.
    pub(super) fn between(values: &[f64]) -> Self {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if least >= most || !least.is_finite() {
            let middle = if least.is_finite() { least } else { 0.0 };
            return Self { from: middle - 1.0, to: middle + 1.0, at: vec![middle], log: false };
        }
        let step = round_step(most - least, 8.0);
        let room = (most - least) * 0.025;
        let (from, to) = (least - room, most + room);
        let first = (from / step).ceil() as i64;
        let last = (to / step).floor() as i64;
        Self { from, to, at: (first..=last).map(|i| i as f64 * step).collect(), log: false }
    }

    /// Marks at powers of ten, and at twice and five times those if there are few; positions are
    /// logarithms. `None` if no value is positive.
    pub(super) fn logarithmic(values: &[f64]) -> Option<Self> {
        let logs: Vec<f64> = values.iter().filter(|v| **v > 0.0).map(|v| v.log10()).collect();
        let least = logs.iter().copied().reduce(f64::min)?;
        let most = logs.iter().copied().reduce(f64::max)?;
        let room = ((most - least) * 0.04).max(0.05);
        let (from, to) = (least - room, most + room);
        let within = |v: &f64| *v >= from && *v <= to;
        let decades = (from.floor() as i32)..=(to.ceil() as i32);
        let mut at: Vec<f64> = decades.clone().map(f64::from).filter(within).collect();
        for parts in [&[1f64, 2.0, 5.0][..], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]] {
            if at.len() < 4 {
                let finer = decades.clone().flat_map(|d| parts.iter().map(move |m| f64::from(d) + m.log10()));
                at = finer.filter(within).collect();
            }
        }
        Some(Self { from, to, at, log: true })
    }

    /// One mark per place in an order.
    pub(super) fn places(n: usize) -> Self {
        let at = (0..n).map(|i| i as f64).collect();
        Self { from: -0.4, to: n as f64 - 0.6, at, log: false }
    }

    /// Where a value stands; `None` where it has no place.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        if self.log { (value > 0.0).then(|| value.log10()) } else { Some(value) }
    }

    /// The value that stands at a position.
    pub(super) fn value(&self, place: f64) -> f64 {
        if self.log { 10f64.powf(place) } else { place }
    }
}

impl Ranged for Ticks {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.from) / (self.to - self.from);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.at.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

/// A step of 1, 2 or 5 times a power of ten that cuts `extent` into about `parts`.
fn round_step(extent: f64, parts: f64) -> f64 {
    let raw = extent / parts;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| raw <= m * power * (1.0 + 1e-9));
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_cover_the_values() {
        let ticks = Ticks::from_zero(&[3.0, 1999.0]);
        assert_eq!(ticks.at, [0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0]);
        let ticks = Ticks::from_zero(&[-3.0, 12.0]);
        assert!(ticks.from <= -3.0 && ticks.to >= 12.0 && ticks.at.contains(&0.0));
        assert_eq!(Ticks::from_zero(&[]).at, [0.0, 1.0]);
        assert_eq!(Ticks::between(&[4.0]).at, [4.0]);
        assert!(Ticks::between(&[]).to.is_finite());
    }

    #[test]
    fn logarithms_have_no_place_for_zero() {
        assert_eq!(Ticks::logarithmic(&[0.0, -1.0]), None);
        let ticks = Ticks::logarithmic(&[0.0, 10.0, 1000.0]).unwrap();
        assert_eq!(ticks.place(0.0), None);
        assert!(ticks.at.len() >= 3);
    }
}
