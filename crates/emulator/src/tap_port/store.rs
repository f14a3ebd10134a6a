//! Buffers of frames in flight.
//!
//! The emulation identifies a message by its number and size; its bytes wait here for the receiver.
//! All memory is allocated before the run: a frame is read into a free slot, without an allocation
//! or a copy.

pub(super) struct Store {
    bytes: Box<[u8]>,
    lengths: Box<[u32]>,
    size: usize,
    free: Vec<u32>,
}

impl Store {
    /// `slots` slots, each for a frame of `longest` bytes.
    pub(super) fn new(slots: usize, longest: usize) -> Self {
        let size = longest.next_multiple_of(64);
        let free = (0..slots as u32).rev().collect();
        Self { bytes: vec![0; slots * size].into(), lengths: vec![0; slots].into(), size, free }
    }

    pub(super) fn slots(&self) -> usize {
        self.lengths.len()
    }

    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Fills a free slot by `fill`, which returns the number of bytes; `None` if it returns `None`
    /// or no slot is free.
    #[inline]
    pub(super) fn fill(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<u32> {
        let slot = *self.free.last()?;
        let start = slot as usize * self.size;
        let length = fill(&mut self.bytes[start..start + self.size])?;
        self.lengths[slot as usize] = length as u32;
        self.free.pop();
        Some(slot)
    }

    /// Copies the frame in `slot` to another slot; `None` if none is free.
    pub(super) fn copy(&mut self, slot: u32) -> Option<u32> {
        let copy = self.free.pop()?;
        let length = self.lengths[slot as usize];
        let from = slot as usize * self.size;
        self.bytes.copy_within(from..from + length as usize, copy as usize * self.size);
        self.lengths[copy as usize] = length;
        Some(copy)
    }

    /// Frame in `slot`.
    #[inline]
    pub(super) fn frame(&self, slot: u32) -> &[u8] {
        let start = slot as usize * self.size;
        &self.bytes[start..start + self.lengths[slot as usize] as usize]
    }

    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }
}
