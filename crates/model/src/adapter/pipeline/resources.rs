//! Who has which resource.
//!
//! A phase holds all its resources or none, so nobody waits with something in his hands and nothing can
//! lock up. Rank decides: a phase that may not be interrupted keeps what it has; then priority; then, at a resource that goes by
//! that, how urgent its packet is; among equals the one that has it already, which saves pointless changes; then the later stage, which
//! drains the pipeline; then the older packet. What is done in parts has nothing between two of them, so who is before it then
//! goes first: an urgent packet waits for a cell and not for a packet. What the host has while it copies nobody else has. Where one of the resources is a bus of the host,
//! the same is decided for all adapters at it (`crate::bus`).

use laxity_qos::channel::{LinkId, Slot};
use laxity_qos::discipline::{Class, Tag};
use laxity_units::Time;

use super::Pipeline;
use super::job::At;
use super::station::Station;
use crate::adapter::AdapterOutput;
use crate::around::Around;
use crate::bus::Buses;

impl Pipeline {
    /// Lets the job of station `i` run that has begun to want resources when nobody else had or wanted any, if all of them work; answers
    /// whether it does.
    #[inline]
    pub(super) fn gives(&mut self, i: usize, now: Time) -> bool {
        let station = &mut self.stations[i];
        let Some(job) = station.jobs.iter_mut().find(|job| matches!(job.at, At::Phase)) else { return false };
        let holds = &station.stage.phases[job.phase].holds;
        let works = self.copying == Time::ZERO && holds.iter().all(|resource| !self.stalled[*resource]);
        if works {
            let ends = now + job.left;
            job.at = At::Running { since: now, ends };
            station.ends = station.ends.min(ends);
        }
        works
    }

    /// Lets those jobs run that have their resources, and stops the others.
    #[inline(never)]
    pub(super) fn assign(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        let mut order = self.rank(now, around);
        if let Some(seat) = self.seat {
            self.contend(seat, now, &order, around.buses());
        } else {
            self.give_out(now, &mut order);
        }
        order.clear();
        self.ranks = order;
        self.stations.iter_mut().for_each(Station::rest);
    }

    /// Whoever wants resources, and is not alone with what he wants; who wants none goes on.
    #[inline]
    fn rank(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) -> Vec<Ranked> {
        let mut order = std::mem::take(&mut self.ranks);
        self.contenders = self.outsiders;
        for (i, station) in self.stations.iter_mut().enumerate() {
            for (n, job) in station.jobs.iter_mut().enumerate() {
                let running = match job.at {
                    At::Phase => false,
                    At::Running { .. } => true,
                    _ => continue,
                };
                let phase = &station.stage.phases[job.phase];
                if phase.holds.is_empty() && !self.stopped {
                    if !running {
                        job.at = At::Running { since: now, ends: now + job.left };
                    }
                    continue;
                }
                self.contenders += usize::from(!phase.holds.is_empty());
                let urgent = phase.holds.iter().any(|r| self.description.resources[*r].urgent);
                let urgency = match urgent {
                    true => urgency(&around.packets().at(job.slot).tag),
                    false => (false, Time::ZERO),
                };
                let keeps = running && phase.holds.iter().any(|r| !self.description.resources[*r].preemptive);
                order.push((!keeps, phase.priority, urgency, !running, usize::MAX - i, n));
            }
        }
        order
    }

    /// Gives what this adapter has to itself to those who are first.
    #[inline]
    fn give_out(&mut self, now: Time, order: &mut [Ranked]) {
        if order.len() > 1 {
            order.sort_unstable();
        }
        for turn in 0..order.len() {
            let (.., i, n) = order[turn];
            let i = usize::MAX - i;
            let holds = &self.stations[i].stage.phases[self.stations[i].jobs[n].phase].holds;
            let free = |resource: usize| {
                let taken = order[..turn].iter().filter(|(.., i, n)| {
                    let station = &self.stations[usize::MAX - *i];
                    let job = &station.jobs[*n];
                    job.ends().is_some() && station.stage.phases[job.phase].holds.contains(&resource)
                });
                let copied = self.copying != Time::ZERO && self.description.resources[resource].host;
                !self.stalled[resource]
                    && !copied
                    && taken.count() < self.description.resources[resource].servers as usize
            };
            let runs = !self.stopped && holds.iter().all(|resource| free(*resource));
            let station = &mut self.stations[i];
            station.busy += station.jobs[n].go_on(runs, now);
        }
    }

    /// Does what is decided of its phases by all that are at the bus.
    #[inline(never)]
    fn contend(&mut self, seat: usize, now: Time, order: &[Ranked], buses: &mut Buses) {
        let stations = &self.stations;
        let phase = |(.., i, n): &Ranked| stations[usize::MAX - *i].jobs[*n].phase;
        let wants = order.iter().map(|ranked| (*ranked, phase(ranked)));
        buses.contend(seat, now, (self.stopped, &self.stalled), wants);
        for (place, (.., i, n)) in order.iter().enumerate() {
            let station = &mut self.stations[usize::MAX - *i];
            station.busy += station.jobs[*n].go_on(buses.goes_on(seat, place), now);
        }
    }

    /// It is in a node that has these buses, before the run.
    pub(in crate::adapter) fn sit(&mut self, link: LinkId, buses: &mut Buses) {
        self.seat = buses.join(link, &self.description);
        // Whatever it wants, somebody else may want the bus: it is never alone.
        self.outsiders = usize::from(self.seat.is_some());
        self.contenders = self.outsiders;
        self.look_how_far();
    }

    /// Others at its bus have let go of it, or have taken it.
    pub(in crate::adapter) fn look_at_bus(
        &mut self,
        now: Time,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        self.unassigned = true;
        self.settle(now, around);
    }
}

/// How urgent a packet with this tag is, the smaller first: best effort after real time, and that by its deadline.
fn urgency(tag: &Tag) -> (bool, Time) {
    match tag.class {
        Class::RealTime => (false, tag.deadline),
        Class::BestEffort => (true, Time::MAX),
    }
}

/// A job that wants resources, the smaller first: whether it can be interrupted, priority, how urgent it is where that counts, whether it has
/// nothing yet, its station counted from the end, its place there.
pub(crate) type Ranked = (bool, u8, (bool, Time), bool, usize, usize);
