//! From a scenario file to a verdict: read, run every point, judge, show; and the searches that go
//! beyond one run.
//!
//! [`campaign`] runs the points of a scenario on all cores, keeps finished points, judges the
//! claims and writes the directory of results. [`tune`] searches the best setting of a sweep,
//! [`attack`] the worst case of an admitted channel. [`property`] defines what must hold for every
//! scenario, and checks it against drawn ones. [`recipe`] writes a scenario as settings of Linux,
//! [`import`] a network of another tool as a scenario, and [`measured`] reads logs of real packets.
//!
//! The crate joins two others: [`laxity_scenario`] reads a file and knows no script,
//! [`laxity_report`] knows the scripts and reads no file, and [`load`] reads with both. It uses no
//! terminal and no socket; the caller supplies the function that runs points in real time.
//!
//! # Embedding
//!
//! A program reads a scenario with its claims, runs every point, and asks for the verdicts:
//!
//! ```
//! use laxity_lab::campaign::{self, RunOptions};
//! use laxity_world::results::Ruling;
//!
//! let scenario = laxity_lab::from_text("camera.toml", r#"
//! title = "A camera"
//! host = { profile = "mc68040", speedup = 8.0 }
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
//! [[claim]]
//! id = "on-time"
//! says = "Every frame is on time, and none exceeds its bound"
//! holds = 'runs.all(|r| r.rt.all(|c| c.on_time == 1 && c.worst <= c.bound))'
//! shows = 'ms(runs[0].channel("camera").worst)'
//! "#).expect("the scenario is valid");
//!
//! let outcome = campaign::run(&scenario, &RunOptions::default(), &mut |_| {}).expect("every point runs");
//! assert_eq!(outcome.verdicts[0].ruling, Ruling::Holds);
//! assert_eq!(outcome.results.runs[0].channels[0].on_time, Some(1.0));
//! ```

pub mod answer;
pub mod attack;
pub mod campaign;
pub mod contract;
pub mod coverage;
pub mod dominance;
pub mod fix;
pub mod import;
pub mod measured;
mod parallel;
pub mod property;
pub mod recipe;
#[cfg(test)]
mod scratch;
pub mod tune;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use laxity_report::claims::Compiler;
use laxity_scenario::diagnostic::Diagnostics;
use laxity_scenario::files::{Disk, Files};
use laxity_scenario::{Edits, Scenario};

/// Reads the scenario at `path` and all it names; the scripts of its claims compile, and name what
/// there will be.
pub fn load(path: &Path) -> Result<Scenario, Diagnostics> {
    read(path, &Disk)
}

/// Reads `text` in the same way, as if it were a file called `name`; it can name no other files
/// than those that Laxity includes.
pub fn from_text(name: &str, text: impl AsRef<[u8]>) -> Result<Scenario, Diagnostics> {
    let file = PathBuf::from(name);
    read(&file, &BTreeMap::from([(file.clone(), text.as_ref().to_vec())]))
}

/// The same of `files`.
pub fn read(path: &Path, files: &dyn Files) -> Result<Scenario, Diagnostics> {
    edited(path, files, &Edits::default())
}

/// The same of `files` with `edits` laid over the scenario.
pub fn edited(path: &Path, files: &dyn Files, edits: &Edits) -> Result<Scenario, Diagnostics> {
    Scenario::edited(path, files, &Compiler, edits)
}
