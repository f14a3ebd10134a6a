//! pcap captures: each packet with its time stamp, its original length and its first bytes.
//!
//! No payload is stored; a library that parses captures would keep it, would not say at which byte a
//! broken file breaks, and rounds times to its own unit. The format is two headers, in the byte order of
//! the machine that wrote it (the magic number says which), by
//! [draft-ietf-opsawg-pcap](https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/):
//!
//! ```text
//! file    magic u32 | major u16 | minor u16 | reserved 8 | snapshot length u32 | link type u32
//! packet  seconds u32 | fraction u32 | captured length u32 | original length u32 | captured bytes
//! ```

use std::io::BufRead;

use super::TraceLimits;
use super::binary::{CAPTURE, Order, Stream};
use super::capture::CapturedPacket;
use super::error::{Fault, TracePosition};

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

/// Passes the packets of a capture to `take`, to the end of `input`, with at most `kept` bytes of each.
pub(super) fn each(
    input: &mut dyn BufRead,
    limits: TraceLimits,
    kept: u32,
    take: &mut dyn FnMut(CapturedPacket<'_>),
) -> Result<(), Fault> {
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
    let mut count = Count::new(limits);
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
        count.check(captured, original, start + 8)?;
        let begin = stream.bytes(captured.min(kept).into(), "a packet")?;
        take(CapturedPacket { offset: start, at: Some(at), original, link_type, bytes: &begin });
        stream.skip(u64::from(captured) - begin.len() as u64, "a packet")?;
    }
    count.finish()
}

/// The number of packets so far.
pub(super) struct Count {
    limits: TraceLimits,
    packets: usize,
}

impl Count {
    pub(super) fn new(limits: TraceLimits) -> Count {
        Count { limits, packets: 0 }
    }

    /// Counts a packet. Refuses one with invalid lengths, at byte `offset`, or one packet too many.
    pub(super) fn check(&mut self, captured: u32, original: u32, offset: u64) -> Result<(), Fault> {
        let reason = if original == 0 {
            "the packet has no bytes, and a message carries at least one".to_string()
        } else if captured > original {
            format!("{captured} bytes were captured of a packet of {original}")
        } else if original > LONGEST_PACKET {
            format!("a packet of {original} bytes is longer than any link carries")
        } else if self.packets >= self.limits.frames {
            let reason = format!("the capture has more than {} packets", self.limits.frames);
            let valid = "a shorter capture: `editcap -r` and `tcpdump -c` take a part";
            return Err(Fault::new(TracePosition::Byte(offset), reason, valid));
        } else {
            self.packets += 1;
            return Ok(());
        };
        Err(Fault::new(TracePosition::Byte(offset), reason, CAPTURE))
    }

    /// Refuses a capture without packets.
    pub(super) fn finish(&self) -> Result<(), Fault> {
        match self.packets {
            0 => Err(Fault::new(TracePosition::Whole, "the capture has no packets", CAPTURE)),
            _ => Ok(()),
        }
    }
}
