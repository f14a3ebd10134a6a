//! What a driver and the subsystem say to each other.

use laxity_units::{Bytes, Span};

use super::message::Delivery;
use super::slots::Slot;
use crate::names::ChannelId;

/// A thread of the host, as far as switching between two of them costs something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thread {
    /// A channel's handler, or a message's with a process per message.
    Handler(u32),
    /// The proxy that wakes a handler ahead of its time.
    Proxy(u32),
    /// The link scheduler of option O2.
    LinkScheduler,
    /// One of the threads of option O3, numbered as they are created; after 2³² from nought again.
    // One number of four bytes in each, so that a thread stays in registers: what is written in parts and right afterwards read whole is waited for.
    LinkThread(u32),
    /// An application that shares the CPU, by its channel.
    Application(ChannelId),
    /// An application that computes, by its number.
    Computing(u32),
    /// The program that takes a channel's messages.
    Reader(ChannelId),
}

/// A piece of work that is not interrupted by another thread (but for immediate preemption).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Protocol processing of a message's first packet (`C_p^1st`), or of the first of a piece of one that is larger than
    /// its contract has it; `new_thread` if its thread was created for it.
    FirstPacket {
        /// Whether a thread was created for the message.
        new_thread: bool,
    },
    /// Protocol processing of a further packet (`C_p`).
    Packet,
    /// Protocol processing of a received packet; `completes` if the message is then handed up.
    Receive {
        /// Whether it is the last packet of its message.
        completes: bool,
    },
    /// Moving a received packet on to the next link.
    Relay,
    /// A proxy signals its handler: nothing but the switch to it.
    Signal,
}

/// What a core is to do next; `P` is by what a packet is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<P = Slot> {
    /// Nothing until something happens or [`next_wakeup`](super::Subsystem::next_wakeup) comes.
    Idle,
    /// `thread` does `work`; then [`finish`](super::Subsystem::finish).
    Process {
        /// Who.
        thread: Thread,
        /// For which channel.
        channel: ChannelId,
        /// What.
        work: Work,
        /// The bytes of the packet that it is done to.
        bytes: Bytes,
        /// The work was begun before and preempted: only what is left of it is due.
        resumed: bool,
    },
    /// `thread` schedules the link (`C_l`), then hands `packet` to the adapter.
    Transmit {
        /// Who; a handler that calls the scheduler pays no switch.
        thread: Thread,
        /// The packet that was selected.
        packet: P,
        /// A thread was created for it (O3).
        new_thread: bool,
    },
    /// Another core is in the link scheduler: this one does nothing, and takes no interrupt, until [it is let in](super::Subsystem::is_let_in);
    /// then it asks again.
    Spin {
        /// Who; `None` for a thread that is not there yet (O3).
        thread: Option<Thread>,
    },
    /// The application of a channel gets the CPU to send what it has.
    Application {
        /// Whose.
        channel: ChannelId,
    },
    /// `thread` computes for so long; then [`computed`](super::Subsystem::computed).
    Compute {
        /// Who.
        thread: Thread,
        /// Which application.
        application: u32,
        /// Until the next preemption point.
        work: Span,
    },
    /// `thread` takes a message that has come, which takes so long; then [`read`](super::Subsystem::read).
    Read {
        /// Who.
        thread: Thread,
        /// Of which channel.
        channel: ChannelId,
        /// What it does with it.
        work: Span,
    },
}

/// Answer to a send.
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
    /// Not queued; try again when there is room.
    WouldBlock,
    /// Not queued, and gone.
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
    /// Larger than the contract's largest, and not to be carried in pieces: best effort, or its last packet would be
    /// shorter than any that the contract allows.
    Oversize,
    /// A packet of the message was lost, so the rest is worth nothing.
    Incomplete,
    /// The adapter lost a packet of it.
    Adapter,
    /// It came in and the receiving adapter had no slot for it.
    Ring,
    /// It came in and was refused at its first command, for want of a receive buffer.
    Early,
    /// It came in, and when the protocol was done with it there was no receive buffer to keep it in.
    ReceiveBuffers,
    /// It came in beyond its contract.
    Contract,
    /// It came in and was late before the host had begun with it.
    Late,
    /// It came in and lost its slot of the adapter to one that is due sooner.
    Displaced,
    /// It came in, and was late before its program had begun with it.
    LateForProgram,
    /// It came in whole, and there was no place in the queue of its program.
    ProgramQueue,
    /// It came in on a virtual interface that had no descriptor for it.
    NoDescriptor,
}

/// What finishing a step brought about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finished {
    /// A message is complete at its receiver.
    pub delivered: Option<Delivery>,
}
