//! Sleeping until something completes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::link::Link;
use crate::memory::Memory;

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
