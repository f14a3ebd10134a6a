//! Figures as a file asks for them: a metric, an axis, and what to leave out. How they are drawn is
//! no matter here.

use std::collections::BTreeMap;
use std::fmt;

use laxity_world::metric::Metric;
use laxity_world::results::Axis;
use serde::{Deserialize, Serialize};

/// Values that are printed elsewhere, drawn as hollow marks beside the lines of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marks {
    /// Their name in the legend.
    pub name: String,
    /// The title of the panel that has them; empty for every panel.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub panel: String,
    /// Places on the axis, in the unit of its label; counted from 0 on an axis of words.
    pub x: Vec<f64>,
    /// The values there, in seconds, bytes, bytes per second or shares of 1; as many as places.
    pub y: Vec<f64>,
}

/// One figure, as a scenario file describes it under `[[figure]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Its file name without the ending; by default made of `y` and `x`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its heading; by default made of the metric's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The axis of the sweep that runs to the right. Left out, the figure has a horizontal bar per
    /// channel at the point where it came closest to its bound, with bound and deadline marked if
    /// `y` is `worst`; or, if `y` is a distribution (`latency.ccdf`), what was measured runs to the
    /// right.
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
    /// Printed values beside the lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Marks>,
}

/// Why a figure cannot be drawn from these results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FigureError {
    /// It names an axis that the sweep has not.
    NoAxis {
        /// The figure.
        figure: String,
        /// The name in the file.
        axis: String,
        /// The existing names.
        have: Vec<String>,
    },
    /// It restricts an axis to a value that the axis does not take.
    NoPoint {
        /// The figure.
        figure: String,
        /// The axis.
        axis: String,
        /// The name in the file.
        point: String,
        /// The existing names.
        have: Vec<String>,
    },
    /// It names a channel or resource that no run has.
    NoChannel {
        /// The figure.
        figure: String,
        /// The name in the script.
        channel: String,
        /// The existing names.
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
            marks: Vec::new(),
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
}
