use laxity_units::{Span, Time};
use proptest::prelude::*;

use super::*;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn real_time(arrival: u64, deadline: u64) -> Tag {
    Tag {
        class: Class::RealTime,
        logical_arrival: at(arrival),
        deadline: at(deadline),
        tick: Span::MAX,
        level: 3,
    }
}

fn best_effort() -> Tag {
    Tag { class: Class::BestEffort, logical_arrival: at(0), deadline: Time::MAX, tick: Span::MAX, level: 31 }
}

fn all(policy: EarlyPolicy) -> impl Iterator<Item = Discipline<u32>> {
    Order::ALL.iter().map(move |order| order.discipline(policy))
}

fn order(mut queue: Discipline<u32>, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| queue.select(now).map(|(_, item)| item)).collect()
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
        queue.enqueue(real_time(5, 30), 0);
        queue.enqueue(real_time(8, 20), 1);
        queue.enqueue(best_effort(), 2);
        queue.enqueue(real_time(50, 60), 3);
        assert_eq!(order(queue, at(10)), expected, "{policy:?}");
    }
}

#[test]
fn a_held_item_says_when() {
    let mut queue = Discipline::MultiClassEdf(MultiClassEdf::new(EarlyPolicy::HOLD));
    queue.enqueue(real_time(50, 60), 0);
    assert_eq!(queue.select(at(49)), None);
    assert_eq!(queue.next_eligible(at(49)), Some(at(50)));
    assert!(queue.select(at(50)).is_some());
}

/// Within 10 of its time it may be served, and at its time it changes rank.
#[test]
fn an_item_that_may_be_early_says_when_for_both() {
    let policy = EarlyPolicy { horizon: Span::from_ms(10), above_best_effort: false };
    for mut queue in [
        Discipline::MultiClassEdf(MultiClassEdf::new(policy)),
        Discipline::FixedPriority(FixedPriority::new(policy)),
    ] {
        queue.enqueue(real_time(50, 60), 0);
        let eligible = [39, 40, 49].map(|now| queue.next_eligible(at(now)));
        assert_eq!(eligible, [at(40), at(50), at(50)].map(Some));
        assert_eq!(queue.next_eligible(at(50)), None);
    }
}

#[test]
fn levels_before_arrival() {
    let mut queue = Discipline::FixedPriority(FixedPriority::new(EarlyPolicy::HOLD));
    for (level, item) in [(2, 0), (1, 1), (2, 2), (1, 3)] {
        queue.enqueue(Tag { tick: Span::MAX, level, ..real_time(0, 10) }, item);
    }
    queue.enqueue(best_effort(), 4);
    assert_eq!(order(queue, at(0)), [1, 3, 0, 2, 4]);
}

fn tags() -> impl Strategy<Value = Vec<Tag>> {
    let tag = (any::<bool>(), 0u64..50, 0u64..50, 0u8..31).prop_map(|(rt, arrival, length, level)| {
        if rt {
            Tag { tick: Span::MAX, level, ..real_time(arrival, arrival + length) }
        } else {
            best_effort()
        }
    });
    prop::collection::vec(tag, 0..60)
}

proptest! {
    /// Nothing is lost, nothing is made up, and a work-conserving discipline never withholds.
    #[test]
    fn everything_comes_out_once(tags in tags()) {
        for policy in [EarlyPolicy::HOLD, EarlyPolicy::CONSERVE] {
            for mut queue in all(policy) {
                for (i, tag) in tags.iter().enumerate() {
                    queue.enqueue(*tag, i as u32);
                }
                prop_assert_eq!(queue.len(), tags.len());
                let now = if policy == EarlyPolicy::HOLD { at(50) } else { at(0) };
                let mut out = order(queue, now);
                out.sort_unstable();
                prop_assert_eq!(out, (0..tags.len() as u32).collect::<Vec<_>>());
            }
        }
    }

    /// What `best` announces is the rank of what `select` returns, and no waiting item outranks it.
    #[test]
    fn the_best_is_selected(tags in tags(), now in 0u64..60) {
        for policy in [EarlyPolicy::HOLD, EarlyPolicy::CONSERVE, EarlyPolicy { above_best_effort: true, ..EarlyPolicy::CONSERVE }] {
            for mut queue in all(policy) {
                for (i, tag) in tags.iter().enumerate() {
                    queue.enqueue(*tag, i as u32);
                }
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

    /// Items of equal tag leave in the order they came: FIFO within a channel.
    #[test]
    fn equals_are_first_in_first_out(tag in tags(), copies in 1usize..20) {
        for tag in tag.iter().take(3) {
            for mut queue in all(EarlyPolicy::CONSERVE) {
                for i in 0..copies {
                    queue.enqueue(*tag, i as u32);
                }
                prop_assert_eq!(order(queue, at(25)), (0..copies as u32).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn what_is_empty_says_so() {
    for mut queue in all(EarlyPolicy::HOLD) {
        assert!(queue.is_empty());
        queue.enqueue(real_time(50, 60), 0);
        assert!(!queue.is_empty(), "what is held waits all the same");
        assert!(queue.select(at(50)).is_some());
        assert!(queue.is_empty());
    }
}
