//! A queue for usually one item.
//!
//! Most queues between two components of a host hold at most one item: the item is removed before
//! the next one arrives. A [`ShortQueue`] stores its first item inline, which saves a pointer
//! dereference; only further items lie elsewhere.

use std::collections::VecDeque;

use crate::ahead::{fetch_back, pop_front};
use crate::seldom::seldom;

/// A first-in, first-out queue.
#[derive(Debug, Clone)]
pub struct ShortQueue<T> {
    first: Option<T>,
    /// Empty if `first` is `None`.
    behind: VecDeque<T>,
}

impl<T> Default for ShortQueue<T> {
    fn default() -> Self {
        Self { first: None, behind: VecDeque::new() }
    }
}

impl<T> ShortQueue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.behind.len()
    }

    /// Whether the queue has no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The first item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// Appends `item`.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) {
        match self.first {
            None => self.first = Some(item),
            // Inline, because a separate function would get the item through memory.
            Some(_) => self.behind.push_back(item),
        }
    }

    /// Inserts `item` before all others.
    pub fn push_front(&mut self, item: T) {
        if let Some(first) = self.first.replace(item) {
            self.behind.push_front(first);
        }
    }

    /// Removes the first item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = self.first.take();
        if seldom(!self.behind.is_empty()) {
            self.move_up();
        }
        first
    }

    #[inline(never)]
    fn move_up(&mut self) {
        self.first = pop_front(&mut self.behind);
    }

    /// Prefetches the place of the next item, if another item is there.
    #[inline]
    pub fn fetch_back(&self) {
        fetch_back(&self.behind);
    }

    /// All items, in order of arrival.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.first.iter().chain(&self.behind)
    }

    /// Removes all items, in order of arrival.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.first.take().into_iter().chain(self.behind.drain(..))
    }

    /// Removes the items for which `keeps` is false.
    pub fn retain(&mut self, mut keeps: impl FnMut(&T) -> bool) {
        self.behind.retain(&mut keeps);
        if self.first.as_ref().is_some_and(|first| !keeps(first)) {
            self.move_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Any sequence of insertions and removals gives the same result as with the queue of the
        /// standard library.
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(0u8..7, 0..80)) {
            let (mut short, mut queue) = (ShortQueue::new(), VecDeque::new());
            for (number, step) in (0u32..).zip(steps) {
                match step {
                    0..=2 => {
                        short.push_back(number);
                        queue.push_back(number);
                    }
                    3 => prop_assert_eq!(short.pop_front(), queue.pop_front()),
                    4 => {
                        short.retain(|item| item % 3 != 0);
                        queue.retain(|item| item % 3 != 0);
                    }
                    5 => {
                        short.push_front(number);
                        queue.push_front(number);
                    }
                    _ if number % 7 == 0 => prop_assert!(short.drain().eq(queue.drain(..))),
                    _ => {}
                }
                prop_assert_eq!(short.front(), queue.front());
                prop_assert_eq!((short.len(), short.is_empty()), (queue.len(), queue.is_empty()));
                prop_assert!(short.iter().eq(&queue) && short.iter().rev().eq(queue.iter().rev()));
            }
        }
    }
}
