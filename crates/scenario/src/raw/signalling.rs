//! The raw form of nodes that establish channels during the run: `[signalling]`, clocks, and when a
//! channel is asked for.

use laxity_clock::{Drift, Shift};
use laxity_scenario_keys::keys;
use laxity_world::experiment::Routing;
use schemars::{Schema, json_schema};

use super::NodeName;
use crate::leaf::{Bounded, Delay, Flow, Interval, Size, Whole};
use crate::written::{Entries, Fault, Leaf, List, Part, Scalar, Written};

/// Nodes with signalling, in place of hosts that schedule: a channel is admitted when it is asked
/// for, by the nodes on its route. Each link is a serial line, and nodes take no CPU time.
#[keys]
pub(crate) struct RawSignalling {
    /// The largest payload of a packet, equal at all nodes.
    #[key(default = "1000 B")]
    pub(crate) packet: Option<Written<Bounded<Size>>>,
    /// The spacing of signalling messages on a link, which is their local deadline too.
    #[key(default = "2 ms")]
    pub(crate) spacing: Option<Written<Bounded<Interval>>>,
    /// How long a node keeps a channel without a message of its source. A source refreshes five
    /// times a lease, waits for an answer for a third of a lease, and its program keeps its
    /// channels for two leases.
    #[key(default = "30 s")]
    pub(crate) lease: Option<Written<Bounded<Interval>>>,
    /// Memory of a node for the channels from one neighbour, and for those of its own programs.
    #[key(default = "1 MiB")]
    pub(crate) memory: Option<Written<Bounded<Size>>>,
    /// How a channel finds its route if it has no `route` of its own.
    #[key(default = "fewest_hops")]
    pub(crate) routes: Option<Written<Routing>>,
    /// The synchronisation of clocks. Default: none, as deadlines travel as remaining time.
    pub(crate) synchronise: Option<Part<RawSynchronise>>,
    /// Owners of channels, by name, each with a quota at each node.
    pub(crate) owner: Option<Entries<Part<RawOwner>>>,
}

/// Nodes synchronise their clocks with that of one node (Cristian; thesis 3.1.2), in the frames of the
/// signalling channels. Deadlines do not depend on it. The run measures the error that is reached.
#[keys]
pub(crate) struct RawSynchronise {
    /// The node with the clock that the others follow.
    #[schemars(required)]
    pub(crate) reference: Option<Written<NodeName>>,
    /// The largest error of a round trip that is adopted.
    #[key(default = "500 us")]
    pub(crate) accept: Option<Written<Bounded<Interval>>>,
    /// From a success to the next request.
    #[key(default = "1 s")]
    pub(crate) period: Option<Written<Bounded<Interval>>>,
    /// From a request to the next, where it has no answer or one of a larger error.
    #[key(default = "20 ms")]
    pub(crate) retry: Option<Written<Bounded<Interval>>>,
}

/// The most that one owner may have reserved at a node. A channel that is being changed counts with
/// both contracts. CPU time has no quota, as nodes take none.
#[keys]
pub(crate) struct RawOwner {
    /// Channels that begin at, pass or end at the node. Default: no limit.
    pub(crate) channels: Option<Written<Whole<0, 1_000_000>>>,
    /// Bandwidth on its links together: `max_message / min_interval` of each channel that leaves by
    /// one. Default: no limit.
    pub(crate) bandwidth: Option<Written<Bounded<Flow>>>,
    /// Messages in buffers, by the `burst` of each channel. Default: no limit.
    pub(crate) buffers: Option<Written<Whole<0, 1_000_000>>>,
}

/// The clock of a node.
#[keys]
pub(crate) struct RawClock {
    /// Its difference from true time at the start, such as `-3 ms`.
    #[key(default = "0 s")]
    pub(crate) offset: Option<Written<Difference>>,
    /// Its rate error, such as `50 ppm`. The greatest of all nodes is the tolerance by which bounds
    /// count.
    #[key(default = "0 ppm")]
    pub(crate) drift: Option<Written<RateError>>,
    /// The grain of its readings.
    #[key(default = "1 ns")]
    pub(crate) grain: Option<Written<Bounded<Interval>>>,
    /// Changes of the time that it shows.
    pub(crate) step: Option<List<Part<RawStep>>>,
}

/// A step of a clock.
#[keys]
pub(crate) struct RawStep {
    /// When, in true time.
    #[key(required)]
    pub(crate) at: Option<Written<Bounded<Delay>>>,
    /// By how much, such as `-20 ms`.
    #[key(required)]
    pub(crate) by: Option<Written<Difference>>,
}

/// Another contract of a channel from a time on; keys that are left out are those of the channel.
#[keys]
pub(crate) struct RawChange {
    /// When the program asks for it.
    #[key(required)]
    pub(crate) at: Option<Written<Bounded<Delay>>>,
    /// The largest message.
    pub(crate) max_message: Option<Written<Bounded<Size>>>,
    /// The longest burst, in messages.
    pub(crate) burst: Option<Written<Whole<1, 1_000_000>>>,
    /// Least average spacing of messages. Either this or `rate`.
    pub(crate) min_interval: Option<Written<Bounded<Interval>>>,
    /// The reserved rate.
    pub(crate) rate: Option<Written<Bounded<Flow>>>,
    /// End-to-end deadline.
    pub(crate) deadline: Option<Written<Bounded<Interval>>>,
}

/// Repeated requests: a Poisson process of calls with exponential holding times.
#[keys]
pub(crate) struct RawCalls {
    /// Mean time from one request to the next.
    #[key(required)]
    pub(crate) every: Option<Written<Bounded<Interval>>>,
    /// Mean time from the establishment of a call to its end.
    #[key(required)]
    pub(crate) hold: Option<Written<Bounded<Interval>>>,
}

/// A difference of two times, with its direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Difference(pub(crate) Shift);

impl Leaf for Difference {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        let valid = "a time up to 1 h in quotes, such as `\"3 ms\"` or `\"-3 ms\"`";
        let Scalar::Text(text) = scalar else { return Err(scalar.mistyped(valid)) };
        match text.parse::<Shift>() {
            Ok(shift) if shift.size() <= laxity_world::experiment::FARTHEST => Ok(Self(shift)),
            Ok(_) => Err(Fault::new(format!("`{text}` is more than 1 h"), valid)),
            Err(error) => Err(Fault::new(error.reason(), valid)),
        }
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string", "pattern": "^\\s*-?\\s*[0-9_]*\\.?[0-9_]+\\s*(ps|ns|us|µs|μs|ms|s|min|h)\\s*$",
            "examples": ["-3 ms"]
        })
    }
}

/// The rate error of a clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateError(pub(crate) Drift);

impl Leaf for RateError {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        let valid = "a drift up to 100000 ppm in quotes, such as `\"50 ppm\"` or `\"-3.5 ppm\"`";
        let Scalar::Text(text) = scalar else { return Err(scalar.mistyped(valid)) };
        text.parse().map(Self).map_err(|error| match error {
            laxity_clock::DriftError::Form => Fault::new(format!("`{text}` is no drift"), valid),
            laxity_clock::DriftError::Range => Fault::new(format!("`{text}` is out of range"), valid),
        })
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string", "pattern": "^\\s*-?[0-9]+(\\.[0-9]{1,3})?\\s*pp[mb]\\s*$", "examples": ["50 ppm"]
        })
    }
}
