//! Commands: how packets get from the host's queues into the first stage.

use laxity_qos::channel::Slot;
use laxity_units::Time;

use super::station::Joined;
use super::{Direction, Pipeline};
use crate::adapter::{AdapterOutput, Loss, Overload};
use crate::around::Around;

impl Pipeline {
    pub(in crate::adapter) fn transmit(
        &mut self,
        now: Time,
        slot: Slot,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        let class = around.packets().at(slot).tag.class;
        // Only the first that takes it: in another it could overtake its channel's packets.
        let mut queues = self.description.interface.queues.iter().zip(&mut self.commands);
        let queue = queues.find(|(queue, _)| queue.takes.admits(class));
        let (queue, waiting) = queue.expect("every class has a queue that takes its commands");
        if self.refuses || queue.slots.is_some_and(|slots| waiting.len() >= slots as usize) {
            return false;
        }
        waiting.push_back(slot);
        self.settle(now, around);
        true
    }

    /// Whether a command waits in a queue.
    pub(super) fn has_commands(&self) -> bool {
        self.commands.iter().any(|queue| !queue.is_empty())
    }

    /// When an adapter that polls next looks at its command queues, if anything is in them.
    pub(super) fn next_look(&self, now: Time) -> Time {
        match self.description.interface.poll {
            Some(poll) if !self.stopped && self.has_commands() => now.next_multiple_of(poll),
            _ => Time::MAX,
        }
    }

    /// Takes commands in, as far as there are buffers and places in the first stage's queues.
    pub(super) fn fetch(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) -> bool {
        let poll = self.description.interface.poll;
        if poll.is_some_and(|poll| !now.is_multiple_of(poll)) {
            return false;
        }
        let mut any = false;
        for n in 0..self.by_priority.len() {
            let queue = self.by_priority[n];
            let mut at = 0;
            while let Some(&slot) = self.commands[queue].get(at) {
                let packet = around.packets().at(slot);
                if !self.transmit_buffers.take(packet) {
                    let blocks = self.transmit_buffers.overload() == Overload::Block;
                    if blocks && self.transmit_buffers.is_per_channel() {
                        // Its connection waits, not those behind it.
                        at += 1;
                        continue;
                    }
                    if blocks {
                        break;
                    }
                    let evicts = self.transmit_buffers.overload() == Overload::Priority;
                    if !evicts || !self.make_room(now, Direction::Transmit, slot, around) {
                        self.commands[queue].remove(at);
                        self.fail(slot, Loss::Overload, around);
                        any = true;
                        continue;
                    }
                }
                let packet = around.packets().at(slot);
                match self.stations[0].join(now, slot, &packet.tag) {
                    Joined::Blocked => {
                        self.transmit_buffers.give_back(packet);
                        break;
                    }
                    Joined::Yes(evicted) => {
                        self.lose_some(Direction::Transmit, evicted, Loss::Overload, around);
                    }
                    Joined::Lost => self.lose(Direction::Transmit, slot, Loss::Overload, around),
                }
                if at == 0 {
                    self.commands[queue].pop_front();
                } else {
                    self.commands[queue].remove(at);
                }
                any = true;
            }
        }
        any
    }
}
