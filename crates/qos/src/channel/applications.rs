//! Applications that compute: their parameters and their progress.
//!
//! `computing.rs` schedules them.

use laxity_units::{Bytes, Span, Time};

use crate::names::{ChannelId, CoreId};
use crate::tag::Tag;
use crate::virtual_clock::Vtick;

/// Parameters of an application that computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Computing {
    /// Flow number where the CPU is shared by rates; no channel of the host has this number.
    pub flow: ChannelId,
    /// The core on which the application runs.
    pub core: CoreId,
    /// Maximum time between two preemption points; not zero.
    pub slice: Span,
    /// CPU time reserved per period; `None` if the application computes without end.
    pub budget: Option<Budget>,
}

/// CPU time in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Time per period; not zero.
    pub time: Span,
    /// Length of a period; not zero.
    pub period: Span,
    /// When the first period begins.
    pub start: Time,
    /// Deadline, counted from the beginning of the period.
    pub deadline: Span,
    /// Fixed priority; 0 is the highest.
    pub level: u8,
}

/// A completed budget of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Computed {
    /// Number of the application, in the order in which applications were added.
    pub application: u32,
    /// Beginning of the period.
    pub from: Time,
    /// Absolute deadline.
    pub due: Time,
}

#[derive(Debug)]
pub(super) struct Application {
    pub(super) config: Computing,
    /// Remaining time of the current budget, or of the slice of an application without a budget.
    pub(super) left: Span,
    pub(super) done: u64,
    /// The application waits for the CPU or has it.
    pub(super) active: bool,
}

#[derive(Debug, Default)]
pub(super) struct Applications {
    pub(super) all: Vec<Application>,
}

impl Application {
    /// Beginning of the current budget's period, or of the next period if there is no current
    /// budget.
    pub(super) fn begins(&self) -> Time {
        match self.config.budget {
            Some(budget) => budget.start.saturating_add(budget.period.saturating_mul(self.done)),
            None => Time::ZERO,
        }
    }

    /// The work until the next preemption point.
    pub(super) fn slice(&self) -> Span {
        self.left.min(self.config.slice)
    }

    pub(super) fn tag(&self, now: Time, packet: Bytes) -> Tag {
        let Some(budget) = self.config.budget else { return Tag::best_effort(now) };
        let size = self.worth(budget.time, packet);
        let tick = Vtick::new(budget.period, size);
        Tag::real_time(self.begins(), budget.deadline, tick, budget.level)
    }

    /// Number of bytes that `work` counts as where the CPU is shared by rates.
    pub(super) fn worth(&self, work: Span, packet: Bytes) -> Bytes {
        let (work, slice) = (u128::from(work.as_ps()), u128::from(self.config.slice.as_ps()));
        let bytes = (u128::from(packet.get()) * work).div_ceil(slice);
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX).max(1))
    }
}
