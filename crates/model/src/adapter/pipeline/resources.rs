//! Allocation of resources to phases.
//!
//! A phase holds all its resources or none, so no phase holds some while it waits and deadlock is
//! impossible. Rank decides: first a phase that is not preemptible keeps its resources; then
//! priority; then, at a resource that goes by it, the packet's urgency; then the current holder,
//! which saves needless changes; then the later stage, which drains the pipeline; then the older
//! packet. A phase in segments is preemptible between two of them: an urgent packet waits for a
//! cell and not for a packet. While the host copies, it alone holds the resources that it shares.
//! Where a resource is a bus of the host, the allocation covers all adapters at it (`crate::bus`).

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
    /// Starts the only job that wants resources, of station `i`, if all of them work; returns
    /// whether it runs.
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

    /// Runs the jobs that have their resources, and stops the others.
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

    /// The jobs that contend for resources; jobs that need none continue.
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

    /// Allocates this adapter's own resources by rank.
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

    /// Applies the allocation over all adapters at the bus to its phases.
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

    /// Attaches it to the buses of its node, before the run.
    pub(in crate::adapter) fn sit(&mut self, link: LinkId, buses: &mut Buses) {
        self.seat = buses.join(link, &self.description);
        // Another adapter may always want the bus: it is never alone.
        self.outsiders = usize::from(self.seat.is_some());
        self.contenders = self.outsiders;
        self.look_how_far();
    }

    /// Applies a changed allocation of its bus.
    pub(in crate::adapter) fn look_at_bus(
        &mut self,
        now: Time,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        self.unassigned = true;
        self.settle(now, around);
    }
}

/// Urgency of a packet with this tag, the smaller first: real time by its deadline, then best
/// effort.
fn urgency(tag: &Tag) -> (bool, Time) {
    match tag.class {
        Class::RealTime => (false, tag.deadline),
        Class::BestEffort => (true, Time::MAX),
    }
}

/// Rank of a job that wants resources, the smaller first: preemptible, priority, urgency where it
/// counts, waiting, its station counted from the end, its index there.
pub(crate) type Ranked = (bool, u8, (bool, Time), bool, usize, usize);
