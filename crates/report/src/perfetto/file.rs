//! The format of a trace file, by the suffix of its name.

use std::io::{self, Write};
use std::path::Path;

use laxity_engine::trace::{Arguments, PerfettoTrace, TraceFlow, TraceSink, Track};
use laxity_units::Time;

use super::ProtobufTrace;
use crate::output::FileKind;

/// A trace file of either format.
#[derive(Debug)]
pub enum TraceFile<W: Write> {
    /// Trace-event JSON.
    Json(PerfettoTrace<W>),
    /// Perfetto's own packets.
    Protobuf(ProtobufTrace<W>),
}

/// The kind of the trace file at `path`: JSON if its suffix is `.json`, and Perfetto's own format
/// otherwise.
pub fn kind(path: &Path) -> FileKind {
    let is_json = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("json"));
    if is_json { FileKind::JsonTrace } else { FileKind::Trace }
}

/// Calls the sink's own method.
macro_rules! each {
    ($self:expr, $sink:ident => $body:expr) => {
        match $self {
            TraceFile::Json($sink) => $body,
            TraceFile::Protobuf($sink) => $body,
        }
    };
}

impl<W: Write> TraceFile<W> {
    /// Starts a trace in `writer`, in the format of the name `path`.
    pub fn new(path: &Path, writer: W) -> Self {
        match kind(path) {
            FileKind::JsonTrace => TraceFile::Json(PerfettoTrace::new(writer)),
            _ => TraceFile::Protobuf(ProtobufTrace::new(writer)),
        }
    }

    /// Ends the trace and returns the writer, or its first error.
    pub fn finish(self) -> io::Result<W> {
        each!(self, sink => sink.finish())
    }
}

impl<W: Write> TraceSink for TraceFile<W> {
    fn track(&mut self, name: &str) -> Track {
        each!(self, sink => sink.track(name))
    }

    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>) {
        each!(self, sink => sink.span(track, name, begin, end, arguments));
    }

    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        each!(self, sink => sink.instant(track, name, at, arguments));
    }

    fn level(&mut self, track: Track, at: Time, value: i64) {
        each!(self, sink => sink.level(track, at, value));
    }

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: TraceFlow) {
        each!(self, sink => sink.flow(track, at, id, flow));
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        each!(self, sink => sink.means(argument, value, name));
    }
}
