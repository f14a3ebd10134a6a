//! A stream with a deadline beside floods of a line of 100 Mbit/s: plain UDP, UDP in a class of HTB,
//! UDP with a class of HTB for each flow, and a channel of the service.
//!
//! `cargo xtask bench comparison [--seconds N] [--rows | --claims]` prints the tables of
//! docs/comparison.md, and `--section FILE` writes the claims as a section of docs/reproduction.md.
//! Root is needed: all runs in network namespaces, which are removed at the end.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]

mod cases;
mod claims;
mod daemons;
mod line;
mod promises;
mod streams;
mod table;

use std::path::Path;

use cases::{CASES, SENDERS};
use laxity_machine::namespace::RunOwner;
use laxity_machine::place::keep_awake;
use laxity_service::{NodeFile, serve};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match words[..] {
        // The roles that this program plays in processes of their own.
        ["node", file] => node(Path::new(file)),
        ["hold", socket, name] => claims::hold(Path::new(socket), name),
        _ => compare(&words),
    };
    if let Err(why) = ended {
        eprintln!("error: {why}");
        std::process::exit(1);
    }
}

fn node(file: &Path) -> Result<(), String> {
    serve(&NodeFile::read(file).map_err(|why| why.to_string())?, |_| {})
}

fn compare(words: &[&str]) -> Result<(), String> {
    let (mut seconds, mut rows, mut claims, mut section) = (10, true, true, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match (*word, words.as_slice().first().and_then(|next| next.parse().ok())) {
            ("--seconds", Some(number)) if number > 0 => (seconds, _) = (number, words.next()),
            ("--rows", _) => claims = false,
            ("--claims", _) => rows = false,
            ("--section", _) => section = words.next().map(|word| Path::new(*word)),
            _ => return Err("the options are --seconds N, --rows, --claims and --section FILE".to_owned()),
        }
    }
    let owner = RunOwner::claim().map_err(|why| why.to_string())?;
    // For all senders alike: otherwise only the daemons would keep processors awake.
    let _awake = keep_awake();
    if rows {
        let mut outcomes = Vec::new();
        for case in CASES {
            for sender in SENDERS {
                eprintln!("{}: {}", case.words(), sender.words());
                outcomes.push((case, sender, cases::run(&owner, case, sender, seconds)?));
            }
        }
        table::print(&outcomes, seconds);
    }
    if claims {
        let judged = claims::judge(&owner, seconds)?;
        table::print_claims(&judged);
        if let Some(path) = section {
            let written = std::fs::write(path, table::section(&judged, seconds));
            written.map_err(|why| format!("{}: {why}", path.display()))?;
        }
    }
    Ok(())
}
