//! The admission of nodes with signalling: answers to requests, in the order of their time.

use laxity_units::Span;

use crate::experiment::{AskedTimes, Experiment, RunLength, SignallingSpec, Task};
use crate::results::Run;
use crate::run::run;

/// The run of nodes with signalling until the last request of programs is answered; `None` for other
/// experiments.
///
/// Nodes admit by their reservations at the time of a request. These depend on messages too: a
/// channel that has just sent keeps its link time for an interval after its end. So the run has all
/// of the traffic, and its answers are those of the whole run.
pub fn answered(experiment: &Experiment) -> Option<Run> {
    let spec = experiment.signalling()?;
    let mut shorter = experiment.clone();
    if let Task::Simulate(RunLength::Time { total, .. }) = experiment.task {
        let total = last_answer(experiment, spec).map_or(total, |last| last.min(total));
        let (warmup, cooldown) = (Span::ZERO, Span::ZERO);
        shorter.task = Task::Simulate(RunLength::Time { total, warmup, cooldown });
    }
    Some(run(&shorter))
}

/// By when the last request is answered; `None` for requests to the end of the run.
fn last_answer(experiment: &Experiment, spec: &SignallingSpec) -> Option<Span> {
    let mut last = Span::ZERO;
    for channel in experiment.channels.iter().filter(|channel| channel.deadline.is_some()) {
        let AskedTimes::Once { at, changes, .. } = &channel.asked else { return None };
        let change = changes.last().map_or(Span::ZERO, |(at, _)| *at);
        last = last.max(*at).max(change);
    }
    let settings = spec.settings(experiment);
    Some(last.saturating_add(settings.request_ends()).saturating_add(settings.retry))
}
