//! One experiment as valid types, assembled and run, and what it leaves behind.
//!
//! An [`Experiment`](experiment::Experiment) says all that a run needs and nothing that it could
//! find wrong. [`Assembly`] puts it together: nodes at a medium, sources at one end, meters at the
//! other, and an [`Outside`] where real software takes part. What comes of it, at once ([`run`]) or
//! step by step ([`Steps`]), is a [`Run`](results::Run): plain numbers, each under the one name
//! that [`metric`] gives it.
//!
//! ```text
//! Experiment ──promise──▶ bounds ─┐
//!     │                           ▼
//!     └──parts──▶ Assembly ──engine──▶ Run ──▶ Results (over a sweep) ──▶ metrics by name
//!                    ▲
//!                 Outside
//! ```
//!
//! It stands in the middle: those below ([`laxity_model`], [`laxity_qos`]) know no experiment, and
//! what is built on it differs in what it needs besides. A scenario file is one way to an
//! experiment, and a person at a keyboard may find another; an emulator runs one against a real
//! clock; a report shows what came of it. None of them should have to carry the others, so this
//! crate knows **no file format, no script, no table or figure, no socket and no thread**. It reads
//! no clock; what is to happen in real time comes through [`Outside`] and the clock that the caller
//! drives it with.
//!
//! # Embedding
//!
//! A program asks for the bounds of an experiment, then takes its run forward and looks at it
//! meanwhile:
//!
//! ```
//! use laxity_admission::Formula;
//! use laxity_scenario::Scenario;
//! use laxity_units::{Span, Time};
//! use laxity_world::{Steps, promise};
//!
//! let scenario = Scenario::from_text("camera.toml", r#"
//!     title = "A camera"
//!     host = { profile = "mc68040", speedup = 8.0 }
//!     adapter = { kind = "null", startup = "40 us", per_byte = "50 ns" }
//!     run = { time = "1 s" }
//!     [[channel]]
//!     name = "camera"
//!     class = "real_time"
//!     max_message = "16 KiB"
//!     burst = 2
//!     min_interval = "40 ms"
//!     deadline = "30 ms"
//!     source = { kind = "periodic" }
//! "#).expect("the scenario is valid");
//! let experiment = scenario.first();
//!
//! let promises = promise::promises(&experiment, Formula::Corrected).expect("a proof covers the host");
//! let bound = promises.channels[0].bound().expect("the channel is admitted");
//! assert!(bound < Span::from_ms(30));
//!
//! let mut steps = Steps::open(&experiment).expect("it is a run and no fill");
//! steps.until(Time::ZERO + Span::from_ms(500));
//! assert!(steps.now() <= Time::ZERO + Span::from_ms(500));
//! steps.finish();
//! let run = steps.close();
//! let worst = run.channels[0].worst.expect("messages were sent");
//! assert!(worst <= bound.as_secs_f64());
//! ```

mod asked;
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

pub use asked::answered;
#[cfg(feature = "faults")]
#[doc(hidden)]
pub use assembly::managed::broken;
pub use assembly::via::{Observed, served};
pub use assembly::{
    Along, Assembly, AssemblyEvent, Departed, Elsewhere, FrameSink, HostReport, HostTally, Input, Live,
    LiveChannel, Nothing, Notice, Outside, Said, channel_config, groups, limits, receiving,
};
pub use measure::{Drops, Tally};
pub use run::{observe, run, run_within};
pub use steps::Steps;
pub use stub::stub;
pub use traffic::conformance::{conforms, kept_limits};
