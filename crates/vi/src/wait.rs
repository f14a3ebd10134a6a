//! Sleeping until another process changes a word, and waking who sleeps so (futex).
//!
//! Who sleeps says so in a word beside it, and looks once more before it does; who changes the word looks whether somebody said so.
//! Both do it in that order with full fences, so that one of them sees the other. Then a change that nobody waits for costs no system call.

#![allow(unsafe_code, reason = "futexes have no safe form")]

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// Sleeps while `word` is `seen`, for `most` at the longest; may come back sooner. `awaited` says meanwhile that somebody sleeps.
pub(crate) fn sleep(word: &AtomicU32, seen: u32, awaited: &AtomicU32, most: Duration) {
    awaited.store(1, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    let time = libc::timespec {
        tv_sec: most.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: i64::from(most.subsec_nanos()),
    };
    // SAFETY: the kernel reads the word and the time, which live through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, ptr::from_ref(&time)) };
}

/// Wakes whoever sleeps at `word`, which has changed, if somebody has said so.
#[inline]
pub(crate) fn wake(word: &AtomicU32, awaited: &AtomicU32) {
    fence(Ordering::SeqCst);
    if awaited.load(Ordering::Relaxed) != 0 {
        awaited.store(0, Ordering::Relaxed);
        // SAFETY: the kernel uses the word's address only.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }
}

/// What is left of a time to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience(Option<std::time::Instant>);

#[allow(clippy::disallowed_methods, reason = "a program that waits so long waits by its machine's clock")]
impl Patience {
    /// So long from now on; without end if none.
    pub(crate) fn new(most: Option<Duration>) -> Self {
        Self(most.and_then(|most| std::time::Instant::now().checked_add(most)))
    }

    /// What is left: `None` of the outer kind if nothing is, of the inner if there is no end.
    pub(crate) fn left(self) -> Option<Option<Duration>> {
        match self.0 {
            None => Some(None),
            Some(end) => {
                end.checked_duration_since(std::time::Instant::now()).filter(|left| !left.is_zero()).map(Some)
            }
        }
    }
}
