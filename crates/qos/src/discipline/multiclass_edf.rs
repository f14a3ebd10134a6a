//! Multi-class earliest deadline first, the discipline of real-time channels.
//!
//! Three queues (resource §2.2, structuring §4.2):
//!
//! 1. *current* real time, by deadline;
//! 2. best effort, by arrival;
//! 3. *early* real time, by logical arrival time, moved to queue 1 at that time.
//!
//! Queue 1 precedes queue 2, and queue 2 precedes queue 3. A channel that sends ahead of its
//! contract takes no service from best effort, and a channel that keeps its contract is delayed by
//! neither. The [`EarlyPolicy`] decides whether queue 3 is served before its time at all.

use std::collections::VecDeque;

use laxity_units::Time;

use super::early::EarlyQueue;
use super::keyed::Keyed;
use super::{Class, EarlyPolicy, ItemRequest, Rank, Tag};

/// The three queues.
#[derive(Debug, Clone)]
pub struct MultiClassEdf<T> {
    current: Keyed<T>,
    best_effort: VecDeque<(Tag, T)>,
    early: EarlyQueue<T>,
}

impl<T> MultiClassEdf<T> {
    /// Empty queues that treat early items by `policy`.
    pub fn new(policy: EarlyPolicy) -> Self {
        Self { current: Keyed::new(), best_effort: VecDeque::new(), early: EarlyQueue::new(policy) }
    }

    #[inline]
    pub(super) fn enqueue(&mut self, _now: Time, request: &ItemRequest, item: T) {
        let tag = request.tag;
        // An item that is current on arrival also passes through queue 3, and leaves it at the next
        // select: one entry, and no need for the time here.
        match tag.class {
            Class::RealTime => self.early.push(tag, item),
            Class::BestEffort => self.best_effort.push_back((tag, item)),
        }
    }

    #[inline]
    fn promote(&mut self, now: Time) {
        while let Some((tag, item)) = self.early.pop_current(now) {
            self.current.push(tag.deadline, tag, item);
        }
    }

    #[inline]
    pub(super) fn select(&mut self, now: Time) -> Option<(Tag, T)> {
        let found = match self.current.is_empty() && self.early.has_one() {
            // An item that becomes current alone is first, and needs no second queue.
            true => self.early.pop_current(now),
            false => {
                self.promote(now);
                self.current.pop()
            }
        };
        if found.is_some() {
            return found;
        }
        if self.early.policy().above_best_effort {
            self.early.pop_ahead(now).or_else(|| self.best_effort.pop_front())
        } else {
            self.best_effort.pop_front().or_else(|| self.early.pop_ahead(now))
        }
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        self.promote(now);
        let current = self.current.first().map(|deadline| Rank(0, deadline));
        let best_effort = (!self.best_effort.is_empty()).then_some(Rank(2, Time::ZERO));
        let early = self.early.first_ahead(now).map(|at| self.early_rank(at));
        [current, best_effort, early].into_iter().flatten().min()
    }

    pub(super) fn rank(&self, tag: &Tag, now: Time) -> Rank {
        match tag.class {
            Class::RealTime if tag.logical_arrival > now => self.early_rank(tag.logical_arrival),
            Class::RealTime => Rank(0, tag.deadline),
            Class::BestEffort => Rank(2, Time::ZERO),
        }
    }

    fn early_rank(&self, at: Time) -> Rank {
        Rank(if self.early.policy().above_best_effort { 1 } else { 3 }, at)
    }

    /// Whether an item waits that was early at the last poll.
    #[inline]
    pub(super) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    #[inline(never)]
    pub(super) fn next_eligible(&mut self, now: Time) -> Option<Time> {
        self.promote(now);
        self.early.next_eligible(now)
    }

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        self.best_effort.pop_back().map(|(_, item)| item)
    }

    pub(super) fn displace(&mut self, deadline: Time) -> Option<T> {
        let (current, early) = (self.current.latest(), self.early.latest());
        if current.max(early)? <= deadline {
            return None;
        }
        if early >= current { self.early.remove_latest() } else { self.current.remove_latest() }
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        let all = self.current.drain().chain(self.best_effort.drain(..)).chain(self.early.drain());
        all.map(|(_, item)| item).collect()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.current.len() + self.best_effort.len() + self.early.len()
    }
}
