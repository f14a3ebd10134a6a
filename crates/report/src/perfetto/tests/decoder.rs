//! A decoder of Perfetto's packets, written from the encoding's description and not from the writer.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::ZlibDecoder;

/// A field of a message.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn number(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

/// The fields of a message, in their order.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = number(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(number(&mut bytes)),
            1 => {
                let (word, rest) = bytes.split_at(8);
                bytes = rest;
                Value::Number(u64::from_le_bytes(word.try_into().unwrap()))
            }
            2 => {
                let length = number(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(value)
            }
            kind => panic!("wire type {kind} is not used"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

/// One message by field; a field that is repeated has its last value.
struct Fields<'a>(Vec<(u64, Value<'a>)>);

impl<'a> Fields<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self(fields(bytes))
    }

    fn number(&self, field: u64) -> Option<u64> {
        self.0.iter().rev().find_map(|(of, value)| match value {
            Value::Number(value) if *of == field => Some(*value),
            _ => None,
        })
    }

    fn all(&self, field: u64) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter_map(move |(of, value)| match value {
            Value::Bytes(value) if *of == field => Some(*value),
            _ => None,
        })
    }

    fn bytes(&self, field: u64) -> Option<&'a [u8]> {
        self.all(field).last()
    }
}

/// The content of an event; the order of the variants is the order of the file at one time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// Name, end in nanoseconds, arguments.
    Span(String, u64, Texts),
    Instant(String, Texts),
    Level(i64),
    /// Number, and whether the flow ends.
    Flow(u64, bool),
}

/// An event: track, time in nanoseconds, what.
pub(super) type Happened = (String, u64, What);

/// A span that has begun: its name, begin and arguments.
type Open = (String, u64, Texts);

/// Names and values.
type Texts = Vec<(String, String)>;

/// Time, type, track, name, arguments, level, flow.
type Noted = (u64, u64, u64, String, Texts, Option<i64>, Option<(u64, bool)>);

#[derive(Default)]
struct Decoder {
    tracks: BTreeMap<u64, (String, bool)>,
    names: [BTreeMap<u64, String>; 3],
    events: Vec<Noted>,
}

impl Decoder {
    fn packets(&mut self, bytes: &[u8]) {
        for packet in Fields::of(bytes).all(1) {
            let packet = Fields::of(packet);
            if let Some(compressed) = packet.bytes(50) {
                let mut chunk = Vec::new();
                ZlibDecoder::new(compressed).read_to_end(&mut chunk).unwrap();
                self.packets(&chunk);
                continue;
            }
            if let Some(track) = packet.bytes(60).map(Fields::of)
                && let Some(name) = track.bytes(2)
            {
                let name = String::from_utf8(name.into()).unwrap();
                assert_eq!(track.number(5), Some(1), "every track is of the process");
                self.tracks.insert(track.number(1).unwrap(), (name, track.bytes(8).is_some()));
            }
            if let Some(names) = packet.bytes(12).map(Fields::of) {
                for (of, field) in [(0, 2), (1, 3), (2, 29)] {
                    for name in names.all(field).map(Fields::of) {
                        let text = String::from_utf8(name.bytes(2).unwrap().into()).unwrap();
                        let known = self.names[of].insert(name.number(1).unwrap(), text);
                        assert_eq!(known, None, "a name is written once");
                    }
                }
            }
            if let Some(event) = packet.bytes(11).map(Fields::of) {
                self.event(packet.number(8).unwrap(), &event);
            }
        }
    }

    fn event(&mut self, at: u64, event: &Fields<'_>) {
        let name = event.number(10).map_or(String::new(), |name| self.names[0][&name].clone());
        let arguments = event.all(4).map(Fields::of).map(|argument| {
            let value = match argument.number(17) {
                Some(text) => self.names[2][&text].clone(),
                None => argument.number(3).unwrap().to_string(),
            };
            (self.names[1][&argument.number(1).unwrap()].clone(), value)
        });
        let flow = event.number(47).map(|flow| (flow, false)).or(event.number(48).map(|flow| (flow, true)));
        let level = event.number(30).map(|level| level as i64);
        let (kind, track) = (event.number(9).unwrap(), event.number(11).unwrap());
        self.events.push((at, kind, track, name, arguments.collect(), level, flow));
    }
}

/// The events of a file, in order of their recording; a span is where it begins.
pub(super) fn decode(file: &[u8]) -> Vec<Happened> {
    let mut decoder = Decoder::default();
    decoder.packets(file);
    // As Perfetto does it: by time, and at one time in the order of the file.
    decoder.events.sort_by_key(|(at, ..)| *at);
    let mut open: BTreeMap<u64, Vec<Open>> = BTreeMap::new();
    let mut happened = Vec::new();
    for (at, kind, track, name, arguments, level, flow) in decoder.events {
        let (called, counts) = decoder.tracks[&track].clone();
        assert_eq!(counts, kind == 4, "levels have tracks of their own");
        match (kind, flow) {
            (1, None) => open.entry(track).or_default().push((name, at, arguments)),
            (2, None) => {
                let (name, begin, arguments) = open.get_mut(&track).and_then(Vec::pop).unwrap();
                happened.push((called, begin, What::Span(name, at, arguments)));
            }
            (3, Some((flow, ends))) => happened.push((called, at, What::Flow(flow, ends))),
            (3, None) => happened.push((called, at, What::Instant(name, arguments))),
            (4, None) => happened.push((called, at, What::Level(level.unwrap()))),
            other => panic!("an event of type {other:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "every span ends");
    happened
}
