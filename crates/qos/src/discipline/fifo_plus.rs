//! FIFO+: in the order in which items would have arrived with the usual waits at earlier hops.
//!
//! FIFO shares a wait among all items that arrive at about that time, which keeps the tail of
//! delays short at one hop. Over several hops an item may meet long waits at each. Clark, Shenker
//! and Zhang ("Supporting real-time applications in an integrated services packet network", SIGCOMM
//! 1992) let an item carry its wait beyond the usual one, hop by hop, and order by the expected
//! arrival:
//!
//! ```text
//! expected arrival = arrival − Σ_{hops before} (its wait − the usual wait there)
//! ```
//!
//! The usual wait is a mean over the items that this queue has served. Each new wait counts a 64th,
//! so that the mean follows the load and not one burst.
//!
//! **Guarantees.** FIFO+ isolates no flow: a flow that sends much makes all flows wait. At the
//! first hop it is FIFO, and the delay of an item is at most the sum of all bursts: `bound` is `Σ σ
//! / C` plus the item that was begun, for flows that all keep their buckets. For more hops only a
//! measurement is published. The 99.9 percentile of delay grows more slowly with the number of hops
//! than under FIFO, and both are below WFQ (ibid., Table 2). `experiments/disciplines` tests this.
//!
//! **Carried state** is in the simulated packet ([`Carried`](crate::packet::Carried)); the wire's
//! header has no field for it. Hosts and ports of switches count as hops; a queue inside an adapter
//! orders by the carried wait and adds none. Best effort goes by arrival when no other item waits.
//! Work-conserving, `O(log n)` an item.

use std::collections::VecDeque;

use laxity_units::{Span, Time};

use super::keyed::{Keyed, evict};
use super::sharing::Sharing;
use super::{Class, ItemRequest, Rank, Tag};

/// A queue by expected arrival, equal ones by arrival, followed by best effort.
#[derive(Debug, Clone)]
pub struct FifoPlus<T> {
    /// Each item with its arrival time.
    queue: Keyed<(Time, T), i128>,
    best_effort: VecDeque<(Tag, T)>,
    /// 64 times the usual wait, in picoseconds.
    waits: u128,
}

/// The inverse of a new wait's weight in the mean.
const MEMORY: u128 = 64;

impl<T> Default for FifoPlus<T> {
    fn default() -> Self {
        Self { queue: Keyed::new(), best_effort: VecDeque::new(), waits: 0 }
    }
}

impl<T> FifoPlus<T> {
    pub(super) fn enqueue(&mut self, now: Time, request: &ItemRequest, item: T) {
        match request.tag.class {
            Class::RealTime => {
                let expected = i128::from(now.as_ps()) - i128::from(request.carried.excess);
                self.queue.push(expected, request.tag, (now, item));
            }
            Class::BestEffort => self.best_effort.push_back((request.tag, item)),
        }
    }

    pub(super) fn select(&mut self, now: Time) -> Option<(Tag, T)> {
        let Some((tag, (came, item))) = self.queue.pop() else {
            return self.best_effort.pop_front();
        };
        let waited = u128::from(now.saturating_since(came).as_ps());
        self.waits = self.waits - self.waits / MEMORY + waited;
        Some((tag, item))
    }

    /// Usual wait of real-time items here.
    pub(super) fn usual_wait(&self) -> Span {
        Span::from_ps(u64::try_from(self.waits / MEMORY).unwrap_or(u64::MAX))
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        match self.queue.len() {
            0 => self.best_effort.front().map(|(tag, _)| self.rank(tag, now)),
            _ => Some(Rank(0, Time::ZERO)),
        }
    }

    pub(super) fn rank(&self, tag: &Tag, _now: Time) -> Rank {
        Rank(u8::from(tag.class == Class::BestEffort), Time::ZERO)
    }

    pub(super) fn next_eligible(&mut self, _now: Time) -> Option<Time> {
        None
    }

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        evict(&mut self.best_effort)
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        let real_time = self.queue.drain().map(|(_, (_, item))| item);
        real_time.chain(self.best_effort.drain(..).map(|(_, item)| item)).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len() + self.best_effort.len()
    }
}

/// `Σ σ / C` plus the item that was begun, at the first hop, if all flows keep their buckets and
/// all are real time.
pub(super) fn bound(sharing: &Sharing) -> Span {
    let all = (0..sharing.flows.len()).map(|flow| sharing.burst(flow));
    all.fold(sharing.without(), Span::saturating_add)
}
