//! Whose doorbell the firmware is told of next.
//!
//! It takes doorbells first come, first served, whoever rang, so a process that rings without end would have all others wait for all that it has
//! rung. Of each process it is therefore told of a few at a time; the rest wait outside, where the virtual interfaces of the process take turns. One with
//! a bandwidth has a share of its own: where a rate is set aside for best effort, the firmware itself holds back what has none.

use std::collections::VecDeque;

use laxity_model::via::Doorbell;
use laxity_vi::provider::Which;

/// Doorbells that the firmware has of a share at most. More than a message has units to be at gain nothing.
const AHEAD: u32 = 8;

/// Whose doorbells are counted together: those of a process without a bandwidth, or those of one virtual interface that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Share {
    /// The process.
    pub(super) process: u32,
    /// What the firmware calls the virtual interface, if it has a bandwidth.
    pub(super) reserved: Option<u32>,
}

/// The doorbells of a share.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Those that the firmware has.
    ahead: u32,
    /// Queues that have some which it has not, in the order of their turns.
    behind: VecDeque<(u32, Which, VecDeque<Doorbell>)>,
}

impl Turns {
    /// One more, of a queue of `vi`.
    pub(super) fn ring(&mut self, vi: u32, which: Which, doorbell: Doorbell) {
        match self.behind.iter_mut().find(|(other, queue, _)| (*other, *queue) == (vi, which)) {
            Some((_, _, waiting)) => waiting.push_back(doorbell),
            None => self.behind.push_back((vi, which, [doorbell].into())),
        }
    }

    /// The firmware is done with one.
    pub(super) fn done(&mut self) {
        self.ahead = self.ahead.saturating_sub(1);
    }

    /// Nobody waits, and the firmware has none.
    pub(super) fn is_empty(&self) -> bool {
        self.ahead == 0 && self.behind.is_empty()
    }

    /// What the firmware is told next, and of which virtual interface, if it has few enough.
    pub(super) fn next(&mut self) -> Option<(u32, Doorbell)> {
        if self.ahead == AHEAD {
            return None;
        }
        let (vi, which, mut waiting) = self.behind.pop_front()?;
        let next = waiting.pop_front()?;
        if !waiting.is_empty() {
            self.behind.push_back((vi, which, waiting));
        }
        self.ahead += 1;
        Some((vi, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(turns: &mut Turns) -> Vec<Doorbell> {
        std::iter::from_fn(|| turns.next()).map(|(_, doorbell)| doorbell).collect()
    }

    #[test]
    fn a_few_at_a_time_each_virtual_interface_in_its_turn() {
        let mut turns = Turns::default();
        let bell = Doorbell::Receive;
        (0..AHEAD + 2).for_each(|n| turns.ring(1, Which::Receive, bell(n)));
        turns.ring(2, Which::Receive, bell(100));
        turns.ring(1, Which::Send, bell(200));
        let first: Vec<_> = [0, 100, 200].into_iter().chain(1..AHEAD - 2).map(bell).collect();
        assert_eq!(told(&mut turns), first);
        turns.done();
        turns.done();
        assert_eq!(told(&mut turns), [bell(AHEAD - 2), bell(AHEAD - 1)]);
        (0..AHEAD).for_each(|_| turns.done());
        assert_eq!(told(&mut turns), [bell(AHEAD), bell(AHEAD + 1)]);
        turns.done();
        assert!(!turns.is_empty());
        turns.done();
        assert!(turns.is_empty());
    }
}
