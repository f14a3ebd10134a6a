//! NAPI: an interrupt begins polling, and interrupts stay masked until no command waits.
//!
//! After its interrupt the kernel polls with a budget of `Q` commands, before any thread. A used-up
//! budget means that more commands may wait: the next polls follow at once, up to `restarts` of
//! them. After that polling is a thread like others (`ksoftirqd`), and the scheduler gives the
//! program as much of the CPU as each poll took. A poll below the budget enables interrupts again.
//! No load causes livelock as long as the program has its half; the adapter drops the excess,
//! without cost to the host.

use laxity_units::Time;

use super::{Again, Batch, Context, Load, Operations, Posted};

/// Polling from an interrupt until no command waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Napi {
    budget: u32,
    restarts: u32,
    polls: u32,
    masked: bool,
}

impl Napi {
    /// Polls of up to `budget` commands, `restarts` of them in a row before the program has its
    /// turn.
    pub fn new(budget: u32, restarts: u32) -> Self {
        Self { budget, restarts, polls: 0, masked: false }
    }
}

impl Operations for Napi {
    fn context(&self) -> Context {
        Context::Kernel
    }

    fn quota(&self) -> u32 {
        self.budget
    }

    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        (!self.masked).then_some(posted.oldest)
    }

    fn entered(&mut self, _now: Time) {
        self.masked = true;
    }

    fn left(&mut self, _now: Time, batch: &Batch, load: &Load) -> Again {
        if load.waiting == 0 {
            (self.masked, self.polls) = (false, 0);
            return Again::OnSignal;
        }
        self.polls += 1;
        if self.polls <= self.restarts { Again::AtOnce } else { Again::AfterShare(batch.used) }
    }
}
