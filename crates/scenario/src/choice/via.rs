//! The words of `[via]`.

use laxity_scenario_keys::words;

/// A firmware; see [`laxity_model::via`].
#[words]
pub(crate) enum FirmwareKind {
    /// One message after the other, and each transfer is waited for.
    #[word("svia")]
    Sequential,
    /// All units are looked at in turn and kept busy; queues in order of arrival.
    #[word("pvia")]
    Parallel,
    /// The same, with queues in the order of VirtualClock's stamps.
    #[word("qosvia")]
    QualityOfService,
}

/// How doorbells wait; see [`laxity_model::via::Doorbells`].
#[words]
pub(crate) enum DoorbellsKind {
    /// In one queue, first come, first served, as the paper's hardware merges them.
    Merged,
    /// By virtual interfaces: one that keeps its bandwidth goes first, by stamps, and processes
    /// take turns with the rest. So none that keeps a bandwidth waits for more of others than is in
    /// hand.
    Apart,
}
