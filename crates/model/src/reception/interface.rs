//! An interface: what the adapter holds and has posted, and what the host has for it.
//!
//! It owns no CPU and no clock. A simulated host has its interfaces to itself; a real one shares each with the adapter that
//! another thread emulates, as both would share the adapter's registers.

use std::collections::VecDeque;

use laxity_engine::Stream;
use laxity_qos::discipline::Class;
use laxity_qos::reception::sharing::{Taken, Waiting};
use laxity_qos::reception::{Again, Load, Operations, Policy, Posted, Sharing};
use laxity_units::{Span, Time};

use super::{Arrived, InterfaceConfig, InterfaceReport, Ticks};
use crate::adapter::Delay;

/// What the adapter asks the host to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// What it is about.
    pub packet: Arrived,
    /// When it was posted.
    pub posted: Time,
    /// A packet is there; another command follows when the host has said where to put it.
    pub announces: bool,
    /// There is no buffer for its packet, and the host spends nothing more on it.
    pub refused: bool,
}

impl Command {
    /// Whether it brings a packet.
    pub fn receives(&self) -> bool {
        !self.announces && !self.refused
    }

    /// Whether its packet lies with the adapter still: until its transfer.
    pub fn is_in_slot(&self) -> bool {
        self.announces
    }
}

/// When an interface's next batch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// With the next signal.
    OnSignal,
    /// As soon as its context has the CPU.
    Now,
    /// When the program has nothing left.
    AfterProgram,
    /// When the program has had so much of the CPU since the beginning, or has nothing left.
    AfterShare(Span),
}

#[derive(Debug)]
/// An adapter's receiving side, with what the host has for it.
pub struct Interface {
    /// When the host takes what has come.
    pub policy: Policy,
    /// When its next batch begins.
    pub ready: Ready,
    /// What it has been through.
    pub report: InterfaceReport,
    sharing: Sharing,
    /// Commands by class; all in the first if classes are not told apart.
    queues: [VecDeque<Command>; 2],
    /// Packets in slots, by class likewise.
    used: [u32; 2],
    slots: [u32; 2],
    handshake: bool,
    early_drop: bool,
    /// Packets whose transfer waits or is under way, and when that of the first ends.
    transfers: VecDeque<Arrived>,
    transfer_ends: Option<Time>,
    transfer: Delay,
    /// Receive buffers; those that hold a packet for the program, and those that are promised to one on its way.
    buffers: Option<u32>,
    full: u32,
    promised: u32,
    ticks: Option<Ticks>,
    tick_at: Option<Time>,
    chance: Stream,
}

impl Interface {
    /// One that holds nothing, and draws the ticks of its clock from `chance`.
    pub fn new(config: InterfaceConfig, mut chance: Stream) -> Self {
        let tick_at = config.ticks.as_ref().map(|ticks| Time::ZERO + ticks.draw(&mut chance));
        let mut interface = Self {
            ready: Ready::OnSignal,
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
            buffers: config.buffers,
            full: 0,
            promised: 0,
            ticks: config.ticks,
            tick_at,
            chance,
        };
        interface.again(interface.policy.first(), Span::ZERO);
        interface
    }

    /// A packet is whole; gives it back if there is no slot.
    pub fn accept(&mut self, now: Time, packet: Arrived) -> Result<(), Arrived> {
        let queue = self.queue_of(packet.class);
        if self.used[queue] >= self.slots[queue] {
            self.policy.lost(now);
            return Err(packet);
        }
        self.used[queue] += 1;
        self.report.longest_queue = self.report.longest_queue.max(self.used[0] + self.used[1]);
        self.post(now, packet, self.handshake);
        Ok(())
    }

    fn queue_of(&self, class: Class) -> usize {
        usize::from(self.sharing.tells_classes_apart() && class == Class::BestEffort)
    }

    fn post(&mut self, now: Time, packet: Arrived, announces: bool) {
        let queue = self.queue_of(packet.class);
        self.queues[queue].push_back(Command { packet, posted: now, announces, refused: false });
        self.policy.posted(now);
    }

    /// What the host has of it. A promised buffer counts as free: were it not, a host that takes nothing while few are free
    /// would wait for packets that it does not take.
    pub fn load(&self, backlog: u32, taken: u32, received: u32) -> Load {
        let buffers = self.buffers.unwrap_or(u32::MAX);
        Load {
            waiting: self.waiting(),
            free: buffers - self.full,
            buffers,
            promised: self.promised,
            backlog,
            taken,
            received,
        }
    }

    /// Whether a packet more would find no buffer.
    fn is_full(&self) -> bool {
        self.buffers.is_some_and(|buffers| self.full + self.promised >= buffers)
    }

    fn waiting(&self) -> u32 {
        (self.queues[0].len() + self.queues[1].len()) as u32
    }

    /// Whether a command waits.
    pub fn has_commands(&self) -> bool {
        !(self.queues[0].is_empty() && self.queues[1].is_empty())
    }

    /// When it next interrupts or its clock ticks.
    pub fn next_signal(&self, backlog: u32) -> Option<Time> {
        Time::earlier(self.interrupt_at(backlog), self.tick_at)
    }

    /// When it may next interrupt, a time that has passed being now; `None` while nothing waits or it may not.
    pub fn interrupt_at(&self, backlog: u32) -> Option<Time> {
        let oldest = |queue: &VecDeque<Command>| queue.front().map(|command| command.posted);
        let oldest = Time::earlier(oldest(&self.queues[0]), oldest(&self.queues[1]))?;
        self.policy.interrupt_at(&Posted { waiting: self.waiting(), oldest, backlog })
    }

    /// When its clock ticks next.
    pub fn tick_at(&self) -> Option<Time> {
        self.tick_at
    }

    /// Whether its clock has ticked; the next tick is then set.
    pub fn ticked(&mut self, now: Time) -> bool {
        let Some((ticks, at)) = self.ticks.as_ref().zip(self.tick_at.filter(|at| *at <= now)) else {
            return false;
        };
        self.tick_at = Some(at.saturating_add(ticks.draw(&mut self.chance)));
        true
    }

    /// The command that a batch takes next, if it goes on.
    pub fn take(&mut self, taken: &mut Taken, received: u32, backlog: u32) -> Option<Command> {
        let count = taken.real_time + taken.best_effort;
        if count >= self.policy.quota() || !self.policy.stays(&self.load(backlog, count, received)) {
            return None;
        }
        let waiting =
            Waiting { real_time: self.queues[0].len() as u32, best_effort: self.queues[1].len() as u32 };
        let class = self.sharing.next(waiting, *taken)?;
        let queue = usize::from(class == Class::BestEffort);
        let mut command = self.queues[queue].pop_front()?;
        command.refused = !command.announces && self.refuses_last();
        match class {
            Class::RealTime => taken.real_time += 1,
            Class::BestEffort => taken.best_effort += 1,
        }
        if !self.handshake {
            self.used[queue] -= 1;
        }
        Some(command)
    }

    /// Whether a packet of one command is refused before the protocol. With two it was refused at the first.
    fn refuses_last(&self) -> bool {
        self.early_drop && !self.handshake && self.is_full()
    }

    /// The host has heard that a packet is there: it says where to put it, or that there is no room, and has it back.
    pub fn announced(&mut self, now: Time, packet: Arrived) -> Option<Arrived> {
        if self.early_drop && self.is_full() {
            self.release_slot(packet.class);
            return Some(packet);
        }
        self.promised += u32::from(self.early_drop && self.buffers.is_some());
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

    /// Posts the packets whose transfer has ended.
    pub fn transferred(&mut self, now: Time) {
        while let Some(ended) = self.transfer_ends.filter(|at| *at <= now) {
            let packet = self.transfers.pop_front().expect("a transfer that ends has a packet");
            self.release_slot(packet.class);
            self.post(ended, packet, false);
            self.transfer_ends = self.transfers.front().map(|next| ended + self.transfer.of(next.size));
        }
    }

    /// When the transfer under way ends.
    pub fn transfer_ends(&self) -> Option<Time> {
        self.transfer_ends
    }

    /// The protocol is done with a packet, or the program is to do it: whether there is a buffer for it.
    pub fn keeps(&mut self) -> bool {
        if self.handshake && self.early_drop {
            self.promised -= 1;
        }
        let keeps = !self.is_full();
        self.full += u32::from(keeps);
        keeps
    }

    /// The program has done with a packet of its.
    pub fn release_buffer(&mut self) {
        self.full -= 1;
    }

    /// Whether packets go to a program, or are delivered when the protocol is done.
    pub fn has_program(&self) -> bool {
        self.buffers.is_some()
    }

    /// Sets when the next batch begins, the program having had `program` of the CPU.
    pub fn again(&mut self, again: Again, program: Span) {
        self.ready = match again {
            Again::OnSignal => Ready::OnSignal,
            Again::AtOnce => Ready::Now,
            Again::AfterProgram => Ready::AfterProgram,
            Again::AfterShare(share) => Ready::AfterShare(program.saturating_add(share)),
        };
    }

    /// Whether the adapter itself knows whose a packet is, so that the host need not find out.
    pub fn is_sorted_by_adapter(&self) -> bool {
        matches!(&self.policy, Policy::Lazy(lazy) if lazy.is_by_adapter())
    }

    /// Packets in slots, and those in host memory whose last command waits.
    pub fn held(&self) -> usize {
        let in_slots = (self.used[0] + self.used[1]) as usize;
        let moved = self.queues.iter().flatten().filter(|command| !command.is_in_slot());
        if self.handshake { in_slots + moved.count() } else { in_slots }
    }
}
