//! Polling in the kernel by a hard or a soft timer (paper polling).
//!
//! Each tick stops what the CPU does, costs a look at the adapter, and grants a new quota: what the last tick granted and
//! was not used is void, and service begins again with the first class. A packet in service is resumed and finished first;
//! it belongs to the quota under which it was begun. A hard timer ticks periodically; a soft one at the states in which
//! the system happens to be able to look cheaply, at intervals drawn from a distribution that a hard timer cuts off.
//! How the quota is shared among classes is [`Sharing`](super::Sharing).

use super::{Context, Operations};

/// Polling by a timer, in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocked {
    /// Packets served for each tick, at most; at least 1.
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
