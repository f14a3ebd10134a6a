//! One model and one formula, made concrete for the channels that share the host.

use super::decision::{Deficit, Impossible, Reason, Scarce};
use super::environment::{Environment, Formula, Request, ResourceModel};
use super::population::Population;
use super::response::Task;
use super::terms::{Breakdown, ps};
use super::trajectory::{Beside, Charges};
use super::transmission::start;
use super::{handed, ideal, o1, o2, o3, papers};
use laxity_qos::channel::Role;

/// Properties common to all channels. Two populations with equal `Shared` demand the same of every
/// channel, so a newcomer that leaves it as it is leaves every service time as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shared {
    /// `W`, without interference.
    pub(super) wait: Breakdown,
    /// Time that bursts of work above the handlers add once.
    pub(super) bursts: u128,
    /// That work, as tasks above all channels.
    pub(super) activations: Vec<Task>,
    charges: Option<Charges>,
}

impl Shared {
    pub(super) fn new(environment: &Environment, population: &Population) -> Result<Self, Impossible> {
        if environment.formula != Formula::Corrected {
            let wait = papers::wait(environment, population);
            return Ok(Self { wait, bursts: 0, activations: Vec::new(), charges: None });
        }
        if population.never_yields {
            return Err((Scarce::Cpu, Deficit::Unbounded, Reason::BestEffortNeverYields));
        }
        let beside = Beside::of(environment, population);
        let charges = match environment.model {
            ResourceModel::Ideal => ideal::charges(environment, population, &beside),
            ResourceModel::O1 => o1::charges(environment, population, &beside),
            ResourceModel::O2 => o2::charges(environment, population, &beside),
            ResourceModel::O3 => o3::charges(environment, population),
            ResourceModel::Handed => handed::charges(environment, population),
            ResourceModel::Apart => o1::charges_of_cpu(environment, population),
            ResourceModel::ApartByThread => o2::charges_of_cpu(environment, population),
            ResourceModel::ApartHanded => handed::charges_of_cpu(environment, population),
            ResourceModel::Core => handed::charges_of_core(environment, population),
        }?;
        let mut shared = Self {
            wait: charges.wait.clone(),
            bursts: 0,
            activations: Vec::with_capacity(environment.interference.len()),
            charges: None,
        };
        let polled = match environment.model {
            ResourceModel::O1 | ResourceModel::Ideal => o1::polled(environment, population, 0),
            ResourceModel::O3 => o1::polled(environment, population, o3::thread(environment)),
            _ => None,
        };
        // The share that tasks take, in which one that does not fit by itself is a whole, and the
        // one that is asked for.
        let (mut taken, mut asked): (u128, u128) = (0, 0);
        for work in environment.interference.iter().chain(&beside.above).chain(&polled) {
            let cost = charges.activation(work);
            let task = Task::new(work.interval.as_ps(), cost);
            taken += task.map_or(Task::WHOLE, |task| u128::from(task.weight));
            asked = asked
                .saturating_add(cost.saturating_mul(Task::WHOLE) / u128::from(work.interval.as_ps().max(1)));
            shared.bursts = shared.bursts.saturating_add(cost.saturating_mul(u128::from(work.burst)));
            shared.activations.extend(task);
        }
        if taken >= Task::WHOLE {
            let share = Deficit::share_beyond(asked, Task::WHOLE);
            return Err((Scarce::Cpu, share, Reason::InterferenceTakesAll));
        }
        shared.charges = Some(charges);
        Ok(shared)
    }

    /// `S`.
    pub(super) fn service(&self, environment: &Environment, request: &Request) -> Breakdown {
        match &self.charges {
            Some(charges) => charges.service(environment, request).breakdown(),
            None => papers::service(environment, request.spec().max_message),
        }
    }

    /// `S` as a number.
    pub(super) fn demand(&self, environment: &Environment, request: &Request) -> u128 {
        match &self.charges {
            Some(charges) => charges.service(environment, request).total(),
            None => papers::service(environment, request.spec().max_message).picoseconds(),
        }
    }

    /// `W` and the bursts: what a response time starts from.
    pub(super) fn constant(&self) -> u128 {
        self.wait.picoseconds().saturating_add(self.bursts)
    }
}

/// Time that one message of `request` needs of the CPU, and of the link, at the least: it shows
/// which is short.
pub(super) fn shares(environment: &Environment, request: &Request) -> (u128, u128) {
    if let Some(work) = request.work() {
        let switches = u128::from(work.time.div_ceil(work.slice));
        return (ps(work.time) + switches * ps(environment.host.switch()), 0);
    }
    let fragmentation = request.spec().fragmentation(environment.packet);
    let n = fragmentation.packets();
    let host = &environment.host;
    let blocks = n.div_ceil(super::population::packets_per_block(environment.block_real_time, n));
    let switches = match environment.model {
        ResourceModel::Ideal => 0,
        ResourceModel::O1
        | ResourceModel::Handed
        | ResourceModel::Apart
        | ResourceModel::ApartHanded
        | ResourceModel::Core => u128::from(blocks),
        ResourceModel::O2 | ResourceModel::ApartByThread | ResourceModel::O3 => u128::from(blocks + n),
    };
    let cpu = super::population::protocol(environment, request.role(), (n, n)) + switches * ps(host.switch());
    if request.role() == Role::Receive {
        let read = request.program().map_or(0, |program| ps(program.work) + ps(host.switch()));
        return (cpu + ps(host.receive_message) + read, 0);
    }
    let cpu = cpu + u128::from(n) * start(environment);
    if !request.is_sent() {
        return (cpu, 0);
    }
    let link = u128::from(n - 1) * ps(environment.link.transmit(environment.packet))
        + ps(environment.link.transmit(fragmentation.last()));
    (cpu, link)
}
