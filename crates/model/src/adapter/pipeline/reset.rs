//! Losing packets: one to overload, a best-effort one for a real-time one, or all to a reset.

use laxity_qos::channel::Packet;
use laxity_qos::discipline::Class;
use laxity_units::Time;

use super::{Direction, Pipeline};
use crate::adapter::{AdapterOutput, Loss, Response};

impl Pipeline {
    pub(crate) fn reset(&mut self, now: Time) {
        let waiting: Vec<Packet> = self.commands.iter_mut().flat_map(std::mem::take).collect();
        for packet in waiting {
            self.fail(packet, Loss::Reset);
        }
        for i in 0..self.stations.len() {
            let direction = self.stations[i].direction;
            for packet in self.stations[i].sweep(now) {
                self.lose(direction, packet, Loss::Reset);
            }
        }
        if std::mem::take(&mut self.requested) {
            self.output.push_back(AdapterOutput::Withdraw);
        }
        self.stalled.fill(false);
        (self.refuses, self.stopped, self.due) = (false, false, None);
    }

    /// Takes the buffer of a waiting best-effort packet for `packet`, if it is of real time; answers whether it
    /// has one.
    pub(super) fn make_room(&mut self, now: Time, direction: Direction, packet: &Packet) -> bool {
        if packet.tag.class == Class::BestEffort {
            return false;
        }
        let stations = match direction {
            Direction::Transmit => 0..self.transmitting,
            Direction::Receive => self.transmitting..self.stations.len(),
        };
        // The one furthest from being done loses least.
        let Some(evicted) = self.stations[stations].iter_mut().find_map(|station| station.evict(now)) else {
            return false;
        };
        self.lose(direction, evicted, Loss::Overload);
        match direction {
            Direction::Transmit => self.transmit_buffers.take(packet),
            Direction::Receive => self.receive_buffers.take(packet),
        }
    }

    pub(super) fn lose_some(&mut self, direction: Direction, packet: Option<Packet>, loss: Loss) {
        if let Some(packet) = packet {
            self.lose(direction, packet, loss);
        }
    }

    /// A packet that has a buffer is lost.
    pub(super) fn lose(&mut self, direction: Direction, packet: Packet, loss: Loss) {
        match direction {
            Direction::Transmit => {
                self.transmit_buffers.give_back(&packet);
                self.fail(packet, loss);
            }
            Direction::Receive => {
                self.receive_buffers.give_back(&packet);
                self.output.push_back(AdapterOutput::Discarded(packet, loss));
            }
        }
    }

    /// A packet that has no buffer yet is lost.
    pub(super) fn fail(&mut self, packet: Packet, loss: Loss) {
        self.output.push_back(AdapterOutput::Response(Response::Failed(packet, loss)));
    }
}
