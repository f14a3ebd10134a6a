//! What lies where in the memory that a program and the provider share.
//!
//! There are three kinds of it, each a sealed memfd that the provider made: a process's doorbells, a virtual interface's queues, a
//! completion queue. A word is written by one side only; words of two sides are two lines apart, since neighbouring lines are
//! fetched in pairs.
//!
//! | offset | of the doorbells | written by |
//! |---|---|---|
//! | 0 | doorbells rung so far | program |
//! | 128 | doorbells heard so far | provider |
//! | 256 | connection requests that came so far | provider |
//! | 384 | whether somebody sleeps for the one above | program |
//! | 512 | the doorbells, each a word of 64 bits | program |
//!
//! | offset | of a virtual interface's queues | written by |
//! |---|---|---|
//! | 0 | its state | provider |
//! | 128, 256 | descriptors completed so far, sent and received | provider |
//! | 384, 512 | whether somebody sleeps for those two | program |
//! | 640 | whether somebody sleeps for the state | program |
//! | 768 | slots of descriptors to send, then to receive | both, see [`slot`] |
//!
//! | offset | of a completion queue | written by |
//! |---|---|---|
//! | 0 | entries put so far | provider |
//! | 128 | entries taken so far | program |
//! | 256 | whether somebody sleeps for them | program |
//! | 384 | the entries, each a word of 64 bits | provider |

/// Doorbells that may be rung and not heard.
pub(crate) const BELLS: u32 = 1024;
/// Descriptors of one queue that may be posted and not complete.
pub const DEPTH: u32 = 256;
/// Data segments of a descriptor.
pub const MOST_SEGMENTS: usize = 13;
/// Bytes of a slot for a descriptor.
pub(crate) const SLOT: usize = 256;
/// Words of 64 bits of a slot.
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

/// Words in a slot: the control segment, the address segment, what came of it, and the data segments.
pub(crate) mod slot {
    /// The operation (8 bits), the number of data segments (8), flags (16), immediate data (32).
    pub(crate) const CONTROL: usize = 0;
    /// Bytes of all data segments together.
    pub(crate) const LENGTH: usize = 1;
    /// RDMA: the address there, then the memory handle there.
    pub(crate) const REMOTE: usize = 2;
    /// What came of it (32 bits) and immediate data (32), then its bytes; written by the provider.
    pub(crate) const STATUS: usize = 4;
    /// Each an address, then a memory handle (32 bits) and a length (32).
    pub(crate) const SEGMENTS: usize = 6;
}
