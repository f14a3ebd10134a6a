//! Results of a run, before anything is printed, plotted or judged.
//!
//! One [`Results`] is one experiment file run over its whole sweep. Tables, figures, Parquet files,
//! reports and claims all read from here alone, so that they cannot disagree. Quantities are plain
//! SI doubles (seconds, bytes, bytes per second) because means and percentiles are no longer exact;
//! `None` stands for "not measured" or "no bound", never for zero.

mod channel;
mod evidence;
mod field;
mod fitness;
mod judged;
mod kind;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use channel::Channel;
pub use field::{ChannelColumn, ColumnShown, Distribution, Field, FieldReading, Number, Spec};
pub use fitness::{Fitness, Stops};
pub use judged::{DELAYS, Exceeded, Judged, is_above};
pub use kind::Kind;
pub use verdict::{AtSetting, Draws, Origin, Ruling, Standing, Verdict, VerdictTally};

/// An experiment's outcome over its whole sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// The origin of the run, so that it can be repeated to the same bits.
    pub provenance: Provenance,
    /// The axes of the sweep, outermost first; empty for a single run.
    pub axes: Vec<Axis>,
    /// One entry per point of the sweep, in the order of the axes.
    pub runs: Vec<Run>,
}

/// The data that repeat and identify a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// File stem of the scenario, `s5-conforming`.
    pub name: String,
    /// The scenario's title, one line.
    pub title: String,
    /// The purpose and the source of the experiment, in the scenario's words; may be empty.
    pub about: String,
    /// Root seed of every random stream.
    pub seed: u64,
    /// SHA-256 of the scenario and every file it includes, hexadecimal.
    pub file_hash: String,
    /// Version of Laxity that ran it.
    pub version: String,
    /// The clock it ran under: `virtual`, later `real`.
    pub clock: String,
    /// Relative error of every percentile and of every value of a curve, at most; count, mean,
    /// deviation, minimum and maximum are exact. 0 in results of an earlier version, which does not
    /// say it.
    #[serde(default)]
    pub percentile_error: f64,
}

/// The name of the axis of draws: runs that differ only in their seed.
pub const SEED: &str = "seed";

/// One axis of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// Short name, used in tables, figures and claims: `load`, `P`.
    pub name: String,
    /// The label of a figure's axis, with the unit of the numbers: `offered best-effort load
    /// (KiB/s)`.
    pub label: String,
    /// The points, in order.
    pub points: Vec<AxisPoint>,
}

/// One value that an axis takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AxisPoint {
    /// As written in the file: `1200 KiB/s`, `O2`, `4`.
    pub text: String,
    /// Position on a figure's axis in the unit of the label; `None` if the axis is not numeric.
    pub value: Option<f64>,
}

/// One point of the sweep, run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Index into each axis's points, in the order of [`Results::axes`].
    pub point: Vec<usize>,
    /// Virtual time simulated, in seconds.
    pub simulated: f64,
    /// Length of the window that metrics count, in seconds: the run without its warm-up and
    /// cool-down.
    pub window: f64,
    /// Per channel, in the order of the file.
    pub channels: Vec<Channel>,
    /// Per resource: CPU, link, adapter stages.
    pub resources: Vec<ResourceResults>,
    /// Per stage of a described adapter: how long packets wait and are served.
    #[serde(default)]
    pub stages: Vec<StageResults>,
    /// Per application that computes, by node and in the order of their names.
    #[serde(default)]
    pub computations: Vec<Computation>,
    /// How well the clock was kept; `None` under virtual time, which is always kept.
    #[serde(default)]
    pub real_time: Option<RealTime>,
    /// The answers of nodes to programs and the faults, in the order of time; of a run with
    /// signalling, the first thousand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<NodeAnswer>,
    /// Further figures by name, such as `admitted` or `predicted_throughput`; seconds, bytes,
    /// counts.
    pub figures: BTreeMap<String, f64>,
}

/// An answer of a node to a program about a channel, or a fault.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub struct NodeAnswer {
    /// When, in seconds.
    pub at: f64,
    /// The channel; empty for a fault.
    pub channel: String,
    /// The event: `established`, `refused`, `changed`, `change refused`, `lost`, `closed` …
    pub answer: String,
    /// The bound that was promised, or the reason.
    pub detail: String,
    /// Seconds since the request.
    pub took: Option<f64>,
}

/// Why a channel was not admitted, and what would have been.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Refused")]
pub struct RefusedChannel {
    /// Why, in words.
    pub reason: String,
    /// The least deadline of three significant figures that would have been admitted beside the
    /// other channels, in seconds; `None` if none would.
    pub admissible: Option<f64>,
    /// The jitter to request with that deadline, in seconds, if the requested one leaves less time.
    pub admissible_jitter: Option<f64>,
    /// The term that the response time at that deadline consists of most; empty if it has no terms.
    pub largest_term: String,
    /// That term, in seconds.
    pub largest: Option<f64>,
    /// Whether the scenario expects it: an unexpected refusal fails the run.
    pub expected: bool,
}

/// A distribution in a few numbers; counts messages (or packets, where said) in the window.
///
/// Percentiles are of the nearest rank and from a sketch: their relative error is at most 0.05 %
/// (1/2048), however many values there are. A percentile that is the minimum or the maximum is
/// exact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many.
    pub count: u64,
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation: the jitter of a latency.
    pub deviation: f64,
    /// 1st percentile, within 0.05 %.
    pub p1: f64,
    /// Median, within 0.05 %.
    pub p50: f64,
    /// 99th percentile, within 0.05 %.
    pub p99: f64,
    /// 99.9th percentile, within 0.05 %; `None` of fewer than a thousand, of which it would be the
    /// largest.
    #[serde(default)]
    pub p999: Option<f64>,
    /// 99.99th percentile, within 0.05 %; `None` of fewer than ten thousand.
    #[serde(default)]
    pub p9999: Option<f64>,
    /// Largest.
    pub max: f64,
    /// The distribution itself, if a figure asks for it: pairs of a share, 0 to 1, and the smallest
    /// value that at least that share does not exceed. Shares are even in the middle and finer
    /// towards both ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<(f64, f64)>,
}

/// How a resource spent the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Resource")]
pub struct ResourceResults {
    /// `cpu`, or `cpu0` and so on of several cores; `link`, an adapter stage; `bus pci` for a
    /// `[host.bus.pci]`.
    pub name: String,
    /// Busy share of the window, 0 to 1.
    pub utilisation: f64,
    /// Share of the window by use (`protocol`, `switch`, `link_scheduling`, `interrupt`, `spin` …);
    /// of a bus by the adapters that had it, and `copy` by the CPU.
    pub uses: BTreeMap<String, f64>,
    /// Longest queue seen, in its own items; `None` if it has none.
    pub longest_queue: Option<u64>,
}

/// A stage of an adapter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Stage")]
pub struct StageResults {
    /// Its name; `rx ` before it on the receiving side, `@1` after it at the second node.
    pub name: String,
    /// Packets that have passed it in the window.
    pub packets: u64,
    /// Busy share of the window, summed over servers.
    pub utilisation: f64,
    /// Most packets that waited in it.
    pub longest_queue: u64,
    /// Seconds from joining its queue to being served, per packet in the window.
    pub waited: Option<Summary>,
    /// Seconds from being served to being done, waiting for resources and the medium included.
    pub served: Option<Summary>,
}

/// An application that computes beside communication.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Computation {
    /// Its name; `@1` after it at the second node.
    pub name: String,
    /// The share of the CPU that its budgets take, 0 to 1; `None` if it has the residual capacity.
    pub budget_share: Option<f64>,
    /// Share of the window in which it computed, switches excluded, 0 to 1.
    pub progress: f64,
    /// Budgets done in the window.
    pub budgets: u64,
    /// Those among them that were done after their deadline.
    pub late: u64,
    /// Budgets that were due before the end of the run and not done by then.
    #[serde(default)]
    pub unfinished: u64,
    /// Whether the scenario expects late budgets: else they fail the run.
    #[serde(default)]
    pub misses_expected: bool,
    /// Requested deadline in seconds, from the beginning of each period; `None` if it has what is
    /// left.
    pub deadline: Option<f64>,
    /// By when a budget is done in seconds, from the beginning of its period; `None` without a
    /// budget, or a proof.
    pub bound: Option<f64>,
    /// The longest seen of that in seconds, of the whole run; `None` if no budget was done.
    pub worst: Option<f64>,
    /// Seconds from the beginning of a period until its budget was done.
    pub response: Option<Summary>,
}

/// How well a real clock was kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RealTime {
    /// Whether the run can be judged by at all.
    #[serde(default)]
    pub fitness: Fitness,
    /// Events.
    pub events: u64,
    /// Inputs from outside.
    pub inputs: u64,
    /// Lateness of events in seconds: median.
    pub late_p50: f64,
    /// 99th percentile.
    pub late_p99: f64,
    /// 99.9th percentile.
    pub late_p999: f64,
    /// The latest.
    pub late_max: f64,
    /// Events later than the clock allows because those before them took too long.
    pub behind: u64,
    /// Events later than that because the platform stood still.
    pub stalled: u64,
    /// Seconds that the platform stood still, as the spinning thread saw it.
    pub stall_total: f64,
    /// The longest of those.
    pub stall_longest: f64,
    /// The longest stretches in which it stood still, in order of time.
    #[serde(default)]
    pub gaps: Vec<PlatformGap>,
    /// How well the delays of frames were kept; `None` without ports.
    #[serde(default)]
    pub delays: Option<Delays>,
    /// Frames of real programs, per channel that carries them.
    #[serde(default)]
    pub frames: Vec<FrameResults>,
}

/// A stretch in which the platform stood still.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Gap")]
pub struct PlatformGap {
    /// When it ended, in seconds of the run.
    pub at: f64,
    /// How long it was, seconds.
    pub length: f64,
    /// Whether no thread of ours ran; else it may be a long step of ours.
    pub idle: bool,
}

/// How far the delays of frames were from what they were to be: from being read to being written,
/// in real time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delays {
    /// Frames that were written.
    pub frames: u64,
    /// How much too late, in seconds: median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The most.
    pub max: f64,
    /// Frames that were too early; an error of ours.
    pub early: u64,
    /// By how much at most, seconds.
    pub earliest: f64,
}

/// The fate of the frames of one channel in real time; seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Frames")]
pub struct FrameResults {
    /// The channel's name.
    pub channel: String,
    /// Frames that were read from its port.
    pub read: u64,
    /// Frames that were written at its other end.
    pub written: u64,
    /// From being read to being written: median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// In the port before being read, at most: median.
    pub waited_p50: f64,
    /// 99th percentile.
    pub waited_p99: f64,
    /// The longest.
    pub waited_max: f64,
    /// The rate of its messages as a share of the contract's; `None` without a contract, or of
    /// fewer than two.
    pub of_contract: Option<f64>,
}

impl Channel {
    /// The bound that its deadline is compared with: on delivery, or on the last transmission where
    /// there is none on delivery.
    pub fn end_to_end_bound(&self) -> Option<f64> {
        self.delivery_bound.or(self.bound)
    }

    /// Whether it fails the run by messages within its contract that were late or lost, or since the closed
    /// loop stopped of which it is the last.
    ///
    /// Messages that a network lost by the impairments of the file are expected.
    pub fn fails(&self) -> bool {
        let missed = self.failed_messages > Some(self.impaired_messages) && self.refused.is_none();
        (missed || self.round_stopped.is_some()) && !self.misses_expected
    }
}

impl Computation {
    /// Whether it fails the run by budgets that were done late, or not at all.
    pub fn fails(&self) -> bool {
        self.late + self.unfinished > 0 && !self.misses_expected
    }
}

impl Run {
    /// How unfit the run is to be judged by: up to 1 it is fit, as every run in virtual time is.
    pub fn strain(&self) -> f64 {
        self.real_time.as_ref().map_or(0.0, |real_time| real_time.fitness.strain())
    }

    /// Whether a channel fails it by messages within its contract that were late or lost, or an
    /// application by late budgets.
    pub fn misses_deadlines(&self) -> bool {
        self.channels.iter().any(Channel::fails) || self.computations.iter().any(Computation::fails)
    }

    /// Whether it was given up before its end, since no packet left the system any more or too
    /// few did in the longest time that a run may have.
    pub fn is_given_up(&self) -> bool {
        self.figures.contains_key("given_up") || self.is_too_long()
    }

    /// Whether it is by packets, and some were still missing after the longest time of a run.
    pub fn is_too_long(&self) -> bool {
        self.figures.contains_key("too_long")
    }

    /// The channel of that name.
    pub fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.iter().find(|c| c.name == name)
    }
}

impl Results {
    /// Whether a channel was refused that the scenario expects to be admitted, or was lost or kept
    /// from a change without a fault.
    pub fn has_unexpected_refusal(&self) -> bool {
        let refused = |channel: &Channel| channel.refused.as_ref().is_some_and(|refused| !refused.expected);
        let mut channels = self.runs.iter().flat_map(|run| &run.channels);
        channels.any(|channel| refused(channel) || channel.unexpected > Some(0))
    }

    /// The names of the further figures of all runs, each once, in order.
    pub fn figure_names(&self) -> Vec<&str> {
        let names: BTreeSet<&String> = self.runs.iter().flat_map(|run| run.figures.keys()).collect();
        names.into_iter().map(String::as_str).collect()
    }
}
