//! Chores of the workspace: `cargo xtask test`, `generate`, `designer`, `book`, `release`, `bench`,
//! `package`, `service-claims`, `mutants` and `soak`.
//!
//! `test` decides whether a change is good: all tests, the house style, the rows of every
//! experiment in virtual time, and the files that are generated from the code. It has no
//! dependencies, so it builds in a second on a new machine.

mod bench;
mod book;
mod designer;
mod elsewhere;
mod generated;
mod mutants;
mod package;
mod paths;
mod python;
mod release;
mod step;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use step::{Beside, Report, cargo};

const USAGE: &str = "usage: cargo xtask <command>

  test        all tests, doc tests, formatting, lints, and that generated files are current
  checks      what `test` runs beside the tests: lints, generated files, Python, WebAssembly, the page
  generate    rewrites the generated files
  designer    builds the page's WebAssembly module, and target/dist/laxity with it
              [--test] tests the page in a browser, [--screens] makes the expected screenshots anew
  book        builds the book into target/book and checks its links; needs mdbook
  release     builds all that a release consists of, for this machine, into target/release-VERSION
  bench       runs a benchmark: NAME and its options; lists all without a name
  package     makes the Debian package, and installs and removes it in a directory of its own; needs cargo-deb
  service-claims  runs daemons in network namespaces, and writes the rows of N1 to N8 into docs/reproduction.md; needs root
  mutants     changes the code in one place after the other and looks whether a test notices (hours)
              [qos] [admission] [model] [--file GLOB] [--shard K/N] [--minutes N]
  soak        draws and runs scenarios on all cores and writes those down that exceed a bound, cut to what they fail by:
              [--time 1h] [--seed N] [--from N] [--threads N] [--out DIR] [--words] [--attack N] [--laws] [--network] [--with PATH=WORD|TEXT]
              --service: a million messages of 200 channels of daemons beside floods; needs root
              --network: only networks of nodes that establish channels while traffic runs
              with --protocol first, networks of network managers without a data plane: [--time 1h] [--from N] [--threads N] [--out DIR]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = root();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test(&root),
        ["checks"] => checks(&root),
        ["generate"] => done(generated::write(&root)),
        ["designer"] => done(designer::build(&root).map(drop)),
        ["designer", "--screens"] => done(designer::screens(&root)),
        ["designer", "--test"] => {
            let mut report = Report::default();
            report.check("the program builds", || step::run(cargo(&root, &["build", "--package", "laxity"])));
            designer::check(&root, &mut report);
            report.finish()
        }
        ["book"] => done(book::build(&root).map(|page| println!("{}", page.display()))),
        ["release"] => done(release::build(&root).map(|folder| println!("{}", folder.display()))),
        ["bench"] => bench::run(&root, None, &[]),
        ["bench", name, ref options @ ..] => bench::run(&root, Some(name), options),
        ["package"] => package::run(&root),
        ["service-claims"] => service_claims(&root),
        ["mutants", ref options @ ..] => mutants::run(&root, options),
        ["soak", "--service"] => crowd(&root),
        ["soak", "--protocol", ref rest @ ..] => {
            let networks = ["laxity-signalling", "--features", "simulation", "--example", "networks"];
            soak(&root, &networks, rest)
        }
        ["soak", ref rest @ ..] => soak(&root, &["laxity-lab", "--example", "soak"], rest),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Success, or the reason on standard error.
fn done(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the long test of daemons beside floods.
fn crowd(root: &Path) -> ExitCode {
    let test =
        ["test", "--quiet", "--package", "laxity", "--test", "suite", "--", "--ignored", "--nocapture"];
    match cargo(root, &[&test[..], &["service::crowd::"]].concat()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Judges the claims about running daemons, and puts their rows into the table.
fn service_claims(root: &Path) -> ExitCode {
    let section = step::target(root).join("service-claims.md");
    let Some(path) = section.to_str() else { return ExitCode::FAILURE };
    let judged = bench::run(root, Some("comparison"), &["--claims", "--section", path]);
    if judged != ExitCode::SUCCESS {
        return judged;
    }
    let merge = ["run", "--quiet", "--package", "laxity", "--", "reproduce", "--merge", path];
    match cargo(root, &merge).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Runs the search, an `example` of another package: this crate has no dependencies.
fn soak(root: &Path, example: &[&str], arguments: &[&str]) -> ExitCode {
    let run = ["run", "--quiet", "--release", "--package"];
    match cargo(root, &[&run[..], example, &["--"], arguments].concat()).status() {
        Ok(status) => {
            status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(error) => {
            eprintln!("error: the search could not be started: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's root: where this crate's directory stands.
fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("the crate stands in the workspace").to_path_buf()
}

/// All tests. The lints compile the examples, of which `checks` builds the one that it runs.
const TESTS: [&str; 3] = ["test", "--workspace", "--tests"];

/// Real-time tests leave processors idle, and so do the compilers of the checks; so the checks run
/// beside the tests, with less of a processor that both want.
fn test(root: &Path) -> ExitCode {
    let mut report = Report::default();
    let build = [&TESTS[..], &["--no-run", "--quiet"]].concat();
    if !report.check("tests build", || step::run(cargo(root, &build))) {
        return report.finish();
    }
    let checks = Beside::start(root, "checks");
    report.tests("tests", cargo(root, &[&TESTS[..], &["--no-fail-fast"]].concat()));
    report.tests("examples in comments", cargo(root, &["test", "--workspace", "--doc", "--no-fail-fast"]));
    report.check("experiments give the rows of docs/reproduction.md", || {
        let mut check = step::built(root, "laxity");
        check.args(["reproduce", "--check"]);
        step::run(check)
    });
    match checks.and_then(Beside::end) {
        Ok(printed) => report.join(&printed),
        Err(reason) => {
            report.check("checks", || Err(reason));
        }
    }
    report.finish()
}

/// Checks that need the programs of the tests, and no quiet machine.
fn checks(root: &Path) -> ExitCode {
    let mut report = Report::default();
    report.check("formatting", || step::with_component(root, "rustfmt", &["fmt", "--all", "--check"]));
    report.check("lints", || {
        let lint = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
        step::with_component(root, "clippy", &lint)
    });
    report.check("links and paths in documents", || paths::check(root));
    generated::check(root, &mut report);
    python::check(root, &mut report);
    if book::can_build() {
        report.check("the book and its links", || book::build(root).map(drop));
    } else {
        println!("== passed over: mdbook is not here");
    }
    report.check("crates can be packed to be published", || release::packable(root));
    elsewhere::check(root, &mut report);
    designer::check(root, &mut report);
    report.finish()
}

#[cfg(test)]
mod tests {
    /// Cheap, so it is a test of this crate beside being a step of `cargo xtask test`.
    #[test]
    fn documents_name_files_that_exist() {
        super::paths::check(&super::root()).unwrap();
    }
}
