//! The provider's half: what programs wrote, read once and checked, and what it tells them.
//!
//! Nothing in here decides what an adapter does; that is the firmware's.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

pub use crate::control::{Answer, Request, Words};
pub use crate::descriptor::{MOST_BYTES, Posted};
pub use crate::doorbell::{Doorbell, Hearer, Which};
pub use crate::memory::Memory;
pub use crate::socket::{Datagram, Socket};

use crate::completion;
use crate::control::State;
use crate::descriptor::{Completion, Status};
use crate::layout::{DEPTH, SLOT, bells, completions, queues};
use crate::wait;

/// A process's doorbells, and the file for the process to map.
pub fn doorbells() -> io::Result<(Memory, OwnedFd)> {
    Memory::create("laxity-doorbells", bells::LENGTH)
}

/// Tells a process that somebody wants to be connected.
pub fn announce_call(doorbells: &Memory) {
    let calls = doorbells.word32(bells::CALLS);
    calls.fetch_add(1, Ordering::AcqRel);
    wait::wake(calls, doorbells.word32(bells::CALLS_AWAITED));
}

/// The queues of a virtual interface.
#[derive(Debug)]
pub struct ViQueues {
    memory: Memory,
    /// Descriptors completed so far, which is also the number of the next to complete.
    completed: [u32; 2],
}

impl ViQueues {
    /// Empty ones, and the file for the program to map.
    pub fn create() -> io::Result<(Self, OwnedFd)> {
        let (memory, file) = Memory::create("laxity-vi-queues", queues::LENGTH)?;
        Ok((Self { memory, completed: [0; 2] }, file))
    }

    /// Tells the program what the virtual interface is at.
    pub fn show(&self, state: State) {
        let word = self.memory.word32(queues::STATE);
        word.store(state as u32, Ordering::Release);
        wait::wake(word, self.memory.word32(queues::STATE_AWAITED));
    }

    fn slot(&self, which: Which, number: u32) -> usize {
        queues::SLOTS[which as usize] + SLOT * (number % DEPTH) as usize
    }

    /// The descriptor of that number, counted from the first that was ever posted.
    pub fn read(&self, which: Which, number: u32) -> Result<Posted, Status> {
        Posted::read(self.memory.words(self.slot(which, number)))
    }

    /// The oldest descriptor of a queue is complete.
    pub fn complete(&mut self, which: Which, completion: &Completion) {
        let completed = &mut self.completed[which as usize];
        let number = *completed;
        *completed = number.wrapping_add(1);
        let counted = *completed;
        completion.write(self.memory.words(self.slot(which, number)));
        let word = self.memory.word32(queues::COMPLETED[which as usize]);
        word.store(counted, Ordering::Release);
        wait::wake(word, self.memory.word32(queues::AWAITED[which as usize]));
    }
}

/// A completion queue.
#[derive(Debug)]
pub struct CompletionEntries {
    memory: Memory,
    entries: u32,
    put: u32,
}

impl CompletionEntries {
    /// An empty one of `wanted` entries or some more, and the file for the program to map; an error of the kind `InvalidInput` if there
    /// is none of that size.
    pub fn create(wanted: u32) -> io::Result<(Self, OwnedFd)> {
        let entries = completion::entries(wanted).ok_or(io::ErrorKind::InvalidInput)?;
        let (memory, file) = Memory::create("laxity-completions", completion::length(entries))?;
        Ok((Self { memory, entries, put: 0 }, file))
    }

    /// Puts an entry in; false if it is full, or a program that scribbles says so.
    pub fn put(&mut self, vi: u32, which: Which) -> bool {
        let taken = self.memory.word32(completions::TAKEN).load(Ordering::Acquire);
        if self.put.wrapping_sub(taken) >= self.entries {
            return false;
        }
        let at = completions::ENTRIES + 8 * (self.put & (self.entries - 1)) as usize;
        self.memory.word64(at).store(u64::from(vi) | (which as u64) << 32, Ordering::Relaxed);
        self.put = self.put.wrapping_add(1);
        let word = self.memory.word32(completions::PUT);
        word.store(self.put, Ordering::Release);
        wait::wake(word, self.memory.word32(completions::AWAITED));
        true
    }
}
