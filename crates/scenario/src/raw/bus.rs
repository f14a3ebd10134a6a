//! The raw form of a bus that adapters of a host share.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::written::Written;

/// An I/O bus between a host's memory and adapters of it: one phase of one of them is on it at a time, which an adapter says by a `resource` whose `bus` it is.
/// Whose phase has the higher priority goes first; among equals adapters take turns, first who has waited longest since it last had it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawBus {
    /// Whether a phase that is before another takes the bus from it, which resumes with the time it had left. Default `true`; `false` for a bus whose bursts
    /// are not broken off, which phases that are `yields` keep short.
    pub(crate) preemptive: Option<Written<bool>>,
    /// Whether among phases of one priority that goes first whose packet is more urgent, real time by its deadline. Default `false`.
    pub(crate) urgent: Option<Written<bool>>,
    /// Whether the CPU takes it while it copies (what its costs say for each byte), before all
    /// adapters. A host in a thread takes none. Default `false`.
    pub(crate) cpu: Option<Written<bool>>,
}
