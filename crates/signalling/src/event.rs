//! Commands and notifications of programs.

use laxity_units::Span;

use crate::contract::ChannelContract;
use crate::identity::{GlobalChannelId, NodeId, Owner, Port, Program, Version};
use crate::refusal::Denial;

/// A request of a program for a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    /// The program; the request renews its lease.
    pub program: Program,
    /// Pays for the channel.
    pub owner: Owner,
    /// The queue at the destination.
    pub port: Port,
    /// The contract.
    pub contract: ChannelContract,
    /// From this node to the destination, both included.
    pub route: Vec<NodeId>,
}

/// A notification of a program.
///
/// A request to open ends with exactly one of `Established`, `Refused` and, if the program closed
/// meanwhile, `Closed`. A channel that was established ends with exactly one of `Closed` and
/// `Lost`. A request to change ends with `Changed`, `ChangeRefused`, or the end of the channel. A
/// receiver is notified of `Opened` once, then of `Ended` once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceEvent {
    /// The channel is established.
    Established {
        /// Which.
        channel: GlobalChannelId,
        /// The local deadline at this node.
        deadline: Span,
    },
    /// The channel is not established, and no node holds anything for it, or only until its lease
    /// ends.
    Refused {
        /// Which.
        channel: GlobalChannelId,
        /// Why.
        refused: Denial,
    },
    /// The new contract is in place at every node: use it from the next message on.
    Changed {
        /// Which.
        channel: GlobalChannelId,
        /// The version of the new contract.
        version: Version,
        /// The local deadline at this node.
        deadline: Span,
    },
    /// The old contract stays.
    ChangeRefused {
        /// Which.
        channel: GlobalChannelId,
        /// The version that is refused.
        version: Version,
        /// Why.
        refused: Denial,
    },
    /// The channel is closed.
    Closed {
        /// Which.
        channel: GlobalChannelId,
        /// The destination answered, so every node that can be reached has released it.
        everywhere: bool,
    },
    /// The channel is over: a node or a link on its route failed, or the receiver left it.
    Lost {
        /// Which.
        channel: GlobalChannelId,
        /// The receiver left it.
        left: bool,
    },
    /// At the destination: a channel is established to `port`.
    Opened {
        /// Which.
        channel: GlobalChannelId,
        /// The queue.
        port: Port,
    },
    /// At the destination: the channel is over.
    Ended {
        /// Which.
        channel: GlobalChannelId,
    },
}

/// Why a program's command about a channel is not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// The channel does not begin here, or is not established.
    NotHeld,
    /// Another change is under way, or messages under the contract before the last change are.
    Busy,
    /// The contract is out of range.
    Contract,
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotHeld => "the channel is not established from this node",
            Self::Busy => "another change of the channel is under way",
            Self::Contract => "a field of the contract is out of range",
        })
    }
}

impl std::error::Error for Unfit {}
