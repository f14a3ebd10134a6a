//! Results of the right shape and no meaning, to try scripts on before anything has run.

use rhai::EvalAltResult;

use super::answers::Answers;
use super::{ClaimError, Court, Judge, record, slip};
use crate::results::{Axis, Channel, Provenance, RealTime, Resource, Results, Run, Stage, Summary};
use crate::scenario::{ClockKind, Experiment};
use crate::world;
use laxity_qos::discipline::Class;

/// Sweeps of more points are not tried: it would take longer than it saves.
const MOST_POINTS: usize = 2000;

/// The run of `experiment` at `point`, as far as its names go.
pub(crate) fn run(experiment: &Experiment, point: &[usize]) -> Run {
    let some = || Some(Summary { count: 1, ..Summary::default() });
    let channels = experiment.channels.iter().map(|spec| {
        let real_time = spec.class == Class::RealTime;
        let promised = real_time.then_some(1.0);
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
            messages: 1,
            completed: 1,
            packets: 1,
            delivered: Some(1),
            delivered_late: real_time.then_some(0),
            laxity: some().filter(|_| real_time),
            latency: some(),
            sojourn: some(),
            queueing: some(),
            access: some(),
            delivery: some(),
            ..Channel::default()
        }
    });
    let names = world::resource_names(experiment);
    let resource = |name: &String| Resource { name: name.clone(), ..Resource::default() };
    let stage = |name: &String| Stage { name: name.clone(), ..Stage::default() };
    let figures = record::FIGURES.iter().flat_map(|(name, _)| {
        let here = (0..experiment.network.stations).map(move |node| match node {
            0 => (*name).to_string(),
            node => format!("{name}@{node}"),
        });
        here.map(|name| (name, 1.0))
    });
    Run {
        point: point.to_vec(),
        simulated: 1.0,
        window: 1.0,
        channels: channels.collect(),
        resources: names.iter().map(resource).collect(),
        stages: names.iter().map(stage).collect(),
        real_time: (experiment.clock == ClockKind::Real).then(RealTime::default),
        figures: figures.collect(),
    }
}

impl Judge {
    /// Tries every script on `runs` made by [`run`], and reports those that name what cannot be there.
    ///
    /// What a script makes of the numbers is no concern here: a stub has none.
    pub(crate) fn try_on_stub(&self, axes: &[Axis], runs: Vec<Run>) -> Vec<ClaimError> {
        if runs.len() > MOST_POINTS {
            return Vec::new();
        }
        let provenance = Provenance::default();
        let results = Results { provenance, axes: axes.to_vec(), runs };
        let mut errors: Vec<ClaimError> = Vec::new();
        for answers in Answers::on_stub() {
            let court = Court::answering(&results, &answers, None);
            for compiled in &self.claims {
                let claim = &compiled.claim;
                let scripts = [("holds", Some(&claim.holds), Some(&compiled.holds))];
                let shows = ("shows", claim.shows.as_ref(), compiled.shows.as_ref());
                for (script, text, ast) in scripts.into_iter().chain([shows]) {
                    let known = errors.iter().any(|error| error.id == claim.id && error.script == script);
                    let (Some(text), Some(ast), false) = (text, ast, known) else { continue };
                    let mut scope = court.scope();
                    let outcome = court.engine.eval_ast_with_scope::<rhai::Dynamic>(&mut scope, ast);
                    errors.extend(
                        outcome
                            .err()
                            .filter(|error| is_slip(error))
                            .map(|error| *slip(claim, script, text, &error)),
                    );
                }
            }
        }
        errors
    }
}

/// Whether a script would be wrong on any results of this shape.
fn is_slip(error: &EvalAltResult) -> bool {
    match error.unwrap_inner() {
        EvalAltResult::ErrorRuntime(..) => super::Absent::cause(error).is_none(),
        EvalAltResult::ErrorFunctionNotFound(..)
        | EvalAltResult::ErrorVariableNotFound(..)
        | EvalAltResult::ErrorPropertyNotFound(..)
        | EvalAltResult::ErrorDotExpr(..)
        | EvalAltResult::ErrorIndexingType(..)
        | EvalAltResult::ErrorDataRace(..) => true,
        _ => false,
    }
}
