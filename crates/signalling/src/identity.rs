//! Names of nodes, channels and programs.

use std::fmt;

/// A node of the network: a host or a switch with a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u32);

/// One life of a node: each restart has a larger epoch.
///
/// A node keeps the epoch in stable storage, or takes it from a date. Two lives of a node with
/// equal epochs are not distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u32);

/// A channel, unique in the network: `<node, local id>` (thesis 3.2.2), with the epoch of the
/// source.
///
/// Local identities begin at 0 in each epoch and are never used again within the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalChannelId {
    /// The source of the channel.
    pub node: NodeId,
    /// The life of the source in which the channel was asked for.
    pub epoch: Epoch,
    /// The number of the channel in that life.
    pub local: u32,
}

/// A contract of a channel: 1 from establishment, one more with each renegotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version(pub u32);

/// Pays for channels; has a quota at each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Owner(pub u32);

/// A program at a source, which keeps its channels by renewing its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Program(pub u32);

/// A queue at a destination in which messages are received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Port(pub u32);

impl Version {
    /// The contract that a channel is established with.
    pub const FIRST: Version = Version(1);

    /// The contract after this one.
    #[must_use]
    pub const fn next(self) -> Version {
        Version(self.0 + 1)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

impl fmt::Display for GlobalChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}, {}> of epoch {}", self.node, self.local, self.epoch.0)
    }
}
