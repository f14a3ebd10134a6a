//! A run of the right shape and no meaning: what may be asked of an experiment's results before
//! anything has run.

use std::collections::BTreeSet;

use laxity_model::host::Use;
use laxity_qos::discipline::Class;

use crate::assembly::{COPIES, resource_names, user_of_bus};
use crate::experiment::{ClockKind, Experiment};
use crate::figures;
use crate::results::{Channel, Computation, RealTime, ResourceResults, Run, StageResults, Summary};

/// The run of `experiment` at `point`, as far as its names go.
pub fn stub(experiment: &Experiment, point: &[usize]) -> Run {
    let some = || Some(Summary { count: 1, ..Summary::default() });
    let channels = experiment.channels.iter().map(|spec| {
        let real_time = spec.class == Class::RealTime;
        let promised = real_time.then_some(1.0);
        let asked = experiment.signalling().filter(|_| real_time).map(|_| 1);
        Channel {
            name: spec.name.clone(),
            class: if real_time { "real_time" } else { "best_effort" }.into(),
            reserved: promised,
            deadline: promised,
            bound: promised,
            bound_papers: promised,
            worst: promised,
            on_time: promised,
            offered: 1.0,
            throughput: 1.0,
            goodput: 1.0,
            messages: 1,
            completed: 1,
            packets: 1,
            delivered: Some(1),
            delivered_late: real_time.then_some(0),
            backlog: real_time.then_some(1),
            backlog_bound: real_time.then_some(1),
            jitter_duration: promised,
            jitter_fraction: promised,
            jitter_fraction_bound: promised,
            jittered: promised,
            laxity: some().filter(|_| real_time),
            latency: some(),
            sojourn: some(),
            queueing: some(),
            access: some(),
            delivery: some(),
            requests: asked,
            established: asked,
            refused_requests: asked,
            changed: asked,
            refused_changes: asked,
            lost: asked,
            unexpected: asked,
            blocking: asked.map(|_| 1.0),
            blocking_half: asked.map(|_| 1.0),
            establishment: some().filter(|_| asked.is_some()),
            establishment_worst: asked.map(|_| 1.0),
            establishment_bound: asked.map(|_| 1.0),
            establishment_queue: asked,
            ..Channel::default()
        }
    });
    let names = resource_names(experiment);
    // A host that receives at interfaces has uses of its own.
    let receiving: Vec<String> =
        experiment.receivers().iter().map(|at| format!("cpu{}", experiment.suffix(at.node))).collect();
    let used = |name: &String| name.starts_with("cpu") && !receiving.contains(name);
    let uses = || Use::ALL.map(|used| (used.name().to_string(), 0.0)).into();
    let attached = || experiment.nodes.iter().flat_map(|node| &node.adapters);
    let sharing = || {
        let users = attached().map(|adapter| user_of_bus(adapter.name.as_deref()));
        users.chain([COPIES]).map(|user| (user.to_string(), 0.0)).collect()
    };
    let resource = |name: &String| ResourceResults {
        name: name.clone(),
        uses: match name {
            name if used(name) => uses(),
            _ if experiment.signalling().is_some() => {
                let kinds = crate::assembly::managed::KINDS;
                kinds.map(|kind| (kind.to_string(), 0.0)).into()
            }
            name if name.starts_with("bus ") => sharing(),
            _ => Default::default(),
        },
        ..ResourceResults::default()
    };
    let stage = |name: &String| StageResults { name: name.clone(), ..StageResults::default() };
    let computations = (0..experiment.nodes.len()).flat_map(|node| {
        experiment.host(node).computing.iter().map(move |spec| {
            let promised = spec.budget.map(|_| 1.0);
            Computation {
                name: format!("{}{}", spec.name, experiment.suffix(node)),
                budget_share: promised,
                progress: 1.0,
                budgets: 1,
                deadline: promised,
                bound: promised,
                worst: promised,
                response: some().filter(|_| spec.budget.is_some()),
                ..Computation::default()
            }
        })
    });
    let figures = figures::ALL.iter().flat_map(|(name, _)| {
        let nodes = 0..experiment.nodes.len();
        let here = nodes.flat_map(|node| {
            let of_adapters = experiment.links_of(node).map(move |link| experiment.suffix_of(node, link));
            let suffixes: BTreeSet<String> = of_adapters.chain([experiment.suffix(node)]).collect();
            suffixes.into_iter().map(|suffix| format!("{name}{suffix}"))
        });
        here.chain([(*name).to_string()]).map(|name| (name, 1.0)).collect::<Vec<_>>()
    });
    Run {
        point: point.to_vec(),
        simulated: 1.0,
        window: 1.0,
        channels: channels.collect(),
        resources: names.iter().map(resource).collect(),
        stages: names.iter().map(stage).collect(),
        computations: computations.collect(),
        real_time: (experiment.clock == ClockKind::Real).then(RealTime::default),
        figures: figures.collect(),
        answers: Vec::new(),
    }
}
