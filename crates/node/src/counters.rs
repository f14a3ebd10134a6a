//! Counters of a node.

use std::collections::BTreeMap;

/// Why a frame, packet or message was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// The bytes are no packet.
    Malformed,
    /// A link that the node does not have.
    Link,
    /// No committed contract of that channel and version is held, or it arrives by another link.
    Unknown,
    /// A packet that is not behind the last one of its channel.
    Old,
    /// Sizes or times that the contract does not have.
    Contract,
    /// A packet that the interval of its channel would hold for longer than the deadline: stops of nodes
    /// before moved packets together, time and again.
    Behind,
    /// The packets of the channel that may wait are all there.
    Buffers,
    /// Signalling that is no message, or the queue of the signalling channel is full.
    Signalling,
    /// The best-effort queue of the link, or of the program, is full.
    BestEffort,
    /// A datagram without a route, or with too many hops behind it.
    Route,
    /// A packet of a channel that ended while the packet waited.
    Ended,
    /// The queue of the receiving program is full.
    ReceiveQueue,
}

/// Counters of a node, from its start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeCounters {
    /// Frames that arrived.
    pub frames: u64,
    /// Frames that left.
    pub sent: u64,
    /// Messages put into the queue of a program.
    pub delivered: u64,
    /// Messages beyond a contract, refused at the source.
    pub excess: u64,
    /// Steps of the clock backward.
    pub set_back: u64,
    /// Drops by cause.
    pub dropped: BTreeMap<DropCause, u64>,
}

impl NodeCounters {
    pub(crate) fn drop(&mut self, cause: DropCause) {
        *self.dropped.entry(cause).or_default() += 1;
    }
}
