//! Figures: what a scenario asks to see, drawn as SVG.
//!
//! A [`FigureSpec`] names a metric and an axis; the rest (units, ticks, colours, which lines there are)
//! follows from the results. Axes of the sweep that a figure names nowhere become panels side by side, so
//! that no line mixes points of different experiments. Lines differ in colour *and* marker, and the colours
//! are told apart by colour-blind readers; a figure follows the reader's light or dark scheme by a style
//! sheet of its own.

mod bars;
mod lines;
mod series;
mod style;
mod ticks;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

use super::metric::{Metric, Owner};
use crate::results::{Axis, Results};

/// One figure, as a scenario file describes it under `[[figure]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Its file name without the ending; by default made of `y` and `x`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its heading; by default made of the metric's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The axis of the sweep that runs to the right. Left out, the figure has a horizontal bar per channel
    /// at the point where it came closest to its bound, with bound and deadline marked if `y` is `worst`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub x: String,
    /// The metric.
    pub y: Metric,
    /// Only these channels (or resources, if `y` is a resource's metric); empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// An axis of the sweep with one line per value; other axes become panels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Only the points where the axis has the value written so: `{ scheme = "O2" }`.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, String>,
    /// Logarithmic upwards; values of zero and less have no place and leave a gap.
    #[serde(default)]
    pub log_y: bool,
    /// Logarithmic to the right.
    #[serde(default)]
    pub log_x: bool,
}

/// Why a figure cannot be drawn from these results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FigureError {
    /// It names an axis that the sweep has not.
    NoAxis {
        /// The figure.
        figure: String,
        /// What it names.
        axis: String,
        /// What there is.
        have: Vec<String>,
    },
    /// It restricts an axis to a value that the axis does not take.
    NoPoint {
        /// The figure.
        figure: String,
        /// The axis.
        axis: String,
        /// What it names.
        point: String,
        /// What there is.
        have: Vec<String>,
    },
    /// It names a channel or resource that no run has.
    NoChannel {
        /// The figure.
        figure: String,
        /// What it names.
        channel: String,
        /// What there is.
        have: Vec<String>,
    },
}

impl fmt::Display for FigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (figure, what, name, have) = match self {
            FigureError::NoAxis { figure, axis, have } => (figure, "axis".into(), axis, have),
            FigureError::NoPoint { figure, axis, point, have } => {
                (figure, format!("point on axis `{axis}`"), point, have)
            }
            FigureError::NoChannel { figure, channel, have } => {
                (figure, "channel or resource".into(), channel, have)
            }
        };
        let have = if have.is_empty() { "none".into() } else { have.join(", ") };
        write!(f, "figure `{figure}`: there is no {what} `{name}`; there is {have}")
    }
}

impl std::error::Error for FigureError {}

impl FigureSpec {
    /// A figure of `y` over the axis `x`, everything else by default.
    pub fn new(x: &str, y: Metric) -> Self {
        Self {
            name: String::new(),
            title: String::new(),
            x: x.into(),
            y,
            channels: Vec::new(),
            by: None,
            only: BTreeMap::new(),
            log_y: false,
            log_x: false,
        }
    }

    /// The file name without its ending.
    pub fn name(&self) -> String {
        match (self.name.as_str(), self.x.as_str()) {
            ("", "") => self.y.name().into(),
            ("", x) => format!("{}-over-{x}", self.y.name().replace(':', "-")),
            (name, _) => name.into(),
        }
    }

    /// The heading.
    pub fn title(&self) -> String {
        if !self.title.is_empty() {
            return self.title.clone();
        }
        if self.x.is_empty() && self.y.name() == "worst" {
            return "Bound beside worst measured response".into();
        }
        let label = self.y.label();
        let mut letters = label.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    }

    /// Whether every axis and point it names exists; a scenario can ask before it runs.
    pub fn check(&self, axes: &[Axis]) -> Result<(), FigureError> {
        let figure = || self.name();
        let x = (!self.x.is_empty()).then_some(&self.x);
        for name in x.into_iter().chain(&self.by).chain(self.only.keys()) {
            let Some(axis) = axes.iter().find(|axis| axis.name == *name) else {
                let have = axes.iter().map(|axis| axis.name.clone()).collect();
                return Err(FigureError::NoAxis { figure: figure(), axis: name.clone(), have });
            };
            let point = self.only.get(name).filter(|text| axis.points.iter().all(|p| p.text != **text));
            if let Some(point) = point {
                return Err(FigureError::NoPoint {
                    figure: figure(),
                    axis: name.clone(),
                    point: point.clone(),
                    have: axis.points.iter().map(|p| p.text.clone()).collect(),
                });
            }
        }
        Ok(())
    }

    fn check_names(&self, results: &Results) -> Result<(), FigureError> {
        let mut have: Vec<String> = Vec::new();
        for run in &results.runs {
            let names: Vec<&String> = match self.y.owner() {
                Owner::Channel => run.channels.iter().map(|c| &c.name).collect(),
                Owner::Resource => run.resources.iter().map(|r| &r.name).collect(),
                Owner::Run => return Ok(()),
            };
            for name in names {
                if !have.contains(name) {
                    have.push(name.clone());
                }
            }
        }
        match self.channels.iter().find(|channel| !have.contains(channel)) {
            Some(channel) if !results.runs.is_empty() => {
                Err(FigureError::NoChannel { figure: self.name(), channel: channel.clone(), have })
            }
            _ => Ok(()),
        }
    }
}

/// The figure as an SVG document that needs nothing else.
pub fn svg(results: &Results, spec: &FigureSpec) -> Result<String, FigureError> {
    spec.check(&results.axes)?;
    spec.check_names(results)?;
    Ok(if spec.x.is_empty() { bars::draw(results, spec) } else { lines::draw(results, spec) })
}

/// What is worth seeing if a scenario names no figure.
///
/// Over the first numeric axis of several points (or else the first axis of several points): throughput,
/// smallest laxity, worst response beside its bound, misses, drops, utilisation and every further figure,
/// each only if some run measured it. For a single run: bound beside worst as bars.
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
    let mut names: Vec<&String> = results.runs.iter().flat_map(|run| run.figures.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        add(true, &format!("figure:{name}"));
    }
    if figures.iter().any(|f| f.y.name() == "worst") {
        // The worst response of a best-effort channel dwarfs every bound: show whom a bound protects.
        let bounded = |c: &&crate::results::Channel| c.bound.is_some();
        let mut names: Vec<String> = Vec::new();
        for channel in channels().filter(bounded) {
            if !names.contains(&channel.name) {
                names.push(channel.name.clone());
            }
        }
        let all = results.runs.iter().all(|run| run.channels.iter().all(|c| names.contains(&c.name)));
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

    #[test]
    fn defaults_show_what_was_measured() {
        let names = |results: &Results| defaults(results).iter().map(FigureSpec::name).collect::<Vec<_>>();
        assert!(names(&sample::sweep()).contains(&"worst-over-load".to_string()));
        assert!(names(&sample::grid()).contains(&"figure-admitted-over-load".to_string()));
        assert_eq!(names(&sample::single()), ["worst"]);
        assert!(defaults(&Results { runs: vec![], axes: vec![], ..sample::sweep() }).is_empty());
    }
}
