//! An interface: packets and commands of the adapter, and the host's state for it.
//!
//! It owns no CPU and no clock. A simulated host owns its interfaces; a real host shares each with
//! the adapter that another thread emulates, as both would share the adapter's registers.

mod room;

use std::collections::VecDeque;

use laxity_engine::Stream;
use laxity_qos::channel::Dropped;
use laxity_qos::discipline::Class;
use laxity_qos::reception::sharing::{BatchTaken, Waiting};
use laxity_qos::reception::{
    Again, BatchSharing, Context, Fixed, Load, Operations, Policy, Posted, Protocol,
};
use laxity_units::{Span, Time};

use super::buffers::Buffers;
use super::{Arrived, ClockTicks, Discard, InterfaceConfig, InterfaceReport};
use crate::adapter::Delay;

/// A command of the adapter to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceCommand {
    /// The packet concerned.
    pub packet: Arrived,
    /// When it was posted.
    pub posted: Time,
    /// It announces a packet; another command follows when the host has given an address.
    pub announces: bool,
    /// There is no buffer for its packet, and the host spends no more time on it.
    pub refused: bool,
}

impl InterfaceCommand {
    /// Whether it delivers a packet.
    pub fn receives(&self) -> bool {
        !self.announces && !self.refused
    }

    /// Whether its packet is still in the adapter, until its transfer.
    pub fn is_in_slot(&self) -> bool {
        self.announces
    }
}

/// The receive buffers that all interfaces share.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pool {
    /// Total number.
    pub all: u32,
    /// Free ones.
    pub left: u32,
    /// Free ones and those promised but not filled.
    pub empty: u32,
}

/// When an interface's next batch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// With the next signal.
    OnSignal,
    /// As soon as its context has the CPU.
    Now,
    /// When the program is idle.
    AfterProgram,
    /// When the program's total CPU time has reached this value, or the program is idle.
    AfterShare(Span),
}

#[derive(Debug)]
/// An adapter's receive side, with the host's state for it.
pub struct Interface {
    /// When the host takes packets.
    pub policy: Policy,
    /// When its next batch begins.
    pub ready: Ready,
    /// Its statistics.
    pub report: InterfaceReport,
    /// The constant part of its policy.
    fixed: Fixed,
    /// The command taken last. A batch takes the next when the host has finished it.
    taken: InterfaceCommand,
    sharing: BatchSharing,
    /// Commands by class; all in the first if classes are not separated.
    queues: [VecDeque<InterfaceCommand>; 2],
    /// Packets in slots, by class likewise.
    used: [u32; 2],
    slots: [u32; 2],
    handshake: bool,
    early_drop: bool,
    /// Packets with a pending transfer, and the end of the first.
    transfers: VecDeque<Arrived>,
    transfer_ends: Option<Time>,
    transfer: Delay,
    /// Receive buffers; `None` if there is no program.
    buffers: Option<Buffers>,
    discard: Discard,
    ticks: Option<ClockTicks>,
    tick_at: Option<Time>,
    chance: Stream,
    /// The next policy, applied when work begun under the last one is over.
    next: Option<(Policy, Option<ClockTicks>)>,
}

impl Interface {
    /// An empty interface that draws its clock's ticks from `chance`.
    pub fn new(config: InterfaceConfig, mut chance: Stream) -> Self {
        let tick_at = config.ticks.as_ref().map(|ticks| Time::ZERO + ticks.draw(&mut chance));
        let mut interface = Self {
            ready: Ready::OnSignal,
            fixed: config.policy.fixed(),
            taken: InterfaceCommand {
                packet: Arrived::NONE,
                posted: Time::ZERO,
                announces: false,
                refused: false,
            },
            policy: config.policy,
            report: InterfaceReport::default(),
            sharing: config.sharing,
            queues: [VecDeque::new(), VecDeque::new()],
            used: [0; 2],
            slots: [config.slots, config.slots_best_effort],
            handshake: config.handshake,
            early_drop: config.early_drop,
            transfers: VecDeque::new(),
            transfer_ends: None,
            transfer: config.transfer,
            buffers: config.buffers.map(|own| Buffers::new(own, config.buffers_real_time)),
            discard: config.discard,
            ticks: config.ticks,
            tick_at,
            chance,
            next: None,
        };
        interface.again(interface.policy.first(), Span::ZERO);
        interface
    }

    /// Whether a batch in `context` may begin, at the program's CPU time `program`.
    pub fn may_begin(&self, context: Context, program: Span) -> bool {
        let ready = match self.ready {
            Ready::Now => true,
            Ready::AfterShare(share) => program >= share,
            Ready::OnSignal | Ready::AfterProgram => false,
        };
        ready && self.fixed.context == context
    }

    /// The context that executes its batches.
    #[inline]
    pub(super) fn context(&self) -> Context {
        self.fixed.context
    }

    /// Treatment of a packet in a batch.
    #[inline]
    pub fn protocol(&self) -> Protocol {
        self.fixed.protocol
    }

    /// Whether a packet takes two commands.
    pub(super) fn has_handshake(&self) -> bool {
        self.handshake
    }

    /// Whether it has commands and waits for the program to be idle.
    pub fn may_begin_without_program(&self) -> bool {
        matches!(self.ready, Ready::AfterProgram | Ready::AfterShare(_)) && self.has_commands()
    }

    /// A packet has arrived; a packet without a slot is `lost`, with the reason.
    #[inline]
    pub fn accept(&mut self, now: Time, packet: Arrived, mut lost: impl FnMut(Arrived, Dropped)) {
        let queue = self.queue_of(packet.class);
        if self.used[queue] >= self.slots[queue] {
            let room = match self.discard {
                Discard::Newest => false,
                Discard::Importance => self.make_room(now, queue, packet.due, &mut lost),
                Discard::Tag => self.displace(queue, packet.importance, &mut lost),
            };
            if !room {
                self.policy.lost(now);
                return lost(packet, Dropped::Ring);
            }
        }
        self.used[queue] += 1;
        self.report.longest_queue = self.report.longest_queue.max(self.used[0] + self.used[1]);
        self.post(now, packet, self.handshake);
    }

    fn queue_of(&self, class: Class) -> usize {
        usize::from(self.sharing.tells_classes_apart() && class == Class::BestEffort)
    }

    fn post(&mut self, now: Time, packet: Arrived, announces: bool) {
        let queue = self.queue_of(packet.class);
        self.queues[queue].push_back(InterfaceCommand { packet, posted: now, announces, refused: false });
        self.policy.posted(now);
    }

    /// The host's load from it. A promised buffer counts as free: otherwise a host that stops
    /// taking packets while few buffers are free would wait for packets that it does not take.
    ///
    /// Of a common pool all promised buffers count, for any interface: otherwise two interfaces
    /// with all buffers promised between them would wait for each other.
    pub fn load(&self, pool: Pool, backlog: u32, taken: u32, received: u32) -> Load {
        let (own, free, promised) = match &self.buffers {
            Some(buffers) => (buffers.own(), buffers.free(), buffers.promised()),
            None => (u32::MAX, u32::MAX, 0),
        };
        Load {
            waiting: self.waiting(),
            free: free.saturating_add(pool.empty),
            buffers: own.saturating_add(pool.all),
            promised: promised + (pool.empty - pool.left),
            backlog,
            taken,
            received,
        }
    }

    /// Whether another packet of `class` would find no buffer.
    fn is_full(&self, class: Class, pool: Pool) -> bool {
        self.buffers.as_ref().is_some_and(|buffers| !buffers.has_room(class, pool.left))
    }

    /// Buffers of the common pool that it has, and those of them that hold a packet.
    pub(super) fn of_pool(&self) -> (u32, u32) {
        self.buffers.as_ref().map_or((0, 0), |buffers| (buffers.of_pool(), buffers.filled_of_pool()))
    }

    fn waiting(&self) -> u32 {
        (self.queues[0].len() + self.queues[1].len()) as u32
    }

    /// Whether a command waits.
    pub fn has_commands(&self) -> bool {
        !(self.queues[0].is_empty() && self.queues[1].is_empty())
    }

    /// Whether its adapter ever interrupts, or is only polled.
    pub(super) fn interrupts(&self) -> bool {
        self.fixed.interrupts
    }

    /// Time of its next interrupt or tick.
    pub fn next_signal(&self, backlog: u32) -> Option<Time> {
        let interrupt = if self.fixed.interrupts { self.interrupt_at(backlog) } else { None };
        Time::earlier(interrupt, self.tick_at)
    }

    /// Earliest time of its next interrupt (a past time means now); `None` while no command waits
    /// or it may not interrupt.
    pub fn interrupt_at(&self, backlog: u32) -> Option<Time> {
        let oldest = |queue: &VecDeque<InterfaceCommand>| queue.front().map(|command| command.posted);
        let oldest = Time::earlier(oldest(&self.queues[0]), oldest(&self.queues[1]))?;
        self.policy.interrupt_at(&Posted { waiting: self.waiting(), oldest, backlog })
    }

    /// Time of its clock's next tick.
    pub fn tick_at(&self) -> Option<Time> {
        self.tick_at
    }

    /// Whether its clock has ticked; sets the next tick.
    pub fn ticked(&mut self, now: Time) -> bool {
        let Some((ticks, at)) = self.ticks.as_ref().zip(self.tick_at.filter(|at| *at <= now)) else {
            return false;
        };
        self.tick_at = Some(at.saturating_add(ticks.draw(&mut self.chance)));
        true
    }

    /// The next command of a batch, if it continues. Late packets are `lost` on the way, if the
    /// policy discards them.
    #[inline]
    pub fn take(
        &mut self,
        now: Time,
        (taken, received): (&mut BatchTaken, u32),
        (pool, backlog): (Pool, u32),
        mut lost: impl FnMut(Arrived, Dropped),
    ) -> Option<&InterfaceCommand> {
        let count = taken.real_time + taken.best_effort;
        if count >= self.fixed.quota || !self.policy.stays_with(|| self.load(pool, backlog, count, received))
        {
            return None;
        }
        loop {
            let waiting =
                Waiting { real_time: self.queues[0].len() as u32, best_effort: self.queues[1].len() as u32 };
            let class = self.sharing.next(waiting, *taken)?;
            let queue = usize::from(class == Class::BestEffort);
            // Copied in place: popping into a variable writes it twice.
            let commands = &mut self.queues[queue];
            self.taken = *commands.front()?;
            commands.pop_front();
            let (packet, announces) = (&self.taken.packet, self.taken.announces);
            if !self.handshake {
                self.used[queue] -= 1;
            }
            if self.discards_late(now, packet) {
                let packet = *packet;
                match announces {
                    true => self.used[queue] -= 1,
                    false => self.withdraw(packet.class),
                }
                lost(packet, Dropped::Late);
                continue;
            }
            self.taken.refused = !announces && self.refuses_last(packet.class, pool);
            match class {
                Class::RealTime => taken.real_time += 1,
                Class::BestEffort => taken.best_effort += 1,
            }
            return Some(&self.taken);
        }
    }

    /// The command taken last.
    #[inline]
    pub(super) fn taken(&self) -> &InterfaceCommand {
        &self.taken
    }

    /// Whether `packet` is discarded as late.
    pub(super) fn discards_late(&self, now: Time, packet: &Arrived) -> bool {
        self.discard == Discard::Importance && packet.due < now
    }

    /// Whether a packet of one command is refused before the protocol. With two it was refused at
    /// the first.
    fn refuses_last(&self, class: Class, pool: Pool) -> bool {
        self.early_drop && !self.handshake && self.is_full(class, pool)
    }

    /// The host handles an announcement: it gives an address, or refuses and returns the packet if
    /// there is no buffer.
    pub fn announced(&mut self, now: Time, packet: Arrived, pool: Pool) -> Option<Arrived> {
        if self.early_drop && self.is_full(packet.class, pool) {
            self.release_slot(packet.class);
            return Some(packet);
        }
        if let Some(buffers) = self.buffers.as_mut().filter(|_| self.early_drop) {
            buffers.promise(packet.class);
        }
        self.transfers.push_back(packet);
        if self.transfer_ends.is_none() {
            self.transfer_ends = Some(now + self.transfer.of(packet.size));
            self.transferred(now);
        }
        None
    }

    fn release_slot(&mut self, class: Class) {
        let queue = self.queue_of(class);
        self.used[queue] -= 1;
    }

    /// Posts the packets with a finished transfer; returns whether there were any.
    #[inline]
    pub fn transferred(&mut self, now: Time) -> bool {
        self.transfer_ends.is_some_and(|at| at <= now) && self.post_transferred(now)
    }

    fn post_transferred(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some(ended) = self.transfer_ends.filter(|at| *at <= now) {
            let packet = self.transfers.pop_front().expect("a transfer that ends has a packet");
            self.release_slot(packet.class);
            self.post(ended, packet, false);
            self.transfer_ends = self.transfers.front().map(|next| ended + self.transfer.of(next.size));
            any = true;
        }
        any
    }

    /// End of the current transfer.
    pub fn transfer_ends(&self) -> Option<Time> {
        self.transfer_ends
    }

    /// Whether there is a buffer for a packet after the protocol, or before a program that runs the
    /// protocol; fills it.
    pub fn keeps(&mut self, class: Class, pool: Pool) -> bool {
        let keeps = !self.is_full(class, pool);
        if let Some(buffers) = self.buffers.as_mut().filter(|_| keeps) {
            buffers.fill(class);
        }
        keeps
    }

    /// Cancels the promise for a packet after its last command was taken.
    pub fn withdraw(&mut self, class: Class) {
        if let Some(buffers) = self.buffers.as_mut().filter(|_| self.handshake && self.early_drop) {
            buffers.withdraw(class);
        }
    }

    /// The program has finished one of its packets.
    pub fn release_buffer(&mut self, class: Class) {
        if let Some(buffers) = &mut self.buffers {
            buffers.empty(class);
        }
    }

    /// Whether packets go to a program, or are delivered when the protocol is done.
    pub fn has_program(&self) -> bool {
        self.buffers.is_some()
    }

    /// Schedules a change of policy and clock.
    pub(super) fn change(&mut self, policy: Policy, ticks: Option<ClockTicks>) {
        self.next = Some((policy, ticks));
    }

    pub(super) fn is_to_change(&self) -> bool {
        self.next.is_some()
    }

    /// Applies the scheduled policy; `program` is the programs' CPU time.
    pub(super) fn turn_over(&mut self, now: Time, program: Span) {
        let Some((policy, ticks)) = self.next.take() else { return };
        self.tick_at = ticks.as_ref().map(|ticks| now + ticks.draw(&mut self.chance));
        (self.fixed, self.policy, self.ticks) = (policy.fixed(), policy, ticks);
        self.again(self.policy.first(), program);
    }

    /// Sets when the next batch begins; `program` is the programs' CPU time.
    pub fn again(&mut self, again: Again, program: Span) {
        self.ready = match again {
            Again::OnSignal => Ready::OnSignal,
            Again::AtOnce => Ready::Now,
            Again::AfterProgram => Ready::AfterProgram,
            Again::AfterShare(share) => Ready::AfterShare(program.saturating_add(share)),
        };
    }

    /// Packets in slots, and those in host memory with a waiting last command.
    pub fn held(&self) -> usize {
        let in_slots = (self.used[0] + self.used[1]) as usize;
        let moved = self.queues.iter().flatten().filter(|command| !command.is_in_slot());
        if self.handshake { in_slots + moved.count() } else { in_slots }
    }
}

/// Round-robin turn among interfaces.
#[derive(Debug, Clone, Copy, Default)]
pub struct InterfaceTurn(usize);

impl InterfaceTurn {
    /// The next of `count` interfaces for which `is` holds; it takes the turn.
    #[inline]
    pub fn find(&mut self, count: usize, is: impl Fn(usize) -> bool) -> Option<usize> {
        if count == 1 {
            return is(0).then_some(0);
        }
        let from = self.0.min(count);
        let found = (from..count).chain(0..from).find(|i| is(*i))?;
        self.0 = if found + 1 == count { 0 } else { found + 1 };
        Some(found)
    }
}
