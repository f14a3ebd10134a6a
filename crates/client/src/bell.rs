//! Bells: an event file beside a word that says whether the other side sleeps.
//!
//! A sleeper sets the word, checks its condition once more, and sleeps on the file. The other side
//! changes the condition, and rings if the word is set. Full fences keep both orders, so at least
//! one side sees the other. A change without a sleeper makes no system call.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering, fence};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// A bell that is rung by writing to a file.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A new bell.
    ///
    /// # Errors
    /// The process has too many open files.
    pub fn new() -> io::Result<Self> {
        Ok(Self(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?.into()))
    }

    /// The bell of another process.
    pub fn of(file: OwnedFd) -> Self {
        Self(file)
    }

    /// Another handle to the bell.
    ///
    /// # Errors
    /// The process has too many open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Rings.
    pub fn ring(&self) {
        // A full counter has been rung already, and a program may have passed any other file.
        let _ = nix::unistd::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Rings if `armed` is set: after a change of what the other side waits for. Whether it rang.
    #[inline]
    pub fn ring_if(&self, armed: &AtomicU32) -> bool {
        fence(Ordering::SeqCst);
        let asleep = armed.load(Ordering::Relaxed) != 0;
        if asleep {
            armed.store(0, Ordering::Relaxed);
            self.ring();
        }
        asleep
    }

    /// Forgets the rings until now.
    pub fn silence(&self) {
        let _ = nix::unistd::read(&self.0, &mut [0; 8]);
    }

    /// Sleeps until it rings, for at most `most`; may return earlier. Whether it rings: until it is
    /// silenced, further sleeps end at once.
    pub fn sleep(&self, most: PollTimeout) -> bool {
        let mut files = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        poll(&mut files, most).is_ok_and(|ready| ready > 0)
    }
}

/// Says that this side is about to sleep: check the condition after it.
#[inline]
pub fn arm(armed: &AtomicU32) {
    arm_all([armed]);
}

/// The same for several bells of one sleeper.
#[inline]
pub fn arm_all<'a>(armed: impl IntoIterator<Item = &'a AtomicU32>) {
    for armed in armed {
        armed.store(1, Ordering::Relaxed);
    }
    fence(Ordering::SeqCst);
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
