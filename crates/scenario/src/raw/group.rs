//! The raw form of groups of channels that have a rate together.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::leaf::{Bounded, Flow, Name};
use crate::written::Written;

/// Channels that have a rate together wherever a queue is in the order `hsfq`, and at the adapters of a `[via]` with the firmware `qosvia`, whatever others send, and share it by rates of their own.
/// What some of them leave is the others' before it is anybody else's.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawGroup {
    /// The rate. Nobody in it has a bound at a port if the rates in it are more than that.
    #[schemars(required)]
    pub(crate) rate: Option<Written<Bounded<Flow>>>,
    /// The group of which this is a part. Default: none, its rate is a part of the resource's.
    pub(crate) within: Option<Written<Name>>,
}
