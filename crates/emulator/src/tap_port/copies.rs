//! A frame for several hosts uses one channel to each: the first has the slot into which it was
//! read, each other one a copy.

use laxity_units::Bytes;
use laxity_world::Input;

use super::{Ports, Wire};
use crate::frame::link_header;

impl<W: Wire> Ports<W> {
    /// Input that offers the frame in `slot` to `channel`.
    #[inline]
    pub(super) fn offer(&mut self, channel: usize, slot: u32) -> Input {
        let frame = self.store.frame(slot);
        let mut header = 0;
        if let Some(carrier) = &mut self.carriers[channel] {
            carrier.unanswered += 1;
            header = if carrier.framed { link_header(frame) } else { 0 };
        }
        let size = Bytes::new((frame.len() - header).max(1) as u64);
        Input::Message { channel, size, handle: slot }
    }

    /// Copies the frame in `slot` for each of the other channels found by the last match.
    pub(super) fn copy(&mut self, slot: u32, queue: usize, inlet: usize) {
        let kept = if queue == 0 { self.kept } else { 0 };
        for place in 0..self.others.len() {
            let channel = self.others[place];
            let copy = if self.store.free() > kept { self.store.copy(slot) } else { None };
            let Some(copy) = copy else {
                self.counts.refused += 1;
                continue;
            };
            self.counts.copies += 1;
            self.offloads[copy as usize] = self.offloads[slot as usize];
            self.stamp(Some(channel), copy, inlet);
            self.copies.push_back((channel, copy));
        }
    }
}
