//! Polling in the kernel by a hard or a soft timer (paper polling).
//!
//! Each tick preempts the CPU, costs a poll of the adapter, and grants a new quota. The unused rest
//! of the last quota is void, and service begins again with the first class. A packet in service is
//! resumed and finished first; it belongs to the quota under which it was begun. A hard timer ticks
//! periodically. A soft timer ticks at states in which a poll is cheap, at random intervals that a
//! hard timer limits. [`Sharing`](super::BatchSharing) divides the quota among classes.

use super::{Context, Operations};

/// Polling by a timer, in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocked {
    /// Maximum number of packets served for each tick; at least 1.
    pub quota: u32,
}

impl Operations for Clocked {
    fn context(&self) -> Context {
        Context::Kernel
    }

    fn quota(&self) -> u32 {
        self.quota
    }
}
