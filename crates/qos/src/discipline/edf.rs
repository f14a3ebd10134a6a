//! Earliest deadline first, over all items.
//!
//! EDF is optimal on one resource when every flow keeps its contract. It does not isolate: an item
//! that is sent ahead of its time has an earlier deadline, and is served earlier.
//! [`MultiClassEdf`](super::MultiClassEdf) adds this protection. Work-conserving; best effort has
//! the last deadline.

use laxity_units::Time;

use super::keyed::Keyed;
use super::{ItemRequest, Rank, Tag};

/// A queue served by deadline, equal deadlines in order of arrival.
#[derive(Debug, Clone)]
pub struct Edf<T> {
    queue: Keyed<T>,
}

impl<T> Default for Edf<T> {
    fn default() -> Self {
        Self { queue: Keyed::new() }
    }
}

impl<T> Edf<T> {
    pub(super) fn enqueue(&mut self, _now: Time, request: &ItemRequest, item: T) {
        let tag = request.tag;
        self.queue.push(tag.deadline, tag, item);
    }

    pub(super) fn select(&mut self, _now: Time) -> Option<(Tag, T)> {
        self.queue.pop()
    }

    pub(super) fn best(&mut self, _now: Time) -> Option<Rank> {
        self.queue.first().map(|deadline| Rank(0, deadline))
    }

    pub(super) fn rank(&self, tag: &Tag, _now: Time) -> Rank {
        Rank(0, tag.deadline)
    }

    pub(super) fn next_eligible(&mut self, _now: Time) -> Option<Time> {
        None
    }

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        self.queue.evict()
    }

    pub(super) fn displace(&mut self, deadline: Time) -> Option<T> {
        if self.queue.latest()? > deadline { self.queue.remove_latest() } else { None }
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        self.queue.drain().map(|(_, item)| item).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}
