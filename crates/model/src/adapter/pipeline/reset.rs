//! Losing packets: one to overload, a best-effort one for a real-time one, or all to a reset.

use laxity_qos::channel::Slot;
use laxity_qos::discipline::Class;
use laxity_units::Time;

use super::job::Job;
use super::station::Joined;
use super::{PacketDirection, Pipeline};
use crate::adapter::{AdapterOutput, AdapterResponse, Loss};
use crate::around::Around;

impl Pipeline {
    pub(crate) fn reset(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        self.stop(now, around);
        self.responses.to_driver = true;
        self.write_waiting(around);
        for ring in 0..self.rings.len() {
            while let Some((slot, _)) = self.rings[ring].take_back() {
                self.fail(slot, Loss::Reset, around);
            }
        }
        for i in 0..self.stations.len() {
            let direction = self.stations[i].direction;
            let medium = self.stations[i].stage.phases.iter().position(|phase| phase.medium);
            let sent = |job: &Job| medium.is_some_and(|medium| job.is_past(medium));
            let sent = self.stations[i].jobs.iter().filter(|job| sent(job)).count();
            // Only one server sends, so the packet that was sent is the first to be swept.
            for (n, slot) in self.stations[i].sweep(now).into_iter().enumerate() {
                let loss = if n < sent { Loss::Unconfirmed } else { self.loss_at(i, Loss::Reset) };
                self.lose(direction, slot, loss, around);
            }
        }
        if std::mem::take(&mut self.requested) {
            around.tell(AdapterOutput::Withdraw);
        }
        self.responses.to_driver = false;
        self.look_ahead();
        self.stalled.fill(false);
        (self.refuses, self.stopped, self.hindered) = (false, false, false);
        (self.due, self.contenders) = (Time::MAX, self.outsiders);
        if let Some(seat) = self.seat {
            around.buses().contend(seat, now, (false, &self.stalled), std::iter::empty());
        }
    }

    /// Takes the buffer of a waiting best-effort packet for the one in `slot`, if that is of real
    /// time; answers whether it has one.
    pub(super) fn make_room(
        &mut self,
        direction: PacketDirection,
        slot: Slot,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        if around.packets().at(slot).tag.class == Class::BestEffort {
            return false;
        }
        let way = match direction {
            PacketDirection::Transmit => 0..self.transmitting,
            PacketDirection::Receive => self.transmitting..self.stations.len(),
        };
        // Packets that wait behind the copying stage have no buffer any more.
        let copies = |i: &usize| self.stations[*i].stage.phases.iter().any(|phase| phase.releases);
        let last = way.clone().find(copies);
        let mut stations = way.start..last.map_or(way.end, |last| last + 1);
        // The one furthest from being done loses least.
        let evicted = stations.find_map(|i| Some((i, self.stations[i].evict()?)));
        let Some((i, evicted)) = evicted else { return false };
        self.make_way(i);
        self.lose(direction, evicted, self.loss_at(i, Loss::Overload), around);
        match direction {
            PacketDirection::Transmit => self.transmit_buffers.take(around.packets().at(slot)),
            PacketDirection::Receive => self.receive_buffers.take(around.packets().at(slot)),
        }
    }

    /// The loss in station `i` for the reason `loss`: behind the medium the frame has left, and
    /// only its confirmation can be lost.
    #[cold]
    pub(super) fn loss_at(&self, i: usize, loss: Loss) -> Loss {
        let behind = self.link.as_ref().is_some_and(|link| i > *link.end() && i < self.transmitting);
        if behind { Loss::Unconfirmed } else { loss }
    }

    /// Reports the loss by `joined`, the result of the arrival of `slot` at station `i`: a replaced
    /// packet, or itself.
    #[inline]
    pub(super) fn lose_by(
        &mut self,
        i: usize,
        slot: Slot,
        joined: &Joined,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        let (lost, loss) = match *joined {
            Joined::Yes(None) | Joined::Blocked => return,
            Joined::Yes(Some(evicted)) => (evicted, Loss::Overload),
            Joined::Lost(loss) => (slot, loss),
        };
        self.lose(self.stations[i].direction, lost, self.loss_at(i, loss), around);
    }

    /// Reports the late packets of station `i` as lost.
    #[inline]
    pub(super) fn lose_late(&mut self, i: usize, around: &mut impl Around<AdapterOutput<Slot>>) {
        if !self.stations[i].late.is_empty() {
            self.lose_all_late(i, around);
        }
    }

    #[cold]
    #[inline(never)]
    fn lose_all_late(&mut self, i: usize, around: &mut impl Around<AdapterOutput<Slot>>) {
        while !self.stations[i].late.is_empty() {
            let slot = self.stations[i].late.remove(0);
            self.lose(self.stations[i].direction, slot, Loss::Late, around);
        }
    }

    /// A packet that has been taken in is lost.
    #[cold]
    #[inline(never)]
    pub(super) fn lose(
        &mut self,
        direction: PacketDirection,
        slot: Slot,
        loss: Loss,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        match direction {
            PacketDirection::Transmit => {
                self.transmit_buffers.give_back(slot, around.packets().at(slot));
                self.fail(slot, loss, around);
            }
            PacketDirection::Receive => {
                self.receive_buffers.give_back(slot, around.packets().at(slot));
                around.tell(AdapterOutput::Discarded(slot, loss));
            }
        }
    }

    /// A packet that has no buffer yet is lost.
    pub(super) fn fail(&mut self, slot: Slot, loss: Loss, around: &mut impl Around<AdapterOutput<Slot>>) {
        self.respond(AdapterResponse::Failed(slot, loss), around);
    }
}
