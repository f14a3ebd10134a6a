//! A host that receives: adapters that post commands, a CPU that is interrupted, and a program that
//! takes packets.
//!
//! ```text
//!  frame ─▶ slots ─▶ posted ─────────────▶ batch ────────▶ protocol ─▶ buffers ─▶ program ─▶ delivered
//!          (full:   │ (a handshake posts   (the policy:   (C_ri)      (full:     (C_pp)
//!           Ring)   │  twice, DMA between)  who, when,                 Buffers)
//!                   └─▶ interrupt, tick      how many)
//! ```
//!
//! The [policy](laxity_qos::reception) decides the schedule; one CPU is charged the costs here, by
//! priority:
//!
//! 1. the interrupt routine, which is not preemptible;
//! 2. interrupts and clock ticks, the longest due first;
//! 3. the kernel, 4. a polling thread, 5. the program, each resumed where it was preempted.
//!
//! A polling thread begins when the program has finished a packet, since threads of the x-kernel
//! yield voluntarily; the kernel does not wait for that. Packets of all interfaces reach one
//! program in the order in which the protocol finished them (thesis 7.4.3), or several programs,
//! each with a share of the CPU (`programs.rs`).
//!
//! Every packet leaves by one output, delivered or dropped. The output reports where it was
//! dropped, since policies differ in that: a drop at the [ring](Dropped::Ring) costs no CPU time,
//! an [early](Dropped::Early) one an interrupt, and one for want of
//! [buffers](Dropped::ReceiveBuffers) wastes all work on the packet. An interface that discards by
//! [importance](Discard) removes [late](Dropped::Late) packets before the host spends time on them,
//! and gives the slot of a packet with a later or no deadline to one with an earlier deadline
//! ([displaced](Dropped::Displaced)).

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
use laxity_qos::reception::{BatchSharing, Operations, Policy};
use laxity_units::{Bytes, Span, Time};

use crate::adapter::Delay;
use cpu::{Job, Level, Open, Running, Stopped};
pub use interface::{Interface, InterfaceCommand, InterfaceTurn, Pool, Ready};
use programs::Programs;
pub use programs::{CpuReservation, ProgramConfig};
pub use ticks::{ClockTicks, Intervals, NotADistribution};

/// An arrived packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Its stream, by a number of the caller's.
    pub stream: u32,
    /// Sequence number in its stream, from 0.
    pub number: u64,
    /// Class of service.
    pub class: Class,
    /// Its size.
    pub size: Bytes,
    /// Arrival of its last bit.
    pub at: Time,
    /// Delivery deadline; [`Time::MAX`] for none.
    pub due: Time,
    /// The tag of its importance, 0 the least.
    pub importance: u8,
}

impl Arrived {
    /// Placeholder for no packet.
    const NONE: Self = Self {
        stream: 0,
        number: 0,
        class: Class::BestEffort,
        size: Bytes::ZERO,
        at: Time::ZERO,
        due: Time::MAX,
        importance: 0,
    };
}

/// CPU time of an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityCost {
    /// Constant.
    Fixed(Span),
    /// Exponentially distributed, with this mean.
    Exponential(Span),
}

impl ActivityCost {
    /// Zero.
    pub const NONE: Self = ActivityCost::Fixed(Span::ZERO);

    /// The mean.
    pub fn mean(self) -> Span {
        match self {
            ActivityCost::Fixed(span) | ActivityCost::Exponential(span) => span,
        }
    }

    /// Draws a value from `random`.
    #[inline]
    pub fn draw(self, random: &mut Exponentials) -> Span {
        match self {
            ActivityCost::Fixed(span) => span,
            ActivityCost::Exponential(mean) => random.draw(mean),
        }
    }
}

/// CPU costs of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceptionCosts {
    /// `C_intr`: an interrupt, of the adapter or of a clock that makes a thread ready.
    pub interrupt: ActivityCost,
    /// A tick at which the kernel polls.
    pub poll: ActivityCost,
    /// `C_sw`: from the program to a polling thread, and back.
    pub switch: ActivityCost,
    /// The first of a packet's two commands; with a deferred protocol, the demultiplexing of a
    /// packet.
    pub announce: ActivityCost,
    /// `C_ri`: the protocol.
    pub protocol: ActivityCost,
    /// `C_pp`: the program.
    pub program: ActivityCost,
}

/// Receive side of an adapter, with the host's part.
#[derive(Debug, Clone)]
pub struct InterfaceConfig {
    /// When the host takes packets.
    pub policy: Policy,
    /// How a batch divides itself between classes.
    pub sharing: BatchSharing,
    /// Packets that the adapter holds: of all classes, or of real time if classes are separated.
    pub slots: u32,
    /// Best-effort packets that it holds if classes are separated.
    pub slots_best_effort: u32,
    /// Whether a packet takes two commands with a transfer between them (thesis Fig. 7.2), or is in
    /// host memory when its one command is posted.
    pub handshake: bool,
    /// Duration of that transfer, one at a time.
    pub transfer: Delay,
    /// Whether a packet that would find no buffer is refused at its first command.
    pub early_drop: bool,
    /// Receive buffers; `None` for no program: a packet is delivered when the protocol is done.
    pub buffers: Option<u32>,
    /// Those of `buffers` reserved for real time.
    pub buffers_real_time: u32,
    /// Packets discarded on overload.
    pub discard: Discard,
    /// The clock that polls it.
    pub ticks: Option<ClockTicks>,
}

/// Packets that an interface discards on overload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// The arriving packet, if there is no slot.
    Newest,
    /// Late packets, wherever they wait; and if there is no slot, the packet with the latest
    /// deadline. Best effort has none, so it is discarded before packets with a deadline, the
    /// newest first.
    Importance,
    /// If there is no slot, the packet with the least [importance](Arrived::importance), of equals
    /// the newest (thesis 8.2: tags of importance within a stream and across streams).
    Tag,
}

/// Outcome of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reception {
    /// The packet.
    pub packet: Arrived,
    /// `None` if its program has finished it. Else the drop point: the [`Ring`](Dropped::Ring),
    /// where it may be [`Displaced`](Dropped::Displaced) or [`Late`](Dropped::Late), too;
    /// [`Early`](Dropped::Early), for want of [`ReceiveBuffers`](Dropped::ReceiveBuffers), or
    /// [`LateForProgram`](Dropped::LateForProgram).
    pub lost: Option<Dropped>,
}

impl Reception {
    /// The program has finished `packet`.
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

/// CPU time by use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceptionUses {
    /// Interrupts and ticks.
    pub signals: Span,
    /// Context switches.
    pub switches: Span,
    /// First commands, or demultiplexing.
    pub announcements: Span,
    /// The protocol, of packets that were kept …
    pub protocol: Span,
    /// … and of those that were then dropped.
    pub wasted: Span,
    /// The program.
    pub program: Span,
}

impl ReceptionUses {
    /// CPU time of reception, without programs.
    pub fn reception(&self) -> Span {
        self.signals + self.switches + self.announcements + self.protocol + self.wasted
    }
}

/// Statistics of an interface and its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InterfaceReport {
    /// Interrupts taken.
    pub interrupts: u64,
    /// Ticks taken.
    pub ticks: u64,
    /// Ticks missed, since the last one's thread was still running.
    pub missed_ticks: u64,
    /// Batches of commands.
    pub batches: u64,
    /// Maximum number of packets that the adapter held at once.
    pub longest_queue: u32,
}

/// A host that receives.
#[derive(Debug)]
pub struct Receiver {
    costs: ReceptionCosts,
    random: Exponentials,
    interfaces: Vec<Interface>,
    running: Option<Running>,
    /// Preempted work, by level.
    stopped: [Option<Stopped>; Level::COUNT],
    /// The current batch of each context.
    batches: [Option<Open>; 3],
    programs: Programs,
    /// The packet that a program processes or was preempted at: at most one over all programs,
    /// since a program yields only between packets.
    in_hands: Arrived,
    /// Receive buffers that all interfaces share.
    pool: u32,
    /// CPU time that programs have had.
    program: Span,
    /// The next signal: its time ([`Time::MAX`] for never) and its interface, the one due for
    /// longest. Cached, since each event reads it several times and changes it at most once.
    signal: (Time, usize),
    signal_is_known: bool,
    /// No adapter interrupts: arrivals and removals then do not change the next signal.
    is_quiet: bool,
    /// Some packets take two commands, so transfers may end.
    transfers: bool,
    /// Time of the next due call; [`Time::MAX`] for never.
    next: Time,
    /// The interface with the last running polling thread, if no other thread has run since.
    polling: Option<usize>,
    /// The interface to poll first when several are ready.
    turn: InterfaceTurn,
    spins: bool,
    /// Whether an interface waits to change its policy.
    changes: bool,
    uses: ReceptionUses,
    /// Outcomes of packets, and how many of them were read.
    output: Vec<(Time, Reception)>,
    told: usize,
}

impl Receiver {
    /// A host with `interfaces` and one program; random durations are drawn from `random`.
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
            turn: InterfaceTurn::default(),
            spins,
            changes: false,
            uses: ReceptionUses::default(),
            output: Vec::new(),
            told: 0,
        };
        receiver.next = receiver.look_ahead();
        receiver
    }

    /// Replaces the program by `programs`, at least one; packets of stream `n` go to program
    /// `of[n]`.
    pub fn with_programs(mut self, programs: Vec<ProgramConfig>, of: Vec<usize>) -> Self {
        self.programs = Programs::new(programs, of);
        self
    }

    /// Adds `pool` receive buffers that interfaces share when their own are full.
    pub fn with_pool(mut self, pool: u32) -> Self {
        self.pool = pool;
        self
    }

    /// A packet has arrived at `interface`. Returns whether an output or the
    /// [deadline](Self::next_deadline) may have changed.
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

    /// Separate, so that `react` can be inlined for the CPU's own events.
    #[inline(never)]
    fn react_to_arrival(&mut self, now: Time) {
        self.react(now);
    }

    /// Whether an arrival at `interface` now leaves the CPU's work and its end unchanged: no
    /// adapter interrupts, and the CPU is busy, or idle until the next signal.
    #[inline]
    fn is_deaf(&self, now: Time, interface: usize) -> bool {
        let rests = || now < self.next && self.interfaces[interface].ready == Ready::OnSignal;
        self.is_quiet && !self.changes && (self.running.is_some() || rests())
    }

    /// Changes the policy of `interface`. A routine or batch begun under the old policy is finished
    /// first.
    pub fn change_policy(&mut self, now: Time, interface: usize, policy: Policy, ticks: Option<ClockTicks>) {
        self.interfaces[interface].change(policy, ticks);
        self.changes = true;
        self.react(now);
    }

    /// Advances to the time that [`next_deadline`](Self::next_deadline) named.
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

    /// Time at which [`timer`](Self::timer) is next due.
    #[inline]
    pub fn next_deadline(&self) -> Option<Time> {
        (self.next < Time::MAX).then_some(self.next)
    }

    /// When the current work ends, or a signal is taken.
    fn look_ahead(&mut self) -> Time {
        let mut next = self.running.as_ref().map_or(Time::MAX, |running| running.ends);
        if self.transfers {
            next = self.interfaces.iter().filter_map(Interface::transfer_ends).fold(next, Time::min);
        }
        if self.hears_signals() { next.min(self.signal().0) } else { next }
    }

    /// The next outcome of a packet, with its time; to be called until there is none.
    // Returned by reference, for under load every other event has one.
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

    /// CPU time by use until `now`.
    pub fn uses(&self, now: Time) -> ReceptionUses {
        let mut uses = self.uses;
        if let Some(running) = &self.running {
            *running.job.use_of(&mut uses) += now.saturating_since(running.since);
        }
        uses
    }

    /// Current work of the CPU and its start: a signal, a switch, an announcement, the protocol or
    /// the program.
    pub fn work(&self) -> Option<(&'static str, Time)> {
        self.running.as_ref().map(|running| (running.job.name(), running.since))
    }

    /// Whether the CPU polls adapters whenever it is idle.
    pub fn spins(&self) -> bool {
        self.spins
    }

    /// Statistics of an interface.
    pub fn report(&self, interface: usize) -> InterfaceReport {
        self.interfaces[interface].report
    }

    /// Packets that are neither delivered nor dropped yet.
    pub fn under_way(&self) -> usize {
        let at_adapters: usize = self.interfaces.iter().map(|interface| interface.held()).sum();
        let running = self.running.iter().map(|running| running.job);
        let stopped = self.stopped.iter().flatten().map(|stopped| stopped.job);
        // Packets in no slot and no queue.
        let in_hand = running.chain(stopped).filter(|job| match job {
            Job::Announcement(interface) | Job::Protocol(interface) => {
                !self.interfaces[*interface].taken().is_in_slot()
            }
            Job::Program(_) => true,
            Job::Interrupt(_) | Job::Tick(_) | Job::Switch(_) => false,
        });
        at_adapters + self.programs.waiting() + in_hand.count()
    }

    /// State of the shared buffers.
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
