//! Phases of a job at a station: they begin and end, and send responses to the host.

use laxity_qos::channel::Slot;
use laxity_qos::seldom::{mostly, seldom};
use laxity_units::Time;

use super::job::{At, Job};
use super::{AdapterResponse, PacketDirection, Passage, Pipeline, Tells, identity};
use crate::adapter::AdapterOutput;
use crate::around::Around;

impl Pipeline {
    /// Ends a phase, and begins the next if no response is due in between; returns whether it was
    /// the last.
    #[inline]
    pub(super) fn end_phase(
        &mut self,
        i: usize,
        n: usize,
        now: Time,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        let station = &mut self.stations[i];
        let job = &mut station.jobs[n];
        station.busy += job.pause(now);
        if seldom(job.next_part()) {
            self.unassigned = true;
            return false;
        }
        let next = job.phase + 1;
        let phase = &station.stage.phases[job.phase];
        if !phase.holds.is_empty() {
            // If it was the only contender, no other job waits for its resources.
            self.contenders -= 1;
            self.unassigned |= self.contenders > 0;
        }
        let (slot, tells, medium) = (job.slot, phase.tells, phase.medium);
        if seldom(phase.releases) {
            self.release(i, n, around);
        }
        if medium {
            self.requested = false;
            around.tell(AdapterOutput::Frame { packet: slot, more: self.has_more(i, now) });
        }
        if seldom(tells != Tells::Nothing) {
            self.stations[i].jobs[n].at = At::Telling;
            self.tell_host(i, n, around);
            return false;
        }
        if next < self.stations[i].stage.phases.len() {
            return self.begin_phase(i, n, next, now, around);
        }
        self.end_service(i, n, now, around);
        true
    }

    /// The last phase of a job is over.
    #[inline(never)]
    fn end_service(&mut self, i: usize, n: usize, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        let station = &mut self.stations[i];
        let job = &mut station.jobs[n];
        job.at = At::Leaving;
        station.passed += 1 + job.others.len() as u64;
        if self.recording {
            let (began, direction) = (job.began, station.direction);
            let stage = if direction == PacketDirection::Transmit { i } else { i - self.transmitting };
            for (slot, joined) in job.all() {
                let packet = identity(around.packets().at(slot));
                let passage = Passage { direction, stage, packet, joined, began, ended: now };
                around.tell(AdapterOutput::Passed(passage));
            }
        }
    }

    /// The packets of a job have been copied.
    #[inline(never)]
    fn release(&mut self, i: usize, n: usize, around: &mut impl Around<AdapterOutput<Slot>>) {
        let station = &self.stations[i];
        let buffers = match station.direction {
            PacketDirection::Transmit => &mut self.transmit_buffers,
            PacketDirection::Receive => &mut self.receive_buffers,
        };
        station.jobs[n].all().for_each(|(slot, _)| buffers.release(slot, around.packets().at(slot)));
    }

    /// Says that a phase is done, if the response queue has a place; answers whether it had.
    #[inline(never)]
    pub(super) fn tell_host(
        &mut self,
        i: usize,
        n: usize,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        let station = &self.stations[i];
        let Job { slot, phase, .. } = station.jobs[n];
        let handshake = station.stage.phases[phase].tells == Tells::Handshake;
        let response =
            if handshake { AdapterResponse::Handshake(slot) } else { AdapterResponse::Progress(slot) };
        if !self.has_room_for(&response, around) {
            return false;
        }
        self.stations[i].jobs[n].at = if handshake { At::Host } else { At::Next(phase + 1) };
        self.respond(response, around);
        true
    }

    /// The first phase from this number on that is for the packet begins; answers whether there was
    /// none, and it leaves.
    // Once, though two ask for it: it is the half of what an adapter does.
    #[inline(never)]
    pub(super) fn begin_phase(
        &mut self,
        i: usize,
        n: usize,
        from: usize,
        now: Time,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        let station = &mut self.stations[i];
        let job = &mut station.jobs[n];
        let packet = around.packets().at(job.slot);
        let size = packet.size;
        let number = match mostly(station.for_all) {
            true => (from < station.stage.phases.len()).then_some(from),
            false => station.stage.next_phase(from, size, &packet.tag),
        };
        let Some(number) = number else {
            self.end_service(i, n, now, around);
            return true;
        };
        let phase = &station.stage.phases[number];
        let delay = match mostly(job.others.is_empty()) {
            true => phase.time(size),
            false => job.time_together(phase, around.packets()),
        };
        job.enter(number, phase, (delay, phase.parts(size)), now);
        if phase.medium {
            job.left = job.left.max(self.description.link.transmit(size));
        }
        if phase.medium && !self.owns_link {
            job.at = At::Medium;
            job.left = job.left.max(self.shortest_frame);
            self.requested = true;
            around.tell(AdapterOutput::Request);
            return false;
        }
        if phase.holds.is_empty() {
            match job.left.is_zero() {
                true => self.unassigned = true,
                false => job.at = At::Running { since: now, ends: now + job.left },
            }
            return false;
        }
        if self.contenders == 0 && !self.unassigned {
            self.alone = Some(i);
        } else {
            self.unassigned = true;
        }
        self.contenders += 1;
        false
    }
}
