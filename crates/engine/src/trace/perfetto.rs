//! Trace file for Perfetto.
//!
//! The format is Chrome's trace-event JSON in its array form, which Perfetto and `chrome://tracing`
//! read. Perfetto's own format, which `laxity-report` writes, is much smaller; this one is readable
//! and works with `jq`. Times are microseconds by definition of the format; they are written as
//! decimals with six places, exact to the picosecond, never through a float (Perfetto itself shows
//! nanoseconds).
//!
//! Every record is one line. The file of an interrupted run is valid, since the closing bracket is
//! optional in the format; for strict readers, all up to the last `,\n` and a `]` is valid JSON.
//!
//! A track is a thread of one process, numbered two above the track: Perfetto treats thread 0 as
//! idle and the thread with the number of its process, 1, as the main one. Levels are counters,
//! which the format identifies by name and not by thread. A flow is an arrow between the spans of
//! several threads that are open at its times.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use laxity_units::Time;

use super::{Arguments, TraceFlow, TraceSink, Track, Tracks};

const PER_MICRO: u64 = 1_000_000;

/// Writes trace-event JSON.
///
/// Each record is one write, so the writer should be buffered. An error of the writer ends the
/// writing and is reported by [`PerfettoTrace::finish`].
#[derive(Debug)]
pub struct PerfettoTrace<W: Write> {
    writer: W,
    tracks: Tracks,
    /// By track, its name, and whether its thread has been declared in the file.
    names: Vec<(String, bool)>,
    /// Names of argument values.
    meanings: BTreeMap<&'static str, BTreeMap<u64, String>>,
    line: String,
    failure: Option<io::Error>,
}

impl<W: Write> PerfettoTrace<W> {
    /// Starts a trace in `writer`.
    pub fn new(writer: W) -> Self {
        let mut trace = Self {
            writer,
            tracks: Tracks::default(),
            names: Vec::new(),
            meanings: BTreeMap::new(),
            line: String::new(),
            failure: None,
        };
        trace
            .line
            .push_str("[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"laxity\"}}");
        trace.flush_line();
        trace
    }

    /// Ends the trace and returns the writer, or its first error.
    pub fn finish(mut self) -> io::Result<W> {
        self.line.push_str("\n]\n");
        self.flush_line();
        match self.failure {
            Some(error) => Err(error),
            None => self.writer.flush().map(|()| self.writer),
        }
    }

    fn flush_line(&mut self) {
        if self.failure.is_none() {
            self.failure = self.writer.write_all(self.line.as_bytes()).err();
        }
        self.line.clear();
    }

    /// Starts a record of `kind` on the thread of `track`, which its first record declares.
    fn begin(&mut self, kind: char, track: Track, name: &str, at: Time) {
        let (track_name, known) = &mut self.names[track.0 as usize];
        let thread = track.0 + 2;
        if !*known {
            *known = true;
            write!(
                self.line,
                ",\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{thread},\"name\":\"thread_name\",\"args\":{{\"name\":"
            )
            .expect("a string takes all");
            push_text(&mut self.line, track_name);
            write!(self.line, "}}}},\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{thread},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{thread}}}}}")
                .expect("a string takes all");
        }
        write!(self.line, ",\n{{\"ph\":\"{kind}\",\"pid\":1,\"tid\":{thread},\"name\":")
            .expect("a string takes all");
        push_text(&mut self.line, name);
        self.push_micros(",\"ts\":", at.as_ps());
    }

    fn end(&mut self, arguments: Arguments<'_>) {
        if !arguments.is_empty() {
            self.line.push_str(",\"args\":{");
            for (i, (name, value)) in arguments.iter().enumerate() {
                self.line.push_str(if i == 0 { "" } else { "," });
                push_text(&mut self.line, name);
                match self.meanings.get(*name).and_then(|of| of.get(value)) {
                    Some(meaning) => {
                        self.line.push(':');
                        push_text(&mut self.line, meaning);
                    }
                    None => write!(self.line, ":{value}").expect("a string takes all"),
                }
            }
            self.line.push('}');
        }
        self.line.push('}');
        self.flush_line();
    }

    fn push_micros(&mut self, key: &str, ps: u64) {
        write!(self.line, "{key}{}.{:06}", ps / PER_MICRO, ps % PER_MICRO).expect("a string takes all");
    }
}

impl<W: Write> TraceSink for PerfettoTrace<W> {
    fn track(&mut self, name: &str) -> Track {
        let (track, new) = self.tracks.name(name);
        if new {
            self.names.push((name.to_owned(), false));
        }
        track
    }

    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>) {
        self.begin('X', track, name, begin);
        self.push_micros(",\"dur\":", end.since(begin).as_ps());
        self.end(arguments);
    }

    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        self.begin('i', track, name, at);
        self.line.push_str(",\"s\":\"t\"");
        self.end(arguments);
    }

    fn level(&mut self, track: Track, at: Time, value: i64) {
        self.line.push_str(",\n{\"ph\":\"C\",\"pid\":1,\"name\":");
        push_text(&mut self.line, &self.names[track.0 as usize].0);
        self.push_micros(",\"ts\":", at.as_ps());
        write!(self.line, ",\"args\":{{\"value\":{value}}}}}").expect("a string takes all");
        self.flush_line();
    }

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: TraceFlow) {
        let (kind, binds) = match flow {
            TraceFlow::Begins => ('s', ""),
            TraceFlow::Passes => ('t', ""),
            TraceFlow::Ends => ('f', ",\"bp\":\"e\""),
        };
        self.begin(kind, track, "message", at);
        write!(self.line, ",\"cat\":\"message\",\"id\":{id}{binds}").expect("a string takes all");
        self.end(&[]);
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        self.meanings.entry(argument).or_default().insert(value, name.to_owned());
    }
}

/// Appends `text` as a JSON string.
fn push_text(line: &mut String, text: &str) {
    line.push('"');
    for c in text.chars() {
        match c {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            c if c < ' ' => write!(line, "\\u{:04x}", c as u32).expect("a string takes all"),
            c => line.push(c),
        }
    }
    line.push('"');
}
