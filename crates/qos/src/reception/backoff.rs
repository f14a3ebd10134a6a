//! Adaptive backoff: the adapter interrupts as often as the host's load allows (thesis 7.2.3).
//!
//! The host reports at each interrupt whether it is overloaded: less than a given share of its
//! receive buffers is free. Then it leaves the routine, even with commands pending, so that the
//! program can free some. The adapter waits for a *backoff period* between interrupts:
//!
//! ```text
//!  first overload            period = minimum
//!  overload again            period = min(period × factor, maximum)        factor  b > 1
//!  load is lower             period = period × restore                     restore r < 1
//!  period below minimum      every command interrupts again
//! ```
//!
//! The thesis does not say whether a buffer counts as taken when it contains a packet or when a
//! packet is announced ([`BufferTaken`]). Its words are for the second, with a
//! routine that is left even then. The choice decides the shares of several interfaces.
//!
//! Whatever the offered load, an interface interrupts at least once a `maximum` and takes up to `Q`
//! commands then. This guarantees `Q / (2 I_max)` packets a second of two commands each, if the
//! guarantees of all interfaces together do not exceed the host's capacity (Eq. 7.5).
//!
//! *The direction of the restore factor.* Thesis §7.2.3 has "a small restore factor ensures that
//! the interface reduces latency quickly"; §7.4.2 says that "large values of r ensure rapid
//! restoration". Since the period is *multiplied* by r < 1, a small r restores quickly, and the
//! second sentence is a slip: the figures agree with the first (with r = 0.80 the interval does not
//! stay at its maximum, §7.4.3; with r = 0.99 it does).

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

/// Parameters of `CTRL_BACKOFF_ENABLE`, and those of the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// `Q`: maximum number of commands per routine; at least 1.
    pub quota: u32,
    /// `I_min`: the first period; not zero.
    pub minimum: Span,
    /// `I_max`: the longest period; at least the minimum.
    pub maximum: Span,
    /// `b`: above 1.
    pub factor: f64,
    /// `r`: above 0 and below 1.
    pub restore: f64,
    /// The host is overloaded with less than this share of its buffers free; from 0 to 1.
    pub threshold: f64,
    /// When a buffer counts as taken.
    pub taken: BufferTaken,
}

/// When a receive buffer counts as taken, and how an overloaded host treats waiting commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferTaken {
    /// When it contains a packet for the program. The host leaves its routine as soon as too few
    /// buffers are free.
    Filled,
    /// When a packet is announced for it. The host takes its full quota; otherwise the announced
    /// packets would never arrive.
    Promised,
    /// When a packet is announced for it, and the host leaves its routine as soon as too few buffers
    /// are free, as thesis §7.2.1 and §7.2.3 say. An overloaded host then takes one command a
    /// routine.
    Announced,
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
            BufferTaken::Filled => load.free,
            BufferTaken::Promised | BufferTaken::Announced => load.free.saturating_sub(load.promised),
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
        self.parameters.taken == BufferTaken::Promised || !self.is_overloaded(load)
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
