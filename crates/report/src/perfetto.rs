//! Trace file in Perfetto's own format, for `laxity trace --perfetto FILE.pftrace`.
//!
//! The format is a sequence of protobuf packets (`TracePacket` of Perfetto's `trace_packet.proto`).
//! A run of one second at 10 Gbit/s is hundreds of megabytes as trace-event JSON. Three properties
//! of this format make the file smaller: a name is written once and referred to by number; a time
//! is one integer; and packets are compressed in chunks (field `compressed_packets`), which the
//! reader expands one by one. Writing keeps one chunk and the table of names in memory.
//!
//! *Times* are whole nanoseconds, rounded down, since the format has no smaller unit. The JSON
//! format of [`PerfettoTrace`](laxity_engine::trace::PerfettoTrace) is exact to the picosecond.
//! Rounding keeps the order of events and the nesting of spans.
//!
//! *A span* is two events, its begin and its end. The reader sorts events by time, and events of
//! one time by their order in the file. Where nested spans begin in the same nanosecond, the one
//! that is recorded first is therefore shown as the outer one.
//!
//! *A flow* is a list of events with the same number. An event of a flow is an instant named
//! `message`, which Perfetto shows within the span around it.
//!
//! *An interrupted run* leaves whole chunks, which Perfetto opens, and perhaps a part of one.
//!
//! *Library:* `prost` encodes the messages below, which have the few fields that are written. It is
//! maintained by the authors of Tokio's gRPC and needs no compiler for `.proto` files.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use laxity_engine::trace::{Arguments, TraceFlow, TraceSink, Track};
use laxity_units::Time;
use prost::Message;

mod file;
mod packet;
#[cfg(test)]
mod tests;

pub use file::{TraceFile, kind};

use packet::{
    Annotation, Compressed, CompressedPackets, CounterDescriptor, Event, Interned, Name, Packet, Packets,
    Process, Text, TrackDescriptor,
};

/// Bytes of packets that are compressed together.
const CHUNK: usize = 1 << 18;

/// The track of the process, the parent of all others.
const PROCESS: u64 = 1;

/// The only writer of the file; numbers of names are its own.
const SEQUENCE: u32 = 1;

/// Writes a trace of Perfetto's protobuf packets.
///
/// An error of the writer ends the writing and is reported by [`ProtobufTrace::finish`].
#[derive(Debug)]
pub struct ProtobufTrace<W: Write> {
    writer: W,
    /// Name of each track, and whether its spans and its levels have been declared in the file.
    tracks: Vec<(String, [bool; 2])>,
    by_name: BTreeMap<String, Track>,
    /// Numbers of names that are in the file.
    events: Numbers,
    arguments: Numbers,
    texts: Numbers,
    /// Names of argument values.
    meanings: BTreeMap<&'static str, BTreeMap<u64, String>>,
    /// The packet that is written next, kept to reuse its memory.
    packets: Packets,
    chunk: Vec<u8>,
    failure: Option<io::Error>,
}

/// Names by which a file refers to texts, counted from 1.
#[derive(Debug, Default)]
struct Numbers(BTreeMap<String, u64>);

impl Numbers {
    /// The number of `name`, and whether `name` is new.
    fn of(&mut self, name: &str) -> (u64, bool) {
        if let Some(number) = self.0.get(name) {
            return (*number, false);
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(name.to_owned(), number);
        (number, true)
    }
}

/// The content of a track in the file: a track of spans and one of levels may have one name.
#[derive(Debug, Clone, Copy)]
enum Shows {
    Spans,
    Levels,
}

/// Identifier of a track in the file.
fn uuid(track: usize, shows: Shows) -> u64 {
    2 * (track as u64 + 1) + shows as u64
}

/// Nanoseconds, rounded down.
fn nanoseconds(at: Time) -> u64 {
    at.as_ps() / 1000
}

impl<W: Write> ProtobufTrace<W> {
    /// Starts a trace in `writer`.
    pub fn new(writer: W) -> Self {
        let mut trace = Self {
            writer,
            tracks: Vec::new(),
            by_name: BTreeMap::new(),
            events: Numbers::default(),
            arguments: Numbers::default(),
            texts: Numbers::default(),
            meanings: BTreeMap::new(),
            packets: Packets::default(),
            chunk: Vec::new(),
            failure: None,
        };
        let process = TrackDescriptor {
            uuid: PROCESS,
            process: Some(Process { pid: 1, name: "laxity".into() }),
            // Siblings by rank.
            child_ordering: Some(3),
            ..TrackDescriptor::default()
        };
        let first = Packet {
            sequence: SEQUENCE,
            // All numbers of names are void.
            flags: Some(1),
            track: Some(process),
            ..Packet::default()
        };
        trace.put(first);
        // Not compressed, so that the beginning of the file identifies its writer.
        let head = std::mem::take(&mut trace.chunk);
        trace.write(&head);
        trace
    }

    /// Ends the trace and returns the writer, or its first error.
    pub fn finish(mut self) -> io::Result<W> {
        self.compress();
        match self.failure {
            Some(error) => Err(error),
            None => self.writer.flush().map(|()| self.writer),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.writer.write_all(bytes).err();
        }
    }

    /// Appends a packet to the chunk.
    fn put(&mut self, packet: Packet) {
        self.packets.packets.clear();
        self.packets.packets.push(packet);
        self.packets.encode(&mut self.chunk).expect("a vector has room");
        if self.chunk.len() >= CHUNK {
            self.compress();
        }
    }

    /// Writes the chunk as one compressed packet.
    fn compress(&mut self) {
        if self.chunk.is_empty() {
            return;
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        let compressed = encoder.write_all(&self.chunk).and_then(|()| encoder.finish());
        let packets = compressed.expect("a vector has room");
        self.chunk.clear();
        let packet = CompressedPackets { packet: Some(Compressed { packets }) };
        self.write(&packet.encode_to_vec());
    }

    /// Declares what `track` shows, before its first event.
    fn declare(&mut self, track: Track, shows: Shows) -> u64 {
        let number = track.number() as usize;
        let uuid = uuid(number, shows);
        let (name, declared) = &mut self.tracks[number];
        if !std::mem::replace(&mut declared[shows as usize], true) {
            let descriptor = TrackDescriptor {
                uuid,
                name: Some(name.clone()),
                parent: Some(PROCESS),
                counter: matches!(shows, Shows::Levels).then(CounterDescriptor::default),
                rank: Some(number as i32),
                ..TrackDescriptor::default()
            };
            self.put(Packet { sequence: SEQUENCE, track: Some(descriptor), ..Packet::default() });
        }
        uuid
    }

    /// The event `name` with its arguments, and the names in it that are new.
    fn event(&mut self, name: &str, arguments: Arguments<'_>) -> (Event, Option<Interned>) {
        let mut new = Interned::default();
        let (name_number, is_new) = self.events.of(name);
        if is_new {
            new.events.push(Name { number: name_number, name: name.into() });
        }
        let mut annotations = Vec::with_capacity(arguments.len());
        for (argument, value) in arguments {
            let (number, is_new) = self.arguments.of(argument);
            if is_new {
                new.arguments.push(Name { number, name: (*argument).into() });
            }
            let mut annotation = Annotation { name: number, ..Annotation::default() };
            match self.meanings.get(argument).and_then(|of| of.get(value)) {
                None => annotation.value = Some(*value),
                Some(meaning) => {
                    let (text, is_new) = self.texts.of(meaning);
                    if is_new {
                        new.texts.push(Text { number: text, text: meaning.clone().into_bytes() });
                    }
                    annotation.text = Some(text);
                }
            }
            annotations.push(annotation);
        }
        let any = !(new.events.is_empty() && new.arguments.is_empty() && new.texts.is_empty());
        (Event { name: Some(name_number), annotations, ..Event::default() }, any.then_some(new))
    }

    fn put_event(&mut self, at: Time, event: Event, names: Option<Interned>) {
        self.put(Packet {
            at: Some(nanoseconds(at)),
            sequence: SEQUENCE,
            event: Some(event),
            names,
            // Needs the names that are in the file before.
            flags: Some(2),
            ..Packet::default()
        });
    }
}

impl<W: Write> TraceSink for ProtobufTrace<W> {
    fn track(&mut self, name: &str) -> Track {
        if let Some(track) = self.by_name.get(name) {
            return *track;
        }
        let number = u32::try_from(self.tracks.len()).expect("a trace has fewer than 2^32 tracks");
        self.tracks.push((name.to_owned(), [false; 2]));
        self.by_name.insert(name.to_owned(), Track::new(number));
        Track::new(number)
    }

    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>) {
        assert!(begin <= end, "a span ends before it begins");
        let track = Some(self.declare(track, Shows::Spans));
        let (event, names) = self.event(name, arguments);
        self.put_event(begin, Event { kind: Event::BEGIN, track, ..event }, names);
        self.put_event(end, Event { kind: Event::END, track, ..Event::default() }, None);
    }

    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        let track = Some(self.declare(track, Shows::Spans));
        let (event, names) = self.event(name, arguments);
        self.put_event(at, Event { kind: Event::INSTANT, track, ..event }, names);
    }

    fn level(&mut self, track: Track, at: Time, value: i64) {
        let track = Some(self.declare(track, Shows::Levels));
        let event = Event { kind: Event::COUNTER, track, level: Some(value), ..Event::default() };
        self.put_event(at, event, None);
    }

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: TraceFlow) {
        let track = Some(self.declare(track, Shows::Spans));
        let (mut event, names) = self.event("message", &[]);
        match flow {
            TraceFlow::Begins | TraceFlow::Passes => event.flows.push(id),
            TraceFlow::Ends => event.ending_flows.push(id),
        }
        self.put_event(at, Event { kind: Event::INSTANT, track, ..event }, names);
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        self.meanings.entry(argument).or_default().insert(value, name.to_owned());
    }
}
