//! Files of our own in the event loop.

#![allow(unsafe_code, reason = "the event loop cannot see that a value owns its file")]

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use laxity_client::bell::Bell;
use laxity_client::socket::ProgramSocket;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A value that owns the file of [`AsRawFd`] as long as it lives.
pub(crate) trait OwnsFile: AsRawFd {}
impl OwnsFile for ProgramSocket {}
impl OwnsFile for Rung {}

/// A bell that is watched.
pub(crate) struct Rung(pub(crate) Bell);

impl AsRawFd for Rung {
    fn as_raw_fd(&self) -> RawFd {
        std::os::fd::AsFd::as_fd(&self.0).as_raw_fd()
    }
}

/// Watches a file.
///
/// # Errors
/// The event loop takes no more files.
pub(crate) fn watch<T: OwnsFile>(file: T) -> io::Result<AsyncFd<T>> {
    // SAFETY: the value owns its file, so the file is open while the event loop watches it.
    let watched = unsafe { AsyncFd::register_with_interest(file, Interest::READABLE) };
    watched.map_err(|error| error.into_parts().1)
}
