//! A queue in the order of stamps; an engine serves its head while the processor inserts.
//!
//! HDMA's hardware queue has two users: the engine removes the head whenever it becomes idle,
//! unsynchronised with the processor. Insertion at the tail is safe. Elsewhere a processor that
//! links a request in may find that the engine has gone past in the meantime. The paper has no
//! critical section, so it tolerates "slight inaccuracies (inserting in a slightly different
//! position) in cases where the position for insertion is very close to the head": here the first
//! `guard` entries are not reordered, and an entry that belongs before one of them goes right
//! behind.

use std::collections::VecDeque;

use laxity_units::Time;

/// A queue by stamps, equal stamps in order of arrival.
#[derive(Debug, Clone)]
pub(super) struct LiveQueue<T> {
    queue: VecDeque<(Time, T)>,
    guard: usize,
    displaced: u64,
    longest: usize,
}

impl<T> LiveQueue<T> {
    /// An empty queue without insertions before its first `guard` entries.
    pub(super) fn new(guard: u32) -> Self {
        Self { queue: VecDeque::new(), guard: guard as usize, displaced: 0, longest: 0 }
    }

    /// An item arrives and is taken at once, since none waits.
    pub(super) fn pass(&mut self) {
        self.longest = self.longest.max(1);
    }

    /// Inserts `item` by its stamp, or as near as is safe.
    pub(super) fn insert(&mut self, stamp: Time, item: T) {
        self.displaced += u64::from(self.queue.iter().take(self.guard).any(|(other, _)| *other > stamp));
        self.queue.insert(self.place(stamp), (stamp, item));
        self.longest = self.longest.max(self.queue.len());
    }

    /// Position behind all entries with stamps as early, and behind the guarded ones.
    fn place(&self, stamp: Time) -> usize {
        self.before(|other| other <= stamp)
    }

    /// Number of entries before the first that is not `early`, guarded ones included. Entries
    /// beyond the guard are sorted, since insertion keeps them so.
    fn before(&self, early: impl Fn(Time) -> bool) -> usize {
        match self.queue.back() {
            Some((last, _)) if !early(*last) => {
                let (mut least, mut most) = (self.guard.min(self.queue.len()), self.queue.len());
                while least < most {
                    let middle = (least + most) / 2;
                    if early(self.queue[middle].0) { least = middle + 1 } else { most = middle }
                }
                least
            }
            _ => self.queue.len(),
        }
    }

    /// Number of entries that a processor passes to find the position, from the nearer end of the
    /// stamped entries; it knows where best effort begins.
    pub(super) fn passed(&self, stamp: Time) -> u64 {
        if self.queue.is_empty() {
            return 0;
        }
        let (place, stamped) = (self.place(stamp), self.before(|other| other < Time::MAX));
        place.min(stamped.saturating_sub(place)) as u64
    }

    /// Moves a waiting entry forward by its new stamp; a guarded entry stays.
    pub(super) fn advance(&mut self, stamp: Time, is: impl Fn(&T) -> bool) {
        if let Some(place) =
            self.queue.iter().position(|(_, item)| is(item)).filter(|place| *place >= self.guard)
            && let Some((_, item)) = self.queue.remove(place)
        {
            self.insert(stamp, item);
        }
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.queue.pop_front().map(|(_, item)| item)
    }

    /// Stamp of the first entry, if any.
    pub(super) fn first_stamp(&self) -> Option<Time> {
        self.queue.front().map(|(stamp, _)| *stamp)
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Entries inserted behind their sorted position.
    pub(super) fn displaced(&self) -> u64 {
        self.displaced
    }

    /// Maximum length so far.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(guard: u32, stamps: &[u64]) -> (Vec<usize>, u64) {
        let mut queue = LiveQueue::new(guard);
        for (item, stamp) in stamps.iter().enumerate() {
            queue.insert(Time::from_ps(*stamp), item);
        }
        (std::iter::from_fn(|| queue.pop()).collect(), queue.displaced())
    }

    #[test]
    fn by_stamp_then_by_arrival() {
        assert_eq!(drained(0, &[30, 10, 20, 10, 30]), (vec![1, 3, 2, 0, 4], 0));
    }

    #[test]
    fn what_is_near_the_head_stays() {
        // 10 and 20 belong before 30, which the engine may be about to take.
        assert_eq!(drained(1, &[30, 10, 20]), (vec![0, 1, 2], 2));
        // 5 belongs at the head of four, of which two stay.
        assert_eq!(drained(2, &[10, 20, 30, 40, 5]), (vec![0, 1, 4, 2, 3], 1));
    }

    #[test]
    fn who_is_given_a_stamp_goes_where_that_belongs() {
        let order = |guard: u32, stamp: u64, item: usize| {
            let mut queue = LiveQueue::new(guard);
            for (item, stamp) in [10, 30, u64::MAX, u64::MAX].into_iter().enumerate() {
                queue.insert(Time::from_ps(stamp), item);
            }
            queue.advance(Time::from_ps(stamp), |other| *other == item);
            std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>()
        };
        assert_eq!(order(0, 20, 3), [0, 3, 1, 2]);
        assert_eq!(order(1, 5, 3), [0, 3, 1, 2]);
        assert_eq!((order(3, 5, 2), order(1, 40, 9)), (vec![0, 1, 2, 3], vec![0, 1, 2, 3]));
    }

    #[test]
    fn a_place_is_looked_for_from_the_nearer_end_of_those_with_a_stamp() {
        let mut queue = LiveQueue::new(0);
        for stamp in [10, 20, 30, 40, u64::MAX, u64::MAX] {
            queue.insert(Time::from_ps(stamp), stamp);
        }
        let passed = [5, 10, 25, 35, 99, u64::MAX].map(|stamp| queue.passed(Time::from_ps(stamp)));
        assert_eq!(passed, [0, 1, 2, 1, 0, 0]);
    }
}
