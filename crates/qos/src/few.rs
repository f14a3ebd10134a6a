//! One item, or a few.
//!
//! Most hosts have one core, one adapter and one link. Code that runs for each packet should
//! neither count them nor dereference a pointer to the only one. A [`Few`] stores its first item
//! inline.

use std::ops::{Index, IndexMut};

/// At least one item, in a fixed order.
#[derive(Debug, Clone)]
pub struct Few<T> {
    first: T,
    others: Vec<T>,
}

impl<T> Few<T> {
    /// A single item.
    pub fn one(first: T) -> Self {
        Self { first, others: Vec::new() }
    }

    /// `count` items, at least one; `of` makes each from its index.
    ///
    /// # Panics
    ///
    /// If `count` is zero.
    pub fn new(count: usize, of: impl FnMut(usize) -> T) -> Self {
        assert!(count > 0, "there is one at least");
        let mut all = (0..count).map(of);
        let first = all.next().expect("there is one");
        Self { first, others: all.collect() }
    }

    /// Appends an item.
    pub fn push(&mut self, another: T) {
        self.others.push(another);
    }

    /// Number of items.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        1 + self.others.len()
    }

    /// Whether there is one.
    #[inline]
    pub fn is_one(&self) -> bool {
        self.others.is_empty()
    }

    /// The first item.
    #[inline]
    pub fn first(&self) -> &T {
        &self.first
    }

    /// The first item, mutable.
    #[inline]
    pub fn first_mut(&mut self) -> &mut T {
        &mut self.first
    }

    /// Whether `is` holds for any item.
    #[inline]
    pub fn any(&self, mut is: impl FnMut(&T) -> bool) -> bool {
        is(&self.first) || self.others.iter().any(is)
    }

    /// Applies `what` to each item.
    #[inline]
    pub fn each(&mut self, mut what: impl FnMut(&mut T)) {
        what(&mut self.first);
        self.others.iter_mut().for_each(what);
    }

    /// All items.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// All items, mutable.
    #[inline]
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

impl<T> Index<usize> for Few<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: usize) -> &T {
        match place {
            0 => &self.first,
            _ => &self.others[place - 1],
        }
    }
}

impl<T> IndexMut<usize> for Few<T> {
    #[inline]
    fn index_mut(&mut self, place: usize) -> &mut T {
        match place {
            0 => &mut self.first,
            _ => &mut self.others[place - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_one_of_them() {
        let mut few = Few::one(0);
        assert!(few.is_one() && few.len() == 1);
        few.push(10);
        few.push(20);
        few[0] += 1;
        few[2] += 1;
        assert_eq!((few.len(), few.is_one(), few[0], few[1], few[2]), (3, false, 1, 10, 21));
        assert!(few.any(|one| *one == 1) && few.any(|one| *one == 21) && !few.any(|one| *one == 2));
        few.each(|one| *one += 1);
        assert_eq!(few.iter().copied().collect::<Vec<_>>(), [2, 11, 22]);
        assert_eq!(Few::new(3, |place| place).iter().copied().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn there_is_none_behind_the_last() {
        let _ = Few::one(0)[1];
    }
}
