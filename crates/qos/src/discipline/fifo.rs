//! First in, first out.
//!
//! FIFO ignores class, deadline and logical arrival. It is the order of adapters without QoS
//! support, and the baseline for the other disciplines. Work-conserving.

use std::collections::VecDeque;

use laxity_units::Time;

use super::keyed::{evict, latest, remove_latest};
use super::{ItemRequest, Rank, Tag};

/// A queue served in order of arrival.
#[derive(Debug, Clone)]
pub struct Fifo<T> {
    queue: VecDeque<(Tag, T)>,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new() }
    }
}

impl<T> Fifo<T> {
    pub(super) fn enqueue(&mut self, _now: Time, request: &ItemRequest, item: T) {
        let tag = request.tag;
        self.queue.push_back((tag, item));
    }

    pub(super) fn select(&mut self, _now: Time) -> Option<(Tag, T)> {
        self.queue.pop_front()
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        self.queue.front().map(|(tag, _)| self.rank(tag, now))
    }

    pub(super) fn rank(&self, _tag: &Tag, _now: Time) -> Rank {
        Rank(0, Time::ZERO)
    }

    pub(super) fn next_eligible(&mut self, _now: Time) -> Option<Time> {
        None
    }

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        evict(&mut self.queue)
    }

    pub(super) fn displace(&mut self, deadline: Time) -> Option<T> {
        if latest(&self.queue)? > deadline { remove_latest(&mut self.queue) } else { None }
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        self.queue.drain(..).map(|(_, item)| item).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}
