//! Who made a report, and when.
//!
//! The same file and seed give the same results to the bit, and whoever compares two outcomes compares `results.json` or
//! `results.parquet`: neither knows a date, nor a build. What made them, and when, stands in `run.json` beside them and at
//! the foot of the report.

use serde::Serialize;

/// Who made a report, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stamp {
    /// Laxity's version.
    pub version: String,
    /// The commit it was built from, or `unknown`.
    pub build: String,
    /// When, `2026-11-21 21:03:11 UTC`; empty where nobody said.
    pub date: String,
}

impl Default for Stamp {
    fn default() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").into(), build: "unknown".into(), date: String::new() }
    }
}

/// What `run.json` holds.
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
