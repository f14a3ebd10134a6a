//! The metrics of a channel, a resource and a run, by name.
//!
//! One table names every number that [`Results`](crate::results::Results) holds. Parquet columns, figure
//! axes and table columns are read from it, so that `laxity.min` is the same number under the same name
//! everywhere.

mod kind;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::results::{Channel, Resource, Run, Summary};
pub use kind::Kind;

/// A single number of a channel.
pub struct Scalar {
    /// By which it is known everywhere.
    pub name: &'static str,
    /// What to print beside an axis.
    pub label: &'static str,
    /// What it measures.
    pub kind: Kind,
    /// Whether it is counted, so that a file stores it as an integer.
    pub counted: bool,
    /// The number; `None` if it was not measured.
    pub read: fn(&Channel) -> Option<f64>,
}

/// One of the summaries of a channel.
pub struct Distribution {
    /// By which it is known everywhere.
    pub name: &'static str,
    /// What to print beside an axis, behind the statistic's.
    pub label: &'static str,
    /// The summary; `None` if it was not measured.
    pub read: fn(&Channel) -> Option<&Summary>,
}

/// One of the numbers of a summary.
pub struct Statistic {
    /// By which it is known everywhere, behind the distribution's.
    pub name: &'static str,
    /// What to print beside an axis.
    pub label: &'static str,
    /// The number.
    pub read: fn(&Summary) -> f64,
}

type Read = fn(&Channel) -> Option<f64>;

const fn measured(name: &'static str, label: &'static str, kind: Kind, read: Read) -> Scalar {
    Scalar { name, label, kind, counted: false, read }
}

const fn counted(name: &'static str, label: &'static str, read: Read) -> Scalar {
    Scalar { name, label, kind: Kind::Count, counted: true, read }
}

/// Every number of a channel that is kept.
pub const SCALARS: &[Scalar] = &[
    measured("reserved", "reserved rate", Kind::Rate, |c| c.reserved),
    measured("deadline", "deadline", Kind::Time, |c| c.deadline),
    measured("bound", "bound on the response time", Kind::Time, |c| c.bound),
    measured("bound_papers", "bound by the papers' formula", Kind::Time, |c| c.bound_papers),
    measured("worst", "worst response time", Kind::Time, |c| c.worst),
    measured("worst_found", "worst response time that an attack found", Kind::Time, |c| c.worst_found),
    measured("offered", "offered load", Kind::Rate, |c| Some(c.offered)),
    measured("throughput", "throughput", Kind::Rate, |c| Some(c.throughput)),
    counted("messages", "messages offered", |c| Some(c.messages as f64)),
    counted("completed", "messages completed", |c| Some(c.completed as f64)),
    counted("packets", "packets transmitted", |c| Some(c.packets as f64)),
    counted("missed_packets", "packets past their deadline", |c| Some(c.missed_packets as f64)),
    counted("missed_messages", "messages past their deadline", |c| Some(c.missed_messages as f64)),
    counted("late_outside", "messages past their deadline outside the window", |c| {
        Some(c.late_outside as f64)
    }),
    counted("dropped_packets", "packets dropped", |c| Some(c.dropped_packets as f64)),
    measured("on_time", "messages by their deadline, of those sent", Kind::Share, |c| c.on_time),
];

/// Numbers that follow from others: for figures, not for files.
const DERIVED: &[Scalar] = &[
    counted("dropped_messages", "messages dropped", |c| Some(dropped_messages(c) as f64)),
    measured("used", "worst response time as a share of its bound", Kind::Share, used),
    measured("missed_share", "packets past their deadline, of those transmitted", Kind::Share, |c| {
        (c.packets > 0).then(|| c.missed_packets as f64 / c.packets as f64)
    }),
    measured("late_share", "messages late or dropped, of those offered", Kind::Share, |c| {
        let bad = c.missed_messages + dropped_messages(c);
        (c.messages > 0).then(|| bad as f64 / c.messages as f64)
    }),
];

/// Every summary of a channel.
pub const DISTRIBUTIONS: &[Distribution] = &[
    Distribution { name: "laxity", label: "laxity", read: |c| c.laxity.as_ref() },
    Distribution { name: "latency", label: "latency", read: |c| c.latency.as_ref() },
    Distribution { name: "sojourn", label: "time from arrival to completion", read: |c| c.sojourn.as_ref() },
    Distribution { name: "queueing", label: "slot time", read: |c| c.queueing.as_ref() },
    Distribution { name: "access", label: "medium access latency", read: |c| c.access.as_ref() },
];

/// Every number of a summary.
pub const STATISTICS: &[Statistic] = &[
    Statistic { name: "min", label: "smallest", read: |s| s.min },
    Statistic { name: "mean", label: "mean", read: |s| s.mean },
    Statistic { name: "deviation", label: "standard deviation of", read: |s| s.deviation },
    Statistic { name: "p1", label: "1st percentile of", read: |s| s.p1 },
    Statistic { name: "p50", label: "median", read: |s| s.p50 },
    Statistic { name: "p99", label: "99th percentile of", read: |s| s.p99 },
    Statistic { name: "max", label: "largest", read: |s| s.max },
];

/// The worst response time as a share of the bound in force.
pub fn used(channel: &Channel) -> Option<f64> {
    channel.worst.zip(channel.bound).filter(|(_, bound)| *bound > 0.0).map(|(worst, bound)| worst / bound)
}

/// Messages dropped over all causes.
pub fn dropped_messages(channel: &Channel) -> u64 {
    channel.drops.values().sum()
}

/// What a figure's axis shows: a metric by its name.
///
/// Of a channel: `offered`, `throughput`, `reserved`, `deadline`, `bound`, `bound_papers`, `worst`, `worst_found`, `used`,
/// `messages`, `on_time`, `completed`, `packets`, `missed_packets`, `missed_messages`, `late_outside`, `missed_share`, `late_share`,
/// `dropped_packets`, `dropped_messages`, `drops.<cause>`; `laxity`, `latency`, `sojourn`, `queueing` or `access`
/// with `.min`, `.mean`, `.deviation`, `.p1`, `.p50`, `.p99` or `.max`. Of a resource: `utilisation`,
/// `utilisation.<use>`, `longest_queue`, `mean_queue`. Of a run: `figure:<name>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Metric {
    name: String,
    subject: Subject,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Scalar(usize),
    Derived(usize),
    Summary(usize, usize),
    Drops(String),
    Utilisation,
    Use(String),
    LongestQueue,
    MeanQueue,
    Figure(String),
}

/// What has a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A channel.
    Channel,
    /// A resource.
    Resource,
    /// The run as a whole.
    Run,
}

/// A name that is no metric's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMetric(String);

impl fmt::Display for UnknownMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = SCALARS.iter().chain(DERIVED).map(|s| s.name).collect();
        let summaries: Vec<&str> = DISTRIBUTIONS.iter().map(|d| d.name).collect();
        let statistics: Vec<&str> = STATISTICS.iter().map(|s| s.name).collect();
        write!(
            f,
            "`{}` is not a metric; valid is one of {}, drops.<cause>, one of {} with one of .{}, utilisation, \
             utilisation.<use>, longest_queue, mean_queue, or figure:<name>",
            self.0,
            names.join(", "),
            summaries.join(", "),
            statistics.join(" ."),
        )
    }
}

impl std::error::Error for UnknownMetric {}

impl Metric {
    /// The name it is written by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What has this metric.
    pub fn owner(&self) -> Owner {
        match self.subject {
            Subject::Utilisation | Subject::Use(_) | Subject::LongestQueue | Subject::MeanQueue => {
                Owner::Resource
            }
            Subject::Figure(_) => Owner::Run,
            _ => Owner::Channel,
        }
    }

    /// What to print beside an axis, without the unit.
    pub fn label(&self) -> String {
        match &self.subject {
            Subject::Scalar(i) => SCALARS[*i].label.into(),
            Subject::Derived(i) => DERIVED[*i].label.into(),
            Subject::Summary(d, s) => format!("{} {}", STATISTICS[*s].label, DISTRIBUTIONS[*d].label),
            Subject::Drops(cause) => format!("messages dropped: {}", cause.replace('_', " ")),
            Subject::Utilisation => "utilisation".into(),
            Subject::Use(name) => format!("share of time: {}", name.replace('_', " ")),
            Subject::LongestQueue => "longest queue".into(),
            Subject::MeanQueue => "mean queue".into(),
            Subject::Figure(name) => name.replace('_', " "),
        }
    }

    /// What it measures.
    pub fn kind(&self) -> Kind {
        match &self.subject {
            Subject::Scalar(i) => SCALARS[*i].kind,
            Subject::Derived(i) => DERIVED[*i].kind,
            Subject::Summary(..) => Kind::Time,
            Subject::Utilisation | Subject::Use(_) => Kind::Share,
            Subject::Drops(_) | Subject::LongestQueue | Subject::MeanQueue => Kind::Count,
            Subject::Figure(name) => Kind::of_figure(name),
        }
    }

    /// Whether zero is where a deadline is met or missed.
    pub fn is_laxity(&self) -> bool {
        self.name.starts_with("laxity.") && self.name != "laxity.deviation"
    }

    /// Whether a bound on the response time bounds it.
    pub fn is_bounded(&self) -> bool {
        matches!(self.name.as_str(), "worst" | "latency.max" | "latency.p99")
    }

    /// Its value for `channel`; `None` if that has none, or if it is no channel's.
    pub fn of_channel(&self, channel: &Channel) -> Option<f64> {
        let value = match &self.subject {
            Subject::Scalar(i) => (SCALARS[*i].read)(channel),
            Subject::Derived(i) => (DERIVED[*i].read)(channel),
            Subject::Summary(d, s) => {
                let summary = (DISTRIBUTIONS[*d].read)(channel).filter(|s| s.count > 0);
                summary.map(STATISTICS[*s].read)
            }
            Subject::Drops(cause) => Some(channel.drops.get(cause).copied().unwrap_or(0) as f64),
            _ => None,
        };
        value.filter(|v| v.is_finite())
    }

    /// Its value for `resource`; `None` if that has none, or if it is no resource's.
    pub fn of_resource(&self, resource: &Resource) -> Option<f64> {
        let value = match &self.subject {
            Subject::Utilisation => Some(resource.utilisation),
            Subject::Use(name) => resource.uses.get(name).copied(),
            Subject::LongestQueue => resource.longest_queue.map(|n| n as f64),
            Subject::MeanQueue => resource.mean_queue,
            _ => None,
        };
        value.filter(|v| v.is_finite())
    }

    /// Its value for `run` as a whole; `None` if that has none, or if it is no run's.
    pub fn of_run(&self, run: &Run) -> Option<f64> {
        let Subject::Figure(name) = &self.subject else { return None };
        run.figures.get(name).copied().filter(|v| v.is_finite())
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;
    fn from_str(text: &str) -> Result<Metric, UnknownMetric> {
        let position = |scalars: &[Scalar]| scalars.iter().position(|s| s.name == text);
        let subject = if let Some(i) = position(SCALARS) {
            Some(Subject::Scalar(i))
        } else if let Some(i) = position(DERIVED) {
            Some(Subject::Derived(i))
        } else if let Some(name) = text.strip_prefix("figure:") {
            (!name.is_empty()).then(|| Subject::Figure(name.into()))
        } else if let Some(cause) = text.strip_prefix("drops.") {
            (!cause.is_empty()).then(|| Subject::Drops(cause.into()))
        } else if let Some(name) = text.strip_prefix("utilisation.") {
            (!name.is_empty()).then(|| Subject::Use(name.into()))
        } else if let Some((distribution, statistic)) = text.split_once('.') {
            let d = DISTRIBUTIONS.iter().position(|d| d.name == distribution);
            let s = STATISTICS.iter().position(|s| s.name == statistic);
            d.zip(s).map(|(d, s)| Subject::Summary(d, s))
        } else {
            match text {
                "utilisation" => Some(Subject::Utilisation),
                "longest_queue" => Some(Subject::LongestQueue),
                "mean_queue" => Some(Subject::MeanQueue),
                _ => None,
            }
        };
        let subject = subject.ok_or_else(|| UnknownMetric(text.into()))?;
        Ok(Metric { name: text.into(), subject })
    }
}

impl TryFrom<String> for Metric {
    type Error = UnknownMetric;
    fn try_from(text: String) -> Result<Metric, UnknownMetric> {
        text.parse()
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> String {
        metric.name
    }
}

/// Every metric by its name, and what it is.
pub fn metrics() -> Vec<(String, String)> {
    let scalars = SCALARS.iter().chain(DERIVED).map(|s| (s.name.to_string(), s.label.to_string()));
    let summaries = DISTRIBUTIONS.iter().flat_map(|d| {
        STATISTICS.iter().map(|s| (format!("{}.{}", d.name, s.name), format!("{} {}", s.label, d.label)))
    });
    let others = [
        ("drops.<cause>", "messages dropped for that cause"),
        ("utilisation", "busy share of a resource"),
        ("utilisation.<use>", "the same for one use of it"),
        ("longest_queue", "the longest queue of a resource"),
        ("mean_queue", "the mean length of a resource's queue"),
        ("figure:<name>", "a further figure of the run"),
    ];
    let others = others.map(|(name, means)| (name.to_string(), means.to_string()));
    scalars.chain(summaries).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_bad_ones_say_what_is_valid() {
        for name in ["throughput", "laxity.min", "drops.policed", "utilisation", "figure:admitted", "used"] {
            assert_eq!(name.parse::<Metric>().unwrap().name(), name);
        }
        for name in ["thruput", "laxity", "laxity.p5", "figure:", "drops."] {
            let error = name.parse::<Metric>().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("throughput"), "{error}");
        }
    }
}
