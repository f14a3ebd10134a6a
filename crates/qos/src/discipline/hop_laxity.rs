//! Hop laxity: the item with the least remaining time per remaining link goes first.
//!
//! EDF by the deadline at the last hop ignores that a packet with five links to go has to divide
//! its remaining time among all five. Schulzrinne, Kurose and Towsley ("An evaluation of scheduling
//! mechanisms for providing best-effort, real-time communication in wide-area networks", INFOCOM
//! 1994) order by
//!
//! ```text
//! (deadline at the end of the path − now) / links left, this one included
//! ```
//!
//! The least goes first. A late item has a negative value, and precedes all items that are not
//! late; of two items that are equally late, the one with fewer links left goes first.
//!
//! The order of two items changes with time, so a heap has no key. But the order of items with
//! equally many links left is fixed. There is a heap by deadline for each number of links, and the
//! first items of all heaps are compared in whole numbers, by cross-multiplication. `O(log n + h)`
//! an item for paths of up to `h` links.
//!
//! **Guarantees.** Predicted service: no bound is published. Long and short paths are late about
//! equally often (ibid., by simulation and on DARTnet). The discipline does not isolate, and trusts
//! all deadlines. With a single hop it is earliest deadline first. Best effort goes by arrival when
//! no other item waits. Work-conserving. Deadline and links left are in the simulated packet
//! ([`Carried`](crate::packet::Carried)); the wire's header has no fields for them.

use std::collections::{BTreeMap, VecDeque};

use laxity_units::Time;

use super::keyed::{Keyed, evict};
use super::{Class, ItemRequest, Rank, Tag};

/// Queues by deadline, one for each number of links left, followed by best effort.
#[derive(Debug, Clone)]
pub struct HopLaxity<T> {
    by_hops: BTreeMap<u8, Keyed<T>>,
    waiting: usize,
    best_effort: VecDeque<(Tag, T)>,
}

impl<T> Default for HopLaxity<T> {
    fn default() -> Self {
        Self { by_hops: BTreeMap::new(), waiting: 0, best_effort: VecDeque::new() }
    }
}

impl<T> HopLaxity<T> {
    pub(super) fn enqueue(&mut self, _now: Time, request: &ItemRequest, item: T) {
        let ItemRequest { tag, carried, .. } = *request;
        match tag.class {
            Class::RealTime => {
                self.by_hops.entry(carried.hops.max(1)).or_insert_with(Keyed::new).push(
                    carried.due,
                    tag,
                    item,
                );
                self.waiting += 1;
            }
            Class::BestEffort => self.best_effort.push_back((tag, item)),
        }
    }

    pub(super) fn select(&mut self, now: Time) -> Option<(Tag, T)> {
        let mut least: Option<(i128, i128, u8)> = None;
        for (&hops, queue) in &self.by_hops {
            let Some(due) = queue.first() else { continue };
            let (laxity, links) = (i128::from(due.as_ps()) - i128::from(now.as_ps()), i128::from(hops));
            // laxity / links < l / n, as all numbers of links are positive.
            if least.is_none_or(|(l, n, _)| laxity * n < l * links) {
                least = Some((laxity, links, hops));
            }
        }
        let Some((.., hops)) = least else { return self.best_effort.pop_front() };
        self.waiting -= 1;
        self.by_hops.get_mut(&hops).and_then(Keyed::pop)
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        match self.waiting {
            0 => self.best_effort.front().map(|(tag, _)| self.rank(tag, now)),
            _ => Some(Rank(0, Time::ZERO)),
        }
    }

    /// Laxity belongs to the packet and not to the tag, so ranks only separate the classes.
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
        self.waiting = 0;
        let all = self.by_hops.values_mut().flat_map(Keyed::drain).chain(self.best_effort.drain(..));
        all.map(|(_, item)| item).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting + self.best_effort.len()
    }
}
