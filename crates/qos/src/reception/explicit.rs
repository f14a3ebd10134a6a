//! Explicit interrupt management: the first command interrupts, and further ones only after the
//! host enables interrupts again.
//!
//! The routine takes up to `Q` commands and lets the program run. Interrupts are enabled again
//! after `I`, or earlier if the host becomes idle: polling by a clock under high load, and a prompt
//! interrupt under low load (thesis 7.2.2). The host has to detect that it is idle.

use laxity_units::{Span, Time};

use super::{Again, Batch, Context, Load, Operations, Posted};

/// Interrupts that the host disables and enables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explicit {
    quota: u32,
    interval: Span,
    enabled_from: Time,
}

impl Explicit {
    /// Takes up to `quota` commands, and allows the next interrupt after at most `interval`.
    pub fn new(quota: u32, interval: Span) -> Self {
        Self { quota, interval, enabled_from: Time::ZERO }
    }

    /// The longest time for which interrupts are disabled.
    pub fn interval(&self) -> Span {
        self.interval
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
