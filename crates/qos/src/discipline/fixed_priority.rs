//! Fixed priorities: 32 levels, first in, first out within a level.
//!
//! This is the x-kernel's own scheduler (structuring §4, Table 2). Channels have the levels that
//! admission gave them. With more channels than levels, several channels share a level and wait for
//! each other, which their bounds must count. Early items are held as under multi-class EDF: a
//! priority orders on-time items, and does not exempt a flow from its contract.

use std::collections::VecDeque;

use laxity_units::Time;

use super::early::EarlyQueue;
use super::keyed::{evict, latest, remove_latest};
use super::{Class, EarlyPolicy, ItemRequest, LEVELS, Rank, Tag};

/// A queue served by level, current items before early ones.
#[derive(Debug, Clone)]
pub struct FixedPriority<T> {
    levels: Vec<VecDeque<(Tag, T)>>,
    early: EarlyQueue<T>,
    waiting: usize,
}

impl<T> FixedPriority<T> {
    /// An empty queue that treats early items by `policy`.
    pub fn new(policy: EarlyPolicy) -> Self {
        Self {
            levels: (0..LEVELS).map(|_| VecDeque::new()).collect(),
            early: EarlyQueue::new(policy),
            waiting: 0,
        }
    }

    pub(super) fn enqueue(&mut self, _now: Time, request: &ItemRequest, item: T) {
        let tag = request.tag;
        if tag.class == Class::RealTime {
            self.early.push(tag, item);
        } else {
            self.push_level(tag, item);
        }
    }

    fn push_level(&mut self, tag: Tag, item: T) {
        self.levels[usize::from(tag.level)].push_back((tag, item));
        self.waiting += 1;
    }

    #[inline]
    fn promote(&mut self, now: Time) {
        while let Some((tag, item)) = self.early.pop_current(now) {
            self.push_level(tag, item);
        }
    }

    pub(super) fn select(&mut self, now: Time) -> Option<(Tag, T)> {
        self.promote(now);
        if self.early_first(now) {
            return self.early.pop_ahead(now);
        }
        match self.levels.iter_mut().find_map(VecDeque::pop_front) {
            Some(found) => {
                self.waiting -= 1;
                Some(found)
            }
            None => self.early.pop_ahead(now),
        }
    }

    /// Whether an early item goes first: only above best effort, and only if no real-time item is
    /// current.
    fn early_first(&self, now: Time) -> bool {
        self.early.policy().above_best_effort
            && self.early.first_ahead(now).is_some()
            && self.first_waiting().is_none_or(|tag| tag.class == Class::BestEffort)
    }

    fn first_waiting(&self) -> Option<&Tag> {
        self.levels.iter().find_map(|level| level.front()).map(|(tag, _)| tag)
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        self.promote(now);
        let waiting = self.first_waiting().map(|tag| self.rank(tag, now));
        let early = self.early.first_ahead(now).map(|at| self.early_rank(at));
        [waiting, early].into_iter().flatten().min()
    }

    pub(super) fn rank(&self, tag: &Tag, now: Time) -> Rank {
        match tag.class {
            Class::RealTime if tag.logical_arrival > now => self.early_rank(tag.logical_arrival),
            Class::RealTime => Rank(tag.level, Time::ZERO),
            Class::BestEffort => Rank(LEVELS as u8 + 1, Time::ZERO),
        }
    }

    fn early_rank(&self, at: Time) -> Rank {
        let above = self.early.policy().above_best_effort;
        Rank(if above { LEVELS as u8 } else { LEVELS as u8 + 2 }, at)
    }

    #[inline]
    pub(super) fn next_eligible(&mut self, now: Time) -> Option<Time> {
        if self.early.is_empty() {
            return None;
        }
        self.promote(now);
        self.early.next_eligible(now)
    }

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        let evicted = self.levels.iter_mut().rev().find_map(evict);
        self.waiting -= usize::from(evicted.is_some());
        evicted
    }

    pub(super) fn displace(&mut self, deadline: Time) -> Option<T> {
        // Among equal deadlines, the item of the last level.
        let (due, level) = self.levels.iter().enumerate().map(|(n, level)| (latest(level), n)).max()?;
        if due.max(self.early.latest())? <= deadline {
            return None;
        }
        if self.early.latest() >= due {
            return self.early.remove_latest();
        }
        self.waiting -= 1;
        remove_latest(&mut self.levels[level])
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        self.waiting = 0;
        let all = self.levels.iter_mut().flat_map(|level| level.drain(..)).chain(self.early.drain());
        all.map(|(_, item)| item).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting + self.early.len()
    }
}
