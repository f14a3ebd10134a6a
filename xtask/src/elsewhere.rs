//! What a stable compiler for this machine does not say: that the crates without a system build for WebAssembly, that the
//! fuzz targets build, and that the ring between threads has no undefined behaviour.
//!
//! Each needs something that may not be here and cannot always be had: a target, a nightly compiler, Miri. Then the step
//! says so and is passed over, which is neither a pass nor a failure.

use std::path::Path;
use std::process::Command;

use crate::step::{self, Report, cargo};

/// The crates that need no system, and so have to build for `wasm32-unknown-unknown`.
const PORTABLE: [&str; 5] = ["laxity-units", "laxity-qos", "laxity-engine", "laxity-model", "laxity-lab"];

pub(crate) fn check(root: &Path, report: &mut Report) {
    if available("wasm32-unknown-unknown", rustup(&["target", "add", "wasm32-unknown-unknown"])) {
        report.check("what needs no system builds for WebAssembly", || {
            let mut check = cargo(root, &["check", "--quiet", "--target", "wasm32-unknown-unknown"]);
            check.args(PORTABLE.iter().flat_map(|name| ["--package", name]));
            step::run(check)
        });
    }
    if !available("a nightly compiler", nightly(&["--version"])) {
        return;
    }
    report.check("fuzz targets build", || {
        let mut check = nightly(&["check", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]);
        check.current_dir(root);
        step::run(check)
    });
    let mut component = rustup(&["component", "add", "miri", "rust-src", "--toolchain", "nightly"]);
    component.current_dir(root);
    if available("Miri", component) && available("Miri", nightly(&["miri", "setup"])) {
        report.check("the ring between threads under Miri", || {
            // One run per seed of its scheduler, which decides when threads take turns and which store a load sees.
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

/// Whether `attempt` gets what a step needs; says so if it does not.
fn available(what: &str, mut attempt: Command) -> bool {
    let there = attempt.output().is_ok_and(|output| output.status.success());
    if !there {
        println!("== passed over: {what} is not here and could not be had");
    }
    there
}

fn rustup(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(arguments);
    command
}

/// The nightly cargo. Started by another one, a cargo inherits its compiler, which is taken out again.
fn nightly(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(arguments);
    for inherited in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(inherited);
    }
    command
}
