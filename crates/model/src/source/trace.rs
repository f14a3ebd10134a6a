//! Recorded traffic: the sizes of coded frames and captured packets, read from files.
//!
//! A synthetic source is as bursty as its author assumes; a recording is as bursty as its content.
//! Typical files are the output of `ffprobe`, a column of numbers, or a capture. [`read`] accepts
//! any of them, detects the format by the content, and converts it into one [`Trace`].
//!
//! Files are not trusted. The reader stores only the data that it keeps, stops at the bounds of
//! [`TraceLimits`], and returns a [`TraceError`] for every file that is not a trace: file, place,
//! reason, and the valid input.
//!
//! ```
//! use laxity_model::source::trace::{TraceLimits, parse};
//!
//! let rows = "frame,0.000000,17824,I\nframe,0.040000,1927,B\nframe,0.080000,8211,P\n";
//! let trace = parse("film.csv", &mut rows.as_bytes(), TraceLimits::DEFAULT)?;
//! assert_eq!(trace.frames()[0].size.get(), 17824);
//! assert_eq!(trace.frame_interval(), Some("40 ms".parse().unwrap()));
//! # Ok::<(), laxity_model::source::trace::TraceError>(())
//! ```

mod binary;
mod capture;
mod cell;
mod collect;
mod detect;
mod error;
mod field;
mod json;
mod layout;
mod link;
mod pcap;
mod pcapng;
mod rows;
mod statistics;
mod text;

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use laxity_units::{Bytes, Span, Time};

pub use capture::{CapturedPacket, is_capture, packets};
use error::Fault;
pub use error::{TraceError, TracePosition};
pub use link::Network;
pub use statistics::Statistics;

/// How much of a file is read before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceLimits {
    /// The most frames or packets kept.
    pub frames: usize,
    /// The most bytes read.
    pub bytes: u64,
}

impl TraceLimits {
    /// 16 Mi frames, a week of film, and 1 GiB of file.
    pub const DEFAULT: TraceLimits = TraceLimits { frames: 1 << 24, bytes: 1 << 30 };
}

/// How a picture is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// By itself: the largest.
    I,
    /// From pictures before it.
    P,
    /// From pictures on both sides of it: the smallest.
    B,
}

impl fmt::Display for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FrameKind::I => "I",
            FrameKind::P => "P",
            FrameKind::B => "B",
        })
    }
}

/// One coded frame or captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of the coded frame, or of the captured packet: its original length, from the header of
    /// its link on. Never zero.
    pub size: Bytes,
    /// How many of them are the header of the link at which it was captured; zero for what was not captured.
    pub header: u8,
    /// When it was sent, the first frame of the trace at zero; not known for a plain list of sizes.
    pub at: Option<Time>,
    /// How it is coded, if the file says.
    pub kind: Option<FrameKind>,
}

/// Format of a trace's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// One size in bytes per line.
    Sizes,
    /// ffprobe's `-of csv` or `-of compact`.
    Rows,
    /// ffprobe's `-of json`.
    Json,
    /// A pcap capture.
    Pcap,
    /// A pcapng capture.
    PcapNg,
    /// No file: made by a model.
    Generated,
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TraceFormat::Sizes => "sizes",
            TraceFormat::Rows => "ffprobe rows",
            TraceFormat::Json => "ffprobe JSON",
            TraceFormat::Pcap => "pcap",
            TraceFormat::PcapNg => "pcapng",
            TraceFormat::Generated => "generated",
        })
    }
}

/// A recording: at least one frame, in the order of sending, times not decreasing.
#[derive(Clone, PartialEq, Eq)]
pub struct Trace {
    name: String,
    format: TraceFormat,
    frames: Vec<Frame>,
    frame_interval: Option<Span>,
    digest: u64,
    smallest: Bytes,
}

/// Shows how many frames there are and a digest of them: traces that show alike are alike, and a
/// list of tens of thousands would be shown by everything that contains one.
impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trace { name, format, frames, frame_interval, digest, smallest: _ } = self;
        write!(f, "Trace({name:?}, {format:?}, {} frames, {frame_interval:?}, {digest:016x})", frames.len())
    }
}

/// FNV-1a in kind, over the frames, a word for each thing known of one.
fn digest(frames: &[Frame]) -> u64 {
    let words = frames.iter().flat_map(|frame| {
        let at = frame.at.map_or(0, |at| at.as_ps() + 1);
        [frame.size.get(), at, frame.kind.map_or(0, |kind| kind as u64 + 1) | u64::from(frame.header) << 8]
    });
    words.fold(0xCBF2_9CE4_8422_2325, |hash: u64, word| {
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(29)
    })
}

impl Trace {
    fn new(format: TraceFormat, frames: Vec<Frame>, frame_interval: Option<Span>) -> Trace {
        let digest = digest(&frames);
        let smallest = frames.iter().map(|frame| frame.size).min().unwrap_or(Bytes::ZERO);
        Trace { name: String::new(), format, frames, frame_interval, digest, smallest }
    }

    /// A trace that was made and not read; at least one frame, `frame_interval` apart.
    pub(super) fn generated(name: String, frames: Vec<Frame>, frame_interval: Span) -> Trace {
        Trace { name, ..Trace::new(TraceFormat::Generated, frames, Some(frame_interval)) }
    }

    /// The same trace without the link headers of captured packets, which a sender adds again.
    ///
    /// A packet has at least a byte left. `None` if no packet has such a header.
    pub fn without_link_headers(&self) -> Option<Trace> {
        if self.frames.iter().all(|frame| frame.header == 0) {
            return None;
        }
        let packet = |frame: &Frame| Frame {
            size: Bytes::new(frame.size.get().saturating_sub(frame.header.into()).max(1)),
            header: 0,
            ..*frame
        };
        let frames = self.frames.iter().map(packet).collect();
        Some(Trace { name: self.name.clone(), ..Trace::new(self.format, frames, self.frame_interval) })
    }

    /// Name of its file as given to the reader; a description, for a generated trace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Format of its file.
    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// The frames in the order of the file, or for a capture in the order of time; at least one.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Size of its smallest frame. Each channel that replays it asks, at each point of a sweep.
    pub fn smallest(&self) -> Bytes {
        self.smallest
    }

    /// The interval of a constant frame rate, if the file shows one to within a millisecond.
    pub fn frame_interval(&self) -> Option<Span> {
        self.frame_interval
    }

    /// Statistics of the sizes.
    pub fn statistics(&self) -> Statistics {
        Statistics::of(self)
    }
}

/// Reads the trace in the file at `path`, whatever its format.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let name = path.display().to_string();
    read_file(path, &name).map_err(|fault| fault.in_file(&name))
}

fn read_file(path: &Path, name: &str) -> Result<Trace, Fault> {
    let limits = TraceLimits::DEFAULT;
    let io = |error| Fault::io(TracePosition::Whole, &error);
    // Asked of the path first: opening a directory succeeds, and so does opening what then never ends.
    let metadata = std::fs::metadata(path).map_err(io)?;
    if metadata.is_dir() {
        return Err(Fault::new(TracePosition::Whole, "it is a directory", error::ANY));
    }
    if !metadata.is_file() {
        let reason = "it is not a regular file, but a pipe, a device or a socket";
        return Err(Fault::new(TracePosition::Whole, reason, error::ANY));
    }
    if metadata.len() > limits.bytes {
        let reason = format!("it has {} bytes, and the reader stops at {}", metadata.len(), limits.bytes);
        return Err(Fault::new(TracePosition::Whole, reason, text::TOO_LONG));
    }
    let file = File::open(path).map_err(io)?;
    parse_input(name, &mut BufReader::new(file), limits)
}

/// Reads a trace from `input`, whatever its format; `name` stands for it in the trace and in errors.
pub fn parse(name: &str, input: &mut dyn BufRead, limits: TraceLimits) -> Result<Trace, TraceError> {
    parse_input(name, input, limits).map_err(|fault| fault.in_file(name))
}

fn parse_input(name: &str, input: &mut dyn BufRead, limits: TraceLimits) -> Result<Trace, Fault> {
    let mut head = Vec::new();
    let looked_at = (&mut *input).take(detect::LOOKED_AT as u64).read_to_end(&mut head);
    looked_at.map_err(|error| Fault::io(TracePosition::Whole, &error))?;
    let format = detect::format(&head)?;
    if format == TraceFormat::Json && head.starts_with(b"\xef\xbb\xbf") {
        head.drain(..3);
    }
    let mut whole = Cursor::new(head).chain(input);
    let trace = match format {
        TraceFormat::Json => json::parse(&mut whole, limits)?,
        TraceFormat::Pcap | TraceFormat::PcapNg => capture::trace(format, &mut whole, limits)?,
        TraceFormat::Sizes | TraceFormat::Rows => rows::parse(&mut whole, limits)?,
        TraceFormat::Generated => unreachable!("no file looks generated"),
    };
    Ok(Trace { name: name.to_string(), ..trace })
}
