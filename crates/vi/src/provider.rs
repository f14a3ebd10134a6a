//! Provider's half: words of programs, read once and checked, and notifications to programs.
//!
//! It decides no behaviour of the adapter; that is the firmware's task.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

pub use crate::control::{Answer, ControlRequest, Words};
pub use crate::descriptor::{MOST_BYTES, ReadDescriptor};
pub use crate::doorbell::{Doorbell, Hearer, Which};
pub use crate::memory::Memory;
pub use crate::socket::{Datagram, Socket};
pub use crate::wait::{sleep, wake};

use crate::completion;
use crate::control::{State, ViFault};
use crate::descriptor::{Completion, Status};
use crate::layout::{DEPTH, SLOT, bells, completions, queues};
use crate::wait;

/// Doorbells of a process, and the file for the process to map.
pub fn doorbells() -> io::Result<(Memory, OwnedFd)> {
    Memory::create("laxity-doorbells", bells::LENGTH)
}

/// Notifies a process of a connection request.
pub fn announce_call(doorbells: &Memory) {
    let calls = doorbells.word32(bells::CALLS);
    calls.fetch_add(1, Ordering::AcqRel);
    wait::wake(calls, doorbells.word32(bells::CALLS_AWAITED));
}

/// Queues of a virtual interface.
#[derive(Debug)]
pub struct ViQueues {
    memory: Memory,
    /// Completed descriptors, which is also the number of the next to complete.
    completed: [u32; 2],
}

impl ViQueues {
    /// Size in bytes.
    pub const BYTES: usize = queues::LENGTH;

    /// Creates empty queues, and the file for the program to map.
    pub fn create() -> io::Result<(Self, OwnedFd)> {
        let (memory, file) = Memory::create("laxity-vi-queues", queues::LENGTH)?;
        Ok((Self { memory, completed: [0; 2] }, file))
    }

    /// Publishes the state of the virtual interface to the program.
    pub fn show(&self, state: State) {
        self.put_state(state as u32);
    }

    /// Publishes that the virtual interface is broken, and why.
    pub fn show_fault(&self, fault: ViFault) {
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

    /// Descriptor of that number, counted from the first that was ever posted.
    pub fn read(&self, which: Which, number: u32) -> Result<ReadDescriptor, Status> {
        ReadDescriptor::read(self.memory.words(self.slot(which, number)))
    }

    /// Completes the oldest descriptor of a queue. The program sees it after [`tell`](Self::tell).
    pub fn complete(&mut self, which: Which, completion: &Completion) {
        let number = self.completed[which as usize];
        self.completed[which as usize] = number.wrapping_add(1);
        completion.write(self.memory.words(self.slot(which, number)));
    }

    /// Publishes all completed descriptors of a queue: the cache line that the program polls
    /// changes once for all of them.
    pub fn tell(&self, which: Which) {
        let word = self.memory.word32(queues::COMPLETED[which as usize]);
        word.store(self.completed[which as usize], Ordering::Release);
        wait::wake(word, self.memory.word32(queues::AWAITED[which as usize]));
    }
}

/// Completion queue.
#[derive(Debug)]
pub struct CompletionEntries {
    memory: Memory,
    entries: u32,
    put: u32,
}

impl CompletionEntries {
    /// Size in bytes of a queue of at least `wanted` entries; `None` if that exceeds the maximum.
    pub fn bytes(wanted: u32) -> Option<usize> {
        completion::entries(wanted).map(completion::length)
    }

    /// Creates an empty queue of at least `wanted` entries, and the file for the program to map; an
    /// error of the kind `InvalidInput` if that exceeds the maximum.
    pub fn create(wanted: u32) -> io::Result<(Self, OwnedFd)> {
        let entries = completion::entries(wanted).ok_or(io::ErrorKind::InvalidInput)?;
        let (memory, file) = Memory::create("laxity-completions", completion::length(entries))?;
        Ok((Self { memory, entries, put: 0 }, file))
    }

    /// Puts `count` entries; false if they do not all fit, or the program's count is invalid.
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
