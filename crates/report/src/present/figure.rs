//! Figures that a scenario asks for, drawn as SVG.
//!
//! A [`FigureSpec`] names a metric and an axis; the rest (units, ticks, colours, lines) follows
//! from the results. Axes of the sweep that a figure does not name become panels side by side, so
//! that no line mixes points of different experiments. Lines differ in colour *and* marker, and
//! colour-blind readers can distinguish the colours. A figure follows the reader's light or dark
//! scheme by a style sheet of its own.

mod bars;
mod curves;
mod data;
mod lines;
mod series;
mod style;
mod ticks;

use std::collections::HashSet;

pub use data::{Bar, Data, FigureLine, Panel, Scale, data};

use laxity_scenario::figure::{FigureError, FigureSpec};
use laxity_world::figures::by_node;
use laxity_world::metric::{Metric, MetricOwner};
use laxity_world::results::Results;

use super::grid::by_largest;

/// The figure as a self-contained SVG document.
pub fn svg(results: &Results, spec: &FigureSpec) -> Result<String, FigureError> {
    spec.check(&results.axes)?;
    check_names(spec, results)?;
    Ok(match (spec.y.curve(), spec.x.is_empty()) {
        (Some(_), _) => curves::draw(results, spec),
        (None, true) => bars::draw(results, spec),
        (None, false) => lines::draw(results, spec),
    })
}

/// Whether every channel or resource it names is there.
fn check_names(spec: &FigureSpec, results: &Results) -> Result<(), FigureError> {
    let (mut have, mut known) = (Vec::new(), HashSet::new());
    for run in &results.runs {
        let names: Vec<&String> = match spec.y.owner() {
            MetricOwner::Channel => run.channels.iter().map(|c| &c.name).collect(),
            MetricOwner::Resource => run.resources.iter().map(|r| &r.name).collect(),
            MetricOwner::Run => return Ok(()),
        };
        have.extend(names.into_iter().filter(|name| known.insert(*name)).cloned());
    }
    match spec.channels.iter().find(|channel| !known.contains(channel)) {
        Some(channel) if !results.runs.is_empty() => {
            Err(FigureError::NoChannel { figure: spec.name(), channel: channel.clone(), have })
        }
        _ => Ok(()),
    }
}

/// The default figures, for a scenario that names none.
///
/// Over the first numeric axis of several points (or else the first axis of several points):
/// throughput, smallest laxity, worst response beside its bound, misses, drops, utilisation and
/// every further figure. Each is drawn only if some run measured it. Of figures that each of many
/// stations has, the station with the largest value is drawn. For a single run: bound beside worst
/// as bars.
pub fn defaults(results: &Results) -> Vec<FigureSpec> {
    let metric = |name: &str| name.parse::<Metric>().expect("a metric of our own");
    let several = || results.axes.iter().filter(|axis| axis.points.len() > 1);
    let numeric = several().find(|axis| axis.points.iter().all(|p| p.value.is_some()));
    let channels = || results.runs.iter().flat_map(|run| &run.channels);
    let measured = |name: &str| channels().any(|c| metric(name).of_channel(c).is_some());
    let happened = |name: &str| channels().any(|c| metric(name).of_channel(c).is_some_and(|v| v > 0.0));
    let Some(x) = numeric.or_else(|| several().next()) else {
        let bars = channels().any(|c| c.worst.is_some() && (c.bound.is_some() || c.deadline.is_some()));
        return if bars { vec![FigureSpec::new("", metric("worst"))] } else { Vec::new() };
    };
    let mut figures = Vec::new();
    let mut add = |wanted: bool, name: &str| {
        if wanted {
            figures.push(FigureSpec::new(&x.name, metric(name)));
        }
    };
    add(happened("throughput"), "throughput");
    add(measured("laxity.min"), "laxity.min");
    add(channels().any(|c| c.worst.is_some() && c.bound.is_some()), "worst");
    add(happened("missed_packets"), "missed_packets");
    add(happened("dropped_packets"), "dropped_packets");
    add(results.runs.iter().any(|run| !run.resources.is_empty()), "utilisation");
    for alike in by_node(&results.figure_names()) {
        let of = |run: usize, name: &str| results.runs[run].figures.get(name).copied();
        let mut names = alike.to_vec();
        if names.len() > series::LINES {
            names = by_largest(results, alike, of);
            names.truncate(1);
        }
        names.iter().for_each(|name| add(true, &format!("figure:{name}")));
    }
    if figures.iter().any(|f| f.y.name() == "worst") {
        // The worst response of a best-effort channel dwarfs every bound: show the channels that
        // have one.
        let bounded = |c: &&laxity_world::results::Channel| c.bound.is_some();
        let mut known = HashSet::new();
        let names: Vec<String> =
            channels().filter(bounded).map(|c| &c.name).filter(|name| known.insert(*name)).cloned().collect();
        let all = channels().all(|c| known.contains(&c.name));
        if !all && names.len() <= series::LINES {
            figures.iter_mut().filter(|f| f.y.name() == "worst").for_each(|f| f.channels = names.clone());
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use laxity_world::results::{Axis, AxisPoint};
    use std::collections::BTreeMap;

    fn spec(x: &str, y: &str) -> FigureSpec {
        FigureSpec::new(x, y.parse().unwrap())
    }

    #[test]
    fn every_metric_draws_on_every_sample() {
        for results in [sample::sweep(), sample::grid(), sample::gaps(), sample::hostile()] {
            for y in ["throughput", "laxity.min", "worst", "missed_packets", "utilisation", "figure:admitted"]
            {
                for log in [false, true] {
                    let figure = FigureSpec { log_x: log, log_y: log, ..spec("load", y) };
                    let drawn = svg(&results, &figure).unwrap();
                    assert!(drawn.starts_with("<svg") && drawn.trim_end().ends_with("</svg>"));
                    assert!(!drawn.contains("NaN") && !drawn.contains("<script"));
                    assert!(!drawn.contains(['\u{1b}', '\u{202e}']));
                }
            }
            assert!(svg(&results, &spec("", "worst")).unwrap().contains("bound"));
        }
        let empty = Results { runs: vec![], ..sample::sweep() };
        assert!(svg(&empty, &spec("load", "throughput")).unwrap().contains("no run measured throughput"));
        assert!(svg(&empty, &spec("", "worst")).unwrap().contains("no channel measured"));
    }

    #[test]
    fn a_figure_of_what_there_is_not_says_what_there_is() {
        let results = sample::grid();
        let error = svg(&results, &spec("lod", "throughput")).unwrap_err().to_string();
        assert_eq!(error, "figure `throughput-over-lod`: there is no axis `lod`; there is load, P, scheme");
        let channel = FigureSpec { channels: vec!["rt9".into()], ..spec("load", "throughput") };
        assert!(svg(&results, &channel).unwrap_err().to_string().contains("rt0, rt1, rt2, be"));
        let only = BTreeMap::from([("scheme".to_string(), "O3".to_string())]);
        let point = FigureSpec { only, ..spec("load", "throughput") };
        assert!(svg(&results, &point).unwrap_err().to_string().contains("O1, O2"));
    }

    #[test]
    fn a_scenario_describes_a_figure_in_few_words() {
        let read: FigureSpec = serde_json::from_str(r#"{"x": "load", "y": "laxity.min"}"#).unwrap();
        assert_eq!((read.name(), read.title()), ("laxity.min-over-load".into(), "Smallest laxity".into()));
        let error = serde_json::from_str::<FigureSpec>(r#"{"x": "load", "y": "laxity"}"#).unwrap_err();
        assert!(error.to_string().contains("`laxity` is not a metric"), "{error}");
    }

    #[test]
    fn a_bound_never_stands_among_the_lines_of_others() {
        let mut results = sample::sweep();
        let panels = |results: &Results| series::plot(results, &spec("load", "worst")).panels;
        let limits = |results: &mut Results, limits: [(f64, f64); 2]| {
            for run in &mut results.runs {
                run.channels.truncate(2);
                for (channel, (worst, bound)) in run.channels.iter_mut().zip(limits) {
                    (channel.worst, channel.bound) = (Some(worst), Some(bound));
                }
            }
        };
        limits(&mut results, [(0.010, 0.020), (0.015, 0.030)]);
        assert_eq!(panels(&results).len(), 1);
        // The second keeps its bound, and lies above the first's.
        limits(&mut results, [(0.010, 0.012), (0.015, 0.030)]);
        let apart = panels(&results);
        let titles: Vec<&str> = apart.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["rt0", "rt1"]);
        assert!(apart.iter().all(|panel| panel.lines.len() == 1));
        assert!(apart[0].lines[0].bounds.iter().all(|(_, bound)| bound.is_some()));
        assert_eq!((apart[0].lines[0].look, apart[1].lines[0].look), (0, 1));
    }

    /// One panel, an interval at each load around the mean of three seeds, and none where only one
    /// was measured.
    #[test]
    fn seeds_are_repetitions() {
        let mut results = sample::sweep();
        let (loads, once) = (results.axes[0].points.len(), std::mem::take(&mut results.runs));
        let text = |n: i32| AxisPoint { text: n.to_string(), value: Some(f64::from(n)) };
        results.axes.push(Axis {
            name: "seed".into(),
            points: (1..=3).map(text).collect(),
            label: String::new(),
        });
        for (run, seed) in once.iter().flat_map(|run| (0..3).map(move |seed| (run, seed))) {
            let mut run = run.clone();
            run.point.push(seed);
            run.channels.truncate(1);
            run.channels[0].throughput = if run.point[0] == 0 && seed > 0 { f64::NAN } else { seed as f64 };
            results.runs.push(run);
        }
        let plot = series::plot(&results, &spec("load", "throughput"));
        assert_eq!((plot.panels.len(), plot.panels[0].lines.len()), (1, 1));
        let line = &plot.panels[0].lines[0];
        assert_eq!((line.points.len(), line.spread.len()), (loads, loads - 1));
        assert_eq!((line.points[0].1, line.points[1].1), (Some(0.0), Some(1.0)));
        let (_, [low, high]) = line.spread[0];
        // t(0.975, 2) = 4.3027, s = 1, n = 3.
        assert!((high - 1.0 - 4.3027 / 3f64.sqrt()).abs() < 1e-3 && (low + high - 2.0).abs() < 1e-12);
        assert!(svg(&results, &spec("load", "throughput")).unwrap().contains("95 % confidence"));
        let by_seed = FigureSpec { by: Some("seed".into()), ..spec("load", "throughput") };
        assert_eq!(series::plot(&results, &by_seed).panels[0].lines.len(), 3);
        assert_eq!(series::plot(&results, &spec("seed", "throughput")).lines().next().unwrap().spread, []);
    }

    /// Shares go up along a cumulative distribution and down along its complement, beside the bound
    /// and the deadline.
    #[test]
    fn distributions_are_curves() {
        let mut results = sample::single();
        let curve = vec![(0.0, 1e-3), (0.5, 2e-3), (0.999, 5e-3), (1.0, 6e-3)];
        for channel in &mut results.runs[0].channels {
            channel.latency.as_mut().unwrap().curve = curve.clone();
        }
        let channel = &mut results.runs[0].channels[0];
        (channel.class, channel.bound, channel.deadline) = ("real_time".into(), Some(8e-3), Some(9e-3));
        let name = channel.name.clone();
        let plot =
            |y: &str| series::plot(&results, &FigureSpec { channels: vec![name.clone()], ..spec("", y) });
        let up = plot("latency.cdf").panels.remove(0).lines.remove(0);
        assert_eq!(up.points.iter().map(|(v, s)| (s.unwrap(), *v)).collect::<Vec<_>>(), curve);
        let down = plot("latency.ccdf").panels.remove(0).lines.remove(0);
        let shares: Vec<f64> = down.points.iter().map(|(_, share)| share.unwrap()).collect();
        assert!(
            shares[0] == 1.0 && shares[1] == 0.5 && (shares[2] - 0.001).abs() < 1e-12 && shares[3] == 0.0
        );
        assert_eq!(down.bounds.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [8e-3, 8e-3]);
        assert_eq!(down.deadline.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [9e-3, 9e-3]);
        let drawn = svg(&results, &FigureSpec { log_y: true, ..spec("", "latency.ccdf") }).unwrap();
        assert!(drawn.contains("deadline (dotted)"));
        assert!(drawn.contains("beyond that") && drawn.contains("bound (dashed)") && !drawn.contains("NaN"));
        // This one was not kept as a curve.
        assert!(svg(&results, &spec("", "sojourn.cdf")).unwrap().contains("no run measured"));
    }

    #[test]
    fn defaults_show_what_was_measured() {
        let names = |results: &Results| defaults(results).iter().map(FigureSpec::name).collect::<Vec<_>>();
        assert!(names(&sample::sweep()).contains(&"worst-over-load".to_string()));
        assert!(names(&sample::grid()).contains(&"figure-admitted-over-load".to_string()));
        assert_eq!(names(&sample::single()), ["worst"]);
        // Of a figure that each of many nodes has, that of the node where it is most in any run; of
        // few, each.
        let drawn = |nodes: usize| {
            let mut results = sample::grid();
            for (number, run) in results.runs.iter_mut().enumerate() {
                run.figures = (0..nodes)
                    .map(|node| {
                        (format!("interrupts@n{node:03}"), ((7 * node % nodes) * (number + 1)) as f64)
                    })
                    .collect();
            }
            let of_nodes = names(&results).into_iter().filter(|name| name.starts_with("figure-interrupts"));
            of_nodes.collect::<Vec<_>>()
        };
        assert_eq!(drawn(series::LINES).len(), series::LINES);
        assert_eq!(drawn(1000), ["figure-interrupts@n857-over-load"]);
        assert!(defaults(&Results { runs: vec![], axes: vec![], ..sample::sweep() }).is_empty());
    }
}
