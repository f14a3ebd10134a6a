//! Commands: the path of packets from the host's queues to the first stage.
//!
//! A command queue is a mailbox, a FIFO of the adapter, or a ring of descriptors in the host's
//! memory. They differ in when an entry is freed: when the adapter has fetched it, or when it has
//! written back the packet's outcome. The first stage models the cost of fetching descriptors,
//! several at a time.

use std::collections::VecDeque;

use laxity_qos::channel::{Packet, Slot};
use laxity_qos::discipline::Tag;
use laxity_qos::seldom::{mostly, seldom};
use laxity_units::Time;

use super::policing::Verdict;
use super::station::Joined;
use super::{PacketDirection, Pipeline};
use crate::adapter::{AdapterOutput, CommandQueue, HostSide, Loss, Overload, QueueSelection, Release};
use crate::around::Around;

/// A queue of commands at work.
#[derive(Debug)]
pub(super) struct Ring {
    /// Commands not fetched yet, with the time of the adapter's notice.
    pub(super) waiting: VecDeque<(Slot, Time)>,
    slots: usize,
    release: Release,
    /// Entries that have been fetched and still have their place.
    fetched: usize,
}

impl Ring {
    /// The queues of `interface`, those that are spread one by one; and their numbers, the one to
    /// look at first before all.
    pub(super) fn all(interface: &HostSide) -> (Vec<Ring>, Vec<usize>) {
        let each = || interface.queues.iter().flat_map(|queue| (0..queue.spread).map(move |_| queue));
        let ring = |queue: &CommandQueue| Ring {
            waiting: VecDeque::new(),
            slots: queue.slots.map_or(usize::MAX, |slots| slots as usize),
            release: queue.release,
            fetched: 0,
        };
        let priorities: Vec<u8> = each().map(|queue| queue.priority).collect();
        let mut order: Vec<usize> = (0..priorities.len()).collect();
        order.sort_by_key(|n| priorities[*n]);
        (each().map(ring).collect(), order)
    }

    /// Entries in use.
    pub(super) fn occupied(&self) -> usize {
        self.waiting.len() + self.fetched
    }

    fn is_full(&self) -> bool {
        self.occupied() >= self.slots
    }

    /// Takes out the first command, whatever it is about.
    pub(super) fn take_back(&mut self) -> Option<(Slot, Time)> {
        let first = *self.waiting.front()?;
        self.remove(0);
        Some(first)
    }

    /// Takes out the command at `at`.
    fn remove(&mut self, at: usize) {
        if at == 0 {
            self.waiting.pop_front();
        } else {
            self.waiting.remove(at);
        }
        self.fetched += usize::from(self.release == Release::Completed);
    }
}

impl Pipeline {
    pub(in crate::adapter) fn transmit(
        &mut self,
        now: Time,
        slot: Slot,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        if self.set_out(now, slot, around) {
            return true;
        }
        self.stop(now, around);
        if mostly(self.is_plain) && mostly(self.takes_at_once(now, slot, around)) {
            self.settle(now, around);
            return true;
        }
        self.write(now, slot, around)
    }

    /// Whether the first stage takes the packet of a command before which none waits.
    #[inline]
    fn takes_at_once(
        &mut self,
        now: Time,
        slot: Slot,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        let waits = self.refuses || self.stopped || self.has_commands();
        let packet = around.packets().at(slot);
        if seldom(waits) || seldom(!self.transmit_buffers.take(packet)) {
            return false;
        }
        let joined = self.stations[0].join(now, slot, packet);
        if seldom(matches!(joined, Joined::Blocked)) {
            self.transmit_buffers.give_back(slot, packet);
            return false;
        }
        self.lose_late(0, around);
        self.lose_by(0, slot, &joined, around);
        true
    }

    /// A command waits in its queue, if that has a place, until the adapter looks there.
    #[inline(never)]
    fn write(&mut self, now: Time, slot: Slot, around: &mut impl Around<AdapterOutput<Slot>>) -> bool {
        // Only the first that takes it: in another it could overtake its channel's packets.
        let ring = self.ring_of(around.packets().at(slot));
        let ring = &mut self.rings[ring];
        if self.refuses || ring.is_full() {
            return false;
        }
        ring.waiting.push_back((slot, now + self.description.interface.doorbell));
        self.settle(now, around);
        true
    }

    fn ring_of(&self, packet: &Packet) -> usize {
        if self.rings.len() == 1 {
            return 0;
        }
        self.description.interface.command_queue(&packet.tag, packet.channel)
    }

    /// The host is notified of the outcome of `packet`, which frees its entry.
    pub(super) fn write_back(&mut self, packet: &Packet) {
        let ring = self.ring_of(packet);
        let ring = &mut self.rings[ring];
        if ring.release == Release::Completed {
            ring.fetched = ring.fetched.checked_sub(1).expect("an entry is written back once");
        }
    }

    /// Whether a command waits in a queue.
    #[inline]
    pub(super) fn has_commands(&self) -> bool {
        match &self.rings[..] {
            [ring] => !ring.waiting.is_empty(),
            rings => rings.iter().any(|ring| !ring.waiting.is_empty()),
        }
    }

    /// When the adapter next looks at its command queues, if anything is in them: one that polls at
    /// its next turn, another when it hears of what has been written.
    #[inline(never)]
    pub(super) fn next_look(&self, now: Time) -> Time {
        if self.stopped || !self.has_commands() {
            return Time::MAX;
        }
        match self.description.interface.poll {
            Some(poll) => now.next_multiple_of(poll),
            None => {
                let fronts = self.rings.iter().filter_map(|ring| ring.waiting.front());
                fronts.map(|(_, known)| *known).filter(|known| *known > now).min().unwrap_or(Time::MAX)
            }
        }
    }

    /// Takes commands in, as far as there are buffers and places in the first stage's queues.
    #[inline(never)]
    pub(super) fn fetch(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) -> bool {
        let poll = self.description.interface.poll;
        if poll.is_some_and(|poll| !now.is_multiple_of(poll)) {
            return false;
        }
        let (mut any, count) = (false, self.rings.len());
        match self.description.interface.selection {
            QueueSelection::Priority => {
                for n in 0..count {
                    let mut at = 0;
                    while self.fetch_one(self.by_priority[n], &mut at, now, around) {
                        any = true;
                    }
                }
            }
            QueueSelection::RoundRobin => {
                // Until none of them has given anything, one after the other.
                let mut idle = 0;
                while idle < count {
                    let ring = self.turn;
                    self.turn = (self.turn + 1) % count;
                    let fetched = self.fetch_one(ring, &mut 0, now, around);
                    idle = if fetched { 0 } else { idle + 1 };
                    any |= fetched;
                }
            }
        }
        any
    }

    /// Fetches one command of `ring`, from index `at` on, the first with a channel that does not
    /// have to wait; returns whether there was one.
    fn fetch_one(
        &mut self,
        ring: usize,
        at: &mut usize,
        now: Time,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        while let Some(&(slot, known)) = self.rings[ring].waiting.get(*at) {
            if known > now {
                return false;
            }
            let verdict = self.judge_command(now, around.packets().at(slot));
            let was = around.packets().at(slot).tag;
            if verdict == Verdict::Dropped {
                self.has_fetched(now, slot, (verdict, was), around.packets());
                self.rings[ring].remove(*at);
                self.fail(slot, Loss::Contract, around);
                return true;
            }
            if verdict == Verdict::Demoted {
                around.packets().at_mut(slot).tag = Tag::best_effort(now);
            }
            if !self.transmit_buffers.take(around.packets().at(slot)) {
                let blocks = self.transmit_buffers.overload() == Overload::Block;
                let evicts = self.transmit_buffers.overload() == Overload::Priority;
                if !evicts || !self.make_room(PacketDirection::Transmit, slot, around) {
                    around.packets().at_mut(slot).tag = was;
                    if blocks && self.transmit_buffers.is_by_channel() {
                        // Its connection waits, not those behind it.
                        *at += 1;
                        continue;
                    }
                    if blocks {
                        return false;
                    }
                    self.rings[ring].remove(*at);
                    self.fail(slot, Loss::Overload, around);
                    return true;
                }
            }
            let packet = around.packets().at(slot);
            let joined = self.stations[0].join(now, slot, packet);
            if let Joined::Blocked = joined {
                self.transmit_buffers.give_back(slot, packet);
                around.packets().at_mut(slot).tag = was;
                return false;
            }
            self.has_fetched(now, slot, (verdict, was), around.packets());
            self.lose_late(0, around);
            self.rings[ring].remove(*at);
            self.lose_by(0, slot, &joined, around);
            return true;
        }
        false
    }
}
