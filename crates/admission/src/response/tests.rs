//! Response times beside those that are counted with all the time there is, and with little.

use proptest::prelude::*;

use super::*;

fn all_in_time(constant: u128, above: &[Task], claims: &[Claim], most: usize) -> (Vec<bool>, usize) {
    let mut met = Vec::new();
    let counted = in_time(constant, above, claims.iter().copied(), most, |_, one| met.push(one));
    (met, counted)
}

proptest! {
    /// Limits are drawn about where response times are, and intervals are far apart, so that some
    /// are decided by a line, some by going on to it and some release by release.
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
        let effort = Effort::of(u64::MAX);
        sweep(constant, &above, claims.iter().copied(), &effort, |place, r| swept[place] = Some(r.is_some()));
        let (met, counted) = all_in_time(constant, &above, &claims, most);
        for (place, met) in met.into_iter().enumerate() {
            // With less effort fewer are, and none that is not.
            let so = if most > 3 { swept[place] == Some(met) } else { !met || swept[place] == Some(true) };
            prop_assert!(so, "{place}: {met} {:?}", swept[place]);
        }
        prop_assert!(counted <= most + claims.len() + 1);
    }
}

/// The response time of each claim by the sweep, and one by one.
fn swept_and_alone(constant: u128, above: &[Task], claims: &[Claim]) -> (Vec<Option<u64>>, Vec<Option<u64>>) {
    let mut swept = vec![None; claims.len()];
    let effort = Effort::of(u64::MAX);
    sweep(constant, above, claims.iter().copied(), &effort, |place, r| swept[place] = r);
    let mut before = above.to_vec();
    let alone = claims.iter().map(|claim| {
        let alone = found(constant + claim.task.service(), &before, claim.limit);
        before.push(claim.task);
        alone.ok()
    });
    (swept, alone.collect())
}

proptest! {
    /// One by one they have the sweep's results. This includes a claim that takes no time and has
    /// none ahead: it waits for arrivals at the same instant (`exceeded/19`).
    #[test]
    fn the_sweep_has_the_response_time_of_each(
        drawn in prop::collection::vec((1u64..2000, 0u64..3), 1..8),
        above in prop::collection::vec((50u64..500, 0u64..8), 0..3),
        constant in 0u128..3,
    ) {
        let above: Vec<Task> = above.iter().map(|(interval, service)| task(*interval, u128::from(*service))).collect();
        let of = |(interval, service): &(u64, u64)| Claim { task: task(interval + 100, u128::from(*service)), limit: 5000 };
        let claims: Vec<Claim> = drawn.iter().map(of).collect();
        let (swept, alone) = swept_and_alone(constant, &above, &claims);
        prop_assert_eq!(swept, alone);
    }
}

proptest! {
    /// Near a full load most of the sweep's way is by lines.
    #[test]
    fn the_sweep_has_the_response_time_of_each_near_a_full_load(
        drawn in prop::collection::vec((10u64..5000, 1u64..100), 2..6),
        constant in 1u128..50,
        free in 1u64..40,
    ) {
        let shares: u64 = drawn.iter().map(|(_, share)| share).sum();
        let claims: Vec<Claim> = drawn
            .iter()
            .map(|&(interval, share)| {
                let interval = interval * 1000;
                let service = interval * share / shares * (10_000 - free) / 10_000;
                Claim { task: task(interval, u128::from(service)), limit: u64::MAX / 2 }
            })
            .collect();
        let (swept, alone) = swept_and_alone(constant, &[], &claims);
        prop_assert_eq!(swept, alone);
    }
}

/// Three channels leave a ten-millionth of the processor free. In the response time of the fourth,
/// 63 s, they have 92 985 releases, more than half of them before the line of all three.
#[test]
fn a_sweep_near_a_full_load_does_not_count_each_release() {
    let tasks = [
        task(1_000_000_000, 300_000_000),
        task(3_001_000_000, 1_000_000_000),
        task(6_997_000_000, 2_566_343_152),
        task(3_600_000_000_000_000, 3_000_000),
    ];
    let claims = tasks.map(|task| Claim { task, limit: u64::MAX / 2 });
    let mut swept = Vec::new();
    let effort = Effort::of(50_000 * LOOKS_OF_A_RELEASE as u64);
    sweep(0, &[], claims.iter().copied(), &effort, |_, r| swept.push(r));
    assert_eq!(swept[3], Some(step_by_step(3_000_000, &tasks[..3])));
}

/// Ten thousand channels that are served every 50 ms, and below them one that takes minutes. The
/// least that it may take is 250 s/(1 − 1/2), in which 100 million messages arrive, and the most 50
/// ms more. If it has those, or less than the least, no release is counted; if it has 20 ms of
/// them, each channel once, and the arrivals in the meantime.
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

fn found(constant: u128, tasks: &[Task], limit: u64) -> Result<u64, Late> {
    response(constant, tasks, limit, &Effort::of(u64::MAX))
}

/// The fixed point by the iteration of the textbook.
fn step_by_step(constant: u128, tasks: &[Task]) -> u64 {
    let mut r = constant.max(1) as u64;
    loop {
        let next = (constant + demand(tasks, r)) as u64;
        if next <= r {
            return r;
        }
        r = next;
    }
}

/// All but a ten-thousandth of the time is taken, and each step of the textbook's iteration is as long as
/// what the frequent task leaves of its interval: 5000 steps.
#[test]
fn near_a_full_load_few_steps_are_enough() {
    let tasks = [task(1000, 900), task(10_000_000, 999_000)];
    let effort = Effort::of(100);
    assert_eq!(response(50_000, &tasks, u64::MAX, &effort), Ok(step_by_step(50_000, &tasks)));
    // A task that leaves a tenth of the time, behind four that are rarer each.
    let tasks = [task(30, 17), task(700, 200), task(9_000, 500), task(80_000, 7_000), task(1_000_000, 2_000)];
    let effort = Effort::of(400);
    assert_eq!(response(5_000_000, &tasks, u64::MAX, &effort), Ok(step_by_step(5_000_000, &tasks)));
}

proptest! {
    /// The least fixed point is found, however full the load.
    #[test]
    fn a_response_is_the_least_fixed_point(
        drawn in prop::collection::vec((1u64..2000, 1u64..1000), 1..7),
        constant in 1u128..5000,
        load in 900u64..1000,
    ) {
        let shares: u64 = drawn.iter().map(|(_, share)| share).sum();
        let of = |(interval, share): &(u64, u64)| {
            let interval = interval * 50;
            task(interval, u128::from((interval * share * load / shares / 1000).max(1)))
        };
        let tasks: Vec<Task> = drawn.iter().map(of).collect();
        prop_assume!(tasks.iter().map(|task| u128::from(task.weight) + 1).sum::<u128>() < Task::WHOLE);
        prop_assert_eq!(found(constant, &tasks, u64::MAX), Ok(step_by_step(constant, &tasks)));
    }

    /// With little effort what is found is no less than the response time and within the limit,
    /// what is late is late, and no more is looked at.
    #[test]
    fn with_less_effort_nobody_is_in_time_who_is_late(
        drawn in prop::collection::vec((1u64..300, 1u64..20), 1..12),
        constant in 0u128..200,
        (load, share, looks) in (1u64..20, 50u64..400, 0u64..80),
    ) {
        let count = drawn.len() as u64;
        let tasks: Vec<Task> = drawn
            .iter()
            .map(|(interval, service)| task((interval * count * 4 / load).max(*service), u128::from(*service)))
            .collect();
        let sum: u128 = constant + tasks.iter().map(Task::service).sum::<u128>();
        let limit = sum as u64 * share / 100;
        let exact = found(constant, &tasks, limit);
        let effort = Effort::of(looks);
        match response(constant, &tasks, limit, &effort) {
            Err(Late::Untold) => prop_assert_eq!(effort.0.get(), 0),
            told => prop_assert_eq!(told, exact),
        }
        match response_or_line(constant, &tasks, limit, &Effort::of(looks)) {
            Ok(by) => prop_assert!(exact.is_ok_and(|exact| exact <= by) && by <= limit, "{by} {exact:?} {limit}"),
            Err(Late::Untold) => {}
            late => prop_assert_eq!(late, exact),
        }
    }

    /// The same of all channels at once, of those that are within their limits.
    #[test]
    fn a_sweep_with_less_effort_says_no_less(
        drawn in prop::collection::vec((20u64..300, 1u64..20, 0u64..100), 1..30),
        constant in 0u128..200,
        looks in 0u64..60,
    ) {
        let count = drawn.len() as u64;
        let tasks: Vec<Task> =
            drawn.iter().map(|(interval, service, _)| task(interval * count, u128::from(*service))).collect();
        let mut exact = Vec::new();
        let claim = |task: &Task, limit| Claim { task: *task, limit };
        let far = tasks.iter().map(|task| claim(task, u64::MAX));
        sweep(constant, &[task(40, 3)], far, &Effort::of(u64::MAX), |_, r| exact.push(r.unwrap()));
        let limits = exact.iter().zip(&drawn).map(|(r, (.., more))| r + more);
        let claims: Vec<Claim> = tasks.iter().zip(limits).map(|(task, limit)| claim(task, limit)).collect();
        let mut coarse = Vec::new();
        sweep(constant, &[task(40, 3)], claims.iter().copied(), &Effort::of(looks), |at, r| coarse.push((at, r)));
        prop_assert_eq!(coarse.len(), claims.len());
        for ((at, r), exact) in coarse.into_iter().zip(exact) {
            prop_assert!(r.is_some_and(|r| r >= exact && r <= claims[at].limit), "{at}: {r:?} of {exact}");
        }
    }
}

/// 1 of each 2 and 499 990 of each 999 983 leave some millionth, so one step is not enough. By the
/// line it is through at (1000 + 1 + 499 990)/(1 − U).
#[test]
fn what_would_take_too_long_to_tell_is_told_by_the_line() {
    let tasks = [task(2, 1), task(999_983, 499_990)];
    let effort = Effort::of(5);
    assert_eq!(response(1000, &tasks, u64::MAX, &effort), Err(Late::Untold));
    assert_eq!(effort.0.get(), 0);
    let line = response_or_line(1000, &tasks, u64::MAX, &Effort::of(5)).unwrap();
    let exactly = (500_991.0 / (0.5 - 499_990.0 / 999_983.0)) as u64;
    assert!(line.abs_diff(exactly) < exactly / 1000, "{line} {exactly}");
    assert_eq!(response_or_line(1000, &tasks, line - 1, &Effort::of(5)), Err(Late::Untold));
    assert!(found(1000, &tasks, u64::MAX).unwrap() <= line);
}

fn task(interval: u64, service: u128) -> Task {
    Task::new(interval, service).expect("it fits its interval")
}

#[test]
fn what_takes_all_the_time_has_a_response_only_if_nothing_is_waited_for() {
    assert_eq!(found(0, &[task(10, 10)], 100), Ok(10));
    assert_eq!(found(1, &[task(10, 10)], 100), Err(Late::Never));
}

#[test]
fn a_response_beyond_the_limit_is_bounded_from_below() {
    // On a line: 50/(1 − 1/2), and that is it.
    assert_eq!(found(50, &[task(10, 5)], 100), Ok(100));
    assert_eq!(found(50, &[task(10, 5)], 60), Err(Late::AtLeast(100)));
    // On a line 20/(1 − 1/5) = 25, but one of each there is at once: 20 + 1 + 100.
    assert_eq!(found(20, &[task(10, 1), task(1000, 100)], 30), Err(Late::AtLeast(121)));
}

#[test]
fn a_demand_counts_what_is_released_before_and_at_the_start() {
    let task = task(10, 3);
    assert_eq!([0, 1, 10, 11, 20, 21].map(|t| task.demand(t)), [3, 3, 3, 6, 6, 9]);
}

#[test]
fn a_sweep_finds_what_ends_at_its_limit_or_at_a_release() {
    let swept = |claims: &[(u64, u128, u64)]| {
        let claims =
            claims.iter().map(|&(interval, service, limit)| Claim { task: task(interval, service), limit });
        let mut found = Vec::new();
        let effort = Effort::of(u64::MAX);
        sweep(1, &[task(10, 5)], claims, &effort, |place, response| found.push((place, response)));
        found
    };
    // 1 + 5 + 4 end at 10, when the next is released above.
    assert_eq!(swept(&[(100, 4, 10)]), [(0, Some(10))]);
    assert_eq!(swept(&[(100, 4, 9)]), [(0, None)]);
    // The second: 1 + 5 + 4 + 3 is 13, in which there is another 5 above: 18. A limit that the
    // first misses is not the second's.
    assert_eq!(swept(&[(100, 4, 9), (100, 3, 18)]), [(0, None), (1, Some(18))]);
    assert_eq!(swept(&[(100, 4, 10), (100, 3, 17)]), [(0, Some(10)), (1, None)]);
}
