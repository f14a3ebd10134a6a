//! The CPU: allocation, preemption, and completion of work.

use laxity_qos::channel::Dropped;
use laxity_qos::reception::sharing::BatchTaken;
use laxity_qos::reception::{Again, Batch, Context, Operations, Protocol};
use laxity_units::{Span, Time};

use super::interface::{Interface, InterfaceCommand, Pool, Ready};
use super::{Receiver, Reception, ReceptionUses};

/// Preemptible work, in the order of resumption.
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
    /// The first command of a packet, or one of a refused packet: the one that the interface has
    /// [taken](Interface::taken) last. It stays there, since copying freshly written data stalls.
    Announcement(usize),
    /// The protocol, for the command taken last.
    Protocol(usize),
    /// The program, with the current packet ([`Receiver::in_hands`]).
    Program(usize),
}

impl Job {
    /// Its name in a trace.
    pub(super) fn name(self) -> &'static str {
        match self {
            Job::Interrupt(_) => "interrupt",
            Job::Tick(_) => "tick",
            Job::Switch(_) => "switch",
            Job::Announcement(_) => "announcement",
            Job::Protocol(_) => "protocol",
            Job::Program(..) => "program",
        }
    }

    /// Its account. Protocol time of a packet that is dropped later moves to `wasted`.
    pub(super) fn use_of(self, uses: &mut ReceptionUses) -> &mut Span {
        match self {
            Job::Interrupt(_) | Job::Tick(_) => &mut uses.signals,
            Job::Switch(_) => &mut uses.switches,
            Job::Announcement(_) => &mut uses.announcements,
            Job::Protocol(_) => &mut uses.protocol,
            Job::Program(..) => &mut uses.program,
        }
    }
}

/// Work in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) job: Job,
    /// When it began, or was resumed.
    pub(super) since: Time,
    pub(super) ends: Time,
    /// Its total duration.
    pub(super) whole: Span,
    /// Its level if preemptible; `None` if not.
    level: Option<Level>,
}

/// Preempted work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopped {
    pub(super) job: Job,
    left: Span,
    whole: Span,
}

/// A batch in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    interface: usize,
    began: Time,
    taken: BatchTaken,
    received: u32,
    used: Span,
}

impl Receiver {
    /// Whether an interrupt or tick is taken now: not during another one, nor in a routine.
    #[inline]
    pub(super) fn hears_signals(&self) -> bool {
        self.batches[Context::Routine as usize].is_none()
            && self.running.as_ref().is_none_or(|running| running.level.is_some())
    }

    /// Preemption level of `job`; `None` for non-preemptive work.
    #[inline]
    fn level(&self, job: Job) -> Option<Level> {
        match job {
            Job::Interrupt(_) | Job::Tick(_) => None,
            Job::Switch(_) => Some(Level::Thread),
            Job::Announcement(interface) | Job::Protocol(interface) => {
                match self.interfaces[interface].context() {
                    Context::Routine => None,
                    Context::Kernel => Some(Level::Kernel),
                    Context::Thread => Some(Level::Thread),
                }
            }
            Job::Program(..) => Some(Level::Program),
        }
    }

    /// Packets before the program, the current one included.
    fn backlog(&self) -> u32 {
        let running = matches!(&self.running, Some(Running { job: Job::Program(..), .. }));
        self.programs.waiting() as u32 + u32::from(running || self.stopped[Level::Program as usize].is_some())
    }

    /// The next signal: its time, the longest due first, and its interface.
    fn next_signal(&self) -> Option<(Time, usize)> {
        let backlog = self.backlog();
        let signals = self.interfaces.iter().enumerate();
        signals.filter_map(|(i, interface)| interface.next_signal(backlog).map(|at| (at, i))).min()
    }

    /// The same, recomputed only after a change.
    #[inline]
    pub(super) fn signal(&mut self) -> (Time, usize) {
        if !self.signal_is_known {
            self.signal = self.next_signal().unwrap_or((Time::MAX, 0));
            self.signal_is_known = true;
        }
        self.signal
    }

    /// The interface of the signal due for longest.
    #[inline]
    fn due_signal(&mut self, now: Time) -> Option<usize> {
        let (at, interface) = self.signal();
        (at <= now).then_some(interface)
    }

    /// Preempts work for a due signal, and starts work while the CPU is idle.
    #[inline(always)]
    pub(super) fn react(&mut self, now: Time) {
        loop {
            if self.changes {
                self.change_policies(now);
            }
            let goes_on = match self.running {
                // Signals went first. One may be due again only where an adapter interrupts.
                None => self.begin(now) && !(self.is_quiet && self.running.is_some()),
                Some(_) => self.due_signal(now).is_some() && self.stop(now),
            };
            if !goes_on {
                break;
            }
        }
        self.next = self.look_ahead();
    }

    /// Preempts the current work for a signal; returns whether that was possible.
    fn stop(&mut self, now: Time) -> bool {
        let Some(running) = self.running.filter(|_| self.hears_signals()) else { return false };
        let Some(level) = running.level else { return false };
        self.running = None;
        self.account(&running, now);
        let left = running.ends.since(now);
        self.stopped[level as usize] = Some(Stopped { job: running.job, left, whole: running.whole });
        true
    }

    /// Applies scheduled policies of interfaces without work in progress.
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

    /// Whether work of an interface is in progress, except packets for programs.
    fn is_at_work(&self, interface: usize) -> bool {
        let of = |job: &Job| match job {
            Job::Interrupt(i) | Job::Tick(i) | Job::Switch(i) | Job::Announcement(i) | Job::Protocol(i) => {
                *i == interface
            }
            Job::Program(..) => false,
        };
        self.running.is_some_and(|running| of(&running.job))
            || self.stopped.iter().flatten().any(|stopped| of(&stopped.job))
            || self.batches.iter().flatten().any(|open| open.interface == interface)
    }

    /// Accounts the CPU time of `running`.
    #[inline]
    pub(super) fn account(&mut self, running: &Running, now: Time) {
        let used = now.saturating_since(running.since);
        *running.job.use_of(&mut self.uses) += used;
        match &running.job {
            Job::Program(_) => {
                self.program = self.program.saturating_add(used);
                self.programs.charge(self.in_hands.stream, running.since, now);
            }
            Job::Announcement(interface) | Job::Protocol(interface) => {
                if let Some(open) = self.open(*interface) {
                    open.used = open.used.saturating_add(used);
                }
            }
            _ => {}
        }
    }

    /// The batch slot of an interface's context.
    fn batch(&mut self, interface: usize) -> &mut Option<Open> {
        &mut self.batches[self.interfaces[interface].context() as usize]
    }

    /// The interface's batch in progress.
    fn open(&mut self, interface: usize) -> Option<&mut Open> {
        self.batch(interface).as_mut().filter(|open| open.interface == interface)
    }

    /// Starts the most urgent work; returns whether the state changed.
    #[inline]
    fn begin(&mut self, now: Time) -> bool {
        let is_open = |receiver: &Self, context: Context| receiver.batches[context as usize].is_some();
        let context = if is_open(self, Context::Routine) {
            Context::Routine
        } else if let Some(interface) = self.due_signal(now) {
            return self.hear(now, interface);
        } else if self.resume(now, Level::Kernel) {
            return true;
        } else if is_open(self, Context::Kernel) {
            Context::Kernel
        } else if let Some(interface) = self.ready(Context::Kernel) {
            self.open_batch(now, interface);
            Context::Kernel
        } else if self.resume(now, Level::Thread) {
            return true;
        } else if is_open(self, Context::Thread) {
            Context::Thread
        } else {
            return self.begin_without_batch(now);
        };
        self.go_on(now, context)
    }

    /// As `begin`, where no batch is in progress or may begin.
    fn begin_without_batch(&mut self, now: Time) -> bool {
        if self.resume(now, Level::Program) {
            return true;
        }
        if let Some(interface) = self.ready(Context::Thread) {
            self.interfaces[interface].ready = Ready::OnSignal;
            // Polling again without the program in between continues the same thread.
            let again = self.polling.replace(interface) == Some(interface);
            let cost = if again { Span::ZERO } else { self.costs.switch.draw(&mut self.random) };
            return self.start(now, Job::Switch(interface), cost);
        }
        while let Some((program, interface, packet, switches)) = self.programs.next(now) {
            self.signal_is_known &= self.is_quiet;
            if self.interfaces[interface].discards_late(now, &packet) {
                self.interfaces[interface].release_buffer(packet.class);
                self.output.push((now, Reception::dropped(packet, Dropped::LateForProgram)));
                continue;
            }
            self.polling = None;
            let mut cost = self.programs.work(program).draw(&mut self.random);
            if self.interfaces[interface].protocol() != Protocol::Whole {
                cost += self.costs.protocol.draw(&mut self.random);
            }
            if switches {
                cost += self.costs.switch.draw(&mut self.random);
            }
            self.in_hands = packet;
            return self.start(now, Job::Program(interface), cost);
        }
        if let Some(interface) = self.ready_without_program() {
            self.interfaces[interface].ready = Ready::Now;
            return match self.interfaces[interface].context() {
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

    /// An interface of `context` that may begin a batch.
    fn ready(&mut self, context: Context) -> Option<usize> {
        let program = self.program;
        self.turn.find(self.interfaces.len(), |i| self.interfaces[i].may_begin(context, program))
    }

    /// An interface that has commands and waits for the program to be idle.
    fn ready_without_program(&mut self) -> Option<usize> {
        self.turn.find(self.interfaces.len(), |i| self.interfaces[i].may_begin_without_program())
    }

    #[inline]
    fn start(&mut self, now: Time, job: Job, cost: Span) -> bool {
        match cost.is_zero() {
            true => self.finish_at_once(now, job),
            false => {
                let level = self.level(job);
                self.running = Some(Running { job, since: now, ends: now + cost, whole: cost, level });
            }
        }
        true
    }

    #[inline]
    fn resume(&mut self, now: Time, level: Level) -> bool {
        let Some(Stopped { job, left, whole }) = self.stopped[level as usize] else { return false };
        self.stopped[level as usize] = None;
        self.running = Some(Running { job, since: now, ends: now + left, whole, level: Some(level) });
        true
    }

    /// Takes an interrupt or a tick of an interface.
    #[inline(never)]
    fn hear(&mut self, now: Time, interface: usize) -> bool {
        self.signal_is_known = false;
        let target = &mut self.interfaces[interface];
        if !target.ticked(now) {
            target.policy.entered(now);
            target.report.interrupts += 1;
            let cost = self.costs.interrupt.draw(&mut self.random);
            return self.start(now, Job::Interrupt(interface), cost);
        }
        let is_thread = target.context() == Context::Thread;
        if is_thread && (target.ready == Ready::Now || self.has_thread_at_work(interface)) {
            self.interfaces[interface].report.missed_ticks += 1;
            return true;
        }
        let target = &mut self.interfaces[interface];
        target.policy.entered(now);
        target.report.ticks += 1;
        let cost = if is_thread { self.costs.interrupt } else { self.costs.poll };
        let cost = cost.draw(&mut self.random);
        self.start(now, Job::Tick(interface), cost)
    }

    /// Whether the polling thread of `interface` has a batch in progress, or is being switched to.
    fn has_thread_at_work(&self, interface: usize) -> bool {
        self.batches[Context::Thread as usize].is_some_and(|open| open.interface == interface)
            || self.stopped.iter().flatten().any(|stopped| stopped.job == Job::Switch(interface))
    }

    fn open_batch(&mut self, now: Time, interface: usize) -> bool {
        let target = &mut self.interfaces[interface];
        target.ready = Ready::OnSignal;
        let taken = BatchTaken { batches: target.report.batches, ..BatchTaken::default() };
        target.report.batches += 1;
        *self.batch(interface) = Some(Open { interface, began: now, taken, received: 0, used: Span::ZERO });
        true
    }

    /// Starts the next command of the batch in `context`, or ends the batch.
    #[inline]
    fn go_on(&mut self, now: Time, context: Context) -> bool {
        let (pool, backlog) = (self.pool(), self.backlog());
        self.signal_is_known &= self.is_quiet;
        let Self { batches, interfaces, output, .. } = self;
        let open = batches[context as usize].as_mut().expect("a batch is under way");
        let interface = open.interface;
        let lost = |packet, cause| output.push((now, Reception::dropped(packet, cause)));
        let taken = (&mut open.taken, open.received);
        if let Some(command) = interfaces[interface].take(now, taken, (pool, backlog), lost) {
            open.received += u32::from(command.receives());
            let announces = command.announces || command.refused;
            let cost = self.cost(interface, announces);
            let job = if announces { Job::Announcement(interface) } else { Job::Protocol(interface) };
            return self.start(now, job, cost);
        }
        self.end_batch(now, context, pool, backlog)
    }

    #[inline(never)]
    fn end_batch(&mut self, now: Time, context: Context, pool: Pool, backlog: u32) -> bool {
        let ended = self.batches[context as usize].take().expect("it was under way");
        let Open { interface, began, taken, received, used } = ended;
        let target = &mut self.interfaces[interface];
        let taken = taken.real_time + taken.best_effort;
        let batch = Batch { began, taken, received, used };
        let again = target.policy.left(now, &batch, &target.load(pool, backlog, taken, received));
        target.again(again, self.program);
        // Polling again with an empty batch and an idle program would loop without end at one
        // instant.
        if batch.taken == 0 && again == Again::AtOnce {
            target.ready = Ready::AfterProgram;
        }
        true
    }

    #[inline]
    fn cost(&mut self, interface: usize, announces: bool) -> Span {
        let cost = match self.interfaces[interface].protocol() {
            _ if announces => self.costs.announce,
            Protocol::Whole => self.costs.protocol,
            Protocol::WhoseItIs => self.costs.announce,
            Protocol::Nothing => return Span::ZERO,
        };
        cost.draw(&mut self.random)
    }

    /// Finishes work of zero duration.
    #[inline(never)]
    fn finish_at_once(&mut self, now: Time, job: Job) {
        self.finish(now, job, Span::ZERO);
    }

    /// Finishes a piece of work.
    #[inline(always)]
    pub(super) fn finish(&mut self, now: Time, job: Job, took: Span) {
        self.signal_is_known &= self.is_quiet;
        match job {
            Job::Interrupt(interface) | Job::Tick(interface) => {
                match self.interfaces[interface].context() {
                    Context::Routine => {
                        self.open_batch(now, interface);
                    }
                    Context::Kernel => {
                        // A tick restarts the batch; an interrupt during a batch lets it continue.
                        if matches!(job, Job::Tick(_)) || self.open(interface).is_none() {
                            self.batches[Context::Kernel as usize]
                                .take_if(|open| open.interface == interface);
                            self.interfaces[interface].ready = Ready::Now;
                        }
                    }
                    Context::Thread => self.interfaces[interface].ready = Ready::Now,
                }
            }
            Job::Switch(interface) => {
                self.open_batch(now, interface);
            }
            Job::Announcement(interface) => {
                let InterfaceCommand { packet, refused, .. } = *self.interfaces[interface].taken();
                let pool = self.pool();
                let refused = match refused {
                    true => Some(packet),
                    false => self.interfaces[interface].announced(now, packet, pool),
                };
                if let Some(refused) = refused {
                    self.output.push((now, Reception::dropped(refused, Dropped::Early)));
                }
            }
            Job::Protocol(interface) => self.keep(now, interface, took),
            Job::Program(interface) => {
                self.interfaces[interface].release_buffer(self.in_hands.class);
                self.output.push((now, Reception::delivered(self.in_hands)));
            }
        }
    }

    /// The protocol has finished a packet: it goes to the program, or is dropped.
    #[inline]
    fn keep(&mut self, now: Time, interface: usize, took: Span) {
        let target = &mut self.interfaces[interface];
        if !target.has_program() {
            return self.output.push((now, Reception::delivered(target.taken().packet)));
        }
        let packet = target.taken().packet;
        target.withdraw(packet.class);
        let pool = self.pool();
        if self.interfaces[interface].keeps(packet.class, pool) {
            self.programs.push(interface, packet);
        } else {
            self.uses.protocol -= took;
            self.uses.wasted += took;
            self.output.push((now, Reception::dropped(packet, Dropped::ReceiveBuffers)));
        }
    }
}
