//! Packets that an interface discards to make room for others.

use laxity_qos::channel::Dropped;
use laxity_units::Time;

use super::{Command, Interface};
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
        let in_slot = move |command: &Command| command.is_in_slot() || !handshake;
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
        let slots = self.queues[queue].iter().enumerate().filter(|(_, command)| in_slot(command));
        // Of equal deadlines the newest.
        let last = slots.max_by_key(|(n, command)| (command.packet.due, *n)).map(|(n, _)| n);
        let Some(last) = last.filter(|n| self.queues[queue][*n].packet.due > due) else { return false };
        let displaced = self.queues[queue].remove(last).expect("it is there").packet;
        self.used[queue] -= 1;
        lost(displaced, Dropped::Displaced);
        true
    }

    /// Removes the packet of `queue` with the least importance, the newest of equals, if that is
    /// below `importance`; returns whether that freed a slot.
    pub(super) fn displace(
        &mut self,
        queue: usize,
        importance: u8,
        lost: &mut dyn FnMut(Arrived, Dropped),
    ) -> bool {
        let handshake = self.handshake;
        let in_slot = |command: &Command| command.is_in_slot() || !handshake;
        let slots = self.queues[queue].iter().enumerate().filter(|(_, command)| in_slot(command));
        let least = slots.min_by_key(|(n, command)| (command.packet.importance, usize::MAX - *n));
        let least = least.filter(|(_, command)| command.packet.importance < importance);
        let Some(place) = least.map(|(n, _)| n) else { return false };
        let displaced = self.queues[queue].remove(place).expect("it is there").packet;
        self.used[queue] -= 1;
        lost(displaced, Dropped::Displaced);
        true
    }
}
