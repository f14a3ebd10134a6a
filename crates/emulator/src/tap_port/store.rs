//! Where frames lie while their messages are on their way.
//!
//! The emulation knows a message by its number and size; its bytes wait here, so that they can be handed to the
//! receiver. All room is taken before the run: a frame is read into a free slot, and neither an allocation nor a
//! copy is made for it.

/// Slots of one size.
pub(super) struct Store {
    bytes: Box<[u8]>,
    lengths: Box<[u32]>,
    size: usize,
    free: Vec<u32>,
}

impl Store {
    /// `slots` of them, each for a frame of `longest` bytes.
    pub(super) fn new(slots: usize, longest: usize) -> Self {
        let size = longest.next_multiple_of(64);
        let free = (0..slots as u32).rev().collect();
        Self { bytes: vec![0; slots * size].into(), lengths: vec![0; slots].into(), size, free }
    }

    /// How many there are.
    pub(super) fn slots(&self) -> usize {
        self.lengths.len()
    }

    /// How many are free.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// A slot that is filled by `fill`, which answers how many bytes; none if it answers `None` or none is free.
    #[inline]
    pub(super) fn fill(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<u32> {
        let slot = *self.free.last()?;
        let start = slot as usize * self.size;
        let length = fill(&mut self.bytes[start..start + self.size])?;
        self.lengths[slot as usize] = length as u32;
        self.free.pop();
        Some(slot)
    }

    /// Another slot with the frame in `slot`; none if none is free.
    pub(super) fn copy(&mut self, slot: u32) -> Option<u32> {
        let copy = self.free.pop()?;
        let length = self.lengths[slot as usize];
        let from = slot as usize * self.size;
        self.bytes.copy_within(from..from + length as usize, copy as usize * self.size);
        self.lengths[copy as usize] = length;
        Some(copy)
    }

    /// The frame in `slot`.
    #[inline]
    pub(super) fn frame(&self, slot: u32) -> &[u8] {
        let start = slot as usize * self.size;
        &self.bytes[start..start + self.lengths[slot as usize] as usize]
    }

    /// Frees `slot`.
    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }
}
