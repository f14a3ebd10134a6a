//! The counters of a manager.

/// Messages and inputs that a manager did not act upon, and what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ManagerCounters {
    /// Messages that were handled, of any kind.
    pub handled: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that were lost because too many waited to be sent.
    pub overflowed: u64,
    /// Messages about a channel or a version that the node does not hold.
    pub unknown: u64,
    /// Messages older than one that came before, duplicates, and messages of a former life of their
    /// source.
    pub stale: u64,
    /// Messages that contradict what the node holds: from a node that is not the neighbour on the
    /// route, about another contract under the same version, with a route that is none.
    pub contradictory: u64,
    /// Requests that the node refused.
    pub refused: u64,
    /// Channels that the node dropped because the lease was over.
    pub expired: u64,
    /// Times that the clock was found to be set back.
    pub set_back: u64,
}
