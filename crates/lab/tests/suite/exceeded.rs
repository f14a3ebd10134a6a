//! Scenarios in which a message once took longer than its printed bound, each with the reason in
//! its file.
//!
//! An independent search found them, all outside the space that the property tests drew at the
//! time. Now every channel must keep its bound, or have none with a reason from admission.

use std::fs;
use std::path::{Path, PathBuf};

use laxity_world::experiment::Experiment;
use laxity_world::promise::promises;
use laxity_world::results::Exceeded;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exceeded");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

/// The bounds that the run exceeded, and real-time channels without a promise or a reason.
fn broken(experiment: &Experiment) -> Vec<String> {
    let formula = experiment.admission.formula.expect("these scenarios ask for bounds");
    let promises = promises(experiment, formula);
    let run = laxity_world::run(experiment);
    let told = |Exceeded { of, judged }| {
        format!("{of}: {} {}, bound {}", judged.what, judged.measured, judged.bound)
    };
    let mut broken: Vec<String> = run.exceeded().map(told).collect();
    for (i, channel) in run.channels.iter().enumerate().filter(|(_, channel)| channel.class == "real_time") {
        match (channel.bound, &promises) {
            (Some(_), _) => {}
            (None, Err(uncovered)) => assert!(!uncovered.sentence().is_empty()),
            (None, Ok(promises)) if promises.channels[i].is_refused() => {
                assert_eq!(channel.completed, 0, "{}: refused, and sends all the same", channel.name);
            }
            (None, Ok(_)) => broken.push(format!("{}: no bound and no reason", channel.name)),
        }
    }
    broken
}

#[test]
fn no_bound_is_exceeded_again() {
    let mut failures = Vec::new();
    let files = files();
    for file in &files {
        let scenario = laxity_lab::load(file).unwrap_or_else(|errors| panic!("{errors}"));
        for point in scenario.points() {
            for failure in broken(&scenario.experiment(&point)) {
                failures.push(format!("{}: {failure}", scenario.name));
            }
        }
    }
    assert!(files.len() >= 11, "{files:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A bound covers packets that arrive. No packet is lost on the path of a channel that has a bound,
/// keeps its contract and passes only intact components.
#[test]
fn what_has_a_bound_has_room() {
    let ahead = files().into_iter().filter(|file| file.to_string_lossy().contains("messages-ahead"));
    let mut bounds = 0;
    for file in ahead {
        let scenario = laxity_lab::load(&file).unwrap_or_else(|errors| panic!("{errors}"));
        let run = laxity_world::run(&scenario.first());
        for channel in run.channels.iter().filter(|channel| channel.bound.is_some()) {
            let lost = channel.failed_messages.unwrap_or(0);
            assert_eq!(lost, 0, "{}: {} loses what its contract covers", scenario.name, channel.name);
            bounds += 1;
        }
    }
    assert!(bounds >= 3, "{bounds} channels have bounds");
}
