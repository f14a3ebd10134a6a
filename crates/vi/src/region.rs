//! Registered memory.

use std::ops::Range;
use std::sync::Arc;

use crate::control::Request;
use crate::descriptor::{Remote, Segment};
use crate::link::Link;
use crate::memory::Memory;

/// A protection tag: what has it belongs together, and touches nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(pub(crate) u32);

impl Tag {
    /// The provider's number of it, which C programs have.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The tag of that number. One that is none is refused wherever it is used.
    pub fn numbered(number: u32) -> Self {
        Self(number)
    }
}

/// Who besides the program's own descriptors may touch memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// RDMA writes of the other side.
    pub rdma_write: bool,
    /// RDMA reads of the other side.
    pub rdma_read: bool,
}

/// Memory that descriptors can name. Dropped, it is deregistered: what is under way completes in error.
///
/// The adapter writes to it and reads from it while a descriptor is posted, so its bytes are copied in and out.
#[derive(Debug)]
pub struct Region {
    pub(crate) link: Arc<Link>,
    pub(crate) memory: Memory,
    pub(crate) handle: u32,
    pub(crate) length: usize,
}

impl Region {
    /// Bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no bytes, which none has.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The handle of its registration.
    pub fn handle(&self) -> u32 {
        self.handle
    }

    /// What descriptors call these bytes. Panics if they are not all its own.
    pub fn segment(&self, bytes: Range<usize>) -> Segment {
        assert!(
            bytes.start <= bytes.end && bytes.end <= self.length,
            "{bytes:?} is outside of a region of {}",
            self.length
        );
        let length = u32::try_from(bytes.len()).expect("a segment has less than 4 GiB");
        Segment { address: self.memory.base() + bytes.start as u64, handle: self.handle, length }
    }

    /// What the other side calls the memory from `offset` on, for RDMA.
    pub fn remote(&self, offset: usize) -> Remote {
        Remote { address: self.memory.base() + offset as u64, handle: self.handle }
    }

    /// Copies `from` to `offset`. Panics if there is not room for all of it.
    pub fn write(&self, offset: usize, from: &[u8]) {
        assert!(offset + from.len() <= self.length, "{} bytes from {offset} on are outside", from.len());
        self.memory.write(offset, from);
    }

    /// Copies what is at `offset` into `to`. Panics if that is not all inside.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        assert!(offset + to.len() <= self.length, "{} bytes from {offset} on are outside", to.len());
        self.memory.read(offset, to);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // A provider that is gone does not touch it either.
        let _ = self.link.ask(Request::Deregister(self.handle), None);
    }
}
