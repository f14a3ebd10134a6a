//! The raw form of what is judged of the results, and of figures.

use laxity_scenario_keys::keys;
use laxity_world::results::Origin;

use crate::claim::Stalls;
use crate::leaf::{Name, Number};
use crate::written::{Entries, List, Part, Written};

/// A claim about the results.
#[keys]
pub(crate) struct RawClaim {
    /// Short identifier, each once.
    #[key(required)]
    pub(crate) id: Option<Written<String>>,
    /// The claim in words.
    #[key(required)]
    pub(crate) says: Option<Written<String>>,
    /// Origin of the claim.
    #[key(default = "source")]
    pub(crate) origin: Option<Written<Origin>>,
    /// The Rhai expression that decides it.
    #[key(required)]
    pub(crate) holds: Option<Written<String>>,
    /// The Rhai expression of the figures it rests on.
    pub(crate) shows: Option<Written<String>>,
    /// Where its source has it, such as `T1518`. Default: nowhere.
    pub(crate) from: Option<Written<String>>,
    /// The claim, here or in another experiment, that this is a further judgement of: the two are
    /// counted once, by that one.
    pub(crate) same_as: Option<Written<String>>,
    /// Why a faithful model contradicts it; printed only then.
    pub(crate) reason: Option<Written<String>>,
    /// An axis of the sweep that the claim hangs on without saying its value: the scripts then see
    /// the runs of one point of it at a time, and the verdict says at which points it holds.
    pub(crate) range: Option<Written<String>>,
    /// Verdict if stalls of the platform in a real-time run could decide the claim.
    #[key(default = "spoil")]
    pub(crate) stalls: Option<Written<Stalls>>,
}

/// A figure.
#[keys]
pub(crate) struct RawFigure {
    /// Its file name without the ending. Default: made of `y` and `x`.
    pub(crate) name: Option<Written<Name>>,
    /// Its heading. Default: made of the metric's name.
    pub(crate) title: Option<Written<String>>,
    /// The axis of the sweep that runs to the right; without it, a bar per channel.
    pub(crate) x: Option<Written<String>>,
    /// The metric, such as `throughput`, `laxity.min`, `worst` or `figure:admitted`.
    #[key(required)]
    pub(crate) y: Option<Written<String>>,
    /// Only these channels (or resources, if `y` is a resource's metric). Default all.
    pub(crate) channels: Option<List<Written<String>>>,
    /// An axis of the sweep with one line per value; other axes become panels.
    pub(crate) by: Option<Written<String>>,
    /// Only the points where an axis has the value written so: `{ variant = "O2" }`.
    #[serde(rename = "where")]
    pub(crate) only: Option<Entries<Written<String>>>,
    /// Logarithmic upwards.
    #[key(default = false)]
    pub(crate) log_y: Option<Written<bool>>,
    /// Logarithmic to the right.
    #[key(default = false)]
    pub(crate) log_x: Option<Written<bool>>,
    /// Values printed elsewhere, such as in a paper, as marks beside the lines.
    pub(crate) marks: Option<List<Part<RawMarks>>>,
}

/// Printed values beside the lines of a figure.
#[keys]
pub(crate) struct RawMarks {
    /// Their name in the legend.
    #[key(required)]
    pub(crate) name: Option<Written<String>>,
    /// The title of the panel that has them. Default every panel.
    pub(crate) panel: Option<Written<String>>,
    /// Places on the axis, in the unit of its label; counted from 0 on an axis of words.
    #[key(required)]
    pub(crate) x: Option<List<Written<Number>>>,
    /// The values there, in seconds, bytes, bytes per second or shares of 1.
    #[key(required)]
    pub(crate) y: Option<List<Written<Number>>>,
}
