//! Fast path of an adapter without processing times.
//!
//! If no step takes time, the adapter finishes a doorbell or a message at the instant of its
//! arrival, so the firmware can find no other event in between. The results of tasks and engines
//! are then known, without simulation of polls, queues and units:
//!
//! ```text
//! send      doorbell ▸ descriptor ▸ program ▸ data: Moved ▸ hand over: Departs ▸ network ▸ status: Sent ▸ finish
//! receive   doorbell ▸ descriptor ▸ note: Posted
//! message   network ▸ program ▸ data: Moved ▸ status: Received ▸ finish
//! ```
//!
//! This holds under a parallel firmware with unlimited memory and no queue outside. With step
//! reports on, each step is simulated. A test requires equal outputs and reports both ways.

use laxity_units::Time;

use super::report::ViDirection::{Receive, Send};
use super::{
    Engines, Firmware, FirmwareCosts, Unit, ViDoorbell, ViLimits, ViMessage, ViStep, Via, ViaConfig,
    ViaOutput, lane_of,
};

/// Processor tasks and HDMA transfers of a doorbell or a message.
struct Takes {
    tasks: u64,
    transfers: u64,
}

const SEND: Takes = Takes { tasks: 6, transfers: 3 };
const POST: Takes = Takes { tasks: 2, transfers: 1 };
const RECEIVE: Takes = Takes { tasks: 4, transfers: 2 };
const DISCARD: Takes = Takes { tasks: 1, transfers: 0 };

impl ViaConfig {
    /// Whether each input is complete before the next one.
    pub(super) fn is_at_once(&self) -> bool {
        let Self { firmware, costs, engines, limits } = self;
        let ViLimits { send_buffers, receive_buffers, nsdma_queue: _, guard: _, best_effort, doorbells: _ } =
            limits;
        !firmware.is_sequential()
            && *costs == FirmwareCosts::FREE
            && *engines == Engines::FREE
            && best_effort.is_none()
            && *send_buffers != Some(0)
            && *receive_buffers != Some(0)
    }
}

impl Via {
    /// Handles a doorbell completely.
    pub(super) fn ring_at_once(&mut self, now: Time, doorbell: ViDoorbell) {
        self.report.longest_doorbells = self.report.longest_doorbells.max(1);
        self.hdma.queue.pass();
        let in_turn = self.apart.as_mut().is_some_and(|apart| {
            let (lane, size) = lane_of(doorbell, &self.endpoints);
            let (_, in_turn) = apart.pass(lane, size, now, false);
            in_turn
        });
        match doorbell {
            ViDoorbell::Send(message) | ViDoorbell::Answer(message) => {
                self.nsdma.queue.pass();
                if self.apart.is_none() && self.config.firmware == Firmware::QualityOfService {
                    let endpoint = &mut self.endpoints[message.vi as usize];
                    let tick = endpoint.vtick.map(|vtick| vtick.of(message.size));
                    endpoint.sends.stamp(now, tick);
                }
                if self.buffers.is_some() {
                    self.freed = now;
                }
                self.did_at_once(&SEND, Some(Unit::Nsdma), ViStep::OF_SENDER);
                self.tell(now, ViaOutput::Moved(Send, message));
                self.tell(now, ViaOutput::Departs(ViMessage { in_turn, ..message }));
                self.tell(now, ViaOutput::Sent(message));
            }
            ViDoorbell::Receive(vi) => {
                let descriptors = &mut self.endpoints[vi as usize].descriptors;
                *descriptors = descriptors.map(|count| count + 1);
                self.did_at_once(&POST, None, &[]);
                self.tell(now, ViaOutput::Posted(vi));
            }
        }
    }

    /// Handles a message completely.
    pub(super) fn reach_at_once(&mut self, now: Time, message: ViMessage) {
        self.nrdma.pass(&message, now);
        let endpoint = &mut self.endpoints[message.vi as usize];
        match endpoint.descriptors.as_mut().filter(|_| !message.directed) {
            Some(0) => {
                self.did_at_once(&DISCARD, Some(Unit::Nrdma), &[]);
                self.tell(now, ViaOutput::Dropped(message));
                return;
            }
            Some(descriptors) => *descriptors -= 1,
            None => {}
        }
        if self.apart.is_none() && self.config.firmware == Firmware::QualityOfService {
            let tick = endpoint.vtick.map(|vtick| vtick.of(message.size));
            endpoint.receives.stamp(now, tick);
        }
        self.hdma.queue.pass();
        self.did_at_once(&RECEIVE, Some(Unit::Nrdma), ViStep::OF_RECEIVER_AHEAD);
        self.tell(now, ViaOutput::Moved(Receive, message));
        self.tell(now, ViaOutput::Received(message));
    }

    fn did_at_once(&mut self, takes: &Takes, network: Option<Unit>, steps: &[ViStep]) {
        debug_assert!(self.backlog() == 0, "whatever was told before is over");
        let units = &mut self.report.units;
        units[Unit::Processor as usize].count += takes.tasks;
        units[Unit::Hdma as usize].count += takes.transfers;
        if let Some(unit) = network {
            units[unit as usize].count += 1;
        }
        self.report.steps.note_at_once(steps);
    }
}
