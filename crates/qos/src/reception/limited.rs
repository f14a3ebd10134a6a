//! A fixed limit on the adapter: interrupts are at least `I` apart, and each takes up to `Q`
//! commands.
//!
//! This is timed polling with the limit in the adapter: an idle host is interrupted at once, and a
//! busy host is protected. But the safe limit is fixed, and also limits a host with no other work
//! (thesis 7.2.3).

use laxity_units::{Span, Time};

use super::{Context, Operations, Posted};

/// Interrupts with a minimum distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limited {
    quota: u32,
    interval: Span,
    next: Time,
}

impl Limited {
    /// Takes up to `quota` commands, at most once an `interval`.
    pub fn new(quota: u32, interval: Span) -> Self {
        Self { quota, interval, next: Time::ZERO }
    }

    /// Minimum time between interrupts.
    pub fn interval(&self) -> Span {
        self.interval
    }
}

impl Operations for Limited {
    fn context(&self) -> Context {
        Context::Routine
    }

    fn quota(&self) -> u32 {
        self.quota
    }

    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        Some(posted.oldest.max(self.next))
    }

    fn entered(&mut self, now: Time) {
        self.next = now.saturating_add(self.interval);
    }
}
