//! `cargo xtask mutants`: would a test notice if the code were wrong?
//!
//! cargo-mutants changes the code in one place at a time (a comparison turned round, an empty
//! function) and runs the package's tests. A change that no test notices shows unused code or a
//! missing test. A run takes hours, so it is not part of the test run. Its order is random, so a
//! run that a time limit ends is a fair sample.
//!
//! Survivors are listed with the reason in `docs/mutants.md`. Any other survivor is printed, and
//! fails the run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::time::Duration;

use crate::step::{cargo, target};

/// Where survivors are listed with their reasons.
const REASONS: &str = "docs/mutants.md";

/// A package that is mutated, what notices, and how much of it has to be noticed.
struct Package {
    name: &'static str,
    /// The fast tests that check exact results. Tests that try random cases for minutes would
    /// notice much later, and without the reason.
    tests: &'static [&'static str],
    percent: f64,
}

const PACKAGES: [Package; 3] = [
    Package { name: "qos", tests: &["--lib"], percent: 90.0 },
    Package { name: "admission", tests: &["--lib"], percent: 90.0 },
    Package {
        name: "model",
        tests: &["--lib", "--test", "suite", "--", "--skip", "soundness::"],
        percent: 85.0,
    },
];

/// Options of the command line.
#[derive(Debug, Default, PartialEq)]
struct Options {
    packages: Vec<String>,
    files: Vec<String>,
    shard: Option<String>,
    minutes: Option<u64>,
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match *argument {
                "--file" => options.files.push((*value()?).to_string()),
                "--shard" => options.shard = Some((*value()?).to_string()),
                "--minutes" => {
                    let minutes =
                        value()?.parse().map_err(|_| "--minutes needs a whole number".to_string())?;
                    options.minutes = Some(minutes);
                }
                name if PACKAGES.iter().any(|package| package.name == name) => {
                    options.packages.push(name.to_string());
                }
                other => {
                    let names = PACKAGES.map(|package| package.name).join(" and ");
                    return Err(format!(
                        "{other}: options are --file, --shard and --minutes, packages {names}"
                    ));
                }
            }
        }
        Ok(options)
    }
}

/// Runs the packages that are asked for, or all.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> ExitCode {
    match Options::parse(arguments).and_then(|options| try_packages(root, &options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(2)
        }
    }
}

fn try_packages(root: &Path, options: &Options) -> Result<bool, String> {
    install(root)?;
    let reasons = fs::read_to_string(root.join(REASONS)).map_err(|error| format!("{REASONS}: {error}"))?;
    let argued = argued(&reasons);
    let mut good = true;
    for package in &PACKAGES {
        if options.packages.is_empty() || options.packages.iter().any(|name| name == package.name) {
            good &= mutate(root, package, options)?.report(package, &argued);
        }
    }
    Ok(good)
}

fn install(root: &Path) -> Result<(), String> {
    if cargo(root, &["mutants", "--version"]).output().is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    println!("installing cargo-mutants");
    match cargo(root, &["install", "cargo-mutants", "--locked"]).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err("`cargo-mutants` is not installed and cargo could not install it".into()),
    }
}

/// Runs cargo-mutants on a package, for as long as is allowed.
fn mutate(root: &Path, package: &Package, options: &Options) -> Result<Outcome, String> {
    let output = target(root).join("mutants").join(package.name);
    fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let mut command = cargo(root, &["mutants", "--shuffle", "--package"]);
    command.arg(format!("laxity-{}", package.name)).arg("--output").arg(&output);
    for file in &options.files {
        command.args(["--file", file]);
    }
    if let Some(shard) = &options.shard {
        command.args(["--shard", shard]);
    }
    // Exact tests are to catch mutants, so random cases are few.
    command.arg("--").args(package.tests).env("PROPTEST_CASES", "32");
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let (pid, (ended, end)) = (child.id(), mpsc::channel());
    std::thread::spawn(move || ended.send(child.wait()));
    let limit = options.minutes.map_or(Duration::MAX, |minutes| Duration::from_secs(60 * minutes));
    let status = match end.recv_timeout(limit) {
        Ok(status) => status,
        Err(_) => {
            println!("stopped after {} minutes: what follows is a sample", limit.as_secs() / 60);
            // By a signal that lets it finish its lists and remove its copy of the sources.
            Command::new("kill")
                .args(["-INT", &pid.to_string()])
                .status()
                .map_err(|e| format!("kill: {e}"))?;
            end.recv().map_err(|error| error.to_string())?
        }
    };
    match status.map_err(|error| error.to_string())?.code() {
        // All caught, some missed, some timed out, or stopped by us.
        Some(0 | 2 | 3) | None => Outcome::read(&output.join("mutants.out")),
        Some(1) if options.minutes.is_some() => Outcome::read(&output.join("mutants.out")),
        Some(code) => Err(format!("cargo-mutants ended with {code}; its logs are in {}", output.display())),
    }
}

/// Outcome of the mutants, each as `file: change`.
#[derive(Debug, Default)]
struct Outcome {
    caught: Vec<String>,
    missed: Vec<String>,
    unviable: Vec<String>,
}

impl Outcome {
    fn read(directory: &Path) -> Result<Self, String> {
        let list = |name: &str| -> Result<Vec<String>, String> {
            let path = directory.join(name);
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(text.lines().filter_map(mutant).collect())
        };
        // A mutant that never ends counts as caught, by the time limit.
        let caught = [list("caught.txt")?, list("timeout.txt")?].concat();
        Ok(Self { caught, missed: list("missed.txt")?, unviable: list("unviable.txt")? })
    }

    /// Prints how it went; answers whether enough was caught and all else is argued for.
    fn report(&self, package: &Package, argued: &BTreeSet<String>) -> bool {
        let mut files: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
        for (kind, list) in [&self.caught, &self.missed, &self.unviable].into_iter().enumerate() {
            for mutant in list {
                let file = mutant.split(": ").next().unwrap_or_default();
                files.entry(file).or_default()[kind] += 1;
            }
        }
        println!("\n| file | caught | missed | unviable |\n|---|---|---|---|");
        for (file, [caught, missed, unviable]) in &files {
            println!("| `{file}` | {caught} | {missed} | {unviable} |");
        }
        let viable = self.caught.len() + self.missed.len();
        let percent = 100.0 * self.caught.len() as f64 / viable.max(1) as f64;
        println!("{}: {} of {viable} viable mutants caught, {percent:.1} %", package.name, self.caught.len());
        let unargued: Vec<_> = self.missed.iter().filter(|mutant| !argued.contains(*mutant)).collect();
        if !unargued.is_empty() {
            println!("\nwithout a reason in {REASONS}:");
            for mutant in &unargued {
                println!("| `{}` | |", mutant.replace('|', "\\|"));
            }
        }
        percent >= package.percent && unargued.is_empty()
    }
}

/// A line of cargo-mutants' lists without its place, which changes with every line above it:
/// `src/a.rs:12:5: replace f -> u8 with 0` is `src/a.rs: replace f -> u8 with 0`.
fn mutant(line: &str) -> Option<String> {
    let (place, what) = line.split_once(": ")?;
    let file = place.split(':').next()?;
    Some(format!("{file}: {what}"))
}

/// The mutants that the table of reasons names, with a reason.
fn argued(text: &str) -> BTreeSet<String> {
    let row = |line: &str| {
        let (mutant, reason) = line.strip_prefix("| `")?.split_once("` |")?;
        let argues = !reason.trim_matches([' ', '|']).is_empty();
        argues.then(|| mutant.replace("\\|", "|"))
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_known_without_its_line() {
        let line = "crates/a/src/b.rs:12:5: replace || with && in f";
        assert_eq!(mutant(line).as_deref(), Some("crates/a/src/b.rs: replace || with && in f"));
        assert_eq!(mutant("nothing"), None);
    }

    #[test]
    fn a_row_without_a_reason_argues_nothing() {
        let text = "| mutant | why |\n|---|---|\n| `a.rs: replace \\|\\| with && in f` | never both |\n| `b.rs: x` | |";
        assert_eq!(argued(text), BTreeSet::from(["a.rs: replace || with && in f".to_string()]));
    }

    #[test]
    fn options_are_read() {
        let options =
            Options::parse(&["model", "--file", "a", "--file", "b", "--shard", "0/4", "--minutes", "9"]);
        let expected = Options {
            packages: vec!["model".into()],
            files: vec!["a".into(), "b".into()],
            shard: Some("0/4".into()),
            minutes: Some(9),
        };
        assert_eq!(options, Ok(expected));
        for wrong in [&["lab"][..], &["--minutes"], &["--minutes", "x"], &["--files"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
