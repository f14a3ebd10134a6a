//! One point of a sweep: stored by an earlier run, or run now, and again if the machine disturbed
//! it.

use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use laxity_scenario::{PointIndex, Scenario};
use laxity_world::experiment::{ClockKind, Experiment};
use laxity_world::results::Run;
use sha2::{Digest, Sha256};

use super::store::Store;
use super::{CampaignError, PointRunner, RunOptions};

/// One point, run now or earlier.
pub(super) struct Finished {
    pub(super) run: Run,
    pub(super) clock: ClockKind,
    /// By which it is kept; empty without a store.
    pub(super) key: String,
    pub(super) kept: bool,
    /// Why it could not be kept.
    pub(super) unkept: Option<String>,
    /// The number of further runs because it was not fit to be judged.
    pub(super) reruns: usize,
}

pub(super) fn point(
    scenario: &Scenario,
    options: &RunOptions,
    runner: PointRunner<'_>,
    store: Option<&Store>,
    point: &PointIndex,
) -> Result<Finished, CampaignError> {
    let mut experiment = scenario.experiment(point);
    if let Some(seed) = options.seed {
        if experiment.seed != scenario.seed {
            return Err(CampaignError::SweptSeed);
        }
        experiment.seed = seed;
    }
    let key = store.map_or_else(String::new, |_| key(&experiment, options));
    let before = store.filter(|_| !options.fresh).and_then(|store| store.load(&key));
    let kept = before.as_ref().is_some_and(|run| options.retries == 0 || is_fit(run));
    let mut fittest = match before {
        Some(run) => run,
        None => once(scenario, runner, point, &experiment)?,
    };
    let mut reruns = 0;
    while !kept && reruns < options.retries && !is_fit(&fittest) {
        reruns += 1;
        let again = once(scenario, runner, point, &experiment)?;
        if again.strain() < fittest.strain() {
            fittest = again;
        }
    }
    let run = Run { point: point.indices().to_vec(), ..fittest };
    let keeps = store.filter(|_| !kept);
    let unkept = keeps.and_then(|store| store.save(&key, &run).err()).map(|error| error.to_string());
    Ok(Finished { run, clock: experiment.clock, key, kept, unkept, reruns })
}

fn is_fit(run: &Run) -> bool {
    run.strain() <= 1.0
}

/// Runs the point. A panic is an invariant of ours that broke; that says at which point, and lets
/// the others' results stand.
pub(crate) fn once(
    scenario: &Scenario,
    runner: PointRunner<'_>,
    point: &PointIndex,
    experiment: &Experiment,
) -> Result<Run, CampaignError> {
    let run = catch_unwind(AssertUnwindSafe(|| runner(experiment))).map_err(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_string()));
        CampaignError::Broken { point: scenario.describe(point), message: message.unwrap_or_default() }
    })?;
    run.map_err(|message| CampaignError::Refused { point: scenario.describe(point), message })
}

/// The inputs that decide the outcome of a point: the experiment with the contents of its files,
/// and the build that runs it. The point's place in the sweep and the claims are not inputs, so
/// either can be edited without running again.
fn key(experiment: &Experiment, options: &RunOptions) -> String {
    struct Hash(Sha256);
    impl Write for Hash {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut hash = Hash(Sha256::new());
    let version = env!("CARGO_PKG_VERSION");
    // The derived form shows every field, traces included, and is streamed into the hash without a
    // copy in memory.
    write!(hash, "{version}\0{}\0{experiment:?}", options.build).expect("hashing does not fail");
    hash.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
