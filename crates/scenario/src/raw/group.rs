//! The raw form of groups of channels that have a rate together.

use laxity_scenario_keys::keys;

use crate::leaf::{Bounded, Flow, Name};
use crate::written::Written;

/// Channels with a common rate at every queue in the order `hsfq`, and at the adapters of a `[via]`
/// with the firmware `qosvia`, whatever others send. They share it by rates of their own. Capacity
/// that some of them leave unused goes to the others of the group first.
#[keys]
pub(crate) struct RawGroup {
    /// The rate. No channel of the group has a bound at a port if the rates of its channels exceed
    /// it.
    #[key(required)]
    pub(crate) rate: Option<Written<Bounded<Flow>>>,
    /// The group of which this is a part. Default: none, its rate is a part of the resource's.
    pub(crate) within: Option<Written<Name>>,
}
