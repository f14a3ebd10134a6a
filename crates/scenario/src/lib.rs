//! Scenario files: an experiment with claims, from a TOML file to valid types.
//!
//! [`Scenario::load`] reads a file, the profile, adapter and traces that it names, and *every*
//! point of its sweep. The result can be run as it is. Errors are
//! [`Diagnostics`](diagnostic::Diagnostics), all at once where they can be told apart, each with
//! its place in the file and the valid alternatives.
//!
//! ```text
//! text ──toml──▶ document ──┬─ claims, figures, axes
//!                           └─ one document per point ──serde──▶ raw ──convert──▶ Experiment
//! ```
//!
//! A point of the sweep is the same document with values replaced (see [`sweep`]), so there is one
//! way to read an experiment and one place that knows the format ([`schema`](schema()) is made from
//! it, too). [`draw`] goes the other way: it makes files at random out of the same raw types, so
//! every new key is drawn.
//!
//! This crate runs no experiment and knows no language of claims: the judge reads scripts, through
//! [`Scripts`](claim::Scripts). So a program that needs an experiment and judges no claim (a host
//! on another core, the replay of a log) carries no interpreter, no tables and no figures.
//!
//! # Embedding
//!
//! A text becomes one experiment for each point of its sweep, or a list of errors with their
//! places:
//!
//! ```
//! use laxity_scenario::Scenario;
//!
//! let text = r#"
//! title = "A camera at two speeds of the host"
//! host = { profile = "mc68040" }
//! adapter = { kind = "null", startup = "40 us", per_byte = "50 ns" }
//! run = { time = "1 s" }
//! [[channel]]
//! name = "camera"
//! class = "real_time"
//! max_message = "16 KiB"
//! burst = 2
//! min_interval = "40 ms"
//! deadline = "30 ms"
//! source = { kind = "periodic" }
//! [[sweep]]
//! name = "speed"
//! key = "host.speedup"
//! values = [1.0, 8.0]
//! "#;
//! let scenario = Scenario::from_text("camera.toml", text).expect("the scenario is valid");
//! for point in scenario.points() {
//!     let experiment = scenario.experiment(&point);
//!     println!("{}: {} channels", scenario.describe(&point), experiment.channels.len());
//! }
//! assert_eq!(scenario.points().count(), 2);
//!
//! let wrong = Scenario::from_text("camera.toml", text.replace("deadline", "dedline")).unwrap_err();
//! let finding = &wrong.findings()[0];
//! assert!(finding.message.contains("dedline"), "{wrong}");
//! ```

mod adapter;
mod adapter_file;
mod beneath;
mod choice;
pub mod claim;
mod context;
mod convert;
pub mod diagnostic;
mod distribution;
mod document;
pub mod draw;
mod edits;
pub mod figure;
pub mod files;
mod frame;
mod judged;
pub mod keys;
mod leaf;
mod library;
mod overlay;
pub mod profile;
mod raw;
mod scenario;
mod schema;
mod section;
pub mod sweep;
mod templates;
#[cfg(test)]
mod tests;
mod trial;
pub mod tune;
mod values;
mod written;

pub use adapter::Citation;
pub use adapter_file::{AdapterFile, built_in_adapter, built_in_adapters};
pub use claim::Claim;
pub use edits::Edits;
pub use raw::FORMAT;
pub use scenario::Scenario;
pub use schema::{adapter_schema, profile_schema, schema, schema_of};
pub use sweep::{Change, MOST_POINTS, PointIndex};
pub use trial::adapter_trial;
