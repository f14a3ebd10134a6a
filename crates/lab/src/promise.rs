//! Admission of an experiment's channels: who is promised what before anything runs.
//!
//! An analysis speaks about one executable model. Where an experiment chooses policies that no analysis
//! covers, nothing is promised and the reason is said; a bound that might not hold is worse than none.
//!
//! Early work is covered whatever it may do. A handler or packet ahead of its time stands below everything
//! current, so to a message that is on time it is one more lower block, or one more lower packet in the adapter, which
//! `W` has for any channel; and what a message has had done early is not done again when it is due.

use laxity_model::host::Applications;
use laxity_qos::admission::{
    AdmissionTable, BestEffort, Bound, Breakdown, Decision, Environment, Formula, Interference, Refusal,
    Request, ResourceModel,
};
use laxity_qos::channel::{LinkParadigm, MessageOverflow, Order, Processing};
use laxity_qos::discipline::{Class, LEVELS};
use laxity_units::Span;

use crate::scenario::{Adapter, ChannelSpec, Experiment, SourceSpec};

/// What admission answered to an experiment.
#[derive(Debug, Clone)]
pub struct Promises {
    /// Whose formulas.
    pub formula: Formula,
    /// Per channel, in the experiment's order.
    pub channels: Vec<Promise>,
}

/// What admission answered to one channel.
#[derive(Debug, Clone)]
pub enum Promise {
    /// Best effort asks for nothing.
    BestEffort,
    /// Admitted, with the bound that holds with all channels in place.
    Admitted {
        /// The bound and what it is made of.
        bound: Bound,
        /// `W` term by term.
        wait: Breakdown,
        /// `S` term by term.
        service: Breakdown,
        /// Fixed-priority level, 0 the most urgent.
        level: u8,
    },
    /// Not admitted.
    Refused(Refusal),
}

impl Promise {
    /// The bound, if there is one.
    pub fn bound(&self) -> Option<Span> {
        match self {
            Promise::Admitted { bound, .. } => Some(bound.bound),
            Promise::BestEffort | Promise::Refused(_) => None,
        }
    }
}

/// Levels that real-time channels share; the last one is best effort's.
const REAL_TIME_LEVELS: u32 = LEVELS as u32 - 1;

/// Why no analysis covers an experiment's policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncovered(pub &'static str);

/// Admits the channels of `experiment` in order, by `formula`.
pub fn promises(experiment: &Experiment, formula: Formula) -> Result<Promises, Uncovered> {
    let environment = environment(experiment, formula)?;
    let mut table = AdmissionTable::new(environment).map_err(|_| Uncovered("the host is out of range"))?;
    let mut answers = Vec::new();
    for channel in &experiment.channels {
        let answer = request(channel).map(|request| request.map(|request| table.request(request)));
        answers.push(answer?);
    }
    let bounds = table.bounds();
    let levels = table.bounds_with_levels(REAL_TIME_LEVELS);
    let by_level = experiment.host.subsystem.order == Order::FixedPriority;
    let channels = experiment.channels.iter().zip(answers).map(|(channel, answer)| match answer {
        None => Promise::BestEffort,
        Some(Decision::Refused(refusal)) => Promise::Refused(refusal),
        Some(Decision::Admitted { id, .. }) => {
            let mut bound = *bounds.iter().find(|b| b.id == id).expect("an admitted channel has a bound");
            let level = levels.iter().find(|b| b.id == id).expect("an admitted channel has a level");
            if by_level {
                // Channels that share a level wait for each other, whatever their order.
                let shared = level.bound.unwrap_or(Span::MAX);
                bound.higher += shared.saturating_sub(bound.bound);
                bound.bound = bound.bound.max(shared);
            }
            let terms = (table.wait_time(&channel.spec), table.service_time(&channel.spec));
            let (Ok(wait), Ok(service)) = terms else { unreachable!("an admitted channel has terms") };
            Promise::Admitted { bound, wait, service, level: level.level as u8 }
        }
    });
    Ok(Promises { formula, channels: channels.collect() })
}

/// What admission by `formula` promises each channel of `experiment`: nothing without a formula, or where none covers it.
pub fn of_channels(experiment: &Experiment, formula: Option<Formula>) -> Vec<Promise> {
    let promises = formula.and_then(|formula| promises(experiment, formula).ok());
    promises
        .map_or_else(|| vec![Promise::BestEffort; experiment.channels.len()], |promises| promises.channels)
}

/// How many copies of channel `index` are admitted after all others; stops at `limit`.
pub fn fill(experiment: &Experiment, index: usize, formula: Formula, limit: u64) -> Result<u64, Uncovered> {
    let environment = environment(experiment, formula)?;
    let mut table = AdmissionTable::new(environment).map_err(|_| Uncovered("the host is out of range"))?;
    for (i, channel) in experiment.channels.iter().enumerate() {
        if i != index
            && let Some(request) = request(channel)?
        {
            table.request(request);
        }
    }
    let Some(copy) = request(&experiment.channels[index])? else { return Ok(0) };
    Ok((0..limit).take_while(|_| matches!(table.request(copy), Decision::Admitted { .. })).count() as u64)
}

/// `T_service` of the first channel's largest message, by `formula`.
pub fn service(experiment: &Experiment, formula: Formula) -> Option<Span> {
    let table = AdmissionTable::new(environment(experiment, formula).ok()?).ok()?;
    Some(table.service_time(&experiment.channels[0].spec).ok()?.total())
}

fn request(channel: &ChannelSpec) -> Result<Option<Request>, Uncovered> {
    let Some(deadline) = channel.deadline.filter(|_| channel.class == Class::RealTime) else {
        return Ok(None);
    };
    Request::new(channel.spec, deadline).map(Some).map_err(|_| Uncovered("a contract is out of range"))
}

fn environment(experiment: &Experiment, formula: Formula) -> Result<Environment, Uncovered> {
    let host = &experiment.host;
    let config = &host.subsystem;
    let Adapter::Null(link) = &experiment.adapter else {
        return Err(Uncovered("no analysis covers an adapter of several stages"));
    };
    let model = match (config.link.paradigm, config.preemption.immediate) {
        (LinkParadigm::O1, true) if host.ideal => ResourceModel::Ideal,
        (_, true) => return Err(Uncovered("immediate preemption is analysed for ideal resources under O1")),
        (LinkParadigm::O1, false) => ResourceModel::O1,
        (LinkParadigm::O2, false) => ResourceModel::O2,
        (LinkParadigm::Adapter, false) => {
            return Err(Uncovered("no analysis covers an adapter that schedules the link itself"));
        }
        (LinkParadigm::O3, false) => return Err(Uncovered("no analysis covers link scheduling by O3")),
    };
    match (config.order, config.link.order) {
        (Order::MultiClassEdf, Order::MultiClassEdf) | (Order::FixedPriority, Order::FixedPriority) => {}
        _ => {
            return Err(Uncovered(
                "bounds hold for CPU and link both under multi-class EDF, or both under fixed priorities",
            ));
        }
    }
    if !config.early.horizon.is_zero() && config.preemption.early != config.preemption.real_time {
        return Err(Uncovered("early handlers are analysed if they yield as often as current ones"));
    }
    let chosen = experiment.channels.iter().any(|channel| channel.level.is_some());
    if config.order == Order::FixedPriority && chosen {
        return Err(Uncovered("levels chosen by hand are not those that admission proves bounds for"));
    }
    if !config.enforcement {
        return Err(Uncovered("without traffic enforcement nothing bounds what the others send"));
    }
    if experiment.path.relays > 0
        && (host.costs.receive_packet > host.costs.packet || !host.costs.interrupt.is_zero())
    {
        // A relay's handler passes packets on: with these costs it does no more than one that makes them.
        return Err(Uncovered(
            "receiving a packet costs a relay more than the analysis charges for making one",
        ));
    }
    Ok(Environment {
        host: host.costs,
        link: *link,
        packet: config.packet,
        model,
        block_real_time: config.preemption.real_time,
        block_best_effort: config.preemption.best_effort,
        depth: config.link.depth,
        thread_per_message: config.processing == Processing::PerMessage,
        best_effort: experiment.channels.iter().filter_map(best_effort).collect(),
        interference: interference(experiment, formula)?,
        formula,
    })
}

/// What a channel sends without a guarantee: all of it, or what exceeds its contract.
fn best_effort(channel: &ChannelSpec) -> Option<BestEffort> {
    let excess = channel.message_overflow == MessageOverflow::BestEffort;
    (channel.class == Class::BestEffort || excess).then_some(BestEffort {
        max_message: channel.spec.max_message,
        min_message: channel.spec.min_message,
    })
}

/// Applications on the same CPU take it before any handler; the papers' formulas do not know them.
fn interference(experiment: &Experiment, formula: Formula) -> Result<Vec<Interference>, Uncovered> {
    let host = &experiment.host;
    if host.applications == Applications::Separate || formula == Formula::Papers {
        return Ok(Vec::new());
    }
    let of = |channel: &ChannelSpec| match &channel.source {
        SourceSpec::None | SourceSpec::Continuous(_) | SourceSpec::Closed { .. } => None,
        SourceSpec::Timed { parameters, .. } => Some(
            parameters
                .envelope()
                .map(|envelope| Interference {
                    cost: host.costs.switch() + host.costs.send_call * u64::from(envelope.batch),
                    burst: envelope.extra,
                    interval: envelope.every,
                })
                .ok_or(Uncovered("an application on this CPU sends at times that nothing bounds")),
        ),
    };
    experiment.channels.iter().filter_map(of).collect()
}
