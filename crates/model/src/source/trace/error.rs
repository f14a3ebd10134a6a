//! Errors of a trace file: reason, place, and the valid values.

use std::fmt;
use std::io;

/// The accepted input, for a file whose contents give no better hint.
pub(super) const ANY: &str =
    "a trace: a size in bytes on each line, ffprobe's CSV or JSON, or a pcap or pcapng capture";

/// The command that gives the rows that need no guessing.
pub(super) const ROWS: &str = "the output of `ffprobe -v error -select_streams v:0 -show_entries \
                               packet=dts_time,size,flags -of csv=nk=0 VIDEO`";

/// A size as it stands on a line, in a row or in JSON.
pub(super) const SIZE: &str = "a whole number of bytes from 1 to 1073741824, such as `1500`";

/// A time as ffprobe prints it.
pub(super) const SECONDS: &str = "seconds such as `0.040000`, or `N/A`";

/// The place of a fault inside a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracePosition {
    /// The file as a whole: it cannot be opened, or is too long, or is not a trace.
    Whole,
    /// A text file's line and column, both counted from 1, the column in characters.
    Text {
        /// The line, the first being 1.
        line: u64,
        /// The character in the line, the first being 1.
        column: u64,
    },
    /// A binary file's byte, the first being 0, as hex viewers count.
    Byte(u64),
}

/// A fault before it is known in which file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: TracePosition,
    pub(super) reason: String,
    pub(super) valid: &'static str,
}

impl Fault {
    pub(super) fn new(at: TracePosition, reason: impl Into<String>, valid: &'static str) -> Fault {
        Fault { at, reason: reason.into(), valid }
    }

    /// The operating system's refusal, in words that name no error number.
    pub(super) fn io(at: TracePosition, error: &io::Error) -> Fault {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_string(),
            io::ErrorKind::PermissionDenied => "this user may not read it".to_string(),
            io::ErrorKind::IsADirectory => "it is a directory".to_string(),
            _ => format!("it cannot be read: {error}"),
        };
        Fault::new(at, reason, "a readable file that holds a trace")
    }

    pub(super) fn in_file(self, file: &str) -> TraceError {
        TraceError { file: file.to_string(), fault: self }
    }
}

/// Why a file is not a trace: file, place, reason and what would be valid.
///
/// ```
/// use laxity_model::source::trace::{TraceLimits, parse};
///
/// let error = parse("film.txt", &mut "534\n13x\n".as_bytes(), TraceLimits::DEFAULT).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "film.txt, line 2, column 3: `13x` is not a whole number; \
///      valid is a whole number of bytes from 1 to 1073741824, such as `1500`"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    file: String,
    fault: Fault,
}

impl TraceError {
    /// The file, as it was named to the reader.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Where in the file.
    pub fn at(&self) -> TracePosition {
        self.fault.at
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.fault.reason
    }

    /// The valid values.
    pub fn valid(&self) -> &'static str {
        self.fault.valid
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        match self.fault.at {
            TracePosition::Whole => {}
            TracePosition::Text { line, column } => write!(f, ", line {line}, column {column}")?,
            TracePosition::Byte(offset) => write!(f, ", byte {offset}")?,
        }
        write!(f, ": {}; valid is {}", self.fault.reason, self.fault.valid)
    }
}

impl std::error::Error for TraceError {}
