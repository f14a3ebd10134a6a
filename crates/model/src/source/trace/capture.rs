//! Captured packets, of pcap and of pcapng: as a trace, or one by one with their first bytes.

use std::io::BufRead;

use laxity_units::{Bytes, Span, Time};

use super::error::{Fault, TraceError, TracePosition};
use super::link::{self, Network};
use super::{Frame, Trace, TraceFormat, TraceLimits, detect, pcap, pcapng};

/// A packet of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedPacket<'a> {
    /// The byte of the file at which its header or its block begins.
    pub offset: u64,
    /// Its time stamp: picoseconds since the beginning of 1970, by the clock of the capture. `None` if
    /// the file does not have it.
    pub at: Option<i128>,
    /// Its bytes on the link, from the first byte that the link type names.
    pub original: u32,
    /// The type of the link at which it was captured.
    pub link_type: u16,
    /// Its first bytes, as far as they were captured.
    pub bytes: &'a [u8],
}

impl<'a> CapturedPacket<'a> {
    /// The payload of its link.
    pub fn network(&self) -> Network<'a> {
        link::network(self.link_type, self.bytes)
    }
}

/// Whether a file that starts with `head` is a capture.
pub fn is_capture(head: &[u8]) -> bool {
    head.starts_with(detect::PCAPNG) || head.first_chunk().copied().and_then(pcap::magic).is_some()
}

/// Passes each packet of the capture in `input` to `take`, in the order of the file and with at most
/// `kept` bytes; `name` stands for the capture in errors.
///
/// # Errors
///
/// [`TraceError`] with the byte at which the file is no capture. `take` has had the packets before it.
pub fn packets(
    name: &str,
    input: &mut dyn BufRead,
    limits: TraceLimits,
    kept: u32,
    take: &mut dyn FnMut(CapturedPacket<'_>),
) -> Result<(), TraceError> {
    let head = input.fill_buf().map_err(|error| Fault::io(TracePosition::Whole, &error).in_file(name))?;
    let each = if head.starts_with(detect::PCAPNG) { pcapng::each } else { pcap::each };
    each(input, limits, kept, take).map_err(|fault| fault.in_file(name))
}

/// The trace of a capture: each packet a message, at its time stamp, of its original length.
///
/// Packets are in the order of time: with several receive queues, the order of a capture is the order in
/// which the kernel's rings were read. If some packet has no time, the order of the file is all there is.
pub(super) fn trace(
    format: TraceFormat,
    input: &mut dyn BufRead,
    limits: TraceLimits,
) -> Result<Trace, Fault> {
    let each = if format == TraceFormat::PcapNg { pcapng::each } else { pcap::each };
    let mut packets: Vec<(Option<i128>, u64, u8)> = Vec::new();
    each(input, limits, link::LOOKED_AT, &mut |packet| {
        packets.push((packet.at, packet.original.into(), link::header(packet.link_type, packet.bytes)));
    })?;
    let timed = packets.iter().all(|(at, ..)| at.is_some());
    if timed {
        packets.sort_by_key(|(at, ..)| *at);
    }
    let first = packets.first().and_then(|(at, ..)| *at).unwrap_or_default();
    let mut frames = Vec::with_capacity(packets.len());
    for (at, size, header) in packets {
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
