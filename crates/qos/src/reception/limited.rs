//! A fixed limit on the adapter: interrupts are at least `I` apart, and each takes up to `Q` commands.
//!
//! Timed polling with the limit on the other side of the bus: an idle host hears of a packet at once, and a busy one is
//! safe; but what is safe is fixed, and is also all that a host with nothing else to do gives to the network (thesis 7.2.3).

use laxity_units::{Span, Time};

use super::{Context, Operations, Posted};

/// Interrupts no closer than an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limited {
    quota: u32,
    interval: Span,
    next: Time,
}

impl Limited {
    /// Takes up to `quota` commands, every `interval` at most.
    pub fn new(quota: u32, interval: Span) -> Self {
        Self { quota, interval, next: Time::ZERO }
    }

    /// Between interrupts at least.
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
