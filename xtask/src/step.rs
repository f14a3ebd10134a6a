//! Steps of a test run, and their count.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

/// The begins of the line of a step in the summary.
const PASSED: &str = "  ok      ";
const FAILED: &str = "  FAILED  ";

/// Passed and failed steps so far.
#[derive(Default)]
pub(crate) struct Report {
    passed: u64,
    failed: u64,
    lines: Vec<String>,
}

impl Report {
    /// Runs the test harnesses that `command` starts and counts every test in them.
    pub(crate) fn tests(&mut self, name: &str, mut command: Command) {
        println!("== {name}");
        let begin = now();
        let counted = command.stdout(Stdio::piped()).spawn().and_then(|mut child| {
            let output = child.stdout.take().expect("the output is piped");
            let mut count = (0, 0);
            for line in BufReader::new(output).split(b'\n') {
                let line = line?;
                let mut terminal = std::io::stdout().lock();
                terminal.write_all(&line)?;
                terminal.write_all(b"\n")?;
                if let Some((passed, failed)) = outcome(&String::from_utf8_lossy(&line)) {
                    count = (count.0 + passed, count.1 + failed);
                }
            }
            Ok((count, child.wait()?.success()))
        });
        match counted {
            Ok(((passed, failed), success)) => {
                // A command that does not build, or is killed, has no tests to count and fails.
                let failed = if success { failed } else { failed.max(1) };
                self.add(name, begin, passed, failed);
            }
            Err(error) => {
                eprintln!("error: {error}");
                self.add(name, begin, 0, 1);
            }
        }
    }

    /// Runs a check, which counts as one test. Answers whether it passed.
    pub(crate) fn check(&mut self, name: &str, check: impl FnOnce() -> Result<(), String>) -> bool {
        println!("== {name}");
        let begin = now();
        let checked = check();
        if let Err(reason) = &checked {
            eprintln!("error: {reason}");
        }
        self.add(name, begin, checked.is_ok().into(), checked.is_err().into());
        checked.is_ok()
    }

    fn add(&mut self, name: &str, begin: Instant, passed: u64, failed: u64) {
        let took = begin.elapsed().as_secs();
        self.passed += passed;
        self.failed += failed;
        self.lines.push(match failed {
            0 => format!("{PASSED}{name} ({passed}), {took} s"),
            _ => format!("{FAILED}{name} ({failed} of {}), {took} s", passed + failed),
        });
    }

    /// Takes in the summary of another process, the last lines that it `printed`.
    pub(crate) fn join(&mut self, printed: &str) {
        let is_step = |line: &&str| line.starts_with(PASSED) || line.starts_with(FAILED);
        self.lines.extend(printed.lines().filter(is_step).map(str::to_owned));
        let (passed, failed) = printed.lines().last().and_then(total).unwrap_or((0, 1));
        (self.passed, self.failed) = (self.passed + passed, self.failed + failed);
    }

    /// Prints the summary, the count last and alone on its line.
    pub(crate) fn finish(&self) -> ExitCode {
        println!("\n{}\n{} passed, {} failed", self.lines.join("\n"), self.passed, self.failed);
        if self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[expect(clippy::disallowed_methods, reason = "a chore takes the time that it takes")]
fn now() -> Instant {
    Instant::now()
}

/// The counts in a harness's closing line, `test result: ok. 12 passed; 0 failed; …`.
fn outcome(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("test result: ")?;
    let count = |what: &str| {
        let before = rest.split(what).next()?;
        before.trim_end().rsplit([' ', ';', '.']).next()?.parse().ok()
    };
    Some((count(" passed")?, count(" failed")?))
}

/// The counts in the last line of a summary, `12 passed, 3 failed`.
fn total(line: &str) -> Option<(u64, u64)> {
    let (passed, failed) = line.split_once(" passed, ")?;
    Some((passed.parse().ok()?, failed.strip_suffix(" failed")?.parse().ok()?))
}

/// A command of this program in a process of its own, with a low priority.
pub(crate) struct Beside {
    child: Child,
    log: PathBuf,
}

impl Beside {
    /// Starts it.
    pub(crate) fn start(root: &Path, command: &str) -> Result<Self, String> {
        let log = target(root).join(format!("{command}.log"));
        let start = || {
            let output = File::create(&log)?;
            let mut start = Command::new("nice");
            start.args(["-n", "5"]).arg(std::env::current_exe()?).arg(command);
            start.stdout(output.try_clone()?).stderr(output).spawn()
        };
        let child = start().map_err(|error| format!("{command}: {error}"))?;
        Ok(Self { child, log })
    }

    /// Waits for its end, and prints and answers what it printed.
    pub(crate) fn end(mut self) -> Result<String, String> {
        let end = |error: std::io::Error| format!("{}: {error}", self.log.display());
        let status = self.child.wait().map_err(end)?;
        let printed = std::fs::read(&self.log).map_err(end)?;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        print!("{printed}");
        // A summary is followed by success or failure, and by nothing else.
        match status.code() {
            Some(0 | 1) => Ok(printed),
            _ => Err(format!("{}: {status}", self.log.display())),
        }
    }
}

/// Where builds go.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |place| root.join(place))
}

/// A cargo command in the workspace, with the cargo that started us.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(arguments);
    command
}

/// A program that was built beside the tests of the workspace, such as `laxity`. For its package alone
/// cargo would build it and most of what it uses again, since features are chosen for what is built
/// together.
pub(crate) fn built(root: &Path, program: &str) -> Command {
    let mut command = Command::new(target(root).join("debug").join(program));
    command.current_dir(root);
    command
}

/// Runs a cargo command that a rustup component brings, after installing it if it is not there.
pub(crate) fn with_component(root: &Path, component: &str, arguments: &[&str]) -> Result<(), String> {
    let there =
        cargo(root, &[arguments[0], "--version"]).output().is_ok_and(|output| output.status.success());
    if !there {
        println!("installing the component {component}");
        let installed =
            Command::new("rustup").args(["component", "add", component]).current_dir(root).status();
        if !installed.is_ok_and(|status| status.success()) {
            return Err(format!("`{component}` is not installed and rustup could not install it"));
        }
    }
    run(cargo(root, arguments))
}

/// Output of a command if it succeeds; its error messages if not.
pub(crate) fn printed(mut command: Command) -> Result<Vec<u8>, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(String::from_utf8_lossy(&output.stderr).trim_end().to_string()),
    }
}

/// Runs a command to its end.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?} could not be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Report, outcome};

    #[test]
    fn another_summary_is_taken_in() {
        let mut report = Report::default();
        report
            .join("== lints\n\n  ok      lints (1), 2 s\n  FAILED  page (1 of 1), 3 s\n1 passed, 1 failed\n");
        assert_eq!((report.passed, report.failed, report.lines.len()), (1, 1, 2));
        report.join("killed before it had a summary\n");
        assert_eq!((report.passed, report.failed), (1, 2));
    }

    #[test]
    fn closing_lines_are_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(outcome(line), Some((12, 3)));
        assert_eq!(outcome("test x ... ok"), None);
    }
}
