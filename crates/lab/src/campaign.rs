//! From a scenario to verdicts on disk: run every point, judge, present.
//!
//! A sweep can take minutes and can be stopped at any moment, so every finished point is stored at
//! once and not run again. A directory of results is written only after every point has run and the
//! claims have been judged; a rename puts it in place at the end. A stopped run leaves stored
//! points and no partial outcome.
//!
//! ```text
//! scenario ──points──▶ workers ──Run──▶ in the sweep's order ──▶ Results ──judge──▶ Verdicts ──▶ files
//!                        ▲ │
//!                        │ ▼
//!                     kept points
//! ```
//!
//! Results do not depend on the order in which workers finish: they are put in the sweep's order,
//! and points are independent of each other.

mod point;
mod store;
#[cfg(test)]
mod tests;

use std::fmt;
use std::num::NonZero;
use std::path::PathBuf;

use laxity_report::claims::{Judge, Judgement, ScriptBudget};
use laxity_report::output::{self, Workplace};
use laxity_report::present::{self, Making, Stamp, Written};
use laxity_scenario::claim::ClaimError;
use laxity_scenario::{PointIndex, Scenario};
use laxity_world::experiment::{ClockKind, Experiment};
use laxity_world::results::{Provenance, Results, Run, Standing, Verdict, VerdictTally};

use crate::attack::{self, AttackRecord};
use crate::parallel;
pub(crate) use point::once;
use point::{Finished, point};
use store::Store;

/// How to run a scenario.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The directory of results; with `None` no file is written and no point is kept.
    pub out: Option<PathBuf>,
    /// Points that run at once; `None` for one per core.
    pub threads: Option<NonZero<usize>>,
    /// Runs points again that were kept.
    pub fresh: bool,
    /// Judges, and leaves the directory of results as it is.
    pub no_report: bool,
    /// Root seed in place of the scenario's.
    pub seed: Option<u64>,
    /// The maximum number of further runs of a point in real time that is not fit to be judged; the
    /// fittest run counts.
    pub retries: usize,
    /// Makes the budget of each script of a claim; without one, only endless loops and huge values
    /// end a script.
    pub budget: Option<fn() -> ScriptBudget>,
    /// The identity of this build among those of the same version; points that another build ran
    /// are not used.
    pub build: String,
    /// The program that makes the outcome, and when, for its report.
    pub stamp: Stamp,
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Points finished.
    pub done: usize,
    /// Those among them that an earlier run had kept.
    pub kept: usize,
    /// Points in all.
    pub total: usize,
    /// Another run holds the same directory of results, and this run waits for it.
    pub waiting: bool,
}

/// A scenario run to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The measurements.
    pub results: Results,
    /// One per claim, in the order of the file.
    pub verdicts: Vec<Verdict>,
    /// Errors of the scripts of claims that could not be judged because of them.
    pub errors: Vec<ClaimError>,
    /// The files written; `None` if none were requested or could be written.
    pub written: Option<Written>,
    /// Why the directory of results could not be written. Any files in it are of an earlier run.
    pub unwritten: Option<String>,
    /// Why points could not be kept for another run.
    pub unkept: Option<String>,
    /// How often points ran again because the machine had disturbed them.
    pub reruns: usize,
}

impl Outcome {
    /// Whether every claim holds, and no channel is refused unexpectedly.
    pub fn holds(&self) -> bool {
        self.standing() == Standing::Holds
    }

    /// The overall result.
    pub fn standing(&self) -> Standing {
        let tally = VerdictTally::of(&self.verdicts);
        match () {
            () if !self.errors.is_empty() => Standing::BadClaim,
            () if tally.contradicted > 0 || self.results.has_unexpected_refusal() => Standing::Fails,
            () if self.results.runs.iter().any(Run::exceeds_bounds) => Standing::Fails,
            () if self.results.runs.iter().any(Run::misses_deadlines) => Standing::Fails,
            () if tally.not_judged > 0 || self.results.runs.iter().any(Run::is_given_up) => {
                Standing::NotJudged
            }
            // The only claim is that channels are carried within their bounds.
            () if self.verdicts.is_empty()
                && self.results.runs.iter().any(|run| run.shows_nothing().is_some()) =>
            {
                Standing::NotJudged
            }
            () => Standing::Holds,
        }
    }
}

/// Why a scenario has no outcome.
#[derive(Debug)]
pub enum CampaignError {
    /// Claims have invalid scripts. No point ran.
    Unjudged(Vec<ClaimError>),
    /// A seed was given, and the sweep sets its own.
    SweptSeed,
    /// A point broke an invariant of the program: an error of ours, not of the scenario's.
    Broken {
        /// The point in words; empty for a scenario without a sweep.
        point: String,
        /// The error message.
        message: String,
    },
    /// A point could not be run here: the machine lacks a feature that its clock needs.
    Refused {
        /// The point in words; empty for a scenario without a sweep.
        point: String,
        /// The requirement that is not met.
        message: String,
    },
    /// The named directory for the results must not be written.
    Output(output::OutputError),
}

impl fmt::Display for CampaignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CampaignError::Unjudged(errors) => {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                f.write_str(&errors.join("\n"))
            }
            CampaignError::SweptSeed => {
                f.write_str("the sweep sets the seed itself, it cannot be given from outside")
            }
            CampaignError::Broken { point, message } if point.is_empty() => {
                write!(f, "the run broke off: {message}")
            }
            CampaignError::Broken { point, message } => write!(f, "the run at {point} broke off: {message}"),
            CampaignError::Refused { point, message } if point.is_empty() => {
                write!(f, "it cannot be run here: {message}")
            }
            CampaignError::Refused { point, message } => write!(f, "{point} cannot be run here: {message}"),
            CampaignError::Output(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CampaignError {}

/// Runs one point, or says what it lacks; the caller fills in the point's place in the sweep.
pub type PointRunner<'a> = &'a (dyn Fn(&Experiment) -> Result<Run, String> + Sync);

/// Runs every point of `scenario` under virtual time, judges its claims and writes the directory of results.
pub fn run(
    scenario: &Scenario,
    options: &RunOptions,
    observe: &mut dyn FnMut(Progress),
) -> Result<Outcome, CampaignError> {
    run_by(scenario, options, &|experiment| Ok(laxity_world::run(experiment)), observe)
}

/// Likewise with points run by `runner`, according to their clocks.
pub fn run_by(
    scenario: &Scenario,
    options: &RunOptions,
    runner: PointRunner<'_>,
    observe: &mut dyn FnMut(Progress),
) -> Result<Outcome, CampaignError> {
    let judge = Judge::compile(&scenario.claims).map_err(CampaignError::Unjudged)?;
    let total = scenario.points().count();
    let place = Place::take(scenario, options, &mut || {
        observe(Progress { done: 0, kept: 0, total, waiting: true });
    })?;
    let Finishing { runs, clocks, kept, unkept, reruns } =
        points(scenario, options, runner, &place, observe)?;
    let provenance = provenance(scenario, options, clocks);
    let results = Results { provenance, axes: scenario.axes.clone(), runs };
    let judgement = judge.judge(&results, options.budget);
    Ok(Outcome { unkept, reruns, ..finish(scenario, options, &place, kept, results, judgement) })
}

/// Runs one point of `scenario`, as [`run_by`] does.
pub fn run_point(
    scenario: &Scenario,
    point: &PointIndex,
    runner: PointRunner<'_>,
) -> Result<Run, CampaignError> {
    let run = once(scenario, runner, point, &scenario.experiment(point))?;
    Ok(Run { point: point.indices().to_vec(), ..run })
}

/// The outcome of all points of `scenario` that ran elsewhere by [`run_point`], in the sweep's order.
///
/// # Panics
///
/// If there are not as many `runs` as points.
pub fn of_runs(scenario: &Scenario, options: &RunOptions, runs: Vec<Run>) -> Result<Outcome, CampaignError> {
    assert_eq!(runs.len(), scenario.points().count(), "a run for each point");
    let judge = Judge::compile(&scenario.claims).map_err(CampaignError::Unjudged)?;
    let place = Place::take(scenario, options, &mut || ())?;
    let of_points = clocks(scenario.points().map(|point| scenario.experiment(&point).clock));
    let provenance = provenance(scenario, options, of_points);
    let results = Results { provenance, axes: scenario.axes.clone(), runs };
    let judgement = judge.judge(&results, options.budget);
    Ok(finish(scenario, options, &place, 0, results, judgement))
}

/// The outcome of one point of `scenario` that ran elsewhere, by the clock of that name.
///
/// Claims of a scenario with a sweep are about all points, so they are judged only if this point is
/// the only one. If another run holds the same directory of results, calls `waiting` and waits for
/// that run.
pub fn of_point(
    scenario: &Scenario,
    options: &RunOptions,
    point: &PointIndex,
    clock: &str,
    run: Run,
    waiting: &mut dyn FnMut(),
) -> Result<Outcome, CampaignError> {
    let judge = Judge::compile(&scenario.claims).map_err(CampaignError::Unjudged)?;
    let mut axes = scenario.axes.clone();
    for (axis, index) in axes.iter_mut().zip(point.indices()) {
        axis.points = vec![axis.points[*index].clone()];
    }
    let run = Run { point: vec![0; axes.len()], ..run };
    let provenance = provenance(scenario, options, clock);
    let results = Results { provenance, axes, runs: vec![run] };
    let alone = scenario.points().nth(1).is_none();
    let judgement = if alone { judge.judge(&results, options.budget) } else { Judgement::default() };
    let place = Place::take(scenario, options, waiting)?;
    Ok(finish(scenario, options, &place, 0, results, judgement))
}

/// Where an outcome goes, or why it goes nowhere.
enum Place {
    /// No directory of results was requested.
    Nowhere,
    /// The directory of results is ours until this goes.
    Taken(Workplace),
    /// The directory cannot be written, as on a full disk: the files are lost, the outcome is not.
    Lost(String),
}

impl Place {
    fn take(
        scenario: &Scenario,
        options: &RunOptions,
        waiting: &mut dyn FnMut(),
    ) -> Result<Place, CampaignError> {
        let Some(out) = &options.out else { return Ok(Place::Nowhere) };
        let inputs = scenario.inputs();
        let place = match options.no_report {
            true => Ok(()),
            false => present::check_target(out, &inputs),
        };
        match place.and_then(|()| Workplace::take(out, waiting)) {
            Ok(place) => Ok(Place::Taken(place)),
            Err(error @ output::OutputError::Refused { .. }) => Err(CampaignError::Output(error)),
            Err(error @ output::OutputError::Failed { .. }) => Ok(Place::Lost(error.to_string())),
        }
    }
}

fn finish(
    scenario: &Scenario,
    options: &RunOptions,
    place: &Place,
    kept: usize,
    mut results: Results,
    Judgement { verdicts, errors }: Judgement,
) -> Outcome {
    tell_attacks(scenario, options, &mut results);
    let written = match place {
        _ if options.no_report => Ok(None),
        Place::Nowhere => Ok(None),
        Place::Lost(why) => Err(why.clone()),
        Place::Taken(place) => {
            let first = scenario.points().next().map(|point| scenario.experiment(&point));
            let network = first.as_ref().and_then(present::network::svg);
            let (inputs, network) = (&scenario.inputs(), network.as_deref());
            let making = Making { inputs, stamp: &options.stamp, kept, network };
            present::write_all(place, making, &results, &verdicts, &scenario.figures)
                .map(Some)
                .map_err(|error| error.to_string())
        }
    };
    let (written, unwritten) = match written {
        Ok(written) => (written, None),
        Err(why) => (None, Some(why)),
    };
    Outcome { results, verdicts, errors, written, unwritten, unkept: None, reruns: 0 }
}

/// Puts beside the worst of each channel what an attack on the same file has found. Only now: a
/// verdict is about what ran.
fn tell_attacks(scenario: &Scenario, options: &RunOptions, results: &mut Results) {
    let record = options.out.as_deref().map(attack::beside);
    let Some(record) = record.and_then(|directory| AttackRecord::read(&directory, &scenario.hash)) else {
        return;
    };
    for run in &mut results.runs {
        let point = PointIndex::at(&run.point).describe(&results.axes);
        record.tell(&point, run);
    }
}

fn provenance(scenario: &Scenario, options: &RunOptions, clock: &str) -> Provenance {
    Provenance {
        name: scenario.name.clone(),
        title: scenario.title.clone(),
        about: scenario.about.clone(),
        seed: options.seed.unwrap_or(scenario.seed),
        file_hash: scenario.hash.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        clock: clock.into(),
        percentile_error: laxity_world::sketch::RELATIVE_ERROR,
    }
}

/// The clocks of points in a word.
fn clocks(points: impl Iterator<Item = ClockKind>) -> &'static str {
    let clocks: Vec<ClockKind> = points.collect();
    match (clocks.contains(&ClockKind::Virtual), clocks.contains(&ClockKind::Real)) {
        (true, true) => "virtual and real",
        (_, true) => "real",
        (_, false) => "virtual",
    }
}

/// All points.
struct Finishing {
    /// In the sweep's order.
    runs: Vec<Run>,
    clocks: &'static str,
    /// How many an earlier run had kept.
    kept: usize,
    /// Why some could not be kept.
    unkept: Option<String>,
    /// How often points ran again.
    reruns: usize,
}

fn points(
    scenario: &Scenario,
    options: &RunOptions,
    runner: PointRunner<'_>,
    place: &Place,
    observe: &mut dyn FnMut(Progress),
) -> Result<Finishing, CampaignError> {
    let points: Vec<PointIndex> = scenario.points().collect();
    let (store, mut unkept) = match place {
        Place::Nowhere => (None, None),
        Place::Lost(why) => (None, Some(why.clone())),
        Place::Taken(place) => match Store::of(place) {
            Ok(store) => (Some(store), None),
            Err(error) => {
                (None, Some(format!("points cannot be kept beside {}: {error}", place.target().display())))
            }
        },
    };
    let work = |index: usize| point(scenario, options, runner, store.as_ref(), &points[index]);
    let mut progress = Progress { done: 0, kept: 0, total: points.len(), waiting: false };
    observe(progress);
    let finished = parallel::ordered(points.len(), options.threads, &work, &mut |finished: &Finished| {
        progress.done += 1;
        progress.kept += usize::from(finished.kept);
        observe(progress);
    })?;
    if let Some(store) = &store {
        store.keep_only(finished.iter().map(|finished| finished.key.as_str()));
    }
    unkept = unkept.or_else(|| finished.iter().find_map(|finished| finished.unkept.clone()));
    let reruns = finished.iter().map(|finished| finished.reruns).sum();
    let clocks = clocks(finished.iter().map(|finished| finished.clock));
    let runs = finished.into_iter().map(|finished| finished.run).collect();
    Ok(Finishing { runs, clocks, kept: progress.kept, unkept, reruns })
}
