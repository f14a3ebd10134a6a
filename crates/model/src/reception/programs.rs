//! The receiving programs, and their order.
//!
//! The thesis has one program for all (§7.4.3), and its queue is where a faster interface takes
//! capacity reserved for another: the fullest queue gets the CPU. §7.4.4 proposes the remedy, a
//! scheduled process for each. Here a program may have a *reservation*: until it has had `budget`
//! of the CPU in a `period` (at multiples of it) it precedes all without a reservation or with an
//! exhausted one; of several the one with the shortest period goes first. Remaining CPU time goes
//! to the programs in turn, a packet each.
//!
//! A program yields when it has finished a packet, like the threads of the x-kernel: so it exceeds
//! a budget by less than a packet, and a packet begun in the period before counts for its part in
//! this one. A change of program costs a context switch, charged to the next one.
//!
//! In a program's own queue packets are FIFO; with
//! [`real_time_first`](ProgramConfig::real_time_first) by class, then FIFO.

use std::collections::VecDeque;

use laxity_qos::discipline::Class;
use laxity_units::{Span, Time};

use super::{ActivityCost, Arrived};

/// A receiving program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramConfig {
    /// `C_pp`: CPU time per packet.
    pub work: ActivityCost,
    /// Whether its packets of real time go before its others.
    pub real_time_first: bool,
    /// The CPU that is reserved for it.
    pub reserved: Option<CpuReservation>,
}

/// CPU time in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuReservation {
    /// Not zero.
    pub budget: Span,
    /// Not zero.
    pub period: Span,
}

impl ProgramConfig {
    /// A program that does `work`, without a reservation.
    pub fn of(work: ActivityCost) -> Self {
        Self { work, real_time_first: false, reserved: None }
    }
}

/// A packet that its program is to take: the program, the interface it came by, and whether another
/// program had the CPU before.
pub(super) type Next = (usize, usize, Arrived, bool);

#[derive(Debug)]
pub(super) struct Programs {
    programs: Vec<Program>,
    /// The program of each stream; streams beyond have the first.
    of: Vec<usize>,
    waiting: usize,
    last: Option<usize>,
    /// Next turn among programs without a remaining reservation.
    turn: usize,
}

#[derive(Debug)]
struct Program {
    config: ProgramConfig,
    /// Packets by class; all in the first if they go by arrival.
    queues: [VecDeque<(usize, Arrived)>; 2],
    /// The period that is counted in, and what was had of it.
    began: Time,
    used: Span,
}

impl Programs {
    pub(super) fn new(configs: Vec<ProgramConfig>, of: Vec<usize>) -> Self {
        let program = |config| Program {
            config,
            queues: [VecDeque::new(), VecDeque::new()],
            began: Time::ZERO,
            used: Span::ZERO,
        };
        Self { programs: configs.into_iter().map(program).collect(), of, waiting: 0, last: None, turn: 0 }
    }

    /// Packets that wait, of all programs.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) fn of(&self, stream: u32) -> usize {
        self.of.get(stream as usize).copied().unwrap_or(0)
    }

    /// CPU time of `program` per packet.
    pub(super) fn work(&self, program: usize) -> ActivityCost {
        self.programs[program].config.work
    }

    pub(super) fn push(&mut self, interface: usize, packet: Arrived) {
        let target = self.of(packet.stream);
        let program = &mut self.programs[target];
        let behind = program.config.real_time_first && packet.class == Class::BestEffort;
        program.queues[usize::from(behind)].push_back((interface, packet));
        self.waiting += 1;
    }

    /// The packet that is worked on next.
    pub(super) fn next(&mut self, now: Time) -> Option<Next> {
        if self.waiting == 0 {
            return None;
        }
        let chosen = match &self.programs[..] {
            [_] => 0,
            _ => self.reserved(now).or_else(|| self.in_turn())?,
        };
        let queues = &mut self.programs[chosen].queues;
        let (interface, packet) = queues[0].pop_front().or_else(|| queues[1].pop_front())?;
        self.waiting -= 1;
        let switches = self.programs.len() > 1 && self.last != Some(chosen);
        self.last = Some(chosen);
        Some((chosen, interface, packet, switches))
    }

    /// Of the waiting programs with a remaining reservation, the one with the shortest period.
    fn reserved(&mut self, now: Time) -> Option<usize> {
        let mut best: Option<(Span, usize)> = None;
        for (i, program) in self.programs.iter_mut().enumerate().filter(|(_, program)| program.waits()) {
            program.turn(now);
            if let Some(CpuReservation { budget, period }) = program.config.reserved
                && program.used < budget
                && best.is_none_or(|(shortest, _)| period < shortest)
            {
                best = Some((period, i));
            }
        }
        best.map(|(_, i)| i)
    }

    fn in_turn(&mut self) -> Option<usize> {
        let count = self.programs.len();
        let found = (0..count).map(|n| (self.turn + n) % count).find(|i| self.programs[*i].waits())?;
        self.turn = (found + 1) % count;
        Some(found)
    }

    /// A packet's program has had the CPU from `since` to `now`.
    pub(super) fn charge(&mut self, stream: u32, since: Time, now: Time) {
        if self.programs.len() > 1 {
            let program = self.of(stream);
            let program = &mut self.programs[program];
            program.turn(now);
            program.used = program.used.saturating_add(now.saturating_since(since.max(program.began)));
        }
    }
}

impl Program {
    fn waits(&self) -> bool {
        self.queues.iter().any(|queue| !queue.is_empty())
    }

    /// Begins the period that `now` is in, if it is another.
    fn turn(&mut self, now: Time) {
        let Some(CpuReservation { period, .. }) = self.config.reserved else { return };
        if now >= self.began.saturating_add(period) {
            self.began = now.saturating_sub(Span::from_ps(now.as_ps() % period.as_ps()));
            self.used = Span::ZERO;
        }
    }
}
