//! Applications that compute: their parameters, and how far each is.
//!
//! `computing.rs` schedules them.

use laxity_units::{Bytes, Span, Time};

use crate::names::{ChannelId, CoreId};
use crate::tag::Tag;
use crate::virtual_clock::Vtick;

/// What an application is to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Computing {
    /// What it is called where the CPU is shared by rates: a number that no channel of the host has.
    pub flow: ChannelId,
    /// Its core.
    pub core: CoreId,
    /// How long it keeps that at most before others are asked; not zero.
    pub slice: Span,
    /// What it has to do; `None` for as much as there is time for.
    pub budget: Option<Budget>,
}

/// CPU time in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// How much; not zero.
    pub time: Span,
    /// How often; not zero.
    pub period: Span,
    /// When the first period begins.
    pub start: Time,
    /// By when it is to be done, from the beginning of its period.
    pub deadline: Span,
    /// Fixed priority, 0 the most urgent.
    pub level: u8,
}

/// A budget that an application has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Computed {
    /// Whose, in the order in which they were added.
    pub application: u32,
    /// When its period began.
    pub from: Time,
    /// When it was due.
    pub due: Time,
}

/// An application, and how far it is.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) config: Computing,
    /// What is left of the budget in hand, or of the slice of one without.
    pub(super) left: Span,
    /// Budgets that have been done.
    pub(super) done: u64,
    /// It waits for the CPU, or has it.
    pub(super) active: bool,
}

/// The applications of a host.
#[derive(Debug, Default)]
pub(super) struct Applications {
    pub(super) all: Vec<Application>,
}

impl Application {
    /// When the period of the budget in hand, or of the next if there is none, begins.
    pub(super) fn begins(&self) -> Time {
        match self.config.budget {
            Some(budget) => budget.start.saturating_add(budget.period.saturating_mul(self.done)),
            None => Time::ZERO,
        }
    }

    /// What it executes next.
    pub(super) fn slice(&self) -> Span {
        self.left.min(self.config.slice)
    }

    /// By what it is ranked from `now` on.
    pub(super) fn tag(&self, now: Time, packet: Bytes) -> Tag {
        let Some(budget) = self.config.budget else { return Tag::best_effort(now) };
        let size = self.worth(budget.time, packet);
        let tick = Vtick::new(budget.period, size);
        Tag::real_time(self.begins(), budget.deadline, tick, budget.level)
    }

    /// How many bytes so much work counts as where the CPU is shared by rates.
    pub(super) fn worth(&self, work: Span, packet: Bytes) -> Bytes {
        let (work, slice) = (u128::from(work.as_ps()), u128::from(self.config.slice.as_ps()));
        let bytes = (u128::from(packet.get()) * work).div_ceil(slice);
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX).max(1))
    }
}
