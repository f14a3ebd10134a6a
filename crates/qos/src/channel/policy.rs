//! What can be chosen: structuring Table 2, one type per row.

use laxity_units::{Bytes, Span};

use crate::costs::LinkCosts;
pub use crate::discipline::Order;
use crate::discipline::{EarlyPolicy, Server};
use crate::names::{CoreId, LinkId};
use crate::paradigm::LinkParadigm;
use crate::tag::{Class, LEVELS};
use crate::traffic::TrafficSpec;
use crate::virtual_clock::Vtick;

/// Which thread processes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processing {
    /// One handler per channel for as long as the channel lives: as many threads as active channels.
    PerChannel,
    /// One thread per message, created when it is sent: as many threads as messages wait, and a burst
    /// of messages is a burst of threads.
    PerMessage,
}

/// How much a handler does between two preemption points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// `P` packets, or to the message's end if that comes first; at least 1.
    Packets(u32),
    /// One message.
    Message,
    /// All messages in its queue.
    Never,
}

/// When a handler lets another one have the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preemption {
    /// Between blocks of on-time real-time messages.
    pub real_time: Block,
    /// Between blocks of early real-time messages.
    pub early: Block,
    /// Between blocks of best-effort messages.
    pub best_effort: Block,
    /// A more urgent handler takes the CPU at once, in the middle of a packet: the ideal that admission
    /// theory assumes and no host offers for free.
    pub immediate: bool,
}

/// The way from a packet to the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkConfig {
    /// Who runs the link scheduler.
    pub paradigm: LinkParadigm,
    /// The core of its own thread (O2), and where a packet is noticed that is held until now.
    pub core: CoreId,
    /// In which order packets leave.
    pub order: Order,
    /// What early packets may do; the horizon here is the papers' link horizon.
    pub early: EarlyPolicy,
    /// Packets handed to the adapter and not yet completed, at most: the pipeline depth, at least 1.
    pub depth: u32,
    /// How long a packet of a size is on the link at most, for disciplines that follow a fluid link.
    pub speed: LinkCosts,
    /// The shortest frame, for disciplines that have frames.
    pub frame: Span,
}

impl LinkConfig {
    /// What a discipline may know of it.
    pub fn server(&self) -> Server {
        Server { early: self.early, speed: self.speed, frame: self.frame }
    }
}

/// The whole subsystem's policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Cores of the host; at least 1.
    pub cores: u8,
    /// Threads.
    pub processing: Processing,
    /// How handlers are scheduled, on each core by itself.
    pub order: Order,
    /// What handlers of early messages may do: [`EarlyPolicy::HOLD`] is non-work-conserving, anything
    /// else runs them through channel proxies.
    pub early: EarlyPolicy,
    /// Cooperative preemption.
    pub preemption: Preemption,
    /// Link scheduling.
    pub link: LinkConfig,
    /// `S`: largest packet.
    pub packet: Bytes,
    /// Traffic enforcement. Off, every message counts as current when it is sent and no queue has an end:
    /// what a host without contracts does.
    pub enforcement: bool,
}

/// What happens to a message that finds its channel's message queue full.
///
/// `Drop` and `Block` delay the excess of a channel: while a slot is free, a message beyond the contract is queued with a
/// guarantee from its logical arrival on, which is further ahead with each such message. A host that works ahead has a free
/// slot soon, so only a horizon limits how far ahead the messages are that leave the host. `BestEffort` gives a guarantee to
/// what the contract covers ([`crate::traffic`]) and to nothing else, whether a slot is free or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOverflow {
    /// It is dropped and the sender is told.
    Drop,
    /// The sender waits until there is room.
    Block,
    /// The message is carried as best effort, and so is each message that the contract does not cover.
    BestEffort,
}

/// What happens to a handler that finds its channel's packet buffers full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketOverflow {
    /// It waits until the link has freed one.
    Block,
    /// It goes on, each further packet with a deadline later by its share of `I_min`.
    DecayDeadline,
    /// The packet is dropped, and with it the rest of its message.
    Drop,
}

/// What a channel does at this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Messages start here.
    Send,
    /// Packets come in and leave again.
    Relay,
    /// Packets come in and become messages.
    Receive,
}

/// The way of a channel's packets, from where they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Links on it.
    pub links: u8,
    /// Deadline at its end, counted as the local one is; unused for best effort.
    pub deadline: Span,
}

/// The program that takes a channel's messages where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// Its core.
    pub core: CoreId,
    /// Messages that wait for it, the one that it has included; at least 1.
    pub slots: u32,
    /// What it does with a message.
    pub work: Span,
    /// What it does with each byte of one, beside.
    pub per_byte: Span,
}

impl Reader {
    /// What it takes for a message of `size`.
    pub fn takes(&self, size: Bytes) -> Span {
        self.work.saturating_add(self.per_byte.saturating_mul(size.get()))
    }
}

/// One channel at this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelConfig {
    /// Class of service.
    pub class: Class,
    /// What the channel does here.
    pub role: Role,
    /// The core of its handlers.
    pub core: CoreId,
    /// The core of the application that sends, if that is one of this host's.
    pub application: CoreId,
    /// Its contract; for best effort only `max_message` and `burst` mean anything.
    pub spec: TrafficSpec,
    /// Local deadline counted from the logical arrival, by which EDF orders; unused for best effort.
    pub deadline: Span,
    /// Fixed priority, 0 the most urgent.
    pub level: u8,
    /// What it has of the rate of resources that are shared by rates: its contract's, or what best effort is given; [`Vtick::NONE`] for
    /// what is left.
    pub share: Vtick,
    /// The link by which it leaves; unused where it ends.
    pub link: LinkId,
    /// Its way from here.
    pub way: Way,
    /// Message queue slots; the papers have `B_max`.
    pub message_slots: u32,
    /// Packet buffers; the papers have `B_max × N_pkts`.
    pub packet_slots: u64,
    /// When the message queue is full.
    pub message_overflow: MessageOverflow,
    /// When the packet buffers are full.
    pub packet_overflow: PacketOverflow,
    /// Who takes its messages where it ends; `None` if they are delivered when they are whole again.
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
