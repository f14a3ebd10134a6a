//! Two results beside each other: which figures changed, and whether the change is more than chance.
//!
//! Rows are matched by the words of their point and the name of their channel, so the two files may
//! differ in anything. Points that differ only in their [`seed`](SEED) are draws of one row.
//!
//! A figure that changed in one draw says no more than that it changed. With several draws the
//! hypothesis is that the mean did not change. If both sides have the same seeds, draws are pairs
//! (each random stream belongs to one component, so equal seeds mean equal traffic), and Student's
//! test of the paired differences applies; otherwise Welch's test, which needs no equal variances.
//! Many figures are tested at once, and by chance one of twenty would pass. Holm's correction keeps
//! the probability of any false finding below [`LEVEL`] (Holm, *A simple sequentially rejective
//! multiple test procedure*, 1979).

use std::collections::{BTreeMap, BTreeSet};

use laxity_world::metric::{Kind, Metric, MetricOwner};
use laxity_world::results::{Results, Run, SEED};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The probability of a false finding among all figures of a comparison.
pub const LEVEL: f64 = 0.05;

/// The metrics that are compared if none are named, and every further figure of a run.
pub const METRICS: [&str; 13] = [
    "bound",
    "worst",
    "delivery_worst",
    "response_worst",
    "response_bound",
    "round_mean",
    "round_bound",
    "latency.mean",
    "latency.p99",
    "delivery.p99",
    "throughput",
    "missed_messages",
    "dropped_messages",
];

/// A figure of one row that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The point in words; empty for a scenario without a sweep.
    pub point: String,
    /// The channel or resource; `None` for a figure of the run.
    pub of: Option<String>,
    /// The metric.
    pub metric: String,
    /// Its kind of quantity.
    #[serde(skip)]
    pub kind: Kind,
    /// Its mean over the draws of the first results, in SI units.
    pub before: f64,
    /// The same of the second.
    pub after: f64,
    /// Draws of the two.
    pub draws: [usize; 2],
    /// The probability of such a difference by chance, corrected for the number of tests; `None`
    /// where one side has a single draw.
    pub p: Option<f64>,
}

impl Difference {
    /// The change as a share of the first value.
    pub fn relative(&self) -> Option<f64> {
        (self.before != 0.0).then(|| (self.after - self.before) / self.before.abs())
    }

    /// Whether chance is no explanation; `None` where that is not known.
    pub fn is_significant(&self) -> Option<bool> {
        self.p.map(|p| p < LEVEL)
    }
}

/// The comparison of two results.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Figures that both have, equal ones included.
    pub compared: usize,
    /// Those that differ, in the order of the first results.
    pub differences: Vec<Difference>,
    /// Rows that only the first results have, in words.
    pub removed: Vec<String>,
    /// Rows that only the second results have.
    pub added: Vec<String>,
}

/// Point, channel or resource, and metric.
type Place = (String, Option<String>, String);

/// Compares two results by `metrics`; by [`METRICS`] and every figure of the runs if there are none.
pub fn compare(a: &Results, b: &Results, metrics: &[Metric]) -> Comparison {
    let metrics = if metrics.is_empty() { defaults(a, b) } else { metrics.to_vec() };
    let (before, after) = (Sampled::of(a, &metrics), Sampled::of(b, &metrics));
    let only = |of: &Sampled, other: &Sampled| {
        let known: BTreeSet<_> = other.rows.iter().collect();
        of.rows.iter().filter(|row| !known.contains(row)).map(words).collect()
    };
    let mut comparison =
        Comparison { removed: only(&before, &after), added: only(&after, &before), ..Comparison::default() };
    for place in &before.order {
        let (kind, first) = &before.samples[place];
        let Some((_, second)) = after.samples.get(place) else { continue };
        comparison.compared += 1;
        if first == second {
            continue;
        }
        let (point, of, metric) = place.clone();
        comparison.differences.push(Difference {
            point,
            of,
            metric,
            kind: *kind,
            before: mean(first.values()),
            after: mean(second.values()),
            draws: [first.len(), second.len()],
            p: chance(first, second),
        });
    }
    correct(&mut comparison.differences);
    comparison
}

fn defaults(a: &Results, b: &Results) -> Vec<Metric> {
    let figures: BTreeSet<&str> = a.figure_names().into_iter().chain(b.figure_names()).collect();
    let figures = figures.into_iter().map(|name| format!("figure:{name}"));
    let names = METRICS.iter().map(ToString::to_string).chain(figures);
    names.map(|name| name.parse().expect("a metric of our own")).collect()
}

fn words((point, of): &(String, Option<String>)) -> String {
    match of {
        Some(of) if point.is_empty() => of.clone(),
        Some(of) => format!("{of} at {point}"),
        None => point.clone(),
    }
}

/// The values of one figure, by the seed of the draw.
type Sample = BTreeMap<String, f64>;

/// Results by rows.
#[derive(Default)]
struct Sampled {
    samples: BTreeMap<Place, (Kind, Sample)>,
    order: Vec<Place>,
    rows: Vec<(String, Option<String>)>,
}

impl Sampled {
    fn of(results: &Results, metrics: &[Metric]) -> Sampled {
        let (mut sampled, mut known) = (Sampled::default(), BTreeSet::new());
        for run in &results.runs {
            let (point, seed) = point(results, run);
            for channel in &run.channels {
                let row = (point.clone(), Some(channel.name.clone()));
                if known.insert(row.clone()) {
                    sampled.rows.push(row);
                }
            }
            for metric in metrics {
                let mut add = |of: Option<&String>, value: Option<f64>| {
                    let Some(value) = value else { return };
                    let place = (point.clone(), of.cloned(), metric.name().to_string());
                    let new = !sampled.samples.contains_key(&place);
                    if new {
                        sampled.order.push(place.clone());
                    }
                    let (_, sample) = sampled.samples.entry(place).or_insert((metric.kind(), Sample::new()));
                    sample.insert(seed.clone(), value);
                };
                match metric.owner() {
                    MetricOwner::Channel => {
                        run.channels.iter().for_each(|c| add(Some(&c.name), metric.of_channel(c)));
                    }
                    MetricOwner::Resource => {
                        run.resources.iter().for_each(|r| add(Some(&r.name), metric.of_resource(r)));
                    }
                    MetricOwner::Run => add(None, metric.of_run(run)),
                }
            }
        }
        sampled
    }
}

/// The point of `run` in words without its seed, and the seed.
fn point(results: &Results, run: &Run) -> (String, String) {
    let (mut words, mut seed) = (Vec::new(), String::new());
    for (axis, at) in results.axes.iter().zip(&run.point) {
        let text = axis.points.get(*at).map_or("", |point| point.text.as_str());
        match axis.name.as_str() {
            SEED => seed = text.to_string(),
            name => words.push(format!("{name} = {text}")),
        }
    }
    (words.join(", "), seed)
}

fn mean<'a>(values: impl ExactSizeIterator<Item = &'a f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

fn variance<'a>(values: impl ExactSizeIterator<Item = &'a f64> + Clone) -> f64 {
    let (n, mean) = (values.len() as f64, mean(values.clone()));
    values.map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}

/// The probability of such a difference of means by chance, both sides taken; `None` with fewer
/// than two draws on a side.
fn chance(a: &Sample, b: &Sample) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    if a.keys().eq(b.keys()) {
        let differences: Vec<f64> = a.values().zip(b.values()).map(|(a, b)| b - a).collect();
        let n = differences.len() as f64;
        let error = (variance(differences.iter()) / n).sqrt();
        return Some(two_sided(mean(differences.iter()), error, n - 1.0));
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (va, vb) = (variance(a.values()) / n, variance(b.values()) / m);
    let freedom = (va + vb).powi(2) / (va.powi(2) / (n - 1.0) + vb.powi(2) / (m - 1.0));
    Some(two_sided(mean(b.values()) - mean(a.values()), (va + vb).sqrt(), freedom))
}

/// The two-sided probability of `difference` under Student's distribution.
fn two_sided(difference: f64, error: f64, freedom: f64) -> f64 {
    match () {
        () if difference == 0.0 => 1.0,
        // All draws changed by the same amount.
        () if error == 0.0 => 0.0,
        () => {
            let student = StudentsT::new(0.0, 1.0, freedom).expect("two draws leave freedom");
            2.0 * student.cdf(-(difference / error).abs())
        }
    }
}

/// Holm's correction: the k-th smallest of `m` probabilities is multiplied by `m − k`, counted from
/// 0, and none is below the one before it.
fn correct(differences: &mut [Difference]) {
    let mut tested: Vec<&mut f64> = differences.iter_mut().filter_map(|d| d.p.as_mut()).collect();
    tested.sort_by(|a, b| a.total_cmp(b));
    let (count, mut least) = (tested.len(), 0.0f64);
    for (k, p) in tested.into_iter().enumerate() {
        least = least.max((*p * (count - k) as f64).min(1.0));
        *p = least;
    }
}

#[cfg(test)]
mod tests {
    use laxity_world::results::{Axis, AxisPoint, Channel, Provenance};

    use super::*;

    /// Results with an axis of draws: `worst` of channel `c` in each.
    fn drawn(worst: &[f64]) -> Results {
        let text = |draw: usize| AxisPoint { text: (draw + 1).to_string(), value: None };
        let points = (0..worst.len()).map(text).collect();
        let run = |(draw, worst): (usize, &f64)| Run {
            point: vec![draw],
            channels: vec![Channel { name: "c".into(), worst: Some(*worst), ..Channel::default() }],
            ..Run::default()
        };
        Results {
            provenance: Provenance::default(),
            axes: vec![Axis { name: SEED.into(), label: SEED.into(), points }],
            runs: worst.iter().enumerate().map(run).collect(),
        }
    }

    fn worst(a: &[f64], b: &[f64]) -> Comparison {
        compare(&drawn(a), &drawn(b), &["worst".parse().unwrap()])
    }

    /// Student's own data (Biometrika 6, 1908): sleep under two drugs, paired t = 4.0621 with nine
    /// degrees of freedom, p = 0.002833.
    #[test]
    fn pairs_are_tested_as_student_did() {
        let a = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let b = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = worst(&a, &b);
        let p = found.differences[0].p.unwrap();
        assert!((p - 0.002_833).abs() < 1e-6, "{p}");
        assert_eq!(found.differences[0].is_significant(), Some(true));
    }

    /// The same data without pairs: Welch's t = −1.8608 with 17.776 degrees of freedom, p = 0.07939.
    #[test]
    fn draws_without_pairs_are_tested_as_welch_did() {
        let a = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let b = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let sample = |values: &[f64], from: usize| -> Sample {
            values.iter().enumerate().map(|(i, v)| ((from + i).to_string(), *v)).collect()
        };
        let p = chance(&sample(&a, 10), &sample(&b, 50)).unwrap();
        assert!((p - 0.079_39).abs() < 1e-5, "{p}");
    }

    #[test]
    fn single_draws_differ_without_significance() {
        let found = worst(&[1.0], &[1.5]);
        assert_eq!((found.compared, found.differences.len()), (1, 1));
        let difference = &found.differences[0];
        assert_eq!((difference.relative(), difference.is_significant()), (Some(0.5), None));
        assert!(worst(&[1.0], &[1.0]).differences.is_empty());
        let alike = worst(&[1.0, 2.0], &[2.0, 3.0]);
        assert_eq!(alike.differences[0].p, Some(0.0), "each draw changed by one");
    }

    #[test]
    fn many_tests_are_corrected() {
        let difference = |p: f64| Difference {
            point: String::new(),
            of: None,
            metric: String::new(),
            kind: Kind::Count,
            before: 1.0,
            after: 2.0,
            draws: [2, 2],
            p: Some(p),
        };
        let mut all = [0.01, 0.04, 0.03, 0.005].map(difference);
        correct(&mut all);
        let corrected = all.map(|d| (d.p.unwrap() * 1e6).round() / 1e6);
        assert_eq!(corrected, [0.03, 0.06, 0.06, 0.02]);
    }

    #[test]
    fn rows_of_one_side_are_named() {
        let mut other = drawn(&[1.0]);
        other.runs[0].channels[0].name = "d".into();
        let found = compare(&drawn(&[1.0]), &other, &[]);
        assert_eq!((found.removed, found.added), (vec!["c".to_string()], vec!["d".to_string()]));
    }
}
