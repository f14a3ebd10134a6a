//! Which files Laxity writes, and how each is known again.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The kind of a file, which decides how a file of ours is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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

impl Kind {
    /// The kind in words, with its article.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Kind::Trace => "a trace in Perfetto's format",
            Kind::JsonTrace => "a trace as JSON",
            Kind::Capture => "a capture of packets",
            Kind::Drawing => "a drawing",
            Kind::Log => "a log of an emulation",
            Kind::Profile => "a measured profile",
            Kind::Reproduction => "a table of what was reproduced",
            Kind::Report => "a report",
            Kind::Results | Kind::Rows | Kind::Table => "the results of a run",
            Kind::Cases => "the verdicts of a run",
            Kind::Scene => "a scenario of an attack",
            Kind::Attack => "the findings of attacks",
            Kind::Stamp => "the stamp of a run",
            Kind::Recipe => "a recipe for Linux",
        }
    }

    fn mark(self) -> (Place, &'static [u8]) {
        match self {
            // The descriptor of the process: its number, 1, and its name.
            Kind::Trace => (Place::Head(64), b"\x08\x01\x32\x06laxity"),
            Kind::JsonTrace => (Place::Head(256), b"\"args\":{\"name\":\"laxity\"}"),
            Kind::Capture => (Place::Head(64), b"\x04\x00\x06\x00laxity"),
            Kind::Drawing => (Place::Head(512), b"class=\"laxity-"),
            Kind::Log => (Place::First, b"laxity log "),
            Kind::Profile => (Place::Head(1024), b"Measured by `laxity calibrate`"),
            Kind::Reproduction => (Place::Head(256), b"<!-- Made by `laxity reproduce`; do not edit. -->"),
            Kind::Report => (Place::Tail(4096), b"<dt>version</dt><dd>Laxity "),
            Kind::Results => (Place::First, b"{\n  \"results\": {\n    \"provenance\": {\n"),
            Kind::Rows => (Place::Tail(1 << 16), b"laxity.file_hash"),
            Kind::Table => (Place::Head(1 << 16), b",simulated,window,channel,class,"),
            Kind::Cases => (Place::Head(128), b"<testsuites name=\"laxity\""),
            Kind::Scene => (Place::First, b"# Found by `laxity attack`"),
            Kind::Attack => (Place::First, b"{\n  \"attacked\": \""),
            Kind::Stamp => (Place::First, b"{\n  \"laxity\": {\n"),
            Kind::Recipe => (Place::Head(4096), b"# Made by `laxity recipe`"),
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
