//! A work queue as its program has it: slots of descriptors, in a ring, and how many of them are posted, complete and reaped.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::descriptor::{Completion, Descriptor, Status};
use crate::doorbell::Which;
use crate::error::{Error, Refusal};
use crate::layout::{DEPTH, MOST_SEGMENTS, SLOT, queues};
use crate::link::Link;
use crate::memory::Memory;
use crate::wait::Patience;

/// The program's side of one queue.
#[derive(Debug)]
pub(crate) struct Queue {
    which: Which,
    posted: u32,
    reaped: u32,
    /// The provider's count, as it was last looked at.
    completed: u32,
    /// The provider is gone, and its count counts no more.
    lost: bool,
}

impl Queue {
    pub(crate) fn new(which: Which) -> Self {
        Self { which, posted: 0, reaped: 0, completed: 0, lost: false }
    }

    /// Descriptors that are posted and not reaped.
    pub(crate) fn outstanding(&self) -> u32 {
        self.posted.wrapping_sub(self.reaped)
    }

    fn slot(&self, number: u32) -> usize {
        queues::SLOTS[self.which as usize] + SLOT * (number % DEPTH) as usize
    }

    /// Writes descriptors into the next slots: all, or none for want of room.
    pub(crate) fn write(&self, memory: &Memory, descriptors: &[Descriptor<'_>]) -> Result<(), Error> {
        if descriptors.len() > (DEPTH - self.outstanding()) as usize {
            return Err(Refusal::Resource.into());
        }
        if descriptors.iter().any(|descriptor| descriptor.segments.len() > MOST_SEGMENTS) {
            return Err(Refusal::InvalidParameter.into());
        }
        for (i, descriptor) in descriptors.iter().enumerate() {
            descriptor.write(memory.words(self.slot(self.posted.wrapping_add(i as u32))));
        }
        Ok(())
    }

    /// Their doorbell was rung.
    pub(crate) fn posted(&mut self, count: u32) {
        self.posted = self.posted.wrapping_add(count);
    }

    /// The oldest descriptor, if it is complete: a load, and of a line that changes only when something is. When the provider is `lost` all
    /// that it has not completed is flushed.
    #[inline]
    pub(crate) fn poll(&mut self, memory: &Memory, link: &Link) -> Option<Completion> {
        if self.reaped == self.posted {
            return None;
        }
        if self.completed == self.reaped {
            if !self.lost {
                // In this order: what it completed before it went counts.
                let lost = link.is_lost();
                let word = memory.word32(queues::COMPLETED[self.which as usize]);
                self.completed = word.load(Ordering::Acquire);
                self.lost = lost && self.completed == self.reaped;
            }
            if self.lost {
                return Some(self.flush());
            }
            if self.completed == self.reaped {
                return None;
            }
        }
        let completion = Completion::read(memory.words(self.slot(self.reaped)));
        self.reaped = self.reaped.wrapping_add(1);
        Some(completion)
    }

    /// The oldest descriptor comes to nothing, since there is nobody who could do anything with it.
    #[cold]
    fn flush(&mut self) -> Completion {
        (self.completed, self.reaped) = (self.reaped.wrapping_add(1), self.reaped.wrapping_add(1));
        let kind = if self.which == Which::Receive { Status::RECEIVE } else { Status::default() };
        let status = Status::DONE.and(kind).and(Status::FLUSHED).and(Status::TRANSPORT_ERROR);
        Completion { status, length: 0, immediate: None }
    }

    /// The oldest descriptor once it is complete; sleeps until then.
    pub(crate) fn wait(
        &mut self,
        memory: &Memory,
        link: &Link,
        most: Option<Duration>,
    ) -> Result<Completion, Error> {
        let patience = Patience::new(most);
        loop {
            if let Some(completion) = self.poll(memory, link) {
                return Ok(completion);
            }
            if self.reaped == self.posted {
                return Err(Refusal::InvalidState.into());
            }
            let left = patience.left().ok_or(Refusal::Timeout)?;
            let place = self.which as usize;
            let (word, awaited) =
                (memory.word32(queues::COMPLETED[place]), memory.word32(queues::AWAITED[place]));
            link.sleep(word, self.reaped, awaited, left);
        }
    }
}
