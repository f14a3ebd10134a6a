//! Messages between the thread that keeps deadlines and the thread that can block.

use std::collections::BTreeMap;
use std::sync::Arc;

use laxity_client::bell::Bell;
use laxity_client::protocol::{ChannelName, Row};
use laxity_node::Failure;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::identity::{GlobalChannelId, NodeId, Owner, Port, Program};
use laxity_signalling::quota::{Quota, Quotas};
use laxity_signalling::refusal::Denial;
use laxity_units::Span;
use laxity_vi::provider::Memory;

use crate::crossing::Crossing;
use crate::node_file::Idle;
use crate::seal::MATERIAL;

/// The number of a request, by which its outcome is found.
pub(crate) type RequestId = u64;

/// From control to the engine.
pub(crate) enum ToEngine {
    /// A program connected.
    Attach {
        /// The program.
        program: Program,
        /// Pays for its channels.
        owner: Owner,
        /// Its outbox.
        outbox: Arc<Memory>,
        /// The bell of the outbox.
        bell: Bell,
    },
    /// A program is gone: its channels and receivers end.
    Detach(Program),
    /// A program listens.
    Listen {
        /// The program.
        program: Program,
        /// The port.
        port: Port,
        /// The ring of messages.
        inbox: Arc<Memory>,
        /// Its bell.
        bell: Bell,
    },
    /// A receiver ends.
    Unlisten(Program, Port),
    /// A request for a channel.
    Open {
        /// The request.
        request: RequestId,
        /// The program.
        program: Program,
        /// The receiver.
        port: Port,
        /// Its name.
        name: String,
        /// The contract.
        contract: ChannelContract,
        /// The route.
        route: Vec<NodeId>,
    },
    /// A request for another contract.
    Change(RequestId, Program, u32, ChannelContract),
    /// A request to close.
    Close(RequestId, Program, u32),
    /// A request to close a channel of any program.
    Delete(RequestId, GlobalChannelId),
    /// A request for another contract of a channel of any program.
    Renegotiate(RequestId, GlobalChannelId, ChannelContract),
    /// A request for the state, with the channels from this row on.
    Status(RequestId, u32),
    /// The keys of a session: of this node and of the peer.
    Keys {
        /// The neighbour.
        peer: NodeId,
        /// The number of the keys.
        number: u8,
        /// For packets that leave.
        own: [u8; MATERIAL],
        /// For packets that arrive.
        theirs: [u8; MATERIAL],
    },
    /// The behaviour of the thread while it has no work.
    Idle(Idle),
    /// The clock of a neighbour; `None` if it is not known.
    Clock(NodeId, Option<Crossing>),
    /// Other quotas of owners.
    Quotas(Quotas),
    /// The neighbours towards other nodes.
    Routes(BTreeMap<NodeId, NodeId>),
    /// The end.
    Stop,
}

/// The outcome of a request.
pub(crate) enum Outcome {
    /// Done.
    Done,
    /// Established, in this slot.
    Opened(u32, GlobalChannelId),
    /// Refused by the network.
    Refused(Denial),
    /// Refused at once.
    Failed(Failure),
    /// The program has no such channel.
    Unknown,
    /// The state.
    Status(Box<EngineStatus>),
}

/// From the engine to control.
pub(crate) enum FromEngine {
    /// The outcome of a request.
    Outcome(RequestId, Outcome),
    /// The channel in a slot of a program broke.
    Lost(Program, u32),
    /// The channel in a slot of a program has another contract, which the program did not ask for.
    Changed(Program, u32, GlobalChannelId, ChannelContract),
    /// A channel to a receiver is established.
    Connected(Program, Port, GlobalChannelId),
    /// A channel to a receiver is over.
    Ended(Program, GlobalChannelId),
    /// A program does not follow the protocol.
    Hostile(Program),
}

/// The state of the engine.
#[derive(Debug, Clone, Default)]
pub(crate) struct EngineStatus {
    /// Channels in all.
    pub(crate) channels: u32,
    /// Channels from the row asked for on; control adds the names of the receivers here.
    pub(crate) rows: Vec<(Row, Port)>,
    /// The reserved part of each link in millionths.
    pub(crate) reserved: Vec<(NodeId, u32)>,
    /// The reserved part of the processor in millionths.
    pub(crate) processor: u32,
    /// The stated time of a packet.
    pub(crate) packet: Span,
    /// Owners with channels: what they have reserved, and their quotas.
    pub(crate) owners: Vec<(Owner, Quota, Quota)>,
    /// Counters by name.
    pub(crate) counters: Vec<(String, u64)>,
    /// Messages delivered by their laxity: upper edges in nanoseconds, and counts.
    pub(crate) laxity: Vec<(u64, u64)>,
    /// The last stops of the platform: begin in nanoseconds of the daemon's clock, and length.
    pub(crate) stalls: Vec<(u64, u64)>,
}

/// The name of a channel as programs see it.
pub(crate) fn name(channel: GlobalChannelId) -> ChannelName {
    ChannelName { node: channel.node.0, epoch: channel.epoch.0, local: channel.local }
}
