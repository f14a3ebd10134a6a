use laxity_units::{Bytes, Span, Time};
use proptest::prelude::*;

use super::*;
use crate::costs::LinkCosts;
use crate::names::ChannelId;
use crate::packet::Carried;
use crate::virtual_clock::Vtick;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn real_time(arrival: u64, deadline: u64) -> Tag {
    Tag {
        class: Class::RealTime,
        logical_arrival: at(arrival),
        deadline: at(deadline),
        tick: Vtick::NONE,
        level: 3,
    }
}

fn best_effort() -> Tag {
    Tag {
        class: Class::BestEffort,
        logical_arrival: at(0),
        deadline: Time::MAX,
        tick: Vtick::NONE,
        level: 31,
    }
}

/// A microsecond for each byte.
fn server(early: EarlyPolicy) -> ServerParameters {
    let (speed, frame) = (LinkCosts::new(Span::ZERO, Span::from_us(1)), Span::from_ms(4));
    ServerParameters { early, speed, frame, selection: None }
}

fn all(policy: EarlyPolicy) -> impl Iterator<Item = Discipline<u32>> {
    Order::ALL.iter().map(move |order| order.discipline(&server(policy)))
}

fn order(mut queue: Discipline<u32>, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| queue.select(now).map(|(_, item)| item)).collect()
}

/// All items in order of service, each as soon as it may leave.
fn in_time(mut queue: Discipline<u32>, mut now: Time) -> Vec<u32> {
    let mut out = Vec::new();
    while !queue.is_empty() {
        match queue.select(now) {
            Some((_, item)) => out.push(item),
            None => now = queue.next_eligible(now).filter(|at| *at > now).expect("what is held says when"),
        }
    }
    out
}

/// A byte of flow 0, for tests with a single flow.
fn one(tag: Tag) -> ItemRequest {
    ItemRequest { flow: ChannelId(0), size: Bytes::new(1), tag, carried: Carried::NOTHING }
}

#[test]
fn three_classes_in_order() {
    for (policy, expected) in [
        (EarlyPolicy::HOLD, vec![1, 0, 2]),
        (EarlyPolicy::CONSERVE, vec![1, 0, 2, 3]),
        (EarlyPolicy { above_best_effort: true, ..EarlyPolicy::CONSERVE }, vec![1, 0, 3, 2]),
        (EarlyPolicy { horizon: Span::from_ms(40), above_best_effort: false }, vec![1, 0, 2, 3]),
        (EarlyPolicy { horizon: Span::from_ms(39), above_best_effort: false }, vec![1, 0, 2]),
    ] {
        let mut queue = Discipline::MultiClassEdf(MultiClassEdf::new(policy));
        queue.enqueue(at(0), &one(real_time(5, 30)), 0);
        queue.enqueue(at(0), &one(real_time(8, 20)), 1);
        queue.enqueue(at(0), &one(best_effort()), 2);
        queue.enqueue(at(0), &one(real_time(50, 60)), 3);
        assert_eq!(order(queue, at(10)), expected, "{policy:?}");
    }
}

#[test]
fn a_held_item_says_when() {
    let mut queue = Discipline::MultiClassEdf(MultiClassEdf::new(EarlyPolicy::HOLD));
    queue.enqueue(at(0), &one(real_time(50, 60)), 0);
    assert_eq!(queue.select(at(49)), None);
    assert_eq!(queue.next_eligible(at(49)), Some(at(50)));
    assert!(queue.select(at(50)).is_some());
}

/// The item may be served from 10 before its time, and changes rank at its time.
#[test]
fn an_item_that_may_be_early_says_when_for_both() {
    let policy = EarlyPolicy { horizon: Span::from_ms(10), above_best_effort: false };
    for mut queue in [
        Discipline::MultiClassEdf(MultiClassEdf::new(policy)),
        Discipline::FixedPriority(FixedPriority::new(policy)),
    ] {
        queue.enqueue(at(0), &one(real_time(50, 60)), 0);
        let eligible = [39, 40, 49].map(|now| queue.next_eligible(at(now)));
        assert_eq!(eligible, [at(40), at(50), at(50)].map(Some));
        assert_eq!(queue.next_eligible(at(50)), None);
    }
}

#[test]
fn levels_before_arrival() {
    let mut queue = Discipline::FixedPriority(FixedPriority::new(EarlyPolicy::HOLD));
    for (level, item) in [(2, 0), (1, 1), (2, 2), (1, 3)] {
        queue.enqueue(at(0), &one(Tag { level, ..real_time(0, 10) }), item);
    }
    queue.enqueue(at(0), &one(best_effort()), 4);
    assert_eq!(order(queue, at(0)), [1, 3, 0, 2, 4]);
}

/// Requests of four flows, two of them guaranteed; some have a rate, and some exceed their
/// contracts.
fn requests() -> impl Strategy<Value = Vec<ItemRequest>> {
    let rate = (1u64..40).prop_map(|ms| Vtick::new(Span::from_ms(ms), Bytes::new(8)));
    let rate = prop_oneof![Just(Vtick::NONE), rate];
    let request = (any::<bool>(), 0u64..50, 0u64..50, 0u8..31, rate, 0u32..4, 1u64..64);
    let request = request.prop_map(|(exceeds, arrival, length, level, tick, flow, size)| {
        let tag = match (flow, exceeds) {
            (0 | 1, false) => Tag { tick, level, ..real_time(arrival, arrival + length) },
            (_, false) => Tag { tick, ..best_effort() },
            (_, true) => best_effort(),
        };
        ItemRequest { flow: ChannelId(flow), size: Bytes::new(size), tag, carried: Carried::NOTHING }
    });
    prop::collection::vec(request, 0..60)
}

fn queued(mut queue: Discipline<u32>, requests: &[ItemRequest]) -> Discipline<u32> {
    for (i, request) in requests.iter().enumerate() {
        queue.enqueue(at(0), request, i as u32);
    }
    queue
}

fn sorted(mut items: Vec<u32>) -> Vec<u32> {
    items.sort_unstable();
    items
}

proptest! {
    /// Items are neither lost nor duplicated, and a work-conserving discipline never withholds one.
    #[test]
    fn everything_comes_out_once(requests in requests()) {
        for policy in [EarlyPolicy::HOLD, EarlyPolicy::CONSERVE] {
            for order in Order::ALL {
                let queue = order.discipline(&server(policy));
                let mut queue = queued(queue, &requests);
                prop_assert_eq!(queue.len(), requests.len());
                let all = (0..requests.len() as u32).collect::<Vec<_>>();
                prop_assert_eq!(sorted(in_time(queue.clone(), at(0))), &all[..]);
                prop_assert_eq!(sorted(queue.drain()), &all[..]);
                prop_assert!(queue.is_empty() && queue.select(at(1000)).is_none());
                if policy == EarlyPolicy::CONSERVE && !order.holds() {
                    let now = super::tests::order(queued(queue, &requests), at(0));
                    prop_assert_eq!(sorted(now), all);
                }
            }
        }
    }

    /// A queue that reports no held item has no wake-up time, whatever its history; and a queue
    /// that was just polled for current items reports the items that it still holds.
    #[test]
    fn who_holds_nothing_need_not_be_asked(requests in requests(), now in 0u64..60) {
        for policy in [EarlyPolicy::HOLD, EarlyPolicy::CONSERVE] {
            for mut queue in all(policy) {
                prop_assert!(queue.may_hold() || queue.next_eligible(at(now)).is_none());
                queue = queued(queue, &requests);
                for taken in 0..=requests.len() {
                    let next = queue.clone().next_eligible(at(now));
                    prop_assert!(queue.may_hold() || next.is_none(), "{next:?} after {taken}");
                    if let Discipline::MultiClassEdf(looked) = &mut queue {
                        looked.next_eligible(at(now));
                        prop_assert_eq!(queue.may_hold(), next.is_some());
                    }
                    queue.select(at(now));
                }
            }
        }
    }

    /// An evicted item is best effort. All other items leave as without it: in the same order, for
    /// stamped disciplines.
    #[test]
    fn only_best_effort_is_put_out(requests in requests()) {
        for policy in [EarlyPolicy::HOLD, EarlyPolicy::CONSERVE] {
            for queue in all(policy) {
                let mut queue = queued(queue, &requests);
                let before = in_time(queue.clone(), at(0));
                let best_effort = |n: &u32| requests[*n as usize].tag.class == Class::BestEffort;
                let evicted = queue.evict();
                prop_assert_eq!(evicted.is_some(), before.iter().any(best_effort));
                prop_assert!(evicted.iter().all(best_effort));
                let after = in_time(queue.clone(), at(0));
                prop_assert_eq!(queue.len(), after.len());
                let left: Vec<u32> = before.into_iter().filter(|n| Some(*n) != evicted).collect();
                if let Discipline::DeficitRoundRobin(_) = queue {
                    prop_assert_eq!(sorted(after), sorted(left));
                } else {
                    prop_assert_eq!(after, left);
                }
            }
        }
    }

    /// A displaced item has a guarantee and the latest deadline, after that of the item that
    /// displaces it; all other items leave as without it.
    #[test]
    fn who_is_due_last_gives_way(requests in requests(), deadline in 0u64..80, now in 0u64..60) {
        for policy in [EarlyPolicy::HOLD, EarlyPolicy::CONSERVE] {
            for queue in all(policy) {
                let displaces = Order::ALL.iter().any(|order| {
                    order.displaces() && std::mem::discriminant(&order.discipline::<u32>(&server(policy))) == std::mem::discriminant(&queue)
                });
                let mut queue = queued(queue, &requests);
                // Some of the early items may have become current.
                queue.best(at(now));
                let before = in_time(queue.clone(), at(now));
                let due = |n: &u32| Some(&requests[*n as usize].tag).filter(|tag| tag.class == Class::RealTime).map(|tag| tag.deadline);
                let last = before.iter().filter_map(due).max().filter(|last| *last > at(deadline) && displaces);
                let displaced = queue.displace(at(deadline));
                prop_assert_eq!(displaced.as_ref().and_then(due), last);
                let left: Vec<u32> = before.into_iter().filter(|n| Some(*n) != displaced).collect();
                prop_assert_eq!(queue.len(), left.len());
                if displaces {
                    prop_assert_eq!(in_time(queue, at(now)), left);
                }
            }
        }
    }

    /// `best` returns the rank of the item that `select` returns, and no waiting item outranks it.
    #[test]
    fn the_best_is_selected(requests in requests(), now in 0u64..60) {
        for policy in [EarlyPolicy::HOLD, EarlyPolicy::CONSERVE, EarlyPolicy { above_best_effort: true, ..EarlyPolicy::CONSERVE }] {
            for queue in all(policy) {
                let mut queue = queued(queue, &requests);
                let mut last = None;
                loop {
                    let best = queue.best(at(now));
                    let Some((tag, _)) = queue.select(at(now)) else {
                        prop_assert_eq!(best, None);
                        break;
                    };
                    let rank = queue.rank(&tag, at(now));
                    prop_assert_eq!(best, Some(rank));
                    prop_assert!(last <= Some(rank));
                    last = Some(rank);
                }
            }
        }
    }

    /// Items of equal tag leave in order of arrival: FIFO within a channel.
    #[test]
    fn equals_are_first_in_first_out(requests in requests(), copies in 1usize..20) {
        for request in requests.iter().take(3) {
            for queue in all(EarlyPolicy::CONSERVE) {
                let queue = queued(queue, &vec![*request; copies]);
                prop_assert_eq!(in_time(queue, at(25)), (0..copies as u32).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn what_is_empty_says_so() {
    for mut queue in all(EarlyPolicy::HOLD) {
        assert!(queue.is_empty());
        queue.enqueue(at(0), &one(real_time(50, 60)), 0);
        assert!(!queue.is_empty(), "what is held waits all the same");
        assert_eq!(in_time(queue, at(50)), [0]);
    }
}
