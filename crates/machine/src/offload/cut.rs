//! Segmentation of a bulk into frames.

use super::{
    FIN_AND_PUSH, LONGEST_BULK, MARKS_CONGESTION, Of, Offload, Piece, Transport, WINDOW_REDUCED, set_lengths,
};

/// Bulk in segmentation.
#[derive(Debug)]
pub struct CutBulk {
    bytes: Box<[u8]>,
    source: u16,
    /// Length of the bulk in bytes.
    length: usize,
    transport: Transport,
    /// Offsets of the IP header, the transport header and the payload.
    network: usize,
    segment: usize,
    payload: usize,
    /// Payload bytes of each frame.
    each: usize,
    /// Offset of the next payload; equals the length at the end.
    next: usize,
    frames: u16,
    bulks: u32,
}

impl CutBulk {
    /// Segmentation for the bulks of a source with a unique number.
    pub fn new(source: u16) -> Self {
        let bytes = vec![0; LONGEST_BULK].into();
        Self {
            bytes,
            source,
            length: 0,
            transport: Transport::Tcp,
            network: 0,
            segment: 0,
            payload: 0,
            each: 0,
            next: 0,
            frames: 0,
            bulks: 0,
        }
    }

    /// Buffer for a bulk; discards the current one.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        (self.length, self.next) = (0, 0);
        &mut self.bytes
    }

    /// Whether frames remain.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.next < self.length
    }

    /// Starts with the first `length` bytes of the buffer; `false` if they are no bulk that can be
    /// cut.
    #[must_use]
    pub fn begin(&mut self, length: usize, offload: Offload) -> bool {
        (self.length, self.next) = (0, 0);
        self.parse(length, offload).is_some()
    }

    fn parse(&mut self, length: usize, offload: Offload) -> Option<()> {
        let frame = self.bytes.get(..length)?;
        let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
        let mut network = 14;
        while matches!(word(network - 2)?, 0x8100 | 0x88a8) {
            network += 4;
        }
        let transport = offload.transport()?;
        let (is_v6, headers, protocol) = match word(network - 2)? {
            0x0800 => (false, usize::from(frame.get(network)? & 15) * 4, *frame.get(network + 9)?),
            // After extension headers the transport header is where the checksum starts; the
            // headers name its protocol.
            0x86dd => (true, 40, transport.number()),
            _ => return None,
        };
        let is_version = *frame.get(network)? >> 4 == if is_v6 { 6 } else { 4 };
        let is_so =
            offload.kind & !MARKS_CONGESTION == transport.kind(is_v6) && protocol == transport.number();
        let segment = usize::from(offload.sum_from);
        let in_place = if is_v6 { segment >= network + headers } else { segment == network + headers };
        let (least, own) = match transport {
            Transport::Tcp => (20, usize::from(*frame.get(segment + 12)? >> 4) * 4),
            Transport::Udp => (8, 8),
        };
        let payload = segment + own;
        let each = usize::from(offload.payload);
        if !is_version || headers < 20 || !is_so || !in_place || own < least || payload >= length || each == 0
        {
            return None;
        }
        (self.transport, self.network, self.segment, self.payload) = (transport, network, segment, payload);
        (self.length, self.each, self.next, self.frames) = (length, each, payload, 0);
        self.bulks = self.bulks.wrapping_add(1);
        Some(())
    }

    /// Writes the next frame to `into`; returns its length, the remaining work and its identity. A
    /// frame that exceeds `into` is truncated, and its full length returned.
    pub fn next(&mut self, into: &mut [u8]) -> Option<(usize, Offload, Piece)> {
        if !self.is_pending() {
            return None;
        }
        let (begin, end) = (self.next, self.length.min(self.next + self.each));
        let (first, last) = (begin == self.payload, end == self.length);
        let length = self.payload + end - begin;
        self.next = end;
        let number = self.frames;
        self.frames = number.wrapping_add(1);
        let offload = Offload::open(self.transport, self.segment as u16);
        let of = Of::Bulk { source: self.source, bulk: self.bulks, number, is_last: last };
        let piece = Piece { of, network: self.network as u16, payload: self.payload as u16 };
        let Some(frame) = into.get_mut(..length) else { return Some((length, offload, piece)) };
        frame[..self.payload].copy_from_slice(&self.bytes[..self.payload]);
        frame[self.payload..].copy_from_slice(&self.bytes[begin..end]);
        let identification = |old: u16| old.wrapping_add(number);
        set_lengths(frame, self.network, self.segment, self.transport, identification);
        if self.transport == Transport::Udp {
            return Some((length, offload, piece));
        }
        let segment = &mut frame[self.segment..];
        let sequence = u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]);
        let sequence = sequence.wrapping_add((begin - self.payload) as u32);
        segment[4..8].copy_from_slice(&sequence.to_be_bytes());
        if !last {
            segment[13] &= !FIN_AND_PUSH;
        }
        if !first {
            segment[13] &= !WINDOW_REDUCED;
        }
        Some((length, offload, piece))
    }
}
