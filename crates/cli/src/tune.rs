//! `laxity tune`: the best setting of a sweep, what it costs, and how near the others came.

use std::path::{Path, PathBuf};

use laxity_lab::tune::{self, Trial, TuneError, TuneSetting, Tuned, describe, in_words};
use laxity_report::output::{self, FileKind};
use laxity_scenario::Scenario;
use laxity_scenario::tune::Tune as Goal;
use laxity_world::text::{clean, clean_lines};

use crate::arguments::Tune;
use crate::check::counted;
use crate::terminal::Terminal;
use crate::{Exit, files};

/// Settings that are listed beside the best.
const LISTED: usize = 5;

pub(crate) fn tune(arguments: &Tune, terminal: &mut Terminal) -> Exit {
    let scenario = match files::load(&arguments.file, &arguments.settings) {
        Ok(scenario) => scenario,
        Err(diagnostics) => {
            terminal.note(&diagnostics.render(terminal.error_colour()));
            return Exit::BadInput;
        }
    };
    let name = clean(&scenario.name);
    let inputs = scenario.inputs();
    let svg = arguments
        .svg
        .clone()
        .unwrap_or_else(|| Path::new("results").join(format!("{}.tune.svg", scenario.name)));
    // Before anything is run for it; a disk that is full or read-only costs the drawing and not the search.
    if let Err(error @ output::OutputError::Refused { .. }) = output::check(&svg, FileKind::Drawing, &inputs)
    {
        return terminal.unwritten(&error);
    }
    let tuned = match tune::tune(&scenario, arguments.threads, &mut |_| ()) {
        Ok(tuned) => tuned,
        Err(error) => {
            terminal.error(&format!("{name}: {}", clean_lines(&error.to_string())));
            return match error {
                TuneError::NoGoal | TuneError::RealTime(_) => Exit::BadInput,
                TuneError::Run(_) => Exit::Broken,
            };
        }
    };
    let goal = scenario.tune.as_ref().expect("without a goal nothing is tuned");
    let exit = show(&scenario, goal, &tuned, terminal);
    exit.max(draw(&scenario, &tuned, &svg, &inputs, terminal))
}

fn show(scenario: &Scenario, goal: &Goal, tuned: &Tuned, terminal: &mut Terminal) -> Exit {
    let metric = &goal.goal.metric;
    let side = if goal.more { "most" } else { "least" };
    terminal.line(&format!("{}  {}", clean(&scenario.name), clean(&scenario.title)));
    let needs = goal.needs.iter().map(|need| {
        let side = if need.at_most { "at most" } else { "at least" };
        let metric = &need.wanted.metric;
        format!("{} {side} {}", metric.label(), in_words(metric, Some(need.bound)))
    });
    let needs: Vec<String> = needs.collect();
    let with = if needs.is_empty() { String::new() } else { format!(", with {}", needs.join(" and ")) };
    terminal.line(&clean(&format!("{side} {}{with}", metric.label())));
    let good = tuned.settings.iter().filter(|setting| setting.is_good()).count();
    terminal.line(&format!(
        "{} of {} ran, at {} each; {good} {} what is needed, {} on the frontier",
        tuned.settings.len(),
        counted(tuned.total, "setting"),
        counted(tuned.circumstances, "circumstance"),
        if good == 1 { "keeps" } else { "keep" },
        tune::frontier(goal, tuned).len(),
    ));
    let words = |setting: &TuneSetting| clean(&describe(scenario, &setting.place));
    for trial in tuned.trials.iter().filter(|trial| !trial.holds()) {
        terminal.line(&format!("\nnot confirmed: {}: {}", words(&trial.setting), fresh(goal, trial)));
    }
    let Some(best) = tuned.best() else {
        let nearest = tuned.settings.first();
        let good = nearest.is_some_and(TuneSetting::is_good);
        // A setting without a measurement neither keeps nor misses a need.
        let measured = |setting: &TuneSetting| setting.refused.is_some() || setting.goal.is_some();
        let measured = tuned.settings.iter().any(measured);
        terminal.line(match (good, measured) {
            (true, _) => "\nno setting keeps what is needed with every fresh seed that it was tried with",
            (false, true) => "\nno setting keeps what is needed",
            (false, false) => "\nnot judged: no setting was measured",
        });
        if let Some(nearest) = nearest.filter(|_| !good) {
            terminal.line(&format!("nearest: {}: {}", words(nearest), figures(goal, nearest)));
            terminal.line(&format!("         {}", short(goal, nearest)));
        }
        return if measured { Exit::Fails } else { Exit::NotJudged };
    };
    terminal.line(&format!("\nbest: {}: {}", words(&best.setting), figures(goal, &best.setting)));
    terminal.line(&format!("      {}", fresh(goal, best)));
    let others: Vec<&TuneSetting> =
        tuned.settings.iter().filter(|setting| setting.place != best.setting.place).take(LISTED).collect();
    if !others.is_empty() {
        terminal.line("\nrunners-up");
    }
    for other in others {
        let costs = match short(goal, other) {
            text if text.is_empty() => against(goal, other, &best.setting),
            text => text,
        };
        terminal.line(&format!("  {}: {}; {costs}", words(other), figures(goal, other)));
    }
    Exit::Holds
}

/// Figures of a setting, in words.
fn figures(goal: &Goal, setting: &TuneSetting) -> String {
    let needs = goal.needs.iter().zip(&setting.needs);
    let needs = needs.map(|(need, value)| (&need.wanted.metric, *value));
    let all = std::iter::once((&goal.goal.metric, setting.goal)).chain(needs);
    let words = all.map(|(metric, value)| format!("{} {}", metric.label(), in_words(metric, value)));
    clean(&words.collect::<Vec<_>>().join(", "))
}

/// Loss of the goal against the best setting.
fn against(goal: &Goal, other: &TuneSetting, best: &TuneSetting) -> String {
    match other.goal.zip(best.goal) {
        Some((other, best)) if other == best => "as good".into(),
        Some((other, best)) if best != 0.0 => {
            let by = (other - best) / best.abs() * 100.0;
            let word = if (other > best) == goal.more { "better, and not confirmed" } else { "of the goal" };
            format!("{by:+.1} % {word}")
        }
        _ => "not as good".into(),
    }
}

/// The needs that a setting misses; empty if there are none.
fn short(goal: &Goal, setting: &TuneSetting) -> String {
    if let Some(refused) = &setting.refused {
        return clean(refused);
    }
    if let Some(silent) = &setting.silent {
        return silent.clone();
    }
    if setting.goal.is_none() {
        return clean(&format!("{} was not measured", goal.goal.metric.name()));
    }
    let missed = goal.needs.iter().zip(&setting.needs).filter_map(|(need, value)| {
        let name = need.wanted.metric.label();
        let Some(value) = *value else { return Some(format!("{name} was not measured")) };
        let over = if need.at_most { value - need.bound } else { need.bound - value };
        let share = if need.bound == 0.0 {
            String::new()
        } else {
            format!(" ({:.1} %)", over / need.bound.abs() * 100.0)
        };
        (over > 0.0).then(|| {
            let side = if need.at_most { "too much" } else { "too little" };
            format!("{} {side} {name}{share}", in_words(&need.wanted.metric, Some(over)))
        })
    });
    clean(&missed.collect::<Vec<_>>().join(", "))
}

/// Outcome with fresh seeds.
fn fresh(goal: &Goal, trial: &Trial) -> String {
    let seeds = counted(trial.fresh.len(), "fresh seed");
    let failed: Vec<String> =
        trial.fresh.iter().filter(|setting| !setting.is_good()).map(|setting| short(goal, setting)).collect();
    match failed.first() {
        None => {
            let goals: Vec<f64> = trial.fresh.iter().filter_map(|setting| setting.goal).collect();
            let (least, most) =
                goals.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
            let metric = &goal.goal.metric;
            let range = match least == most {
                true => in_words(metric, Some(least)),
                false => format!("{} to {}", in_words(metric, Some(least)), in_words(metric, Some(most))),
            };
            clean(&format!("confirmed with {seeds}: {} {range}", metric.label()))
        }
        Some(first) => format!("with {} of {seeds} it falls short: {first}", failed.len()),
    }
}

fn draw(
    scenario: &Scenario,
    tuned: &Tuned,
    path: &Path,
    inputs: &[PathBuf],
    terminal: &mut Terminal,
) -> Exit {
    let Some(svg) = tune::figure(scenario, tuned) else { return Exit::Holds };
    let parent = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let made = parent
        .map_or(Ok(()), std::fs::create_dir_all)
        .map_err(|error| output::OutputError::failed(path, error));
    match made.and_then(|()| output::write(path, FileKind::Drawing, inputs, svg.as_bytes())) {
        Ok(()) => {
            terminal.note(&format!("frontier in {}", clean(&path.display().to_string())));
            Exit::Holds
        }
        Err(error) => terminal.unwritten(&error),
    }
}
