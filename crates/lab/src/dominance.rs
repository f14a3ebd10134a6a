//! Changes that can only help, as pairs of scenarios: none lengthens the bound of a channel or
//! refuses it.

mod anomaly;
mod change;
mod file;
mod settle;
mod shrunk;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use laxity_admission::Formula;
use laxity_units::Span;
use laxity_world::experiment::{Experiment, RunLength, Task};
use laxity_world::promise::{Promise, Promises, promises};

use crate::property::experiment_of;
pub use change::{FileChange, Law, changes};
pub use settle::settled;
pub use shrunk::{Shrunk, shrunk};

/// How a pair was judged.
#[derive(Debug, Clone, PartialEq)]
pub enum PairJudgement {
    /// The law does not apply to the pair, for this reason.
    Unjudged(&'static str),
    /// The law holds for this number of bounds.
    Kept(usize),
    /// The law is broken.
    Broken(Breach),
}

/// A channel that a change that can only help has harmed.
#[derive(Debug, Clone, PartialEq)]
pub struct Breach {
    /// The broken law.
    pub law: Law,
    /// The change in words.
    pub change: String,
    /// The channel.
    pub channel: String,
    /// The harm.
    pub harm: Harm,
}

/// The harm that a change does to a channel.
#[derive(Debug, Clone, PartialEq)]
pub enum Harm {
    /// The bound was the first and is the second.
    Longer(Span, Span),
    /// The channel was admitted and is refused, for this reason.
    Refused(String),
    /// The channel had a bound and has none, for this reason.
    Unbounded(String),
    /// Admission or a run panicked.
    Panicked(String),
}

impl Harm {
    /// Whether `other` is a harm of the same kind.
    pub fn is_like(&self, other: &Harm) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, change, channel, harm } = self;
        write!(f, "{law:?}: {change}: {channel} ")?;
        match harm {
            Harm::Longer(before, after) => write!(f, "had a bound of {before} and has {after}"),
            Harm::Refused(why) => write!(f, "was admitted and is refused: {why}"),
            Harm::Unbounded(why) => write!(f, "had a bound and has none: {why}"),
            Harm::Panicked(message) => write!(f, "panicked: {message}"),
        }
    }
}

/// Judges each change of the scenario `text` by its law; changes under other laws than `laws` are
/// left out.
///
/// `text` is a scenario of which admission refuses no channel: see [`settled`].
pub fn judge(text: &str, laws: &[Law], most: usize) -> Vec<(Law, PairJudgement)> {
    let Ok(before) = experiment_of(text) else { return Vec::new() };
    let Ok(first) = promises(&before, Formula::Corrected) else { return Vec::new() };
    let mut all: Vec<(Law, PairJudgement)> = Vec::new();
    if laws.contains(&Law::Twice) {
        all.push((Law::Twice, twice(&before, &first)));
    }
    if laws.contains(&Law::Run) {
        all.push((Law::Run, run(&before, &first)));
    }
    let mut changes = changes(text, &before);
    changes.retain(|change| laws.contains(&change.law));
    // The changes that are judged are spread over all of them.
    let step = changes.len().div_ceil(most.max(1)).max(1);
    for change in changes.iter().step_by(step) {
        all.push((change.law, pair(&before, &first, change)));
    }
    all
}

/// Judges `change` of `before`, to which admission answers `first`.
pub fn pair(before: &Experiment, first: &Promises, change: &FileChange) -> PairJudgement {
    let breach = |channel: &str, harm: Harm| {
        let (law, words, channel) = (change.law, change.words.clone(), channel.to_string());
        PairJudgement::Broken(Breach { law, change: words, channel, harm })
    };
    let after = match catch_unwind(AssertUnwindSafe(|| experiment_of(&change.text))) {
        Ok(Ok(after)) => after,
        Ok(Err(_)) => return PairJudgement::Unjudged("the changed file is not valid"),
        Err(panic) => return breach("reading", Harm::Panicked(crate::property::message(&*panic))),
    };
    if let Some(why) = anomaly::anomaly(before, &after, change) {
        return PairJudgement::Unjudged(why);
    }
    let second = match catch_unwind(AssertUnwindSafe(|| promises(&after, Formula::Corrected))) {
        Ok(Ok(second)) => second,
        Ok(Err(why)) => {
            let named = before.channels.iter().map(|channel| &channel.name).zip(&first.channels);
            let mut left = named.filter(|(name, _)| !change.channels.contains(*name));
            if let Some(why) = anomaly::closer(&after, change) {
                return PairJudgement::Unjudged(why);
            }
            return match left.find(|(_, promise)| !bounds(promise).is_empty()) {
                Some((name, _)) => breach(name, Harm::Unbounded(why.sentence().to_string())),
                None => PairJudgement::Kept(0),
            };
        }
        Err(panic) => return breach("admission", Harm::Panicked(crate::property::message(&*panic))),
    };
    let names = after.channels.iter().map(|channel| channel.name.as_str());
    let by_name: BTreeMap<&str, (usize, &Promise)> = names.zip(second.channels.iter().enumerate()).collect();
    if let Some(why) = anomaly::told_apart((before, first), (&after, &second)) {
        return PairJudgement::Unjudged(why);
    }
    let mut kept = 0;
    for (channel, was) in before.channels.iter().zip(&first.channels) {
        let Some(&(i, is)) = by_name.get(channel.name.as_str()) else { continue };
        let bound_before = anomaly::bounds_of(before, channel, was, change);
        if bound_before.is_empty() {
            continue;
        }
        if is.is_refused() {
            let ordered = || anomaly::ordered_otherwise((before, first), (&after, &second));
            let filled = || anomaly::filled(before, &after);
            return match anomaly::excuse(&after, channel, is, change).or_else(ordered).or_else(filled) {
                Some(why) => PairJudgement::Unjudged(why),
                None => breach(&channel.name, Harm::Refused(is.refusal(&after, i).unwrap_or_default())),
            };
        }
        let bound_after = anomaly::bounds_of(&after, channel, is, change);
        for (which, bound) in bound_before {
            match bound_after.iter().find(|(other, _)| *other == which) {
                Some((_, now)) if *now <= bound => kept += 1,
                Some((_, now)) => match anomaly::lengthened((before, first), (&after, &second), change) {
                    Some(why) => return PairJudgement::Unjudged(why),
                    None => return breach(&channel.name, Harm::Longer(bound, *now)),
                },
                None => match anomaly::closer(&after, change) {
                    Some(why) => return PairJudgement::Unjudged(why),
                    None => return breach(&channel.name, Harm::Unbounded(reason(is))),
                },
            }
        }
    }
    PairJudgement::Kept(kept)
}

/// The bounds of a channel: to the last transmission, and to the delivery.
fn bounds(promise: &Promise) -> Vec<(&'static str, Span)> {
    let both = [("departs", promise.bound()), ("arrives", promise.delivery_bound())];
    both.into_iter().filter_map(|(which, bound)| Some((which, bound?))).collect()
}

fn reason(promise: &Promise) -> String {
    match promise.uncovered() {
        Some(why) => why.to_string(),
        None => format!("{promise:?}").chars().take(60).collect(),
    }
}

/// Whether admission answers the same twice.
fn twice(experiment: &Experiment, first: &Promises) -> PairJudgement {
    let again = promises(experiment, Formula::Corrected);
    let all: Vec<_> = again.iter().flat_map(|again| &again.channels).collect();
    same(experiment, Law::Twice, first, |i| all.get(i).map(|promise| bounds(promise)).unwrap_or_default())
}

/// Whether the results of a run of no length have the bounds that admission promised.
fn run(experiment: &Experiment, first: &Promises) -> PairJudgement {
    let Task::Simulate(_) = experiment.task else { return PairJudgement::Unjudged("nothing is run") };
    if experiment.admission.formula != Some(Formula::Corrected) {
        return PairJudgement::Unjudged("the run is admitted by other formulas");
    }
    let length = RunLength::Time { total: Span::from_ps(1), warmup: Span::ZERO, cooldown: Span::ZERO };
    let Some(run) = laxity_world::run_within(experiment, length, EVENTS) else {
        return PairJudgement::Unjudged("the run has no end");
    };
    let of = |promise: &Promise| -> Vec<f64> {
        bounds(promise).into_iter().map(|(_, bound)| bound.as_secs_f64()).collect()
    };
    let mut kept = 0;
    for ((spec, promise), channel) in experiment.channels.iter().zip(&first.channels).zip(&run.channels) {
        let ran: Vec<f64> = [channel.bound, channel.delivery_bound].into_iter().flatten().collect();
        let promised = of(promise);
        if ran != promised {
            let harm = Harm::Unbounded(format!("admission says {promised:?} s, and the run {ran:?} s"));
            let channel = spec.name.clone();
            let change = "the file is run".into();
            return PairJudgement::Broken(Breach { law: Law::Run, change, channel, harm });
        }
        kept += ran.len();
    }
    PairJudgement::Kept(kept)
}

/// Events of a run of no length.
const EVENTS: u64 = 10_000;

fn same(
    experiment: &Experiment,
    law: Law,
    first: &Promises,
    other: impl Fn(usize) -> Vec<(&'static str, Span)>,
) -> PairJudgement {
    let mut kept = 0;
    for (i, (spec, promise)) in experiment.channels.iter().zip(&first.channels).enumerate() {
        let (one, two) = (bounds(promise), other(i));
        if one != two {
            let harm = Harm::Unbounded(format!("admission says {one:?} first and {two:?} then"));
            let change = "nothing is changed".into();
            return PairJudgement::Broken(Breach { law, change, channel: spec.name.clone(), harm });
        }
        kept += one.len();
    }
    PairJudgement::Kept(kept)
}
