//! Strict priority: by level, first in, first out within a level.
//!
//! This is the order of switches and adapters with several transmit queues (IEEE 802.1Q, 8.6.8.1).
//! Levels are the user's: the key `level` of a channel, 0 without it, and the last for best effort.
//! Unlike [`FixedPriority`](super::FixedPriority) it ignores logical arrivals and holds no early
//! item, so a burst grows from hop to hop. Work-conserving, but for levels with a shaper, gates or
//! regulators ([`Selection`](super::Selection)).

use std::collections::VecDeque;

use laxity_units::{Bytes, Time};

use super::keyed::evict;
use super::selection::{Committed, Head, Selecting};
use super::{ItemRequest, LEVELS, Rank, ServerParameters, Tag};
use crate::names::ChannelId;

/// An item with what a [`Selection`](super::Selection) has to know of it.
#[derive(Debug, Clone)]
struct Waiting<T> {
    /// When it joins the queue of its level.
    joined: Time,
    size: Bytes,
    item: T,
}

impl<T> Waiting<T> {
    fn head(&self, level: usize) -> Head {
        Head { level: level as u8, size: self.size, joined: self.joined }
    }
}

/// A queue served by level, then by arrival.
#[derive(Debug, Clone)]
pub struct StrictPriority<T> {
    levels: Vec<VecDeque<(Tag, Waiting<T>)>>,
    waiting: usize,
    /// Conditions beside the level.
    selecting: Option<Box<Selecting>>,
}

impl<T> StrictPriority<T> {
    /// An empty queue in front of `server`.
    pub fn of(server: &ServerParameters) -> Self {
        let levels = (0..LEVELS).map(|_| VecDeque::new()).collect();
        let selecting = |selection| Box::new(Selecting::new(selection, server.speed));
        Self { levels, waiting: 0, selecting: server.selection.as_deref().map(selecting) }
    }

    pub(super) fn enqueue(&mut self, now: Time, request: &ItemRequest, item: T) {
        let tag = request.tag;
        self.advance(now);
        let joined = self.selecting.as_mut().map_or(now, |selecting| selecting.joins(now, request));
        let waiting = Waiting { joined, size: request.size, item };
        let queue = &mut self.levels[usize::from(tag.level)];
        match queue.back().is_some_and(|(_, last)| last.joined > joined) {
            // Another regulator releases its frame later.
            true => queue.insert(queue.partition_point(|(_, one)| one.joined <= joined), (tag, waiting)),
            false => queue.push_back((tag, waiting)),
        }
        self.waiting += 1;
    }

    pub(super) fn regulate(&mut self, flow: ChannelId, committed: Committed) {
        if let Some(selecting) = &mut self.selecting {
            selecting.regulate(flow, committed);
        }
    }

    pub(super) fn select(&mut self, now: Time) -> Option<(Tag, T)> {
        let level = self.first(now)?;
        let (tag, waiting) = self.levels[level].pop_front()?;
        self.waiting -= 1;
        if let Some(selecting) = &mut self.selecting {
            selecting.begin(now, waiting.head(level));
        }
        Some((tag, waiting.item))
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        let first = self.first(now).and_then(|level| self.levels[level].front());
        first.map(|(tag, _)| self.rank(tag, now))
    }

    /// The level that can send `now`.
    fn first(&mut self, now: Time) -> Option<usize> {
        self.advance(now);
        let can = |(level, queue): (usize, &VecDeque<(Tag, Waiting<T>)>)| {
            let head = queue.front()?.1.head(level);
            let sends = self.selecting.as_ref().is_none_or(|selecting| selecting.admits(now, head));
            sends.then_some(level)
        };
        self.levels.iter().enumerate().find_map(can)
    }

    fn advance(&mut self, now: Time) {
        if let Some(selecting) = &mut self.selecting {
            selecting.advance(now, |level| !self.levels[usize::from(level)].is_empty());
        }
    }

    /// Whether items can wait before an idle server.
    pub(super) fn may_hold(&self) -> bool {
        self.selecting.is_some()
    }

    pub(super) fn rank(&self, tag: &Tag, _now: Time) -> Rank {
        Rank(tag.level, Time::ZERO)
    }

    pub(super) fn next_eligible(&mut self, now: Time) -> Option<Time> {
        self.advance(now);
        let selecting = self.selecting.as_ref()?;
        let head = |(level, queue): (usize, &VecDeque<(Tag, Waiting<T>)>)| {
            selecting.ready(now, queue.front()?.1.head(level))
        };
        self.levels.iter().enumerate().filter_map(head).filter(|at| *at > now).min()
    }

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        let evicted = self.levels.iter_mut().rev().find_map(evict);
        self.waiting -= usize::from(evicted.is_some());
        evicted.map(|waiting| waiting.item)
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        self.waiting = 0;
        self.levels.iter_mut().flat_map(|level| level.drain(..)).map(|(_, waiting)| waiting.item).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::{Bytes, Span};

    use super::super::{EarlyPolicy, Order, ServerParameters};
    use super::*;
    use crate::packet::Carried;
    use crate::virtual_clock::Vtick;

    /// An early item of level 1 goes before one of level 2 that is on time, and best effort is last.
    #[test]
    fn levels_alone_decide() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let of = |level, logical| Tag::real_time(at(logical), Span::from_us(9), Vtick::NONE, level);
        let mut queue = Order::StrictPriority.discipline(&ServerParameters::with(EarlyPolicy::HOLD));
        let tags = [Tag::best_effort(at(0)), of(2, 0), of(1, 500), of(2, 700), of(1, 0)];
        for (n, tag) in tags.into_iter().enumerate() {
            let request =
                ItemRequest { flow: ChannelId(0), size: Bytes::new(1), tag, carried: Carried::NOTHING };
            queue.enqueue(at(1), &request, n);
        }
        let mut order = Vec::new();
        while let Some((_, n)) = queue.select(at(1)) {
            order.push(n);
        }
        assert_eq!(order, [2, 4, 1, 3, 0]);
    }
}
