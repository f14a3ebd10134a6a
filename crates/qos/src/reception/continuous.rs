//! Continuous polling: the host polls and delivers, in turn.
//!
//! Up to `Q` commands are taken, then the program works until it has no work left, then the adapter
//! is polled again. Every packet taken is processed, so no work is wasted and no load causes
//! livelock; Eq. 7.3 is the capacity. Continuous polling needs a host with activities that are all
//! known in advance, and leaves no CPU to others: the baseline of thesis 7.2.2. An application that
//! polls for its own packets and never sleeps (busy polling) is the same loop.

use super::{Again, Batch, Context, Load, Operations};
use laxity_units::Time;

/// Polling without a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Continuous {
    /// `Q`: commands taken before the program works; at least 1.
    pub quota: u32,
}

impl Operations for Continuous {
    fn context(&self) -> Context {
        Context::Thread
    }

    fn quota(&self) -> u32 {
        self.quota
    }

    fn left(&mut self, _now: Time, _batch: &Batch, _load: &Load) -> Again {
        Again::AfterProgram
    }

    fn first(&self) -> Again {
        Again::AfterProgram
    }

    fn spins(&self) -> bool {
        true
    }
}
