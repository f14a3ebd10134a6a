//! Handlers: the threads that process messages.

use super::message::Message;

/// A thread and its state.
#[derive(Debug)]
pub(super) struct Handler {
    pub(super) lane: usize,
    /// The current message (sending side).
    pub(super) message: Option<Message>,
    /// Identifies the thread for switching costs; a reused slot is a new thread.
    pub(super) thread: u32,
    /// The handler waits in the CPU scheduler's queues, or runs.
    pub(super) active: bool,
    /// A proxy woke the handler before its release time.
    pub(super) awake: bool,
    /// A packet was begun and preempted.
    pub(super) mid_packet: bool,
    pub(super) new_thread: bool,
}

impl Handler {
    /// Whether the handler has work, or waits for a buffer.
    pub(super) fn is_at_work(&self) -> bool {
        self.active || self.message.is_some()
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) handler: usize,
    pub(super) doing: Doing,
    /// Packets until the next preemption point; `None` if there is none before the message's end.
    pub(super) budget: Option<u32>,
    /// The handler stops at the end of a message.
    pub(super) one_message: bool,
    /// The handler continues with the next message of its queue.
    pub(super) drains: bool,
}

/// The running handler's position within its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Processing a packet.
    Packet,
    /// The handler's proxy signals it.
    Signal,
    /// A packet is done, and the handler calls the link scheduler next (O1, O3).
    LinkCall,
    /// The handler is between two packets of the block.
    Between,
}
