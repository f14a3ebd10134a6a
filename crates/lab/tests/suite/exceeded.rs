//! Scenarios in which a message once took longer than its printed bound, each with the reason in
//! its file.
//!
//! An independent search found them, all outside the space that the property tests drew at the
//! time. Now every channel must keep its bound, or have none with a reason from admission.

use std::fs;
use std::path::{Path, PathBuf};

use laxity_world::experiment::Experiment;
use laxity_world::promise::promises;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exceeded");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

/// Real-time channels of the run that took longer than they were promised, and those without a
/// promise or a reason.
fn broken(experiment: &Experiment) -> Vec<String> {
    let formula = experiment.admission.formula.expect("these scenarios ask for bounds");
    let promises = promises(experiment, formula);
    let run = laxity_world::run(experiment);
    let mut broken = Vec::new();
    for (i, channel) in run.channels.iter().enumerate().filter(|(_, channel)| channel.class == "real_time") {
        match (channel.bound, &promises) {
            (Some(bound), _) => {
                let arrives = channel.delivery_bound.zip(channel.delivery_worst);
                for (bound, worst) in channel.worst.map(|worst| (bound, worst)).into_iter().chain(arrives) {
                    if worst > bound {
                        broken.push(format!("{}: bound {bound} s, worst {worst} s", channel.name));
                    }
                }
            }
            (None, Err(uncovered)) => assert!(!uncovered.0.is_empty()),
            (None, Ok(promises)) if promises.channels[i].is_refused() => {
                assert_eq!(channel.completed, 0, "{}: refused, and sends all the same", channel.name);
            }
            (None, Ok(_)) => broken.push(format!("{}: no bound, and nobody says why", channel.name)),
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
