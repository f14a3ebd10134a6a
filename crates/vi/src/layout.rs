//! Layout of the memory that a program and the provider share.
//!
//! There are three kinds, each a sealed memfd that the provider creates: a process's doorbells, a
//! virtual interface's queues, a completion queue. Each word is written by one side only. Words of
//! different writers are two cache lines apart, since the hardware prefetches neighbouring lines in
//! pairs.
//!
//! | offset | of the doorbells | written by |
//! |---|---|---|
//! | 0 | count of doorbells rung | program |
//! | 128 | count of doorbells consumed | provider |
//! | 256 | count of connection requests | provider |
//! | 384 | whether a thread sleeps on the word above | program |
//! | 512 | the doorbells, each a word of 64 bits | program |
//!
//! | offset | of a virtual interface's queues | written by |
//! |---|---|---|
//! | 0 | its state | provider |
//! | 128, 256 | count of descriptors completed, sent and received | provider |
//! | 384, 512 | whether a thread sleeps on these two | program |
//! | 640 | whether a thread sleeps on the state | program |
//! | 768 | slots of descriptors to send, then to receive | both, see [`slot`] |
//!
//! | offset | of a completion queue | written by |
//! |---|---|---|
//! | 0 | count of entries put | provider |
//! | 128 | count of entries taken | program |
//! | 256 | whether a thread sleeps on the entries | program |
//! | 384 | the entries, each a word of 64 bits | provider |

/// Capacity of the doorbell queue.
pub(crate) const BELLS: u32 = 1024;
/// Maximum number of descriptors of one queue that are posted and not complete.
pub const DEPTH: u32 = 256;
/// Maximum number of data segments of a descriptor.
pub const MOST_SEGMENTS: usize = 13;
/// Bytes of a descriptor slot.
pub(crate) const SLOT: usize = 256;
/// 64-bit words of a slot.
pub(crate) const SLOT_WORDS: usize = SLOT / 8;

/// Offsets in a process's doorbells.
pub(crate) mod bells {
    pub(crate) const RUNG: usize = 0;
    pub(crate) const HEARD: usize = 128;
    pub(crate) const CALLS: usize = 256;
    pub(crate) const CALLS_AWAITED: usize = 384;
    pub(crate) const ENTRIES: usize = 512;
    pub(crate) const LENGTH: usize = ENTRIES + 8 * super::BELLS as usize;
}

/// Offsets in a virtual interface's queues.
pub(crate) mod queues {
    pub(crate) const STATE: usize = 0;
    pub(crate) const COMPLETED: [usize; 2] = [128, 256];
    pub(crate) const AWAITED: [usize; 2] = [384, 512];
    pub(crate) const STATE_AWAITED: usize = 640;
    pub(crate) const SLOTS: [usize; 2] = [768, 768 + super::SLOT * super::DEPTH as usize];
    pub(crate) const LENGTH: usize = SLOTS[1] + super::SLOT * super::DEPTH as usize;
}

/// Offsets in a completion queue.
pub(crate) mod completions {
    pub(crate) const PUT: usize = 0;
    pub(crate) const TAKEN: usize = 128;
    pub(crate) const AWAITED: usize = 256;
    pub(crate) const ENTRIES: usize = 384;
}

/// Words in a slot: the control segment, the address segment, the status, and the data segments.
pub(crate) mod slot {
    /// The operation (8 bits), the number of data segments (8), flags (16), immediate data (32).
    pub(crate) const CONTROL: usize = 0;
    /// Total bytes of all data segments.
    pub(crate) const LENGTH: usize = 1;
    /// RDMA: address at the peer, then memory handle at the peer.
    pub(crate) const REMOTE: usize = 2;
    /// Status (32 bits) and immediate data (32), then the message size; written by the provider.
    pub(crate) const STATUS: usize = 4;
    /// Segments, each an address, then a memory handle (32 bits) and a length (32).
    pub(crate) const SEGMENTS: usize = 6;
}
