//! Handlers: the threads that process.

use super::message::Message;

/// A thread, and what it is in the middle of.
#[derive(Debug)]
pub(super) struct Handler {
    /// The lane it serves.
    pub(super) lane: usize,
    /// The message in hand (sending side).
    pub(super) message: Option<Message>,
    /// Identifies the thread for switching costs; a reused slot is a new thread.
    pub(super) thread: u32,
    /// Waits in the CPU scheduler's queues, or runs.
    pub(super) active: bool,
    /// A proxy has woken it before its time.
    pub(super) awake: bool,
    /// A packet was begun and preempted.
    pub(super) mid_packet: bool,
    /// Its thread was created for this message.
    pub(super) new_thread: bool,
}

impl Handler {
    /// Whether it has something to do, or waits for a buffer to do it.
    pub(super) fn is_at_work(&self) -> bool {
        self.active || self.message.is_some()
    }
}

/// The handler that has the CPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) handler: usize,
    /// What it does now; `None` between two packets of a block.
    pub(super) doing: Doing,
    /// Packets until the next preemption point; `None` if there is none before the message's end.
    pub(super) budget: Option<u32>,
    /// Stops at the end of a message.
    pub(super) one_message: bool,
    /// Goes on with the next message of its queue.
    pub(super) drains: bool,
}

/// Where in its block the running handler is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Processing a packet.
    Packet,
    /// Its proxy signals it.
    Signal,
    /// A packet is done; it calls the link scheduler before anything else (O1, O3).
    LinkCall,
    /// Ready for the next packet of the block.
    Between,
}
