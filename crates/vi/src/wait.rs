//! Sleeping until another process changes a word, and waking who sleeps so (futex).
//!
//! Who sleeps says so in a word beside it, and looks once more before it does; who changes the word looks whether somebody said so.
//! Both do it in that order with full fences, so that one of them sees the other. Then a change that nobody waits for costs no system call.

#![allow(unsafe_code, reason = "futexes have no safe form")]

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::memory::Memory;
use crate::nic::Link;

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

/// Where the memory is that completions are told in; another may be put in its place.
#[derive(Debug, Clone)]
pub(crate) struct Place(Arc<Mutex<Arc<Memory>>>);

impl Place {
    pub(crate) fn new(memory: Arc<Memory>) -> Self {
        Self(Arc::new(Mutex::new(memory)))
    }

    pub(crate) fn put(&self, memory: Arc<Memory>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = memory;
    }

    fn memory(&self) -> Arc<Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Sleeps until something completes, without what it completes at: for a thread that waits where another one posts.
#[derive(Debug, Clone)]
pub struct Sleeper {
    link: Arc<Link>,
    place: Place,
    /// Where the count is of what is complete, and where it is said that somebody sleeps.
    words: (usize, usize),
}

impl Sleeper {
    pub(crate) fn new(link: &Arc<Link>, place: &Place, words: (usize, usize)) -> Self {
        Self { link: link.clone(), place: place.clone(), words }
    }

    /// How much is complete. Read before looking for it, it is what to [sleep](Self::sleep) on when nothing was found.
    pub fn count(&self) -> u32 {
        self.place.memory().word32(self.words.0).load(Ordering::Acquire)
    }

    /// Sleeps while no more is complete than was `seen`, for `most` at the longest; may come back sooner, as when the provider is gone.
    pub fn sleep(&self, seen: u32, most: Option<Duration>) {
        if !self.link.is_lost() {
            let memory = self.place.memory();
            self.link.sleep(memory.word32(self.words.0), seen, memory.word32(self.words.1), most);
        }
    }

    /// Whether the provider is known to be gone.
    pub fn is_lost(&self) -> bool {
        self.link.is_lost()
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
