//! Completion queues: one place to look at for many virtual interfaces.
//!
//! An entry says of which queue of which virtual interface a descriptor is complete; what came of it is there. A queue that was not
//! emptied in time loses entries: give it as many as all that may be posted.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::control::Request;
use crate::doorbell::Which;
use crate::error::{Error, Refusal};
use crate::layout::completions;
use crate::link::{Link, garbled};
use crate::memory::Memory;
use crate::sleeper::{Place, Sleeper};
use crate::wait::{self, Patience};

/// Entries that a completion queue may have.
pub const MOST_ENTRIES: u32 = 1 << 16;

/// How many entries there are in a queue that was asked for with so many.
pub(crate) fn entries(wanted: u32) -> Option<u32> {
    (1..=MOST_ENTRIES).contains(&wanted).then(|| wanted.next_power_of_two())
}

/// Bytes of a queue of `entries`.
pub(crate) fn length(entries: u32) -> usize {
    completions::ENTRIES + 8 * entries as usize
}

/// A completion queue. Dropped, it is destroyed; virtual interfaces that have it go on without.
#[derive(Debug)]
pub struct CompletionQueue {
    link: Arc<Link>,
    id: u32,
    memory: Arc<Memory>,
    /// The same, for those who sleep at it while it is replaced.
    place: Place,
    entries: u32,
    taken: u32,
}

impl CompletionQueue {
    pub(crate) fn create(link: &Arc<Link>, wanted: u32) -> Result<Self, Error> {
        let entries = entries(wanted).ok_or(Refusal::InvalidParameter)?;
        let (id, file) = link.make(Request::CreateQueue(entries))?;
        let memory = Arc::new(Memory::map(&file.ok_or_else(garbled)?, length(entries))?);
        let place = Place::new(memory.clone());
        Ok(Self { link: link.clone(), id, memory, place, entries, taken: 0 })
    }

    /// Gives it `wanted` entries or some more in place of those that it has, with what is in them (`VipResizeCQ`); refused if that is more.
    pub fn resize(&mut self, wanted: u32) -> Result<(), Error> {
        let entries = entries(wanted).ok_or(Refusal::InvalidParameter)?;
        let (_, file) = self.link.ask(Request::ResizeQueue { queue: self.id, entries }, None)?;
        let memory = Arc::new(Memory::map(&file.ok_or_else(garbled)?, length(entries))?);
        let before = std::mem::replace(&mut self.memory, memory.clone());
        self.entries = entries;
        self.place.put(memory);
        // Whoever sleeps at what nobody writes to any more looks again.
        let word = before.word32(completions::PUT);
        word.fetch_add(1, Ordering::AcqRel);
        wait::wake(word, before.word32(completions::AWAITED));
        Ok(())
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Whose descriptor is complete next: the virtual interface, by its [id](crate::Vi::id), and its queue (`VipCQDone`). Makes no system call.
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

    /// With what another thread sleeps until there is one.
    pub fn sleeper(&self) -> Sleeper {
        Sleeper::new(&self.link, &self.place, (completions::PUT, completions::AWAITED))
    }

    /// Sleeps until there is one (`VipCQWait`). When the provider is [gone](Error::Lost) there will be none: what is posted is flushed, and
    /// found at the virtual interfaces.
    pub fn wait(&mut self, most: Option<Duration>) -> Result<(u32, Which), Error> {
        let patience = Patience::new(most);
        loop {
            if let Some(entry) = self.poll() {
                return Ok(entry);
            }
            if self.link.is_lost() {
                return Err(Error::Lost);
            }
            let left = patience.left().ok_or(Refusal::Timeout)?;
            let (word, awaited) =
                (self.memory.word32(completions::PUT), self.memory.word32(completions::AWAITED));
            self.link.sleep(word, self.taken, awaited, left);
        }
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        let _ = self.link.ask(Request::DestroyQueue(self.id), None);
    }
}
