//! The least change of a scenario with which admission takes every channel.
//!
//! Each thing that the user owns is a knob: a channel's deadline, a host's speed, a line rate, the
//! order of a switch. The search turns one knob at a time: it walks up a coarse grid of factors to
//! the first that is enough, and halves the last step of the grid until one per cent is left.
//! Admission is not always monotonic in a knob, so the answer is a change that is enough beside
//! one, at most one step of the grid away, that is not. If no single knob is enough, the search
//! turns pairs, both by the same factor first.
//!
//! Every answer has been checked: the changed file was read as if a person had written it, and
//! admission took every channel of it.

mod adapters;
mod groups;
mod knob;
mod owned;
mod quantity;
mod receivers;
mod search;
#[cfg(test)]
mod tests;

use std::num::NonZero;

use laxity_scenario::{Change, PointIndex, Scenario};
use laxity_world::experiment::{Experiment, RefusalEffect, Task};
use laxity_world::promise::{self, Promise};

use crate::parallel;
use knob::Knob;
pub use knob::Turned;
use search::{Edge, Search};

/// Pairs that are turned, at most.
const MOST_PAIRS: usize = 3000;
/// Pairs for which the smallest change is searched.
const REFINED: usize = 12;

/// A change with which admission takes every channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Fix {
    /// The things that are changed, one or two.
    pub things: Vec<Turned>,
    /// Whether the change applies to several things of one kind alike, such as the speed of all
    /// hosts.
    pub wide: bool,
}

impl Fix {
    /// The size of the change: the product of the factors.
    pub fn factor(&self) -> f64 {
        self.things.iter().filter_map(|thing| thing.factor).product()
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Fixes {
    /// Channels that ask for a deadline and may not be refused.
    pub asked: usize,
    /// Those of them that have no bound as the file is.
    pub lacking: usize,
    /// Things that were changed, each by itself.
    pub things: usize,
    /// The number of pairs tried; 0 if single changes were enough.
    pub pairs: usize,
    /// The sufficient changes, settings first, then in the order of their size.
    pub fixes: Vec<Fix>,
    /// If there are none, the change that leaves the fewest channels without a bound, and how many.
    pub nearest: Option<(Fix, usize)>,
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixProgress {
    /// Things or pairs that are done.
    pub done: usize,
    /// All of them in this part of the search.
    pub total: usize,
}

/// Searches the least change of `scenario` at `point` with which admission takes every channel.
///
/// The result does not depend on the number of threads.
pub fn fix(
    scenario: &Scenario,
    point: &PointIndex,
    threads: Option<NonZero<usize>>,
    observe: &mut dyn FnMut(FixProgress),
) -> Fixes {
    let experiment = scenario.experiment(point);
    let asked = guaranteed(&experiment).count();
    let early = ends_early(&experiment);
    let lacking = lacking(&experiment, &early);
    let mut fixes = Fixes { asked, lacking, things: 0, pairs: 0, fixes: Vec::new(), nearest: None };
    if lacking == 0 || matches!(experiment.task, Task::Fill(_)) {
        return fixes;
    }
    let knobs = owned::knobs(scenario, point, &experiment, lacks_room(&experiment));
    let try_out = |changes: &[Change]| {
        let changed = scenario.changed(point, changes).ok()?;
        // A change that leaves out a channel is none.
        (guaranteed(&changed).count() >= asked).then(|| self::lacking(&changed, &early))
    };
    let search = Search { try_out: &try_out };
    let edges = turn_each(&knobs, &search, threads, observe);
    fixes.things = knobs.len();
    for (knob, edge) in knobs.iter().zip(&edges) {
        if let Some(factor) = edge.enough {
            fixes.fixes.push(Fix { things: vec![knob.at(factor)], wide: knob.wide });
        }
    }
    fixes.nearest = nearest(&knobs, &edges, lacking);
    if fixes.fixes.iter().all(|fix| fix.wide) {
        let all = fixes.fixes.is_empty();
        let (pairs, found) = turn_pairs(&knobs, &edges, all, &search, threads, observe);
        fixes.pairs = pairs;
        fixes.fixes.extend(found);
    }
    if !fixes.fixes.is_empty() {
        fixes.nearest = None;
    }
    let is_scaled = |fix: &Fix| fix.things.iter().any(|thing| thing.factor.is_some());
    fixes.fixes.sort_by(|a, b| {
        let (a, b) = ((is_scaled(a), a.factor()), (is_scaled(b), b.factor()));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    fixes.fixes.dedup_by(|later, earlier| is_again(later, earlier));
    fixes
}

/// A setting other than the file's, and its effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The value that is set.
    pub thing: Turned,
    /// Per channel, whether it has a bound then, as far as in the file.
    pub bounded: Vec<bool>,
    /// Whether a channel that has a bound in the file has none then.
    pub loses: bool,
}

/// The effect of each setting of `scenario` at `point` that is a choice and not a quantity: an
/// order, a test, a paradigm.
///
/// Only the setting changes, so each costs one admission and no search.
pub fn settings(scenario: &Scenario, point: &PointIndex, threads: Option<NonZero<usize>>) -> Vec<Setting> {
    let experiment = scenario.experiment(point);
    let early = ends_early(&experiment);
    let before = self::bounded(&experiment, &early);
    let knobs = owned::knobs(scenario, point, &experiment, false);
    let knobs: Vec<Knob> = knobs.into_iter().filter(|knob| !knob.is_scaled()).collect();
    let work = |k: usize| {
        let thing = knobs[k].at(1.0);
        let changed = scenario.changed(point, &thing.changes).ok();
        let bounded = changed.filter(|changed| changed.channels.len() == experiment.channels.len());
        let bounded = bounded.map(|changed| self::bounded(&changed, &early)).unwrap_or_default();
        let loses = before.iter().zip(&bounded).any(|(was, is)| *was && !is);
        Ok::<_, std::convert::Infallible>(Setting { thing, bounded, loses })
    };
    let Ok(settings) = parallel::ordered(knobs.len(), threads, &work, &mut |_| ());
    settings
}

/// Whether `later` changes the keys of `earlier` to other words: one of the settings is enough.
fn is_again(later: &Fix, earlier: &Fix) -> bool {
    let keys = |fix: &Fix| -> Vec<String> {
        let changes = fix.things.iter().flat_map(|thing| &thing.changes);
        changes.map(|change| change.key.clone()).collect()
    };
    let settings = |fix: &Fix| fix.things.iter().all(|thing| thing.factor.is_none());
    settings(later) && settings(earlier) && keys(later) == keys(earlier)
}

fn turn_each(
    knobs: &[Knob],
    search: &Search<'_>,
    threads: Option<NonZero<usize>>,
    observe: &mut dyn FnMut(FixProgress),
) -> Vec<Edge> {
    let mut done = 0;
    let mut count = |_: &Edge| {
        done += 1;
        observe(FixProgress { done, total: knobs.len() });
    };
    let work = |k: usize| Ok::<_, std::convert::Infallible>(search.turn(&knobs[k]));
    let Ok(edges) = parallel::ordered(knobs.len(), threads, &work, &mut count);
    edges
}

/// The change of one thing that leaves the fewest channels without a bound, if it leaves fewer than
/// `lacking`.
fn nearest(knobs: &[Knob], edges: &[Edge], lacking: usize) -> Option<(Fix, usize)> {
    let all = knobs.iter().zip(edges);
    let (knob, (factor, left)) = all.filter_map(|(knob, edge)| Some((knob, edge.best?))).min_by(|a, b| {
        let (a, b) = (a.1, b.1);
        a.1.cmp(&b.1).then(a.0.total_cmp(&b.0))
    })?;
    (left < lacking).then(|| (Fix { things: vec![knob.at(factor)], wide: knob.wide }, left))
}

/// The number of pairs tried, and the sufficient ones. Pairs of wide knobs are included if `all`.
fn turn_pairs(
    knobs: &[Knob],
    edges: &[Edge],
    all: bool,
    search: &Search<'_>,
    threads: Option<NonZero<usize>>,
    observe: &mut dyn FnMut(FixProgress),
) -> (usize, Vec<Fix>) {
    // A thing without valid changes has none in a pair either; a thing that is enough by itself
    // needs no other.
    let mut of: Vec<usize> = (0..knobs.len())
        .filter(|k| edges[*k].best.is_some() && edges[*k].enough.is_none() && (all || !knobs[*k].wide))
        .collect();
    // If there are too many pairs, the things with the largest effect by themselves are paired.
    let most = (1..=of.len()).take_while(|n| n * (n - 1) / 2 <= MOST_PAIRS).last().unwrap_or(0);
    of.sort_by_key(|k| (edges[*k].best.map(|(_, left)| left), *k));
    of.truncate(most);
    of.sort_unstable();
    let pairs: Vec<(usize, usize)> =
        of.iter().enumerate().flat_map(|(n, a)| of[n + 1..].iter().map(move |b| (*a, *b))).collect();
    let apart = |(a, b): &(usize, usize)| {
        let (a, b) = (knobs[*a].keys(), knobs[*b].keys());
        a.iter().all(|key| !b.contains(key))
    };
    let pairs: Vec<(usize, usize)> = pairs.into_iter().filter(apart).collect();
    let limit = |k: usize| edges[k].best.map_or(1.0, |(factor, _)| factor);
    let whole = |p: usize| {
        let (a, b) = pairs[p];
        let level = search.level(&knobs[a], limit(a), &knobs[b], limit(b));
        Ok::<_, std::convert::Infallible>(level)
    };
    let mut done = 0;
    let mut count = |total: usize| {
        done += 1;
        observe(FixProgress { done: done.min(total), total });
    };
    let Ok(levels) = parallel::ordered(pairs.len(), threads, &whole, &mut |_| count(pairs.len()));
    let mut enough: Vec<(f64, usize)> =
        levels.iter().enumerate().filter_map(|(p, level)| Some(((*level)?, p))).collect();
    enough.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    enough.truncate(REFINED);
    let refine = |n: usize| {
        let (level, p) = enough[n];
        let (a, b) = pairs[p];
        let (fa, fb) = search.pair(&knobs[a], limit(a), &knobs[b], limit(b), level);
        let things = vec![knobs[a].at(fa), knobs[b].at(fb)];
        Ok::<_, std::convert::Infallible>(Fix { things, wide: knobs[a].wide || knobs[b].wide })
    };
    let mut done = 0;
    let mut count = |_: &Fix| {
        done += 1;
        observe(FixProgress { done, total: enough.len() });
    };
    let Ok(found) = parallel::ordered(enough.len(), threads, &refine, &mut count);
    (pairs.len(), found)
}

/// Channels of `experiment` that have a deadline and must not be refused.
fn guaranteed(experiment: &Experiment) -> impl Iterator<Item = usize> + '_ {
    let channels = experiment.channels.iter().enumerate();
    channels
        .filter(|(_, channel)| experiment.asks_for_bound(channel) && channel.refusal == RefusalEffect::Fails)
        .map(|(i, _)| i)
}

/// How many of them have no bound, or one that ends before the receiving host and does not in the file,
/// of which `early` is known.
fn lacking(experiment: &Experiment, early: &[bool]) -> usize {
    let bounded = bounded(experiment, early);
    guaranteed(experiment).filter(|i| !bounded[*i]).count()
}

/// Per channel, whether a bound would end with its last transmission, and not at the receiving host.
pub fn ends_early(experiment: &Experiment) -> Vec<bool> {
    let none = || vec![false; experiment.channels.len()];
    let Some(formula) = experiment.admission.formula else { return none() };
    promise::undelivered(experiment, formula).iter().map(Option::is_some).collect()
}

/// Per channel, whether admission gives it a bound; up to the receiving host, unless that is not so in
/// the file either, where those of `early` end before.
pub fn bounded(experiment: &Experiment, early: &[bool]) -> Vec<bool> {
    let none = || vec![false; experiment.channels.len()];
    let Some(formula) = experiment.admission.formula else { return none() };
    let Ok(promises) = promise::promises(experiment, formula) else { return none() };
    let now = ends_early(experiment);
    let has = |(i, promise): (usize, &Promise)| match promise {
        Promise::Admitted(_) => {
            let is_early = now.get(i) == Some(&true) && promise.delivery_bound().is_none();
            !is_early || early.get(i) == Some(&true)
        }
        Promise::Received(_) | Promise::Connected(_) => true,
        _ => false,
    };
    promises.channels.iter().enumerate().map(has).collect()
}

/// Whether a channel is refused for want of room.
fn lacks_room(experiment: &Experiment) -> bool {
    let promises =
        experiment.admission.formula.and_then(|formula| promise::promises(experiment, formula).ok());
    promises.is_some_and(|promises| promises.channels.iter().any(Promise::lacks_room))
}
