//! The whole way on a scenario whose points are run by a stand-in.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::results::Channel;

/// A sweep of three loads and a claim that `holds`.
fn scenario(holds: &str) -> Scenario {
    let text = format!(
        r#"
title = "a sample"

[host]
profile = "mc68040"

[adapter]
kind = "null"
startup = "40 us"
per_byte = "50 ns"

[admission]
formula = "off"

[run]
packets = 100

[[channel]]
name = "be"
class = "best_effort"
max_message = "4 KiB"
burst = 10
source = {{ kind = "continuous" }}

[[sweep]]
name = "P"
label = "packets between preemption points"
key = "host.subsystem.preemption"
values = [1, 2, 3]

[[claim]]
id = "T"
says = "so it is"
holds = '''{holds}'''
shows = "runs.len()"
"#
    );
    let file = Path::new("sample.toml");
    let files = BTreeMap::from([(file.to_path_buf(), text.into_bytes())]);
    Scenario::read(file, &files).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A directory that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("laxity-pipeline-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        Self(path)
    }

    fn options(&self) -> Options {
        Options { out: Some(self.0.join("sample")), ..Options::default() }
    }

    fn kept(&self) -> usize {
        fs::read_dir(self.0.join(".sample.laxity/points")).unwrap().count()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A run whose figure tells the seed.
fn pretend(experiment: &Experiment) -> Result<Run, String> {
    let channel = Channel { name: "be".into(), class: "best_effort".into(), ..Channel::default() };
    Ok(Run {
        point: vec![],
        simulated: 1.0,
        window: 0.5,
        channels: vec![channel],
        resources: vec![],
        figures: BTreeMap::from([("seed".to_string(), experiment.seed as f64)]),
        ..Run::default()
    })
}

/// Runs it, and counts the points that were run.
fn counted(scenario: &Scenario, options: &Options) -> (Result<Outcome, Error>, usize) {
    let count = AtomicUsize::new(0);
    let runner = |experiment: &Experiment| {
        count.fetch_add(1, Ordering::Relaxed);
        pretend(experiment)
    };
    let outcome = run_by(scenario, options, &runner, &mut |_| ());
    (outcome, count.into_inner())
}

#[test]
fn points_come_in_order_on_any_number_of_threads() {
    let scenario = scenario("runs.len() == 3");
    let run = |threads| {
        let options = Options { threads: NonZero::new(threads), ..Options::default() };
        run_by(&scenario, &options, &pretend, &mut |_| ()).unwrap()
    };
    let one = run(1);
    assert_eq!(one.results.runs.iter().map(|run| run.point[0]).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(one.holds() && one.written.is_none());
    assert_eq!(one.verdicts[0].figure, "3");
    assert_eq!(run(3), one);
}

#[test]
fn progress_counts_up_to_the_total() {
    let mut seen = Vec::new();
    let all = scenario("true");
    run_by(&all, &Options::default(), &pretend, &mut |progress| seen.push(progress.done)).unwrap();
    assert_eq!(seen, [0, 1, 2, 3]);
}

#[test]
fn kept_points_are_not_run_again_unless_something_differs() {
    let scratch = Scratch::new("kept");
    let options = scratch.options();
    let (first, ran) = counted(&scenario("true"), &options);
    assert_eq!((ran, scratch.kept()), (3, 3));
    let (again, ran) = counted(&scenario("true"), &options);
    assert_eq!(ran, 0);
    assert_eq!(first.unwrap().results, again.unwrap().results);

    assert_eq!(counted(&scenario("!false"), &options).1, 0, "a claim does not decide a run");
    assert_eq!(counted(&scenario("true"), &Options { fresh: true, ..options.clone() }).1, 3);
    assert_eq!(counted(&scenario("true"), &Options { build: "other".into(), ..options.clone() }).1, 3);
    let (seeded, ran) = counted(&scenario("true"), &Options { seed: Some(77), ..options.clone() });
    assert_eq!((ran, seeded.unwrap().results.runs[2].figures["seed"]), (3, 77.0));
    assert_eq!(scratch.kept(), 3, "points of other seeds and builds are forgotten");
}

#[test]
fn a_damaged_point_is_run_again() {
    let scratch = Scratch::new("damaged");
    counted(&scenario("true"), &scratch.options()).0.unwrap();
    let entry = fs::read_dir(scratch.0.join(".sample.laxity/points")).unwrap().next().unwrap().unwrap();
    fs::write(entry.path(), "{\"point\":").unwrap();
    assert_eq!(counted(&scenario("true"), &scratch.options()).1, 1);
}

#[test]
fn a_contradicted_claim_is_an_outcome_and_is_written() {
    let scratch = Scratch::new("contradicted");
    let outcome = counted(&scenario("runs.len() == 4"), &scratch.options()).0.unwrap();
    assert!(!outcome.holds());
    assert!(outcome.written.unwrap().files.iter().all(|file| file.is_file()));
}

#[test]
fn a_claim_that_is_not_judged_or_wrong_is_neither_green_nor_an_end_to_the_others() {
    let standing = |script: &str| run(&scenario(script), &Options::default(), &mut |_| ()).unwrap();
    let open = standing("runs[0].channel(\"be\").bound > 0");
    assert_eq!((open.standing(), open.holds()), (Standing::NotJudged, false));
    // Names are tried before anything runs; only results without the channel can still prove this one wrong.
    let nothing = |experiment: &Experiment| {
        let mut run = pretend(experiment)?;
        run.channels.clear();
        Ok(run)
    };
    let script = scenario("runs[0].channel(\"be\").messages == 1");
    let wrong = run_by(&script, &Options::default(), &nothing, &mut |_| ()).unwrap();
    assert_eq!((wrong.standing(), wrong.verdicts.len()), (Standing::BadClaim, 1));
    assert!(wrong.errors[0].location.starts_with("sample.toml:"), "{}", wrong.errors[0]);
}

#[test]
fn an_unexpected_refusal_fails_whatever_the_claims_say() {
    let refused = |expected| {
        let outcome = run_by(
            &scenario("true"),
            &Options::default(),
            &|experiment| {
                let refused = crate::results::Refused { expected, ..Default::default() };
                let mut run = pretend(experiment)?;
                run.channels = vec![Channel { refused: Some(refused), ..Channel::default() }];
                Ok(run)
            },
            &mut |_| (),
        );
        outcome.unwrap().standing()
    };
    assert_eq!((refused(true), refused(false)), (Standing::Holds, Standing::Fails));
}

#[test]
fn a_point_that_breaks_is_named() {
    let broken = |experiment: &Experiment| {
        assert!(experiment.channels.is_empty(), "no such thing");
        pretend(experiment)
    };
    let error = run_by(&scenario("true"), &Options::default(), &broken, &mut |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "the run at P = 1 broke off: no such thing");
}

#[test]
fn no_report_leaves_the_directory_alone() {
    let scratch = Scratch::new("no-report");
    let options = Options { no_report: true, ..scratch.options() };
    assert!(counted(&scenario("true"), &options).0.unwrap().written.is_none());
    assert!(!scratch.0.join("sample").exists());
}
