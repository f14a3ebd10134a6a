//! A host that receives: adapters that post commands, a CPU that is interrupted, and a program that takes packets.
//!
//! ```text
//!  frame ─▶ slots ─▶ posted ─────────────▶ batch ────────▶ protocol ─▶ buffers ─▶ program ─▶ delivered
//!          (full:   │ (a handshake posts   (the policy:   (C_ri)      (full:     (C_pp)
//!           Ring)   │  twice, DMA between)  who, when,                 Buffers)
//!                   └─▶ interrupt, tick      how many)
//! ```
//!
//! What is done when is the [policy's](laxity_qos::reception) to say; what it costs is charged here, on one CPU:
//!
//! 1. the interrupt routine, which nothing stops;
//! 2. interrupts and clock ticks, of several that are due the one that has been due for longest;
//! 3. the kernel, 4. a polling thread, 5. the program, each resumed where it was stopped.
//!
//! A polling thread begins when the program has done with a packet, since threads of the x-kernel give way by themselves;
//! the kernel does not wait for that. Packets of all interfaces reach one program in the order in which the protocol
//! was done with them (thesis 7.4.3), or several, each with a share of the CPU (`programs.rs`).
//!
//! Every packet that comes leaves by one output, delivered or dropped; where it was dropped is told, since that is what a
//! policy is about: at the [ring](Dropped::Ring) a drop costs nothing, [early](Dropped::Early) an interrupt, and for want of
//! [buffers](Dropped::ReceiveBuffers) all that was done for it. An interface that discards by [importance](Discard) takes back what
//! is [late](Dropped::Late) before the host spends anything on it, and lets what is due sooner have the slot of what is due
//! later, or never ([displaced](Dropped::Displaced)).

mod buffers;
mod cpu;
mod interface;
mod programs;
#[cfg(test)]
mod tests;
mod ticks;

use laxity_engine::{Exponentials, Stream};
use laxity_qos::channel::Dropped;
use laxity_qos::discipline::Class;
use laxity_qos::reception::{Operations, Policy, Sharing};
use laxity_units::{Bytes, Span, Time};

use crate::adapter::Delay;
use cpu::{Job, Level, Open, Running, Stopped};
pub use interface::{Command, Interface, Pool, Ready, Turn};
use programs::Programs;
pub use programs::{ProgramConfig, Reservation};
pub use ticks::{Intervals, NotADistribution, Ticks};

/// A packet that has come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Whose it is, by a number of the world's.
    pub stream: u32,
    /// The how-manyth of it, from 0.
    pub number: u64,
    /// Class of service.
    pub class: Class,
    /// Its bytes.
    pub size: Bytes,
    /// When it was there whole.
    pub at: Time,
    /// When it has to be delivered; [`Time::MAX`] if nobody minds.
    pub due: Time,
}

impl Arrived {
    /// Where there is none yet.
    const NONE: Self = Self {
        stream: 0,
        number: 0,
        class: Class::BestEffort,
        size: Bytes::ZERO,
        at: Time::ZERO,
        due: Time::MAX,
    };
}

/// What an activity takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Always the same.
    Fixed(Span),
    /// Exponentially distributed, with this mean.
    Exponential(Span),
}

impl Cost {
    /// Nothing.
    pub const NONE: Self = Cost::Fixed(Span::ZERO);

    /// Its mean.
    pub fn mean(self) -> Span {
        match self {
            Cost::Fixed(span) | Cost::Exponential(span) => span,
        }
    }

    /// One of these, by chance from `random`.
    #[inline]
    pub fn draw(self, random: &mut Exponentials) -> Span {
        match self {
            Cost::Fixed(span) => span,
            Cost::Exponential(mean) => random.draw(mean),
        }
    }
}

/// What the host pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceptionCosts {
    /// `C_intr`: an interrupt, of the adapter or of a clock that makes a thread ready.
    pub interrupt: Cost,
    /// A tick that the kernel polls at.
    pub poll: Cost,
    /// `C_sw`: from the program to a polling thread, and back.
    pub switch: Cost,
    /// The first of a packet's two commands; where the protocol is deferred, finding out whose a packet is.
    pub announce: Cost,
    /// `C_ri`: the protocol.
    pub protocol: Cost,
    /// `C_pp`: the program.
    pub program: Cost,
}

/// An adapter's receiving side, and what the host has for it.
#[derive(Debug, Clone)]
pub struct InterfaceConfig {
    /// When the host takes what has come.
    pub policy: Policy,
    /// How a batch divides itself between classes.
    pub sharing: Sharing,
    /// Packets that the adapter holds: of all, or of real time if classes are told apart.
    pub slots: u32,
    /// Packets of best effort that it holds if classes are told apart.
    pub slots_best_effort: u32,
    /// Whether a packet takes two commands with a transfer between them (thesis Fig. 7.2), or is in host memory when its
    /// one command is posted.
    pub handshake: bool,
    /// That transfer, one at a time.
    pub transfer: Delay,
    /// Whether a packet that would find no buffer is refused at its first command.
    pub early_drop: bool,
    /// Receive buffers; without any there is no program, and a packet is delivered when the protocol is done.
    pub buffers: Option<u32>,
    /// Those of them that only real time may have.
    pub buffers_real_time: u32,
    /// What is lost when not all can be kept.
    pub discard: Discard,
    /// The clock that polls it.
    pub ticks: Option<Ticks>,
}

/// What an interface loses when it cannot keep all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// What comes when there is no slot.
    Newest,
    /// What is late already, wherever it waits; and if there is no slot, what is due last. Best effort is due never, so it goes before
    /// all that has a deadline, the newest first.
    Importance,
}

/// What has become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reception {
    /// Which one.
    pub packet: Arrived,
    /// `None` if its program has done with it. Else it is lost: at the [`Ring`](Dropped::Ring), where it may be [`Displaced`](Dropped::Displaced) or
    /// [`Late`](Dropped::Late), too; [`Early`](Dropped::Early), for want of [`ReceiveBuffers`](Dropped::ReceiveBuffers), or
    /// [`LateForProgram`](Dropped::LateForProgram).
    pub lost: Option<Dropped>,
}

impl Reception {
    /// Its program has done with `packet`.
    #[inline]
    pub fn delivered(packet: Arrived) -> Self {
        Self { packet, lost: None }
    }

    /// `packet` is lost for that reason.
    #[inline]
    pub fn dropped(packet: Arrived, cause: Dropped) -> Self {
        Self { packet, lost: Some(cause) }
    }
}

/// What the CPU was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceptionUses {
    /// Interrupts and ticks.
    pub signals: Span,
    /// Context switches.
    pub switches: Span,
    /// First commands, or finding out whose a packet is.
    pub announcements: Span,
    /// The protocol, of packets that were kept …
    pub protocol: Span,
    /// … and of those that were then dropped.
    pub wasted: Span,
    /// The program.
    pub program: Span,
}

impl ReceptionUses {
    /// What the network took of the CPU before any program.
    pub fn reception(&self) -> Span {
        self.signals + self.switches + self.announcements + self.protocol + self.wasted
    }
}

/// What an interface and its policy have been through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InterfaceReport {
    /// Interrupts taken.
    pub interrupts: u64,
    /// Ticks taken.
    pub ticks: u64,
    /// Ticks missed, since the last one's thread was still at work.
    pub missed_ticks: u64,
    /// Batches of commands.
    pub batches: u64,
    /// Most packets that the adapter held at once.
    pub longest_queue: u32,
}

/// A host that receives.
#[derive(Debug)]
pub struct Receiver {
    costs: ReceptionCosts,
    random: Exponentials,
    interfaces: Vec<Interface>,
    /// What the CPU does.
    running: Option<Running>,
    /// What was stopped, by level.
    stopped: [Option<Stopped>; Level::COUNT],
    /// The batch of each context that is under way.
    batches: [Option<Open>; 3],
    /// The programs, with what they have before them.
    programs: Programs,
    /// The packet that a program is at, or was stopped at: of all, one program has one in its hands, since it gives way when it has done with it.
    in_hands: Arrived,
    /// Receive buffers that all interfaces share.
    pool: u32,
    /// CPU time that programs have had.
    program: Span,
    /// The interface whose signal has been due for longest, or will be next, and when. Each event asks for it several times and
    /// changes it at most once, so it is kept until something happens that it depends on.
    /// [`Time::MAX`] if there is none to come.
    signal: (Time, usize),
    signal_is_known: bool,
    /// Whether no adapter interrupts: then nothing that comes or is taken changes when the next signal is.
    is_quiet: bool,
    /// Whether packets take two commands anywhere, so that transfers may end.
    transfers: bool,
    /// When it next wants to be called; [`Time::MAX`] for never.
    next: Time,
    /// The interface whose polling thread had the CPU last, if no other thread has had it since.
    polling: Option<usize>,
    /// The interface that is looked at first when several are ready.
    turn: Turn,
    spins: bool,
    /// Whether an interface waits to go by another policy.
    changes: bool,
    uses: ReceptionUses,
    /// What has become of packets, and how much of that has been told.
    output: Vec<(Time, Reception)>,
    told: usize,
}

impl Receiver {
    /// A host with `interfaces` and one program; what its work takes, where that is left to chance, is drawn from `random`.
    pub fn new(costs: ReceptionCosts, interfaces: Vec<Interface>, random: Stream) -> Self {
        let spins = interfaces.iter().any(|interface| interface.policy.spins());
        let is_quiet = !interfaces.iter().any(Interface::interrupts);
        let transfers = interfaces.iter().any(Interface::has_handshake);
        let programs = Programs::new(vec![ProgramConfig::of(costs.program)], Vec::new());
        let mut receiver = Self {
            costs,
            random: random.into(),
            interfaces,
            running: None,
            stopped: [None; Level::COUNT],
            batches: [None; 3],
            programs,
            in_hands: Arrived::NONE,
            pool: 0,
            program: Span::ZERO,
            signal: (Time::MAX, 0),
            signal_is_known: false,
            is_quiet,
            transfers,
            next: Time::MAX,
            polling: None,
            turn: Turn::default(),
            spins,
            changes: false,
            uses: ReceptionUses::default(),
            output: Vec::new(),
            told: 0,
        };
        receiver.next = receiver.look_ahead();
        receiver
    }

    /// The same with these programs in place of one, at least one; the packets of stream `n` are for program `of[n]`.
    pub fn with_programs(mut self, programs: Vec<ProgramConfig>, of: Vec<usize>) -> Self {
        self.programs = Programs::new(programs, of);
        self
    }

    /// The same with `pool` receive buffers that interfaces share when their own are full.
    pub fn with_pool(mut self, pool: u32) -> Self {
        self.pool = pool;
        self
    }

    /// A packet is whole at `interface`. Whether more may have come of that than that it waits there: an output, or another
    /// [deadline](Self::next_deadline).
    #[inline]
    pub fn arrive(&mut self, now: Time, interface: usize, packet: Arrived) -> bool {
        let output = &mut self.output;
        let lost = |packet, cause| output.push((now, Reception::dropped(packet, cause)));
        self.interfaces[interface].accept(now, packet, lost);
        if self.is_deaf(now, interface) {
            return !self.output.is_empty();
        }
        self.signal_is_known &= self.is_quiet;
        self.react_to_arrival(now);
        true
    }

    /// Apart, so that the one call for each event of the CPU's own need not be one.
    #[inline(never)]
    fn react_to_arrival(&mut self, now: Time) {
        self.react(now);
    }

    /// Whether a packet that comes now at `interface` changes neither what the CPU does nor when that ends: no adapter interrupts, and the CPU is busy, or it rests and begins nothing
    /// there before the next signal.
    #[inline]
    fn is_deaf(&self, now: Time, interface: usize) -> bool {
        let rests = || now < self.next && self.interfaces[interface].ready == Ready::OnSignal;
        self.is_quiet && !self.changes && (self.running.is_some() || rests())
    }

    /// `interface` is told to go by another policy. What was begun under the last one is finished first: a routine, a batch.
    pub fn change_policy(&mut self, now: Time, interface: usize, policy: Policy, ticks: Option<Ticks>) {
        self.interfaces[interface].change(policy, ticks);
        self.changes = true;
        self.react(now);
    }

    /// The time that [`next_deadline`](Self::next_deadline) named has come.
    #[inline]
    pub fn timer(&mut self, now: Time) {
        if self.transfers {
            for interface in &mut self.interfaces {
                self.signal_is_known &= !interface.transferred(now) || self.is_quiet;
            }
        }
        if let Some(running) = self.running
            && running.ends <= now
        {
            self.running = None;
            self.account(&running, now);
            self.finish(now, running.job, running.whole);
        }
        self.react(now);
    }

    /// When it next wants [`timer`](Self::timer) to be called.
    #[inline]
    pub fn next_deadline(&self) -> Option<Time> {
        (self.next < Time::MAX).then_some(self.next)
    }

    /// When what goes on ends, or a signal is heard.
    fn look_ahead(&mut self) -> Time {
        let mut next = self.running.as_ref().map_or(Time::MAX, |running| running.ends);
        if self.transfers {
            next = self.interfaces.iter().filter_map(Interface::transfer_ends).fold(next, Time::min);
        }
        if self.hears_signals() { next.min(self.signal().0) } else { next }
    }

    /// The next of what has become of packets, and when; told once, and to be asked for until there is none.
    // It is read where it lies, for under load every other event has one.
    #[inline]
    pub fn next_output(&mut self) -> Option<&(Time, Reception)> {
        if self.told == self.output.len() {
            self.output.clear();
            self.told = 0;
            return None;
        }
        self.told += 1;
        self.output.get(self.told - 1)
    }

    /// What the CPU was used for, up to `now`.
    pub fn uses(&self, now: Time) -> ReceptionUses {
        let mut uses = self.uses;
        if let Some(running) = &self.running {
            *running.job.use_of(&mut uses) += now.saturating_since(running.since);
        }
        uses
    }

    /// What the CPU is at, and since when: a signal, a switch, an announcement, the protocol or the program.
    pub fn work(&self) -> Option<(&'static str, Time)> {
        self.running.as_ref().map(|running| (running.job.name(), running.since))
    }

    /// Whether what is left of the CPU goes into asking adapters.
    pub fn spins(&self) -> bool {
        self.spins
    }

    /// What an interface has been through.
    pub fn report(&self, interface: usize) -> InterfaceReport {
        self.interfaces[interface].report
    }

    /// Packets that have come and are neither delivered nor dropped.
    pub fn under_way(&self) -> usize {
        let at_adapters: usize = self.interfaces.iter().map(|interface| interface.held()).sum();
        let running = self.running.iter().map(|running| running.job);
        let stopped = self.stopped.iter().flatten().map(|stopped| stopped.job);
        // Of those that lie in nobody's slot or queue.
        let in_hand = running.chain(stopped).filter(|job| match job {
            Job::Announcement(interface) | Job::Protocol(interface) => {
                !self.interfaces[*interface].taken().is_in_slot()
            }
            Job::Program(_) => true,
            Job::Interrupt(_) | Job::Tick(_) | Job::Switch(_) => false,
        });
        at_adapters + self.programs.waiting() + in_hand.count()
    }

    /// What is left of the buffers that all share.
    fn pool(&self) -> Pool {
        match self.pool {
            0 => Pool::default(),
            all => {
                let had = self.interfaces.iter().map(Interface::of_pool);
                let (taken, filled) = had.fold((0, 0), |(taken, filled), of| (taken + of.0, filled + of.1));
                Pool { all, left: all.saturating_sub(taken), empty: all.saturating_sub(filled) }
            }
        }
    }
}
