//! How far a knob has to be turned.

use laxity_scenario::Change;

use super::knob::{Knob, MOST};

/// Factors at which a knob is looked at, the least first.
const GRID: [f64; 13] = [1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 4.0, 6.0, 10.0, MOST];
/// The last step between what is enough and what is not.
const STEP: f64 = 1.004;

/// The number of channels without a bound in the file with these changes; `None` if the file is
/// then not valid.
pub(super) type TryOut<'a> = dyn Fn(&[Change]) -> Option<usize> + Sync + 'a;

/// Turns knobs.
pub(super) struct Search<'a> {
    pub(super) try_out: &'a TryOut<'a>,
}

/// The effect of one knob by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    /// The least factor that is enough.
    pub(super) enough: Option<f64>,
    /// Else the factor that leaves the fewest channels without a bound, and how many; of several
    /// the largest. `None` if none is valid.
    pub(super) best: Option<(f64, usize)>,
}

impl Search<'_> {
    /// Turns `knob` alone.
    pub(super) fn turn(&self, knob: &Knob) -> Edge {
        let left = |factor: f64| (self.try_out)(&knob.at(factor).changes);
        if !knob.is_scaled() {
            let left = left(1.0);
            return Edge {
                enough: left.filter(|left| *left == 0).map(|_| 1.0),
                best: left.map(|left| (1.0, left)),
            };
        }
        let (mut best, mut before): (Option<(f64, usize)>, f64) = (None, 1.0);
        for factor in GRID {
            // A small number has no value for every factor.
            if knob.at(factor) == knob.at(before) {
                continue;
            }
            let left = left(factor);
            if left == Some(0) {
                let enough = self.between(before, factor, &|factor| knob.at(factor).changes);
                return Edge { enough: Some(enough), best: Some((enough, 0)) };
            }
            if let Some(left) = left
                && best.is_none_or(|(_, least)| left <= least)
            {
                best = Some((factor, left));
            }
            before = factor;
        }
        Edge { enough: None, best }
    }

    /// The least sufficient factor, between one that is too small and one that is enough.
    fn between(&self, mut short: f64, mut long: f64, at: &dyn Fn(f64) -> Vec<Change>) -> f64 {
        while long / short > STEP {
            let middle = (short * long).sqrt();
            let changes = at(middle);
            if changes == at(long) || (changes != at(short) && self.is_enough(&changes)) {
                long = middle;
            } else {
                short = middle;
            }
        }
        long
    }

    fn is_enough(&self, changes: &[Change]) -> bool {
        (self.try_out)(changes) == Some(0)
    }

    /// The least sufficient factor of the grid for both knobs, each up to its limit.
    pub(super) fn level(&self, a: &Knob, most_a: f64, b: &Knob, most_b: f64) -> Option<f64> {
        let both = |factor: f64| both(a, factor.min(most_a), b, factor.min(most_b));
        if !self.is_enough(&both(MOST)) {
            return None;
        }
        let mut levels = GRID.into_iter().filter(|level| *level < most_a.max(most_b));
        Some(levels.find(|level| self.is_enough(&both(*level))).unwrap_or(MOST))
    }

    /// The least factors of two knobs that together are enough with this `level` of the grid: the
    /// same for both first, then for each the least beside the other.
    pub(super) fn pair(&self, a: &Knob, most_a: f64, b: &Knob, most_b: f64, level: f64) -> (f64, f64) {
        let below = GRID.into_iter().rev().find(|other| *other < level).unwrap_or(1.0);
        let at = |factor: f64| both(a, factor.min(most_a), b, factor.min(most_b));
        let factor = self.between(below, level, &at);
        let (mut fa, mut fb) = (factor.min(most_a), factor.min(most_b));
        if a.is_scaled() {
            fa = self.between(1.0, fa, &|fa| both(a, fa, b, fb));
        }
        if b.is_scaled() {
            fb = self.between(1.0, fb, &|fb| both(a, fa, b, fb));
        }
        (fa, fb)
    }
}

fn both(a: &Knob, fa: f64, b: &Knob, fb: f64) -> Vec<Change> {
    a.at(fa).changes.into_iter().chain(b.at(fb).changes).collect()
}
