//! Hand-written loops without an engine.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::hint::black_box;
use std::time::Duration;

use crate::{Polled, SEED, SplitMix64, hold as b, polling as a, timed};

/// Heap entry; the greatest is the first event.
struct Entry<E> {
    time: u64,
    sequence: u64,
    event: E,
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.cmp(&self.time).then(other.sequence.cmp(&self.sequence))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

/// Heap with a counter that orders ties.
struct Heap<E> {
    heap: BinaryHeap<Entry<E>>,
    sequence: u64,
}

impl<E> Heap<E> {
    fn new() -> Self {
        Self { heap: BinaryHeap::new(), sequence: 0 }
    }

    fn push(&mut self, time: u64, event: E) {
        self.heap.push(Entry { time, sequence: self.sequence, event });
        self.sequence += 1;
    }
}

#[derive(Clone, Copy)]
enum Polling {
    Arrive,
    Poll,
    CpuDone,
    SvcDone { class: u8, arrival: u64 },
}

/// Workload A.
#[inline(never)]
pub(crate) fn polling() -> (Polled, Duration) {
    let mut random = SplitMix64(SEED);
    let mut heap = Heap::new();
    heap.push(1, Polling::Arrive);
    heap.push(a::SLOT, Polling::Poll);
    timed(|| {
        let mut queues = [VecDeque::<u64>::with_capacity(a::QUEUE), VecDeque::with_capacity(a::QUEUE)];
        let mut result = Polled { events: 0, served: [0; 2], drops: 0, latency: 0 };
        let (mut k, mut slot) = (0u64, 0);
        let (mut rt, mut nrt) = (0, 0);
        while let Some(Entry { time: t, event, .. }) = heap.heap.pop() {
            if t > a::UNTIL {
                break;
            }
            result.events += 1;
            let next = match event {
                Polling::Arrive => {
                    let queue = &mut queues[(k % 2) as usize];
                    if queue.len() < a::QUEUE {
                        queue.push_back(t);
                    } else {
                        result.drops += 1;
                    }
                    k += 1;
                    heap.push(1 + a::PERIOD * k, Polling::Arrive);
                    false
                }
                Polling::Poll => {
                    slot = t / a::SLOT * a::SLOT;
                    heap.push(t + a::CPU, Polling::CpuDone);
                    false
                }
                Polling::CpuDone => {
                    (rt, nrt) = (0, 0);
                    true
                }
                Polling::SvcDone { class, arrival } => {
                    result.served[class as usize] += 1;
                    result.latency += t - arrival;
                    true
                }
            };
            if next {
                let popped = if rt < 2 && nrt == 0 && !queues[0].is_empty() {
                    rt += 1;
                    queues[0].pop_front().map(|arrival| (0, arrival))
                } else if nrt < 2 && !queues[1].is_empty() {
                    nrt += 1;
                    queues[1].pop_front().map(|arrival| (1, arrival))
                } else {
                    None
                };
                if let Some((class, arrival)) = popped {
                    heap.push(t + random.exp(a::SERVICE), Polling::SvcDone { class, arrival });
                } else if t < slot + a::SLOT {
                    heap.push(slot + a::SLOT, Polling::Poll);
                } else {
                    slot = t / a::SLOT * a::SLOT;
                    heap.push(t + a::CPU, Polling::CpuDone);
                }
            }
        }
        black_box(result)
    })
}

enum Hold {
    Fire(u32),
}

/// Workload B.
#[inline(never)]
pub(crate) fn hold(components: u32, fires: u64) -> (u64, Duration) {
    let mut random = SplitMix64(SEED);
    let mut heap = Heap::new();
    for i in 0..components {
        heap.push(random.exp(b::MEAN), Hold::Fire(i));
    }
    timed(|| {
        let mut checksum = 0u64;
        for _ in 0..fires {
            let Entry { time: t, event: Hold::Fire(i), .. } = heap.heap.pop().unwrap();
            checksum = checksum.wrapping_add(t ^ u64::from(i).wrapping_mul(b::SPREAD));
            heap.push(t + random.exp(b::MEAN), Hold::Fire(i));
        }
        black_box(checksum)
    })
}
