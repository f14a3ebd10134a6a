//! The log of an emulation: every input from outside with its time, and all that is needed to run it again.
//!
//! A world is deterministic; what makes one emulation differ from another is what came from outside, and when. So a
//! log of the inputs is a log of the run, and far smaller than a trace of it. Four things are less obvious:
//!
//! * *When* is not a time alone. Several events may happen at one time, and an input between two of them is not the same
//!   as one before both. A wake is logged with the number of events before it.
//! * Nor is the time of a wake that of its inputs: a world that is behind is woken at a time that has passed, and what it
//!   reads happens when it was read. Each input is logged with both.
//! * The scenario's own files change, and a run is looked into months later. They are part of the log.
//! * The thread that emulates cannot write. It puts entries into a ring, which another thread empties; if that falls
//!   behind by the whole ring, the log ends there, and says so: one with a hole would replay as another run.
//!
//! # Format
//!
//! ```text
//! laxity log 5\n   then blocks:   length, u32 │ CRC-32, u32 │ that many bytes of postcard
//! first block: Header     further blocks: Vec<Wake>     last block: End, marked by the first byte of each
//! ```
//!
//! Of adapters with virtual interfaces the further blocks are of entries of their own (`via/inputs.rs`), which have a mark of their own.
//!
//! Numbers are little-endian. 300 000 inputs a second in a text format of 40 bytes each would be 12 MB/s, and
//! most of a processor to print and to parse; postcard's variable-length integers, of differences where numbers grow, take
//! 8 to 13 bytes. Blocks bound memory on both sides, and a checksum for each tells a damaged log from a strange run.

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

/// By which a log of this format begins.
const MAGIC: &str = "laxity log 5\n";
/// The longest block: a header may hold traces, which may be long.
const LONGEST: usize = 1 << 30;

/// What ran: enough to assemble the same world again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of Laxity that wrote it.
    pub version: String,
    /// The scenario's path.
    pub scenario: String,
    /// The scenario's hash, over all files it names.
    pub hash: String,
    /// The point of the sweep.
    pub point: Vec<usize>,
    /// Channels whose messages came from outside.
    pub channels: Vec<usize>,
    /// Nodes whose hosts were outside.
    pub hosts: Vec<usize>,
    length: Length,
    files: Vec<(String, Vec<u8>)>,
}

/// A run's length; spans in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Length {
    Packets { total: u64, warmup: u64, cooldown: u64 },
    Time { total: u64, warmup: u64, cooldown: u64 },
}

impl Header {
    /// Of a run of `length` at `point` of `scenario`, which was read from `files`.
    pub fn new(
        scenario: &Scenario,
        point: &PointIndex,
        length: RunLength,
        path: &Path,
        files: &Recorded<'_>,
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

    /// How long the run was to be.
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

    /// The scenario as it was, the point and its experiment; an error says why this build reads it otherwise.
    pub fn experiment(&self) -> Result<(Scenario, PointIndex, Experiment), String> {
        let files: BTreeMap<PathBuf, Vec<u8>> =
            self.files.iter().map(|(path, bytes)| (PathBuf::from(path), bytes.clone())).collect();
        // Its scripts were looked at when it was logged, and are again if the replay is judged.
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

/// Inputs that were taken at one wake, in order; numbers are differences to the wake before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Wake {
    events: u64,
    at: u64,
    /// Each with how long after the one before, or the wake, it was read.
    inputs: Vec<(u64, LoggedInput)>,
}

/// How the run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// How many inputs there were.
    pub inputs: u64,
    /// When it ended, in picoseconds.
    end: u64,
    /// The digest of which packet departed from which node when.
    pub departures: u64,
    /// How well time was kept. A replay keeps it by construction, and would be judged as if the emulation had, too.
    pub real_time: Option<RealTime>,
}

impl End {
    /// At `end`, after `inputs` inputs.
    pub fn new(inputs: u64, end: Time, departures: u64) -> Self {
        Self { inputs, end: end.as_ps(), departures, real_time: None }
    }

    /// With how well time was kept.
    #[must_use]
    pub fn keeping(self, real_time: Option<RealTime>) -> Self {
        Self { real_time, ..self }
    }

    /// When it ended.
    pub fn end(&self) -> Time {
        Time::from_ps(self.end)
    }
}

/// Files that are kept as they are read.
pub struct Recorded<'a> {
    files: &'a dyn Files,
    seen: RefCell<BTreeMap<PathBuf, Vec<u8>>>,
}

impl<'a> Recorded<'a> {
    /// Keeps what is read of `files`.
    pub fn of(files: &'a dyn Files) -> Self {
        Self { files, seen: RefCell::default() }
    }
}

impl Files for Recorded<'_> {
    fn open(&self, path: &Path) -> io::Result<Opened<'_>> {
        let mut bytes = Vec::new();
        self.files.open(path)?.bytes.read_to_end(&mut bytes)?;
        self.seen.borrow_mut().insert(path.to_path_buf(), bytes.clone());
        Ok(Opened { length: Some(bytes.len() as u64), bytes: Box::new(io::Cursor::new(bytes)) })
    }
}
