//! The raw form of shapers and gates at the ports of a switch.

use laxity_scenario_keys::keys;

use crate::leaf::{Bounded, Flow, Interval, Whole};
use crate::written::{List, Written};

/// A class with a credit-based shaper (IEEE 802.1Qav).
#[keys]
pub(crate) struct RawShaper {
    /// Level of the class. Level 31 is that of best effort.
    #[key(required)]
    pub(crate) level: Option<Written<Whole<0, 31>>>,
    /// Rate reserved for the class, with all that surrounds its frames on the link. The credit grows
    /// at this slope while a frame of the class waits, and falls at this less the rate of the link
    /// while one is sent. Behind `gates` it does so while the gate is open, and keeps its value while
    /// the gate is closed: the class has this rate times the share of the cycle with an open gate.
    #[key(required)]
    pub(crate) idle_slope: Option<Written<Bounded<Flow>>>,
}

/// A class with cyclic queueing and forwarding (IEEE 802.1Qch).
#[keys]
pub(crate) struct RawCyclic {
    /// Level of the class.
    #[key(required)]
    pub(crate) level: Option<Written<Whole<0, 31>>>,
    /// Length of a cycle. A frame that arrives in a cycle can be sent from the next one on.
    #[key(required)]
    pub(crate) cycle: Option<Written<Bounded<Interval>>>,
}

/// A class with asynchronous traffic shaping (IEEE 802.1Qcr).
#[keys]
pub(crate) struct RawAts {
    /// Level of the class. Best effort, which has level 31, has no contract to be regulated by.
    #[key(required)]
    pub(crate) level: Option<Written<Whole<0, 30>>>,
}

/// A part of the cycle of gates (IEEE 802.1Qbv).
#[keys]
pub(crate) struct RawWindow {
    /// Its length.
    #[key(required)]
    #[serde(rename = "for")]
    pub(crate) length: Option<Written<Bounded<Interval>>>,
    /// Levels with an open gate. Default: none.
    pub(crate) levels: Option<List<Written<Whole<0, 31>>>>,
    /// Whether best effort has an open gate; it has level 31.
    #[key(default = false)]
    pub(crate) best_effort: Option<Written<bool>>,
}
