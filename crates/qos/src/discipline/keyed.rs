//! A heap of items by an instant, ties in order of arrival.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use laxity_units::Time;

use super::Tag;

/// Smallest key first; equal keys first in, first out, which a bare heap does not promise.
#[derive(Debug, Clone)]
pub(super) struct Keyed<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    arrivals: u64,
}

#[derive(Debug, Clone)]
struct Entry<T> {
    key: (Time, u64),
    tag: Tag,
    item: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<T> Eq for Entry<T> {}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T> Keyed<T> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), arrivals: 0 }
    }

    pub(super) fn push(&mut self, key: Time, tag: Tag, item: T) {
        self.heap.push(Reverse(Entry { key: (key, self.arrivals), tag, item }));
        self.arrivals += 1;
    }

    pub(super) fn pop(&mut self) -> Option<(Tag, T)> {
        self.heap.pop().map(|Reverse(entry)| (entry.tag, entry.item))
    }

    #[inline]
    pub(super) fn first(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.key.0)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }
}
