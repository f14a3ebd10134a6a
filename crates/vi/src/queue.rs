//! Work queue as seen by its program: a ring of descriptor slots, and the counts of posted,
//! complete and reaped ones.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::descriptor::{Completion, Descriptor, Status};
use crate::doorbell::Which;
use crate::error::{ViError, ViRefusal};
use crate::layout::{DEPTH, MOST_SEGMENTS, SLOT, queues};
use crate::link::Link;
use crate::memory::Memory;
use crate::wait::Patience;

#[derive(Debug)]
pub(crate) struct Queue {
    which: Which,
    posted: u32,
    reaped: u32,
    /// Provider's count when last read.
    completed: u32,
    /// The provider is lost, and its count is ignored.
    lost: bool,
}

impl Queue {
    pub(crate) fn new(which: Which) -> Self {
        Self { which, posted: 0, reaped: 0, completed: 0, lost: false }
    }

    pub(crate) fn outstanding(&self) -> u32 {
        self.posted.wrapping_sub(self.reaped)
    }

    fn slot(&self, number: u32) -> usize {
        queues::SLOTS[self.which as usize] + SLOT * (number % DEPTH) as usize
    }

    /// Writes descriptors into the next slots: all, or none if they do not fit.
    pub(crate) fn write(&self, memory: &Memory, descriptors: &[Descriptor<'_>]) -> Result<(), ViError> {
        if descriptors.len() > (DEPTH - self.outstanding()) as usize {
            return Err(ViRefusal::Resource.into());
        }
        if descriptors.iter().any(|descriptor| descriptor.segments.len() > MOST_SEGMENTS) {
            return Err(ViRefusal::InvalidParameter.into());
        }
        for (i, descriptor) in descriptors.iter().enumerate() {
            descriptor.write(memory.words(self.slot(self.posted.wrapping_add(i as u32))));
        }
        Ok(())
    }

    /// Counts descriptors after their doorbell was rung.
    pub(crate) fn posted(&mut self, count: u32) {
        self.posted = self.posted.wrapping_add(count);
    }

    /// Oldest descriptor, if complete: one load of a cache line that changes only with completions.
    /// If the provider is lost, all incomplete descriptors are flushed.
    #[inline]
    pub(crate) fn poll(&mut self, memory: &Memory, link: &Link) -> Option<Completion> {
        if self.reaped == self.posted {
            return None;
        }
        if self.completed == self.reaped {
            if !self.lost {
                // The order matters: completions before the loss count.
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

    /// Completes the oldest descriptor as flushed, since there is no provider.
    #[cold]
    fn flush(&mut self) -> Completion {
        (self.completed, self.reaped) = (self.reaped.wrapping_add(1), self.reaped.wrapping_add(1));
        let kind = if self.which == Which::Receive { Status::RECEIVE } else { Status::default() };
        let status = Status::DONE.and(kind).and(Status::FLUSHED).and(Status::TRANSPORT_ERROR);
        Completion { status, length: 0, immediate: None }
    }

    /// Sleeps until the oldest descriptor is complete.
    pub(crate) fn wait(
        &mut self,
        memory: &Memory,
        link: &Link,
        most: Option<Duration>,
    ) -> Result<Completion, ViError> {
        let patience = Patience::new(most);
        loop {
            if let Some(completion) = self.poll(memory, link) {
                return Ok(completion);
            }
            if self.reaped == self.posted {
                return Err(ViRefusal::InvalidState.into());
            }
            let left = patience.left().ok_or(ViRefusal::Timeout)?;
            let place = self.which as usize;
            let (word, awaited) =
                (memory.word32(queues::COMPLETED[place]), memory.word32(queues::AWAITED[place]));
            link.sleep(word, self.reaped, awaited, left);
        }
    }
}
