//! `laxity run`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use laxity_emulator::Runner;
use laxity_lab::campaign::{self, Outcome, RunOptions};
use laxity_report::present::table;
use laxity_scenario::Scenario;
use laxity_world::experiment::{Experiment, Task};
use laxity_world::text::{clean, clean_lines};

use crate::arguments::{Effort, Run, Settings};
use crate::budget;
use crate::service::network;
use crate::terminal::{Bar, Terminal};
use crate::{Exit, files, stamp};

pub(crate) fn run(arguments: &Run, terminal: &mut Terminal) -> Exit {
    if let [file] = &arguments.files[..]
        && network::is_network(file)
    {
        if arguments.has_options() {
            let file = clean(&file.display().to_string());
            terminal.error(&format!("{file} is a network of node files, which `run` takes without options"));
            return Exit::BadInput;
        }
        return network::run(file, terminal);
    }
    let files = match files::named(&arguments.files) {
        Ok(files) => files,
        Err(reason) => {
            terminal.error(&reason);
            return Exit::BadInput;
        }
    };
    // All are read before any is run: a slip in the last file should not cost the hours of the first.
    let Some(scenarios) = load(&files, &arguments.settings, terminal) else { return Exit::BadInput };
    let outs = match directories(arguments, &files, &scenarios) {
        Ok(outs) => outs,
        Err(reason) => {
            terminal.error(&reason);
            return Exit::BadInput;
        }
    };
    let mut exit = Exit::Holds;
    for (scenario, out) in scenarios.iter().zip(outs) {
        let no_report = arguments.no_report;
        let options = RunOptions { no_report, seed: arguments.seed, ..options(out, &arguments.effort) };
        exit = exit.max(match go(scenario, &options, terminal) {
            Ok(outcome) => {
                show(&outcome, terminal);
                Exit::from(outcome.standing()).max(unwritten(&outcome, terminal))
            }
            Err(exit) => exit,
        });
    }
    exit
}

/// Reads scenarios, or shows what is wrong with each.
pub(crate) fn load(paths: &[PathBuf], settings: &Settings, terminal: &Terminal) -> Option<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for path in paths {
        match files::load(path, settings) {
            Ok(scenario) => scenarios.push(scenario),
            Err(diagnostics) => terminal.note(&diagnostics.render(terminal.error_colour())),
        }
    }
    (scenarios.len() == paths.len()).then_some(scenarios)
}

/// The directory of results for each scenario, no two the same.
fn directories(arguments: &Run, files: &[PathBuf], scenarios: &[Scenario]) -> Result<Vec<PathBuf>, String> {
    let parent = match &arguments.out {
        Some(out) if scenarios.len() == 1 => return Ok(vec![out.clone()]),
        Some(out) => out.as_path(),
        None => Path::new("results"),
    };
    let mut taken = BTreeMap::new();
    let mut outs = Vec::new();
    for (scenario, file) in scenarios.iter().zip(files) {
        if let Some(other) = taken.insert(&scenario.name, file) {
            let (a, b, name) = (other.display(), file.display(), &scenario.name);
            return Err(format!(
                "{a} and {b} would both write their results as `{name}`; run them one by one"
            ));
        }
        outs.push(parent.join(&scenario.name));
    }
    Ok(outs)
}

/// A campaign's options for results in `out`.
pub(crate) fn options(out: PathBuf, effort: &Effort) -> RunOptions {
    let (threads, fresh) = (effort.threads, effort.fresh);
    let (budget, stamp) = (Some(budget::of_a_script as fn() -> _), stamp::now());
    RunOptions { out: Some(out), threads, fresh, budget, build: build(), stamp, ..RunOptions::default() }
}

/// Distinguishes this build from another of the same version: the program's size and its link time.
/// Only points that the same build has run are used again, so a stale result is never reused.
fn build() -> String {
    let program = std::env::current_exe().and_then(|path| path.metadata());
    let stamp = program.and_then(|file| Ok((file.len(), file.modified()?)));
    stamp.map(|(length, modified)| format!("{length} {modified:?}")).unwrap_or_default()
}

/// Runs one scenario, or shows why it has no outcome.
pub(crate) fn go(scenario: &Scenario, options: &RunOptions, terminal: &Terminal) -> Result<Outcome, Exit> {
    go_longer(scenario, 1, options, terminal)
}

/// The same with runs that are `times` as long as the scenario says.
pub(crate) fn go_longer(
    scenario: &Scenario,
    times: u32,
    options: &RunOptions,
    terminal: &Terminal,
) -> Result<Outcome, Exit> {
    let bar = Bar::new(&scenario.name);
    let name = clean(&scenario.name);
    let warn = |warning: &str| terminal.note(&format!("{name}: warning: {warning}"));
    let runner = Runner::new(&warn);
    let run = |experiment: &Experiment| match experiment.task {
        Task::Simulate(length) if times > 1 => {
            runner.run(&Experiment { task: Task::Simulate(length.longer(times)), ..experiment.clone() })
        }
        _ => runner.run(experiment),
    };
    let outcome = campaign::run_by(scenario, options, &run, &mut |progress| bar.update(progress));
    drop(bar);
    outcome.map_err(|error| refuse(scenario, &error, terminal))
}

/// Shows why a scenario has no outcome.
pub(crate) fn refuse(scenario: &Scenario, error: &campaign::CampaignError, terminal: &Terminal) -> Exit {
    terminal.error(&format!("{}: {}", clean(&scenario.name), clean_lines(&error.to_string())));
    match error {
        campaign::CampaignError::Unjudged(_)
        | campaign::CampaignError::SweptSeed
        | campaign::CampaignError::Output(_) => Exit::BadInput,
        campaign::CampaignError::Broken { .. } | campaign::CampaignError::Refused { .. } => Exit::Broken,
    }
}

pub(crate) fn show(outcome: &Outcome, terminal: &mut Terminal) {
    let options = table::TableOptions {
        width: terminal.width(),
        colour: terminal.colour(),
        ..table::TableOptions::default()
    };
    terminal.print(&table::text(&outcome.results, &outcome.verdicts, &options));
    for error in &outcome.errors {
        terminal.error(&clean_lines(&error.to_string()));
    }
    // Not on standard output: that is equal for equal results.
    let made = stamp::words(&stamp::now());
    if let Some(report) = outcome.written.as_ref().and_then(|written| written.files.first()) {
        let here = std::env::current_dir().unwrap_or_default();
        let report = report.strip_prefix(here).unwrap_or(report);
        terminal.note(&format!("report in {}; {made}", report.display()));
    } else {
        terminal.note(&made);
    }
}

/// Says what of an outcome is not on disk, and is the exit code for it: a directory of results that
/// was asked for and is not there, or is of an earlier run, must not pass for this one's. Points
/// that could not be kept cost time only.
pub(crate) fn unwritten(outcome: &Outcome, terminal: &Terminal) -> Exit {
    match (&outcome.unwritten, &outcome.unkept) {
        (Some(why), _) => {
            let advice = "`--out` names another directory, `--no-report` judges without one";
            terminal.error(&format!("{}; {advice}", clean_lines(why)));
            Exit::Broken
        }
        (None, Some(why)) => {
            terminal.note(&format!("warning: {}; the next run runs all points again", clean_lines(why)));
            Exit::Holds
        }
        (None, None) => Exit::Holds,
    }
}
