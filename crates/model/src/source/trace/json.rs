//! The output of ffprobe with `-of json`.
//!
//! A full listing of an hour of film is some hundred megabytes of JSON, of which a few bytes a
//! frame are used. The document is therefore streamed and never stored: each packet or frame is
//! passed on as its brace closes, and unknown keys, side data and tags are skipped.
//!
//! ffprobe writes some numbers as numbers (`pts`) and some as texts (`"size": "17824"`); both are
//! accepted everywhere. A fault's place is the reader's position at its detection, just behind the
//! value.

use std::fmt;
use std::io::BufRead;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::collect::Collector;
use super::error::{Fault, TracePosition};
use super::field::{BadField, Record, Section};
use super::text::{METER, Metered, TOO_LONG};
use super::{Trace, TraceFormat, TraceLimits};

const DOCUMENT: &str = "the output of `ffprobe -v error -select_streams v:0 -show_packets -of json VIDEO`";

/// Reads one document to the end of `input`.
pub(super) fn parse(input: &mut dyn BufRead, limits: TraceLimits) -> Result<Trace, Fault> {
    let mut collector = Collector::new(limits);
    let mut refusal = None;
    let mut listed = false;
    let metered = std::io::BufReader::new(Metered::new(input, limits));
    let mut reader = serde_json::Deserializer::from_reader(metered);
    let sink = Sink { collector: &mut collector, refusal: &mut refusal, section: None };
    let read = Document { sink, listed: &mut listed }.deserialize(&mut reader).and_then(|()| reader.end());
    if let Err(error) = read {
        return Err(fault(&error, refusal, limits));
    }
    if !listed {
        let reason = "the JSON lists neither packets nor frames";
        return Err(Fault::new(TracePosition::Text { line: 1, column: 1 }, reason, DOCUMENT));
    }
    collector.finish(TraceFormat::Json)
}

/// Why reading stopped, in our words where they are ours and in the JSON reader's where they are not.
fn fault(error: &serde_json::Error, refusal: Option<(String, &'static str)>, limits: TraceLimits) -> Fault {
    let at =
        TracePosition::Text { line: (error.line() as u64).max(1), column: (error.column() as u64).max(1) };
    if let Some((reason, valid)) = refusal {
        return Fault::new(at, reason, valid);
    }
    let text = error.to_string();
    if error.is_io() && text.contains(METER) {
        return Fault::new(at, format!("the text is longer than {} bytes", limits.bytes), TOO_LONG);
    }
    let words = text.rsplit_once(" at line ").map_or(text.as_str(), |(words, _)| words);
    match error.classify() {
        serde_json::error::Category::Eof => {
            Fault::new(at, "the file ends before the JSON does; it was cut off", DOCUMENT)
        }
        _ => Fault::new(at, format!("the JSON is not ffprobe's: {words}"), DOCUMENT),
    }
}

/// Where records go, and where the reason is left when one is refused: the JSON reader's own errors carry
/// a text only, and it is the reader that knows the place.
struct Sink<'a> {
    collector: &'a mut Collector,
    refusal: &'a mut Option<(String, &'static str)>,
    section: Option<Section>,
}

impl Sink<'_> {
    fn refuse<E: serde::de::Error>(&mut self, reason: String, valid: &'static str) -> E {
        *self.refusal = Some((reason, valid));
        E::custom("refused")
    }
}

struct Document<'a> {
    sink: Sink<'a>,
    listed: &'a mut bool,
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `packets` or `frames`")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let section = match key.as_str() {
                "packets" => Some(Section::Packet),
                "frames" => Some(Section::Frame),
                "packets_and_frames" => None,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *self.listed = true;
            self.sink.section = section;
            map.next_value_seed(List(&mut self.sink))?;
        }
        Ok(())
    }
}

struct List<'a, 'b>(&'a mut Sink<'b>);

impl<'de> DeserializeSeed<'de> for List<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of packets or frames")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Object(self.0))?.is_some() {}
        Ok(())
    }
}

struct Object<'a, 'b>(&'a mut Sink<'b>);

impl<'de> DeserializeSeed<'de> for Object<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a packet or a frame")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let sink = self.0;
        let mut record = Record { section: sink.section, ..Record::default() };
        while let Some(key) = map.next_key::<String>()? {
            if !Record::knows(&key) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value_seed(Text)?;
            // The lists that hold one view name it; in the mixed list every object names its own.
            if key == "type" && sink.section.is_some() {
                continue;
            }
            if let Err(BadField { reason, valid, .. }) = record.set(&key, &value) {
                return Err(sink.refuse(reason, valid));
            }
        }
        // In the mixed list, subtitles and whatever a later version adds belong to neither view.
        if record.section.is_none() || !sink.collector.wants(record.section) {
            return Ok(());
        }
        let anywhere = TracePosition::Whole;
        sink.collector.push(&record, anywhere).map_err(|fault| sink.refuse(fault.reason, fault.valid))
    }
}

/// A number or a text, as a text.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = String;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Text {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<String, E> {
        match number.is_finite() {
            true => Ok(number.to_string()),
            false => Err(E::custom("a number that is not finite")),
        }
    }
}
