//! The messages between managers.

use laxity_units::Span;

use crate::contract::ChannelContract;
use crate::division::{Division, Needs};
use crate::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Version};
use crate::refusal::Denial;

/// The most nodes of a route, source and destination included.
pub const MOST_HOPS: usize = 32;

/// A message about one contract of one channel, from a node to a neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractMessage {
    /// The channel.
    pub channel: GlobalChannelId,
    /// The contract.
    pub version: Version,
    /// The number of the source's message; an answer repeats the number that it answers. It rises
    /// with each message of the source about the channel, a retransmission included, so that an
    /// older message is recognised.
    pub sequence: u32,
    /// The content.
    pub body: Body,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Forward phase: reserve tentatively, pass on the balance.
    Ask(Ask),
    /// The channel is in use with this version. Every other version but `changing` is over.
    Refresh {
        /// The version that is being established beside, if one is.
        changing: Option<Version>,
        /// The life of the destination in which it committed. In another life it may hold other
        /// deadlines.
        life: Epoch,
    },
    /// The channel is over. It carries the route, so that it passes a node that lost its memory.
    Release {
        /// The whole route.
        route: Vec<NodeId>,
    },
    /// Reverse phase: commit with these local deadlines, one for each node of the route.
    Commit {
        /// From the source to the destination.
        deadlines: Vec<Span>,
        /// The life of the destination.
        life: Epoch,
    },
    /// Reverse phase: this version is refused.
    Refuse {
        /// Why.
        refused: Denial,
        /// Nodes after the refusing one may hold the version.
        beyond: bool,
    },
    /// The refresh came to the destination.
    Refreshed,
    /// The release came to the destination.
    Released {
        /// The whole route.
        route: Vec<NodeId>,
    },
    /// The sender does not hold the channel with this version.
    Unknown,
    /// The same, since the receiver has left the channel.
    Left,
}

impl Body {
    /// The kinds of messages that travel from the source, as [`kind`](Self::kind) numbers them.
    pub const FORWARD: std::ops::RangeInclusive<u8> = 1..=3;
    /// The kinds of messages that travel to the source.
    pub const BACKWARD: std::ops::RangeInclusive<u8> = 4..=9;

    /// The number of the kind, as bytes have it.
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Ask(_) => 1,
            Self::Refresh { .. } => 2,
            Self::Release { .. } => 3,
            Self::Commit { .. } => 4,
            Self::Refuse { .. } => 5,
            Self::Refreshed => 6,
            Self::Released { .. } => 7,
            Self::Unknown => 8,
            Self::Left => 9,
        }
    }
}

/// A request for a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The contract.
    pub contract: ChannelContract,
    /// Pays for the channel.
    pub owner: Owner,
    /// The queue at the destination.
    pub port: Port,
    /// How the slack is to be shared out.
    pub division: Division,
    /// The version in use, which stays beside; `None` for a new channel.
    pub current: Option<Version>,
    /// The rest of the end-to-end deadline: `D − Σ l − Σ w` over the nodes so far.
    pub balance: Span,
    /// `Σ w` over the nodes so far.
    pub between: Span,
    /// The whole route: nodes that are all different.
    pub route: Vec<NodeId>,
    /// The promises of the nodes so far; the receiver of the message is the node after them.
    pub hops: Vec<Needs>,
}

/// Whether `route` is one: 1 to [`MOST_HOPS`] nodes, all different, so that it has no loop. The route
/// of a channel within a node has that node alone, and no message about the channel leaves it.
pub fn is_route(route: &[NodeId]) -> bool {
    let distinct = |(at, node): (usize, &NodeId)| !route[..at].contains(node);
    (1..=MOST_HOPS).contains(&route.len()) && route.iter().enumerate().all(distinct)
}
