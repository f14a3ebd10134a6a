//! Joining of frames that a kernel accepts together.

use super::{FIN_AND_PUSH, LONGEST_BULK, Of, Offload, Piece, Transport, flow, set_lengths};

/// Frames that go to a kernel together: consecutive pieces of a bulk, or datagrams of a flow.
#[derive(Debug)]
pub struct Joined {
    bytes: Box<[u8]>,
    length: usize,
    /// First and last piece.
    first: Option<Piece>,
    last: Option<Piece>,
    count: u16,
    offload: Offload,
    /// Payload of the first piece.
    each: usize,
    /// Whether no piece can follow.
    is_closed: bool,
}

impl Default for Joined {
    fn default() -> Self {
        let bytes = vec![0; LONGEST_BULK].into();
        let (length, count, each) = (0, 0, 0);
        Self { bytes, length, first: None, last: None, count, offload: Offload::NONE, each, is_closed: true }
    }
}

impl Joined {
    /// Whether there is no frame.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Whether no further frame can be added.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Starts with `frame`.
    pub fn begin(&mut self, frame: &[u8], offload: Offload, piece: Piece) {
        self.bytes[..frame.len()].copy_from_slice(frame);
        (self.length, self.count) = (frame.len(), 1);
        (self.first, self.last, self.is_closed) = (Some(piece), Some(piece), piece.is_last());
        (self.offload, self.each) = (offload, frame.len() - usize::from(piece.payload));
    }

    /// Adds `frame` if it directly follows the last.
    #[must_use]
    pub fn add(&mut self, frame: &[u8], piece: Piece) -> bool {
        let Some(last) = self.last.filter(|_| !self.is_closed) else { return false };
        let payload = &frame[usize::from(piece.payload)..];
        let follows = match (last.of, piece.of) {
            (
                Of::Bulk { source, bulk, number, .. },
                Of::Bulk { source: from, bulk: of, number: next, .. },
            ) => (source, bulk, number.checked_add(1)) == (from, of, Some(next)),
            (Of::Flow, Of::Flow) => flow::continues(&self.bytes, frame, self.count),
            _ => false,
        };
        // Maximum size of a packet in both versions of IP.
        let fits = self.length + payload.len() - usize::from(piece.network) <= usize::from(u16::MAX);
        if !follows || !fits || payload.len() > self.each {
            return false;
        }
        self.bytes[self.length..self.length + payload.len()].copy_from_slice(payload);
        self.length += payload.len();
        self.count += 1;
        let is_full = match self.offload.transport() {
            Some(Transport::Tcp) => {
                // FIN and PUSH of the last segment apply to the joined one.
                let flags = usize::from(self.offload.sum_from) + 13;
                self.bytes[flags] |= frame[flags] & FIN_AND_PUSH;
                false
            }
            _ => self.count == flow::MOST,
        };
        self.last = Some(piece);
        self.is_closed = is_full || piece.is_last() || payload.len() < self.each;
        true
    }

    /// All frames as one, with the remaining work; empties the value.
    pub fn take(&mut self) -> Option<(&[u8], Offload)> {
        let first = self.first.take()?;
        (self.last, self.is_closed) = (None, true);
        let (segment, network) = (usize::from(self.offload.sum_from), usize::from(first.network));
        let frame = &mut self.bytes[..self.length];
        let Some(transport) = self.offload.transport().filter(|_| self.count > 1) else {
            return Some((frame, self.offload));
        };
        set_lengths(frame, network, segment, transport, |old| old);
        let bulk = Offload::open(transport, segment as u16).cut_as(transport, frame[network] >> 4 == 6);
        Some((frame, Offload { headers: first.payload, payload: self.each as u16, ..bulk }))
    }
}
