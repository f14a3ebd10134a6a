//! The search for the worst case of every channel and exchange that has a bound.
//!
//! A bound says what cannot be exceeded; random traffic that stays below it shows little. Traffic
//! made against the bound distinguishes a tight bound from a loose one, and a right one from a
//! wrong one: within every contract, and otherwise as harmful as possible. The search plays
//! *scenes* (which channels send what and when) and climbs: it changes a scene where the trace of
//! its run says that a change could matter, and keeps the changed scene if the response of the
//! channel under attack is not shorter.
//!
//! ```text
//! openings ─▶ climb ─┐          change ◀─ instants of the run
//!             climb ─┼─ round ─▶   │
//!             climb ─┘   │      play ─▶ longest response ─▶ keep, or not
//!    ▲                   ▼
//!    └──── stuck ◀── worst of each channel
//! ```
//!
//! A small space (few channels) is first enumerated on a grid of phases. Several climbs run side by
//! side for each channel, each with its own random stream. They exchange results between rounds
//! only, so the findings depend on the seed and the number of steps but not on the number of
//! threads.

mod change;
mod climb;
mod ground;
mod limit;
mod opening;
mod record;
mod scene;
mod sight;
#[cfg(test)]
mod tests;
mod write;

use std::num::NonZero;
use std::sync::Mutex;

use laxity_engine::Seed;
use laxity_units::Span;
use laxity_world::Steps;
use laxity_world::experiment::Experiment;
use laxity_world::results::Run;

use crate::parallel;
use climb::{Climb, Worst};
pub use ground::Goal;
use ground::{Ground, Target};
pub use limit::{SearchPhase, TimeLimit};
pub use record::{AttackRecord, Attacked, AttackedPoint, alike, beside};
pub use scene::{Play, Scene, conforms};
pub use write::{Confirmed, WriteError, write};

/// Climbs for each channel.
const CLIMBS: usize = 4;
/// Steps of a climb between two exchanges.
const ROUND: u64 = 60;
/// Channels that may send in a space that is enumerated first.
const SMALL: usize = 3;
/// An enumeration takes at most one step in this number of steps.
const ENUMERATED: u64 = 4;
/// The maximum number of scenes of an enumeration: a search with a time limit only has unlimited
/// steps.
const MOST_ENUMERATED: u64 = 4096;

/// How to search.
#[derive(Debug, Clone)]
pub struct AttackOptions {
    /// Approximate runs for each channel; the search ends earlier at its time limit.
    pub steps: u64,
    /// Root of every random stream.
    pub seed: u64,
    /// Concurrent climbs; `None` for one per core. The findings do not depend on it.
    pub threads: Option<NonZero<usize>>,
    /// The one channel to attack, by its name; `None` for all that have a bound.
    pub channel: Option<String>,
    /// Events after which a scene is given up and does not count; `u64::MAX` for never.
    pub events: u64,
}

/// The progress of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackProgress {
    /// Runs played for each channel.
    pub done: u64,
    /// The channel closest to its bound, with its worst response as a share of it.
    pub closest: Option<(String, f64)>,
}

/// The worst that was found of one channel or exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The place in the experiment of the channel, or of the last one of the exchange.
    pub channel: usize,
    /// The name of that channel.
    pub name: String,
    /// Which of its times was searched for.
    pub goal: Goal,
    /// The bound.
    pub bound: Span,
    /// The longest response with the experiment's own traffic; `None` if no message was completed.
    pub plain: Option<Span>,
    /// Whether the experiment's own traffic ran to its end; its time limit may have ended it.
    pub plain_ended: bool,
    /// The longest response that was found; that of the experiment's own traffic, if no scene was
    /// worse.
    pub worst: Span,
    /// The scene that shows it; `None` if the experiment's own traffic does.
    pub scene: Option<Scene>,
}

impl Found {
    /// The channel or exchange in words.
    pub fn title(&self) -> String {
        match self.goal {
            Goal::Delivery | Goal::Sent => self.name.clone(),
            Goal::Exchange => format!("{}, exchange", self.name),
        }
    }

    /// The name of the file that shows it, without its extension.
    pub fn stem(&self) -> String {
        match self.goal {
            Goal::Delivery | Goal::Sent => self.name.clone(),
            Goal::Exchange => format!("{}.exchange", self.name),
        }
    }

    /// Whether the bound does not hold.
    pub fn exceeds(&self) -> bool {
        self.worst > self.bound
    }

    /// The worst as a share of the bound.
    pub fn share(&self) -> f64 {
        self.worst.as_secs_f64() / self.bound.as_secs_f64()
    }
}

/// Why there was no search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unattacked {
    /// The experiment has no bound that could be broken, for this reason.
    Nothing(&'static str),
    /// No channel with a bound has that name.
    Unknown(String),
}

/// The middle of `shares`; of two the mean. `None` if there are none.
pub fn median(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let mut shares: Vec<f64> = shares.collect();
    shares.sort_by(f64::total_cmp);
    let (low, high) = (shares.get(shares.len().checked_sub(1)? / 2)?, shares.get(shares.len() / 2)?);
    Some((low + high) / 2.0)
}

/// Searches for the worst case of each channel that has a bound, for as long as `time` allows. The
/// `experiments` are those that are alike but for their own traffic, at least one; the first is
/// attacked, and all are run.
pub fn attack(
    experiments: &[Experiment],
    options: &AttackOptions,
    time: TimeLimit<'_>,
    observe: &mut dyn FnMut(&AttackProgress),
) -> Result<Vec<Found>, Unattacked> {
    let runs = parallel::ordered(
        experiments.len(),
        options.threads,
        &|item| Ok::<_, ()>(run_plain(&experiments[item], time)),
        &mut |_| (),
    );
    let (plain, ended): (Vec<Run>, Vec<bool>) = runs.unwrap_or_default().into_iter().unzip();
    let ground = Ground::new(&experiments[0], &plain[0], options.events).map_err(Unattacked::Nothing)?;
    let mut targets: Vec<usize> = (0..ground.targets.len()).collect();
    if let Some(name) = &options.channel {
        targets.retain(|&i| ground.name(i) == name);
        if targets.is_empty() {
            return Err(Unattacked::Unknown(name.clone()));
        }
    }
    let mut known: Vec<Option<Worst>> = vec![None; ground.targets.len()];
    let done = enumerate(&ground, &targets, options, time, &mut known);
    climb(&ground, &targets, options, done, time, &mut known, observe);
    let found = |&target: &usize| Found {
        plain_ended: ended.iter().all(|ended| *ended),
        ..found(&ground, target, &plain, known[target].take())
    };
    Ok(targets.iter().map(found).collect())
}

/// The run of `experiment` with its own traffic, within its time limit; and whether it ended.
fn run_plain(experiment: &Experiment, time: TimeLimit<'_>) -> (Run, bool) {
    let Some(mut steps) = Steps::open(experiment) else { return (laxity_world::run(experiment), true) };
    let ended = steps.finish_while(u64::MAX, &|| time.allows(SearchPhase::Plain));
    (steps.close(), ended)
}

/// Plays the grid of a small space against each target; returns the number of runs for each.
fn enumerate(
    ground: &Ground,
    targets: &[usize],
    options: &AttackOptions,
    time: TimeLimit<'_>,
    known: &mut [Option<Worst>],
) -> u64 {
    let senders = ground.players.iter().filter(|player| player.sends && player.rounds.is_none()).count();
    let most = (options.steps / ENUMERATED).min(MOST_ENUMERATED);
    let go_on = || time.allows(SearchPhase::Grid);
    if !(2..=SMALL).contains(&senders) {
        return 0;
    }
    // The finest grid that fits; three offsets around the release alone would be no grid.
    let sizes = (4u64..=most).map_while(|points| Some((points, opening::grid_size(ground, points, most)?)));
    let Some((points, size)) = sizes.last() else { return 0 };
    let seed = Seed::new(options.seed);
    let parts = (targets.len() as u64) * size.div_ceil(ROUND);
    let part = |item: usize| {
        let (target, part) = (item % targets.len(), (item / targets.len()) as u64);
        let mut climb = Climb::new(ground, targets[target], seed.stream("grid"));
        for number in (part * ROUND..size.min((part + 1) * ROUND)).take_while(|_| go_on()) {
            climb.grid(points, number, &go_on);
        }
        Ok::<_, ()>(climb.met)
    };
    let met = parallel::ordered(parts as usize, options.threads, &part, &mut |_| ());
    met.unwrap_or_default().into_iter().for_each(|met| merge(known, met));
    size
}

/// Climbs in rounds until the steps are done.
fn climb(
    ground: &Ground,
    targets: &[usize],
    options: &AttackOptions,
    mut done: u64,
    time: TimeLimit<'_>,
    known: &mut [Option<Worst>],
    observe: &mut dyn FnMut(&AttackProgress),
) {
    let go_on = || time.allows(SearchPhase::Climb);
    let seed = Seed::new(options.seed);
    let climbs: Vec<Mutex<Climb>> = targets
        .iter()
        .flat_map(|&target| (0..CLIMBS).map(move |number| (target, number)))
        .map(|(target, number)| {
            let goal = match ground.targets[target].goal {
                Goal::Delivery | Goal::Sent => "attack",
                Goal::Exchange => "exchange",
            };
            let random = seed.stream(&format!("{goal} {} {number}", ground.name(target)));
            Mutex::new(Climb::new(ground, target, random))
        })
        .collect();
    while done < options.steps && go_on() {
        let steps = ROUND.min((options.steps - done).div_ceil(CLIMBS as u64));
        let work = |item: usize| {
            let mut climb = climbs[item].lock().expect("no climb has panicked");
            climb.go(steps, &go_on);
            Ok::<_, ()>(std::mem::replace(&mut climb.met, vec![None; ground.targets.len()]))
        };
        let met = parallel::ordered(climbs.len(), options.threads, &work, &mut |_| ());
        met.unwrap_or_default().into_iter().for_each(|met| merge(known, met));
        done += steps * CLIMBS as u64;
        for (number, climb) in climbs.iter().enumerate() {
            let mut climb = climb.lock().expect("no climb has panicked");
            // The first climb of each channel always starts from the worst scene known.
            match &known[climb.target] {
                Some(worst) if number % CLIMBS == 0 && climb.is_behind(worst.response) => {
                    let scene = worst.scene.clone();
                    climb.take_up(scene);
                }
                _ => climb.restart(known),
            }
        }
        observe(&AttackProgress { done, closest: closest(ground, targets, known) });
    }
}

/// Keeps the worse of the known and the new scene, of equals the known.
fn merge(known: &mut [Option<Worst>], met: Vec<Option<Worst>>) {
    for (known, met) in known.iter_mut().zip(met) {
        let worse = match (&*known, &met) {
            (Some(known), Some(met)) => met.response > known.response,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if worse {
            *known = met;
        }
    }
}

fn closest(ground: &Ground, targets: &[usize], known: &[Option<Worst>]) -> Option<(String, f64)> {
    let share = |target: &usize| {
        let (bound, worst) = (ground.targets[*target].bound, known[*target].as_ref()?);
        Some((ground.name(*target).to_string(), worst.response.as_secs_f64() / bound.as_secs_f64()))
    };
    targets.iter().filter_map(share).max_by(|a, b| a.1.total_cmp(&b.1))
}

fn found(ground: &Ground, target: usize, plain: &[Run], worst: Option<Worst>) -> Found {
    let Target { channel, goal, bound } = ground.targets[target];
    let longest = |run: &Run| goal.worst(&run.channels[channel]);
    let plain = plain.iter().filter_map(longest).max();
    let (worst, scene) = match worst {
        Some(worst) if plain.is_none_or(|plain| worst.response >= plain) => {
            (worst.response, Some(worst.scene))
        }
        _ => (plain.unwrap_or(Span::ZERO), None),
    };
    let name = ground.name(target).to_string();
    Found { channel, name, goal, bound, plain, plain_ended: true, worst, scene }
}
