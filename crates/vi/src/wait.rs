//! Sleeping until another process changes a word, and waking the sleeper (futex).
//!
//! A sleeper sets a flag beside the word, then checks the word again. A writer changes the word,
//! then checks the flag. Full fences keep both orders, so at least one side sees the other. A
//! change without a sleeper makes no system call.

#![allow(unsafe_code, reason = "futexes have no safe form")]

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// Sleeps while `word` is `seen`, for at most `most`; may return earlier. `awaited` flags the
/// sleeper.
pub fn sleep(word: &AtomicU32, seen: u32, awaited: &AtomicU32, most: Duration) {
    awaited.store(1, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    let time = libc::timespec {
        tv_sec: most.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: i64::from(most.subsec_nanos()),
    };
    // SAFETY: the kernel reads the word and the time, which live through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, ptr::from_ref(&time)) };
}

/// Wakes the threads that sleep on `word`, which has changed, if `awaited` is set.
#[inline]
pub fn wake(word: &AtomicU32, awaited: &AtomicU32) {
    fence(Ordering::SeqCst);
    if awaited.load(Ordering::Relaxed) != 0 {
        awaited.store(0, Ordering::Relaxed);
        // SAFETY: the kernel uses only the word's address.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience(Option<std::time::Instant>);

#[allow(clippy::disallowed_methods, reason = "a program that waits so long waits by its machine's clock")]
impl Patience {
    /// Wait of this length from now on; unlimited if `None`.
    pub(crate) fn new(most: Option<Duration>) -> Self {
        Self(most.and_then(|most| std::time::Instant::now().checked_add(most)))
    }

    /// Remaining time: `None` if it is over, `Some(None)` if the wait is unlimited.
    pub(crate) fn left(self) -> Option<Option<Duration>> {
        match self.0 {
            None => Some(None),
            Some(end) => {
                end.checked_duration_since(std::time::Instant::now()).filter(|left| !left.is_zero()).map(Some)
            }
        }
    }
}
