//! Commands of programs, and what programs are notified of.

use std::fmt;

use laxity_signalling::contract::ChannelContract;
use laxity_signalling::event::{SourceEvent, Unfit};
use laxity_signalling::identity::{GlobalChannelId, NodeId, Owner, Port, Program, Version};
use laxity_units::{Span, Time};

/// A command of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Registers the program as the receiver of a queue.
    Listen(Port),
    /// The program receives no more from a queue. Its messages are dropped, and its channels are
    /// closed.
    Unlisten(Port),
    /// Asks for a channel; the outcome is a [`ProgramAnswer`].
    Open {
        /// Pays for the channel.
        owner: Owner,
        /// The queue at the destination.
        port: Port,
        /// The contract.
        contract: ChannelContract,
        /// From this node to the destination.
        route: Vec<NodeId>,
    },
    /// Asks for another contract of a channel; the outcome is a [`ProgramAnswer`].
    Change(GlobalChannelId, ChannelContract),
    /// Closes a channel that begins or ends here.
    Close(GlobalChannelId),
    /// Sends a message on an established channel.
    Send(GlobalChannelId, Vec<u8>),
    /// Takes the next message from a queue of the program.
    Receive(Port),
    /// Sends a best-effort datagram of one packet.
    Datagram {
        /// The destination.
        to: NodeId,
        /// The queue there.
        port: Port,
        /// The bytes.
        payload: Vec<u8>,
    },
    /// The program is alive: its channels stay for another lease.
    Renew,
}

/// A message in the queue of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramMessage {
    /// Its channel; `None` for a datagram.
    pub channel: Option<GlobalChannelId>,
    /// Its number on the channel, counted from 0 by the source; 0 for a datagram.
    pub number: u32,
    /// The bytes.
    pub payload: Vec<u8>,
    /// From the logical arrival at the source to the delivery into the queue, as the nodes on the
    /// route counted it, with the longest propagation delay of each link; zero for a datagram.
    pub delay: Span,
    /// The deadline `D` of the contract under which it was sent; zero for a datagram.
    pub bound: Span,
    /// Messages of the channel since the one before it that did not arrive.
    pub lost: u32,
}

/// A packet of a channel, or of the signalling channel of a link, that began to leave this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The channel; `None` for signalling.
    pub channel: Option<GlobalChannelId>,
    /// The neighbour.
    pub to: NodeId,
    /// The logical arrival at this node.
    pub logical_arrival: Time,
    /// The local deadline of the node.
    pub deadline: Time,
    /// The end of the transmission.
    pub end: Time,
}

impl Departure {
    /// By how much the packet leaves after its local deadline.
    pub fn lateness(&self) -> Span {
        self.end.saturating_since(self.deadline)
    }
}

/// The immediate result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// Done.
    Done,
    /// The request is on its way for this channel.
    Opening(GlobalChannelId),
    /// The request for this version is on its way.
    Changing(Version),
    /// The message was accepted; it is delivered by the local time `due`.
    Accepted {
        /// Logical arrival and end-to-end bound together.
        due: Time,
    },
    /// A message.
    Received(ProgramMessage),
    /// The queue is empty.
    Empty,
}

/// Why a command was refused at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The manager refuses it.
    Unfit(Unfit),
    /// Another program owns the channel or the queue.
    NotYours,
    /// The message is longer than the contract or the packet.
    TooLong,
    /// The message is beyond the burst of the contract.
    Excess,
    /// No route, or the queue of the link is full.
    NoRoom,
    /// A node has as many queues as it may, or a program as many channels.
    TooMany,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfit(unfit) => unfit.fmt(f),
            Self::NotYours => f.write_str("the channel or the queue belongs to another program"),
            Self::TooLong => f.write_str("the message is longer than the contract or a packet"),
            Self::Excess => f.write_str("the message is beyond the burst of the contract"),
            Self::NoRoom => f.write_str("no route, or a full queue"),
            Self::TooMany => {
                f.write_str("the node has no room for another queue, or the program for another channel")
            }
        }
    }
}

impl std::error::Error for Failure {}

/// A notification, and the program that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramAnswer {
    /// The program; `None` if no program listens at the queue of a channel that ends here.
    pub program: Option<Program>,
    /// What happened.
    pub event: SourceEvent,
}
