//! A ring of records in shared memory, with one producer and one consumer.
//!
//! ```text
//! at + 0    head: bytes written (u64)      at + 64   tail: bytes read (u64)
//! at + 128  armed: the consumer sleeps     at + 192  records
//! ```
//!
//! A record is four words (length and kind, then three words of the kind) and its bytes, padded to
//! 8. The other side may write anything at any time: a producer takes an impossible tail for a full
//! ring, and a consumer reports an impossible head or length ([`Garbled`]). Each word is loaded
//! once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use laxity_vi::provider::Memory;

const TAIL: usize = 64;
const ARMED: usize = 128;
const DATA: usize = 192;
const WORDS: usize = 4;

/// Bytes that a ring of `capacity` takes.
pub const fn bytes(capacity: usize) -> usize {
    DATA + capacity
}

/// The other side wrote what no ring has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Garbled;

/// The front of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingRecord {
    /// Its kind.
    pub kind: u32,
    /// Three words.
    pub words: [u64; 3],
}

/// Where a ring lies.
#[derive(Debug, Clone)]
struct Place {
    memory: Arc<Memory>,
    at: usize,
    capacity: usize,
}

impl Place {
    fn new(memory: &Arc<Memory>, at: usize, capacity: usize) -> Self {
        assert!(capacity.is_power_of_two() && at.is_multiple_of(8) && at + bytes(capacity) <= memory.bytes());
        Self { memory: memory.clone(), at, capacity }
    }

    fn armed(&self) -> &AtomicU32 {
        self.memory.word32(self.at + ARMED)
    }

    fn offset(&self, position: u64) -> usize {
        self.at + DATA + (position as usize & (self.capacity - 1))
    }

    /// The parts of `length` bytes from `position` on: before and behind the end of the ring.
    fn split(&self, position: u64, length: usize) -> usize {
        length.min(self.capacity - (position as usize & (self.capacity - 1)))
    }
}

/// The writing side.
#[derive(Debug)]
pub struct RecordProducer {
    place: Place,
    head: u64,
    /// The tail as it was last seen.
    tail: u64,
}

impl RecordProducer {
    /// The producer of an empty ring in `memory`.
    pub fn new(memory: &Arc<Memory>, at: usize, capacity: usize) -> Self {
        Self { place: Place::new(memory, at, capacity), head: 0, tail: 0 }
    }

    /// Writes a record; false if it does not fit now.
    pub fn push(&mut self, record: RingRecord, payload: &[u8]) -> bool {
        let length = 8 * WORDS + payload.len().next_multiple_of(8);
        if !self.has_room(length) {
            return false;
        }
        let place = &self.place;
        let front = u64::from(payload.len() as u32) | u64::from(record.kind) << 32;
        let [a, b, c] = record.words;
        for (word, value) in [front, a, b, c].into_iter().enumerate() {
            let at = place.offset(self.head + 8 * word as u64);
            place.memory.word64(at).store(value, Ordering::Relaxed);
        }
        let from = self.head + 8 * WORDS as u64;
        let (before, behind) = payload.split_at(place.split(from, payload.len()));
        place.memory.write(place.offset(from), before);
        place.memory.write(place.at + DATA, behind);
        self.head += length as u64;
        place.memory.word64(place.at).store(self.head, Ordering::Release);
        true
    }

    fn has_room(&mut self, length: usize) -> bool {
        let capacity = self.place.capacity as u64;
        let fits = |head: u64, tail: u64| {
            head.checked_sub(tail).is_some_and(|used| used <= capacity && capacity - used >= length as u64)
        };
        if !fits(self.head, self.tail) {
            self.tail = self.place.memory.word64(self.place.at + TAIL).load(Ordering::Acquire);
        }
        fits(self.head, self.tail)
    }

    /// The word that says whether the consumer sleeps.
    pub fn armed(&self) -> &AtomicU32 {
        self.place.armed()
    }
}

/// The reading side.
#[derive(Debug)]
pub struct RecordConsumer {
    place: Place,
    tail: u64,
    /// The head as it was last seen.
    head: u64,
}

impl RecordConsumer {
    /// The consumer of an empty ring in `memory`.
    pub fn new(memory: &Arc<Memory>, at: usize, capacity: usize) -> Self {
        Self { place: Place::new(memory, at, capacity), tail: 0, head: 0 }
    }

    /// The next record, with its bytes in `payload`; `None` if there is none.
    ///
    /// # Errors
    /// The producer does not follow the protocol.
    pub fn pop(&mut self, payload: &mut Vec<u8>) -> Result<Option<RingRecord>, Garbled> {
        if self.is_empty() {
            return Ok(None);
        }
        let place = &self.place;
        let used = self.head.checked_sub(self.tail).filter(|used| *used <= place.capacity as u64);
        let used = used.filter(|used| used.is_multiple_of(8) && *used >= 8 * WORDS as u64).ok_or(Garbled)?;
        let word =
            |n: usize| place.memory.word64(place.offset(self.tail + 8 * n as u64)).load(Ordering::Relaxed);
        let front = word(0);
        let record = RingRecord { kind: (front >> 32) as u32, words: [word(1), word(2), word(3)] };
        let length = front as u32 as usize;
        let whole = 8 * WORDS as u64 + (length as u64).next_multiple_of(8);
        if whole > used {
            return Err(Garbled);
        }
        payload.resize(length, 0);
        let from = self.tail + 8 * WORDS as u64;
        let (before, behind) = payload.split_at_mut(place.split(from, length));
        place.memory.read(place.offset(from), before);
        place.memory.read(place.at + DATA, behind);
        self.tail += whole;
        place.memory.word64(place.at + TAIL).store(self.tail, Ordering::Release);
        Ok(Some(record))
    }

    /// Whether no record is there.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        if self.head == self.tail {
            self.head = self.place.memory.word64(self.place.at).load(Ordering::Acquire);
        }
        self.head == self.tail
    }

    /// The word that says whether this side sleeps.
    pub fn armed(&self) -> &AtomicU32 {
        self.place.armed()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAPACITY: usize = 256;

    fn ring() -> (Arc<Memory>, RecordProducer, RecordConsumer) {
        let (memory, _file) = Memory::create("test", bytes(CAPACITY)).unwrap();
        let memory = Arc::new(memory);
        let ends = (RecordProducer::new(&memory, 0, CAPACITY), RecordConsumer::new(&memory, 0, CAPACITY));
        (memory, ends.0, ends.1)
    }

    proptest! {
        /// Records leave as they entered, whatever the order of writing and reading.
        #[test]
        fn a_ring_is_a_queue(steps in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..120)), 0..200)) {
            let (_memory, mut producer, mut consumer) = ring();
            let (mut model, mut payload) = (std::collections::VecDeque::new(), Vec::new());
            for (number, (writes, bytes)) in steps.into_iter().enumerate() {
                let record = RingRecord { kind: number as u32, words: [1, number as u64, 3] };
                if writes {
                    if producer.push(record, &bytes) {
                        model.push_back((record, bytes));
                    } else {
                        let waiting: usize = model.iter().map(|(_, bytes): &(_, Vec<u8>)| 32 + bytes.len().next_multiple_of(8)).sum();
                        prop_assert!(waiting + 32 + bytes.len().next_multiple_of(8) > CAPACITY);
                    }
                } else {
                    let read = consumer.pop(&mut payload).unwrap();
                    let expected = model.pop_front();
                    prop_assert_eq!(read, expected.as_ref().map(|(record, _)| *record));
                    if let Some((_, bytes)) = expected {
                        prop_assert_eq!(&payload, &bytes);
                    }
                }
            }
        }

        /// No words of the other side make a consumer panic or read outside of the ring.
        #[test]
        fn a_scribbling_producer_is_found_out(head in any::<u64>(), words in prop::collection::vec(any::<u64>(), 32)) {
            let (memory, _producer, mut consumer) = ring();
            for (n, word) in words.iter().enumerate() {
                memory.word64(DATA + 8 * n).store(*word, Ordering::Relaxed);
            }
            memory.word64(0).store(head, Ordering::Relaxed);
            let mut payload = Vec::new();
            for _ in 0..64 {
                if consumer.pop(&mut payload).is_err() {
                    break;
                }
                prop_assert!(payload.len() <= CAPACITY);
            }
        }
    }

    #[test]
    fn an_impossible_tail_is_a_full_ring() {
        let (memory, mut producer, _consumer) = ring();
        memory.word64(TAIL).store(1 << 40, Ordering::Relaxed);
        // The producer uses the tail that it has seen until it needs room.
        while producer.push(RingRecord::default(), &[0; 32]) {}
        assert!(!producer.push(RingRecord::default(), &[0; 32]));
    }
}
