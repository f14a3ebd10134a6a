//! Response times: the least fixed point of `r = constant + Σ ⌈r/I⌉ S`.
//!
//! One channel's is found by iteration from below. Those of all channels in priority order are found in one
//! [`sweep`]: the response time never falls from one place to the next (whoever is lower waits for all that
//! the one above it waits for, and for that one), so time only moves forward, and a release of channel `j`
//! is an event that adds `S_j` once. That costs the number of releases in the longest response time, times the
//! logarithm of a heap, where separate iterations would cost the square of the number of channels.
//!
//! *Who is in time* is a smaller question, and one request must not take long because somebody in the table has a minute ([`in_time`]). As `t/I ≤ ⌈t/I⌉ ≤ 1 + t/I`, with `U = Σ S/I` of who goes before
//!
//! ```text
//! constant / (1 − U) ≤ r ≤ (constant + Σ S) / (1 − U),
//! ```
//!
//! (Bini and Baruah 2007 have the second), so releases are counted only for a channel whose deadline lies between the two, from the first on. That is counted, too: who would take more than
//! [`MOST_RELEASES`] counts as late.

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

/// Releases that are counted to say who is in time: some milliseconds of work, and several times what ten thousand channels come to whose deadlines decide.
pub(super) const MOST_RELEASES: usize = 1 << 17;

/// Calls `visit` with the place of every claim, from the top, and whether its response time is within its limit, or counts as beyond it since more than `most` releases would
/// have to be counted; answers how many were.
pub(super) fn in_time(
    constant: u128,
    above: &[Task],
    claims: impl ExactSizeIterator<Item = Claim>,
    most: usize,
    mut visit: impl FnMut(usize, bool),
) -> usize {
    let releases = BinaryHeap::with_capacity(above.len() + claims.len());
    let mut window = Window { t: 0, demand: 0, tasks: Vec::new(), releases, horizon: u64::MAX };
    let mut before = Before::default();
    for &task in above {
        before.add(task);
        window.add(task);
    }
    let mut counted = 0;
    for (place, claim) in claims.enumerate() {
        let own = constant.saturating_add(claim.task.service());
        let limit = u128::from(claim.limit);
        let met = if before.most(own).is_some_and(|most| most <= limit) {
            true
        } else {
            let least = before.least(own).filter(|least| *least <= limit && counted <= most);
            least.and_then(|least| u64::try_from(least).ok()).is_some_and(|least| {
                counted += window.forward(least, before.frequency);
                window.settle(own, claim.limit, most, &mut counted)
            })
        };
        visit(place, met);
        before.add(claim.task);
        window.add(claim.task);
    }
    counted
}

/// What is served before a claim.
#[derive(Debug, Default)]
struct Before {
    services: u128,
    /// `U`, in units of `1/WHOLE`, rounded down for each, of so many.
    weights: u128,
    tasks: u128,
    /// `Σ 1/I` in units of 2⁻⁶⁴ of a picosecond.
    frequency: u128,
}

impl Before {
    fn add(&mut self, task: Task) {
        self.services += task.service();
        self.weights += u128::from(task.weight);
        self.tasks += 1;
        self.frequency += (1u128 << 64) / u128::from(task.interval);
    }

    /// What `r` is at least; `None` if it has no end.
    fn least(&self, constant: u128) -> Option<u128> {
        let free = Task::WHOLE.checked_sub(self.weights).filter(|free| *free > 0)?;
        Some(constant.checked_mul(Task::WHOLE)? / free)
    }

    /// And at most.
    fn most(&self, constant: u128) -> Option<u128> {
        let free = Task::WHOLE.checked_sub(self.weights + self.tasks).filter(|free| *free > 0)?;
        Some(constant.checked_add(self.services)?.checked_mul(Task::WHOLE)?.div_ceil(free))
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

    /// Goes on to `t`, if that is later, where `frequency` is that of all releases; answers how many were looked at.
    fn forward(&mut self, t: u64, frequency: u128) -> usize {
        let Some(further) = t.checked_sub(self.t).filter(|further| *further > 0) else { return 0 };
        let several = u128::from(further).saturating_mul(frequency) >> 64;
        self.t = t;
        if several <= 2 * self.tasks.len() as u128 {
            return 0;
        }
        // All anew is less.
        self.demand = demand(&self.tasks, t);
        self.releases.clear();
        for index in 0..self.tasks.len() {
            let released = t.div_ceil(self.tasks[index].interval).saturating_mul(self.tasks[index].interval);
            self.schedule(released, index as u32);
        }
        self.tasks.len()
    }

    /// Goes on to where `own` is done, and says whether that is within `limit`; or does not, once more than `most` releases are `counted`.
    fn settle(&mut self, own: u128, limit: u64, most: usize, counted: &mut usize) -> bool {
        loop {
            while let Some(&Reverse((at, _))) = self.releases.peek()
                && at < self.t
            {
                if *counted >= most {
                    return false;
                }
                *counted += 1;
                self.count_one();
            }
            if *counted > most {
                return false;
            }
            let next = own.saturating_add(self.demand);
            if next <= u128::from(self.t) {
                return self.t <= limit;
            }
            match u64::try_from(next) {
                Ok(t) if t <= limit => self.t = t,
                _ => return false,
            }
        }
    }

    fn schedule(&mut self, at: u64, task: u32) {
        // A release counts once `t` has passed it.
        if at < self.horizon {
            self.releases.push(Reverse((at, task)));
        }
    }

    fn advance(&mut self) {
        while let Some(&Reverse((at, _))) = self.releases.peek()
            && at < self.t
        {
            self.count_one();
        }
    }

    fn count_one(&mut self) {
        let Some(Reverse((at, index))) = self.releases.pop() else { return };
        let task = self.tasks[index as usize];
        self.demand += task.service();
        self.schedule(at.saturating_add(task.interval), index);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all_in_time(constant: u128, above: &[Task], claims: &[Claim], most: usize) -> (Vec<bool>, usize) {
        let mut met = Vec::new();
        let counted = in_time(constant, above, claims.iter().copied(), most, |_, one| met.push(one));
        (met, counted)
    }

    proptest! {
        /// Limits are drawn about where response times are, and intervals are far apart, so that some are told by a line, some by going on to it and some release by release.
        #[test]
        fn who_is_in_time_is_in_the_sweep(
            drawn in prop::collection::vec((1u64..2000, 1u64..60, 0u64..240), 1..40),
            load in 1u64..8,
            constant in 0u128..400,
            most in prop::sample::select(vec![0usize, 3, 1 << 20]),
        ) {
            let count = drawn.len() as u64;
            let claims: Vec<Claim> = drawn
                .iter()
                .scan(constant as u64, |sum, (interval, service, share)| {
                    *sum += service;
                    let interval = interval * count * 60 / load;
                    Some(Claim { task: task(interval.max(*service), u128::from(*service)), limit: *sum * share / 100 })
                })
                .collect();
            let above = [task(50 * count, 7)];
            let mut swept = vec![None; claims.len()];
            sweep(constant, &above, claims.iter().copied(), |place, r| swept[place] = Some(r.is_some()));
            let (met, counted) = all_in_time(constant, &above, &claims, most);
            for (place, met) in met.into_iter().enumerate() {
                // With less effort fewer are, and nobody who is not.
                let so = if most > 3 { swept[place] == Some(met) } else { !met || swept[place] == Some(true) };
                prop_assert!(so, "{place}: {met} {:?}", swept[place]);
            }
            prop_assert!(counted <= most + claims.len() + 1);
        }
    }

    /// Ten thousand channels that are served every 50 ms, and below them one that takes minutes: the least that it may take is 250 s/(1 − 1/2), in which 100 million messages
    /// come, and the most 50 ms more. If it has those, or less than the least, nothing is counted; if it has 20 ms of them, each channel once, and what comes meanwhile.
    #[test]
    fn a_minute_in_the_table_is_not_counted_through() {
        const MS: u64 = 1_000_000_000;
        let mut claims = vec![Claim { task: task(50 * MS, 2_500_000), limit: 50 * MS }; 10_000];
        let long = |limit| Claim { task: task(3_600_000 * MS, u128::from(250_000 * MS)), limit };
        for (limit, found, effort) in
            [(501_000 * MS, true, 0), (500_020 * MS, true, 30_000), (499_000 * MS, false, 0)]
        {
            claims.push(long(limit));
            let (met, counted) = all_in_time(0, &[], &claims, MOST_RELEASES);
            assert!(met[..10_000].iter().all(|met| *met), "they have 50 ms for 25");
            assert_eq!(met[10_000], found, "{limit}");
            assert!(counted <= effort && (effort == 0 || counted >= 10_000), "{counted} of {effort}");
            claims.pop();
        }
        // The most are counted, and then it counts as late.
        claims.push(long(500_020 * MS));
        assert_eq!(all_in_time(0, &[], &claims, 10).0.last(), Some(&false));
    }

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
