//! The generic adapter, which executes a description.
//!
//! Each direction is a sequence of stations, one per stage; both share the resources. After each
//! input, [`Pipeline::settle`] advances the whole until no more can happen at that instant:
//! finished phases lead to the next, free servers take packets, free resources are allocated by
//! rank. A packet stays in one slot from its command to its response; only the slot's name moves.
//! It is thesis Figure 4.4 with one addition: a stage may refuse a packet, and the server before it
//! then keeps it, so that a short queue behind a scheduled one does not undo its order.

mod commands;
mod express;
mod job;
mod levels;
mod link;
mod phases;
mod policing;
mod pool;
mod reset;
mod resources;
mod responses;
mod station;
#[cfg(test)]
mod tests;

use laxity_qos::channel::{ChannelId, Packet, Slot};
use laxity_qos::discipline::Groups;
use laxity_qos::seldom::{mostly, seldom};
use laxity_units::{Span, Time};

use super::{
    AdapterBreakdown, AdapterOutput, AdapterResponse, Description, Loss, Overload, Passage, Release, Tells,
};
use crate::around::Around;
use commands::Ring;
use express::Express;
use job::At;
use policing::{Policer, Verdict};
use pool::Buffering;
pub(crate) use resources::Ranked;
use responses::Responses;
use station::{Joined, Station};

/// Direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketDirection {
    /// From the host to the medium.
    Transmit,
    /// From the medium to the host.
    Receive,
}

/// Statistics of a stage since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageReport {
    /// Its name, with the prefix `rx ` on the receive side.
    pub name: String,
    /// Busy time, summed over servers.
    pub busy: Span,
    /// Packets that wait in it now.
    pub waiting: usize,
    /// Maximum number that waited.
    pub longest: usize,
    /// Packets that have passed it.
    pub passed: u64,
}

/// An adapter that executes a [`Description`].
#[derive(Debug)]
pub struct Pipeline {
    description: Description,
    /// The stations of both directions, transmit stations first.
    stations: Vec<Station>,
    /// Number of transmit stations.
    transmitting: usize,
    /// The stations that count as having a frame for the medium: the one with the phase on it, and
    /// before it those that only select.
    link: Option<std::ops::RangeInclusive<usize>>,
    /// The stations with a limit on packets selected ahead.
    choosing: Vec<usize>,
    /// The command queues, and their order by priority.
    rings: Vec<Ring>,
    by_priority: Vec<usize>,
    /// The queue after the one fetched from last, for taking turns.
    turn: usize,
    transmit_buffers: Buffering,
    receive_buffers: Buffering,
    transmit_policer: Option<Policer>,
    receive_policer: Option<Policer>,
    responses: Responses,
    /// Per resource: stalled, so it serves no phase.
    stalled: Vec<bool>,
    /// Until when the host holds the resources that it shares; [`Time::ZERO`] if it does not.
    copying: Time,
    refuses: bool,
    stopped: bool,
    /// Minimum frame time; shorter frames are padded.
    shortest_frame: Span,
    /// The medium is its own.
    owns_link: bool,
    /// A frame waits for the medium or is on it.
    requested: bool,
    /// Time of the next due call; `Time::MAX` for never.
    due: Time,
    /// Resources have to be allocated again.
    unassigned: bool,
    /// The station of the only job that wants resources, which has just begun to, and so gets all
    /// that work.
    alone: Option<usize>,
    /// Commands are taken at once and responses always fit: one command queue, polled without
    /// delay, with entries free when the adapter has them, no policing, unlimited responses, no
    /// selection ahead.
    is_plain: bool,
    /// Some fault is active.
    hindered: bool,
    /// Jobs that hold or want a resource, plus one if outsiders do.
    contenders: usize,
    /// 1 if others may want the resources that it holds, else 0.
    outsiders: usize,
    /// Its seat at a shared bus.
    seat: Option<usize>,
    /// Packets on the express path, in none of the stations.
    express: Express,
    /// Empty between two calls; kept to reuse its memory.
    ranks: Vec<Ranked>,
    recording: bool,
}

/// Channel, message and number of a packet, as in a [`Passage`].
fn identity(packet: &Packet) -> (ChannelId, u64, u32) {
    (packet.channel, packet.message, packet.index)
}

impl Pipeline {
    /// An idle adapter; panics on an invalid description.
    pub fn new(description: Description) -> Self {
        if let Err(flaw) = description.check() {
            panic!("a description is checked when it is read: {flaw:?}");
        }
        let transmitting = description.transmit.len();
        let ways = [
            (PacketDirection::Transmit, &description.transmit),
            (PacketDirection::Receive, &description.receive),
        ];
        let stations: Vec<Station> = ways
            .into_iter()
            .flat_map(|(direction, stages)| {
                stages.iter().map(move |stage| Station::new(stage.clone(), direction))
            })
            .collect();
        let link = stations.iter().position(|station| station.stage.phases.iter().any(|phase| phase.medium));
        let selects = |station: &&Station| station.stage.phases.iter().all(|phase| phase.work);
        let link = link.map(|link| link - stations[..link].iter().rev().take_while(selects).count()..=link);
        let (rings, by_priority) = Ring::all(&description.interface);
        let choosing: Vec<usize> =
            (0..stations.len()).filter(|i| stations[*i].stage.ahead.is_some()).collect();
        let interface = &description.interface;
        let responses = Responses::new(interface);
        let one_queue = matches!(&interface.queues[..], [queue] if queue.spread == 1 && queue.release == Release::Fetched);
        let at_once = interface.poll.is_none() && interface.doorbell.is_zero();
        let unpoliced = description.transmit_policing.is_none();
        let is_plain = one_queue && at_once && unpoliced && !responses.is_bounded() && choosing.is_empty();
        let mut all = Self {
            rings,
            by_priority,
            turn: 0,
            transmit_buffers: Buffering::new(description.transmit_buffers),
            receive_buffers: Buffering::new(description.receive_buffers),
            transmit_policer: description.transmit_policing.map(Policer::new),
            receive_policer: description.receive_policing.map(Policer::new),
            responses,
            stalled: vec![false; description.resources.len()],
            copying: Time::ZERO,
            stations,
            transmitting,
            choosing,
            link,
            description,
            refuses: false,
            stopped: false,
            shortest_frame: Span::ZERO,
            owns_link: false,
            requested: false,
            due: Time::MAX,
            unassigned: false,
            alone: None,
            is_plain,
            hindered: false,
            contenders: 0,
            outsiders: 0,
            seat: None,
            express: Express::new(transmitting),
            ranks: Vec::new(),
            recording: false,
        };
        all.look_ahead();
        all.look_how_far();
        all
    }

    /// Sets the groups of channels that have a common rate, before the run.
    pub(super) fn group(&mut self, groups: &Groups) {
        self.stations.iter_mut().for_each(|station| station.group(groups));
    }

    /// Its description.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Statistics of its stages until `now`, transmit stages first.
    pub fn stages(&self, now: Time) -> impl Iterator<Item = StageReport> {
        self.stations.iter().enumerate().map(move |(i, station)| {
            let mut report = station.report(now);
            self.add_unseen(i, &mut report, now);
            report
        })
    }

    pub(super) fn record(&mut self) {
        self.recording = true;
    }

    pub(super) fn proceed(
        &mut self,
        now: Time,
        packet: &Packet,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        let jobs = self.stations.iter_mut().flat_map(|station| &mut station.jobs);
        let mut asked =
            jobs.filter(|job| job.at == At::Host && around.packets().at(job.slot).is_same(packet));
        // A command for a packet that a reset removed is ignored.
        if let Some(job) = asked.next() {
            job.at = At::Next(job.phase + 1);
        }
        self.stations.iter_mut().for_each(Station::rest);
        self.settle(now, around);
    }

    pub(super) fn receive(&mut self, now: Time, slot: Slot, around: &mut impl Around<AdapterOutput<Slot>>) {
        self.meet(now, around);
        if !self.stopped && self.judge_frame(now, around.packets().at_mut(slot)) == Verdict::Dropped {
            return around.tell(AdapterOutput::Discarded(slot, Loss::Contract));
        }
        if self.stopped || !self.receive_buffers.take(around.packets().at(slot)) {
            let makes_room = self.receive_buffers.overload() == Overload::Priority && !self.stopped;
            if !makes_room || !self.make_room(PacketDirection::Receive, slot, around) {
                return around.tell(AdapterOutput::Discarded(slot, Loss::Overload));
            }
        }
        if self.transmitting == self.stations.len() {
            self.complete(PacketDirection::Receive, slot, around);
        } else {
            let first = self.transmitting;
            match self.stations[first].join(now, slot, around.packets().at(slot)) {
                Joined::Blocked => self.lose(PacketDirection::Receive, slot, Loss::Overload, around),
                joined => self.lose_by(first, slot, &joined, around),
            }
            self.lose_late(first, around);
        }
        self.settle(now, around);
    }

    pub(super) fn break_down(
        &mut self,
        now: Time,
        breakdown: AdapterBreakdown,
        broken: bool,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        self.stop(now, around);
        match breakdown {
            AdapterBreakdown::Stall(resource) => self.stalled[resource] = broken,
            AdapterBreakdown::FullQueues => self.refuses = broken,
            AdapterBreakdown::Stop => self.stopped = broken,
        }
        self.hindered = self.refuses || self.stopped || self.stalled.contains(&true);
        self.unassigned = true;
        self.settle(now, around);
    }

    /// The host's CPU holds the shared resources for `span`, after any copy in progress.
    pub(super) fn copies(&mut self, now: Time, span: Span, around: &mut impl Around<AdapterOutput<Slot>>) {
        if self.description.resources.iter().any(|resource| resource.host) {
            self.stop(now, around);
            self.copying = self.copying.max(now) + span;
            self.unassigned = true;
            self.settle(now, around);
        }
    }

    pub(super) fn timer(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        self.arrive(now, around);
        self.send(now, around);
        self.settle(now, around);
        self.look_behind(now, around);
    }

    #[inline]
    pub(super) fn due(&self) -> Time {
        self.due
    }

    pub(super) fn held(&self) -> usize {
        let commands: usize = self.rings.iter().map(|ring| ring.waiting.len()).sum();
        let answers = self.responses.waiting();
        self.express.held() + commands + answers + self.stations.iter().map(Station::held).sum::<usize>()
    }

    pub(super) fn buffers_in_use(&self) -> u64 {
        self.transmit_buffers.in_use() + self.receive_buffers.in_use()
    }

    /// Maximum number of received frames in it at a time.
    pub(super) fn most_received(&self) -> u64 {
        self.receive_buffers.most()
    }

    fn settle(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        if seldom(self.copying != Time::ZERO) && self.copying <= now {
            (self.copying, self.unassigned) = (Time::ZERO, true);
        }
        loop {
            let mut moved = false;
            if mostly(!self.stopped) {
                moved |= seldom(self.responses.waiting() > 0) && self.write_waiting(around);
                moved |= seldom(self.has_commands()) && self.fetch(now, around);
                for i in 0..self.stations.len() {
                    if self.stations[i].stirs(now) {
                        moved |= self.work(i, now, around);
                    }
                }
            }
            match (std::mem::take(&mut self.unassigned), self.alone.take()) {
                (false, None) => {}
                (false, Some(i)) if self.gives(i, now) => {}
                _ => self.assign(now, around),
            }
            if seldom(!self.choosing.is_empty()) {
                self.look_ahead();
            }
            let (mut ends, mut astir) = (Time::MAX, false);
            for station in &self.stations {
                ends = ends.min(station.ends);
                astir |= station.astir;
            }
            if seldom(self.stopped) {
                ends = Time::MAX;
            }
            // Stations are in path order, so a packet goes as far as it can in one pass. Another
            // pass serves movement against that order, freed slots, and phases of zero time.
            let waits = self.has_commands();
            let again = ends <= now || moved && (astir || waits);
            if !again {
                self.due = ends.min(self.express.due());
                if waits {
                    self.due = self.due.min(self.next_look(now));
                }
                if seldom(self.copying != Time::ZERO) && self.contenders > self.outsiders && !self.stopped {
                    self.due = self.due.min(self.copying);
                }
                return;
            }
        }
    }

    /// Advances station `i` as far as possible at `now`; returns whether it changed.
    fn work(&mut self, i: usize, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) -> bool {
        let mut moved = false;
        loop {
            let mut n = 0;
            while let Some(at) = self.stations[i].jobs.get(n).map(|job| job.at) {
                let leaves = match at {
                    At::Running { ends, .. } if ends <= now => self.end_phase(i, n, now, around),
                    At::Next(phase) => self.begin_phase(i, n, phase, now, around),
                    At::Leaving if !self.stations[i].blocked && self.leave(i, n, now, around) => false,
                    At::Telling if self.tell_host(i, n, around) => false,
                    _ => {
                        n += 1;
                        continue;
                    }
                };
                moved = true;
                // A packet that leaves moves the next one to its index.
                if leaves && !self.leave(i, n, now, around) {
                    n += 1;
                }
            }
            if seldom(!self.choosing.is_empty()) {
                self.look_ahead();
            }
            let station = &mut self.stations[i];
            let took = station.take(now);
            if seldom(!station.late.is_empty()) {
                moved = true;
                self.lose_late(i, around);
            }
            if !took {
                self.stations[i].rest();
                return moved;
            }
            self.make_way(i);
            moved = true;
        }
    }

    /// Sets how many packets each station may select ahead, by the state of its next stage.
    #[inline(never)]
    fn look_ahead(&mut self) {
        for n in 0..self.choosing.len() {
            let i = self.choosing[n];
            let Some(ahead) = self.stations[i].stage.ahead else { continue };
            let next = &self.stations[i + 1];
            let serves = u64::from(next.stage.servers) * u64::from(next.stage.batch);
            let gate = (serves + u64::from(ahead)).saturating_sub(next.held() as u64);
            self.stations[i].open(gate as usize);
        }
    }

    /// Passes a finished packet of station `i` on; returns whether it could go.
    #[inline(never)]
    fn leave(
        &mut self,
        i: usize,
        n: usize,
        now: Time,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        let station = &self.stations[i];
        let (slot, direction) = (station.jobs[n].slot, station.direction);
        let next = i + 1;
        if next == self.transmitting || next == self.stations.len() {
            let response = match direction {
                PacketDirection::Transmit => AdapterResponse::Transmitted(slot),
                PacketDirection::Receive => AdapterResponse::Received(slot),
            };
            if !self.has_room_for(&response, around) && !self.is_lossy(&response, around) {
                return false;
            }
            self.stations[i].let_go(n);
            self.make_way(i);
            self.complete(direction, slot, around);
            return true;
        }
        let joined = self.stations[next].join(now, slot, around.packets().at(slot));
        if let Joined::Blocked = joined {
            self.stations[i].blocked = self.stations[next].stays_full();
            return false;
        }
        self.lose_by(next, slot, &joined, around);
        self.lose_late(next, around);
        self.stations[i].let_go(n);
        self.make_way(i);
        true
    }

    /// A packet has left a line or a server of station `i`: a packet that is blocked before it tries
    /// again.
    #[inline]
    fn make_way(&mut self, i: usize) {
        if let Some(before) = i.checked_sub(1) {
            let before = &mut self.stations[before];
            before.astir |= std::mem::take(&mut before.blocked);
        }
    }

    /// A packet has passed its last stage.
    #[inline]
    fn complete(
        &mut self,
        direction: PacketDirection,
        packet: Slot,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        match direction {
            PacketDirection::Transmit => {
                self.transmit_buffers.give_back(packet, around.packets().at(packet));
                if self.link.is_none() {
                    let more = !self.express.is_empty()
                        || self.stations[..self.transmitting].iter().any(|s| !s.is_empty());
                    around.tell(AdapterOutput::Frame { packet, more });
                }
                self.respond(AdapterResponse::Transmitted(packet), around);
            }
            PacketDirection::Receive if !self.has_room_for(&AdapterResponse::Received(packet), around) => {
                self.lose(PacketDirection::Receive, packet, Loss::Overload, around);
            }
            PacketDirection::Receive => {
                self.receive_buffers.give_back(packet, around.packets().at(packet));
                self.respond(AdapterResponse::Received(packet), around);
            }
        }
    }
}
