//! Levels of an adapter for a trace: how full rings and queues are, and how busy resources.

use laxity_units::Time;

use super::Pipeline;
use super::job::At;
use crate::adapter::{AdapterBuffers, BufferPool};

impl Pipeline {
    /// Names of the levels, in the order of [`levels`](Self::levels).
    pub(in crate::adapter) fn level_names(&self) -> Vec<String> {
        let numbered = |what: &str, count: usize| -> Vec<String> {
            match count {
                1 => vec![what.to_string()],
                count => (0..count).map(|number| format!("{what} {number}")).collect(),
            }
        };
        let mut names = numbered("command ring", self.rings.len());
        if self.responses.is_bounded() {
            names.extend(numbered("response ring", self.responses.entries().count()));
        }
        names.extend(self.stages(Time::ZERO).map(|stage| format!("queue of {}", stage.name)));
        let resources = &self.description.resources;
        names.extend(self.held_resources().map(|index| format!("resource {}", resources[index].name)));
        let buffers = ["transmit buffers", "receive buffers"].into_iter().zip(self.limited_buffers());
        names.extend(buffers.filter(|(_, in_use)| in_use.is_some()).map(|(name, _)| name.to_string()));
        names
    }

    /// Appends the levels: entries in use of each ring, waiting packets of each stage, phases that
    /// hold each resource, and buffers in use.
    pub(in crate::adapter) fn levels(&self, levels: &mut Vec<u64>) {
        levels.extend(self.rings.iter().map(|ring| ring.occupied() as u64));
        if self.responses.is_bounded() {
            levels.extend(self.responses.entries().map(|entries| entries as u64));
        }
        levels.extend(self.stations.iter().map(|station| station.waiting() as u64));
        levels.extend(self.held_resources().map(|resource| self.holders(resource)));
        levels.extend(self.limited_buffers().into_iter().flatten());
    }

    /// Resources that some phase holds.
    fn held_resources(&self) -> impl Iterator<Item = usize> {
        let held = |resource: &usize| {
            let mut phases = self.stations.iter().flat_map(|station| &station.stage.phases);
            phases.any(|phase| phase.holds.contains(resource))
        };
        (0..self.description.resources.len()).filter(held)
    }

    /// Number of running phases that hold `resource`.
    fn holders(&self, resource: usize) -> u64 {
        let running = self.stations.iter().flat_map(|station| {
            let running = station.jobs.iter().filter(|job| matches!(job.at, At::Running { .. }));
            running.map(|job| &station.stage.phases[job.phase])
        });
        running.filter(|phase| phase.holds.contains(&resource)).count() as u64
    }

    /// Buffers in use on the transmit and the receive side, where they are limited.
    fn limited_buffers(&self) -> [Option<u64>; 2] {
        let of =
            |buffers: &AdapterBuffers, in_use: u64| (buffers.pool != BufferPool::Unlimited).then_some(in_use);
        [
            of(&self.description.transmit_buffers, self.transmit_buffers.in_use()),
            of(&self.description.receive_buffers, self.receive_buffers.in_use()),
        ]
    }
}
