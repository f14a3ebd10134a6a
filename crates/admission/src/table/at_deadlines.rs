//! Demand by each channel's deadline, of all channels at once.
//!
//! `constant + S_k + Σ_{j<k} ⌈d_k/I_j⌉ S_j` for each `k` is quadratic in their number: 40 ms for
//! ten thousand, each time that a newcomer changes what all have in common. The quick test of a
//! newcomer goes by it. It may be too high and is never too low; a channel that fails it is looked
//! at more closely. So beyond [`EXACT`] channels it is bounded from above: where `I_j ≥ d_k` there
//! is one release, and else
//!
//! ```text
//! ⌈d/I⌉ ≤ 1 + d/I        so        Σ_j ⌈d_k/I_j⌉ S_j ≤ Σ_j S_j + d_k Σ_{I_j < d_k} S_j/I_j,
//! ```
//!
//! with the last sum from a tree over the intervals in their order (Fenwick 1994), in which each
//! channel is put after it was looked at: `O(n log n)`.

use super::super::response::{Task, demand};

/// Channels up to which it is computed as it stands.
const EXACT: usize = 1024;

/// Per channel, from the highest: what is asked for by its deadline, by itself, by `above` and by
/// the channels above it; exactly, or bounded from above.
pub(super) fn at_deadlines(
    constant: u128,
    above: &[Task],
    channels: &[Task],
    deadlines: impl Iterator<Item = u64>,
) -> Vec<u128> {
    if channels.len() <= EXACT {
        let of = |(place, deadline)| {
            let own: &Task = &channels[place];
            constant + own.service() + demand(above, deadline) + demand(&channels[..place], deadline)
        };
        return deadlines.enumerate().map(of).collect();
    }
    let mut shorter = Shorter::new(channels);
    let mut services = 0;
    let of = |(own, deadline): (&Task, u64)| {
        services += own.service();
        let several = shorter.weight_below(deadline).saturating_mul(u128::from(deadline));
        shorter.add(own);
        constant + demand(above, deadline) + services + several.div_ceil(Task::WHOLE)
    };
    channels.iter().zip(deadlines).map(of).collect()
}

/// Sums of `S/I` by `I`.
struct Shorter {
    /// Every interval that there is, in order.
    intervals: Vec<u64>,
    tree: Vec<u128>,
}

impl Shorter {
    fn new(channels: &[Task]) -> Self {
        let mut intervals: Vec<u64> = channels.iter().map(Task::interval).collect();
        intervals.sort_unstable();
        intervals.dedup();
        let tree = vec![0; intervals.len() + 1];
        Self { intervals, tree }
    }

    fn add(&mut self, task: &Task) {
        let mut at = 1 + self.intervals.partition_point(|interval| *interval < task.interval());
        while at < self.tree.len() {
            // Weights are rounded down.
            self.tree[at] += u128::from(task.weight) + 1;
            at += at & at.wrapping_neg();
        }
    }

    /// Of those added with an interval shorter than `deadline`.
    fn weight_below(&self, deadline: u64) -> u128 {
        let mut at = self.intervals.partition_point(|interval| *interval < deadline);
        let mut sum = 0;
        while at > 0 {
            sum += self.tree[at];
            at -= at & at.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(constant: u128, above: &[Task], channels: &[Task], deadlines: &[u64]) -> Vec<u128> {
        let of = |place: usize| {
            let higher: u128 = channels[..place].iter().map(|task| task.demand(deadlines[place])).sum();
            constant + demand(above, deadlines[place]) + higher + channels[place].service()
        };
        (0..channels.len()).map(of).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        /// Many channels: never less than the demand, at most one release of each shorter channel
        /// more, and exact where none is shorter.
        #[test]
        fn many_are_bounded_from_above(
            drawn in prop::collection::vec((1_000u64..100_000, 1u64..40, 1u64..400), EXACT + 1..EXACT + 40),
            constant in 0u128..5000,
        ) {
            let task = |(interval, service, _): &(u64, u64, u64)| Task::new(*interval, u128::from(*service)).unwrap();
            let tasks: Vec<Task> = drawn.iter().map(task).collect();
            let deadlines: Vec<u64> = drawn.iter().map(|(interval, _, part)| interval * part / 200 + 1).collect();
            let above = [Task::new(700, 5).unwrap()];
            let found = at_deadlines(constant, &above, &tasks, deadlines.iter().copied());
            for (place, exact) in exact(constant, &above, &tasks, &deadlines).into_iter().enumerate() {
                let shorter = tasks[..place].iter().filter(|task| task.interval() < deadlines[place]);
                let more: u128 = shorter.map(|task| task.service() + 1).sum();
                prop_assert!((exact..=exact + more).contains(&found[place]), "{exact} {} {more}", found[place]);
            }
        }
    }

    #[test]
    fn few_are_counted() {
        let tasks = [Task::new(10, 3).unwrap(), Task::new(20, 4).unwrap(), Task::new(7, 1).unwrap()];
        let deadlines = [9, 11, 20];
        assert_eq!(at_deadlines(2, &[], &tasks, deadlines.into_iter()), [5, 12, 13]);
        assert_eq!(exact(2, &[], &tasks, &deadlines), [5, 12, 13]);
    }
}
