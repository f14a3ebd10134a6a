//! Doorbells of a process: one queue of words, as hardware merges those of all its virtual interfaces.
//!
//! A doorbell says on which queue of which virtual interface so many descriptors more are posted. Whether that virtual interface is the
//! process's own, and has them, is for the provider to say. What a process can do to its own queue is lose its own doorbells.

use std::sync::atomic::{Ordering, fence};

use crate::layout::{BELLS, bells};
use crate::memory::Memory;

/// A queue of a virtual interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// Descriptors of what is sent.
    Send = 0,
    /// Descriptors of room for what comes.
    Receive = 1,
}

impl Which {
    pub(crate) fn of(bits: u64) -> Option<Self> {
        match bits {
            0 => Some(Which::Send),
            1 => Some(Which::Receive),
            _ => None,
        }
    }
}

/// So many descriptors more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doorbell {
    /// The virtual interface.
    pub vi: u32,
    /// The queue.
    pub queue: Which,
    /// How many.
    pub count: u16,
}

impl Doorbell {
    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.vi) | u64::from(self.count) << 32 | (self.queue as u64) << 48
    }

    pub(crate) fn of(word: u64) -> Option<Self> {
        let queue = Which::of(word >> 48)?;
        Some(Self { vi: word as u32, queue, count: (word >> 32) as u16 })
    }
}

/// Where a process rings.
#[derive(Debug)]
pub(crate) struct Ringer {
    rung: u32,
    heard: u32,
}

impl Ringer {
    pub(crate) fn new() -> Self {
        Self { rung: 0, heard: 0 }
    }

    /// Rings; false if the provider has as many to hear as there is room for.
    pub(crate) fn ring(&mut self, memory: &Memory, doorbell: Doorbell) -> bool {
        if self.rung.wrapping_sub(self.heard) >= BELLS {
            self.heard = memory.word32(bells::HEARD).load(Ordering::Acquire);
            if self.rung.wrapping_sub(self.heard) >= BELLS {
                return false;
            }
        }
        let at = bells::ENTRIES + 8 * (self.rung % BELLS) as usize;
        memory.word64(at).store(doorbell.to_word(), Ordering::Relaxed);
        self.rung = self.rung.wrapping_add(1);
        memory.word32(bells::RUNG).store(self.rung, Ordering::Release);
        true
    }
}

/// Where the provider hears.
#[derive(Debug, Default)]
pub struct Hearer {
    heard: u32,
}

impl Hearer {
    /// Whether something was rung that was not heard.
    #[inline]
    pub fn is_rung(&self, memory: &Memory) -> bool {
        memory.word32(bells::RUNG).load(Ordering::Relaxed) != self.heard
    }

    /// Hears up to `most` doorbells. `None` among them is a word that is none, or a count of more than can be rung: what was rung is lost
    /// then, and the process goes on from there.
    pub fn hear(&mut self, memory: &Memory, most: u32, mut take: impl FnMut(Option<Doorbell>)) {
        let rung = memory.word32(bells::RUNG).load(Ordering::Acquire);
        let waiting = rung.wrapping_sub(self.heard);
        if waiting > BELLS {
            self.heard = rung;
            take(None);
        } else {
            for _ in 0..waiting.min(most) {
                let at = bells::ENTRIES + 8 * (self.heard % BELLS) as usize;
                take(Doorbell::of(memory.word64(at).load(Ordering::Relaxed)));
                self.heard = self.heard.wrapping_add(1);
            }
        }
        // What was loaded was loaded before there is room for more.
        fence(Ordering::Release);
        memory.word32(bells::HEARD).store(self.heard, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn doorbells_are_a_bounded_queue(steps in prop::collection::vec((any::<bool>(), 0..900_u32), 0..40), start in prop_oneof![Just(0), Just(u32::MAX - 500)]) {
            let (memory, _file) = Memory::create("bells", bells::LENGTH).unwrap();
            let (mut ringer, mut hearer) = (Ringer { rung: start, heard: start }, Hearer { heard: start });
            memory.word32(bells::RUNG).store(start, Ordering::Relaxed);
            memory.word32(bells::HEARD).store(start, Ordering::Relaxed);
            let (mut queue, mut next) = (VecDeque::new(), 0);
            for (rings, count) in steps {
                if rings {
                    for _ in 0..count {
                        let queue_of = if next % 3 == 0 { Which::Receive } else { Which::Send };
                        let doorbell = Doorbell { vi: next, queue: queue_of, count: next as u16 };
                        let rang = ringer.ring(&memory, doorbell);
                        prop_assert_eq!(rang, queue.len() < BELLS as usize);
                        if rang {
                            queue.push_back(doorbell);
                            next += 1;
                        }
                    }
                } else {
                    let mut heard = Vec::new();
                    hearer.hear(&memory, count, |doorbell| heard.push(doorbell.unwrap()));
                    let expected: Vec<_> = queue.drain(..queue.len().min(count as usize)).collect();
                    prop_assert_eq!(heard, expected);
                }
                prop_assert_eq!(hearer.is_rung(&memory), !queue.is_empty());
            }
        }

        #[test]
        fn whatever_is_scribbled_ends(scribbles in prop::collection::vec((any::<u32>(), any::<u64>(), 0..BELLS), 1..20)) {
            let (memory, _file) = Memory::create("bells", bells::LENGTH).unwrap();
            let mut hearer = Hearer::default();
            for (rung, word, place) in scribbles {
                memory.word32(bells::RUNG).store(rung, Ordering::Relaxed);
                memory.word64(bells::ENTRIES + 8 * place as usize).store(word, Ordering::Relaxed);
                let mut heard = 0;
                hearer.hear(&memory, u32::MAX, |_| heard += 1);
                prop_assert!(heard <= BELLS);
                prop_assert!(!hearer.is_rung(&memory), "it was heard to its end");
            }
        }
    }

    #[test]
    fn a_word_that_is_no_doorbell_is_told_as_such() {
        assert_eq!(Doorbell::of(2 << 48), None);
        let doorbell = Doorbell { vi: 7, queue: Which::Receive, count: 3 };
        assert_eq!(Doorbell::of(doorbell.to_word()), Some(doorbell));
    }
}
