//! Checks beside the tests of the workspace: crates without a system run as WebAssembly and give the
//! same bits, the fuzz targets build, and the ring between threads has no undefined behaviour.
//!
//! A target, a nightly compiler or Miri may be missing. Then the step is skipped and says so, which is
//! neither a pass nor a failure.

use std::path::Path;
use std::process::Command;

use crate::designer;
use crate::step::{self, Report, cargo};

/// The experiment that is run both ways.
const EXPERIMENT: &str = "experiments/emulated-adapter/t6.5-token-ring.toml";

pub(crate) fn check(root: &Path, report: &mut Report) {
    if available(designer::TARGET, rustup(&["target", "add", designer::TARGET])) {
        report.check("an experiment gives the same bits as WebAssembly", || same_bits(root));
    }
    // Only to run them takes a nightly compiler. Most of what they use is checked by the lints already.
    report.check("fuzz targets build", || {
        // With the versions of the workspace.
        std::fs::copy(root.join("Cargo.lock"), root.join("fuzz/Cargo.lock"))
            .map_err(|why| why.to_string())?;
        let mut check = cargo(root, &["check", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]);
        check.env("CARGO_TARGET_DIR", step::target(root));
        step::run(check)
    });
    if !available("a nightly compiler", nightly(&["--version"])) {
        return;
    }
    let mut component = rustup(&["component", "add", "miri", "rust-src", "--toolchain", "nightly"]);
    component.current_dir(root);
    if available("Miri", component) && available("Miri", nightly(&["miri", "setup"])) {
        report.check("the ring between threads under Miri", || {
            // One run per seed of its scheduler, which decides when threads take turns and which
            // store a load sees.
            let mut test = nightly(&[
                "miri",
                "test",
                "--quiet",
                "--package",
                "laxity-machine",
                "--lib",
                "ring::tests::two_threads",
            ]);
            test.current_dir(root).env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-many-seeds=0..8");
            step::run(test)
        });
    }
}

/// Runs an experiment natively and as WebAssembly, in node if it is there, and compares what came
/// of it.
fn same_bits(root: &Path) -> Result<(), String> {
    let module = designer::module(root)?;
    let mut node = Command::new("node");
    node.current_dir(root).arg("crates/browser/run.mjs").arg(module).arg(EXPERIMENT);
    if !available("node", program("node", &["--version"])) {
        return Ok(());
    }
    step::run(cargo(root, &["build", "--quiet", "--workspace", "--example", "digest"]))?;
    let mut digest = step::built(root, "examples/digest");
    digest.arg(EXPERIMENT);
    let (here, there) = (step::printed(digest)?, step::printed(node)?);
    let [native, browser] = [&here, &there].map(|digest| String::from_utf8_lossy(digest));
    println!("{EXPERIMENT}: {} natively, {} as WebAssembly", native.trim(), browser.trim());
    if here == there { Ok(()) } else { Err("the digests differ".into()) }
}

/// Whether `attempt` gets what a step needs; says so if it does not.
fn available(what: &str, mut attempt: Command) -> bool {
    let there = attempt.output().is_ok_and(|output| output.status.success());
    if !there {
        println!("== passed over: {what} is not here and could not be had");
    }
    there
}

fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments);
    command
}

fn rustup(arguments: &[&str]) -> Command {
    program("rustup", arguments)
}

/// The nightly cargo. Started by another one, a cargo inherits its compiler, which is taken out again.
fn nightly(arguments: &[&str]) -> Command {
    let mut command = rustup(&["run", "nightly", "cargo"]);
    command.args(arguments);
    for inherited in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(inherited);
    }
    command
}
