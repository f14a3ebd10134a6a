//! What a host that receives can be expected to deliver, by the formulas of thesis chapter 7, beside what a run measures.

use laxity_model::reception::Ticks;
use laxity_qos::reception::{Capacity, Context, Operations, Policy};
use laxity_units::Span;

use crate::experiment::Experiment;

/// A prediction for one interface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Prediction {
    /// All that comes, up to the maximum loss-free receive rate.
    Flat(f64),
    /// Less and less past it, Eq. 7.2.
    Livelock(Capacity),
    /// The same with early drop.
    EarlyDrop(Capacity),
}

impl Prediction {
    /// Packets a second delivered of `offered`.
    pub(crate) fn of(self, offered: f64) -> f64 {
        match self {
            Prediction::Flat(most) => offered.min(most),
            Prediction::Livelock(capacity) => capacity.per_command_delivered(offered),
            Prediction::EarlyDrop(capacity) => capacity.early_drop_delivered(offered),
        }
    }
}

/// The formula for the experiment's one interface; `None` for several, and for policies without one.
pub(crate) fn capacity(experiment: &Experiment) -> Option<Prediction> {
    let [interface] = &experiment.interfaces[..] else { return None };
    let config = &interface.config;
    let costs = &experiment.host(0).reception;
    let capacity = Capacity {
        commands: if config.handshake { 2 } else { 1 },
        interrupt: costs.interrupt.mean(),
        switch: costs.switch.mean(),
        protocol: costs.protocol.mean(),
        program: if config.buffers.is_some() { costs.program.mean() } else { Span::ZERO },
    };
    let interval = config.ticks.as_ref().map(Ticks::mean);
    match &config.policy {
        Policy::PerCommand(policy) if policy.context() == Context::Routine && config.buffers.is_some() => {
            Some(if config.early_drop {
                Prediction::EarlyDrop(capacity)
            } else {
                Prediction::Livelock(capacity)
            })
        }
        Policy::Continuous(policy) => Some(Prediction::Flat(capacity.continuous(policy.quota))),
        Policy::Timed(policy) => Some(Prediction::Flat(capacity.timed(interval?, policy.quota))),
        Policy::Clocked(policy) => {
            Some(Prediction::Flat(capacity.clocked(interval?, costs.poll.mean(), policy.quota)))
        }
        _ => None,
    }
}
