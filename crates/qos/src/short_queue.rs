//! A queue that is mostly short.
//!
//! Between two components of a host there is a queue for the case that one of them is busy, and mostly it is not: what is put in is the only one there,
//! and is taken out before another comes. Of a [`ShortQueue`] the first lies where the whole lies, so that one that comes and goes is written and read in its place,
//! with no look behind a pointer; only who has to wait behind it lies elsewhere.

use std::collections::VecDeque;

use crate::ahead::{fetch_back, pop_front};
use crate::seldom::seldom;

/// First in, first out.
#[derive(Debug, Clone)]
pub struct ShortQueue<T> {
    first: Option<T>,
    /// Empty where there is no first.
    behind: VecDeque<T>,
}

impl<T> Default for ShortQueue<T> {
    fn default() -> Self {
        Self { first: None, behind: VecDeque::new() }
    }
}

impl<T> ShortQueue<T> {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.behind.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Who came first of those that are there.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// Puts `item` behind all there are.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) {
        match self.first {
            None => self.first = Some(item),
            // Here and not in a function of its own, to which an item would be handed in memory.
            Some(_) => self.behind.push_back(item),
        }
    }

    /// Takes out who came first.
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

    /// One is to come: asks for where it will lie if another is there.
    #[inline]
    pub fn fetch_back(&self) {
        fetch_back(&self.behind);
    }

    /// All that are there, in the order in which they came.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.first.iter().chain(&self.behind)
    }

    /// Takes out all, in that order.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.first.take().into_iter().chain(self.behind.drain(..))
    }

    /// Takes out those that `keeps` does not want to keep.
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
        /// Whatever is put in, taken out and thrown out, it is the queue that the standard library has.
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(0u8..6, 0..80)) {
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
