//! Explicit interrupt management: the first command interrupts, and then none does until the host says so.
//!
//! The routine takes up to `Q` commands and lets the program run. Interrupts are enabled again after `I`, or as soon as the
//! host has nothing to do, whichever comes first: polling by a clock when there is much to do, and a prompt interrupt when
//! there is little (thesis 7.2.2). It asks the host to know when it is idle.

use laxity_units::{Span, Time};

use super::{Again, Batch, Context, Load, Operations, Posted};

/// Interrupts that the host switches off and on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explicit {
    quota: u32,
    interval: Span,
    enabled_from: Time,
}

impl Explicit {
    /// Takes up to `quota` commands, and hears of others `interval` later at the latest.
    pub fn new(quota: u32, interval: Span) -> Self {
        Self { quota, interval, enabled_from: Time::ZERO }
    }
}

impl Operations for Explicit {
    fn context(&self) -> Context {
        Context::Routine
    }

    fn quota(&self) -> u32 {
        self.quota
    }

    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        Some(posted.oldest.max(self.enabled_from))
    }

    fn left(&mut self, now: Time, _batch: &Batch, _load: &Load) -> Again {
        self.enabled_from = now.saturating_add(self.interval);
        Again::OnSignal
    }

    fn idle(&mut self, now: Time) {
        self.enabled_from = self.enabled_from.min(now);
    }
}
