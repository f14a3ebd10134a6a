//! Why a channel is refused: the node, the resource, how much is missing, what would be accepted.

use laxity_units::Span;

use crate::identity::NodeId;

/// The refusal of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denial {
    /// The node that refuses.
    pub node: NodeId,
    /// The resource that is missing, and how much.
    pub shortage: Shortage,
}

/// A resource of which a node has too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// The resource.
    pub resource: NodeResource,
    /// How much more is needed; the unit is that of the resource.
    pub missing: u64,
    /// A contract that the node would accept in place of the contract.
    pub acceptable: Alternative,
}

/// A resource that can be short, with the unit of [`Shortage::missing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeResource {
    /// Time on the outgoing link, in millionths of the link.
    Link,
    /// CPU time, in millionths of the CPU.
    Cpu,
    /// Buffers for messages, in messages.
    Messages,
    /// Buffers for packets, in packets.
    Packets,
    /// Places of a queue at the destination, in messages.
    ReceivePlaces,
    /// The end-to-end deadline, in picoseconds.
    Deadline,
    /// Channels within the quota of the owner, in channels.
    QuotaChannels,
    /// Bandwidth within the quota of the owner, in bytes per second.
    QuotaBandwidth,
    /// Buffers within the quota of the owner, in buffers.
    QuotaBuffers,
    /// CPU time within the quota of the owner, in millionths of the CPU.
    QuotaCpu,
    /// A link to the next node of the route; no unit.
    Route,
    /// Entries for channels at the node, in channels.
    Entries,
    /// An answer within the patience of the source; no unit.
    Answer,
    /// Agreement between nodes about the channel; no unit. A node lost its memory on the way.
    Agreement,
    /// A contract, a version or a channel within their ranges; no unit.
    Valid,
}

/// A contract that would be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternative {
    /// No change of the contract helps at this node, or none is known.
    Unknown,
    /// The contract with at least this end-to-end deadline, as far as the nodes up to here are
    /// concerned.
    Deadline(Span),
    /// The contract with at least this `I_min`.
    Interval(Span),
    /// The contract with at most this `B_max`.
    Burst(u32),
    /// The contract as it is, later.
    Later,
}

impl Alternative {
    /// A burst that is shorter by `missing` messages; where none is left, the contract later.
    pub(crate) fn shorter(burst: u32, missing: u64) -> Self {
        let left = u64::from(burst).checked_sub(missing).and_then(|burst| u32::try_from(burst).ok());
        left.filter(|burst| *burst > 0).map_or(Self::Later, Self::Burst)
    }
}

impl Shortage {
    /// A shortage that no change of the contract helps against.
    pub const fn of(resource: NodeResource, missing: u64) -> Self {
        Self { resource, missing, acceptable: Alternative::Unknown }
    }

    /// The same, with what would be accepted.
    #[must_use]
    pub const fn but(self, acceptable: Alternative) -> Self {
        Self { acceptable, ..self }
    }
}
