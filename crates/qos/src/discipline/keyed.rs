//! A heap of items by a key, ties in order of arrival.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use laxity_units::Time;

use super::{Class, Tag};

pub(super) fn evict<T>(queue: &mut VecDeque<(Tag, T)>) -> Option<T> {
    let last = queue.iter().rposition(|(tag, _)| tag.class == Class::BestEffort)?;
    queue.remove(last).map(|(_, item)| item)
}

/// The latest deadline of a queue's guaranteed items.
pub(super) fn latest<T>(queue: &VecDeque<(Tag, T)>) -> Option<Time> {
    last_due(queue.iter().map(|(tag, _)| tag))
}

/// Removes the guaranteed item with the latest deadline; of several, the last to arrive.
pub(super) fn remove_latest<T>(queue: &mut VecDeque<(Tag, T)>) -> Option<T> {
    let due = latest(queue)?;
    let last = queue.iter().rposition(|(tag, _)| tag.class == Class::RealTime && tag.deadline == due)?;
    queue.remove(last).map(|(_, item)| item)
}

fn last_due<'a>(tags: impl Iterator<Item = &'a Tag>) -> Option<Time> {
    tags.filter(|tag| tag.class == Class::RealTime).map(|tag| tag.deadline).max()
}

/// Smallest key first; equal keys first in, first out, which a bare heap does not guarantee.
///
/// The first item is stored inline and not in the heap, because most queues have one item or none
/// most of the time. Such an item moves once, needs no memory of its own, and is compared with no
/// other.
#[derive(Debug, Clone)]
pub(super) struct Keyed<T, K = Time> {
    /// `None` only if the heap is empty too.
    first: Option<Entry<T, K>>,
    others: BinaryHeap<Reverse<Entry<T, K>>>,
    arrivals: u64,
}

#[derive(Debug, Clone)]
struct Entry<T, K> {
    key: (K, u64),
    tag: Tag,
    item: T,
}

impl<T, K: Ord> PartialEq for Entry<T, K> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<T, K: Ord> Eq for Entry<T, K> {}
impl<T, K: Ord> PartialOrd for Entry<T, K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T, K: Ord> Ord for Entry<T, K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T, K: Ord + Copy> Keyed<T, K> {
    pub(super) fn new() -> Self {
        Self { first: None, others: BinaryHeap::new(), arrivals: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, key: K, tag: Tag, item: T) {
        let entry = Entry { key: (key, self.arrivals), tag, item };
        self.arrivals += 1;
        match &mut self.first {
            None => self.first = Some(entry),
            Some(first) => {
                let later = if entry < *first { std::mem::replace(first, entry) } else { entry };
                self.others.push(Reverse(later));
            }
        }
    }

    #[inline]
    fn pop_entry(&mut self) -> Option<Entry<T, K>> {
        let entry = self.first.take()?;
        if !self.others.is_empty() {
            self.first = self.others.pop().map(|Reverse(entry)| entry);
        }
        Some(entry)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Tag, T)> {
        self.pop_entry().map(|entry| (entry.tag, entry.item))
    }

    #[inline]
    pub(super) fn pop_keyed(&mut self) -> Option<(K, Tag, T)> {
        self.pop_entry().map(|entry| (entry.key.0, entry.tag, entry.item))
    }

    #[inline]
    pub(super) fn first(&self) -> Option<K> {
        self.first.as_ref().map(|entry| entry.key.0)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub(super) fn has_one(&self) -> bool {
        self.first.is_some() && self.others.is_empty()
    }

    /// Removes the last best-effort item. Linear, because it is rare.
    pub(super) fn evict(&mut self) -> Option<T> {
        self.remove_last(|tag| tag.class == Class::BestEffort)
    }

    /// The latest deadline of the guaranteed items. Linear.
    pub(super) fn latest(&self) -> Option<Time> {
        let others = self.others.iter().map(|Reverse(entry)| entry);
        last_due(self.first.iter().chain(others).map(|entry| &entry.tag))
    }

    /// Removes the guaranteed item with the latest deadline; of several, the last in order. Linear.
    pub(super) fn remove_latest(&mut self) -> Option<T> {
        let due = self.latest()?;
        self.remove_last(|tag| tag.class == Class::RealTime && tag.deadline == due)
    }

    /// Removes the last item with a tag that satisfies `such`.
    fn remove_last(&mut self, such: impl Fn(&Tag) -> bool) -> Option<T> {
        let mut entries = std::mem::take(&mut self.others).into_vec();
        let found = entries.iter().enumerate().filter(|(_, Reverse(entry))| such(&entry.tag));
        let last = found.max_by(|(_, Reverse(a)), (_, Reverse(b))| a.cmp(b)).map(|(n, _)| n);
        let removed = last.map(|n| entries.swap_remove(n).0);
        self.others = entries.into();
        // The first item precedes all others, so it is tested last.
        let removed =
            removed.or_else(|| if such(&self.first.as_ref()?.tag) { self.pop_entry() } else { None });
        removed.map(|entry| entry.item)
    }

    /// Removes all items, in no particular order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Tag, T)> {
        let others = self.others.drain().map(|Reverse(entry)| entry);
        self.first.take().into_iter().chain(others).map(|entry| (entry.tag, entry.item))
    }
}
