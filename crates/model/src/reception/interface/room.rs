//! Packets that an interface discards to make room for others.

use laxity_qos::channel::Dropped;
use laxity_units::Time;

use super::{Interface, InterfaceCommand};
use crate::reception::Arrived;

impl Interface {
    /// Removes late packets from slots of `queue`, else the one with the latest deadline if that is
    /// after `due`; returns whether that freed a slot.
    pub(super) fn make_room(
        &mut self,
        now: Time,
        queue: usize,
        due: Time,
        lost: &mut dyn FnMut(Arrived, Dropped),
    ) -> bool {
        let handshake = self.handshake;
        let in_slot = move |command: &InterfaceCommand| command.is_in_slot() || !handshake;
        let before = self.used[queue];
        let used = &mut self.used[queue];
        self.queues[queue].retain(|command| {
            let late = in_slot(command) && command.packet.due < now;
            if late {
                *used -= 1;
                lost(command.packet, Dropped::Late);
            }
            !late
        });
        if *used < before {
            return true;
        }
        // Of equal deadlines the newest.
        let last = self.in_slots(queue).max_by_key(|(n, packet)| (packet.due, *n));
        let displaced = last.filter(|(_, packet)| packet.due > due).map(|(n, _)| n);
        self.discard(queue, displaced, lost)
    }

    /// Removes the packet of `queue` with the least importance, the newest of equals, if that is
    /// below `importance`; returns whether that freed a slot.
    pub(super) fn displace(
        &mut self,
        queue: usize,
        importance: u8,
        lost: &mut dyn FnMut(Arrived, Dropped),
    ) -> bool {
        let least = self.in_slots(queue).min_by_key(|(n, packet)| (packet.importance, usize::MAX - *n));
        let displaced = least.filter(|(_, packet)| packet.importance < importance).map(|(n, _)| n);
        self.discard(queue, displaced, lost)
    }

    /// The packets of `queue` that are in slots, and their places in it.
    fn in_slots(&self, queue: usize) -> impl Iterator<Item = (usize, &Arrived)> {
        let all = self.queues[queue].iter().enumerate();
        all.filter(|(_, command)| command.is_in_slot() || !self.handshake)
            .map(|(n, command)| (n, &command.packet))
    }

    /// Removes the packet at that place of `queue`; returns whether there is one.
    fn discard(
        &mut self,
        queue: usize,
        place: Option<usize>,
        lost: &mut dyn FnMut(Arrived, Dropped),
    ) -> bool {
        let Some(command) = place.and_then(|place| self.queues[queue].remove(place)) else { return false };
        self.used[queue] -= 1;
        lost(command.packet, Dropped::Displaced);
        true
    }
}
