//! The expected throughput of a receiving host, by the formulas of thesis chapter 7, beside a run's
//! measurements.

use laxity_admission::reception::ReceivingCosts;
use laxity_admission::reception::queueing::{Estimate, Polled};
use laxity_model::reception::{ActivityCost, ClockTicks};
use laxity_qos::reception::{Context, Operations, Policy};
use laxity_units::Span;

use crate::experiment::{ClockKind, EmulationSpec, Experiment, HostPlace, Pace};

/// A prediction for one interface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Prediction {
    /// All arrivals, up to the maximum loss-free receive rate.
    Flat(f64),
    /// Less and less past it, Eq. 7.2.
    Livelock(ReceivingCosts),
    /// The same with early drop.
    EarlyDrop(ReceivingCosts),
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

/// The estimate of queueing theory for a host that polls an interface from its kernel, with
/// `offered` packets a second; `None` for several interfaces, other policies, services that are not
/// exponential, and where classes are told apart.
pub(crate) fn queueing(experiment: &Experiment, offered: f64) -> Option<Estimate> {
    let [interface] = &experiment.lone_receiver()?.interfaces[..] else { return None };
    let config = &interface.config;
    let (Policy::Clocked(policy), Some(ticks)) = (&config.policy, &config.ticks) else { return None };
    let costs = &experiment.host(0).reception;
    // With a program there are two queues one after the other; with a handshake a packet arrives
    // twice.
    let alone = config.buffers.is_none() && !config.handshake && !config.sharing.tells_classes_apart();
    let exponential = matches!(costs.protocol, ActivityCost::Exponential(mean) if !mean.is_zero());
    if !alone || !exponential || offered <= 0.0 {
        return None;
    }
    let polled = Polled {
        interval: ticks.moments(),
        poll: costs.poll.mean().as_secs_f64(),
        quota: policy.quota,
        service: costs.protocol.mean().as_secs_f64(),
        // A slot is free again when its packet is in work.
        places: config.slots + 1,
    };
    polled.estimate(offered)
}

/// The formula for the experiment's one interface; `None` for several, for policies without one,
/// and for hosts with real costs, which the profile does not give.
pub(crate) fn capacity(experiment: &Experiment) -> Option<Prediction> {
    let EmulationSpec { host, pace, .. } = experiment.emulation;
    if experiment.clock == ClockKind::Real && (host == HostPlace::Kernel || pace == Pace::Native) {
        return None;
    }
    let [interface] = &experiment.lone_receiver()?.interfaces[..] else { return None };
    let config = &interface.config;
    let costs = &experiment.host(0).reception;
    let capacity = ReceivingCosts {
        commands: if config.handshake { 2 } else { 1 },
        interrupt: costs.interrupt.mean(),
        switch: costs.switch.mean(),
        protocol: costs.protocol.mean(),
        program: if config.buffers.is_some() { costs.program.mean() } else { Span::ZERO },
    };
    let interval = config.ticks.as_ref().map(ClockTicks::mean);
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
