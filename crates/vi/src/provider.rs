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
use crate::control::{Fault, State};
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
    /// Bytes that they take.
    pub const BYTES: usize = queues::LENGTH;

    /// Empty ones, and the file for the program to map.
    pub fn create() -> io::Result<(Self, OwnedFd)> {
        let (memory, file) = Memory::create("laxity-vi-queues", queues::LENGTH)?;
        Ok((Self { memory, completed: [0; 2] }, file))
    }

    /// Tells the program what the virtual interface is at.
    pub fn show(&self, state: State) {
        self.put_state(state as u32);
    }

    /// Tells the program that the virtual interface is broken, and why.
    pub fn show_fault(&self, fault: Fault) {
        self.put_state(State::Error as u32 | (fault as u32) << 8);
    }

    fn put_state(&self, state: u32) {
        let word = self.memory.word32(queues::STATE);
        word.store(state, Ordering::Release);
        wait::wake(word, self.memory.word32(queues::STATE_AWAITED));
    }

    fn slot(&self, which: Which, number: u32) -> usize {
        queues::SLOTS[which as usize] + SLOT * (number % DEPTH) as usize
    }

    /// The descriptor of that number, counted from the first that was ever posted.
    pub fn read(&self, which: Which, number: u32) -> Result<Posted, Status> {
        Posted::read(self.memory.words(self.slot(which, number)))
    }

    /// The oldest descriptor of a queue is complete. Its program sees that once it is [told](Self::tell).
    pub fn complete(&mut self, which: Which, completion: &Completion) {
        let number = self.completed[which as usize];
        self.completed[which as usize] = number.wrapping_add(1);
        completion.write(self.memory.words(self.slot(which, number)));
    }

    /// Tells the program of all descriptors of a queue that are complete: the line that it looks at changes once for all of them.
    pub fn tell(&self, which: Which) {
        let word = self.memory.word32(queues::COMPLETED[which as usize]);
        word.store(self.completed[which as usize], Ordering::Release);
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
    /// Bytes of one of `wanted` entries or some more; `None` if there is none of that size.
    pub fn bytes(wanted: u32) -> Option<usize> {
        completion::entries(wanted).map(completion::length)
    }

    /// An empty one of `wanted` entries or some more, and the file for the program to map; an error of the kind `InvalidInput` if there
    /// is none of that size.
    pub fn create(wanted: u32) -> io::Result<(Self, OwnedFd)> {
        let entries = completion::entries(wanted).ok_or(io::ErrorKind::InvalidInput)?;
        let (memory, file) = Memory::create("laxity-completions", completion::length(entries))?;
        Ok((Self { memory, entries, put: 0 }, file))
    }

    /// Takes what is in `other` that its program has not taken; false if there is not room for it. Its program goes on counting.
    pub fn take_over(&mut self, other: &Self) -> bool {
        let taken = other.memory.word32(completions::TAKEN).load(Ordering::Acquire);
        let waiting = other.put.wrapping_sub(taken);
        // A program that scribbles has taken all.
        let waiting = if waiting <= other.entries { waiting } else { 0 };
        if waiting > self.entries {
            return false;
        }
        let at = |entries: u32, number: u32| completions::ENTRIES + 8 * (number & (entries - 1)) as usize;
        for number in (0..waiting).map(|n| other.put.wrapping_sub(waiting).wrapping_add(n)) {
            let entry = other.memory.word64(at(other.entries, number)).load(Ordering::Relaxed);
            self.memory.word64(at(self.entries, number)).store(entry, Ordering::Relaxed);
        }
        self.put = other.put;
        self.memory.word32(completions::TAKEN).store(other.put.wrapping_sub(waiting), Ordering::Relaxed);
        self.memory.word32(completions::PUT).store(self.put, Ordering::Release);
        true
    }

    /// Puts `count` entries in; false if there is not room for all of them, or a program that scribbles says so.
    pub fn put(&mut self, vi: u32, which: Which, count: u32) -> bool {
        let taken = self.memory.word32(completions::TAKEN).load(Ordering::Acquire);
        let room = self.entries.saturating_sub(self.put.wrapping_sub(taken));
        for _ in 0..count.min(room) {
            let at = completions::ENTRIES + 8 * (self.put & (self.entries - 1)) as usize;
            self.memory.word64(at).store(u64::from(vi) | (which as u64) << 32, Ordering::Relaxed);
            self.put = self.put.wrapping_add(1);
        }
        let word = self.memory.word32(completions::PUT);
        word.store(self.put, Ordering::Release);
        wait::wake(word, self.memory.word32(completions::AWAITED));
        count <= room
    }
}
