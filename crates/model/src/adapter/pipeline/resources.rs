//! Who has which resource.
//!
//! A phase holds all its resources or none, so nobody waits with something in his hands and nothing can
//! lock up. Rank decides: a phase that may not be interrupted keeps what it has; then priority; among equals
//! the one that has it already, which saves pointless changes; then the later stage, which drains the
//! pipeline; then the older packet.

use laxity_units::Time;

use super::Pipeline;
use super::station::{At, Station};

impl Pipeline {
    /// Lets those jobs run that have their resources, and stops the others.
    pub(super) fn assign(&mut self, now: Time) {
        let mut order = std::mem::take(&mut self.ranks);
        self.contenders = 0;
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
                let keeps = running && phase.holds.iter().any(|r| !self.description.resources[*r].preemptive);
                order.push((!keeps, phase.priority, !running, usize::MAX - i, n));
            }
        }
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
                !self.stalled[resource]
                    && taken.count() < self.description.resources[resource].servers as usize
            };
            let runs = !self.stopped && holds.iter().all(|resource| free(*resource));
            let station = &mut self.stations[i];
            let job = &mut station.jobs[n];
            match (runs, job.ends()) {
                (true, None) => job.at = At::Running { since: now, ends: now + job.left },
                (false, Some(_)) => station.busy += job.pause(now),
                _ => {}
            }
        }
        order.clear();
        self.ranks = order;
        self.stations.iter_mut().for_each(Station::rest);
    }
}

/// A job that wants resources, the smaller first: whether it can be interrupted, priority, whether it has nothing yet,
/// its station counted from the end, its place there.
pub(super) type Ranked = (bool, u8, bool, usize, usize);
