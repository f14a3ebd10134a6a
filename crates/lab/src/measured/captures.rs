//! Two captures of a stream, at its sender and at its receiver.
//!
//! A packet of both is known by the number that the sender writes into it ([`Sequence`]). Numbers of few
//! bits repeat in a long run. The packets of the sender are numbered on across each repetition. An
//! arrived packet is the one of the sender with its number that was sent nearest to the arrival. This
//! holds while delays and the error of clocks are below half a repetition.
//!
//! ```text
//! sent      65534   65535   0   1   2        number of 16 bits
//!           65534   65535   65536   …        number in the run
//! received  65534        0  2  2             65535 and 1 are missing, 2 arrived twice
//! ```
//!
//! A packet that did not arrive was lost for certain if a packet that was sent before it and a packet
//! that was sent after it arrived. Others may have passed before the capture of the receiver began, or
//! after it ended.
//!
//! The logical arrivals follow from the timestamps of the sender, as those of isochron do from its
//! wake-ups. These timestamps are later than the messages, so the delays are parts of those of the
//! channel, and no longer than these.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use laxity_model::source::trace::{self, CapturedPacket, TraceLimits, TracePosition};
use laxity_qos::traffic::{LogicalClock, TrafficSpec};
use laxity_units::{Span, Time};

use super::{LogError, Measurement, Missing, Place, Stretch, Worst};

mod sequence;

pub use sequence::Sequence;
use sequence::{Found, LOOKED_AT};

/// The longest run, in picoseconds: 200 days.
const LONGEST: i128 = 200 * 24 * 3600 * 1_000_000_000_000;

/// How packets of a stream are found in captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// The place of the number.
    pub sequence: Sequence,
    /// The destination port of UDP. `None`: the captures have no other.
    pub port: Option<u16>,
}

/// A packet that the sender's capture has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packet {
    /// From the first packet.
    sent: Time,
    /// From sending to the first arrival, in picoseconds.
    arrival: Option<i128>,
}

/// The packets of two captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captures {
    /// In the order of sending; at least one arrived.
    packets: Vec<Packet>,
    notes: Vec<String>,
}

/// A packet with a number, before it is matched.
#[derive(Debug, Clone, Copy)]
struct Numbered {
    at: i128,
    number: u64,
    offset: u64,
}

/// The file `name` with its bytes.
pub type File<'a> = (&'a str, &'a [u8]);

impl Captures {
    /// Reads the captures of the sender and of the receiver.
    ///
    /// # Errors
    ///
    /// [`LogError`] with the byte at which a file is no capture, or with a packet that has no usable
    /// number or time.
    pub fn read(sent: File<'_>, received: File<'_>, stream: Stream) -> Result<Self, LogError> {
        let mut notes = Vec::new();
        let (out, port) = numbered(sent, stream, &mut notes)?;
        let (arrived, other_port) = numbered(received, stream, &mut notes)?;
        if let (Some(port), Some(other)) = (port, other_port.filter(|other| Some(*other) != port)) {
            notes.push(format!("packets go to port {port} in {}, and {other} in {}", sent.0, received.0));
        }
        let whole = |what: String| LogError::new(sent.0, Place::File, what);
        let (Some(first), Some(last)) = (out.first(), out.last()) else {
            return Err(whole(format!("no packet has the number `{}`", stream.sequence)));
        };
        if last.at - first.at > LONGEST {
            return Err(whole("the capture is longer than 200 days".into()));
        }
        let begin = first.at;
        let places = places(&out, stream.sequence.bits()).map_err(|(packet, number)| {
            let what = format!(
                "the number {number} has been sent before: a capture is of one stream at one interface, \
                 and `--sequence` is the place of its number"
            );
            LogError::new(sent.0, Place::Byte(packet.offset as usize), what)
        })?;
        let since = |at: i128| Time::from_ps(u64::try_from(at - begin).expect("at most 200 days"));
        let mut packets: Vec<Packet> =
            out.iter().map(|packet| Packet { sent: since(packet.at), arrival: None }).collect();
        let (mut strays, mut twice) = (0u64, 0u64);
        for packet in &arrived {
            let Some(i) = places.get(&packet.number).map(|same| nearest(same, &out, packet.at)) else {
                strays += 1;
                continue;
            };
            match packets[i].arrival {
                None => packets[i].arrival = Some(packet.at - out[i].at),
                Some(_) => twice += 1,
            }
        }
        if strays == arrived.len() as u64 {
            let of = |packets: &[Numbered]| packets.first().map_or(0, |packet| packet.number);
            return Err(whole(match arrived.is_empty() {
                true => format!("{} has no packet with the number `{}`", received.0, stream.sequence),
                false => format!(
                    "{} shares no number with it: the first are {} and {}",
                    received.0,
                    of(&arrived),
                    of(&out)
                ),
            }));
        }
        if strays > 0 {
            notes.push(format!("{} arrived that the sender's capture does not have", count(strays)));
        }
        if twice > 0 {
            notes.push(format!("{} arrived again: the first arrival counts", count(twice)));
        }
        let log = Self { packets, notes };
        Ok(log.with_ends())
    }

    /// The places in `packets` of the first and of the last packet that arrived.
    fn window(&self) -> (usize, usize) {
        let arrived = |packet: &Packet| packet.arrival.is_some();
        let first = self.packets.iter().position(arrived).unwrap_or_default();
        (first, self.packets.iter().rposition(arrived).unwrap_or_default())
    }

    /// Adds notes on packets that were sent before the first and after the last that arrived.
    fn with_ends(mut self) -> Self {
        let (first, last) = self.window();
        let behind = self.packets.len() - 1 - last;
        for (packets, side, edge) in
            [(first, "before the first", "began"), (behind, "after the last", "ended")]
        {
            if packets > 0 {
                self.notes.push(format!(
                    "{} sent {side} that arrived: lost, or the receiver's capture {edge} too {}",
                    were(packets as u64),
                    if edge == "began" { "late" } else { "early" },
                ));
            }
        }
        self
    }

    /// The delays from the logical arrivals, as `spec` gives them to the timestamps of the sender, to
    /// those of the receiver. The other number is that of packets that the contract does not cover.
    pub(super) fn delays(&self, spec: TrafficSpec) -> (Measurement, u64) {
        let mut clock = LogicalClock::new(spec);
        let (mut worst, mut received, mut beyond) = (Worst::None, 0u64, 0u64);
        for packet in &self.packets {
            // A packet is a message. One that was lost has taken its place in the contract, too.
            beyond += u64::from(!clock.covers(packet.sent, spec.max_message));
            let logical = clock.arrive(packet.sent, spec.max_message).at;
            if let Some(after) = packet.arrival {
                received += 1;
                worst = worst.or(Worst::of(after, logical.saturating_since(packet.sent)));
            }
        }
        let (first, last) = self.window();
        let inside = self.packets[first..=last].iter().filter(|packet| packet.arrival.is_none()).count();
        let missing = Missing::Between { least: inside as u64, most: self.packets.len() as u64 - received };
        (Measurement { stretch: Stretch::CaptureToCapture, received, missing, worst }, beyond)
    }

    /// Whether packets before the first or after the last that arrived may be lost although the delay of
    /// each packet is at most `bound`: all but those that were under way when the sender's capture ended.
    pub(super) fn may_have_lost(&self, bound: Span) -> bool {
        let (first, last) = self.window();
        let end = self.packets.last().map_or(Time::ZERO, |packet| packet.sent);
        first > 0 || self.packets[last + 1..].iter().any(|packet| end.saturating_since(packet.sent) > bound)
    }

    /// Facts that the rows do not contain.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// The packets of a capture that have a number, in the order of time, and their port. Others are counted
/// in `notes`.
fn numbered(
    (file, bytes): File<'_>,
    stream: Stream,
    notes: &mut Vec<String>,
) -> Result<(Vec<Numbered>, Option<u16>), LogError> {
    let (mut packets, mut others, mut fragments) = (Vec::new(), 0u64, 0u64);
    let mut fault: Option<(u64, String)> = None;
    // The first two ports of UDP to which packets of the capture go.
    let (mut port, mut other_port) = (None, None);
    let mut take = |packet: CapturedPacket<'_>| {
        let mut fail = |what: String| {
            fault.get_or_insert((packet.offset, what));
        };
        match (stream.sequence.of(&packet), packet.at) {
            (Found::Number { port: Some(to), .. }, _) if stream.port.is_some_and(|port| port != to) => {
                others += 1;
            }
            (Found::Number { .. }, None) => fail("the packet has no time".into()),
            (Found::Number { number, port: to }, Some(at)) => {
                port = port.or(to);
                other_port = other_port.or(to.filter(|to| Some(*to) != port));
                packets.push(Numbered { at, number, offset: packet.offset });
            }
            (Found::Other, _) => others += 1,
            (Found::Fragment, _) => fragments += 1,
            (Found::Cut, _) => fail(format!(
                "{} of {} bytes of the packet are captured, which do not reach to the number",
                packet.bytes.len(),
                packet.original
            )),
            (Found::UnknownLink, _) => fail(format!(
                "the header of link type {} is not known; `--sequence frame:OFFSET+BYTES` counts from \
                 the beginning of the frame",
                packet.link_type
            )),
        }
    };
    let read = trace::packets(file, &mut &bytes[..], TraceLimits::DEFAULT, LOOKED_AT, &mut take);
    read.map_err(|error| {
        let place = match error.at() {
            TracePosition::Byte(byte) => Place::Byte(byte as usize),
            _ => Place::File,
        };
        LogError::new(file, place, format!("{}; valid is {}", error.reason(), error.valid()))
    })?;
    if let Some((offset, what)) = fault {
        return Err(LogError::new(file, Place::Byte(offset as usize), what));
    }
    if let (Some(port), Some(other)) = (port, other_port) {
        let what =
            format!("packets go to ports {port} and {other} of UDP; `--port` names that of the stream");
        return Err(LogError::new(file, Place::File, what));
    }
    if others > 0 {
        notes.push(format!("{file}: {} not of the stream", were(others)));
    }
    if fragments > 0 {
        let fragments = match fragments {
            1 => "1 packet was a later fragment of IP, without a number".into(),
            _ => format!("{fragments} packets were later fragments of IP, without numbers"),
        };
        notes.push(format!("{file}: {fragments}"));
    }
    // With several receive queues, a capture is not in the order of time.
    packets.sort_by_key(|packet| packet.at);
    Ok((packets, port))
}

/// The places in `out` of the packets with each number, in the order of sending. Numbers repeat
/// after `bits` bits. An error is a packet whose number was sent before, in the same round.
fn places(out: &[Numbered], bits: u32) -> Result<HashMap<u64, Vec<usize>>, (Numbered, u64)> {
    let mut seen = HashMap::new();
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut latest = out.first().map_or(0, |packet| i128::from(packet.number));
    for (i, packet) in out.iter().enumerate() {
        // The nearest number in the run to that of the packet before: forwards, or back out of order.
        let (round, step) = (1i128 << bits, i128::from(packet.number) - latest);
        let step = (step + round / 2).rem_euclid(round) - round / 2;
        latest += step;
        match seen.entry(latest) {
            Entry::Occupied(_) => return Err((*packet, packet.number)),
            Entry::Vacant(place) => place.insert(()),
        };
        places.entry(packet.number).or_default().push(i);
    }
    Ok(places)
}

/// The place in `same`, which are places in `out` in the order of time, that is nearest to `at`.
fn nearest(same: &[usize], out: &[Numbered], at: i128) -> usize {
    let behind = same.partition_point(|i| out[*i].at <= at);
    let before = behind.checked_sub(1).map(|i| same[i]);
    match (before, same.get(behind)) {
        (Some(before), Some(behind)) if out[*behind].at - at < at - out[before].at => *behind,
        (Some(before), _) => before,
        (None, behind) => *behind.expect("a number is sent at least once"),
    }
}

fn count(packets: u64) -> String {
    if packets == 1 { "1 packet".into() } else { format!("{packets} packets") }
}

fn were(packets: u64) -> String {
    if packets == 1 { "1 packet was".into() } else { format!("{packets} packets were") }
}

#[cfg(test)]
mod tests;
