//! The best setting of a sweep, by the goal that its file names.
//!
//! A *setting* is a point of the chosen axes, run at every point of the others. A small grid is run
//! as a whole. For a larger grid, a coarse grid is run first: at most four points of each axis that
//! has an order, and all points of the others. Then the neighbours of the best settings found are
//! run, at half the distance each time, until there are no new neighbours. That finds the best
//! setting wherever stepwise moves towards it improve the goal. It is no proof, so the number of
//! settings run, and of all, is reported.
//!
//! The best of many was also lucky: its figures are the largest of many draws. So it is run again
//! with fresh seeds, and is the best only if it meets the needs with them as well. If not, the next
//! best is tried.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZero;

use laxity_report::present;
use laxity_scenario::tune::{Need, Tune, Wanted};
use laxity_scenario::{PointIndex, Scenario};
use laxity_world::experiment::{ClockKind, Experiment};
use laxity_world::metric::{Metric, MetricOwner};
use laxity_world::results::Run;

use crate::campaign::{self, once};
use crate::parallel;

mod figure;
mod grid;
#[cfg(test)]
mod tests;

pub use figure::{figure, frontier};
use grid::Grid;

/// Settings about which is looked when a grid is refined.
const CENTRES: usize = 4;
/// Settings that are tried with fresh seeds, at most.
const TRIED: usize = 5;
/// The distance of the seeds of successive rounds: far from the small numbers of users and sweeps.
const SEED_STEP: u64 = 1_000_003;

/// The result of a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct TuneSetting {
    /// Its point on each axis that is chosen, in their order.
    pub place: Vec<usize>,
    /// The goal's metric: the mean over circumstances of the worst channel; `None` if it was not measured.
    pub goal: Option<f64>,
    /// Per need, the worst of its metric at any circumstance; `None` if it was not measured.
    pub needs: Vec<Option<f64>>,
    /// Why it is none, whatever it measured: a channel is refused.
    pub refused: Option<String>,
    /// Why its figures show no result: no channel was active, or the run was given up.
    pub silent: Option<String>,
    /// By how much it falls short of the need that it misses by most, as a share of the bound; 0 if
    /// it keeps all.
    pub shortfall: f64,
}

impl TuneSetting {
    /// Whether it keeps all that is needed.
    pub fn is_good(&self) -> bool {
        self.shortfall == 0.0 && self.goal.is_some()
    }
}

/// A setting that was run with fresh seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The result with the scenario's seed.
    pub setting: TuneSetting,
    /// And with each fresh one.
    pub fresh: Vec<TuneSetting>,
}

impl Trial {
    /// Whether it keeps all that is needed with every seed.
    pub fn holds(&self) -> bool {
        self.fresh.iter().all(TuneSetting::is_good)
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// All settings that were run, the best first; those that fall short after those that do not,
    /// the nearest first.
    pub settings: Vec<TuneSetting>,
    /// How many settings the sweep has.
    pub total: usize,
    /// How many circumstances each was run at.
    pub circumstances: usize,
    /// Those that were run with fresh seeds, in the order in which they were tried; the last one
    /// holds, if any does.
    pub trials: Vec<Trial>,
}

impl Tuned {
    /// The best setting that fresh seeds confirm.
    pub fn best(&self) -> Option<&Trial> {
        self.trials.last().filter(|trial| trial.holds())
    }
}

/// Why there was no search.
#[derive(Debug)]
pub enum TuneError {
    /// The scenario has no `[tune]`.
    NoGoal,
    /// A point is in real time, and no run of it repeats another.
    RealTime(String),
    /// A run broke off.
    Run(campaign::CampaignError),
}

impl fmt::Display for TuneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TuneError::NoGoal => f.write_str("it has no `[tune]` that says what a good setting is"),
            TuneError::RealTime(point) => {
                write!(f, "what runs in real time is not tuned, for no run repeats another: {point}")
            }
            TuneError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TuneError {}

/// Searches for the best setting of `scenario`, on up to `threads` threads; reports to `observe`
/// how many runs are done. The same file gives the same result.
pub fn tune(
    scenario: &Scenario,
    threads: Option<NonZero<usize>>,
    observe: &mut dyn FnMut(usize),
) -> Result<Tuned, TuneError> {
    let goal = scenario.tune.as_ref().ok_or(TuneError::NoGoal)?;
    let lengths: Vec<usize> = scenario.axes.iter().map(|axis| axis.points.len()).collect();
    let ordered = |axis: &usize| {
        let points = &scenario.axes[*axis].points;
        points.windows(2).all(|pair| pair[0].value < pair[1].value && pair[0].value.is_some())
    };
    let chosen: Vec<(usize, bool)> = goal.over.iter().map(|axis| (lengths[*axis], ordered(axis))).collect();
    let grid = Grid::new(&chosen);
    let mut search = Search { scenario, goal, threads, observe, done: 0, found: BTreeMap::new() };
    if grid.total() as u64 <= goal.exhaustive {
        search.run(&grid.all())?;
    } else {
        search.run(&grid.coarse())?;
        let mut distance = grid.distance();
        loop {
            let best: Vec<Vec<usize>> =
                search.ranked().into_iter().take(CENTRES).map(|setting| setting.place).collect();
            let around: BTreeSet<Vec<usize>> =
                best.iter().flat_map(|place| grid.around(place, distance)).collect();
            let new: Vec<Vec<usize>> =
                around.into_iter().filter(|place| !search.found.contains_key(place)).collect();
            search.run(&new)?;
            match (distance, new.is_empty()) {
                (1, true) => break,
                (1, false) => {}
                _ => distance /= 2,
            }
        }
    }
    let settings = search.ranked();
    let mut trials: Vec<Trial> = Vec::new();
    for setting in settings.iter().filter(|setting| setting.is_good()).take(TRIED) {
        let fresh: Result<Vec<TuneSetting>, TuneError> =
            (1..=goal.seeds).map(|round| search.with_seeds(&setting.place, round * SEED_STEP)).collect();
        trials.push(Trial { setting: setting.clone(), fresh: fresh? });
        if trials.last().is_some_and(Trial::holds) {
            break;
        }
    }
    let circumstances = search.circumstances().count();
    Ok(Tuned { settings, total: grid.total(), circumstances, trials })
}

struct Search<'a> {
    scenario: &'a Scenario,
    goal: &'a Tune,
    threads: Option<NonZero<usize>>,
    observe: &'a mut dyn FnMut(usize),
    done: usize,
    found: BTreeMap<Vec<usize>, TuneSetting>,
}

impl Search<'_> {
    /// The points of the sweep at which the first setting is run: they differ in circumstances.
    fn circumstances(&self) -> impl Iterator<Item = PointIndex> {
        self.points_of(&vec![0; self.goal.over.len()])
    }

    fn points_of(&self, place: &[usize]) -> impl Iterator<Item = PointIndex> + use<> {
        let chosen: Vec<(usize, usize)> = self.goal.over.iter().copied().zip(place.iter().copied()).collect();
        self.scenario
            .points()
            .filter(move |point| chosen.iter().all(|(axis, index)| point.indices()[*axis] == *index))
    }

    fn run(&mut self, places: &[Vec<usize>]) -> Result<(), TuneError> {
        for setting in self.settings(places, 0)? {
            self.found.insert(setting.place.clone(), setting);
        }
        Ok(())
    }

    fn with_seeds(&mut self, place: &[usize], more: u64) -> Result<TuneSetting, TuneError> {
        let mut settings = self.settings(&[place.to_vec()], more)?;
        Ok(settings.remove(0))
    }

    /// Runs settings at every circumstance, with seeds that are `more` than the scenario's.
    fn settings(&mut self, places: &[Vec<usize>], more: u64) -> Result<Vec<TuneSetting>, TuneError> {
        let points: Vec<PointIndex> = places.iter().flat_map(|place| self.points_of(place)).collect();
        let each = points.len().checked_div(places.len()).unwrap_or(0);
        let scenario = self.scenario;
        let work = |index: usize| {
            let point = &points[index];
            let mut experiment = scenario.experiment(point);
            if experiment.clock == ClockKind::Real {
                return Err(TuneError::RealTime(scenario.describe(point)));
            }
            experiment.seed = experiment.seed.wrapping_add(more);
            let runner = |experiment: &Experiment| Ok(laxity_world::run(experiment));
            once(scenario, &runner, point, &experiment).map_err(TuneError::Run)
        };
        let (done, observe) = (&mut self.done, &mut *self.observe);
        let runs: Vec<Run> = parallel::ordered(points.len(), self.threads, &work, &mut |_| {
            *done += 1;
            observe(*done);
        })?;
        Ok(places
            .iter()
            .zip(runs.chunks(each.max(1)))
            .map(|(place, runs)| setting(self.goal, place, runs))
            .collect())
    }

    /// The best first.
    fn ranked(&self) -> Vec<TuneSetting> {
        let mut settings: Vec<TuneSetting> = self.found.values().cloned().collect();
        // Stable: of equals the first of the sweep is the first here.
        settings.sort_by(|a, b| {
            let short = a.shortfall.total_cmp(&b.shortfall);
            short.then_with(|| better(self.goal, b.goal).total_cmp(&better(self.goal, a.goal)))
        });
        settings
    }
}

/// The goal's value with its sign set so that more is better; a missing value is worst.
fn better(goal: &Tune, value: Option<f64>) -> f64 {
    value.map_or(f64::NEG_INFINITY, |value| if goal.more { value } else { -value })
}

/// The result of a setting from its runs, one for each circumstance.
fn setting(goal: &Tune, place: &[usize], runs: &[Run]) -> TuneSetting {
    let each: Option<Vec<f64>> = runs.iter().map(|run| worst(&goal.goal, run, goal.more)).collect();
    let mean = each.map(|values| values.iter().sum::<f64>() / values.len() as f64);
    let needs: Vec<Option<f64>> = goal.needs.iter().map(|need| at_worst(need, runs)).collect();
    let refused = runs.iter().flat_map(|run| &run.channels).find_map(|channel| {
        let refused = channel.refused.as_ref().filter(|refused| !refused.expected)?;
        Some(format!("`{}` is refused: {}", channel.name, refused.reason))
    });
    let short = goal.needs.iter().zip(&needs).map(|(need, value)| shortfall(need, *value));
    // An idle host has the most to spare of everything.
    let silent = runs.iter().find_map(|run| match (run.is_given_up(), run.is_idle()) {
        (true, _) => Some("a run was given up before its end".to_string()),
        (false, true) => Some("nothing was sent in the window of a run".to_string()),
        (false, false) => None,
    });
    let mean = mean.filter(|_| silent.is_none());
    let shortfall = match refused.is_some() || mean.is_none() {
        true => f64::INFINITY,
        false => short.fold(0.0, f64::max),
    };
    TuneSetting { place: place.to_vec(), goal: mean, needs, refused, silent, shortfall }
}

/// The worst of a need's metric at any circumstance; `None` if it is missing at one.
fn at_worst(need: &Need, runs: &[Run]) -> Option<f64> {
    let values: Option<Vec<f64>> = runs.iter().map(|run| worst(&need.wanted, run, !need.at_most)).collect();
    pick(values?, !need.at_most)
}

/// The shortfall of a need, as a share of its bound (or absolute, if the bound is 0).
fn shortfall(need: &Need, value: Option<f64>) -> f64 {
    let Some(value) = value else { return f64::INFINITY };
    let over = if need.at_most { value - need.bound } else { need.bound - value };
    let unit = if need.bound == 0.0 { 1.0 } else { need.bound.abs() };
    (over / unit).max(0.0)
}

/// The value of the worst of those that are asked for in a run; `None` if one that is named has it
/// not, or none has.
fn worst(wanted: &Wanted, run: &Run, more: bool) -> Option<f64> {
    let Wanted { metric, channels } = wanted;
    let named = |name: &str| channels.iter().any(|other| other == name);
    let of = |all: Vec<(&str, Option<f64>)>| {
        let values: Option<Vec<f64>> = match channels.is_empty() {
            true => Some(all.into_iter().filter_map(|(_, value)| value).collect()),
            false => all.into_iter().filter(|(name, _)| named(name)).map(|(_, value)| value).collect(),
        };
        pick(values?, more)
    };
    match metric.owner() {
        MetricOwner::Run => metric.of_run(run),
        // The worst of all is unknown if a channel was starved.
        MetricOwner::Channel if channels.is_empty() && run.channels.iter().any(|c| metric.is_starved(c)) => {
            None
        }
        MetricOwner::Channel => {
            of(run.channels.iter().map(|c| (c.name.as_str(), metric.judged(c))).collect())
        }
        MetricOwner::Resource => {
            of(run.resources.iter().map(|r| (r.name.as_str(), metric.of_resource(r))).collect())
        }
    }
}

/// The worst of `values`: the least if more is better.
fn pick(values: Vec<f64>, more: bool) -> Option<f64> {
    values.into_iter().reduce(if more { f64::min } else { f64::max })
}

/// A metric's value with its unit; a dash if it was not measured.
pub fn in_words(metric: &Metric, value: Option<f64>) -> String {
    value.map_or("-".into(), |value| present::quantity(metric.kind(), value))
}

/// The setting in words, `Q = 4, I = 1 ms`.
pub fn describe(scenario: &Scenario, place: &[usize]) -> String {
    let over = scenario.tune.iter().flat_map(|tune| &tune.over);
    let words = over.zip(place).map(|(axis, index)| {
        let axis = &scenario.axes[*axis];
        format!("{} = {}", axis.name, axis.points[*index].text)
    });
    words.collect::<Vec<_>>().join(", ")
}
