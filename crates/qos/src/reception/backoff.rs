//! Adaptive backoff: the adapter interrupts as often as the host's load allows (thesis 7.2.3).
//!
//! The host says with each interrupt whether it is overloaded: fewer than a share of its receive buffers are free. Then it
//! leaves the routine, even with commands pending, so that the program can free some. The adapter waits for a *backoff
//! period* between interrupts:
//!
//! ```text
//!  first overload            period = minimum
//!  overload again            period = min(period × factor, maximum)        factor  b > 1
//!  load is lower             period = period × restore                     restore r < 1
//!  period below minimum      every command interrupts again
//! ```
//!
//! The thesis does not say whether a buffer counts as taken when a packet is in it or when one is announced ([`Taken`]). It
//! decides what several interfaces get: their reservations and no more under the one, and what others leave under the other.
//!
//! Whatever is offered, an interface interrupts at least once a `maximum` and takes up to `Q` commands then, which
//! guarantees it `Q / (2 I_max)` packets a second of two commands each, if all interfaces together are promised no more
//! than the host can do (Eq. 7.5).
//!
//! *The direction of the restore factor.* Thesis §7.2.3 has "a small restore factor ensures that the interface reduces
//! latency quickly"; §7.4.2 says that "large values of r ensure rapid restoration". Since the period is *multiplied* by
//! r < 1, a small r restores quickly, and the second sentence is a slip: the figures agree with the first (with r = 0.80 the
//! interval does not stay at its maximum, §7.4.3; with r = 0.99 it does).

use laxity_units::{Span, Time};

use super::{Again, Batch, Context, Load, Operations, Posted};

/// Interrupts at a period that follows the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    parameters: Parameters,
    /// `None` while every command interrupts.
    period: Option<Span>,
    last: Time,
}

/// What `CTRL_BACKOFF_ENABLE` says, and what the host holds to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// `Q`: commands taken in a routine, at most; at least 1.
    pub quota: u32,
    /// `I_min`: the first period; not zero.
    pub minimum: Span,
    /// `I_max`: the longest; at least the minimum.
    pub maximum: Span,
    /// `b`: above 1.
    pub factor: f64,
    /// `r`: above 0 and below 1.
    pub restore: f64,
    /// The host is overloaded with less than this share of its buffers free; from 0 to 1.
    pub threshold: f64,
    /// What is a buffer that is not free.
    pub taken: Taken,
}

/// When a receive buffer is taken, and what an overloaded host does with the commands that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// When a packet for the program is in it. The host leaves its routine as soon as too few are free.
    Filled,
    /// When a packet is announced that will come into it. The host takes its quota all the same, or what was announced would never
    /// come.
    Promised,
}

impl Backoff {
    /// An adapter that has not backed off.
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, period: None, last: Time::ZERO }
    }

    /// The period between interrupts; `None` while every command interrupts.
    pub fn period(&self) -> Option<Span> {
        self.period
    }

    fn free(&self, load: &Load) -> u32 {
        match self.parameters.taken {
            Taken::Filled => load.free,
            Taken::Promised => load.free.saturating_sub(load.promised),
        }
    }

    fn is_overloaded(&self, load: &Load) -> bool {
        f64::from(self.free(load)) < self.parameters.threshold * f64::from(load.buffers)
    }

    fn scaled(period: Span, by: f64) -> Span {
        Span::from_ps((period.as_ps() as f64 * by) as u64)
    }
}

impl Operations for Backoff {
    fn context(&self) -> Context {
        Context::Routine
    }

    fn quota(&self) -> u32 {
        self.parameters.quota
    }

    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        Some(self.period.map_or(posted.oldest, |period| posted.oldest.max(self.last.saturating_add(period))))
    }

    fn entered(&mut self, now: Time) {
        self.last = now;
    }

    fn stays(&self, load: &Load) -> bool {
        self.parameters.taken == Taken::Promised || !self.is_overloaded(load)
    }

    fn left(&mut self, _now: Time, _batch: &Batch, load: &Load) -> Again {
        let Parameters { minimum, maximum, factor, restore, .. } = self.parameters;
        self.period = match self.period {
            None => self.is_overloaded(load).then_some(minimum),
            Some(period) if self.is_overloaded(load) => Some(Self::scaled(period, factor).min(maximum)),
            Some(period) => Some(Self::scaled(period, restore)).filter(|period| *period >= minimum),
        };
        Again::OnSignal
    }
}
