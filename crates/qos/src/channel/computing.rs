//! Applications that compute beside the handlers, on the same cores and by the same discipline.
//!
//! The papers give the CPU to communication alone; a host has other things to do, and whoever reserves for channels wants to know what
//! is left of it, and what of it can be promised. An application is an item in the queue of handlers like any other: with a budget it is
//! real time, due by a deadline in each period; without, best effort that always has more to do. What it executes between two
//! preemption points is a *slice*, as a handler's is a block, so that a message on time waits for one slice and not for a budget.
//!
//! ```text
//! start + k period ──▶ budget ──slice──▶ preemption point ──slice──▶ … done    (late if that is after start + k period + deadline)
//! ```
//!
//! A budget that is not done when the next is given goes first: an application does what it has to do in its order, and a host that
//! has promised too much is late with it for as long as it is overloaded, which is what is measured.
//!
//! Where the CPU is shared by rates a slice counts as a packet of `S` bytes, a shorter one in proportion, and a budget is the rate of its slices.

use laxity_units::{Bytes, Span, Time};

use super::message::Carried;
use super::names::{ChannelId, CoreId};
use super::step::{Step, Thread};
use super::subsystem::Subsystem;
use crate::discipline::{Request, Tag};
use crate::seldom::seldom;
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
    config: Computing,
    /// What is left of the budget in hand, or of the slice of one without.
    left: Span,
    /// Budgets that have been done.
    done: u64,
    /// It waits for the CPU, or has it.
    active: bool,
}

/// The applications of a host.
#[derive(Debug, Default)]
pub(super) struct Applications {
    all: Vec<Application>,
}

impl Application {
    /// When the period of the budget in hand, or of the next if there is none, begins.
    fn begins(&self) -> Time {
        match self.config.budget {
            Some(budget) => budget.start.saturating_add(budget.period.saturating_mul(self.done)),
            None => Time::ZERO,
        }
    }

    /// What it executes next.
    fn slice(&self) -> Span {
        self.left.min(self.config.slice)
    }

    /// By what it is ranked from `now` on.
    fn tag(&self, now: Time, packet: Bytes) -> Tag {
        let Some(budget) = self.config.budget else { return Tag::best_effort(now) };
        let size = self.worth(budget.time, packet);
        let tick = Vtick::new(budget.period, size);
        Tag::real_time(self.begins(), budget.deadline, tick, budget.level)
    }

    /// How many bytes so much work counts as where the CPU is shared by rates.
    fn worth(&self, work: Span, packet: Bytes) -> Bytes {
        let (work, slice) = (u128::from(work.as_ps()), u128::from(self.config.slice.as_ps()));
        let bytes = (u128::from(packet.get()) * work).div_ceil(slice);
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX).max(1))
    }
}

impl Subsystem {
    /// Adds an application that computes, before the run; answers its number.
    pub fn compute(&mut self, config: Computing) -> u32 {
        let application = Application { config, left: Span::ZERO, done: 0, active: false };
        let core = &mut self.cores[config.core];
        core.next_budget = core.next_budget.min(application.begins());
        self.computing.all.push(application);
        self.computing.all.len() as u32 - 1
    }

    /// Lets applications of `core` wait for it that have been given something to do by `now`.
    #[inline]
    pub(super) fn give_budgets(&mut self, core: CoreId, now: Time) {
        if seldom(self.cores[core].next_budget <= now) {
            self.give(core, now);
        }
    }

    #[inline(never)]
    fn give(&mut self, core: CoreId, now: Time) {
        let mut next = Time::MAX;
        for number in 0..self.computing.all.len() {
            let application = &mut self.computing.all[number];
            if application.active || application.config.core != core {
                continue;
            }
            let begins = application.begins();
            if begins > now {
                next = next.min(begins);
                continue;
            }
            application.left = application.config.budget.map_or(Span::MAX, |budget| budget.time);
            application.active = true;
            self.line_up(now, number);
        }
        self.cores[core].next_budget = next;
    }

    /// Puts an application that has something to do among the handlers that wait.
    fn line_up(&mut self, now: Time, number: usize) {
        let application = &self.computing.all[number];
        let packet = self.config.packet;
        let (tag, size) = (application.tag(now, packet), application.worth(application.slice(), packet));
        let Computing { flow, core, .. } = application.config;
        self.wait_for_cpu(core, now, flow, (size, tag), Ready::Application(number as u32));
    }

    /// Lets `who` wait for `core` beside the handlers, for work of that size and tag.
    pub(super) fn wait_for_cpu(
        &mut self,
        core: CoreId,
        now: Time,
        flow: ChannelId,
        (size, tag): (Bytes, Tag),
        who: Ready,
    ) {
        let carried = Carried { due: tag.deadline, ..Carried::NOTHING };
        let core = &mut self.cores[core];
        core.called = true;
        core.cpu.enqueue(now, &Request { flow, size, tag, carried }, who);
    }

    /// An application was chosen.
    pub(super) fn begin_slice(&mut self, core: CoreId, number: u32) -> Step {
        self.cores[core].computing = Some(number as usize);
        let work = self.computing.all[number as usize].slice();
        Step::Compute { thread: Thread::Computing(number), application: number, work }
    }

    /// The work of the last [`Step::Compute`] of `core` is done but for `left` of it, for which the driver took the core; answers the budget that was
    /// the last of, if it was.
    pub fn computed(&mut self, core: CoreId, now: Time, left: Span) -> Option<Computed> {
        let number = self.cores[core].computing.take().expect("an application has the CPU");
        let application = &mut self.computing.all[number];
        let Some(budget) = application.config.budget else {
            self.line_up(now, number);
            return None;
        };
        let spent = application.slice() - left;
        application.left -= spent;
        if !application.left.is_zero() {
            self.line_up(now, number);
            return None;
        }
        let from = application.begins();
        application.done += 1;
        application.active = false;
        let next = application.begins();
        let of = &mut self.cores[core];
        of.next_budget = of.next_budget.min(next);
        self.give_budgets(core, now);
        Some(Computed { application: number as u32, from, due: from.saturating_add(budget.deadline) })
    }

    /// By what the application that has `core` is ranked, if one has.
    pub(super) fn computing_tag(&self, core: CoreId, now: Time) -> Option<Tag> {
        let number = self.cores[core].computing?;
        Some(self.computing.all[number].tag(now, self.config.packet))
    }
}

/// Who waits for the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    /// A handler.
    Handler(u32),
    /// An application that computes.
    Application(u32),
    /// The program of a lane that has a message for it.
    Reader(u32),
}
