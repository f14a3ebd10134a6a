//! The metrics of a channel, a resource and a run, by name.
//!
//! The numbers of a channel are those of [`Channel::FIELDS`], and what follows from them is in
//! [`DERIVED`]. Parquet columns, figure axes and table columns are read from there, so that
//! `laxity.min` is the same number under the same name everywhere.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::causes;
use crate::results::{Channel, ResourceResults, Run, Summary};
pub use crate::results::{ChannelColumn, ColumnShown, Distribution, Field, Kind, Number, Spec, is_above};

/// A number that follows from others: for figures, not for files.
pub struct Derived {
    /// By which it is known everywhere.
    pub name: &'static str,
    /// The label of an axis.
    pub label: &'static str,
    /// The kind of quantity.
    pub kind: Kind,
    /// The number; `None` if what it follows from was not measured.
    pub read: fn(&Channel) -> Option<f64>,
}

/// One of the numbers of a summary.
pub struct Statistic {
    /// By which it is known everywhere, behind the distribution's.
    pub name: &'static str,
    /// The label of an axis.
    pub label: &'static str,
    /// The number; `None` if there were too few for it.
    pub read: fn(&Summary) -> Option<f64>,
}

/// Values derived from the numbers of a channel.
pub const DERIVED: &[Derived] = &[
    Derived {
        name: "dropped_messages",
        label: "messages dropped",
        kind: Kind::Count,
        read: |c| Some(dropped_messages(c) as f64),
    },
    Derived {
        name: "used",
        label: "worst response time as a share of its bound",
        kind: Kind::Share,
        read: used,
    },
    Derived {
        name: "missed_share",
        label: "packets past their deadline, of those transmitted",
        kind: Kind::Share,
        read: |c| (c.packets > 0).then(|| c.missed_packets as f64 / c.packets as f64),
    },
    Derived {
        name: "late_share",
        label: "messages late or dropped, of those offered",
        kind: Kind::Share,
        read: |c| {
            let bad = c.missed_messages + dropped_messages(c);
            (c.messages > 0).then(|| bad as f64 / c.messages as f64)
        },
    },
];

/// Every number of a summary.
pub const STATISTICS: &[Statistic] = &[
    Statistic { name: "min", label: "smallest", read: |s| Some(s.min) },
    Statistic { name: "mean", label: "mean", read: |s| Some(s.mean) },
    Statistic { name: "deviation", label: "standard deviation of", read: |s| Some(s.deviation) },
    Statistic { name: "p1", label: "1st percentile of", read: |s| Some(s.p1) },
    Statistic { name: "p50", label: "median", read: |s| Some(s.p50) },
    Statistic { name: "p99", label: "99th percentile of", read: |s| Some(s.p99) },
    Statistic { name: "p999", label: "99.9th percentile of", read: |s| s.p999 },
    Statistic { name: "p9999", label: "99.99th percentile of", read: |s| s.p9999 },
    Statistic { name: "max", label: "largest", read: |s| Some(s.max) },
];

/// The two ways to draw a distribution, each by the name behind the distribution's.
const CURVES: [(&str, Tail); 2] = [("cdf", Tail::Up), ("ccdf", Tail::Down)];

/// The numbers of a channel that are kept, each with its field.
pub fn numbers() -> impl Iterator<Item = (&'static Field, &'static Number)> {
    Channel::FIELDS.iter().filter_map(|field| match &field.spec {
        Spec::Number(number) => Some((field, number)),
        _ => None,
    })
}

/// The distributions of a channel, each with its field.
pub fn distributions() -> impl Iterator<Item = (&'static Field, &'static Distribution)> {
    Channel::FIELDS.iter().filter_map(|field| match &field.spec {
        Spec::Distribution(distribution) => Some((field, distribution)),
        _ => None,
    })
}

/// The statistic of that name.
pub fn statistic(name: &str) -> Option<&'static Statistic> {
    STATISTICS.iter().find(|statistic| statistic.name == name)
}

/// The worst response time as a share of the bound in force.
pub fn used(channel: &Channel) -> Option<f64> {
    channel.worst.zip(channel.bound).filter(|(_, bound)| *bound > 0.0).map(|(worst, bound)| worst / bound)
}

/// Messages dropped over all causes.
pub fn dropped_messages(channel: &Channel) -> u64 {
    channel.drops.values().sum()
}

/// Whether the channel had traffic in which `field` could count a failure. Without traffic the
/// count is zero, and an unused channel would be the best of all: its value says nothing.
pub fn went(channel: &Channel, field: &str) -> bool {
    match field {
        "missed_packets" | "missed_messages" => channel.carried(),
        // A message that is still on its way when a run ends was not late at its destination.
        "delivered_late" => channel.delivered > Some(0),
        // Zero throughput is a result of a channel with traffic, and says nothing of a channel
        // without.
        field if is_carried(field) => channel.messages > 0 || channel.carried(),
        "drops" | "dropped_messages" | "dropped_packets" | "lost_packets" => channel.messages > 0,
        // Both cover the whole run, of which the worst case exists only with messages.
        "late_outside" => channel.carried() || channel.worst.or(channel.delivery_worst).is_some(),
        "backlog" => channel.backlog != Some(0),
        _ => true,
    }
}

/// Whether `field` says how much a channel carried.
pub fn is_carried(field: &str) -> bool {
    matches!(field, "throughput" | "goodput" | "packets" | "completed" | "delivered")
}

/// The quantity of a figure's axis: a metric by its name.
///
/// Of a channel: a number's name, one of [`DERIVED`], `drops.<cause>`, or a distribution's with a
/// statistic (`laxity.min`). Of a resource: `utilisation`, `utilisation.<use>`, `longest_queue`. Of
/// a run: `figure:<name>`. A figure may also have a distribution as a curve (`latency.cdf`,
/// `latency.ccdf`), which is no number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Metric {
    name: String,
    subject: Subject,
}

/// Positions are those in the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Number(usize),
    Derived(usize),
    Summary(usize, usize),
    Curve(usize, Tail),
    Drops(&'static str),
    Utilisation,
    Use(String),
    LongestQueue,
    Figure(String),
}

/// The share that a curve gives for each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// Of those that do not exceed it: the cumulative distribution.
    Up,
    /// Of those that exceed it: the complementary one, in which the worst is what stands out.
    Down,
}

/// The kind of object that has a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricOwner {
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
        let of_channels = numbers().map(|(field, _)| field.name).chain(DERIVED.iter().map(|d| d.name));
        let causes = causes::ALL.iter().map(|(_, name, _)| *name);
        let summaries = distributions().map(|(field, _)| field.name);
        let statistics = STATISTICS.iter().map(|s| s.name);
        write!(
            f,
            "`{}` is not a metric; valid is one of {}, drops with one of .{}, one of {} with one of .{}, utilisation, \
             utilisation.<use>, longest_queue, or figure:<name>; a figure may have .cdf or .ccdf of a distribution",
            self.0,
            of_channels.collect::<Vec<_>>().join(", "),
            causes.collect::<Vec<_>>().join(" ."),
            summaries.collect::<Vec<_>>().join(", "),
            statistics.collect::<Vec<_>>().join(" ."),
        )
    }
}

impl std::error::Error for UnknownMetric {}

impl Metric {
    /// The name it is written by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of object that has this metric.
    pub fn owner(&self) -> MetricOwner {
        match self.subject {
            Subject::Utilisation | Subject::Use(_) | Subject::LongestQueue => MetricOwner::Resource,
            Subject::Figure(_) => MetricOwner::Run,
            _ => MetricOwner::Channel,
        }
    }

    /// The label of an axis, without the unit.
    pub fn label(&self) -> String {
        match &self.subject {
            Subject::Number(i) => number_at(*i).label.into(),
            Subject::Derived(i) => DERIVED[*i].label.into(),
            Subject::Summary(d, s) => format!("{} {}", STATISTICS[*s].label, distribution_at(*d).label),
            Subject::Curve(d, Tail::Up) => {
                format!("{}, the share up to each value", distribution_at(*d).label)
            }
            Subject::Curve(d, Tail::Down) => {
                format!("{}, the share beyond each value", distribution_at(*d).label)
            }
            Subject::Drops(cause) => format!("messages dropped: {}", cause.replace('_', " ")),
            Subject::Utilisation => "utilisation".into(),
            Subject::Use(name) => format!("share of time: {}", name.replace('_', " ")),
            Subject::LongestQueue => "longest queue".into(),
            Subject::Figure(name) => name.replace('_', " "),
        }
    }

    /// The kind of quantity.
    pub fn kind(&self) -> Kind {
        match &self.subject {
            Subject::Number(i) => number_at(*i).kind,
            Subject::Derived(i) => DERIVED[*i].kind,
            Subject::Summary(..) => Kind::Time,
            Subject::Utilisation | Subject::Use(_) | Subject::Curve(..) => Kind::Share,
            Subject::Drops(_) | Subject::LongestQueue => Kind::Count,
            Subject::Figure(name) => Kind::of_figure(name),
        }
    }

    /// Whether zero is where a deadline is met or missed.
    pub fn is_laxity(&self) -> bool {
        self.name.starts_with("laxity.") && self.name != "laxity.deviation" && self.curve().is_none()
    }

    /// Whether a bound on the response time bounds it.
    pub fn is_bounded(&self) -> bool {
        matches!(
            self.name.as_str(),
            "worst" | "latency.max" | "latency.p99" | "latency.p999" | "latency.p9999"
        )
    }

    /// The distribution and which of its curves, if that is what it is.
    pub fn curve(&self) -> Option<(&'static Field, &'static Distribution, Tail)> {
        let Subject::Curve(d, tail) = self.subject else { return None };
        Some((&Channel::FIELDS[d], distribution_at(d), tail))
    }

    /// Its value for `channel`; `None` if that has none, or if it is no channel's.
    pub fn of_channel(&self, channel: &Channel) -> Option<f64> {
        let value = match &self.subject {
            Subject::Number(i) => Channel::FIELDS[*i].number(channel),
            Subject::Derived(i) => (DERIVED[*i].read)(channel),
            Subject::Summary(d, s) => Channel::FIELDS[*d].summary(channel).and_then(STATISTICS[*s].read),
            Subject::Drops(cause) => Some(channel.drops.get(*cause).copied().unwrap_or(0) as f64),
            _ => None,
        };
        value.filter(|v| v.is_finite())
    }

    /// Its value for `channel` as a criterion: [`Metric::of_channel`], but none without traffic
    /// ([`went`]).
    pub fn judged(&self, channel: &Channel) -> Option<f64> {
        self.of_channel(channel).filter(|_| went(channel, self.field()))
    }

    /// Whether `channel` has no value as a criterion because none of its offered traffic was
    /// carried; a worst case over all channels must include it.
    pub fn is_starved(&self, channel: &Channel) -> bool {
        let its_own = match self.field() {
            "laxity" | "worst" | "missed_packets" | "missed_messages" | "missed_share" | "used" => {
                channel.deadline.is_some()
            }
            "delivered_late" | "delivery_worst" => channel.delivered_late.is_some(),
            "delivery" => channel.delivered.is_some(),
            "latency" | "sojourn" | "queueing" | "access" => true,
            _ => false,
        };
        its_own && channel.messages > 0 && !channel.carried() && self.judged(channel).is_none()
    }

    /// The field of a channel that it is of.
    fn field(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }

    /// Its value for `resource`; `None` if that has none, or if it is no resource's.
    pub fn of_resource(&self, resource: &ResourceResults) -> Option<f64> {
        let value = match &self.subject {
            Subject::Utilisation => Some(resource.utilisation),
            Subject::Use(name) => resource.uses.get(name).copied(),
            Subject::LongestQueue => resource.longest_queue.map(|n| n as f64),
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
        let field = Channel::FIELDS.iter().position(|field| field.name == text);
        let number = field.filter(|i| matches!(Channel::FIELDS[*i].spec, Spec::Number(_)));
        let derived = DERIVED.iter().position(|derived| derived.name == text);
        let subject = if let Some(i) = number {
            Some(Subject::Number(i))
        } else if let Some(i) = derived {
            Some(Subject::Derived(i))
        } else if let Some(name) = text.strip_prefix("figure:") {
            (!name.is_empty()).then(|| Subject::Figure(name.into()))
        } else if let Some(cause) = text.strip_prefix("drops.") {
            causes::ALL.iter().find(|(_, name, _)| *name == cause).map(|(_, name, _)| Subject::Drops(name))
        } else if let Some(name) = text.strip_prefix("utilisation.") {
            (!name.is_empty()).then(|| Subject::Use(name.into()))
        } else if let Some((distribution, statistic)) = text.split_once('.') {
            let is = |f: &Field| f.name == distribution && matches!(f.spec, Spec::Distribution(_));
            let d = Channel::FIELDS.iter().position(is);
            let curve = CURVES.iter().find(|(name, _)| *name == statistic);
            let s = STATISTICS.iter().position(|s| s.name == statistic);
            let summary = d.zip(s).map(|(d, s)| Subject::Summary(d, s));
            summary.or(d.zip(curve).map(|(d, (_, tail))| Subject::Curve(d, *tail)))
        } else {
            match text {
                "utilisation" => Some(Subject::Utilisation),
                "longest_queue" => Some(Subject::LongestQueue),
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

fn number_at(i: usize) -> &'static Number {
    match &Channel::FIELDS[i].spec {
        Spec::Number(number) => number,
        _ => unreachable!("the metric was made of a number"),
    }
}

fn distribution_at(i: usize) -> &'static Distribution {
    match &Channel::FIELDS[i].spec {
        Spec::Distribution(distribution) => distribution,
        _ => unreachable!("the metric was made of a distribution"),
    }
}

/// Every metric by its name, and what it is.
pub fn metrics() -> Vec<(String, String)> {
    let numbers = numbers().map(|(field, number)| (field.name, number.label));
    let derived = DERIVED.iter().map(|derived| (derived.name, derived.label));
    let summaries = distributions().flat_map(|(field, distribution)| {
        STATISTICS.iter().map(move |s| {
            (format!("{}.{}", field.name, s.name), format!("{} {}", s.label, distribution.label))
        })
    });
    let others = [
        ("<distribution>.cdf", "in figures: the share of messages (or packets) up to each value"),
        ("<distribution>.ccdf", "in figures: the share beyond each value"),
        ("drops.<cause>", "messages dropped for that cause"),
        ("utilisation", "busy share of a resource"),
        ("utilisation.<use>", "the same for one use of it"),
        ("longest_queue", "the longest queue of a resource"),
        ("figure:<name>", "a further figure of the run"),
    ];
    let owned = |(name, means): (&str, &str)| (name.to_string(), means.to_string());
    numbers.chain(derived).map(owned).chain(summaries).chain(others.map(owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_bad_ones_say_what_is_valid() {
        for name in
            ["throughput", "laxity.min", "drops.message_queue", "utilisation", "figure:admitted", "used"]
        {
            assert_eq!(name.parse::<Metric>().unwrap().name(), name);
        }
        for name in ["thruput", "laxity", "laxity.p5", "figure:", "drops.", "drops.policed"] {
            let error = name.parse::<Metric>().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("throughput"), "{error}");
        }
    }
}
