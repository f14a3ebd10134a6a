//! The CPU: who has it, who is stopped, and what follows when a piece of work is done.

use laxity_qos::channel::Dropped;
use laxity_qos::reception::sharing::Taken;
use laxity_qos::reception::{Again, Batch, Context, Operations};
use laxity_units::{Span, Time};

use super::interface::{Command, Interface, Ready};
use super::{Arrived, Receiver, Reception, ReceptionUses};

/// Who may be stopped by an interrupt, and goes on in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Kernel,
    Thread,
    Program,
}

impl Level {
    pub(super) const COUNT: usize = 3;
}

/// A piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// An interface's interrupt, up to its routine.
    Interrupt(usize),
    /// A tick of an interface's clock.
    Tick(usize),
    /// To an interface's polling thread.
    Switch(usize),
    /// What an adapter asked for.
    Command(usize, Command),
    /// The program, with a packet of an interface.
    Program(usize, Arrived),
}

impl Job {
    /// Whether it has a packet that lies in nobody's slot or queue.
    pub(super) fn holds_a_packet(&self) -> bool {
        match self {
            Job::Command(_, command) => !command.is_in_slot(),
            Job::Program(..) => true,
            Job::Interrupt(_) | Job::Tick(_) | Job::Switch(_) => false,
        }
    }

    /// What it is called in a trace.
    pub(super) fn name(self) -> &'static str {
        match self {
            Job::Interrupt(_) => "interrupt",
            Job::Tick(_) => "tick",
            Job::Switch(_) => "switch",
            Job::Command(_, command) if command.announces || command.refused => "announcement",
            Job::Command(..) => "protocol",
            Job::Program(..) => "program",
        }
    }

    /// What it is accounted as. Protocol whose packet is dropped is moved to what was wasted when that is known.
    pub(super) fn use_of(self, uses: &mut ReceptionUses) -> &mut Span {
        match self {
            Job::Interrupt(_) | Job::Tick(_) => &mut uses.signals,
            Job::Switch(_) => &mut uses.switches,
            Job::Command(_, command) if command.announces || command.refused => &mut uses.announcements,
            Job::Command(..) => &mut uses.protocol,
            Job::Program(..) => &mut uses.program,
        }
    }
}

/// Work under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) job: Job,
    /// When it began, or was resumed.
    pub(super) since: Time,
    pub(super) ends: Time,
    /// What the whole of it takes.
    pub(super) whole: Span,
}

/// Work that an interrupt stopped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopped {
    pub(super) job: Job,
    left: Span,
    whole: Span,
}

/// A batch under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    interface: usize,
    began: Time,
    taken: Taken,
    received: u32,
    used: Span,
}

impl Receiver {
    /// Whether an interrupt or tick would be heard now: not while one is, nor in a routine.
    pub(super) fn hears_signals(&self) -> bool {
        self.routine.is_none()
            && self.running.as_ref().is_none_or(|running| self.level(&running.job).is_some())
    }

    /// `None` for what nothing stops.
    fn level(&self, job: &Job) -> Option<Level> {
        match job {
            Job::Interrupt(_) | Job::Tick(_) => None,
            Job::Switch(_) => Some(Level::Thread),
            Job::Command(interface, _) => match self.interfaces[*interface].policy.context() {
                Context::Routine => None,
                Context::Kernel => Some(Level::Kernel),
                Context::Thread => Some(Level::Thread),
            },
            Job::Program(..) => Some(Level::Program),
        }
    }

    /// Packets that the program has before it, the one in its hands included.
    fn backlog(&self) -> u32 {
        let running = matches!(&self.running, Some(Running { job: Job::Program(..), .. }));
        self.programs.waiting() as u32 + u32::from(running || self.stopped[Level::Program as usize].is_some())
    }

    /// The signal that has been due for longest, or will be next, and whose it is.
    pub(super) fn next_signal(&self) -> Option<(Time, usize)> {
        let backlog = self.backlog();
        let signals = self.interfaces.iter().enumerate();
        signals.filter_map(|(i, interface)| interface.next_signal(backlog).map(|at| (at, i))).min()
    }

    /// The interface whose signal has been due for longest.
    fn due_signal(&mut self, now: Time) -> Option<usize> {
        if !self.signal_is_known {
            self.signal = self.next_signal();
            self.signal_is_known = true;
        }
        self.signal.filter(|(at, _)| *at <= now).map(|(_, i)| i)
    }

    /// Stops what a signal stops, and finds the CPU something to do.
    pub(super) fn react(&mut self, now: Time) {
        loop {
            if self.changes {
                self.change_policies(now);
            }
            match &self.running {
                None => {
                    if !self.begin(now) {
                        return;
                    }
                }
                Some(running) => {
                    let level = self.level(&running.job).filter(|_| self.routine.is_none());
                    let Some(level) = level.filter(|_| self.due_signal(now).is_some()) else { return };
                    let running = self.running.take().expect("it runs");
                    self.account(&running, now);
                    let left = running.ends.since(now);
                    let stopped = Stopped { job: running.job, left, whole: running.whole };
                    self.stopped[level as usize] = Some(stopped);
                }
            }
        }
    }

    /// Lets interfaces go by the policies that they were told, if nothing of theirs is under way.
    fn change_policies(&mut self, now: Time) {
        for i in 0..self.interfaces.len() {
            if self.interfaces[i].is_to_change() && !self.is_at_work(i) {
                self.interfaces[i].turn_over(now, self.program);
                self.signal_is_known = false;
            }
        }
        self.changes = self.interfaces.iter().any(Interface::is_to_change);
        self.spins = self.interfaces.iter().any(|interface| interface.policy.spins());
        self.is_quiet = !self.interfaces.iter().any(Interface::interrupts);
    }

    /// Whether the host is at something of an interface's, its packets for programs aside.
    fn is_at_work(&self, interface: usize) -> bool {
        let of = |job: &Job| match job {
            Job::Interrupt(i) | Job::Tick(i) | Job::Switch(i) | Job::Command(i, _) => *i == interface,
            Job::Program(..) => false,
        };
        let batches = [&self.routine, &self.kernel, &self.thread];
        self.running.is_some_and(|running| of(&running.job))
            || self.stopped.iter().flatten().any(|stopped| of(&stopped.job))
            || batches.into_iter().flatten().any(|open| open.interface == interface)
    }

    /// Adds up what `running` has used of the CPU.
    pub(super) fn account(&mut self, running: &Running, now: Time) {
        let used = now.saturating_since(running.since);
        *running.job.use_of(&mut self.uses) += used;
        match running.job {
            Job::Program(_, packet) => {
                self.program = self.program.saturating_add(used);
                self.programs.charge(packet.stream, running.since, now);
            }
            Job::Command(interface, _) => {
                if let Some(open) = self.open(interface) {
                    open.used = open.used.saturating_add(used);
                }
            }
            _ => {}
        }
    }

    /// The batch that is under way where an interface's would be.
    fn batch(&mut self, interface: usize) -> &mut Option<Open> {
        match self.interfaces[interface].policy.context() {
            Context::Routine => &mut self.routine,
            Context::Kernel => &mut self.kernel,
            Context::Thread => &mut self.thread,
        }
    }

    /// The batch of an interface that is under way.
    fn open(&mut self, interface: usize) -> Option<&mut Open> {
        self.batch(interface).as_mut().filter(|open| open.interface == interface)
    }

    /// Gives the CPU to what goes first; whether anything wanted it, or changed.
    fn begin(&mut self, now: Time) -> bool {
        if let Some(open) = self.routine {
            return self.go_on(now, open);
        }
        if let Some(interface) = self.due_signal(now) {
            return self.hear(now, interface);
        }
        if self.resume(now, Level::Kernel) {
            return true;
        }
        if let Some(open) = self.kernel {
            return self.go_on(now, open);
        }
        if let Some(interface) = self.ready(Context::Kernel) {
            return self.open_batch(now, interface);
        }
        if self.resume(now, Level::Thread) {
            return true;
        }
        if let Some(open) = self.thread {
            return self.go_on(now, open);
        }
        if self.resume(now, Level::Program) {
            return true;
        }
        if let Some(interface) = self.ready(Context::Thread) {
            self.interfaces[interface].ready = Ready::OnSignal;
            // Asking again without the program in between is the same thread going on.
            let again = self.polling.replace(interface) == Some(interface);
            let cost = if again { Span::ZERO } else { self.costs.switch.draw(&mut self.random) };
            return self.start(now, Job::Switch(interface), cost);
        }
        while let Some((program, interface, packet, switches)) = self.programs.next(now) {
            self.signal_is_known &= self.is_quiet;
            if self.interfaces[interface].discards_late(now, &packet) {
                self.interfaces[interface].release_buffer(packet.class);
                self.output.push_back(Reception::Dropped(packet, Dropped::LateForProgram));
                continue;
            }
            self.polling = None;
            let mut cost = self.programs.work(program).draw(&mut self.random);
            if self.interfaces[interface].policy.defers_protocol() {
                cost += self.costs.protocol.draw(&mut self.random);
            }
            if switches {
                cost += self.costs.switch.draw(&mut self.random);
            }
            return self.start(now, Job::Program(interface, packet), cost);
        }
        if let Some(interface) = self.ready_without_program() {
            self.interfaces[interface].ready = Ready::Now;
            return match self.interfaces[interface].policy.context() {
                Context::Routine => self.open_batch(now, interface),
                Context::Kernel | Context::Thread => true,
            };
        }
        for interface in &mut self.interfaces {
            interface.policy.idle(now);
        }
        self.signal_is_known &= self.is_quiet;
        if !self.spins {
            self.polling = None;
        }
        self.due_signal(now).is_some()
    }

    /// An interface of `context` whose batch may begin.
    fn ready(&mut self, context: Context) -> Option<usize> {
        let program = self.program;
        self.turn.find(self.interfaces.len(), |i| self.interfaces[i].may_begin(context, program))
    }

    /// An interface that waits for the program to have nothing left, and has commands.
    fn ready_without_program(&mut self) -> Option<usize> {
        self.turn.find(self.interfaces.len(), |i| self.interfaces[i].may_begin_without_program())
    }

    fn start(&mut self, now: Time, job: Job, cost: Span) -> bool {
        self.running = Some(Running { job, since: now, ends: now + cost, whole: cost });
        if cost.is_zero() {
            self.running = None;
            self.finish(now, job, Span::ZERO);
        }
        true
    }

    fn resume(&mut self, now: Time, level: Level) -> bool {
        let Some(stopped) = self.stopped[level as usize].take() else { return false };
        let Stopped { job, left, whole } = stopped;
        self.running = Some(Running { job, since: now, ends: now + left, whole });
        true
    }

    /// An interface interrupts, or its clock ticks.
    fn hear(&mut self, now: Time, interface: usize) -> bool {
        let busy = self.thread.is_some_and(|open| open.interface == interface)
            || self.stopped.iter().flatten().any(|stopped| stopped.job == Job::Switch(interface));
        self.signal_is_known = false;
        let target = &mut self.interfaces[interface];
        if !target.ticked(now) {
            target.policy.entered(now);
            target.report.interrupts += 1;
            let cost = self.costs.interrupt.draw(&mut self.random);
            return self.start(now, Job::Interrupt(interface), cost);
        }
        let is_thread = target.policy.context() == Context::Thread;
        if is_thread && (busy || target.ready == Ready::Now) {
            target.report.missed_ticks += 1;
            return true;
        }
        target.policy.entered(now);
        target.report.ticks += 1;
        let cost = if is_thread { self.costs.interrupt } else { self.costs.poll };
        let cost = cost.draw(&mut self.random);
        self.start(now, Job::Tick(interface), cost)
    }

    fn open_batch(&mut self, now: Time, interface: usize) -> bool {
        let target = &mut self.interfaces[interface];
        target.ready = Ready::OnSignal;
        let taken = Taken { batches: target.report.batches, ..Taken::default() };
        target.report.batches += 1;
        *self.batch(interface) = Some(Open { interface, began: now, taken, received: 0, used: Span::ZERO });
        true
    }

    /// The next command of a batch, or its end.
    fn go_on(&mut self, now: Time, open: Open) -> bool {
        let interface = open.interface;
        let mut taken = open.taken;
        let (pool, backlog) = (self.pool(), self.backlog());
        self.signal_is_known &= self.is_quiet;
        let output = &mut self.output;
        let mut lost = |packet, cause| output.push_back(Reception::Dropped(packet, cause));
        let target = &mut self.interfaces[interface];
        let command = target.take(now, (&mut taken, open.received), (pool, backlog), &mut lost);
        if let Some(command) = command {
            let open = self.open(interface).expect("the batch is under way");
            (open.taken, open.received) = (taken, open.received + u32::from(command.receives()));
            let cost = self.cost(interface, &command);
            return self.start(now, Job::Command(interface, command), cost);
        }
        *self.batch(interface) = None;
        let target = &mut self.interfaces[interface];
        let Open { began, received, used, .. } = open;
        let taken = taken.real_time + taken.best_effort;
        let batch = Batch { began, taken, received, used };
        let again = target.policy.left(now, &batch, &target.load(pool, backlog, taken, received));
        target.again(again, self.program);
        // Polling again with nothing taken and the program at rest would take no time and never end.
        if batch.taken == 0 && again == Again::AtOnce {
            target.ready = Ready::AfterProgram;
        }
        true
    }

    fn cost(&mut self, interface: usize, command: &Command) -> Span {
        let cost = match command {
            Command { announces: true, .. } | Command { refused: true, .. } => self.costs.announce,
            _ if self.interfaces[interface].is_sorted_by_adapter() => return Span::ZERO,
            _ if self.interfaces[interface].policy.defers_protocol() => self.costs.announce,
            _ => self.costs.protocol,
        };
        cost.draw(&mut self.random)
    }

    /// A piece of work is done.
    pub(super) fn finish(&mut self, now: Time, job: Job, took: Span) {
        self.signal_is_known &= self.is_quiet;
        match job {
            Job::Interrupt(interface) | Job::Tick(interface) => {
                match self.interfaces[interface].policy.context() {
                    Context::Routine => {
                        self.open_batch(now, interface);
                    }
                    Context::Kernel => {
                        // A tick begins anew; what an interrupt found at work goes on.
                        if matches!(job, Job::Tick(_)) || self.open(interface).is_none() {
                            self.kernel.take_if(|open| open.interface == interface);
                            self.interfaces[interface].ready = Ready::Now;
                        }
                    }
                    Context::Thread => self.interfaces[interface].ready = Ready::Now,
                }
            }
            Job::Switch(interface) => {
                self.open_batch(now, interface);
            }
            Job::Command(interface, Command { packet, announces: true, .. }) => {
                let pool = self.pool();
                if let Some(refused) = self.interfaces[interface].announced(now, packet, pool) {
                    self.output.push_back(Reception::Dropped(refused, Dropped::Early));
                }
            }
            Job::Command(_, Command { packet, refused: true, .. }) => {
                self.output.push_back(Reception::Dropped(packet, Dropped::Early));
            }
            Job::Command(interface, Command { packet, .. }) => self.keep(interface, packet, took),
            Job::Program(interface, packet) => {
                self.interfaces[interface].release_buffer(packet.class);
                self.output.push_back(Reception::Delivered(packet));
            }
        }
    }

    /// The protocol, which took so long, is done with a packet: it goes to the program, or nowhere.
    fn keep(&mut self, interface: usize, packet: Arrived, took: Span) {
        self.interfaces[interface].withdraw(packet.class);
        let pool = self.pool();
        let target = &mut self.interfaces[interface];
        if !target.has_program() {
            self.output.push_back(Reception::Delivered(packet));
        } else if target.keeps(packet.class, pool) {
            self.programs.push(interface, packet);
        } else {
            self.uses.protocol -= took;
            self.uses.wasted += took;
            self.output.push_back(Reception::Dropped(packet, Dropped::ReceiveBuffers));
        }
    }
}
