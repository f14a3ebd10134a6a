//! Every error of a file, as it is shown; and the experiments that files give.

mod adapters;
mod asks;
mod attached;
mod beneath;
mod buses;
mod computing;
mod cores;
mod coverage;
mod edits;
mod ends;
mod errors;
mod groups;
mod limits;
mod multicast;
mod networks;
mod playout;
mod reading;
mod receiving;
mod rounds;
mod signalling;
mod via;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use laxity_world::experiment::*;

use crate::claim::Unread;
use crate::diagnostic::Diagnostics;
use crate::*;

/// A scenario that is right, for tests to make wrong.
const RIGHT: &str = include_str!("tests/right.toml");

/// Files in memory.
type Memory = BTreeMap<PathBuf, Vec<u8>>;

fn memory(text: &str) -> Memory {
    Memory::from([("experiments/test.toml".into(), text.into())])
}

fn read_in(files: &Memory) -> Result<Scenario, Diagnostics> {
    Scenario::read(Path::new("experiments/test.toml"), files, &Unread)
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
    replaced(RIGHT, old, new)
}

/// `text` with the first `old` replaced by `new`.
#[track_caller]
fn replaced(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "{old}");
    text.replacen(old, new, 1)
}

/// [`RIGHT`] and more.
fn and(more: &str) -> String {
    format!("{RIGHT}\n{more}")
}
