//! Which files Laxity writes, and how each is known again.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The kind of a file, which decides how a file of ours is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The activity of CPU, adapter and link, in Perfetto's format.
    Trace,
    /// The activity of CPU, adapter and link, as JSON that Perfetto reads.
    JsonTrace,
    /// Packets, as pcapng; its section says which application wrote it.
    Capture,
    /// A figure or a diagram, as SVG.
    Drawing,
    /// The log of an emulation.
    Log,
    /// A host cost profile that was measured.
    Profile,
    /// The table of what was reproduced.
    Reproduction,
    /// The report of a directory of results.
    Report,
    /// Its results and verdicts, as JSON.
    Results,
    /// Its results, as Parquet.
    Rows,
    /// Its results, as CSV.
    Table,
    /// Its verdicts, as JUnit's XML.
    Cases,
    /// A scenario that shows what an attack found.
    Scene,
    /// The findings of attacks on a scenario, as JSON.
    Attack,
    /// Program, build and date of a directory of results.
    Stamp,
    /// A scenario as a script of settings of Linux.
    Recipe,
}

/// Where in a file its mark stands.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// At the very beginning.
    First,
    /// In this number of bytes at the start.
    Head(u64),
    /// In this number of bytes at the end.
    Tail(u64),
}

impl FileKind {
    /// The kind in words, with its article.
    pub(crate) fn words(self) -> &'static str {
        match self {
            FileKind::Trace => "a trace in Perfetto's format",
            FileKind::JsonTrace => "a trace as JSON",
            FileKind::Capture => "a capture of packets",
            FileKind::Drawing => "a drawing",
            FileKind::Log => "a log of an emulation",
            FileKind::Profile => "a measured profile",
            FileKind::Reproduction => "a table of what was reproduced",
            FileKind::Report => "a report",
            FileKind::Results | FileKind::Rows | FileKind::Table => "the results of a run",
            FileKind::Cases => "the verdicts of a run",
            FileKind::Scene => "a scenario of an attack",
            FileKind::Attack => "the findings of attacks",
            FileKind::Stamp => "the stamp of a run",
            FileKind::Recipe => "a recipe for Linux",
        }
    }

    fn mark(self) -> (Place, &'static [u8]) {
        match self {
            // The descriptor of the process: its number, 1, and its name.
            FileKind::Trace => (Place::Head(64), b"\x08\x01\x32\x06laxity"),
            FileKind::JsonTrace => (Place::Head(256), b"\"args\":{\"name\":\"laxity\"}"),
            FileKind::Capture => (Place::Head(64), b"\x04\x00\x06\x00laxity"),
            FileKind::Drawing => (Place::Head(512), b"class=\"laxity-"),
            FileKind::Log => (Place::First, b"laxity log "),
            FileKind::Profile => (Place::Head(1024), b"Measured by `laxity calibrate`"),
            FileKind::Reproduction => {
                (Place::Head(256), b"<!-- Made by `laxity reproduce`; do not edit. -->")
            }
            FileKind::Report => (Place::Tail(4096), b"<dt>version</dt><dd>Laxity "),
            FileKind::Results => (Place::First, b"{\n  \"results\": {\n    \"provenance\": {\n"),
            FileKind::Rows => (Place::Tail(1 << 16), b"laxity.file_hash"),
            FileKind::Table => (Place::Head(1 << 16), b",simulated,window,channel,class,"),
            FileKind::Cases => (Place::Head(128), b"<testsuites name=\"laxity\""),
            FileKind::Scene => (Place::First, b"# Found by `laxity attack`"),
            FileKind::Attack => (Place::First, b"{\n  \"attacked\": \""),
            FileKind::Stamp => (Place::First, b"{\n  \"laxity\": {\n"),
            FileKind::Recipe => (Place::Head(4096), b"# Made by `laxity recipe`"),
        }
    }

    /// Whether Laxity wrote the file at `path`, as this kind.
    pub(crate) fn wrote(self, path: &Path) -> io::Result<bool> {
        let (place, mark) = self.mark();
        let mut file = File::open(path)?;
        let most = match place {
            Place::First => mark.len() as u64,
            Place::Head(most) => most,
            Place::Tail(most) => {
                let length = file.seek(SeekFrom::End(0))?;
                file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
                most
            }
        };
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes.windows(mark.len()).any(|window| window == mark))
    }
}
