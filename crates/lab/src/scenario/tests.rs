//! Every error that a file can be met with, as it is shown; and what files come to.

mod adapters;
mod errors;
mod names;
mod reading;
mod wrong;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;

/// A scenario that is right, for tests to make wrong.
const RIGHT: &str = r#"title = "A test"

[host]
profile = "mc68040"

[adapter]
kind = "null"
startup = "40 us"
per_byte = "50 ns"

[run]
packets = 32768
warmup = 2048

[[channel]]
name = "video"
class = "real_time"
max_message = "60 KiB"
burst = 12
min_interval = "50 ms"
deadline = "40 ms"
source = { kind = "bursty" }

[[channel]]
name = "bulk"
class = "best_effort"
max_message = "60 KiB"
burst = 10
source = { kind = "periodic", rate = "400 KiB/s" }
"#;

/// Files in memory.
type Memory = BTreeMap<PathBuf, Vec<u8>>;

fn memory(text: &str) -> Memory {
    Memory::from([("experiments/test.toml".into(), text.into())])
}

fn read_in(files: &Memory) -> Result<Scenario, Diagnostics> {
    Scenario::read(Path::new("experiments/test.toml"), files)
}

fn read(text: &str) -> Result<Scenario, Diagnostics> {
    read_in(&memory(text))
}

#[track_caller]
fn right(text: &str) -> Scenario {
    read(text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// [`RIGHT`] with one text put for another.
#[track_caller]
fn with(old: &str, new: &str) -> String {
    assert!(RIGHT.contains(old), "{old}");
    RIGHT.replacen(old, new, 1)
}

/// [`RIGHT`] and more.
fn and(more: &str) -> String {
    format!("{RIGHT}\n{more}")
}
