//! Sleeping until a completion.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::link::Link;
use crate::memory::Memory;

/// Sleeps until a completion, without access to the queue: for a thread that waits where another
/// one posts.
#[derive(Debug, Clone)]
pub struct Sleeper {
    link: Arc<Link>,
    memory: Arc<Memory>,
    /// Offsets of the count of completions, and of the word that marks a sleeping thread.
    words: (usize, usize),
}

impl Sleeper {
    pub(crate) fn new(link: &Arc<Link>, memory: &Arc<Memory>, words: (usize, usize)) -> Self {
        Self { link: link.clone(), memory: memory.clone(), words }
    }

    /// Count of completions. Read it before a poll, and [sleep](Self::sleep) on it if the poll
    /// found none.
    pub fn count(&self) -> u32 {
        self.memory.word32(self.words.0).load(Ordering::Acquire)
    }

    /// Sleeps while the count is `seen`, for at most `most`; may return earlier, as when the
    /// provider is lost.
    pub fn sleep(&self, seen: u32, most: Option<Duration>) {
        if !self.link.is_lost() {
            let (count, mark) = (self.memory.word32(self.words.0), self.memory.word32(self.words.1));
            self.link.sleep(count, seen, mark, most);
        }
    }

    /// Whether the provider is known to be lost.
    pub fn is_lost(&self) -> bool {
        self.link.is_lost()
    }
}
