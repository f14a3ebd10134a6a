//! `laxity attack`: the worst that a search finds, beside the bound.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use laxity_lab::attack::{
    self, AttackOptions, AttackProgress, AttackRecord, AttackedPoint, Confirmed, Found, TimeLimit,
    Unattacked, WriteError,
};
use laxity_report::output;
use laxity_scenario::{PointIndex, Scenario};
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::text::clean;

use crate::arguments::Attack;
use crate::terminal::{Bar, Stopwatch, Terminal};
use crate::{Exit, files};

/// Steps for each channel if neither steps nor a time are given.
const STEPS: u64 = 4000;
/// Events after which a scene is given up: a second or two. A change may make one that takes
/// minutes, or has no end.
const EVENTS: u64 = 2_000_000;

pub(crate) fn attack(arguments: &Attack, terminal: &mut Terminal) -> Exit {
    let scenario = match files::load(&arguments.file, &arguments.settings) {
        Ok(scenario) => scenario,
        Err(diagnostics) => {
            terminal.note(&diagnostics.render(terminal.error_colour()));
            return Exit::BadInput;
        }
    };
    let mut groups = attack::alike(&scenario);
    if let Some(number) = arguments.point {
        let point = match files::point(&scenario, number) {
            Ok(point) => point,
            Err(reason) => {
                terminal.error(&reason);
                return Exit::BadInput;
            }
        };
        groups.retain(|group| group.contains(&point));
    }
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("results").join(&scenario.name));
    let directory = attack::beside(&out);
    let mut record = AttackRecord::read(&directory, &scenario.hash).unwrap_or_default();
    record.attacked.clone_from(&scenario.name);
    record.file_hash.clone_from(&scenario.hash);
    let mut exit = Exit::Holds;
    let mut attacked = 0;
    for (number, group) in groups.iter().enumerate() {
        let here = title(&scenario, group);
        let experiments: Vec<Experiment> = group.iter().map(|point| scenario.experiment(point)).collect();
        let watch = Stopwatch::start();
        let passed = || watch.passed();
        let time = TimeLimit { limit: arguments.time, passed: &passed };
        let found = match search(&experiments, arguments, &here, time) {
            Ok(found) => found,
            Err(Unattacked::Nothing(reason)) => {
                terminal.line(&format!("{here}: not attacked: {reason}"));
                continue;
            }
            Err(Unattacked::Unknown(name)) if number + 1 < groups.len() || attacked > 0 => {
                terminal.line(&format!("{here}: `{}` has no bound here", clean(&name)));
                continue;
            }
            Err(Unattacked::Unknown(name)) => {
                terminal.error(&format!("no channel called `{}` has a bound", clean(&name)));
                return Exit::BadInput;
            }
        };
        attacked += 1;
        let first = scenario.points().position(|point| point == group[0]).unwrap_or_default();
        let stem = if scenario.points().nth(1).is_some() { format!("{first}-") } else { String::new() };
        let kept = match keep(&scenario, &group[0], found, (&directory, &stem), time) {
            Ok(kept) => kept,
            Err(error) => {
                terminal.error(&error.to_string());
                return match error {
                    WriteError::Output(output::OutputError::Refused { .. }) => Exit::BadInput,
                    _ => Exit::Broken,
                };
            }
        };
        show(&here, &kept, &directory, terminal);
        if kept.iter().any(|kept| !kept.found.plain_ended) {
            exit = exit.max(Exit::NotJudged);
        }
        if kept.iter().any(|kept| kept.found.exceeds()) {
            exit = exit.max(Exit::Fails);
        }
        let kept: Vec<_> = kept.into_iter().map(|kept| (kept.found, kept.file)).collect();
        record.renew(AttackedPoint::new(&scenario, group, &kept));
    }
    if attacked == 0 {
        return Exit::NotJudged;
    }
    if let Err(error) = record.write(&directory) {
        terminal.error(&error.to_string());
        return Exit::Broken;
    }
    terminal.note(&format!("scenarios that show the worst in {}", clean(&directory.display().to_string())));
    exit
}

fn title(scenario: &Scenario, group: &[PointIndex]) -> String {
    let point = scenario.describe(&group[0]);
    let others = match group.len() - 1 {
        0 => String::new(),
        1 => " and one point like it".into(),
        n => format!(" and {n} points like it"),
    };
    let at = if point.is_empty() { String::new() } else { format!(" at {point}") };
    clean(&format!("{}{at}{others}", scenario.name))
}

fn search(
    experiments: &[Experiment],
    arguments: &Attack,
    here: &str,
    time: TimeLimit<'_>,
) -> Result<Vec<Found>, Unattacked> {
    let usual = if arguments.time.is_some() { u64::MAX } else { STEPS };
    let steps = arguments.steps.map_or(usual, NonZero::get);
    let options = AttackOptions {
        steps,
        seed: arguments.seed,
        threads: arguments.threads,
        channel: arguments.channel.clone(),
        events: EVENTS,
    };
    let bar = Bar::new(here);
    let mut observe = |progress: &AttackProgress| {
        match time.limit {
            Some(limit) if arguments.steps.is_none() => {
                let ms = |span: Span| span.as_ps() / 1_000_000_000;
                bar.reach(ms((time.passed)().min(limit)), ms(limit));
            }
            _ => bar.reach(progress.done.min(steps), steps),
        }
        if let Some((name, share)) = &progress.closest {
            bar.say(&format!("{here}: {} at {:.1} % of its bound", clean(name), share * 100.0));
        }
    };
    attack::attack(experiments, &options, time, &mut observe)
}

/// A channel's worst case with the file that shows it.
struct Kept {
    found: Found,
    /// The name of the file; `None` if the experiment's own traffic shows the worst case.
    file: Option<String>,
    confirmed: Confirmed,
}

/// Writes a file for each worst case into the `directory`, with names that begin with `stem`.
fn keep(
    scenario: &Scenario,
    point: &PointIndex,
    found: Vec<Found>,
    (directory, stem): (&Path, &str),
    time: TimeLimit<'_>,
) -> Result<Vec<Kept>, WriteError> {
    let write = |found: Found| {
        let name = format!("{stem}{}.toml", found.stem());
        let confirmed = attack::write(scenario, point, &found, &directory.join(&name), time)?;
        let file = found.scene.is_some().then_some(name);
        Ok(Kept { found, file, confirmed })
    };
    found.into_iter().map(write).collect()
}

fn show(here: &str, kept: &[Kept], directory: &Path, terminal: &mut Terminal) {
    let ms = |span: Span| format!("{:.3} ms", span.as_secs_f64() * 1e3);
    let widest =
        kept.iter().map(|Kept { found, .. }| found.title().chars().count()).max().unwrap_or(0).max(7);
    terminal.line(here);
    terminal.line(&format!(
        "  {:widest$}  {:>12}  {:>12}  {:>12}  {:>11}",
        "channel", "bound", "plain run", "found", "found/bound"
    ));
    for Kept { found, .. } in kept {
        let row = format!(
            "  {:widest$}  {:>12}  {:>12}  {:>12}  {:>9.1} %",
            clean(&found.title()),
            ms(found.bound),
            found.plain.map_or("-".into(), ms),
            ms(found.worst),
            found.share() * 100.0
        );
        terminal.line(&if found.exceeds() { terminal.verdict(false, &row) } else { row });
    }
    for Kept { found, file, .. } in kept.iter().filter(|kept| kept.found.exceeds()) {
        let by = found.worst.saturating_sub(found.bound);
        let path: Option<PathBuf> = file.as_ref().map(|file| directory.join(file));
        let shown = path.map_or("its own traffic".into(), |path| path.display().to_string());
        let text = format!("  bound exceeded: {} by {by}, shown by {shown}", found.title());
        terminal.line(&terminal.verdict(false, &clean(&text)));
    }
    if let Some(median) = attack::median(kept.iter().map(|kept| kept.found.share())) {
        terminal.line(&format!("  median of found/bound: {:.1} %", median * 100.0));
    }
    if kept.iter().any(|kept| !kept.found.plain_ended) {
        terminal.line("  the time was over before the plain run had ended");
    }
    let unconfirmed = kept.iter().filter(|kept| kept.confirmed == Confirmed::TimeOver);
    let unconfirmed: Vec<String> = unconfirmed.map(|kept| kept.found.title()).collect();
    if !unconfirmed.is_empty() {
        let text =
            format!("  written, and not run again since the time was over: {}", unconfirmed.join(", "));
        terminal.line(&clean(&text));
    }
}
