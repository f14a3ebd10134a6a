//! Response times: the least fixed point of `r = constant + Σ ⌈r/I⌉ S`.
//!
//! One channel's is found by iteration from below. Those of all channels in priority order are found in one
//! [`sweep`]: the response time never falls from one place to the next (whoever is lower waits for all that
//! the one above it waits for, and for that one), so time only moves forward, and a release of channel `j`
//! is an event that adds `S_j` once. That costs the number of releases in the longest response time, times the
//! logarithm of a heap, where separate iterations would cost the square of the number of channels.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A recurring demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Task {
    /// Between releases, in picoseconds.
    interval: u64,
    /// `S`, in picoseconds; at most `interval`, so that no sum over tasks can overflow.
    service: u64,
    /// `S/I` in units of `1/WHOLE`, rounded down.
    pub(super) weight: u64,
}

impl Task {
    /// A weight of one.
    pub(super) const WHOLE: u128 = 1 << 32;

    /// `None` if the demand alone exceeds its interval.
    pub(super) fn new(interval: u64, service: u128) -> Option<Self> {
        let service = u64::try_from(service).ok().filter(|&service| service <= interval)?;
        let weight = (u128::from(service) * Self::WHOLE / u128::from(interval)) as u64;
        Some(Self { interval, service, weight })
    }

    /// Demand of releases in `[0, t)`, the first at 0.
    pub(super) fn demand(&self, t: u64) -> u128 {
        if t <= self.interval && t > 0 {
            u128::from(self.service)
        } else {
            u128::from(t.div_ceil(self.interval)) * u128::from(self.service)
        }
    }

    pub(super) fn service(&self) -> u128 {
        u128::from(self.service)
    }

    pub(super) fn interval(&self) -> u64 {
        self.interval
    }
}

/// `Σ ⌈t/I⌉ S`.
pub(super) fn demand(tasks: &[Task], t: u64) -> u128 {
    tasks.iter().map(|task| task.demand(t)).sum()
}

/// The least fixed point of `r = constant + demand(tasks, r)` if it is at most `limit`; else a lower bound
/// of it, above `limit`, or `None` if there is no fixed point.
///
/// Iteration starts from where the demand would be if its steps were a line, which is below the fixed point.
pub(super) fn response(constant: u128, tasks: &[Task], limit: u64) -> Result<u64, Option<u128>> {
    let (services, weights) = tasks.iter().fold((0u128, 0u128), |(services, weights), task| {
        (services + task.service(), weights + u128::from(task.weight))
    });
    if weights >= Task::WHOLE && constant > 0 {
        return Err(None);
    }
    let line = match constant.checked_mul(Task::WHOLE) {
        Some(scaled) if weights < Task::WHOLE => scaled / (Task::WHOLE - weights),
        _ => constant,
    };
    let mut r = line.max(constant.saturating_add(services));
    loop {
        let t = match u64::try_from(r) {
            Ok(t) if t <= limit => t,
            _ => return Err(Some(r)),
        };
        let next = constant.saturating_add(demand(tasks, t));
        // Starting above zero, below the fixed point and on the way up: never downwards.
        if next <= r {
            return Ok(t);
        }
        r = next;
    }
}

/// A channel as a sweep sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) task: Task,
    /// Latest response time that is of interest.
    pub(super) limit: u64,
}

/// Calls `visit` with the place of every claim, from the top, and its response time if that is within its
/// limit. `above` is served before all of them.
pub(super) fn sweep(
    constant: u128,
    above: &[Task],
    claims: impl ExactSizeIterator<Item = Claim> + Clone,
    mut visit: impl FnMut(usize, Option<u64>),
) {
    let horizon = claims.clone().map(|claim| claim.limit).max().unwrap_or(0);
    let mut window = Window { t: 0, demand: 0, tasks: Vec::new(), releases: BinaryHeap::new(), horizon };
    for &task in above {
        window.add(task);
    }
    let places = claims.len();
    for (place, claim) in claims.enumerate() {
        let own = constant.saturating_add(claim.task.service());
        let response = loop {
            window.advance();
            let next = own.saturating_add(window.demand);
            if next <= u128::from(window.t) {
                break Some(window.t);
            }
            let Some(t) = u64::try_from(next).ok().filter(|&t| t <= horizon) else {
                // Beyond every limit, and whoever comes later is later still.
                (place..places).for_each(|place| visit(place, None));
                return;
            };
            window.t = t;
            if t > claim.limit {
                break None;
            }
        };
        visit(place, response.filter(|&r| r <= claim.limit));
        window.add(claim.task);
    }
}

/// The releases in `[0, t)` of the tasks served so far, for a `t` that only grows.
struct Window {
    t: u64,
    demand: u128,
    tasks: Vec<Task>,
    releases: BinaryHeap<Reverse<(u64, u32)>>,
    horizon: u64,
}

impl Window {
    fn add(&mut self, task: Task) {
        self.demand += task.demand(self.t);
        let released = self.t.div_ceil(task.interval).saturating_mul(task.interval);
        let index = u32::try_from(self.tasks.len()).expect("tasks fit in memory");
        self.tasks.push(task);
        self.schedule(released, index);
    }

    fn schedule(&mut self, at: u64, task: u32) {
        // A release counts once `t` has passed it.
        if at < self.horizon {
            self.releases.push(Reverse((at, task)));
        }
    }

    fn advance(&mut self) {
        while let Some(&Reverse((at, index))) = self.releases.peek()
            && at < self.t
        {
            self.releases.pop();
            let task = self.tasks[index as usize];
            self.demand += task.service();
            self.schedule(at.saturating_add(task.interval), index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(interval: u64, service: u128) -> Task {
        Task::new(interval, service).expect("it fits its interval")
    }

    #[test]
    fn what_takes_all_the_time_has_a_response_only_if_nothing_is_waited_for() {
        assert_eq!(response(0, &[task(10, 10)], 100), Ok(10));
        assert_eq!(response(1, &[task(10, 10)], 100), Err(None));
    }

    #[test]
    fn a_response_beyond_the_limit_is_bounded_from_below() {
        // On a line: 50/(1 − 1/2), and that is it.
        assert_eq!(response(50, &[task(10, 5)], 100), Ok(100));
        assert_eq!(response(50, &[task(10, 5)], 60), Err(Some(100)));
        // On a line 20/(1 − 1/5) = 25, but one of each there is at once: 20 + 1 + 100.
        assert_eq!(response(20, &[task(10, 1), task(1000, 100)], 30), Err(Some(121)));
    }

    #[test]
    fn a_demand_counts_what_is_released_before() {
        let task = task(10, 3);
        assert_eq!([0, 1, 10, 11, 20, 21].map(|t| task.demand(t)), [0, 3, 3, 6, 6, 9]);
    }

    #[test]
    fn a_sweep_finds_what_ends_at_its_limit_or_at_a_release() {
        let swept = |claims: &[(u64, u128, u64)]| {
            let claims = claims
                .iter()
                .map(|&(interval, service, limit)| Claim { task: task(interval, service), limit });
            let mut found = Vec::new();
            sweep(1, &[task(10, 5)], claims, |place, response| found.push((place, response)));
            found
        };
        // 1 + 5 + 4 end at 10, when the next is released above.
        assert_eq!(swept(&[(100, 4, 10)]), [(0, Some(10))]);
        assert_eq!(swept(&[(100, 4, 9)]), [(0, None)]);
        // The second: 1 + 5 + 4 + 3 is 13, in which there is another 5 above: 18. A limit that the first misses is not the second's.
        assert_eq!(swept(&[(100, 4, 9), (100, 3, 18)]), [(0, None), (1, Some(18))]);
        assert_eq!(swept(&[(100, 4, 10), (100, 3, 17)]), [(0, Some(10)), (1, None)]);
    }
}
