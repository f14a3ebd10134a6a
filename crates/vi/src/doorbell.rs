//! Doorbells of a process: one queue of words, as hardware merges the doorbells of all virtual
//! interfaces.
//!
//! A doorbell names a queue of a virtual interface and a number of newly posted descriptors. The
//! provider checks that the virtual interface belongs to the process and that the descriptors
//! exist. A process can only corrupt its own queue and lose its own doorbells.

use std::sync::atomic::{Ordering, fence};

use crate::layout::{BELLS, DEPTH, bells};
use crate::memory::Memory;

/// Queue of a virtual interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// Send descriptors.
    Send = 0,
    /// Receive descriptors.
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

/// Announces newly posted descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doorbell {
    /// Virtual interface.
    pub vi: u32,
    /// Queue.
    pub queue: Which,
    /// Number of descriptors.
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

#[derive(Debug)]
pub(crate) struct Ringer {
    rung: u32,
    heard: u32,
}

impl Ringer {
    pub(crate) fn new() -> Self {
        Self { rung: 0, heard: 0 }
    }

    /// Rings; false if the doorbell queue is full.
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

/// Consumer side of the doorbell queue, in the provider.
#[derive(Debug, Default)]
pub struct Hearer {
    heard: u32,
    /// Rest of a partly consumed doorbell.
    rest: Option<Doorbell>,
    /// Doorbell count at the mark, while earlier doorbells are pending.
    mark: Option<u32>,
}

impl Hearer {
    /// Whether a doorbell is pending.
    #[inline]
    pub fn is_rung(&self, memory: &Memory) -> bool {
        memory.word32(bells::RUNG).load(Ordering::Relaxed) != self.heard || self.rest.is_some()
    }

    /// Marks the doorbells that have been rung by now.
    pub fn mark(&mut self, memory: &Memory) {
        let rung = memory.word32(bells::RUNG).load(Ordering::Acquire);
        // An invalid count marks only a partly consumed doorbell, so a process that lies does not
        // delay others.
        let mark = if rung.wrapping_sub(self.heard) <= BELLS { rung } else { self.heard };
        self.mark = (mark != self.heard || self.rest.is_some()).then_some(mark);
    }

    /// Whether doorbells from before the mark are pending.
    pub fn is_before_mark(&self) -> bool {
        self.mark.is_some()
    }

    /// Consumes doorbells for up to `most` descriptors. Work is counted in descriptors, so one
    /// doorbell for many gets no more service than many doorbells. The last doorbell may be
    /// consumed in part. `None` passed to `take` is an invalid word, or an invalid count: its
    /// doorbells are lost, and the process continues after them.
    pub fn hear(&mut self, memory: &Memory, most: u32, mut take: impl FnMut(Option<Doorbell>)) {
        let rung = memory.word32(bells::RUNG).load(Ordering::Acquire);
        let mut left = most;
        if left > 0
            && let Some(rest) = self.rest.take()
        {
            left = self.hear_of(rest, left, &mut take);
        }
        if left > 0 && rung.wrapping_sub(self.heard) > BELLS {
            self.heard = rung;
            take(None);
        }
        while left > 0 && self.heard != rung {
            let at = bells::ENTRIES + 8 * (self.heard % BELLS) as usize;
            self.heard = self.heard.wrapping_add(1);
            match Doorbell::of(memory.word64(at).load(Ordering::Relaxed)) {
                Some(doorbell) => left = self.hear_of(doorbell, left, &mut take),
                None => {
                    take(None);
                    left -= 1;
                }
            }
        }
        if let Some(mark) = self.mark {
            // The rest of a partly consumed doorbell belongs to the last one before `heard`.
            let (ahead, in_part) = (mark.wrapping_sub(self.heard).cast_signed(), self.rest.is_some());
            let is_all = rung == self.heard && !in_part;
            self.mark = self.mark.filter(|_| !is_all && (ahead > 0 || (ahead == 0 && in_part)));
        }
        // The words are loaded before their entries are free again.
        fence(Ordering::Release);
        memory.word32(bells::HEARD).store(self.heard, Ordering::Relaxed);
    }

    /// Consumes the part of a doorbell for `left` descriptors, and keeps the rest; returns the
    /// remaining number.
    #[inline]
    fn hear_of(&mut self, doorbell: Doorbell, left: u32, take: &mut impl FnMut(Option<Doorbell>)) -> u32 {
        let count = u32::from(doorbell.count);
        // A count over the queue's depth is false, and is refused as a whole.
        if count <= left || count > DEPTH {
            take(Some(doorbell));
            return left.saturating_sub(count.max(1));
        }
        let part = left as u16;
        self.rest = Some(Doorbell { count: doorbell.count - part, ..doorbell });
        take(Some(Doorbell { count: part, ..doorbell }));
        0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn doorbells_are_a_bounded_queue(steps in prop::collection::vec((any::<bool>(), any::<bool>(), 0..900_u32), 0..40), counts in 1..600_u32, start in prop_oneof![Just(0), Just(u32::MAX - 500)]) {
            let (memory, _file) = Memory::create("bells", bells::LENGTH).unwrap();
            let (mut ringer, mut hearer) = (Ringer { rung: start, heard: start }, Hearer { heard: start, ..Hearer::default() });
            memory.word32(bells::RUNG).store(start, Ordering::Relaxed);
            memory.word32(bells::HEARD).store(start, Ordering::Relaxed);
            let (mut queue, mut next) = (VecDeque::<Doorbell>::new(), 0);
            // Number of queued doorbells before the mark; the first may be partly consumed.
            let mut before_mark = 0;
            for (rings, marks, count) in steps {
                if marks {
                    hearer.mark(&memory);
                    before_mark = queue.len();
                }
                if rings {
                    for _ in 0..count {
                        let queue_of = if next % 3 == 0 { Which::Receive } else { Which::Send };
                        let doorbell = Doorbell { vi: next, queue: queue_of, count: (next % counts) as u16 };
                        let rang = ringer.ring(&memory, doorbell);
                        // A partly consumed doorbell has left its entry.
                        let in_part = usize::from(hearer.rest.is_some());
                        prop_assert_eq!(rang, queue.len() < BELLS as usize + in_part);
                        if rang {
                            queue.push_back(doorbell);
                            next += 1;
                        }
                    }
                } else {
                    let mut heard = Vec::new();
                    hearer.hear(&memory, count, |doorbell| heard.push(doorbell.unwrap()));
                    let (mut expected, mut left) = (Vec::new(), count);
                    while left > 0 && let Some(first) = queue.front_mut() {
                        let whole = u32::from(first.count);
                        if whole <= left || whole > DEPTH {
                            expected.push(*first);
                            queue.pop_front();
                            before_mark = before_mark.saturating_sub(1);
                        } else {
                            expected.push(Doorbell { count: left as u16, ..*first });
                            first.count -= left as u16;
                        }
                        left = left.saturating_sub(whole.max(1));
                    }
                    prop_assert_eq!(heard, expected);
                }
                prop_assert_eq!(hearer.is_before_mark(), before_mark > 0);
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
                hearer.mark(&memory);
                hearer.hear(&memory, 3, |_| heard += 1);
                prop_assert!(heard <= 3);
                // Whatever the process writes, the provider gets past the mark within this many
                // calls.
                let mut looks = 0;
                while hearer.is_before_mark() && looks < BELLS * DEPTH {
                    hearer.hear(&memory, 1, |_| ());
                    looks += 1;
                }
                prop_assert!(!hearer.is_before_mark());
                hearer.hear(&memory, u32::MAX, |_| heard += 1);
                prop_assert!(heard <= BELLS + 3);
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
