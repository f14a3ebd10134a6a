//! The policies: structuring Table 2, one type per row.

use laxity_units::{Bytes, Span};

use crate::costs::LinkCosts;
pub use crate::discipline::Order;
use crate::discipline::{EarlyPolicy, ServerParameters};
use crate::names::{CoreId, LinkId};
use crate::paradigm::LinkParadigm;
use crate::tag::{Class, LEVELS};
use crate::traffic::TrafficSpec;
use crate::virtual_clock::Vtick;

/// The thread that processes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processing {
    /// One handler per channel, for the channel's lifetime: as many threads as active channels.
    PerChannel,
    /// One thread per message, created when the message is sent: a burst of messages is a burst of
    /// threads.
    PerMessage,
}

/// The work of a handler between two preemption points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// `P` packets, or fewer at the message's end; at least 1.
    Packets(u32),
    /// One message.
    Message,
    /// All messages in its queue.
    Never,
}

/// The preemption points of handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preemption {
    /// Blocks of on-time real-time messages.
    pub real_time: Block,
    /// Blocks of early real-time messages.
    pub early: Block,
    /// Blocks of best-effort messages.
    pub best_effort: Block,
    /// A handler of higher priority takes the CPU at once, even within a packet. Admission theory
    /// assumes this ideal; no host offers it without cost.
    pub immediate: bool,
}

/// Link scheduling at one adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkConfig {
    /// The thread that runs the link scheduler.
    pub paradigm: LinkParadigm,
    /// The core of the scheduler's own thread (O2), and of wake-ups for held packets.
    pub core: CoreId,
    /// The order in which packets leave.
    pub order: Order,
    /// Treatment of early packets; the horizon here is the papers' link horizon.
    pub early: EarlyPolicy,
    /// Pipeline depth: maximum number of packets handed to the adapter and not yet completed; at
    /// least 1.
    pub depth: u32,
    /// Launch time of a real-time packet, counted from its logical arrival; not zero. The adapter
    /// begins a packet no sooner, and loses a packet that is handed over later. `None`: the adapter
    /// begins a packet when the link is free.
    pub launch: Option<Span>,
    /// Maximum time on the link for a packet of a size, for disciplines that follow a fluid link.
    pub speed: LinkCosts,
    /// The shortest frame, for framing disciplines.
    pub frame: Span,
}

impl LinkConfig {
    /// The properties of the link that a discipline may use.
    pub fn server(&self) -> ServerParameters {
        ServerParameters { early: self.early, speed: self.speed, frame: self.frame, selection: None }
    }
}

/// All policies of a subsystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Cores of the host; at least 1.
    pub cores: u8,
    /// Thread per channel or per message.
    pub processing: Processing,
    /// The order of handlers, on each core by itself.
    pub order: Order,
    /// Treatment of handlers with early messages: [`EarlyPolicy::HOLD`] is non-work-conserving; any
    /// other policy runs them through channel proxies.
    pub early: EarlyPolicy,
    /// Cooperative preemption.
    pub preemption: Preemption,
    /// Link scheduling.
    pub link: LinkConfig,
    /// `S`: largest packet.
    pub packet: Bytes,
    /// Traffic enforcement. If off, every message is current when it is sent and queues are
    /// unbounded, as in a host without contracts.
    pub enforcement: bool,
    /// How much an oversize message delays the next one.
    pub oversize: Oversize,
}

/// The delay of the logical arrival after a message that is larger than `M_max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oversize {
    /// `I_min` for each `M_max` begun: at most one message of the contract arrives logically in each
    /// interval, which is what admission reserves for.
    Intervals,
    /// `I_min` in proportion to its packets (structuring §3.1). The channel gets its reserved rate,
    /// but the last piece of the message and the next message are closer together than `I_min`.
    Packets,
}

/// Treatment of a message that finds its channel's message queue full.
///
/// `Drop` and `Block` delay the excess of a channel. While a slot is free, a message beyond the
/// contract is queued with a guarantee from its logical arrival on, which moves further ahead with
/// each excess message. A host that works ahead soon has a free slot, so only a horizon limits how
/// early messages leave the host. `BestEffort` gives a guarantee only to messages that the contract
/// covers ([`crate::traffic`]), whether a slot is free or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOverflow {
    /// The message is dropped, and the call reports it to the sender.
    Drop,
    /// The sender waits for a free slot.
    Block,
    /// The message is carried as best effort, as is each message that the contract does not cover.
    BestEffort,
}

/// Treatment of a handler that finds its channel's packet buffers full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketOverflow {
    /// The handler waits until the link has freed a buffer.
    Block,
    /// The handler continues; each further packet's deadline is later by the packet's share of
    /// `I_min`.
    DecayDeadline,
    /// The packet is dropped, with the rest of its message.
    Drop,
}

/// The role of a channel at this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Messages start here.
    Send,
    /// Packets arrive and leave again.
    Relay,
    /// Packets arrive and become messages.
    Receive,
}

/// The path of a channel's packets, from the host that makes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Number of links on the path.
    pub links: u8,
    /// Deadline at the end of the path, counted from the same instant as the local one; unused for
    /// best effort.
    pub deadline: Span,
}

/// The program that reads a channel's messages at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// The core of the program.
    pub core: CoreId,
    /// Maximum number of waiting messages, including the one in work; at least 1.
    pub slots: u32,
    /// Fixed work per message.
    pub work: Span,
    /// Additional work per byte.
    pub per_byte: Span,
}

impl Reader {
    /// The work for a message of `size`.
    pub fn takes(&self, size: Bytes) -> Span {
        self.work.saturating_add(self.per_byte.saturating_mul(size.get()))
    }
}

/// One channel at this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelConfig {
    /// Class of service.
    pub class: Class,
    /// The role of the channel at this host.
    pub role: Role,
    /// The core of its handlers.
    pub core: CoreId,
    /// The core of the sending application, if that runs on this host.
    pub application: CoreId,
    /// Its contract; for best effort only `max_message` and `burst` are used.
    pub spec: TrafficSpec,
    /// Local deadline, counted from the logical arrival, by which EDF orders; unused for best
    /// effort.
    pub deadline: Span,
    /// Fixed priority; 0 is the highest.
    pub level: u8,
    /// Its rate at resources shared by rates: the contract's rate, or the rate assigned to best
    /// effort; [`Vtick::NONE`] for the residual capacity.
    pub share: Vtick,
    /// The outgoing link; unused at the receiver.
    pub link: LinkId,
    /// Its path from this host.
    pub way: Way,
    /// Message queue slots; the papers have `B_max`.
    pub message_slots: u32,
    /// Packet buffers; the papers have `B_max × N_pkts`.
    pub packet_slots: u64,
    /// Policy for a full message queue.
    pub message_overflow: MessageOverflow,
    /// Policy for full packet buffers.
    pub packet_overflow: PacketOverflow,
    /// The program that reads its messages at the receiver; `None` if messages are delivered on
    /// reassembly.
    pub reader: Option<Reader>,
}

impl ChannelConfig {
    /// A real-time channel with the papers' buffers and overload policies.
    pub fn real_time(spec: TrafficSpec, deadline: Span, packet: Bytes) -> Self {
        Self {
            class: Class::RealTime,
            role: Role::Send,
            core: CoreId::FIRST,
            application: CoreId::FIRST,
            spec,
            deadline,
            level: 0,
            share: spec.tick(),
            link: LinkId::FIRST,
            way: Way { links: 1, deadline },
            message_slots: spec.burst,
            packet_slots: u64::from(spec.burst) * spec.fragmentation(packet).packets(),
            message_overflow: MessageOverflow::Drop,
            packet_overflow: PacketOverflow::Block,
            reader: None,
        }
    }

    /// A best-effort channel with a queue of `slots` messages of at most `max_message`.
    pub fn best_effort(max_message: Bytes, slots: u32, packet: Bytes) -> Self {
        let spec = TrafficSpec {
            max_message,
            min_message: max_message,
            burst: slots,
            min_interval: Span::from_ps(1),
        };
        let level = LEVELS as u8 - 1;
        let share = Vtick::NONE;
        Self { class: Class::BestEffort, level, share, ..Self::real_time(spec, Span::MAX, packet) }
    }
}
