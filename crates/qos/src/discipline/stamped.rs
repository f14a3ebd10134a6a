//! Disciplines that stamp each item on arrival and serve by stamps.
//!
//! The disciplines differ only in the clock of the stamps, so each file has the clock alone. This
//! file has the rest: a heap of items with a rate, followed by a queue, by arrival, of items
//! without one.

use std::collections::VecDeque;

use laxity_units::{Bytes, Time};

use super::keyed::{Keyed, evict};
use super::virtual_time::Virtual;
use super::{ItemRequest, Rank, Tag};
use crate::names::ChannelId;

/// The clock of the stamps.
pub trait Stamps {
    /// The stamp of an item of `flow` that arrives `now`.
    fn stamp(&mut self, now: Time, flow: ChannelId, item: Item) -> ServiceStamp;

    /// An item with this stamp is begun.
    fn begun(&mut self, _stamp: ServiceStamp) {}

    /// The last item is done, and no item waits.
    fn idle(&mut self) {}
}

/// The length of an item.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    /// `L / r`: time at the rate of its flow.
    pub(super) tick: Virtual,
    /// Its bytes.
    pub(super) size: Bytes,
}

/// The key by which an item is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceStamp(pub(super) Virtual);

/// A queue served by the stamps of `S`, equal stamps in order of arrival; items without a rate are
/// last.
#[derive(Debug, Clone)]
pub struct Stamped<S, T> {
    stamps: S,
    queue: Keyed<T, ServiceStamp>,
    without: VecDeque<(Tag, T)>,
}

impl<S: Stamps + Default, T> Default for Stamped<S, T> {
    fn default() -> Self {
        Self::by(S::default())
    }
}

impl<S: Stamps, T> Stamped<S, T> {
    /// An empty queue.
    pub(super) fn by(stamps: S) -> Self {
        Self { stamps, queue: Keyed::new(), without: VecDeque::new() }
    }

    #[inline]
    pub(super) fn enqueue(&mut self, now: Time, request: &ItemRequest, item: T) {
        let ItemRequest { flow, size, tag, .. } = *request;
        if tag.tick.is_none() {
            self.without.push_back((tag, item));
            return;
        }
        let stamp = self.stamps.stamp(now, flow, Item { tick: Virtual::tick(tag.tick, size), size });
        self.queue.push(stamp, tag, item);
    }

    #[inline]
    pub(super) fn select(&mut self, _now: Time) -> Option<(Tag, T)> {
        match self.queue.pop_keyed() {
            Some((stamp, tag, item)) => {
                self.stamps.begun(stamp);
                Some((tag, item))
            }
            None => {
                // The last item with a rate is done, and none waits: for flows with a rate the
                // server is idle.
                self.stamps.idle();
                self.without.pop_front()
            }
        }
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        match self.queue.first() {
            Some(_) => Some(RATED),
            None => self.without.front().map(|(tag, _)| self.rank(tag, now)),
        }
    }

    pub(super) fn rank(&self, tag: &Tag, _now: Time) -> Rank {
        rank(tag)
    }

    pub(super) fn next_eligible(&mut self, _now: Time) -> Option<Time> {
        None
    }

    pub(super) fn idle(&mut self) {
        self.stamps.idle();
    }

    pub(super) fn evict(&mut self) -> Option<T> {
        evict(&mut self.without).or_else(|| self.queue.evict())
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        self.queue.drain().chain(self.without.drain(..)).map(|(_, item)| item).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len() + self.without.len()
    }
}

/// The rank of any item with a rate: rate-based disciplines do not preempt one item for another.
pub(super) const RATED: Rank = Rank(0, Time::ZERO);

/// Under rate-based disciplines a rank only separates items with a rate from items without.
pub(super) fn rank(tag: &Tag) -> Rank {
    if tag.tick.is_none() { Rank(1, Time::ZERO) } else { RATED }
}

/// The whole picoseconds of a stamp.
#[cfg(test)]
pub(super) fn whole(stamp: ServiceStamp) -> laxity_units::Span {
    laxity_units::Span::from_ps(u64::try_from(stamp.0.raw() >> 32).expect("it is short"))
}
