//! Applications that compute beside the handlers, on the same cores and under the same discipline.
//!
//! The papers give the CPU to communication alone. A host has other work, and its CPU reservations
//! have to fit beside those of channels. An application is an item in the queue of handlers. With a
//! budget it is real time, with a deadline in each period; without a budget it is best effort and
//! never finishes. The work between two preemption points is a *slice*, as a handler's is a block.
//! An on-time message therefore waits for one slice and not for a budget.
//!
//! ```text
//! start + k period ──▶ budget ──slice──▶ preemption point ──slice──▶ … done
//!                                     (late if after start + k period + deadline)
//! ```
//!
//! An application does its budgets in order: an unfinished budget is executed before the next one.
//! An overloaded host is late with each budget for as long as the overload lasts, and this delay is
//! measured.
//!
//! Where the CPU is shared by rates a slice counts as a packet of `S` bytes, a shorter one in
//! proportion, and a budget is the rate of its slices.

use laxity_units::{Bytes, Span, Time};

use super::applications::{Application, Computed, Computing};
use super::cores::Ready;
use super::step::{Step, Thread};
use super::subsystem::Subsystem;
use crate::discipline::ItemRequest;
use crate::names::{ChannelId, CoreId};
use crate::packet::Carried;
use crate::seldom::seldom;
use crate::tag::Tag;

impl Subsystem {
    /// Adds an application that computes, before the run; returns its number.
    pub fn compute(&mut self, config: Computing) -> u32 {
        let application = Application { config, left: Span::ZERO, done: 0, active: false };
        let core = &mut self.cores[config.core];
        core.next_budget = core.next_budget.min(application.begins());
        self.computing.all.push(application);
        self.computing.all.len() as u32 - 1
    }

    /// Queues the applications of `core` with a budget that has begun by `now`.
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

    /// Queues an application that has work among the handlers that wait.
    fn line_up(&mut self, now: Time, number: usize) {
        let application = &self.computing.all[number];
        let packet = self.config.packet;
        let (tag, size) = (application.tag(now, packet), application.worth(application.slice(), packet));
        let Computing { flow, core, .. } = application.config;
        self.wait_for_cpu(core, now, flow, (size, tag), Ready::Application(number as u32));
    }

    /// Queues `who` for `core` beside the handlers, for work of that size and tag.
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
        core.cpu.enqueue(now, &ItemRequest { flow, size, tag, carried }, who);
    }

    pub(super) fn begin_slice(&mut self, core: CoreId, number: u32) -> Step {
        self.cores[core].computing = Some(number as usize);
        let work = self.computing.all[number as usize].slice();
        Step::Compute { thread: Thread::Computing(number), application: number, work }
    }

    /// Ends the last [`Step::Compute`] of `core`, of which `left` remains if the driver preempted
    /// it. Returns the budget that the work completed, if it completed one.
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

    pub(super) fn computing_tag(&self, core: CoreId, now: Time) -> Option<Tag> {
        let number = self.cores[core].computing?;
        Some(self.computing.all[number].tag(now, self.config.packet))
    }
}
