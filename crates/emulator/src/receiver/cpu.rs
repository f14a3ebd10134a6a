//! Host's thread: one CPU with an interrupt routine, a kernel, a polling thread, a program, and
//! background work.
//!
//! The levels are those of `laxity_model::reception`, which keeps preempted work in a table. Here
//! preempted work stays on the thread's stack: preemptible work checks for a signal in every turn
//! and calls the work of higher priority ([`Cpu::attend`]), then continues.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use laxity_engine::{Exponentials, TickEpoch};
use laxity_machine::ring::Producer;
use laxity_machine::signal::InterruptLine;
use laxity_model::reception::{
    ActivityCost, Arrived, InterfaceCommand, InterfaceTurn, Pool, Ready, Reception, ReceptionCosts,
};
use laxity_qos::channel::{Dropped, Work};
use laxity_qos::reception::sharing::BatchTaken;
use laxity_qos::reception::{Again, Batch, Context, Operations, Protocol};
use laxity_units::{Bytes, Span, Time};
use laxity_world::experiment::{Chance, Experiment, Pace};

use super::beside::Beside;
use super::end::{Outcome, Shared, Use};
use crate::host::{STALL, Workshop};

/// Levels that an interrupt may preempt; the kernel preempts the first two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Program,
    Thread,
    Kernel,
}

/// Final state of a host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Left {
    /// Packets held by the host or its adapters.
    pub held: u64,
    /// Total time lost to stalls of the platform.
    pub stalls: Span,
    /// Longest stall.
    pub longest_stall: Span,
}

pub(super) struct Cpu<'a> {
    shared: &'a Shared,
    epoch: TickEpoch,
    costs: ReceptionCosts,
    pace: Pace,
    random: Exponentials,
    line: InterruptLine,
    outcomes: Producer<Outcome>,
    workshop: Workshop,
    beside: Beside,
    /// Packets for the program, with their interfaces.
    backlog: VecDeque<(usize, Arrived)>,
    /// CPU time of the program.
    program: Span,
    /// Current kernel batch: its interface and its number; a tick of that interface ends it.
    kernel: Option<(usize, u64)>,
    /// Interface with its thread in a batch.
    thread: Option<usize>,
    /// Interface of the thread that had the CPU last, if no other thread has had it since.
    polling: Option<usize>,
    /// Interface that is checked first if several are ready.
    turn: InterfaceTurn,
    /// Policies have been notified of the idle state.
    idles: bool,
    /// Next tick of a clock.
    tick_at: Option<Time>,
    seen: Time,
    left: Left,
}

impl<'a> Cpu<'a> {
    pub(super) fn new(
        experiment: &Experiment,
        shared: &'a Shared,
        epoch: TickEpoch,
        line: InterruptLine,
        outcomes: Producer<Outcome>,
        beside: Beside,
    ) -> Self {
        let largest = experiment.channels.iter().map(|channel| channel.spec.max_message).max();
        let mut cpu = Self {
            shared,
            epoch,
            costs: experiment.host(0).reception,
            pace: experiment.emulation.pace,
            random: experiment.chance(Chance::ReceptionCosts(0)).into(),
            line,
            outcomes,
            workshop: Workshop::new(experiment.emulation.transfer, largest.unwrap_or(Bytes::new(1))),
            beside,
            backlog: VecDeque::new(),
            program: Span::ZERO,
            kernel: None,
            thread: None,
            polling: None,
            turn: InterfaceTurn::default(),
            idles: false,
            tick_at: None,
            seen: Time::ZERO,
            left: Left::default(),
        };
        cpu.note_ticks();
        cpu
    }

    /// Works until the end of the run.
    pub(super) fn run(mut self) -> Left {
        while !self.is_over() {
            self.attend(Level::Program);
            if let Some(interface) = self.ready(Context::Thread) {
                self.poll(interface);
            } else if let Some((interface, packet)) = self.backlog.pop_front() {
                self.execute(interface, packet);
            } else if let Some(interface) = self.ready_without_program() {
                self.shared.interface(interface).ready = Ready::Now;
                if self.context(interface) == Context::Routine {
                    self.masked(|cpu| cpu.batch(interface));
                }
            } else {
                self.idle();
            }
        }
        let held = (0..self.shared.count()).map(|i| self.shared.interface(i).held() as u64).sum::<u64>();
        self.left.held += held + self.backlog.len() as u64;
        self.left
    }

    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Acquire)
    }

    fn context(&self, interface: usize) -> Context {
        self.shared.interface(interface).policy.context()
    }

    /// Reads the clock. A long gap since the last reading is a stall, since no work takes as long.
    fn look(&mut self) -> Time {
        let now = self.epoch.now();
        let gap = now.saturating_since(self.seen);
        if gap >= STALL && self.seen > Time::ZERO {
            self.left.stalls += gap;
            self.left.longest_stall = self.left.longest_stall.max(gap);
        }
        self.seen = now;
        now
    }

    /// Does `work` and spends the time of `cost`. Meanwhile it does work of higher priority than
    /// `level`; with `None` it is not preempted. Returns the CPU time that it had.
    fn spend(
        &mut self,
        cost: ActivityCost,
        used: Use,
        level: Option<Level>,
        work: impl FnOnce(&mut Workshop),
    ) -> Span {
        let mut since = self.look();
        let mut left = cost.draw(&mut self.random);
        let mut had = Span::ZERO;
        work(&mut self.workshop);
        loop {
            let now = self.look();
            let had_now = now.saturating_since(since);
            let done = match self.pace {
                Pace::Profile => had_now >= left,
                // The program's time per packet is given by the scenario, on any machine.
                Pace::Native => used != Use::Program || had_now >= left,
            };
            let stopped = level.is_some() && self.is_signalled(now);
            if done || stopped || self.is_over() {
                self.shared.account(used, had_now);
                had += had_now;
                if used == Use::Program {
                    self.program += had_now;
                }
                if done || !stopped {
                    return had;
                }
                left = left.saturating_sub(had_now);
                self.attend(level.expect("only what has a level is stopped"));
                since = self.look();
            }
        }
    }

    fn is_signalled(&self, now: Time) -> bool {
        self.line.is_pending() || self.tick_at.is_some_and(|at| at <= now)
    }

    /// Handles signals, and kernel work unless that is what was preempted.
    fn attend(&mut self, level: Level) {
        while !self.is_over() {
            let now = self.look();
            if self.tick_at.is_some_and(|at| at <= now) {
                self.hear_ticks(now);
            } else if self.line.take().is_some() {
                for interface in 0..self.shared.count() {
                    if self.shared.raised[interface].load(Ordering::Acquire) {
                        self.hear_interrupt(interface);
                    }
                }
            } else if level < Level::Kernel
                && let Some(interface) = self.ready(Context::Kernel)
            {
                self.batch(interface);
            } else {
                return;
            }
        }
    }

    /// Runs `routine` with interrupts masked.
    fn masked(&mut self, routine: impl FnOnce(&mut Self)) {
        self.shared.masked.store(true, Ordering::Release);
        routine(self);
        self.shared.masked.store(false, Ordering::Release);
        self.shared.change();
    }

    fn hear_interrupt(&mut self, interface: usize) {
        self.masked(|cpu| {
            let now = cpu.look();
            let backlog = cpu.shared.backlog.load(Ordering::Acquire);
            let mut target = cpu.shared.interface(interface);
            let stands = target.interrupt_at(backlog).is_some_and(|at| at <= now);
            cpu.shared.raised[interface].store(false, Ordering::Release);
            if !stands {
                return;
            }
            target.policy.entered(now);
            target.report.interrupts += 1;
            let context = target.policy.context();
            drop(target);
            cpu.spend(cpu.costs.interrupt, Use::Signals, None, |_| ());
            match context {
                Context::Routine => cpu.batch(interface),
                // A batch in progress continues after an interrupt.
                Context::Kernel if cpu.kernel.is_some_and(|(open, _)| open == interface) => {}
                Context::Kernel | Context::Thread => cpu.shared.interface(interface).ready = Ready::Now,
            }
        });
    }

    fn hear_ticks(&mut self, now: Time) {
        for interface in 0..self.shared.count() {
            let mut target = self.shared.interface(interface);
            if !target.ticked(now) {
                continue;
            }
            let context = target.policy.context();
            let is_thread = context == Context::Thread;
            if is_thread && (self.thread == Some(interface) || target.ready == Ready::Now) {
                target.report.missed_ticks += 1;
                continue;
            }
            target.policy.entered(now);
            target.report.ticks += 1;
            drop(target);
            let cost = if is_thread { self.costs.interrupt } else { self.costs.poll };
            self.masked(|cpu| {
                cpu.spend(cost, Use::Signals, None, |_| ());
                match context {
                    Context::Routine => cpu.batch(interface),
                    Context::Kernel => {
                        // A tick starts a new batch.
                        cpu.kernel.take_if(|(open, _)| *open == interface);
                        cpu.shared.interface(interface).ready = Ready::Now;
                    }
                    Context::Thread => cpu.shared.interface(interface).ready = Ready::Now,
                }
            });
        }
        self.note_ticks();
    }

    fn note_ticks(&mut self) {
        let ticks = (0..self.shared.count()).filter_map(|i| self.shared.interface(i).tick_at());
        self.tick_at = ticks.min();
    }

    /// Interface of `context` that may begin a batch.
    fn ready(&mut self, context: Context) -> Option<usize> {
        let program = self.program;
        self.turn.find(self.shared.count(), |i| self.shared.interface(i).may_begin(context, program))
    }

    /// Interface that waits for the program to be idle, and has commands.
    fn ready_without_program(&mut self) -> Option<usize> {
        self.turn.find(self.shared.count(), |i| self.shared.interface(i).may_begin_without_program())
    }

    /// Polling thread of an interface: a switch to it, and its batch.
    fn poll(&mut self, interface: usize) {
        self.shared.interface(interface).ready = Ready::OnSignal;
        self.thread = Some(interface);
        // Polling again without the program in between needs no switch.
        if self.polling.replace(interface) != Some(interface) {
            self.spend(self.costs.switch, Use::Switches, Some(Level::Thread), |_| ());
        }
        self.batch(interface);
        self.thread = None;
    }

    /// Takes commands until the policy ends the batch.
    fn batch(&mut self, interface: usize) {
        self.idles = false;
        let mut target = self.shared.interface(interface);
        target.ready = Ready::OnSignal;
        let mut taken = BatchTaken { batches: target.report.batches, ..BatchTaken::default() };
        let number = target.report.batches;
        target.report.batches += 1;
        let level = match target.policy.context() {
            Context::Routine => None,
            Context::Kernel => {
                self.kernel = Some((interface, number));
                Some(Level::Kernel)
            }
            Context::Thread => Some(Level::Thread),
        };
        drop(target);
        let (began, mut used, mut received) = (self.look(), Span::ZERO, 0);
        while !self.is_over() {
            let backlog = self.shared.backlog.load(Ordering::Acquire);
            // No packet is discarded for lateness here, so none is lost.
            let (now, lost) = (self.look(), &mut |packet: Arrived, _| unreachable!("{packet:?} is lost"));
            let progress = (&mut taken, received);
            let mut target = self.shared.interface(interface);
            let command = target.take(now, progress, (Pool::default(), backlog), lost).copied();
            drop(target);
            let Some(command) = command else { break };
            received += u32::from(command.receives());
            used += self.command(interface, command, level);
            if level == Some(Level::Kernel) && self.kernel != Some((interface, number)) {
                return;
            }
        }
        self.kernel.take_if(|open| *open == (interface, number));
        let now = self.look();
        let backlog = self.shared.backlog.load(Ordering::Acquire);
        let mut target = self.shared.interface(interface);
        let taken = taken.real_time + taken.best_effort;
        let batch = Batch { began, taken, received, used };
        let load = target.load(Pool::default(), backlog, taken, received);
        let again = target.policy.left(now, &batch, &load);
        target.again(again, self.program);
        // An empty poll while the program is idle waits, or the thread would only poll.
        if taken == 0 && again == Again::AtOnce {
            target.ready = Ready::AfterProgram;
        }
        drop(target);
        self.shared.change();
    }

    /// Executes an adapter's command; returns the CPU time that it had.
    fn command(&mut self, interface: usize, command: InterfaceCommand, level: Option<Level>) -> Span {
        let InterfaceCommand { packet, announces, refused, .. } = command;
        if announces {
            let took = self.spend(self.costs.announce, Use::Announcements, level, |_| ());
            let now = self.look();
            let refused = self.shared.interface(interface).announced(now, packet, Pool::default());
            match refused {
                Some(packet) => self.tell(Reception::dropped(packet, Dropped::Early)),
                // A transfer has begun; END reports its end.
                None => self.shared.change(),
            }
            return took;
        }
        if refused {
            let took = self.spend(self.costs.announce, Use::Announcements, level, |_| ());
            self.tell(Reception::dropped(packet, Dropped::Early));
            return took;
        }
        let protocol = self.shared.interface(interface).protocol();
        let took = match protocol {
            Protocol::Nothing => Span::ZERO,
            Protocol::WhoseItIs => self.spend(self.costs.announce, Use::Protocol, level, |_| ()),
            Protocol::Whole => {
                self.spend(self.costs.protocol, Use::Protocol, level, |shop| process(shop, packet.size))
            }
        };
        self.keep(interface, packet, took);
        took
    }

    /// Passes a packet to the program, if any, after protocol processing that took `took`.
    fn keep(&mut self, interface: usize, packet: Arrived, took: Span) {
        let mut target = self.shared.interface(interface);
        target.withdraw(packet.class);
        if !target.has_program() {
            drop(target);
            self.tell(Reception::delivered(packet));
        } else if target.keeps(packet.class, Pool::default()) {
            drop(target);
            self.backlog.push_back((interface, packet));
            self.shared.backlog.fetch_add(1, Ordering::Release);
        } else {
            drop(target);
            self.shared.waste(took);
            self.tell(Reception::dropped(packet, Dropped::ReceiveBuffers));
        }
    }

    fn execute(&mut self, interface: usize, packet: Arrived) {
        (self.polling, self.idles) = (None, false);
        let program = Some(Level::Program);
        let protocol = self.shared.interface(interface).protocol();
        if protocol != Protocol::Whole {
            self.spend(self.costs.protocol, Use::Program, program, |shop| process(shop, packet.size));
        }
        self.spend(self.costs.program, Use::Program, program, |_| ());
        self.shared.interface(interface).release_buffer(packet.class);
        self.shared.backlog.fetch_sub(1, Ordering::Release);
        self.tell(Reception::delivered(packet));
        self.shared.change();
    }

    /// No network work is pending: the background program runs, unless a policy polls without end.
    fn idle(&mut self) {
        if !std::mem::replace(&mut self.idles, true) {
            let now = self.look();
            for interface in 0..self.shared.count() {
                self.shared.interface(interface).policy.idle(now);
            }
            // A policy that waits for an idle host lets the adapter interrupt now.
            self.shared.change();
        }
        if self.shared.spins {
            return;
        }
        self.polling = None;
        let worth = self.beside.work();
        self.shared.account(Use::Beside, worth);
        self.look();
    }

    /// Reports the outcome of a packet; waits while END is behind, unless the run is over.
    fn tell(&mut self, reception: Reception) {
        let at = self.look();
        while self.outcomes.push((at, reception)).is_err() {
            if self.is_over() {
                self.left.held += 1;
                return;
            }
            std::hint::spin_loop();
        }
    }
}

/// Protocol processing of a packet of `size`.
fn process(shop: &mut Workshop, size: Bytes) {
    shop.process(Work::Receive { completes: true }, size);
}
