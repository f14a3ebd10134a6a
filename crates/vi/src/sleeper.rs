//! Sleeping until a completion.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::link::Link;
use crate::memory::Memory;

/// Memory that has the count of completions; it can be replaced.
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

/// Sleeps until a completion, without access to the queue: for a thread that waits where another
/// one posts.
#[derive(Debug, Clone)]
pub struct Sleeper {
    link: Arc<Link>,
    place: Place,
    /// Offsets of the count of completions, and of the word that marks a sleeping thread.
    words: (usize, usize),
}

impl Sleeper {
    pub(crate) fn new(link: &Arc<Link>, place: &Place, words: (usize, usize)) -> Self {
        Self { link: link.clone(), place: place.clone(), words }
    }

    /// Count of completions. Read it before a poll, and [sleep](Self::sleep) on it if the poll
    /// found none.
    pub fn count(&self) -> u32 {
        self.place.memory().word32(self.words.0).load(Ordering::Acquire)
    }

    /// Sleeps while the count is `seen`, for at most `most`; may return earlier, as when the
    /// provider is lost.
    pub fn sleep(&self, seen: u32, most: Option<Duration>) {
        if !self.link.is_lost() {
            let memory = self.place.memory();
            self.link.sleep(memory.word32(self.words.0), seen, memory.word32(self.words.1), most);
        }
    }

    /// Whether the provider is known to be lost.
    pub fn is_lost(&self) -> bool {
        self.link.is_lost()
    }
}
