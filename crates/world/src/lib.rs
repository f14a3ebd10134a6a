//! One experiment as valid types, assembled and run, and what it leaves behind.
//!
//! An [`Experiment`](experiment::Experiment) says all that a run needs and nothing that it could find wrong. [`Assembly`] puts
//! it together: nodes at a medium, sources at one end, meters at the other, and an [`Outside`] where real software takes part.
//! What comes of it, at once ([`run`]) or step by step ([`Steps`]), is a [`Run`](results::Run): plain numbers, each under the one name that [`metric`] gives it.
//!
//! ```text
//! Experiment ──promise──▶ bounds ─┐
//!     │                           ▼
//!     └──parts──▶ Assembly ──engine──▶ Run ──▶ Results (over a sweep) ──▶ metrics by name
//!                    ▲
//!                 Outside
//! ```
//!
//! It stands in the middle: those below ([`laxity_model`], [`laxity_qos`]) know no experiment, and what is built on it differs
//! in what it needs besides. A scenario file is one way to an experiment, and a person at a keyboard may find another; an
//! emulator runs one against a real clock; a report shows what came of it. None of them should have to carry the others, so
//! this crate knows **no file format, no script, no table or figure, no socket and no thread**. It reads no clock; what is to
//! happen in real time comes through [`Outside`] and the clock that the caller drives it with.

mod assembly;
pub mod causes;
mod coverage;
pub mod experiment;
pub mod figures;
mod measure;
pub mod metric;
mod prediction;
pub mod promise;
pub mod results;
mod run;
pub mod sketch;
mod steps;
mod stub;
pub mod text;
mod traffic;

pub use assembly::via::{Observed, served};
pub use assembly::{
    Assembly, Departed, Elsewhere, Event, FrameSink, HostReport, HostTally, Input, Live, LiveChannel,
    Nothing, Notice, Outside, Said, channel_config, groups, limits, receiving,
};
pub use measure::{Drops, Tally};
pub use run::{observe, run, run_within};
pub use steps::Steps;
pub use stub::stub;
