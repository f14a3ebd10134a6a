//! `laxity reproduce`: every experiment, a line per claim, and the table of what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use laxity_lab::campaign;
use laxity_report::output::{self, FileKind};
use laxity_scenario::Scenario;
use laxity_world::experiment::ClockKind;
use laxity_world::results::Verdict;
use laxity_world::text::{clean, clean_lines};

use crate::Exit;
use crate::arguments::{Reproduce, Settings};
use crate::reproduction::{Entry, Section, Table};
use crate::run;
use crate::terminal::{Stopwatch, Terminal};

pub(crate) fn reproduce(arguments: &Reproduce, terminal: &mut Terminal) -> Exit {
    if let Some(rows) = &arguments.merge {
        return merge(arguments, rows, terminal);
    }
    let systems = match systems(&arguments.experiments, arguments.system.as_deref()) {
        Ok(systems) => systems,
        Err(reason) => {
            terminal.error(&reason);
            return Exit::BadInput;
        }
    };
    let mut loaded = BTreeMap::new();
    let mut exit = Exit::Holds;
    for (system, files) in systems {
        match run::load(&files, &Settings::default(), terminal) {
            Some(scenarios) => drop(loaded.insert(system, (files, scenarios))),
            None => exit = Exit::BadInput,
        }
    }
    if exit != Exit::Holds {
        return exit;
    }
    if let Some(times) = arguments.longer {
        return longer(arguments, times, &loaded, terminal);
    }
    let Some(table) = table(&arguments.table, terminal) else { return Exit::BadInput };
    if arguments.check {
        return check(arguments, &table, &loaded, terminal);
    }
    if let Err(error) = output::check(&arguments.table, FileKind::Reproduction, &[]) {
        return terminal.unwritten(&error);
    }
    run_all(arguments, table, &loaded, terminal)
}

/// The table in a file; an empty one if there is no file.
fn table(file: &Path, terminal: &Terminal) -> Option<Table> {
    match fs::read_to_string(file) {
        Ok(text) => Some(Table::parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Table::default()),
        Err(error) => {
            terminal.error(&format!("{}: {error}", file.display()));
            None
        }
    }
}

/// Puts the rows that another command wrote into the table.
fn merge(arguments: &Reproduce, rows: &Path, terminal: &mut Terminal) -> Exit {
    let Some(mut table) = table(&arguments.table, terminal) else { return Exit::BadInput };
    let rows = match fs::read_to_string(rows) {
        Ok(text) => Table::parse(&text),
        Err(error) => {
            terminal.error(&format!("{}: {error}", rows.display()));
            return Exit::BadInput;
        }
    };
    table.merge(rows);
    terminal.line(&table.summary());
    match write(&arguments.table, &table.text()) {
        Ok(()) => Exit::Holds,
        Err(error) => terminal.unwritten(&error),
    }
}

/// How often a point in real time is run again if the machine was too busy for it.
const RETRIES: usize = 2;

/// Per system: its files, and what stands in them.
type Loaded = BTreeMap<String, (Vec<PathBuf>, Vec<Scenario>)>;

fn run_all(arguments: &Reproduce, mut table: Table, loaded: &Loaded, terminal: &mut Terminal) -> Exit {
    let (mut exit, mut unwritten) = (Exit::Holds, Exit::Holds);
    let before = table.clone();
    if arguments.system.is_none() {
        table = table.of_other_commands();
    }
    for (system, (files, scenarios)) in loaded {
        let mut sections = Vec::new();
        terminal.line(&clean(system));
        for (file, scenario) in files.iter().zip(scenarios) {
            let watch = Stopwatch::start();
            let out = Path::new("results").join(system).join(&scenario.name);
            let options = campaign::RunOptions { retries: RETRIES, ..run::options(out, &arguments.effort) };
            let outcome = match run::go(scenario, &options, terminal) {
                Ok(outcome) => outcome,
                Err(failed) => {
                    exit = exit.max(failed);
                    continue;
                }
            };
            let time = watch.read();
            unwritten = unwritten.max(run::unwritten(&outcome, terminal));
            for verdict in &outcome.verdicts {
                let (id, figure) = (clean(&verdict.id), clean(&verdict.figure));
                let word = format!("{:<12}", verdict.ruling.word());
                let word = terminal.verdict(verdict.holds(), &word);
                let detail = clean(verdict.ruling.detail());
                let detail = if detail.is_empty() { detail } else { format!("{detail}: ") };
                terminal.line(&format!("  {id:<14} {word} {time:>8}  {detail}{figure}"));
            }
            for error in &outcome.errors {
                terminal.error(&clean_lines(&error.to_string()));
            }
            let standing: Exit = outcome.standing().into();
            exit = exit.max(standing);
            if outcome.reruns > 0 {
                terminal.note(&format!(
                    "  the machine was busy: points in real time ran {} times more",
                    outcome.reruns
                ));
            }
            let spoilt = outcome.verdicts.iter().any(|verdict| verdict.spoilt);
            let now = section(file, scenario, outcome.verdicts);
            sections.push(match before.measured_before(&now).filter(|_| spoilt) {
                Some(then) => {
                    terminal.note("  the rows that were measured on a quieter machine stay in the table");
                    then.clone()
                }
                None => now,
            });
        }
        table.replace(system, sections);
    }
    if exit > Exit::Fails {
        terminal.error(&format!("{} is left as it was", arguments.table.display()));
        return exit;
    }
    terminal.line(&format!("\n{}", table.summary()));
    exit.max(unwritten).max(match write(&arguments.table, &table.text()) {
        Ok(()) => Exit::Holds,
        Err(error) => terminal.unwritten(&error),
    })
}

/// Whether these experiments give the table. Runs the experiments in virtual time, whose rows must
/// be equal byte for byte. Of the others, which no run repeats, the table must be from the files as
/// they are.
fn check(arguments: &Reproduce, table: &Table, loaded: &Loaded, terminal: &mut Terminal) -> Exit {
    let mut exit = Exit::Holds;
    let mut stale = |what: &str, terminal: &Terminal| {
        terminal.error(&format!("{} {what}: run `laxity reproduce`", arguments.table.display()));
        exit = exit.max(Exit::Fails);
    };
    let mut files = BTreeSet::new();
    for (file, scenario) in loaded.values().flat_map(|(files, scenarios)| files.iter().zip(scenarios)) {
        let name = portable(file);
        files.insert(name.clone());
        let watch = Stopwatch::start();
        let Some(then) = table.section(&name) else {
            stale(&format!("has nothing of {name}"), terminal);
            continue;
        };
        if then.hash != scenario.hash {
            stale(&format!("was made from another {name}"), terminal);
            continue;
        }
        if is_real(scenario) {
            terminal.line(&format!("{name}: in real time, not run again"));
            continue;
        }
        let options = campaign::RunOptions { out: None, ..run::options(PathBuf::new(), &arguments.effort) };
        let outcome = match run::go(scenario, &options, terminal) {
            Ok(outcome) => outcome,
            Err(failed) => return failed,
        };
        let now = section(file, scenario, outcome.verdicts);
        if then == &now {
            terminal.line(&format!("{name}: the same, {}", watch.read()));
            continue;
        }
        stale(&format!("has other rows of {name}"), terminal);
        let (was, is) = then.differences(&now);
        was.iter().for_each(|line| terminal.line(&format!("- {}", clean(line))));
        is.iter().for_each(|line| terminal.line(&format!("+ {}", clean(line))));
    }
    for section in table.sections(arguments.system.as_deref()) {
        if section.is_of_file() && !files.contains(&section.file) {
            stale(&format!("has rows of {}, which is not there", clean(&section.file)), terminal);
        }
    }
    exit
}

/// Whether the verdicts on what is in virtual time stay what they are in runs that are `times` as
/// long: the files say how much is enough for the table, and this says whether it was.
fn longer(arguments: &Reproduce, times: u32, loaded: &Loaded, terminal: &mut Terminal) -> Exit {
    let mut exit = Exit::Holds;
    for (file, scenario) in loaded.values().flat_map(|(files, scenarios)| files.iter().zip(scenarios)) {
        let name = portable(file);
        if is_real(scenario) {
            terminal.line(&format!("{name}: in real time, not run longer"));
            continue;
        }
        let options = campaign::RunOptions { out: None, ..run::options(PathBuf::new(), &arguments.effort) };
        let watch = Stopwatch::start();
        let both = run::go(scenario, &options, terminal)
            .and_then(|short| Ok((short, run::go_longer(scenario, times, &options, terminal)?)));
        let (short, long) = match both {
            Ok(both) => both,
            Err(failed) => return failed,
        };
        let pairs = || short.verdicts.iter().zip(&long.verdicts);
        let same = pairs().filter(|(short, long)| short.ruling == long.ruling).count();
        let all = short.verdicts.len();
        terminal.line(&format!(
            "{name}: {same} of {all} verdicts the same {times} times as long, {}",
            watch.read()
        ));
        for (short, long) in pairs().filter(|(short, long)| short.ruling != long.ruling) {
            exit = exit.max(Exit::Fails);
            for (sign, verdict) in [("-", short), ("+", long)] {
                let (word, detail) = (verdict.ruling.word(), verdict.ruling.detail());
                let line = format!("{sign} {} {word} {detail}: {}", verdict.id, verdict.figure);
                terminal.line(&clean(&line));
            }
        }
    }
    exit
}

fn is_real(scenario: &Scenario) -> bool {
    scenario.points().any(|point| scenario.experiment(&point).clock == ClockKind::Real)
}

fn section(file: &Path, scenario: &Scenario, verdicts: Vec<Verdict>) -> Section {
    let (hash, title) = (scenario.hash.clone(), scenario.title.clone());
    Section::new(&Entry { file: portable(file), hash, title, verdicts })
}

/// The experiment files by system, all or one, in order.
fn systems(root: &Path, only: Option<&str>) -> Result<BTreeMap<String, Vec<PathBuf>>, String> {
    let mut systems = BTreeMap::new();
    for directory in entries(root)?.into_iter().filter(|path| path.is_dir()) {
        let files: Vec<PathBuf> = entries(&directory)?
            .into_iter()
            .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
            .collect();
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !files.is_empty() {
            systems.insert(name, files);
        }
    }
    let known: Vec<String> = systems.keys().map(|name| format!("`{name}`")).collect();
    let known = known.join(", ");
    if let Some(only) = only {
        systems.retain(|name, _| name == only);
        if systems.is_empty() {
            let root = root.display();
            return Err(format!("there is no system `{only}` in {root}; there is {known}"));
        }
    }
    if systems.is_empty() {
        return Err(format!("there are no experiments in {}", root.display()));
    }
    Ok(systems)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let read =
        || -> io::Result<Vec<PathBuf>> { fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect() };
    let mut paths = read().map_err(|error| format!("{}: {error}", directory.display()))?;
    paths.sort();
    Ok(paths)
}

/// The path as the table has it, the same on every system.
fn portable(file: &Path) -> String {
    file.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Replaces the file as a whole.
fn write(file: &Path, text: &str) -> Result<(), output::OutputError> {
    if let Some(directory) = file.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        let failed = |error| output::OutputError::Failed { path: directory.to_path_buf(), error };
        fs::create_dir_all(directory).map_err(failed)?;
    }
    output::write(file, FileKind::Reproduction, &[], text.as_bytes())
}
