//! Disciplines that hold each item until its release time and then serve by levels.
//!
//! The disciplines differ only in the release time and the level, so each file has these alone.
//! This file has the rest: a heap of held items, a queue for each level of released items, and a
//! queue by arrival for items without a rate, which is served last.

use std::collections::VecDeque;

use laxity_units::Time;

use super::keyed::{Keyed, evict};
use super::stamped::{RATED, rank};
use super::{ItemRequest, Rank, Tag};

/// A policy that holds items.
pub trait Holds {
    /// Release time of an item with a rate that arrives `now`, and the item's level after release;
    /// level 0 is first.
    fn hold(&mut self, now: Time, request: &ItemRequest) -> (Time, u8);
}

/// A queue that holds items by `H` and serves released ones by level, within a level in order of
/// release; items without a rate are last.
#[derive(Debug, Clone)]
pub struct Held<H, T> {
    by: H,
    /// By release time.
    held: Keyed<(u8, T)>,
    levels: Vec<VecDeque<(Tag, T)>>,
    without: VecDeque<(Tag, T)>,
}

impl<H: Holds + Default, T> Default for Held<H, T> {
    fn default() -> Self {
        Self::by(H::default())
    }
}

impl<H: Holds, T> Held<H, T> {
    /// An empty queue.
    pub(super) fn by(by: H) -> Self {
        Self { by, held: Keyed::new(), levels: Vec::new(), without: VecDeque::new() }
    }

    pub(super) fn enqueue(&mut self, now: Time, request: &ItemRequest, item: T) {
        let tag = request.tag;
        if tag.tick.is_none() {
            self.without.push_back((tag, item));
            return;
        }
        let (until, level) = self.by.hold(now, request);
        self.held.push(until, tag, (level, item));
    }

    fn promote(&mut self, now: Time) {
        while self.held.first().is_some_and(|at| at <= now) {
            let Some((tag, (level, item))) = self.held.pop() else { break };
            let level = usize::from(level);
            if self.levels.len() <= level {
                self.levels.resize_with(level + 1, VecDeque::new);
            }
            self.levels[level].push_back((tag, item));
        }
    }

    pub(super) fn select(&mut self, now: Time) -> Option<(Tag, T)> {
        self.promote(now);
        self.levels.iter_mut().find_map(VecDeque::pop_front).or_else(|| self.without.pop_front())
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        self.promote(now);
        match self.levels.iter().any(|level| !level.is_empty()) {
            true => Some(RATED),
            false => self.without.front().map(|(tag, _)| self.rank(tag, now)),
        }
    }

    pub(super) fn rank(&self, tag: &Tag, _now: Time) -> Rank {
        rank(tag)
    }

    pub(super) fn next_eligible(&mut self, now: Time) -> Option<Time> {
        self.promote(now);
        self.held.first()
    }

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        let held = |queue: &mut Keyed<(u8, T)>| queue.evict().map(|(_, item)| item);
        let evicted = evict(&mut self.without).or_else(|| held(&mut self.held));
        evicted.or_else(|| self.levels.iter_mut().rev().find_map(evict))
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        let held = self.held.drain().map(|(_, (_, item))| item);
        let levels = self.levels.iter_mut().flat_map(|level| level.drain(..));
        let others = levels.chain(self.without.drain(..)).map(|(_, item)| item);
        held.chain(others).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.held.len() + self.levels.iter().map(VecDeque::len).sum::<usize>() + self.without.len()
    }
}
