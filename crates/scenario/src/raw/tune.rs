//! The raw form of a goal.

use laxity_scenario_keys::keys;

use crate::leaf::{Number, Whole};
use crate::written::{List, Part, Written};

/// Goal of a good setting. Axes of the sweep that are not chosen are circumstances: the mean over
/// them counts for the goal, and the needs have to hold at each.
#[keys]
pub(crate) struct RawTune {
    /// The axes of the sweep that are chosen.
    #[key(required)]
    pub(crate) over: Option<List<Written<String>>>,
    /// The metric of which there is to be most, such as `throughput` or `figure:received_per_second`.
    pub(crate) most: Option<Written<String>>,
    /// The metric of which there is to be least. One of the two is needed.
    pub(crate) least: Option<Written<String>>,
    /// Of these channels (or resources). Default: all that have the metric.
    pub(crate) channels: Option<List<Written<String>>>,
    /// The needs.
    pub(crate) need: Option<List<Part<RawNeed>>>,
    /// Fresh seeds that the best setting has to keep what is needed with.
    #[key(default = 3)]
    pub(crate) seeds: Option<Written<Whole<1, 1000>>>,
    /// If there are no more settings than this, all are run. Of more, a coarse grid is, and what
    /// lies about the best of it.
    #[key(default = 100)]
    pub(crate) exhaustive: Option<Written<Whole<1, 100_000>>>,
}

/// A bound that a setting must keep.
#[keys]
pub(crate) struct RawNeed {
    /// The metric, such as `latency.p99` or `figure:cpu_left_share`.
    #[key(required)]
    pub(crate) metric: Option<Written<String>>,
    /// Of these channels (or resources). Default: all that have the metric.
    pub(crate) channels: Option<List<Written<String>>>,
    /// It is at most this, in the metric's unit: `"5 ms"`, `"1 MiB/s"`, and a number for shares and counts.
    pub(crate) at_most: Option<Written<Number>>,
    /// It is at least this. One of the two is needed.
    pub(crate) at_least: Option<Written<Number>>,
}
