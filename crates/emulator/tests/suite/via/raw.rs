//! Program without the library: it talks to the provider directly, and writes arbitrary words into
//! shared memory.

use std::os::fd::OwnedFd;
use std::path::Path;

use std::sync::atomic::Ordering;

use laxity_vi::provider::{Answer, ControlRequest, Memory, Socket};
use laxity_vi::{Bandwidth, Reliability, ViRefusal};

/// Bytes of the doorbells, and of the queues of a virtual interface.
pub(crate) const BELLS: usize = 512 + 8 * 1024;
pub(crate) const QUEUES: usize = 768 + 2 * 256 * 256;

/// Offset of the send descriptors, and the size of one.
const SENDS: usize = 768;
const SLOT: usize = 256;

pub(crate) struct Raw {
    socket: Socket,
    pub(crate) bells: Memory,
    rung: u32,
}

impl Raw {
    pub(crate) fn open(path: &Path) -> Self {
        let socket = Socket::connect(path).unwrap();
        let (answer, file) = ask(&socket, ControlRequest::Open, None);
        assert!(matches!(answer, Answer::Opened(_)), "{answer:?}");
        let bells = Memory::map(&file.unwrap(), BELLS).unwrap();
        Self { socket, bells, rung: 0 }
    }

    pub(crate) fn ask(&self, request: ControlRequest, file: Option<&OwnedFd>) -> (Answer, Option<OwnedFd>) {
        ask(&self.socket, request, file)
    }

    /// Sends raw words; returns the response, or `None` if there was none.
    pub(crate) fn say(&self, words: &[u64; 16], file: Option<&OwnedFd>) -> Option<Answer> {
        self.socket.send(words, file).ok()?;
        Answer::of(&self.socket.receive().ok()??.words)
    }

    pub(crate) fn make(&self, request: ControlRequest) -> (u32, Option<OwnedFd>) {
        match self.ask(request, None) {
            (Answer::Made(number), file) => (number, file),
            (answer, _) => panic!("{request:?}: {answer:?}"),
        }
    }

    pub(crate) fn refused(&self, request: ControlRequest, file: Option<&OwnedFd>) -> ViRefusal {
        match self.ask(request, file) {
            (Answer::Refused(refusal), None) => refusal,
            (answer, _) => panic!("{request:?}: {answer:?}"),
        }
    }

    /// Creates a virtual interface with its queues; `None` if it is refused.
    pub(crate) fn try_vi(&self, tag: u32, reliability: Reliability) -> Option<(u32, Memory)> {
        let bandwidth = Bandwidth::None;
        let (write, read, queues, playout) = (true, true, [None; 2], 0);
        match self
            .ask(ControlRequest::CreateVi { tag, reliability, write, read, bandwidth, queues, playout }, None)
        {
            (Answer::Made(vi), Some(file)) => Some((vi, Memory::map(&file, QUEUES).unwrap())),
            (Answer::Refused(ViRefusal::Resource), None) => None,
            (answer, _) => panic!("{answer:?}"),
        }
    }

    pub(crate) fn ring(&mut self, word: u64) {
        let at = 512 + 8 * (self.rung % 1024) as usize;
        self.bells.word64(at).store(word, Ordering::Relaxed);
        self.rung = self.rung.wrapping_add(1);
        self.bells.word32(0).store(self.rung, Ordering::Release);
    }
}

fn ask(socket: &Socket, request: ControlRequest, file: Option<&OwnedFd>) -> (Answer, Option<OwnedFd>) {
    socket.send(&request.to_words(), file).unwrap();
    let datagram = socket.receive().unwrap().expect("the provider answers");
    (Answer::of(&datagram.words).expect("it is an answer"), datagram.file)
}

/// Writes a send descriptor to slot `number`: the control word, the length, and one segment.
pub(crate) fn write_send(
    queues: &Memory,
    number: usize,
    control: u64,
    length: u64,
    segment: (u64, u32, u32),
) {
    let at = |word: usize| queues.word64(SENDS + SLOT * (number % 256) + 8 * word);
    let (address, handle, bytes) = segment;
    let rest = u64::from(handle) | u64::from(bytes) << 32;
    for (word, value) in [(0, control), (1, length), (6, address), (7, rest)] {
        at(word).store(value, Ordering::Relaxed);
    }
}

/// Status of slot `number`, once it is complete.
pub(crate) fn sent(queues: &Memory, number: usize) -> u32 {
    while (queues.word32(128).load(Ordering::Acquire) as usize) <= number {
        std::thread::yield_now();
    }
    queues.word64(SENDS + SLOT * (number % 256) + 32).load(Ordering::Relaxed) as u32
}
