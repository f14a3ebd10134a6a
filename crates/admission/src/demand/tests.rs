//! Small hosts, looked at instant by instant.

use proptest::prelude::*;

use super::*;

/// Intervals of which all common multiples are small.
const INTERVALS: [u64; 10] = [4, 5, 6, 8, 10, 12, 15, 20, 24, 30];
const HYPERPERIOD: u64 = 120;
/// Beyond it no small host can fail: there are at most 40 waited for, and a 120th of the time is
/// left over.
const FAR: u64 = 5000;

/// An effort that no test exhausts.
fn plenty() -> &'static Effort {
    Box::leak(Box::new(Effort::of(u64::MAX)))
}

#[derive(Debug, Clone)]
struct Small {
    constant: u64,
    activations: Vec<Task>,
    tasks: Vec<Task>,
    deadlines: Vec<u64>,
}

impl Small {
    fn host(&self) -> Host<'_> {
        Host { constant: self.constant.into(), stairs: &[], activations: &self.activations, effort: plenty() }
    }

    fn streams(&self) -> Vec<Stream> {
        self.tasks.iter().zip(&self.deadlines).map(|(task, d)| Stream::new(task, *d)).collect()
    }

    fn above(&self, y: u64) -> u64 {
        self.constant + self.activations.iter().map(|task| task.demand(y) as u64).sum::<u64>()
    }

    /// `b_j(t)`, by counting.
    fn due(&self, j: usize, t: u64) -> u64 {
        (0..).take_while(|k| k * self.tasks[j].interval() + self.deadlines[j] <= t).count() as u64
    }

    /// The first instant that fails, by trying every `y` at every `t`.
    fn fails_at(&self) -> Option<u64> {
        let mut due = 0;
        (1..FAR).find(|&t| {
            for (task, &deadline) in self.tasks.iter().zip(&self.deadlines) {
                if t >= deadline && (t - deadline) % task.interval() == 0 {
                    due += task.service() as u64;
                }
            }
            due > 0 && !(0..=t).rev().any(|y| self.above(y) + due <= y)
        })
    }

    fn saturated(&self) -> bool {
        let used = |tasks: &[Task]| -> u64 {
            tasks.iter().map(|task| task.service() as u64 * HYPERPERIOD / task.interval()).sum()
        };
        used(&self.tasks) + used(&self.activations) >= HYPERPERIOD
    }

    /// `y(t)`, by trying.
    fn window(&self, t: u64) -> u64 {
        let demand = |y: u64| -> u64 {
            let jobs = |j: usize| self.due(j, t).min(y.div_ceil(self.tasks[j].interval()));
            (0..self.tasks.len()).map(|j| jobs(j) * self.tasks[j].service() as u64).sum()
        };
        (1..).find(|&y| self.above(y) + demand(y) <= y).unwrap()
    }
}

fn task(most: u64) -> impl Strategy<Value = Task> {
    (prop::sample::select(&INTERVALS[..]), 1..=most)
        .prop_map(|(interval, service)| Task::new(interval, service.min(interval).into()).unwrap())
}

fn small() -> impl Strategy<Value = Small> {
    let activations = prop_oneof![2 => Just(0usize), 1 => 1usize..3];
    (0u64..12, activations, 1usize..6).prop_flat_map(|(constant, activations, channels)| {
        (prop::collection::vec(task(2), activations), prop::collection::vec((task(6), 20u64..300), channels))
            .prop_map(move |(activations, channels)| Small {
                constant,
                activations,
                // From a fifth of the interval to three of them.
                deadlines: channels
                    .iter()
                    .map(|(task, percent)| (task.interval() * percent / 100).max(1))
                    .collect(),
                tasks: channels.into_iter().map(|(task, _)| task).collect(),
            })
    })
}

/// Whether EDF on one processor that is preempted at no cost keeps all deadlines from a common
/// start on: step by step, and with no formula.
fn edf_keeps(small: &Small) -> bool {
    let mut jobs: Vec<(u64, u64)> = Vec::new();
    for now in 0..4 * HYPERPERIOD {
        for (task, deadline) in small.tasks.iter().zip(&small.deadlines) {
            if now % task.interval() == 0 {
                jobs.push((now + deadline, task.service() as u64));
            }
        }
        jobs.sort_unstable();
        match jobs.first_mut() {
            Some((deadline, _)) if *deadline <= now => return false,
            Some((_, left)) => *left -= 1,
            None => {}
        }
        jobs.retain(|(_, left)| *left > 0);
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_walk_finds_what_looking_everywhere_finds(small in small()) {
        match feasible(small.host(), &small.streams()) {
            Ok(()) => prop_assert_eq!(small.fails_at(), None),
            Err(Failure::Overload) => prop_assert!(small.saturated()),
            Err(Failure::Untold) => prop_assert!(false, "it has all the time"),
            Err(Failure::Late { t, done }) => {
                let first = small.fails_at();
                prop_assert!(first.is_some_and(|first| first <= t), "{:?} and {}", first, t);
                prop_assert!(done.is_none_or(|done| done > t.into()));
            }
        }
    }

    #[test]
    fn without_waits_it_is_exact(small in small()) {
        let small = Small { constant: 0, activations: Vec::new(), ..small };
        if !small.saturated() {
            prop_assert_eq!(feasible(small.host(), &small.streams()).is_ok(), edf_keeps(&small));
        }
    }

    #[test]
    fn the_least_deadline_is_the_least(small in small()) {
        let mut others = small.clone();
        let task = others.tasks.pop().unwrap();
        others.deadlines.pop();
        if feasible(small.host(), &others.streams()).is_ok() {
            let with = |deadline| {
                let mut all = others.clone();
                all.tasks.push(task);
                all.deadlines.push(deadline);
                all
            };
            match least_deadline(small.host(), &others.streams(), &task) {
                Ok(least) => {
                    prop_assert_eq!(with(least).fails_at(), None);
                    prop_assert!(least == 1 || with(least - 1).fails_at().is_some());
                }
                Err(failure) => {
                    prop_assert_eq!(failure, Failure::Overload);
                    prop_assert!(with(1).saturated());
                }
            }
        }
    }

    /// A channel that is admitted by lines is in time; with less effort the answer is the same, and
    /// no more is looked at.
    #[test]
    fn lines_admit_nobody_who_is_late(small in small(), looks in 0u64..200) {
        let mut others = small.clone();
        let task = others.tasks.pop().unwrap();
        others.deadlines.pop();
        let streams = others.streams();
        if feasible_by_lines(small.host(), &streams) {
            prop_assert_eq!(others.fails_at(), None);
        }
        let all = feasible(small.host(), &streams);
        let effort = Effort::of(looks);
        let hurried = feasible(Host { effort: &effort, ..small.host() }, &streams);
        prop_assert!(hurried == all || hurried == Err(Failure::Untold));
        prop_assert!(hurried != Err(Failure::Untold) || !effort.take(1));
        if all.is_ok() && !small.saturated() {
            let least = least_deadline(small.host(), &streams, &task);
            let hurried = least_deadline(Host { effort: &Effort::of(looks), ..small.host() }, &streams, &task);
            prop_assert!(hurried == least || hurried == Err(Failure::Untold));
            if let Some(by_lines) = least_deadline_by_lines(small.host(), &streams, &task) {
                prop_assert!(least.is_ok_and(|least| least <= by_lines), "{least:?} {by_lines}");
                let with = |deadline| streams.iter().copied().chain([Stream::new(&task, deadline)]).collect::<Vec<_>>();
                prop_assert!(feasible_by_lines(small.host(), &with(by_lines)));
                prop_assert!(by_lines == 1 || !feasible_by_lines(small.host(), &with(by_lines - 1)));
            }
        }
    }

    #[test]
    fn worst_responses_are_those_of_every_instant(small in small()) {
        let streams = small.streams();
        if feasible(small.host(), &streams).is_ok() {
            let worst = responses(small.host(), &streams, &small.tasks).unwrap();
            // No window outlasts the period with everything in it. The long ones take too long to
            // try.
            let busy = small.window(FAR);
            prop_assume!(busy < 200);
            for (j, worst) in worst.iter().enumerate() {
                let deadline = small.deadlines[j];
                let bound = (deadline..=deadline + busy)
                    .map(|t| small.window(t).saturating_sub(t - deadline))
                    .max();
                prop_assert_eq!(Some(worst.bound), bound);
                prop_assert!(worst.bound <= deadline);
                prop_assert_eq!(worst.bound, worst.window - worst.head_start);
            }
        }
    }
}

#[test]
fn a_set_that_only_edf_can_serve() {
    // Of 4 and 7, each with its interval for a deadline: by priorities the second needs 3 + 2·2 =
    // 7, and a wait of 1 is too much. By deadlines it could even have 6: 1 + 2 + 3 are done by
    // then, and at 12 there are 1 + 6 + 3.
    let tasks = [Task::new(4, 2).unwrap(), Task::new(7, 3).unwrap()];
    let settled = [Stream::new(&tasks[0], 4)];
    let host = Host { constant: 0, stairs: &[], activations: &[], effort: plenty() };
    assert_eq!(least_deadline(host, &settled, &tasks[1]), Ok(5));
    let host = Host { constant: 1, stairs: &[], activations: &[], effort: plenty() };
    assert_eq!(least_deadline(host, &settled, &tasks[1]), Ok(6));
    let both = |deadline| [settled[0], Stream::new(&tasks[1], deadline)];
    assert_eq!(feasible(host, &both(6)), Ok(()));
    // At 12 three of the first and two of the second are due, which with the wait are 13.
    assert_eq!(feasible(host, &both(5)), Err(Failure::Late { t: 12, done: Some(13) }));
}

#[test]
fn what_uses_everything_is_an_overload() {
    let task = Task::new(10, 5).unwrap();
    let host = Host { constant: 1, stairs: &[], activations: &[], effort: plenty() };
    let half = Stream::new(&task, 1000);
    assert_eq!(feasible(host, &[half, half]), Err(Failure::Overload));
    assert_eq!(least_deadline(host, &[half], &task), Err(Failure::Overload));
    let above = [task];
    assert_eq!(
        feasible(Host { constant: 0, stairs: &[], activations: &above, effort: plenty() }, &[half]),
        Err(Failure::Overload)
    );
}

#[test]
fn a_set_that_leaves_next_to_nothing_over_is_told_by_lines() {
    // A hundred-millionth is left, for a wait of a hundred intervals: there are 10¹⁰ deadlines
    // below the horizon.
    let (interval, wait) = (100_000_000, 10_000_000_000);
    let task = Task::new(interval, u128::from(interval) - 1).unwrap();
    let effort = Effort::of(1 << 20);
    let host = Host { constant: wait.into(), stairs: &[], activations: &[], effort: &effort };
    let stream = |deadline| Stream::new(&task, deadline);
    // Of each interval it leaves one, and so it may wait until all but one of its own is over.
    let least = wait + interval - 1;
    assert_eq!(feasible(host, &[stream(least)]), Err(Failure::Untold));
    assert!(!effort.take(1));
    assert_eq!(responses(Host { effort: plenty(), ..host }, &[stream(least)], &[task]), None);
    assert!(feasible_by_lines(host, &[stream(least)]) && !feasible_by_lines(host, &[stream(least - 1)]));
    assert_eq!(least_deadline_by_lines(host, &[], &task), Some(least));
    // With half the demand it is a matter of a moment, and of two such the second can have what it
    // takes more.
    let half = Task::new(interval, u128::from(interval) / 2).unwrap();
    let host = Host { effort: plenty(), ..host };
    assert_eq!(feasible(host, &[Stream::new(&half, wait + interval + 1)]), Ok(()));
    let less = Task::new(interval, u128::from(interval) / 4).unwrap();
    let first = Stream::new(&half, wait + interval);
    // Before the other, if it is through by then, as there is a quarter of an interval left at its
    // deadline; or when half of the arrivals after that of the other have left it a quarter.
    assert_eq!(least_deadline_by_lines(host, &[first], &less), Some(wait + interval / 4));
    let tight = Stream::new(&half, wait + interval / 2);
    assert_eq!(least_deadline_by_lines(host, &[tight], &less), Some(wait + interval));
    // With what is above the handlers, a quarter of the time: (wait + a quarter of an interval +
    // its own) / (1 − 1/4).
    let above = [Task::new(interval, u128::from(interval) / 4).unwrap()];
    let host = Host { activations: &above, ..host };
    assert_eq!(least_deadline_by_lines(host, &[], &half), Some((4 * wait + 3 * interval).div_ceil(3)));
    assert_eq!(least_deadline_by_lines(host, &[stream(least)], &half), None);
}

#[test]
fn who_cannot_do_without_a_newcomer_is_what_fails() {
    // Due at 1 and done at 2.
    let settled = [Stream::new(&Task::new(4, 2).unwrap(), 1)];
    let host = Host { constant: 0, stairs: &[], activations: &[], effort: plenty() };
    let late = least_deadline(host, &settled, &Task::new(100, 1).unwrap());
    assert!(matches!(late, Err(Failure::Late { t: 1, .. })), "{late:?}");
}
