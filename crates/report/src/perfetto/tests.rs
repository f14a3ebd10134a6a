use std::io;

use laxity_engine::trace::{Arguments, PerfettoTrace, TraceFlow, TraceSink, Track};
use laxity_units::{Span, Time};
use proptest::prelude::*;
use serde_json::Value;

use super::{CHUNK, ProtobufTrace};

mod decoder;

use decoder::{Happened, What, decode};

/// Records events as a file should hold them.
#[derive(Default)]
struct Recorded {
    tracks: Vec<String>,
    meanings: Vec<(&'static str, u64, String)>,
    events: Vec<Happened>,
}

impl Recorded {
    fn texts(&self, arguments: Arguments<'_>) -> Vec<(String, String)> {
        let text = |name: &str, value: u64| {
            let meaning = self.meanings.iter().find(|(of, number, _)| *of == name && *number == value);
            meaning.map_or_else(|| value.to_string(), |(.., text)| text.clone())
        };
        arguments.iter().map(|(name, of)| (name.to_string(), text(name, *of))).collect()
    }

    fn push(&mut self, track: Track, at: Time, what: What) {
        self.events.push((self.tracks[track.number() as usize].clone(), at.as_ps() / 1000, what));
    }
}

impl TraceSink for Recorded {
    fn track(&mut self, name: &str) -> Track {
        let known = self.tracks.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.tracks.push(name.into());
            self.tracks.len() - 1
        });
        Track::new(number as u32)
    }

    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>) {
        let what = What::Span(name.into(), end.as_ps() / 1000, self.texts(arguments));
        self.push(track, begin, what);
    }

    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        let what = What::Instant(name.into(), self.texts(arguments));
        self.push(track, at, what);
    }

    fn level(&mut self, track: Track, at: Time, value: i64) {
        self.push(track, at, What::Level(value));
    }

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: TraceFlow) {
        self.push(track, at, What::Flow(id, flow == TraceFlow::Ends));
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        self.meanings.push((argument, value, name.into()));
    }
}

/// A step of a run: which track, what, how much later, how long, a value.
type Step = (usize, usize, u64, u64, u64);

/// Times in picoseconds. No span of a track overlaps another, as for a resource.
fn run(steps: &[Step], trace: &mut impl TraceSink) {
    let tracks = ["cpu", "adapter \"a\"\\dma\n", "link", "überlauf"].map(|name| trace.track(name));
    let mut free = [Time::ZERO; 4];
    trace.means("channel", 3, "the \"film\"");
    for (track, what, later, length, value) in steps.iter().copied() {
        let begin = free[track] + Span::from_ps(later);
        let end = begin + Span::from_ps(length);
        let flow = [TraceFlow::Begins, TraceFlow::Passes, TraceFlow::Ends][value as usize % 3];
        let name = ["transmit", "poll", "copy"][value as usize % 3];
        match what {
            0 => {
                trace.span(tracks[track], name, begin, end, &[("channel", value % 5), ("bytes", value)]);
                free[track] = end;
            }
            1 => trace.span(tracks[track], name, begin, begin, &[]),
            2 => trace.instant(tracks[track], name, end, &[("message", value), ("channel", 3)]),
            3 => trace.level(tracks[track], begin, value as i64 - 500),
            _ => trace.flow(tracks[track], end, value, flow),
        }
    }
}

fn sorted(mut events: Vec<Happened>) -> Vec<Happened> {
    events.sort();
    events
}

/// The events of a file of JSON, to the nanosecond.
fn of_json(text: &str) -> Vec<Happened> {
    let records: Vec<Value> = serde_json::from_str(text).unwrap();
    let mut tracks = std::collections::BTreeMap::new();
    let picoseconds = |value: &Value| (value.as_f64().unwrap() * 1e6).round() as u64;
    let mut events = Vec::new();
    for record in &records {
        let (name, ts) = (record["name"].as_str().unwrap(), &record["ts"]);
        let thread = record["tid"].as_u64();
        if record["ph"] == "M" {
            if name == "thread_name" {
                tracks.insert(thread, record["args"]["name"].as_str().unwrap().to_string());
            }
            continue;
        }
        let begin = picoseconds(ts);
        let pairs = record["args"].as_object().into_iter().flatten();
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_string);
        let arguments = pairs.map(|(name, value)| (name.clone(), text(value))).collect();
        let what = match record["ph"].as_str().unwrap() {
            "X" => What::Span(name.into(), (begin + picoseconds(&record["dur"])) / 1000, arguments),
            "i" => What::Instant(name.into(), arguments),
            "C" => What::Level(record["args"]["value"].as_i64().unwrap()),
            kind => What::Flow(record["id"].as_u64().unwrap(), kind == "f"),
        };
        let track = if record["ph"] == "C" { name.to_string() } else { tracks[&thread].clone() };
        events.push((track, begin / 1000, what));
    }
    events
}

/// The same events with their arguments by name, as JSON's readers have them.
fn by_name(mut events: Vec<Happened>) -> Vec<Happened> {
    for (.., what) in &mut events {
        if let What::Span(_, _, arguments) | What::Instant(_, arguments) = what {
            arguments.sort();
        }
    }
    sorted(events)
}

proptest! {
    #[test]
    fn a_file_has_the_events_that_were_recorded_and_that_json_has(
        steps in prop::collection::vec((0_usize..4, 0_usize..5, 0_u64..5000, 0_u64..3_000_000, 0_u64..1000), 0..200),
    ) {
        let mut traces = (ProtobufTrace::new(Vec::new()), (PerfettoTrace::new(Vec::new()), Recorded::default()));
        run(&steps, &mut traces);
        let (protobuf, (json, recorded)) = traces;
        let decoded = decode(&protobuf.finish().unwrap());
        prop_assert_eq!(sorted(decoded.clone()), sorted(recorded.events));
        let json = String::from_utf8(json.finish().unwrap()).unwrap();
        prop_assert_eq!(by_name(decoded), by_name(of_json(&json)));
    }
}

/// Packets as a link of 10 Gbit/s has them, of several chunks.
fn busy(trace: &mut impl TraceSink) {
    let (cpu, link, queue) =
        (trace.track("node sender cpu"), trace.track("node sender link"), trace.track("queue"));
    (0..3)
        .for_each(|channel| trace.means("channel", channel, ["camera", "control", "bulk"][channel as usize]));
    let mut at = Time::ZERO;
    for packet in 0..20_000 {
        let channel = packet % 3;
        let end = at + Span::from_ps(1_230_400);
        trace.span(cpu, "handler", at, at + Span::from_ps(310_000), &[("channel", channel), ("thread", 3)]);
        let arguments =
            [("channel", channel), ("message", packet / 4), ("packet", packet % 4), ("bytes", 1500)];
        trace.span(link, "transmit", at, end, &arguments);
        trace.level(queue, end, (packet % 7) as i64);
        trace.flow(link, end, packet / 4, TraceFlow::Passes);
        at = end;
    }
}

#[test]
fn a_file_is_a_tenth_of_its_json_and_of_several_chunks() {
    let mut traces = (ProtobufTrace::new(Vec::new()), (PerfettoTrace::new(Vec::new()), Recorded::default()));
    busy(&mut traces);
    let (protobuf, (json, recorded)) = traces;
    let (file, json) = (protobuf.finish().unwrap(), json.finish().unwrap());
    assert!(10 * file.len() < json.len(), "{} of {}", file.len(), json.len());
    // Without the thousands of events in the message.
    assert!(sorted(decode(&file)) == sorted(recorded.events));
}

#[test]
fn only_one_chunk_is_kept() {
    /// Counts what is written.
    struct Counts(usize);
    impl io::Write for Counts {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut trace = ProtobufTrace::new(Counts(0));
    busy(&mut trace);
    assert!(trace.chunk.capacity() < 3 * CHUNK);
    let before = trace.writer.0;
    assert!(before > 5, "it writes while it runs");
    assert_eq!(trace.finish().unwrap().0, before + 1);
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    for room in [0, 10, 200] {
        let mut disk = vec![0; room];
        let mut trace = ProtobufTrace::new(disk.as_mut_slice());
        busy(&mut trace);
        assert_eq!(trace.finish().unwrap_err().kind(), io::ErrorKind::WriteZero);
    }
}
