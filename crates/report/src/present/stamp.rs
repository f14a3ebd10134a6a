//! The program that made a report, and when.
//!
//! The same file and seed give the same results to the bit. Two outcomes are compared by
//! `results.json` or `results.parquet`, which have neither date nor build. `run.json` and the foot
//! of the report have them.

use serde::Serialize;

/// The program that made a report, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stamp {
    /// Laxity's version.
    pub version: String,
    /// The commit it was built from, or `unknown`.
    pub build: String,
    /// The date, `2026-11-21 21:03:11 UTC`; empty where none was given.
    pub date: String,
}

impl Default for Stamp {
    fn default() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").into(), build: "unknown".into(), date: String::new() }
    }
}

/// The contents of `run.json`.
#[derive(Serialize)]
struct Document<'a> {
    laxity: &'a Stamp,
    /// Points that an earlier run of the same build had run.
    points_kept: usize,
    points: usize,
}

/// `run.json`: the stamp, and how many of the points were run earlier.
pub(crate) fn text(stamp: &Stamp, kept: usize, points: usize) -> String {
    let document = Document { laxity: stamp, points_kept: kept, points };
    let mut text = serde_json::to_string_pretty(&document).expect("a stamp is plain data");
    text.push('\n');
    text
}
