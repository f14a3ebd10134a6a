//! `cargo xtask bench NAME`: runs a benchmark by its name, whichever crate it belongs to.

use std::path::Path;
use std::process::ExitCode;

use crate::step::cargo;

/// Each benchmark: name, package, and its subject.
const BENCHES: [(&str, &str, &str); 15] = [
    ("packets", "laxity-lab", "the path of a packet from source to meters"),
    ("networks", "laxity-lab", "an event among a thousand hosts beside an event of one host"),
    ("reception", "laxity-lab", "a polled host beside a loop written by hand"),
    ("calendar", "laxity-engine", "the engine beside a loop over the standard heap"),
    ("admission", "laxity-admission", "requests beside 10 000 channels"),
    ("requests", "laxity-signalling", "requests at the network manager of a relay"),
    ("node", "laxity-node", "a packet at a node of 10 and of 10 000 channels"),
    ("disciplines", "laxity-qos", "an item through each queue"),
    ("lateness", "laxity-emulator", "lateness of events in real time"),
    ("rings", "laxity-emulator", "the ring between threads beside `rtrb`"),
    ("end", "laxity-emulator", "packets through rings and three stages in real time"),
    ("tap", "laxity-emulator", "frames between TAP devices; needs root"),
    ("service", "laxity-service", "two daemons beside plain UDP"),
    ("comparison", "laxity-service", "a stream beside floods: UDP, HTB by hand, a channel; needs root"),
    ("tcp", "laxity-emulator", "bulk TCP between TAP devices; needs root"),
];

/// Runs the benchmark called `name` with `arguments`, or lists all if there is no such benchmark.
pub(crate) fn run(root: &Path, name: Option<&str>, arguments: &[&str]) -> ExitCode {
    let Some((name, package, _)) = BENCHES.into_iter().find(|(own, ..)| Some(*own) == name) else {
        println!("benchmarks; `cargo xtask bench NAME [OPTIONS]` runs one, docs/benchmarks.md has results\n");
        for (name, _, subject) in BENCHES {
            println!("  {name:<12} {subject}");
        }
        return if name.is_none() { ExitCode::SUCCESS } else { ExitCode::from(2) };
    };
    let command = ["bench", "--quiet", "--package", package, "--bench", name, "--"];
    match cargo(root, &[&command[..], arguments].concat()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: the benchmark could not be started: {error}");
            ExitCode::FAILURE
        }
    }
}
