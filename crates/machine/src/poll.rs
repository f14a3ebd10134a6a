//! Waiting until one of several files is readable.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Waits until one of `files` is readable, its peer has hung up, or `most` has passed.
pub fn readable(files: &[BorrowedFd<'_>], most: Duration) -> io::Result<()> {
    let mut files: Vec<PollFd<'_>> = files.iter().map(|file| PollFd::new(*file, PollFlags::POLLIN)).collect();
    match poll(&mut files, PollTimeout::try_from(most).unwrap_or(PollTimeout::MAX)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
