//! An experiment run in virtual time from its beginning to its end, by whichever world it has.

use std::collections::BTreeMap;

use laxity_engine::trace::{NoTrace, Trace};
use laxity_engine::{Calendar, Limits, VirtualClock};
use laxity_units::Time;

use super::observer::Observer;
use super::outside::Nothing;
use super::{Assembly, Elsewhere, FrameSink, receiving, via};
use crate::experiment::{Experiment, RunLength, Task};
use crate::promise;
use crate::results::Run;
use crate::steps::Steps;

/// Copies that a fill admits at most: far beyond any host, and an end.
const FILL_LIMIT: u64 = 100_000;

/// Runs one point of a sweep. Its place in the sweep is the caller's to fill in.
pub fn run(experiment: &Experiment) -> Run {
    observe(experiment, &mut NoTrace, None)
}

/// Runs one point and tells `trace` what CPUs and links do, and `frames` what passes on them. The outcome is the
/// same as without.
pub fn observe<'a, T: Trace>(
    experiment: &'a Experiment,
    trace: &'a mut T,
    frames: Option<&'a mut FrameSink<'_>>,
) -> Run {
    match experiment.task {
        Task::Fill(index) => fill(experiment, index),
        Task::Simulate(length) if !experiment.interfaces.is_empty() => {
            let trace = trace.is_kept().then_some(trace as &mut dyn Trace);
            receiving::run(experiment, length, u64::MAX, trace).expect("no run has so many events")
        }
        Task::Simulate(length) if experiment.via.is_some() => {
            let trace = trace.is_kept().then_some(trace as &mut dyn Trace);
            via::run(experiment, length, u64::MAX, trace).expect("no run has so many events")
        }
        Task::Simulate(length) => simulate(experiment, length, Observer::new(trace, frames)),
    }
}

/// The run of `experiment` of another length than its own, if it ends within so many `events`.
pub fn run_within(experiment: &Experiment, length: RunLength, events: u64) -> Option<Run> {
    if !experiment.interfaces.is_empty() {
        return receiving::run(experiment, length, events, None);
    }
    if experiment.via.is_some() {
        return via::run(experiment, length, events, None);
    }
    let mut steps = Steps::of_length(experiment, length);
    steps.finish_within(events).then(|| steps.close())
}

fn fill(experiment: &Experiment, index: usize) -> Run {
    let mut figures = BTreeMap::new();
    if let Some(formula) = experiment.admission.formula
        && let Ok(filled) = promise::fill(experiment, index, formula, FILL_LIMIT)
    {
        figures.insert("admitted".into(), filled.admitted as f64);
        if filled.stopped {
            figures.insert("fill_stopped".into(), 1.0);
        }
    }
    Run { figures, ..Run::default() }
}

fn simulate<'a, T: Trace>(
    experiment: &'a Experiment,
    length: RunLength,
    observer: Observer<'a, '_, T>,
) -> Run {
    let mut assembly = Assembly::new(experiment, length, observer, Nothing, Elsewhere::default());
    let mut calendar = Calendar::new();
    assembly.start(&mut calendar);
    let outcome = laxity_engine::run(&mut assembly, &mut calendar, &mut VirtualClock, limits(length));
    assembly.into_run(outcome.now, &[]).0
}

/// The engine's limits for a run of `length`.
pub fn limits(length: RunLength) -> Limits {
    match length {
        RunLength::Time { total, .. } => Limits::NONE.until(Time::ZERO + total),
        RunLength::Packets { .. } => Limits::NONE,
    }
}
