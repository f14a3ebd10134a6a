//! The whole campaign on a scenario with a stand-in for the runner.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use laxity_world::experiment::Experiment;
use laxity_world::results::{Channel, Fitness, RealTime};

use super::*;
use crate::scratch::Scratch;

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
    crate::from_text("sample.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

impl Scratch {
    fn options(&self) -> RunOptions {
        RunOptions { out: Some(self.0.join("sample")), ..RunOptions::default() }
    }

    fn kept(&self) -> usize {
        fs::read_dir(self.0.join(".sample.laxity/points")).unwrap().count()
    }
}

/// A run with the seed as its figure.
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
fn counted(scenario: &Scenario, options: &RunOptions) -> (Result<Outcome, CampaignError>, usize) {
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
        let options = RunOptions { threads: NonZero::new(threads), ..RunOptions::default() };
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
    run_by(&all, &RunOptions::default(), &pretend, &mut |progress| seen.push(progress.done)).unwrap();
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
    assert_eq!(counted(&scenario("true"), &RunOptions { fresh: true, ..options.clone() }).1, 3);
    assert_eq!(counted(&scenario("true"), &RunOptions { build: "other".into(), ..options.clone() }).1, 3);
    let (seeded, ran) = counted(&scenario("true"), &RunOptions { seed: Some(77), ..options.clone() });
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
    let standing = |script: &str| run(&scenario(script), &RunOptions::default(), &mut |_| ()).unwrap();
    let open = standing("runs[0].channel(\"be\").bound > 0");
    assert_eq!((open.standing(), open.holds()), (Standing::NotJudged, false));
    // Names are tried before anything runs; only results without the channel can show that this
    // name is wrong.
    let nothing = |experiment: &Experiment| {
        let mut run = pretend(experiment)?;
        run.channels.clear();
        Ok(run)
    };
    let script = scenario("runs[0].channel(\"be\").messages == 1");
    let wrong = run_by(&script, &RunOptions::default(), &nothing, &mut |_| ()).unwrap();
    assert_eq!((wrong.standing(), wrong.verdicts.len()), (Standing::BadClaim, 1));
    assert!(wrong.errors[0].location.starts_with("sample.toml:"), "{}", wrong.errors[0]);
}

/// A run that was given up did not measure what was asked for, whatever claims make of it.
#[test]
fn a_run_that_was_given_up_is_not_judged_and_one_beyond_its_bounds_fails() {
    let with = |figure: &str, seed: f64| {
        let run = |experiment: &Experiment| {
            let mut run = pretend(experiment)?;
            if run.figures["seed"] == seed {
                run.figures.insert(figure.into(), 1.0);
            }
            Ok(run)
        };
        run_by(&scenario("true"), &RunOptions::default(), &run, &mut |_| ()).unwrap().standing()
    };
    let seeds: Vec<f64> = {
        let outcome = run_by(&scenario("true"), &RunOptions::default(), &pretend, &mut |_| ()).unwrap();
        outcome.results.runs.iter().map(|run| run.figures["seed"]).collect()
    };
    for (figure, standing) in
        [("given_up", Standing::NotJudged), ("too_long", Standing::NotJudged), ("exceeded", Standing::Fails)]
    {
        assert_eq!((with(figure, seeds[2]), with(figure, -1.0)), (standing, Standing::Holds), "{figure}");
    }
}

#[test]
fn an_unexpected_refusal_fails_whatever_the_claims_say() {
    let refused = |expected| {
        let outcome = run_by(
            &scenario("true"),
            &RunOptions::default(),
            &|experiment| {
                let refused = laxity_world::results::RefusedChannel { expected, ..Default::default() };
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
    let error = run_by(&scenario("true"), &RunOptions::default(), &broken, &mut |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "the run at P = 1 broke off: no such thing");
}

#[test]
fn no_report_leaves_the_directory_alone() {
    let scratch = Scratch::new("no-report");
    let options = RunOptions { no_report: true, ..scratch.options() };
    assert!(counted(&scenario("true"), &options).0.unwrap().written.is_none());
    assert!(!scratch.0.join("sample").exists());
}

/// A point in real time during which the platform stalled for this share.
fn disturbed(throughput: f64, stalled_share: f64) -> Run {
    let fitness = Fitness { stalled_share, ..Fitness::default() };
    let channel = Channel { name: "be".into(), throughput, messages: 1, ..Channel::default() };
    Run {
        channels: vec![channel],
        real_time: Some(RealTime { fitness, ..RealTime::default() }),
        ..Run::default()
    }
}

/// The outcome of points with the given stalls, the same for each point, and how often points ran.
fn scripted(options: &RunOptions, holds: &str, shares: &[f64]) -> (Outcome, usize) {
    let options = RunOptions { threads: NonZero::new(1), ..options.clone() };
    let runs = AtomicUsize::new(0);
    let of_point = std::sync::Mutex::new(BTreeMap::<String, usize>::new());
    let runner = |experiment: &Experiment| {
        runs.fetch_add(1, Ordering::Relaxed);
        let mut of_point = of_point.lock().unwrap();
        let times = of_point.entry(format!("{:?}", experiment.hosts)).or_default();
        *times += 1;
        Ok(disturbed(*times as f64, shares[(*times - 1).min(shares.len() - 1)]))
    };
    let outcome = run_by(&scenario(holds), &options, &runner, &mut |_| {}).unwrap();
    (outcome, runs.into_inner())
}

const MEASURED: &str = "runs.all(|r| r.channels[0].throughput > 0)";

#[test]
fn a_point_that_the_machine_disturbed_is_run_again_and_the_fittest_counts() {
    let options = RunOptions { retries: 2, ..RunOptions::default() };
    // Fit at the first run, then at the second; the third is not needed.
    assert_eq!(scripted(&options, MEASURED, &[0.001]).1, 3);
    let (outcome, runs) = scripted(&options, MEASURED, &[0.5, 0.001]);
    assert_eq!((runs, outcome.reruns, outcome.standing()), (6, 3, Standing::Holds));
    // Never fit: the second of three was the best, and the claim has no verdict.
    let (outcome, runs) = scripted(&options, MEASURED, &[0.5, 0.02, 0.3, 0.0]);
    assert_eq!((runs, outcome.reruns, outcome.standing()), (9, 6, Standing::NotJudged));
    assert!(outcome.results.runs.iter().all(|run| run.channels[0].throughput == 2.0));
    assert!(outcome.verdicts[0].spoilt);
    // Without retries there is one run.
    assert_eq!(scripted(&RunOptions::default(), MEASURED, &[0.5, 0.0]).1, 3);
}

#[test]
fn a_kept_point_that_was_disturbed_is_run_again_if_asked_for() {
    let scratch = Scratch::new("disturbed");
    let (outcome, runs) = scripted(&scratch.options(), MEASURED, &[0.5]);
    assert_eq!((runs, outcome.standing()), (3, Standing::NotJudged));
    assert_eq!(scripted(&scratch.options(), MEASURED, &[0.0]).1, 0, "an edited claim runs nothing again");
    let retrying = RunOptions { retries: 2, ..scratch.options() };
    let (outcome, runs) = scripted(&retrying, MEASURED, &[0.7, 0.0]);
    assert_eq!((runs, outcome.standing()), (6, Standing::Holds));
    // The fit one is what is kept.
    assert_eq!(scripted(&retrying, MEASURED, &[0.5]).1, 0);
}

/// Points that run elsewhere, such as on a cluster, have the outcome of a run here.
#[test]
fn points_that_ran_elsewhere_have_the_same_outcome() {
    let scenario = scenario("runs.len() == 3");
    let mut runs = Vec::new();
    for point in scenario.points() {
        runs.push(run_point(&scenario, &point, &pretend).unwrap());
    }
    let here = run_by(&scenario, &RunOptions::default(), &pretend, &mut |_| ()).unwrap();
    assert_eq!(of_runs(&scenario, &RunOptions::default(), runs).unwrap(), here);
}
