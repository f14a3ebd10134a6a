//! Registered memory.

use std::ops::Range;
use std::sync::Arc;

use crate::control::ControlRequest;
use crate::descriptor::{Remote, Segment};
use crate::link::Link;
use crate::memory::Memory;

/// Protection tag: virtual interfaces access only memory with their tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegionTag(pub(crate) u32);

impl RegionTag {
    /// Provider's number of the tag, for C programs.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Tag of that number. An unknown number is refused on use.
    pub fn numbered(number: u32) -> Self {
        Self(number)
    }
}

/// Access to memory by the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// RDMA writes of the peer.
    pub rdma_write: bool,
    /// RDMA reads of the peer.
    pub rdma_read: bool,
}

/// Memory that descriptors can name. Dropping it deregisters it: descriptors in progress complete
/// in error.
///
/// The adapter accesses it while a descriptor is posted, so bytes are copied in and out.
#[derive(Debug)]
pub struct Region {
    pub(crate) link: Arc<Link>,
    pub(crate) memory: Memory,
    pub(crate) handle: u32,
    pub(crate) length: usize,
}

impl Region {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the length is zero, which never holds.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Handle of the registration.
    pub fn handle(&self) -> u32 {
        self.handle
    }

    /// Segment of these bytes, for descriptors. Panics if they are not all inside.
    pub fn segment(&self, bytes: Range<usize>) -> Segment {
        assert!(
            bytes.start <= bytes.end && bytes.end <= self.length,
            "{bytes:?} is outside of a region of {}",
            self.length
        );
        let length = u32::try_from(bytes.len()).expect("a segment has less than 4 GiB");
        Segment { address: self.memory.base() + bytes.start as u64, handle: self.handle, length }
    }

    /// Memory from `offset` on, as the peer names it for RDMA.
    pub fn remote(&self, offset: usize) -> Remote {
        Remote { address: self.memory.base() + offset as u64, handle: self.handle }
    }

    /// Copies `from` to `offset`. Panics if it does not fit.
    pub fn write(&self, offset: usize, from: &[u8]) {
        assert!(offset + from.len() <= self.length, "{} bytes from {offset} on are outside", from.len());
        self.memory.write(offset, from);
    }

    /// Copies the bytes at `offset` into `to`. Panics if they are not all inside.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        assert!(offset + to.len() <= self.length, "{} bytes from {offset} on are outside", to.len());
        self.memory.read(offset, to);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // A lost provider does not access the memory either.
        let _ = self.link.ask(ControlRequest::Deregister(self.handle), None);
    }
}
