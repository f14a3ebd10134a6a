//! An experiment run in virtual time from its beginning to its end.

use std::collections::BTreeMap;

use laxity_engine::trace::{NoTrace, TraceSink};

use crate::assembly::FrameSink;
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

/// Runs one point; `trace` records the work of CPUs and links, and `frames` the packets on them.
/// The outcome is the same as without.
pub fn observe<'a, T: TraceSink>(
    experiment: &'a Experiment,
    trace: &'a mut T,
    frames: Option<&'a mut FrameSink<'_>>,
) -> Run {
    match experiment.task {
        Task::Fill(index) => fill(experiment, index),
        Task::Simulate(length) => {
            let mut steps = Steps::observed(experiment, length, trace, frames);
            steps.finish();
            steps.close()
        }
    }
}

/// The run of `experiment` with another length, if it ends within that number of `events`.
pub fn run_within(experiment: &Experiment, length: RunLength, events: u64) -> Option<Run> {
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
