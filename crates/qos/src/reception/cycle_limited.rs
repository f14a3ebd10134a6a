//! Cycle-limited polling: the hybrid of Mogul and Ramakrishnan (1997).
//!
//! An interrupt begins polling, as in NAPI; a poll takes up to `Q` commands, and polls follow each
//! other while commands wait. The CPU time of polls is summed over each period. When the sum
//! exceeds a share of the period, input is inhibited until the next begins: no polls and no
//! interrupts. So the program has the rest of the CPU at any offered load. Thesis 7.1 names the
//! costs: a burst is taken at once up to the limit, and the period has to be chosen.
//!
//! Periods lie at multiples of their length. A poll that crosses into a new one is counted where it
//! began.

use laxity_units::{Span, Time};

use super::{Again, Batch, Context, Load, Operations, Posted};

/// Polling until no command waits or a share of the CPU is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CycleLimited {
    quota: u32,
    period: Span,
    limit: Span,
    began: Time,
    used: Span,
    masked: bool,
    inhibited_until: Time,
}

impl CycleLimited {
    /// Polls of up to `quota` commands, which may use `limit` of each `period`; both are non-zero,
    /// and `limit ≤ period`.
    pub fn new(quota: u32, period: Span, limit: Span) -> Self {
        Self {
            quota,
            period,
            limit,
            began: Time::ZERO,
            used: Span::ZERO,
            masked: false,
            inhibited_until: Time::ZERO,
        }
    }
}

impl Operations for CycleLimited {
    fn context(&self) -> Context {
        Context::Kernel
    }

    fn quota(&self) -> u32 {
        self.quota
    }

    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        (!self.masked).then(|| posted.oldest.max(self.inhibited_until))
    }

    fn entered(&mut self, _now: Time) {
        self.masked = true;
    }

    fn left(&mut self, _now: Time, batch: &Batch, load: &Load) -> Again {
        let into = Span::from_ps(batch.began.as_ps() % self.period.as_ps());
        let period = batch.began.saturating_sub(into);
        if period > self.began {
            (self.began, self.used) = (period, Span::ZERO);
        }
        self.used = self.used.saturating_add(batch.used);
        if self.used >= self.limit {
            // Commands that wait then interrupt at the start of the next period.
            self.inhibited_until = period.saturating_add(self.period);
            self.masked = false;
            return Again::OnSignal;
        }
        if load.waiting > 0 {
            return Again::AtOnce;
        }
        self.masked = false;
        Again::OnSignal
    }
}
