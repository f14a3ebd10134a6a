//! Completion queues: one queue to poll for many virtual interfaces.
//!
//! An entry names the virtual interface and the queue of a complete descriptor; the status is in
//! that queue. A full completion queue loses entries: its size should be the number of descriptors
//! that may be posted.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::control::ControlRequest;
use crate::doorbell::Which;
use crate::error::{ViError, ViRefusal};
use crate::layout::completions;
use crate::link::{Link, garbled};
use crate::memory::Memory;
use crate::sleeper::Sleeper;
use crate::wait::Patience;

/// Maximum number of entries of a completion queue.
pub const MOST_ENTRIES: u32 = 1 << 16;

/// Actual number of entries for a requested number.
pub(crate) fn entries(wanted: u32) -> Option<u32> {
    (1..=MOST_ENTRIES).contains(&wanted).then(|| wanted.next_power_of_two())
}

pub(crate) fn length(entries: u32) -> usize {
    completions::ENTRIES + 8 * entries as usize
}

/// Completion queue. Dropping it destroys it; virtual interfaces that use it continue without it.
#[derive(Debug)]
pub struct CompletionQueue {
    link: Arc<Link>,
    id: u32,
    memory: Arc<Memory>,
    entries: u32,
    taken: u32,
}

impl CompletionQueue {
    pub(crate) fn create(link: &Arc<Link>, wanted: u32) -> Result<Self, ViError> {
        let entries = entries(wanted).ok_or(ViRefusal::InvalidParameter)?;
        let (id, file) = link.make(ControlRequest::CreateQueue(entries))?;
        let memory = Arc::new(Memory::map(&file.ok_or_else(garbled)?, length(entries))?);
        Ok(Self { link: link.clone(), id, memory, entries, taken: 0 })
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Virtual interface, by its [id](crate::Vi::id), and queue of the next complete descriptor
    /// (`VipCQDone`). Makes no system call.
    #[inline]
    pub fn poll(&mut self) -> Option<(u32, Which)> {
        let put = self.memory.word32(completions::PUT).load(Ordering::Acquire);
        if put == self.taken {
            return None;
        }
        let at = completions::ENTRIES + 8 * (self.taken & (self.entries - 1)) as usize;
        let entry = self.memory.word64(at).load(Ordering::Relaxed);
        self.taken = self.taken.wrapping_add(1);
        self.memory.word32(completions::TAKEN).store(self.taken, Ordering::Release);
        Some((entry as u32, Which::of(entry >> 32)?))
    }

    /// Handle with which another thread sleeps until there is an entry.
    pub fn sleeper(&self) -> Sleeper {
        Sleeper::new(&self.link, &self.memory, (completions::PUT, completions::AWAITED))
    }

    /// Sleeps until there is an entry (`VipCQWait`). After the provider is [lost](ViError::Lost) no
    /// entries are added: posted descriptors are flushed and found at the virtual interfaces.
    pub fn wait(&mut self, most: Option<Duration>) -> Result<(u32, Which), ViError> {
        let patience = Patience::new(most);
        loop {
            if let Some(entry) = self.poll() {
                return Ok(entry);
            }
            if self.link.is_lost() {
                return Err(ViError::Lost);
            }
            let left = patience.left().ok_or(ViRefusal::Timeout)?;
            let (word, awaited) =
                (self.memory.word32(completions::PUT), self.memory.word32(completions::AWAITED));
            self.link.sleep(word, self.taken, awaited, left);
        }
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        let _ = self.link.ask(ControlRequest::DestroyQueue(self.id), None);
    }
}
