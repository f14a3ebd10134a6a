//! Ring of entries between one producer and one consumer.
//!
//! The emulating thread must not wait: the platform may have suspended the holder of a lock for
//! milliseconds, and a channel that allocates or wakes makes a system call. Inputs therefore arrive
//! through a ring of fixed size, as between adapters and their drivers, with wait-free ends.
//!
//! The classic form (Lamport) reads the other end's index at every operation, so the cache line of
//! that index moves between the processors for every entry. Here each end caches the other's index
//! and reloads it only if the cached value shows no free slot or no entry; a batch is published by
//! one store. The line moves once per batch, or per round of a busy ring (as in FastForward and in
//! DPDK's rings). A consumer that takes entries one by one frees their slots in batches
//! ([`Consumer::take`]).
//!
//! Indexes count entries since the start and wrap; the slot is the index modulo the size, a power
//! of two.

#![allow(unsafe_code, reason = "slots are shared by two threads; the indexes say whose each one is")]

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use laxity_engine::InputDoorbell;

/// Maximum number of taken entries with slots not yet freed.
const HELD: usize = 32;

/// On own cache lines: the hardware prefetches neighbouring lines in pairs.
#[repr(align(128))]
struct Padded<T>(T);

struct Shared<T> {
    /// Count of entries taken; written by the consumer.
    head: Padded<AtomicUsize>,
    /// Count of entries put; written by the producer.
    tail: Padded<AtomicUsize>,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: the producer accesses a slot only while it is not between head and tail, the consumer
// only while it is. Each end moves its own index with release after its access, and reads the
// other's with acquire before. No slot is accessed by both at once, and `T: Send` may move between
// the threads.
unsafe impl<T: Copy + Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn slot(&self, index: usize) -> *mut MaybeUninit<T> {
        self.slots[index & (self.slots.len() - 1)].get()
    }
}

/// Creates a ring for at least `capacity` entries, rounded up to a power of two.
pub fn ring<T: Copy + Send>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let size = capacity.max(1).next_power_of_two();
    let slots = (0..size).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
    let shared =
        Arc::new(Shared { head: Padded(AtomicUsize::new(0)), tail: Padded(AtomicUsize::new(0)), slots });
    let consumer = Consumer { shared: shared.clone(), head: 0, given_back: 0, tail_seen: 0 };
    (Producer { shared, tail: 0, head_seen: 0 }, consumer)
}

/// Producer end.
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
    tail: usize,
    head_seen: usize,
}

impl<T: Copy + Send> Producer<T> {
    /// Capacity in entries.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    /// Number of free slots, at most `wanted`; reloads the consumer's index only if necessary.
    #[inline]
    pub fn room(&mut self, wanted: usize) -> usize {
        let room = |head: usize| self.shared.slots.len() - self.tail.wrapping_sub(head);
        if room(self.head_seen) < wanted {
            self.head_seen = self.shared.head.0.load(Ordering::Acquire);
        }
        room(self.head_seen).min(wanted)
    }

    /// Puts `entry`, or returns it if the ring is full.
    #[inline]
    pub fn push(&mut self, entry: T) -> Result<(), T> {
        if self.push_all(std::slice::from_ref(&entry)) == 1 { Ok(()) } else { Err(entry) }
    }

    /// Puts as many of `entries`, from the first, as fit, and returns their number.
    ///
    /// The consumer sees all of them at once.
    #[inline]
    pub fn push_all(&mut self, entries: &[T]) -> usize {
        let count = self.room(entries.len());
        if count == 0 {
            return 0;
        }
        for (offset, entry) in entries[..count].iter().enumerate() {
            // SAFETY: `count` slots from `tail` on are free, so the consumer does not access this
            // one.
            unsafe { (*self.shared.slot(self.tail.wrapping_add(offset))).write(*entry) };
        }
        self.tail = self.tail.wrapping_add(count);
        self.shared.tail.0.store(self.tail, Ordering::Release);
        count
    }
}

/// Consumer end.
pub struct Consumer<T> {
    shared: Arc<Shared<T>>,
    head: usize,
    /// Published head: slots before it are free for the producer.
    given_back: usize,
    tail_seen: usize,
}

impl<T: Copy + Send> Consumer<T> {
    /// Capacity in entries.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    /// Whether the ring is empty: a load of a cache line that changes only when the producer puts
    /// entries.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        self.waiting(1) == 0
    }

    /// Number of entries, at most `wanted`; reloads the producer's index only if necessary.
    #[inline]
    pub fn waiting(&mut self, wanted: usize) -> usize {
        if self.tail_seen.wrapping_sub(self.head) < wanted {
            self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
        }
        self.tail_seen.wrapping_sub(self.head).min(wanted)
    }

    /// Takes the oldest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let mut entry = None;
        self.pop_each(1, |oldest| entry = Some(oldest));
        entry
    }

    /// Takes the oldest entry, and frees slots in batches: after a few dozen entries, or when a
    /// call finds the ring empty. Until then a watcher may see entries that were taken.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        if self.waiting(1) == 0 {
            self.give_back();
            return None;
        }
        // SAFETY: there is an entry at `head`, as in `pop_each`.
        let entry = unsafe { (*self.shared.slot(self.head)).assume_init_read() };
        self.head = self.head.wrapping_add(1);
        if self.head.wrapping_sub(self.given_back) >= HELD {
            self.give_back();
        }
        Some(entry)
    }

    /// Publishes the freed slots; storing an unchanged value would still take the cache line from
    /// the producer.
    #[inline]
    fn give_back(&mut self) {
        if self.given_back != self.head {
            self.given_back = self.head;
            self.shared.head.0.store(self.head, Ordering::Release);
        }
    }

    /// Takes up to `most` entries, oldest first, passes each to `take`, and returns their number.
    ///
    /// Their slots are freed at once at the end; entries that arrive meanwhile are left for the
    /// next call.
    #[inline]
    pub fn pop_each(&mut self, most: usize, mut take: impl FnMut(T)) -> usize {
        let count = self.waiting(most);
        for offset in 0..count {
            // SAFETY: `count` entries from `head` on have been put, which initialised them, and the
            // producer leaves them alone until `head` has moved past. `T: Copy`, so reading moves
            // no value out.
            take(unsafe { (*self.shared.slot(self.head.wrapping_add(offset))).assume_init_read() });
        }
        self.head = self.head.wrapping_add(count);
        self.give_back();
        count
    }

    /// Observer for the clock, while the world has the consumer.
    pub fn watcher(&self) -> Watcher<T> {
        Watcher { shared: self.shared.clone() }
    }
}

impl<T: Copy + Send> InputDoorbell for Consumer<T> {
    #[inline]
    fn is_rung(&mut self) -> bool {
        !self.is_empty()
    }
}

/// Observes whether a ring has entries. It is exact on the consumer's thread once the consumer has
/// found the ring empty.
pub struct Watcher<T> {
    shared: Arc<Shared<T>>,
}

impl<T: Copy + Send> Watcher<T> {
    /// Whether the ring is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shared.tail.0.load(Ordering::Acquire) == self.shared.head.0.load(Ordering::Relaxed)
    }
}

impl<T: Copy + Send> InputDoorbell for Watcher<T> {
    #[inline]
    fn is_rung(&mut self) -> bool {
        !self.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Push(usize),
        Pop(usize),
        Take(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => (0..40_usize).prop_map(Step::Push),
            1 => (0..12_usize).prop_map(Step::Pop),
            1 => (0..40_usize).prop_map(Step::Take),
        ]
    }

    proptest! {
        #[test]
        fn a_ring_is_a_bounded_queue(
            capacity in prop_oneof![1..10_usize, 60..70_usize],
            start in prop_oneof![Just(0), Just(usize::MAX - 5)],
            steps in proptest::collection::vec(step(), 0..200),
        ) {
            let (mut producer, mut consumer) = ring::<u64>(capacity);
            // Start close to the point at which the indexes wrap.
            producer.shared.head.0.store(start, Ordering::Relaxed);
            producer.shared.tail.0.store(start, Ordering::Relaxed);
            (producer.tail, producer.head_seen, consumer.head, consumer.tail_seen) = (start, start, start, start);
            consumer.given_back = start;
            let watcher = consumer.watcher();
            let (mut queue, mut next, mut held) = (VecDeque::new(), 0, 0);
            for step in steps {
                match step {
                    Step::Push(count) => {
                        let entries: Vec<u64> = (next..next + count as u64).collect();
                        let pushed = producer.push_all(&entries);
                        prop_assert_eq!(pushed, count.min(producer.capacity() - queue.len() - held));
                        queue.extend(&entries[..pushed]);
                        next += pushed as u64;
                    }
                    Step::Pop(count) => {
                        let mut popped = Vec::new();
                        prop_assert_eq!(consumer.pop_each(count, |entry| popped.push(entry)), popped.len());
                        let expected: Vec<u64> = queue.drain(..count.min(queue.len())).collect();
                        prop_assert_eq!(popped, expected);
                        held = 0;
                    }
                    Step::Take(count) => {
                        for _ in 0..count {
                            let taken = consumer.take();
                            prop_assert_eq!(taken, queue.pop_front());
                            held = if taken.is_some() { (held + 1) % HELD } else { 0 };
                        }
                    }
                }
                prop_assert_eq!(consumer.is_empty(), queue.is_empty());
                prop_assert_eq!(watcher.is_empty(), queue.len() + held == 0);
            }
        }
    }

    #[test]
    fn two_threads_lose_nothing_and_keep_the_order() {
        // Miri is about a thousand times slower.
        const COUNT: u64 = if cfg!(miri) { 300 } else { 300_000 };
        let (mut producer, mut consumer) = ring::<[u64; 3]>(64);
        let sender = thread::spawn(move || {
            let entry = |n: u64| [n, n.wrapping_mul(0x9E37_79B9_7F4A_7C15), !n];
            let mut next = 0;
            while next < COUNT {
                let batch: Vec<_> = (next..COUNT.min(next + 1 + next % 17)).map(entry).collect();
                let pushed = producer.push_all(&batch);
                next += pushed as u64;
                if pushed == 0 {
                    thread::yield_now();
                }
            }
        });
        let mut expected = 0;
        while expected < COUNT {
            let mut check = |[n, product, inverse]: [u64; 3]| {
                assert_eq!((n, product, inverse), (expected, n.wrapping_mul(0x9E37_79B9_7F4A_7C15), !n));
                expected += 1;
            };
            // In batches and one by one.
            let taken = consumer.pop_each(40, &mut check) + consumer.take().map(check).iter().count();
            if taken == 0 {
                thread::yield_now();
            }
        }
        sender.join().unwrap();
        assert!(consumer.is_empty());
    }
}
