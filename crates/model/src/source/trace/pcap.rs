//! pcap captures: each packet a message, at its time stamp, of its original length.
//!
//! Only lengths and times are wanted, so payload is passed over and never stored; a library that parses
//! captures would keep it, would not say at which byte a broken file breaks, and rounds times to its own
//! unit. The format is two headers, in the byte order of the machine that wrote it (the magic number says
//! which), by [draft-ietf-opsawg-pcap](https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/):
//!
//! ```text
//! file    magic u32 | major u16 | minor u16 | reserved 8 | snapshot length u32 | link type u32
//! packet  seconds u32 | fraction u32 | captured length u32 | original length u32 | captured bytes
//! ```

use std::io::BufRead;

use laxity_units::{Bytes, Span, Time};

use super::binary::{CAPTURE, Order, Stream};
use super::error::{Fault, TracePosition};
use super::{Frame, Trace, TraceFormat, TraceLimits, link};

/// A longer packet is a broken length: no link carries it, and libpcap's own bound is a fifth of a megabyte.
pub(super) const LONGEST_PACKET: u32 = 1 << 28;

const PS_PER_SEC: i128 = 1_000_000_000_000;

/// The byte order and the picoseconds of a fraction, by the file's first four bytes.
pub(super) fn magic(bytes: [u8; 4]) -> Option<(Order, i128)> {
    match bytes {
        [0xd4, 0xc3, 0xb2, 0xa1] => Some((Order::Little, 1_000_000)),
        [0xa1, 0xb2, 0xc3, 0xd4] => Some((Order::Big, 1_000_000)),
        [0x4d, 0x3c, 0xb2, 0xa1] => Some((Order::Little, 1_000)),
        [0xa1, 0xb2, 0x3c, 0x4d] => Some((Order::Big, 1_000)),
        _ => None,
    }
}

/// Reads a capture to the end of `input`.
pub(super) fn parse(input: &mut dyn BufRead, limits: TraceLimits) -> Result<Trace, Fault> {
    let mut stream = Stream::new(input, limits);
    let head: [u8; 24] = stream.array("the file header")?;
    let Some((order, fraction_ps)) = magic([head[0], head[1], head[2], head[3]]) else {
        return Err(Fault::new(TracePosition::Byte(0), "these four bytes are no pcap's", CAPTURE));
    };
    let version = (order.u16(&head, 4), order.u16(&head, 6));
    if version != (2, 4) {
        let reason = format!("the capture has version {}.{}", version.0, version.1);
        return Err(Fault::new(TracePosition::Byte(4), reason, "a pcap of version 2.4, the only one in use"));
    }
    // The upper half says whether a check sequence is there, which few captures have.
    let link_type = order.u32(&head, 20) as u16;
    let mut packets = Packets::new(limits);
    while !stream.ended()? {
        let start = stream.offset();
        let head: [u8; 16] = stream.array("a packet's header")?;
        let [seconds, fraction, captured, original] = [0, 4, 8, 12].map(|place| order.u32(&head, place));
        let at = i128::from(seconds) * PS_PER_SEC + i128::from(fraction) * fraction_ps;
        if i128::from(fraction) * fraction_ps >= PS_PER_SEC {
            let reason =
                format!("the time stamp has {fraction} parts of a second, which is more than a second");
            return Err(Fault::new(TracePosition::Byte(start + 4), reason, CAPTURE));
        }
        packets.check(captured, original, start + 8)?;
        let begin = stream.bytes(captured.min(link::LOOKED_AT).into(), "a packet")?;
        packets.push(Some(at), original, link::header(link_type, &begin));
        stream.skip(u64::from(captured) - begin.len() as u64, "a packet")?;
    }
    packets.finish(TraceFormat::Pcap)
}

/// The packets of a capture, of either format.
pub(super) struct Packets {
    limits: TraceLimits,
    packets: Vec<(Option<i128>, u64, u8)>,
}

impl Packets {
    pub(super) fn new(limits: TraceLimits) -> Packets {
        Packets { limits, packets: Vec::new() }
    }

    /// Takes a packet `at` picoseconds of the capture's clock, with `header` bytes of link header.
    pub(super) fn push(&mut self, at: Option<i128>, original: u32, header: u8) {
        self.packets.push((at, u64::from(original), header));
    }

    /// Refuses a packet with invalid lengths, at byte `offset`, or one packet too many.
    pub(super) fn check(&self, captured: u32, original: u32, offset: u64) -> Result<(), Fault> {
        let reason = if original == 0 {
            "the packet has no bytes, and a message carries at least one".to_string()
        } else if captured > original {
            format!("{captured} bytes were captured of a packet of {original}")
        } else if original > LONGEST_PACKET {
            format!("a packet of {original} bytes is longer than any link carries")
        } else if self.packets.len() >= self.limits.frames {
            let reason = format!("the capture has more than {} packets", self.limits.frames);
            let valid = "a shorter capture: `editcap -r` and `tcpdump -c` take a part";
            return Err(Fault::new(TracePosition::Byte(offset), reason, valid));
        } else {
            return Ok(());
        };
        Err(Fault::new(TracePosition::Byte(offset), reason, CAPTURE))
    }

    /// The trace, in the order of time: with several receive queues, the order of a capture is the order in
    /// which the kernel's rings were read. If some packet has no time, the order of the file is all there is.
    pub(super) fn finish(mut self, format: TraceFormat) -> Result<Trace, Fault> {
        if self.packets.is_empty() {
            return Err(Fault::new(TracePosition::Whole, "the capture has no packets", CAPTURE));
        }
        let timed = self.packets.iter().all(|(at, ..)| at.is_some());
        if timed {
            self.packets.sort_by_key(|(at, ..)| *at);
        }
        let first = self.packets[0].0.unwrap_or_default();
        let mut frames = Vec::with_capacity(self.packets.len());
        for (at, size, header) in self.packets {
            let elapsed = at.filter(|_| timed).map(|at| u64::try_from(at - first));
            let at = match elapsed.transpose() {
                Ok(elapsed) => elapsed.map(|ps| Time::ZERO + Span::from_ps(ps)),
                Err(_) => {
                    let reason = "the capture spans more than 213 days";
                    return Err(Fault::new(
                        TracePosition::Whole,
                        reason,
                        "a shorter capture, or one set of time stamps",
                    ));
                }
            };
            frames.push(Frame { size: Bytes::new(size), header, at, kind: None });
        }
        Ok(Trace::new(format, frames, None))
    }
}
