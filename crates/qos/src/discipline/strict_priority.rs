//! Strict priority: by level, first in, first out within a level.
//!
//! This is the order of switches and adapters with several transmit queues (IEEE 802.1Q, 8.6.8.1).
//! Levels are the user's: the key `level` of a channel, 0 without it, and the last for best effort.
//! Unlike [`FixedPriority`](super::FixedPriority) it ignores logical arrivals and holds no early
//! item, so a burst grows from hop to hop. Work-conserving.

use std::collections::VecDeque;

use laxity_units::Time;

use super::keyed::evict;
use super::{LEVELS, Rank, Request, Tag};

/// A queue served by level, then by arrival.
#[derive(Debug, Clone)]
pub struct StrictPriority<T> {
    levels: Vec<VecDeque<(Tag, T)>>,
    waiting: usize,
}

impl<T> Default for StrictPriority<T> {
    fn default() -> Self {
        Self { levels: (0..LEVELS).map(|_| VecDeque::new()).collect(), waiting: 0 }
    }
}

impl<T> StrictPriority<T> {
    pub(super) fn enqueue(&mut self, _now: Time, request: &Request, item: T) {
        let tag = request.tag;
        self.levels[usize::from(tag.level)].push_back((tag, item));
        self.waiting += 1;
    }

    pub(super) fn select(&mut self, _now: Time) -> Option<(Tag, T)> {
        let found = self.levels.iter_mut().find_map(VecDeque::pop_front)?;
        self.waiting -= 1;
        Some(found)
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        let first = self.levels.iter().find_map(VecDeque::front);
        first.map(|(tag, _)| self.rank(tag, now))
    }

    pub(super) fn rank(&self, tag: &Tag, _now: Time) -> Rank {
        Rank(tag.level, Time::ZERO)
    }

    pub(super) fn next_eligible(&mut self, _now: Time) -> Option<Time> {
        None
    }

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        let evicted = self.levels.iter_mut().rev().find_map(evict);
        self.waiting -= usize::from(evicted.is_some());
        evicted
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        self.waiting = 0;
        self.levels.iter_mut().flat_map(|level| level.drain(..)).map(|(_, item)| item).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::{Bytes, Span};

    use super::super::{EarlyPolicy, Order, Server};
    use super::*;
    use crate::names::ChannelId;
    use crate::packet::Carried;
    use crate::virtual_clock::Vtick;

    /// An early item of level 1 goes before one of level 2 that is on time, and best effort is last.
    #[test]
    fn levels_alone_decide() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let of = |level, logical| Tag::real_time(at(logical), Span::from_us(9), Vtick::NONE, level);
        let mut queue = Order::StrictPriority.discipline(&Server::with(EarlyPolicy::HOLD));
        let tags = [Tag::best_effort(at(0)), of(2, 0), of(1, 500), of(2, 700), of(1, 0)];
        for (n, tag) in tags.into_iter().enumerate() {
            let request = Request { flow: ChannelId(0), size: Bytes::new(1), tag, carried: Carried::NOTHING };
            queue.enqueue(at(1), &request, n);
        }
        let mut order = Vec::new();
        while let Some((_, n)) = queue.select(at(1)) {
            order.push(n);
        }
        assert_eq!(order, [2, 4, 1, 3, 0]);
    }
}
