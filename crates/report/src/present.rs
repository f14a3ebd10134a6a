//! Everything people look at: a table for the terminal, figures, a report, and files for machines.
//!
//! All of it is made from one [`Results`](laxity_world::results::Results) and the verdicts on it,
//! by functions from values to text or bytes; only [`write_all`] touches a disk. Equal results give
//! equal bytes, so that an outcome can be compared by its files. Wherever a worst case is shown,
//! its bound stands beside it.

pub mod adapter;
mod answers;
mod beside;
pub mod csv;
mod error;
pub mod figure;
mod grid;
pub mod json;
pub mod junit;
mod merge;
pub mod network;
pub mod parquet;
mod platform;
mod promised;
pub mod report;
pub mod rows;
#[cfg(test)]
mod sample;
mod stamp;
mod svg;
pub mod table;
mod units;
mod write;

pub use error::PresentError;
pub use stamp::Stamp;
pub use write::{Making, Written, check_target, write_all};

use laxity_world::metric::Kind;
use units::Readable;

/// One value of that kind in a unit of its own, four significant digits at most.
pub fn quantity(kind: Kind, value: f64) -> String {
    kind.quantity(value)
}

/// The unit in which values of that kind up to `largest` read well, and its size in the SI unit.
pub fn unit(kind: Kind, largest: f64) -> (&'static str, f64) {
    let scale = kind.scale(largest);
    (scale.unit, scale.size)
}
