//! pcapng captures: what Wireshark and newer tcpdumps write.
//!
//! A file is a list of blocks, each with its length before and after it, so that unknown ones can be passed
//! over; sections may change the byte order, and each interface has its own unit and origin of time
//! ([draft-ietf-opsawg-pcapng](https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/)). Only the blocks
//! that carry lengths and times are read; see [`super::pcap`] for why not by a library.
//!
//! ```text
//! block      type u32 | length u32 | body | length u32
//! section    byte-order magic u32 | major u16 | minor u16 | section length u64 | options
//! interface  link type u16 | reserved u16 | snapshot length u32 | options (9: unit of time, 14: offset in s)
//! enhanced   interface u32 | time high u32 | time low u32 | captured u32 | original u32 | bytes | options
//! simple     original u32 | bytes                                     (no time: the trace then has none)
//! packet     interface u16 | drops u16 | time high u32 | ...           (obsolete, as enhanced)
//! ```

use std::io::BufRead;

use super::TraceLimits;
use super::binary::{CAPTURE, Order, Stream};
use super::capture::CapturedPacket;
use super::error::{Fault, TracePosition};
use super::pcap::{Count, LONGEST_PACKET};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE: u32 = 2;
const SIMPLE: u32 = 3;
const ENHANCED: u32 = 6;

/// More interfaces than any capture has; the descriptions are held.
const MOST_INTERFACES: usize = 1 << 16;
/// Options longer than this are no description of an interface.
const LONGEST_DESCRIPTION: u64 = 1 << 20;

/// How an interface counts time, and its link.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    /// The type of its link.
    link_type: u16,
    /// Ticks in a second.
    per_second: u128,
    /// Seconds to add.
    offset: i64,
}

impl Ticks {
    const DEFAULT: Ticks = Ticks { link_type: 0, per_second: 1_000_000, offset: 0 };

    /// Picoseconds at tick `count`.
    fn ps(self, count: u64) -> i128 {
        const PS_PER_SEC: u128 = 1_000_000_000_000;
        let since = u128::from(count) * PS_PER_SEC / self.per_second;
        i128::from(self.offset) * PS_PER_SEC as i128 + since as i128
    }
}

/// Passes the packets of a capture to `take`, to the end of `input`, with at most `kept` bytes of each.
pub(super) fn each(
    input: &mut dyn BufRead,
    limits: TraceLimits,
    kept: u32,
    take: &mut dyn FnMut(CapturedPacket<'_>),
) -> Result<(), Fault> {
    let mut stream = Stream::new(input, limits);
    let mut count = Count::new(limits);
    let mut interfaces: Vec<Ticks> = Vec::new();
    let mut order = None;
    while !stream.ended()? {
        let start = stream.offset();
        let head: [u8; 8] = stream.array("a block's header")?;
        // The section's type reads the same in both orders; its order follows it.
        if Order::Big.u32(&head, 0) == SECTION {
            order = Some(section(&mut stream, &head, start)?);
            interfaces.clear();
            continue;
        }
        let Some(order) = order else {
            return Err(Fault::new(
                TracePosition::Byte(start),
                "these bytes are no pcapng section's",
                CAPTURE,
            ));
        };
        let block = Block { start, kind: order.u32(&head, 0), length: order.u32(&head, 4), order };
        block.check(12)?;
        match block.kind {
            INTERFACE => {
                if interfaces.len() >= MOST_INTERFACES {
                    let reason = format!("the section has more than {MOST_INTERFACES} interfaces");
                    return Err(Fault::new(TracePosition::Byte(start), reason, CAPTURE));
                }
                interfaces.push(block.interface(&mut stream)?);
            }
            ENHANCED | OBSOLETE => block.packet(&mut stream, &interfaces, &mut count, kept, take)?,
            SIMPLE => {
                block.check(16)?;
                let original = order.u32(&stream.array::<4>("a packet")?, 0);
                // A simple block does not say how much it holds: all of the packet, or the snapshot length.
                count.check(0, original, start + 8)?;
                let begin = block.begin(&mut stream, original.min(kept), 4)?;
                // Simple packets are of the first interface.
                let link_type = interfaces.first().map_or(0, |interface| interface.link_type);
                take(CapturedPacket { offset: start, at: None, original, link_type, bytes: &begin });
                block.leave(&mut stream, 4 + begin.len() as u32)?;
            }
            _ => block.leave(&mut stream, 0)?,
        }
    }
    count.finish()
}

/// Skips the section header that begins with these eight bytes, and returns its byte order.
fn section(stream: &mut Stream<'_>, head: &[u8; 8], start: u64) -> Result<Order, Fault> {
    let body: [u8; 8] = stream.array("a section header")?;
    let order = match [body[0], body[1], body[2], body[3]] {
        [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
        [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
        _ => {
            let reason = "these four bytes do not tell the section's byte order";
            return Err(Fault::new(TracePosition::Byte(start + 8), reason, CAPTURE));
        }
    };
    let major = order.u16(&body, 4);
    if major != 1 {
        let reason = format!("the section has version {major}.{}", order.u16(&body, 6));
        return Err(Fault::new(
            TracePosition::Byte(start + 12),
            reason,
            "a pcapng of version 1, the only one in use",
        ));
    }
    let block = Block { start, kind: SECTION, length: order.u32(head, 4), order };
    block.check(28)?;
    block.leave(stream, 8)?;
    Ok(order)
}

/// A block after its type and length.
struct Block {
    start: u64,
    kind: u32,
    length: u32,
    order: Order,
}

impl Block {
    /// Refuses a length that is less than `least` or that no block has.
    fn check(&self, least: u32) -> Result<(), Fault> {
        let length = self.length;
        if length < least || !length.is_multiple_of(4) || length > LONGEST_PACKET {
            let kind = self.kind;
            let reason = format!("a block of type {kind} cannot have a length of {length} bytes");
            return Err(Fault::new(TracePosition::Byte(self.start + 4), reason, CAPTURE));
        }
        Ok(())
    }

    /// Skips the rest of the block, after `read` bytes of its body, and compares the lengths.
    fn leave(&self, stream: &mut Stream<'_>, read: u32) -> Result<(), Fault> {
        stream.skip(u64::from(self.length - 12 - read), "a block")?;
        let at = stream.offset();
        let again = self.order.u32(&stream.array::<4>("a block's second length")?, 0);
        if again != self.length {
            let reason = format!("the block's length is {} before it and {again} after it", self.length);
            return Err(Fault::new(TracePosition::Byte(at), reason, CAPTURE));
        }
        Ok(())
    }

    /// The first `wanted` bytes of a packet as far as they are there, behind `read` bytes of the
    /// block's body.
    fn begin(&self, stream: &mut Stream<'_>, wanted: u32, read: u32) -> Result<Vec<u8>, Fault> {
        let there = wanted.min(self.length - 12 - read);
        stream.bytes(there.into(), "a packet")
    }

    fn interface(&self, stream: &mut Stream<'_>) -> Result<Ticks, Fault> {
        self.check(20)?;
        let count = u64::from(self.length - 12);
        if count > LONGEST_DESCRIPTION {
            let reason = format!("the description of an interface has {count} bytes");
            return Err(Fault::new(TracePosition::Byte(self.start + 4), reason, CAPTURE));
        }
        let body = stream.bytes(count, "the description of an interface")?;
        let mut ticks = Ticks { link_type: self.order.u16(&body, 0), ..Ticks::DEFAULT };
        let mut place = 8;
        while place + 4 <= body.len() {
            let (code, length) =
                (self.order.u16(&body, place), usize::from(self.order.u16(&body, place + 2)));
            let at = TracePosition::Byte(self.start + 8 + place as u64);
            let Some(value) = body.get(place + 4..place + 4 + length) else {
                return Err(Fault::new(at, format!("option {code} is longer than its block"), CAPTURE));
            };
            match (code, value) {
                (0, _) => break,
                (9, &[unit]) => ticks.per_second = per_second(unit, at)?,
                (14, value) if length == 8 => {
                    let (first, second) = (self.order.u32(value, 0), self.order.u32(value, 4));
                    let (low, high) = match self.order {
                        Order::Little => (first, second),
                        Order::Big => (second, first),
                    };
                    ticks.offset = (u64::from(high) << 32 | u64::from(low)).cast_signed();
                }
                (9 | 14, _) => {
                    return Err(Fault::new(at, format!("option {code} cannot have {length} bytes"), CAPTURE));
                }
                _ => {}
            }
            place += 4 + length.next_multiple_of(4);
        }
        self.leave(stream, self.length - 12)?;
        Ok(ticks)
    }

    fn packet(
        &self,
        stream: &mut Stream<'_>,
        interfaces: &[Ticks],
        count: &mut Count,
        kept: u32,
        take: &mut dyn FnMut(CapturedPacket<'_>),
    ) -> Result<(), Fault> {
        self.check(32)?;
        let order = self.order;
        let body: [u8; 20] = stream.array("a packet's block")?;
        let interface = match self.kind {
            OBSOLETE => u32::from(order.u16(&body, 0)),
            _ => order.u32(&body, 0),
        };
        let Some(ticks) = interfaces.get(interface as usize) else {
            let reason =
                format!("the packet is of interface {interface}, which no block before it describes");
            return Err(Fault::new(TracePosition::Byte(self.start + 8), reason, CAPTURE));
        };
        let [high, low, captured, original] = [4, 8, 12, 16].map(|place| order.u32(&body, place));
        if captured > self.length - 32 {
            let reason = format!("{captured} captured bytes do not fit in their block of {}", self.length);
            return Err(Fault::new(TracePosition::Byte(self.start + 20), reason, CAPTURE));
        }
        let at = ticks.ps(u64::from(high) << 32 | u64::from(low));
        count.check(captured, original, self.start + 20)?;
        let begin = self.begin(stream, captured.min(kept), 20)?;
        let (offset, link_type) = (self.start, ticks.link_type);
        take(CapturedPacket { offset, at: Some(at), original, link_type, bytes: &begin });
        self.leave(stream, 20 + begin.len() as u32)
    }
}

/// Ticks in a second by the option's byte: 10 to the given power, or 2 to it if the top bit is set.
fn per_second(unit: u8, at: TracePosition) -> Result<u128, Fault> {
    let (base, power): (u128, u32) =
        if unit & 0x80 == 0 { (10, unit.into()) } else { (2, (unit & 0x7f).into()) };
    base.checked_pow(power).ok_or_else(|| {
        let reason =
            format!("a tick of {base} to the power of minus {power} seconds is finer than any clock");
        Fault::new(at, reason, "a unit such as 10 to the power of minus 9")
    })
}
