//! Log of an emulation: every outside input with its time, and all data needed for a replay.
//!
//! A world is deterministic; emulations differ only by their outside inputs and the times of these.
//! A log of the inputs is therefore a log of the run, and far smaller than a trace. Four points are
//! less obvious:
//!
//! * A time alone does not order an input: several events may happen at one time, and an input may
//!   be between them. A wake is logged with the number of events before it.
//! * The time of a wake may differ from that of its inputs: a world that is behind is woken at a
//!   time that has passed, while its inputs happen when they were read. Each input is logged with
//!   both times.
//! * The scenario's files change over months. They are part of the log.
//! * The emulating thread must not write. It puts entries into a ring that another thread empties.
//!   If that thread falls behind by the whole ring, the log ends there and records it: a log with a
//!   gap would replay as another run.
//!
//! # Format
//!
//! ```text
//! laxity log 5\n   then blocks:   length, u32 │ CRC-32, u32 │ that many bytes of postcard
//! first block: Header     further blocks: Vec<Wake>     last block: End, marked by the first byte of each
//! ```
//!
//! For adapters with virtual interfaces the further blocks have entries of another type
//! (`via/inputs.rs`) and another mark.
//!
//! Numbers are little-endian. 300 000 inputs a second in a text format of 40 bytes each would be 12
//! MB/s, and most of a processor to print and to parse; postcard's variable-length integers, with
//! differences of increasing numbers, take 8 to 13 bytes. Blocks bound memory on both sides, and a
//! checksum for each distinguishes a damaged log from an unusual run.

mod packet;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use laxity_scenario::claim::Unread;
use laxity_scenario::files::{Files, Opened};
use laxity_scenario::{PointIndex, Scenario};
use laxity_units::{Span, Time};
use laxity_world::experiment::{Experiment, RunLength};
use laxity_world::results::RealTime;
use serde::{Deserialize, Serialize};

use packet::LoggedInput;
pub(crate) use read::Batch;
pub use read::{Log, LogError};
pub use write::{Journal, Recorder};
#[cfg(target_os = "linux")]
pub(crate) use write::{Pack, Tape, block};

/// First bytes of a log of this format.
const MAGIC: &str = "laxity log 5\n";
/// Maximum size of a block in bytes: a header may contain long traces.
const LONGEST: usize = 1 << 30;

/// Identification of the run: sufficient to assemble the same world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHeader {
    /// Version of Laxity that wrote the log.
    pub version: String,
    /// Path of the scenario.
    pub scenario: String,
    /// Hash of the scenario, over all its files.
    pub hash: String,
    /// Point of the sweep.
    pub point: Vec<usize>,
    /// Channels with messages from outside.
    pub channels: Vec<usize>,
    /// Nodes with hosts outside.
    pub hosts: Vec<usize>,
    length: Length,
    files: Vec<(String, Vec<u8>)>,
}

/// Length of a run; spans in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Length {
    Packets { total: u64, warmup: u64, cooldown: u64 },
    Time { total: u64, warmup: u64, cooldown: u64 },
}

impl LogHeader {
    /// Header of a run of `length` at `point` of `scenario`, which was read from `files`.
    pub fn new(
        scenario: &Scenario,
        point: &PointIndex,
        length: RunLength,
        path: &Path,
        files: &RecordedFiles<'_>,
    ) -> Self {
        let length = match length {
            RunLength::Packets { total, warmup, cooldown } => Length::Packets { total, warmup, cooldown },
            RunLength::Time { total, warmup, cooldown } => {
                Length::Time { total: total.as_ps(), warmup: warmup.as_ps(), cooldown: cooldown.as_ps() }
            }
        };
        let files = files.seen.borrow();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            scenario: text(path),
            hash: scenario.hash.clone(),
            point: point.indices().to_vec(),
            channels: Vec::new(),
            hosts: Vec::new(),
            length,
            files: files.iter().map(|(path, bytes)| (text(path), bytes.clone())).collect(),
        }
    }

    /// Requested length of the run.
    pub fn length(&self) -> RunLength {
        match self.length {
            Length::Packets { total, warmup, cooldown } => RunLength::Packets { total, warmup, cooldown },
            Length::Time { total, warmup, cooldown } => RunLength::Time {
                total: Span::from_ps(total),
                warmup: Span::from_ps(warmup),
                cooldown: Span::from_ps(cooldown),
            },
        }
    }

    /// Logged scenario, its point and the experiment; an error states why this build reads it
    /// differently.
    pub fn experiment(&self) -> Result<(Scenario, PointIndex, Experiment), String> {
        let files: BTreeMap<PathBuf, Vec<u8>> =
            self.files.iter().map(|(path, bytes)| (PathBuf::from(path), bytes.clone())).collect();
        // The scripts were checked when the run was logged, and are checked again if the replay is
        // judged.
        let scenario = Scenario::read(Path::new(&self.scenario), &files, &Unread)
            .map_err(|errors| format!("the logged scenario is none to this version:\n{errors}"))?;
        if scenario.hash != self.hash {
            return Err(format!(
                "the log is of Laxity {}, and what it took from there, such as a profile that comes with it, is \
                 different in {}",
                self.version,
                env!("CARGO_PKG_VERSION")
            ));
        }
        let point = scenario.points().find(|point| point.indices() == self.point);
        let point = point.ok_or_else(|| format!("the logged scenario has no point {:?}", self.point))?;
        let experiment = scenario.experiment(&point);
        let (channels, nodes) = (experiment.channels.len(), experiment.nodes.len());
        if let Some(channel) = self.channels.iter().find(|channel| **channel >= channels) {
            return Err(format!("the log names channel {channel} of {channels}"));
        }
        match self.hosts.iter().find(|host| **host >= nodes) {
            Some(host) => Err(format!("the log names node {host} of {nodes}")),
            None => Ok((scenario, point, experiment)),
        }
    }
}

/// Inputs taken at one wake, in order; numbers are differences to the previous wake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Wake {
    events: u64,
    at: u64,
    /// Inputs, each with the time since the previous input, or the wake.
    inputs: Vec<(u64, LoggedInput)>,
}

/// End of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Number of inputs.
    pub inputs: u64,
    /// End time, in picoseconds.
    end: u64,
    /// Digest of all departures: packet, node and time.
    pub departures: u64,
    /// Timeliness of the emulation. A replay is always on time, and would otherwise be judged as if
    /// the emulation had been.
    pub real_time: Option<RealTime>,
}

impl End {
    /// End at `end`, after `inputs` inputs.
    pub fn new(inputs: u64, end: Time, departures: u64) -> Self {
        Self { inputs, end: end.as_ps(), departures, real_time: None }
    }

    /// Adds the timeliness.
    #[must_use]
    pub fn keeping(self, real_time: Option<RealTime>) -> Self {
        Self { real_time, ..self }
    }

    /// End time.
    pub fn end(&self) -> Time {
        Time::from_ps(self.end)
    }
}

/// Files that are recorded when they are read.
pub struct RecordedFiles<'a> {
    files: &'a dyn Files,
    seen: RefCell<BTreeMap<PathBuf, Vec<u8>>>,
}

impl<'a> RecordedFiles<'a> {
    /// Records all reads of `files`.
    pub fn of(files: &'a dyn Files) -> Self {
        Self { files, seen: RefCell::default() }
    }
}

impl Files for RecordedFiles<'_> {
    fn open(&self, path: &Path) -> io::Result<Opened<'_>> {
        let mut bytes = Vec::new();
        self.files.open(path)?.bytes.read_to_end(&mut bytes)?;
        self.seen.borrow_mut().insert(path.to_path_buf(), bytes.clone());
        Ok(Opened { length: Some(bytes.len() as u64), bytes: Box::new(io::Cursor::new(bytes)) })
    }
}
