use super::*;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A KiB in that many microseconds.
fn every(us: u64) -> Option<Vtick> {
    Some(Vtick::new(Span::from_us(us), Bytes::from_kib(1)))
}

/// Lanes of processes, with a bandwidth or none, of which `ahead` items may be inside.
fn lanes(ahead: u32, of: &[(u32, Option<Vtick>)]) -> Apart<u32> {
    let mut apart = Apart::new(ahead, true, None);
    (0..).zip(of).for_each(|(lane, (process, vtick))| apart.open(lane, *process, *vtick));
    apart
}

fn ring(apart: &mut Apart<u32>, at: u64, lane: u32, items: std::ops::Range<u32>) {
    items.for_each(|item| apart.push(lane, item, Some(Bytes::from_kib(1)), us(at), false));
}

fn turn_of(lane: u32) -> InTurn {
    InTurn { lane, by: By::Turn }
}

fn all(apart: &mut Apart<u32>, at: u64) -> Vec<u32> {
    std::iter::from_fn(|| apart.take(us(at)).map(|taken| taken.item)).collect()
}

#[test]
fn processes_have_turns_and_in_them_their_virtual_interfaces() {
    let mut apart = lanes(9, &[(7, None), (7, None), (8, None)]);
    ring(&mut apart, 0, 0, 0..3);
    ring(&mut apart, 0, 1, 10..12);
    ring(&mut apart, 0, 2, 20..24);
    assert_eq!(all(&mut apart, 0), [0, 20, 10, 21, 1, 22, 11, 23, 2]);
}

#[test]
fn so_many_are_inside_and_the_next_when_one_is_done() {
    let mut apart = lanes(2, &[(7, None), (8, None)]);
    ring(&mut apart, 0, 0, 0..3);
    assert_eq!(all(&mut apart, 0), [0, 1]);
    assert_eq!((apart.rank(us(0)), apart.since()), (None, Time::MAX));
    ring(&mut apart, 5, 1, 10..11);
    apart.done(turn_of(0));
    // 2 has waited for longer, and 7 has had its turn.
    assert_eq!(all(&mut apart, 5), [2]);
    apart.done(turn_of(0));
    assert_eq!(all(&mut apart, 5), [10]);
    assert_eq!(apart.len(), 0);
}

#[test]
fn who_keeps_a_bandwidth_goes_first_and_by_its_stamp() {
    let mut apart = lanes(1, &[(7, None), (8, every(100)), (9, every(50))]);
    ring(&mut apart, 0, 0, 0..2);
    ring(&mut apart, 1, 1, 10..11);
    ring(&mut apart, 2, 2, 20..21);
    // 101 and 52; then the turn, and no room for another.
    assert_eq!(apart.rank(us(2)), Some(us(52)));
    assert_eq!(all(&mut apart, 2), [20, 10, 0]);
    // An item with a bandwidth needs no room.
    ring(&mut apart, 60, 2, 21..22);
    assert_eq!((apart.since(), apart.rank(us(60))), (us(60), Some(us(110))));
}

#[test]
fn what_exceeds_a_bandwidth_goes_in_turn_and_costs_it_nothing() {
    let mut apart = lanes(1, &[(8, every(100))]);
    ring(&mut apart, 0, 0, 0..5);
    let taken: Vec<_> = std::iter::from_fn(|| apart.take(us(0))).collect();
    // The clock goes to 100 and 200, an interval ahead and then two; the third goes in turn, and
    // the fourth finds no room.
    assert_eq!(taken.iter().map(|taken| taken.stamp).collect::<Vec<_>>(), [us(100), us(200), Time::MAX]);
    // While the third is inside, the fourth does not pass it.
    assert_eq!((apart.take(us(500)), apart.since()), (None, Time::MAX));
    apart.done(turn_of(0));
    let next = apart.take(us(500)).unwrap();
    assert_eq!((next.item, next.stamp, next.in_turn), (3, us(300), None), "by when it was rung");
}

#[test]
fn what_exceeds_a_bandwidth_is_given_a_stamp_when_its_clock_has_come_to_the_present() {
    let mut apart = lanes(1, &[(8, every(100)), (9, None)]);
    ring(&mut apart, 0, 0, 0..5);
    assert_eq!(all(&mut apart, 0), [0, 1, 2]);
    let kib = (Some(Bytes::from_kib(1)), us(0));
    assert_eq!((apart.gives_stamp_at(0), apart.given(0, kib, us(199))), (us(200), None));
    assert_eq!(apart.given(0, kib, us(230)), Some(us(300)), "by when it was rung");
    assert_eq!(apart.give(0, kib), (us(300), None));
    // As if it had been within its bandwidth: the next is so, too, and the one after exceeds it.
    let next = [apart.take(us(230)), apart.take(us(230)), apart.take(us(230))]
        .map(|taken| taken.map(|taken| (taken.item, taken.stamp)));
    assert_eq!(next, [Some((3, us(400))), Some((4, Time::MAX)), None]);
    // There is room when that has one; no item without a bandwidth was involved.
    ring(&mut apart, 240, 1, 10..11);
    assert_eq!((apart.rank(us(300)), apart.gives_stamp_at(1)), (None, Time::MAX));
    // Of half the size it has half the interval.
    assert_eq!(apart.give(0, (Some(Bytes::new(512)), us(0))), (us(450), None));
    assert_eq!(all(&mut apart, 400), [10]);
}

#[test]
fn what_had_another_clock_is_not_passed_by_what_is_given_a_stamp() {
    let mut apart = lanes(2, &[(7, None)]);
    apart.share = Some(Share { rate: Rate::from_bytes_per_sec(10_240_000), clock: FlowClock::default() });
    ring(&mut apart, 0, 0, 0..2);
    let taken: Vec<_> = (0..2).map(|_| apart.take(us(0)).unwrap().in_turn).collect();
    assert_eq!(taken, [By::Share, By::Turn].map(|by| Some(InTurn { lane: 0, by })));
    // The first goes by 100, and a clock of its own would have 10 for the second.
    apart.renegotiate(0, every(10));
    assert_eq!((apart.gives_stamp_at(0), apart.given(0, (None, us(0)), us(50))), (Time::MAX, None));
    apart.done(InTurn { lane: 0, by: By::Share });
    assert_eq!(apart.give(0, (None, us(0))), (us(10), None));
    // The other way round: it has no bandwidth any more when it is inside.
    ring(&mut apart, 1, 0, 2..4);
    assert_eq!(all(&mut apart, 1), [2, 3]);
    apart.renegotiate(0, None);
    assert_eq!((apart.gives_stamp_at(0), apart.by_share(us(500))), (us(100), None), "behind what is inside");
    let kib = (Some(Bytes::from_kib(1)), us(1));
    assert_eq!(apart.give(0, kib), (us(200), Some(InTurn { lane: 0, by: By::Share })));
}

#[test]
fn a_bandwidth_is_found_kept_when_time_has_come() {
    let mut apart = lanes(0, &[(8, every(100))]);
    ring(&mut apart, 0, 0, 0..3);
    assert_eq!(all(&mut apart, 0), [0, 1]);
    assert_eq!((apart.since(), apart.rank(us(99))), (us(100), None));
    assert_eq!(apart.take(us(100)).map(|taken| taken.stamp), Some(us(300)));
}

#[test]
fn who_is_late_in_turn_does_not_lose_its_rate() {
    // One in every 100 us, each noticed 80 us after it was rung: as if it were noticed at once.
    let mut apart = lanes(0, &[(8, every(100))]);
    for number in 0..20 {
        ring(&mut apart, number * 100, 0, 0..1);
        let taken = apart.take(us(number * 100 + 80)).unwrap();
        assert_eq!(taken.stamp, us(number * 100 + 100));
    }
}

#[test]
fn what_goes_in_turn_has_a_rate_together() {
    // A KiB in 100 us, beside one that has a KiB in 50.
    let mut apart = lanes(1, &[(7, None), (8, None), (9, every(50))]);
    let rate = Rate::from_bytes_per_sec(10_240_000);
    apart.share = Some(Share { rate, clock: FlowClock::default() });
    ring(&mut apart, 10, 0, 0..3);
    ring(&mut apart, 10, 1, 10..11);
    ring(&mut apart, 10, 2, 20..21);
    let taken = |apart: &mut Apart<u32>, at: u64| {
        apart.take(us(at)).map(|taken| (taken.item, taken.stamp, taken.in_turn.map(|turn| turn.by)))
    };
    // 110 by the rate, 60 by its own; then one beyond both.
    assert_eq!(taken(&mut apart, 10), Some((20, us(60), None)));
    assert_eq!(taken(&mut apart, 10), Some((0, us(110), Some(By::Share))));
    assert_eq!(taken(&mut apart, 10), Some((10, Time::MAX, Some(By::Turn))));
    assert_eq!((taken(&mut apart, 100), apart.gives_stamp_at(1)), (None, us(110)));
    let small = (Some(Bytes::new(1)), us(10));
    let given = |apart: &Apart<u32>, at: u64| apart.given(1, small, us(at));
    // It is given the next, from when the rate permits and not from the time of the call; a smaller
    // size counts as 1 KiB.
    assert_eq!((given(&apart, 109), given(&apart, 130)), (None, Some(us(210))));
    assert_eq!(apart.give(1, small), (us(210), Some(InTurn { lane: 1, by: By::Share })));
    assert_eq!(apart.rank(us(130)), Some(Time::MAX));
    // There is room, and at 210 the rate again.
    assert_eq!(
        (apart.rank(us(210)), taken(&mut apart, 210)),
        (Some(us(310)), Some((1, us(310), Some(By::Share))))
    );
    apart.done(InTurn { lane: 1, by: By::Share });
    assert_eq!(taken(&mut apart, 210), Some((2, Time::MAX, Some(By::Turn))), "one without a stamp at a time");
}

#[test]
fn what_was_judged_elsewhere_is_taken_as_that() {
    let mut apart = Apart::new(1, false, None);
    apart.open(0, 7, every(100));
    for (item, in_turn) in [(0, false), (1, false), (2, false), (3, true), (4, false)] {
        apart.push(0, item, Some(Bytes::from_kib(1)), us(0), in_turn);
    }
    let taken: Vec<_> = std::iter::from_fn(|| apart.take(us(0))).map(|taken| taken.stamp).collect();
    // However far its clock is ahead. The fourth is judged here.
    assert_eq!(taken, [us(100), us(200), us(300), Time::MAX], "and the last is not to pass it");
    assert_eq!(apart.give(0, (Some(Bytes::from_kib(1)), us(0))), (us(400), None));
    // The last waited behind its own lane, so it is judged like it.
    assert_eq!((apart.since(), all(&mut apart, 399), all(&mut apart, 400)), (us(0), vec![4], vec![]));
    apart.done(turn_of(0));
    apart.push(0, 5, Some(Bytes::from_kib(1)), us(400), false);
    assert_eq!(apart.take(us(400)).map(|taken| taken.stamp), Some(us(500)), "nothing was before it");
}

#[test]
fn what_is_inside_of_one_that_is_gone_is_counted_until_it_is_done() {
    let mut apart = lanes(1, &[(7, None), (9, None)]);
    ring(&mut apart, 0, 0, 0..1);
    assert_eq!(all(&mut apart, 0), [0]);
    apart.open(0, 8, every(100));
    ring(&mut apart, 1, 0, 1..2);
    ring(&mut apart, 1, 1, 10..11);
    // It would pass what is inside.
    assert_eq!(apart.rank(us(1)), None);
    apart.done(turn_of(0));
    assert_eq!(all(&mut apart, 1), [1, 10]);
    apart.done(turn_of(1));
}

#[test]
fn a_lane_may_become_another_processs() {
    let mut apart = lanes(9, &[(7, None), (7, None)]);
    ring(&mut apart, 0, 0, 0..2);
    ring(&mut apart, 0, 1, 10..12);
    assert_eq!(all(&mut apart, 0).len(), 4);
    (0..2).for_each(|_| apart.done(turn_of(0)));
    apart.open(0, 8, None);
    ring(&mut apart, 0, 1, 12..15);
    ring(&mut apart, 0, 0, 2..4);
    assert_eq!(all(&mut apart, 0), [12, 2, 13, 3, 14]);
}
