//! The process that opened a connection.
//!
//! A child of `fork` has the memory and the files of all connections of its parent. Two producers
//! of one ring overwrite each other's messages, and a socket that one of them ends is over for
//! both. A connection therefore has a page that the kernel clears in children
//! (`MADV_WIPEONFORK`, Linux 4.14), so that a check is one load and no system call.

#![allow(unsafe_code, reason = "the kernel is asked to clear a page in children")]

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use laxity_vi::provider::Memory;
use nix::sys::mman::{MmapAdvise, madvise};

/// The mark of the process that made it.
#[derive(Debug)]
pub(crate) struct Owner(Memory);

impl Owner {
    /// The calling process.
    ///
    /// # Errors
    /// No memory is left, or the kernel is older than Linux 4.14.
    pub(crate) fn this() -> io::Result<Self> {
        let page = Memory::private(1)?;
        let word = page.word32(0);
        word.store(1, Ordering::Relaxed);
        // SAFETY: the mapping is this value's, and keeps its contents in this process.
        unsafe { madvise(NonNull::from(word).cast(), page.bytes(), MmapAdvise::MADV_WIPEONFORK)? };
        Ok(Self(page))
    }

    /// Whether the calling process made it; false in a child of `fork`.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.0.word32(0).load(Ordering::Relaxed) != 0
    }
}
