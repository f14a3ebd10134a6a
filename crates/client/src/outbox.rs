//! The outbox of a program: slots for the answers about its channels, and the ring of its messages.
//!
//! The daemon makes the memory. A slot belongs to a channel while it is open; the daemon writes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use laxity_vi::provider::Memory;
use nix::sched::sched_getcpu;

use crate::ring;

/// Channels that a program may have open.
pub const SLOTS: usize = 1024;
/// Bytes of the ring of messages.
pub const CAPACITY: usize = 1 << 20;
const SLOT: usize = 64;
const RING: usize = SLOTS * SLOT;
/// Bytes of an outbox.
pub const BYTES: usize = RING + ring::bytes(CAPACITY);
/// Where the ring begins.
pub const RING_AT: usize = RING;

/// Kind of a record: a message; words: slot, number, 0.
pub const MESSAGE: u32 = 0;
/// Kind of a record: the datagrams of a packet; words: node, port, 0.
pub const DATAGRAM: u32 = 1;

/// State of the channel of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotState {
    /// None.
    Free = 0,
    /// Established.
    Open = 1,
    /// Over, since a node or a link on the route failed.
    Broken = 2,
    /// Over, since an end or an administrator closed it.
    Ended = 3,
}

/// The processor of this thread, counted from 1.
fn here() -> u32 {
    sched_getcpu().map_or(u32::MAX, |number| number as u32 + 1)
}

/// A slot.
#[derive(Debug, Clone)]
pub struct OutboxSlot {
    memory: Arc<Memory>,
    at: usize,
}

impl OutboxSlot {
    /// Slot number `number`; `None` if there is no such slot.
    pub fn of(memory: &Arc<Memory>, number: u32) -> Option<Self> {
        let at = number as usize * SLOT;
        (at < RING).then(|| Self { memory: memory.clone(), at })
    }

    /// Number of changes: the word to sleep on.
    pub fn changes(&self) -> &AtomicU32 {
        self.memory.word32(self.at)
    }

    /// Whether a thread sleeps on the changes.
    pub fn awaited(&self) -> &AtomicU32 {
        self.memory.word32(self.at + 4)
    }

    /// Messages accepted.
    pub fn accepted(&self) -> &AtomicU64 {
        self.memory.word64(self.at + 8)
    }

    /// Messages refused.
    pub fn refused(&self) -> &AtomicU64 {
        self.memory.word64(self.at + 16)
    }

    /// When the next message is within the contract, in nanoseconds of `CLOCK_MONOTONIC`.
    pub fn room_at(&self) -> &AtomicU64 {
        self.memory.word64(self.at + 24)
    }

    /// Packets that this node has transmitted.
    pub fn transmitted(&self) -> &AtomicU64 {
        self.memory.word64(self.at + 32)
    }

    /// Packets of the accepted messages.
    pub fn packets(&self) -> &AtomicU64 {
        self.memory.word64(self.at + 40)
    }

    fn state_word(&self) -> &AtomicU32 {
        self.memory.word32(self.at + 48)
    }

    /// The processor of the daemon, counted from 1; 0 before the first message.
    fn processor(&self) -> &AtomicU32 {
        self.memory.word32(self.at + 52)
    }

    /// The daemon: it decides of messages on this processor.
    pub fn decide_here(&self) {
        self.processor().store(here(), Ordering::Relaxed);
    }

    /// Whether the daemon decided last on the processor of the calling thread.
    pub fn is_decided_here(&self) -> bool {
        self.processor().load(Ordering::Relaxed) == here()
    }

    /// The state of the channel.
    pub fn state(&self) -> SlotState {
        match self.state_word().load(Ordering::Acquire) {
            0 => SlotState::Free,
            1 => SlotState::Open,
            3 => SlotState::Ended,
            _ => SlotState::Broken,
        }
    }

    /// Sets the state, and wakes the threads that wait for a change.
    pub fn set_state(&self, state: SlotState) {
        self.state_word().store(state as u32, Ordering::Release);
        self.changed();
    }

    /// A slot for a new channel: counts from zero.
    pub fn clear(&self) {
        for word in [self.accepted(), self.refused(), self.room_at(), self.transmitted(), self.packets()] {
            word.store(0, Ordering::Relaxed);
        }
        self.set_state(SlotState::Open);
    }

    /// After a change: wakes the threads that wait for it.
    #[inline]
    pub fn changed(&self) {
        self.changes().fetch_add(1, Ordering::Release);
        laxity_vi::provider::wake(self.changes(), self.awaited());
    }
}
