//! The probability that a message misses its deadline: misses pooled over runs, with a confidence
//! limit.
//!
//! Runs that differ only in their seed are repetitions, so their messages may be counted together:
//! `k` misses of `n` messages. The share `k / n` is a poor estimate where `k` is small, and none
//! where it is zero. The upper limit `p` of Clopper and Pearson (Biometrika 26, 1934) is exact: it
//! is the largest probability of a miss with which `k` misses or fewer of `n` still happen with a
//! probability of 5 %,
//!
//! ```text
//! P(X ≤ k; n, p) = Σ_{i ≤ k} C(n, i) pⁱ (1 − p)ⁿ⁻ⁱ = 1 − 0.95.
//! ```
//!
//! Without a miss that is `p = 1 − 0.05^(1/n)`, about `3 / n` (the rule of three).
//!
//! The limit takes messages as independent. Messages of one run follow one another, and one
//! disturbance may delay several of them; then the limit is too low. A bound needs no such
//! assumption.

use std::collections::BTreeMap;

use laxity_world::results::{Channel, Results};

use crate::interval::CONFIDENCE;

/// The axis whose points are repetitions: runs that differ only in their seed.
pub(crate) const REPETITIONS: &str = laxity_world::results::SEED;

/// Steps of a bisection: as many as halve 1 down to the smallest positive number of use here.
const STEPS: u32 = 100;

/// Misses of a channel, pooled over runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Misses {
    /// Runs in which messages were due.
    pub runs: u64,
    /// Messages that were due.
    pub due: u64,
    /// Those among them that were late or lost.
    pub missed: u64,
    /// The requested deadline in seconds: the shortest of any run.
    pub deadline: Option<f64>,
    /// The bound on the time to delivery (to the last transmission, where no host receives), in
    /// seconds: the longest of any run. `None` if a run has no bound.
    pub bound: Option<f64>,
}

impl Misses {
    /// The misses of one channel in several runs; `None` if no message of it was due.
    pub fn of<'a>(channels: impl Iterator<Item = &'a Channel>) -> Option<Misses> {
        let one = |channel: &Channel| {
            let (due, missed) = channel.due_messages.zip(channel.failed_messages)?;
            let bound = channel.end_to_end_bound();
            Some(Misses { runs: 1, due, missed, deadline: channel.deadline, bound })
        };
        channels.filter_map(one).reduce(|a, b| Misses {
            runs: a.runs + b.runs,
            due: a.due + b.due,
            missed: a.missed + b.missed,
            deadline: a.deadline.into_iter().chain(b.deadline).reduce(f64::min),
            bound: a.bound.zip(b.bound).map(|(a, b)| a.max(b)),
        })
    }

    /// The share of messages that missed their deadline.
    pub fn share(&self) -> f64 {
        self.missed as f64 / self.due as f64
    }

    /// With a confidence of 95 %, the largest probability that a message misses its deadline.
    pub fn limit(&self) -> f64 {
        upper_limit(self.missed, self.due, CONFIDENCE)
    }
}

/// A channel at the points of a sweep that differ only in their seed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pooled {
    /// The position on each axis; on the axis of seeds, the first of them.
    pub(crate) point: Vec<usize>,
    /// The channel's name.
    pub(crate) channel: String,
    /// Its misses.
    pub(crate) misses: Misses,
}

/// The misses of every channel with messages due, pooled over the seeds of a sweep; empty without
/// several seeds.
pub(crate) fn over_seeds(results: &Results) -> Vec<Pooled> {
    let seeds = results.axes.iter().position(|axis| axis.name == REPETITIONS && axis.points.len() > 1);
    let Some(seeds) = seeds else { return Vec::new() };
    let mut groups: BTreeMap<Vec<usize>, Vec<&Channel>> = BTreeMap::new();
    for run in results.runs.iter().filter(|run| run.point.len() == results.axes.len()) {
        let mut point = run.point.clone();
        point[seeds] = 0;
        groups.entry(point).or_default().extend(&run.channels);
    }
    let pooled = |(point, channels): (Vec<usize>, Vec<&Channel>)| {
        let mut names: Vec<&str> = Vec::new();
        let mut by_name: BTreeMap<&str, Vec<&Channel>> = BTreeMap::new();
        for channel in channels {
            let of = by_name.entry(&channel.name).or_default();
            if of.is_empty() {
                names.push(&channel.name);
            }
            of.push(channel);
        }
        let of = |name: &str| {
            let misses = Misses::of(by_name[name].iter().copied())?;
            Some(Pooled { point: point.clone(), channel: name.to_string(), misses })
        };
        names.into_iter().filter_map(of).collect::<Vec<Pooled>>()
    };
    groups.into_iter().flat_map(pooled).collect()
}

/// The largest probability with which `k` of `n` or fewer happen with a probability of 1 −
/// `confidence`; 1 if all of them happened.
fn upper_limit(k: u64, n: u64, confidence: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    let target = 1.0 - confidence;
    // ln C(n, k), once for all steps.
    let choices: f64 = (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum();
    let (mut low, mut high) = (k as f64 / n as f64, 1.0);
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        match at_most(k, n, middle, choices) > target {
            true => low = middle,
            false => high = middle,
        }
    }
    // Rounded away from zero: a limit may be too high but never too low.
    high
}

/// `P(X ≤ k; n, p)` for a `p` of `k / n` or more, with `ln C(n, k)` given.
///
/// From `k` downwards each term is smaller than the term before it, so the sum ends at the first
/// term that no longer changes it.
fn at_most(k: u64, n: u64, p: f64, choices: f64) -> f64 {
    let mut term = (choices + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p()).exp();
    let mut sum = term;
    for i in (1..=k).rev() {
        term *= i as f64 / (n - i + 1) as f64 * ((1.0 - p) / p);
        sum += term;
        if term <= sum * f64::EPSILON / 4.0 {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{Beta, ContinuousCDF};

    use laxity_world::results::{Axis, AxisPoint, Provenance, Run};

    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    /// Without a miss `(1 − p)ⁿ = 0.05`; of one message that is 0.95, and of 12 000 about 3 / n.
    #[test]
    fn without_a_miss_it_is_the_rule_of_three() {
        for n in [1, 2, 10, 12_000, 1_000_000_000] {
            let exact = -(0.05f64.ln() / n as f64).exp_m1();
            assert!(near(upper_limit(0, n, 0.95), exact), "{n}: {} {exact}", upper_limit(0, n, 0.95));
        }
        assert!((upper_limit(0, 1, 0.95) - 0.95).abs() < 1e-12);
        assert!((upper_limit(0, 12_000, 0.95) - 2.496e-4).abs() < 1e-7);
        assert_eq!(upper_limit(7, 7, 0.95), 1.0, "all missed");
    }

    /// Two of two or fewer happen always, one of two or fewer with 1 − p²: the limit is √0.95. The
    /// rest are the quantiles of the beta distribution, after Clopper and Pearson.
    #[test]
    fn with_misses_it_is_that_of_clopper_and_pearson() {
        assert!(near(upper_limit(1, 2, 0.95), 0.95f64.sqrt()));
        for (k, n) in [(1, 20), (5, 100), (50, 100), (99, 100), (3, 12_000), (400, 12_000)] {
            let beta = Beta::new((k + 1) as f64, (n - k) as f64).unwrap().inverse_cdf(0.95);
            let limit = upper_limit(k, n, 0.95);
            assert!((limit - beta).abs() < 1e-6 * beta, "{k} of {n}: {limit} {beta}");
        }
        let many = upper_limit(500_000, 1_000_000_000, 0.95);
        assert!((5.0e-4..5.02e-4).contains(&many), "{many}");
    }

    fn channel(due: u64, failed: u64, bound: Option<f64>) -> Channel {
        Channel {
            name: "camera".into(),
            class: "real_time".into(),
            due_messages: Some(due),
            failed_messages: Some(failed),
            deadline: Some(0.03),
            delivery_bound: bound,
            ..Channel::default()
        }
    }

    #[test]
    fn counts_add_up_and_a_bound_is_of_all_runs() {
        let silent = Channel::default();
        let runs = [channel(100, 1, Some(0.01)), channel(300, 0, Some(0.02)), silent.clone()];
        let pooled = Misses::of(runs.iter()).unwrap();
        let expected = Misses { runs: 2, due: 400, missed: 1, deadline: Some(0.03), bound: Some(0.02) };
        assert_eq!(pooled, expected);
        assert_eq!(pooled.share(), 0.0025);
        assert_eq!(Misses::of([&silent].into_iter()), None);
        let some = [channel(1, 0, Some(0.01)), channel(1, 0, None)];
        assert_eq!(Misses::of(some.iter()).unwrap().bound, None, "one run has no bound");
    }

    /// Two loads at three seeds: a group for each load.
    #[test]
    fn repetitions_are_pooled_and_other_points_are_not() {
        let axis = |name: &str, points: usize| Axis {
            name: name.into(),
            label: String::new(),
            points: (0..points).map(|i| AxisPoint { text: i.to_string(), value: None }).collect(),
        };
        let run = |load: usize, seed: usize| Run {
            point: vec![load, seed],
            channels: vec![channel(10, load as u64, None)],
            ..Run::default()
        };
        let runs = (0..2).flat_map(|load| (0..3).map(move |seed| run(load, seed))).collect();
        let mut results =
            Results { provenance: Provenance::default(), axes: vec![axis("load", 2), axis("seed", 3)], runs };
        let counts: Vec<(Vec<usize>, u64, u64)> =
            over_seeds(&results).into_iter().map(|p| (p.point, p.misses.due, p.misses.missed)).collect();
        assert_eq!(counts, [(vec![0, 0], 30, 0), (vec![1, 0], 30, 3)]);
        results.axes[1].name = "other".into();
        assert_eq!(over_seeds(&results), []);
    }
}
