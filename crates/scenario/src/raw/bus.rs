//! The raw form of a bus that adapters of a host share.

use laxity_scenario_keys::keys;

use crate::written::Written;

/// An I/O bus between a host's memory and its adapters: one phase of one adapter uses it at a time.
/// An adapter names it by a `resource` with this `bus`. The phase with the higher priority is
/// first. Among equals adapters take turns, first the one that has waited longest since its last
/// turn.
#[keys]
pub(crate) struct RawBus {
    /// Whether a phase of higher priority takes the bus from another one, which resumes with its
    /// remaining time.
    #[key(
        default = true,
        said = "`true`; `false` for a bus that does not break off bursts, which phases with `yields` keep short"
    )]
    pub(crate) preemptive: Option<Written<bool>>,
    /// Whether among phases of one priority the more urgent packet is first, real time by its
    /// deadline.
    #[key(default = false)]
    pub(crate) urgent: Option<Written<bool>>,
    /// Whether the CPU takes it while it copies (what its costs say for each byte), before all
    /// adapters. A host in a thread takes none.
    #[key(default = false)]
    pub(crate) cpu: Option<Written<bool>>,
}
