//! The interface between a driver and the subsystem.

use laxity_units::{Bytes, Span};

use super::message::Delivery;
use super::slots::Slot;
use crate::names::ChannelId;

/// A thread of the host, as far as a switch between two threads has a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thread {
    /// A channel's handler, or a message's with a thread per message.
    Handler(u32),
    /// The proxy that wakes a handler before its release time.
    Proxy(u32),
    /// The link scheduler of option O2.
    LinkScheduler,
    /// One of the threads of option O3, numbered in order of creation, modulo 2³².
    // Every variant has one number of four bytes, so that a thread stays in registers. A value
    // written in parts and read as a whole soon after stalls the processor.
    LinkThread(u32),
    /// An application that sends, by its channel.
    Application(ChannelId),
    /// An application that computes, by its number.
    Computing(u32),
    /// The program that takes a channel's messages.
    Reader(ChannelId),
}

/// A piece of work that no other thread interrupts (except by immediate preemption).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Protocol processing of a message's first packet (`C_p^1st`), or of the first packet of a
    /// piece of an oversized message.
    FirstPacket {
        /// Whether a thread was created for the message.
        new_thread: bool,
        /// Whether it is the only packet of the message or piece.
        single: bool,
    },
    /// Protocol processing of a further packet (`C_p`).
    Packet,
    /// Protocol processing of a received packet.
    Receive {
        /// Whether the packet is the last of its message, which is then delivered.
        completes: bool,
    },
    /// Forwarding of a received packet to the next link.
    Relay,
    /// A proxy signals its handler, which costs only the switch to it.
    Signal,
}

/// The next step of a core; `P` names a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<P = Slot> {
    /// The core is idle until the next event or [`next_wakeup`](super::Subsystem::next_wakeup).
    Idle,
    /// `thread` does `work`; then [`finish`](super::Subsystem::finish).
    Process {
        /// The thread.
        thread: Thread,
        /// Its channel.
        channel: ChannelId,
        /// The work.
        work: Work,
        /// Size of the packet in work.
        bytes: Bytes,
        /// The work was begun before and preempted: only the rest remains.
        resumed: bool,
    },
    /// `thread` schedules the link (`C_l`), then hands `packet` to the adapter.
    Transmit {
        /// The thread; a handler that calls the scheduler pays no switch.
        thread: Thread,
        /// The selected packet.
        packet: P,
        /// A thread was created for the packet (O3).
        new_thread: bool,
    },
    /// Another core is in the link scheduler. This core spins, and takes no interrupt, until [it
    /// has the lock](super::Subsystem::is_let_in); then it calls again.
    Spin {
        /// The thread; `None` for a thread that does not exist yet (O3).
        thread: Option<Thread>,
    },
    /// The application of a channel gets the CPU to send its messages.
    Application {
        /// Its channel.
        channel: ChannelId,
    },
    /// `thread` computes for `work`; then [`computed`](super::Subsystem::computed).
    Compute {
        /// The thread.
        thread: Thread,
        /// Number of the application.
        application: u32,
        /// CPU time until the next preemption point.
        work: Span,
    },
    /// `thread` reads a received message for `work`; then [`read`](super::Subsystem::read).
    Read {
        /// The thread.
        thread: Thread,
        /// Channel of the message.
        channel: ChannelId,
        /// CPU time for the message.
        work: Span,
    },
}

/// Result of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Queued within the contract, or early.
    Accepted {
        /// The message's number within its channel.
        message: u64,
    },
    /// Queued as best effort, beyond the contract.
    Excess {
        /// The message's number within its channel.
        message: u64,
    },
    /// Not queued; the sender tries again when a slot is free.
    WouldBlock,
    /// Dropped.
    Dropped(Dropped),
}

/// Why a message or packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dropped {
    /// The message queue was full: `B_max` violated, or the host too slow.
    MessageQueue,
    /// The packet buffers were full.
    PacketQueue,
    /// Smaller than the contract's smallest message.
    Undersized,
    /// Larger than the contract's largest, and not divisible into pieces: best effort, or the last
    /// packet would be shorter than any of the contract.
    Oversize,
    /// A packet of the message was lost, so the rest is useless.
    Incomplete,
    /// The adapter lost a packet of the message.
    Adapter,
    /// A packet of the message was handed over after its launch time.
    Launch,
    /// The receiving adapter had no slot for the packet.
    Ring,
    /// The packet was refused at its first command, for want of a receive buffer.
    Early,
    /// No receive buffer was free when the protocol had processed the packet.
    ReceiveBuffers,
    /// The packet exceeded its contract on reception.
    Contract,
    /// The received packet was late before the host began to process it.
    Late,
    /// The packet's slot of the receiving adapter was given to a packet with an earlier deadline.
    Displaced,
    /// The received message was late before its program began to read it.
    LateForProgram,
    /// The received message was complete, and the queue of its program was full.
    ProgramQueue,
    /// The packet arrived on a virtual interface that had no descriptor for it.
    NoDescriptor,
}

/// The result of a finished step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finished {
    /// A message is complete at its receiver.
    pub delivered: Option<Delivery>,
    /// A message that had been accepted was dropped: its channel here, and its number.
    pub lost: Option<(ChannelId, u64)>,
}
