//! `isochron.dat`: the times of each packet at the sender and at the receiver.
//!
//! `isochron send` writes the file after it has fetched the log of the receiver. All numbers are big
//! endian. The layout is that of version 4 (`src/log.c` and `src/log.h` of isochron 0.9):
//!
//! ```text
//! byte  0  "ISOCHRON"       24  base time        64  start of the sender's part, 8 bytes
//!       8  version          32  advance time     72  start of the receiver's part, 8 bytes
//!      12  packets          40  shift time       80  bytes of the sender's part
//!      16  frame size, 2    48  cycle time       84  bytes of the receiver's part
//!      18  flags, 2         56  window size      88  reserved, 8 bytes
//!      20  reserved
//! sender    number, reserved, then 8 bytes each: scheduled, wake-up, hardware, driver, queue
//! receiver  number, reserved, then 8 bytes each: arrival, hardware, driver
//! ```
//!
//! Times are nanoseconds. Those of the programs are of `CLOCK_TAI`, those of hardware are of the clock
//! of the adapter; a time that was not taken is 0. Entry `i` is of packet `i + 1`. An entry with
//! the number 0 was never written: the packet was not sent, or not received.
//!
//! A bound counts from the logical arrival. The log has the wake-up of each packet, so the logical
//! arrivals follow from the contract of the channel as they do in a host. A wake-up that is early in
//! its cycle thus lengthens no delay.

use laxity_qos::traffic::{LogicalClock, TrafficSpec};
use laxity_units::{Span, Time};

use super::{LogError, Measurement, Missing, Place, Stretch, Worst};

/// The beginning of the file.
const MAGIC: &[u8] = b"ISOCHRON";
/// Bytes of the header.
const HEADER: usize = 96;
/// Bytes of an entry of the sender.
const SENT: usize = 48;
/// Bytes of an entry of the receiver.
const RECEIVED: usize = 32;
/// The version that is read.
const VERSION: u32 = 4;
/// The flag of a run that did not wait until the clocks were synchronised.
const OMIT_SYNC: u16 = 1;
/// The longest time from the first wake-up to another, in nanoseconds: 200 days.
const LONGEST: i128 = 200 * 24 * 3600 * 1_000_000_000;

/// A packet of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packet {
    number: u32,
    /// From the first wake-up.
    wakeup: Time,
    /// Hardware timestamp, if there is one.
    transmitted: Option<i64>,
    arrival: Option<Arrival>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arrival {
    /// From the wake-up of the packet.
    after: i128,
    /// Hardware timestamp, if there is one.
    received: Option<i64>,
}

/// The packets of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsochronLog {
    /// Packets that the run was to send.
    planned: u32,
    packets: Vec<Packet>,
    /// Packets that arrived and have no entry of the sender.
    strays: u64,
    /// Whether the run did not wait for synchronised clocks.
    unsynchronised: bool,
}

/// Whether the file is one of isochron.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Fields by their byte, all of which the caller has checked to be there.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u16(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_be_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_be_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    /// A time.
    fn i64(&self, at: usize) -> i64 {
        i64::from_be_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    /// A time that may not have been taken.
    fn taken(&self, at: usize) -> Option<i64> {
        Some(self.i64(at)).filter(|time| *time != 0)
    }
}

impl IsochronLog {
    /// Reads a file.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Self, LogError> {
        let fault = |byte: usize, what: String| LogError::new(file, Place::Byte(byte), what);
        if bytes.len() < HEADER {
            let what = format!("the file is cut off: a header has {HEADER} bytes");
            return Err(fault(bytes.len(), what));
        }
        let head = Fields(bytes);
        if head.u32(8) != VERSION {
            let what = format!("this is version {} of the log; version {VERSION} is read", head.u32(8));
            return Err(fault(8, what));
        }
        let planned = head.u32(12);
        let sent = part(bytes, (64, 80), SENT, "sender").map_err(|(at, what)| fault(at, what))?;
        let received = part(bytes, (72, 84), RECEIVED, "receiver").map_err(|(at, what)| fault(at, what))?;
        if sent.count != planned as usize {
            let what = format!("{planned} packets do not fit the {} entries of the sender", sent.count);
            return Err(fault(12, what));
        }
        if received.count == 0 {
            let what = "there are no entries of the receiver; `isochron send --client` fetches them";
            return Err(fault(84, what.into()));
        }
        let numbered = |part: &Part<'_>, i: usize| {
            let number = part.entry(i).u32(0);
            match number == 0 || number as usize == i + 1 {
                true => Ok(number),
                false => {
                    let what = format!("the entry of packet {} has the number {number}", i + 1);
                    Err(fault(part.start + i * part.bytes, what))
                }
            }
        };
        let mut log =
            Self { planned, packets: Vec::new(), strays: 0, unsynchronised: head.u16(18) & OMIT_SYNC != 0 };
        let mut first = None;
        for i in 0..sent.count.max(received.count) {
            let arrived = i < received.count && numbered(&received, i)? != 0;
            let number = if i < sent.count { numbered(&sent, i)? } else { 0 };
            if number == 0 {
                log.strays += u64::from(arrived);
                continue;
            }
            let entry = sent.entry(i);
            let woken = entry.i64(16);
            let since = i128::from(woken) - i128::from(*first.get_or_insert(woken));
            let latest = log.packets.last().map_or(Time::ZERO, |packet| packet.wakeup);
            let wakeup = u64::try_from(since).ok().filter(|_| since <= LONGEST).map(Time::from_ns);
            let Some(wakeup) = wakeup.filter(|wakeup| *wakeup >= latest) else {
                let what = match since > LONGEST {
                    true => format!("packet {number} is sent more than 200 days after the first"),
                    false => format!("packet {number} is sent before the packet ahead of it"),
                };
                return Err(fault(sent.start + i * SENT + 16, what));
            };
            let arrival = arrived.then(|| {
                let entry = received.entry(i);
                let after = i128::from(entry.i64(8)) - i128::from(woken);
                Arrival { after, received: entry.taken(16) }
            });
            log.packets.push(Packet { number, wakeup, transmitted: entry.taken(24), arrival });
        }
        Ok(log)
    }

    /// The delays from the logical arrivals, as `spec` gives them to the wake-ups, to the arrivals. The
    /// other number is that of packets that the contract does not cover.
    pub(super) fn whole(&self, spec: TrafficSpec) -> (Measurement, u64) {
        let mut clock = LogicalClock::new(spec);
        let (mut worst, mut beyond) = (Worst::None, 0);
        for packet in &self.packets {
            // A packet is a message. One that was lost has taken its place in the contract, too.
            beyond += u64::from(!clock.covers(packet.wakeup, spec.max_message));
            let logical = clock.arrive(packet.wakeup, spec.max_message).at;
            if let Some(arrival) = packet.arrival {
                let waited = logical.saturating_since(packet.wakeup);
                worst = worst.or(Worst::of(arrival.after * 1000, waited));
            }
        }
        let received = self.packets.iter().filter(|packet| packet.arrival.is_some()).count() as u64;
        let missing = Missing::Lost(self.packets.len() as u64 - received);
        (Measurement { stretch: Stretch::WakeupToArrival, received, missing, worst }, beyond)
    }

    /// The delays between the timestamps of the adapters; `None` if no packet has both.
    pub(super) fn between_adapters(&self) -> Option<Measurement> {
        let delays = self.packets.iter().filter_map(|packet| {
            let received = packet.arrival?.received?;
            Some(i128::from(received) - i128::from(packet.transmitted?))
        });
        let (mut received, mut worst) = (0, Worst::None);
        for nanoseconds in delays {
            received += 1;
            worst = worst.or(Worst::of(nanoseconds * 1000, Span::ZERO));
        }
        let missing = Missing::Unknown;
        (received > 0).then_some(Measurement { stretch: Stretch::AdapterToAdapter, received, missing, worst })
    }

    /// Facts that the rows do not contain.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let unsent = u64::from(self.planned) - self.packets.len() as u64;
        if unsent > 0 {
            notes.push(format!("{unsent} of {} packets were not sent", self.planned));
        }
        if self.strays > 0 {
            notes.push(format!("{} packets arrived that the sender has no times of", self.strays));
        }
        if self.unsynchronised {
            notes.push("the run did not wait until the clocks were synchronised (`--omit-sync`)".into());
        }
        notes
    }

    /// The packets that were sent.
    #[cfg(test)]
    fn numbers(&self) -> Vec<u32> {
        self.packets.iter().map(|packet| packet.number).collect()
    }
}

/// Entries of one side.
struct Part<'a> {
    all: &'a [u8],
    /// The byte of the file at which they start.
    start: usize,
    /// Bytes of an entry.
    bytes: usize,
    count: usize,
}

impl Part<'_> {
    fn entry(&self, i: usize) -> Fields<'_> {
        Fields(&self.all[i * self.bytes..(i + 1) * self.bytes])
    }
}

/// The part with its start and size at these bytes of the header, or an error with its byte.
fn part<'a>(
    bytes: &'a [u8],
    (start, size): (usize, usize),
    entry: usize,
    whose: &str,
) -> Result<Part<'a>, (usize, String)> {
    let head = Fields(bytes);
    let (from, long) = (head.u64(start), u64::from(head.u32(size)));
    if !long.is_multiple_of(entry as u64) {
        return Err((
            size,
            format!("{long} bytes of the {whose} are no whole number of entries of {entry} bytes"),
        ));
    }
    if from < HEADER as u64 {
        return Err((start, format!("the part of the {whose} starts at byte {from}, inside the header")));
    }
    let (length, end) = (bytes.len(), from.saturating_add(long));
    if end > length as u64 {
        let what = format!("the part of the {whose} ends at byte {end}, and the file has {length} bytes");
        return Err((start, what));
    }
    let (from, long) = (from as usize, long as usize);
    Ok(Part { all: &bytes[from..from + long], start: from, bytes: entry, count: long / entry })
}

#[cfg(test)]
mod tests;
