//! Joining what can go to a kernel together.

use super::{FIN_AND_PUSH, LONGEST_BULK, Offload, Piece, set_lengths};

/// Frames of a bulk that go to a kernel together, as what is left of the bulk.
#[derive(Debug)]
pub struct Joined {
    bytes: Box<[u8]>,
    length: usize,
    /// The first of them, and the last so far.
    first: Option<Piece>,
    last: Option<Piece>,
    offload: Offload,
    /// Payload of the first.
    each: usize,
}

impl Default for Joined {
    fn default() -> Self {
        let bytes = vec![0; LONGEST_BULK].into();
        Self { bytes, length: 0, first: None, last: None, offload: Offload::NONE, each: 0 }
    }
}

impl Joined {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Begins with `frame`.
    pub fn begin(&mut self, frame: &[u8], offload: Offload, piece: Piece) {
        self.bytes[..frame.len()].copy_from_slice(frame);
        (self.length, self.first, self.last) = (frame.len(), Some(piece), Some(piece));
        (self.offload, self.each) = (offload, frame.len() - usize::from(piece.payload));
    }

    /// Adds `frame` if it comes right behind the last.
    #[must_use]
    pub fn add(&mut self, frame: &[u8], piece: Piece) -> bool {
        let Some(last) = self.last else { return false };
        let payload = &frame[usize::from(piece.payload)..];
        let follows = last.bulk == piece.bulk && last.number.checked_add(1) == Some(piece.number);
        // As much as a packet can be, whatever IP's version.
        let fits = self.length + payload.len() - usize::from(piece.network) <= usize::from(u16::MAX);
        if !follows || !fits || last.is_last || payload.len() > self.each {
            return false;
        }
        self.bytes[self.length..self.length + payload.len()].copy_from_slice(payload);
        self.length += payload.len();
        // What the last says of the end of what is sent, all say together.
        let flags = usize::from(self.offload.sum_from) + 13;
        self.bytes[flags] |= frame[flags] & FIN_AND_PUSH;
        self.last = Some(piece);
        true
    }

    /// All of them as one frame, with what is left to be done with it; there is none after that.
    pub fn take(&mut self) -> Option<(&[u8], Offload)> {
        let (first, last) = (self.first.take()?, self.last.take()?);
        let (transport, network) = (usize::from(self.offload.sum_from), usize::from(first.network));
        let frame = &mut self.bytes[..self.length];
        if first == last {
            return Some((frame, self.offload));
        }
        set_lengths(frame, network, transport, |old| old);
        let bulk = Offload::of_bulk(frame[network] >> 4 == 6, transport as u16, self.each as u16);
        Some((frame, Offload { headers: first.payload, ..bulk }))
    }
}
