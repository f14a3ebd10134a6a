//! Disciplines that hold items, and those that consider more than one hop: their published bounds,
//! and timelines by hand.

use std::sync::atomic::{AtomicU32, Ordering};

use laxity_units::{Bytes, Span, Time};
use proptest::prelude::*;

use super::server::{Arrivals, cases, item, send, server};
use super::*;
use crate::costs::LinkCosts;
use crate::names::ChannelId;
use crate::packet::Carried;
use crate::virtual_clock::Vtick;

const HELD: [Order; 4] =
    [Order::StopAndGo, Order::HierarchicalRoundRobin, Order::RateControlled, Order::FifoPlus];

/// Number of flows that had a bound, by discipline: if no flow meets the conditions of a bound, no
/// case tests it.
static BOUNDS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// An item of a flow that keeps its bucket leaves by the bound, if the bound's conditions are
    /// met: beside flows that cheat, or for disciplines without enforcement, if no flow does.
    fn bounds_hold(case in cases()) {
        for (n, order) in HELD.into_iter().enumerate() {
            if !order.isolates() && !case.is_honest() {
                continue;
            }
            let sent = send(order, &server(&case.sharing), &case.arrivals, !order.holds());
            let bounds: Vec<_> = (0..case.cheats.len()).map(|flow| order.bound(&case.sharing, flow)).collect();
            BOUNDS[n].fetch_add(bounds.iter().flatten().count() as u32, Ordering::Relaxed);
            for sent in sent.iter().filter(|sent| sent.flow < case.cheats.len() && !case.cheats[sent.flow]) {
                let Some(bound) = bounds[sent.flow] else { continue };
                prop_assert!(sent.left <= sent.came + bound + Span::from_ps(2), "{:?}: {:?}, bound {}", order, sent, bound);
            }
        }
    }

    /// Stop-and-go: no item leaves in the frame of its arrival, and if all flows are smooth every
    /// item leaves in the next.
    #[test]
    fn items_leave_in_the_next_frame(case in cases()) {
        let sent = send(Order::StopAndGo, &server(&case.sharing), &case.arrivals, false);
        for one in sent.iter().filter(|sent| sent.flow < case.cheats.len()) {
            let mut frame = case.sharing.frame.max(Span::from_ps(1));
            while frame * 2 <= case.sharing.flows[one.flow].tick.interval() {
                frame = frame * 2;
            }
            let number = |at: Time| at.saturating_since(Time::ZERO).div_floor(frame);
            prop_assert!(number(one.began) > number(one.came), "{:?} in frames of {}", one, frame);
            if case.is_honest() && Order::StopAndGo.bound(&case.sharing, one.flow).is_some() {
                let next = Time::ZERO + frame * (number(one.came) + 2);
                prop_assert!(one.left <= next, "{:?} in frames of {}", one, frame);
            }
        }
    }

    /// Rate-controlled: in any time, a flow begins at most its rate's worth plus one item, whatever
    /// it sends, apart from items that the regulator released and other flows delayed.
    #[test]
    fn regulators_make_flows_keep_their_rates(case in cases()) {
        let sent = send(Order::RateControlled, &server(&case.sharing), &case.arrivals, false);
        let mut due = vec![Time::ZERO; case.cheats.len()];
        let mut by_item = sent.clone();
        by_item.sort_by_key(|sent| sent.item);
        for one in by_item.iter().filter(|sent| sent.flow < case.cheats.len()) {
            let earliest = due[one.flow].max(one.came);
            prop_assert!(one.began >= earliest.saturating_sub(Span::from_ps(case.arrivals.len() as u64)), "{:?} is due at {}", one, earliest);
            due[one.flow] = earliest + case.sharing.flows[one.flow].tick.of(case.arrivals[one.item].1.size);
        }
    }
}

#[test]
fn bounds_hold_and_there_are_some() {
    bounds_hold();
    let bounds = BOUNDS.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert!(bounds.iter().all(|count| *count > 200), "{bounds:?} bounds");
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn rate(interval: u64, size: u64) -> Vtick {
    Vtick::new(Span::from_us(interval), Bytes::new(size))
}

fn best_effort(at: u64, size: u64) -> (Time, ItemRequest) {
    let tag = Tag::best_effort(us(at));
    (us(at), ItemRequest { flow: ChannelId(9), size: Bytes::new(size), tag, carried: Carried::NOTHING })
}

/// A byte takes a microsecond, and frames are of 10 us; returns flows and when each item began, in
/// microseconds.
fn begun(order: Order, mut arrivals: Arrivals) -> Vec<(usize, u64)> {
    let speed = LinkCosts::new(Span::ZERO, Span::from_us(1));
    let server =
        ServerParameters { speed, frame: Span::from_us(10), ..ServerParameters::with(EarlyPolicy::CONSERVE) };
    arrivals.sort_by_key(|(at, _)| *at);
    let sent = send(order, &server, &arrivals, !order.holds());
    sent.iter()
        .map(|sent| (sent.flow, sent.began.saturating_since(Time::ZERO).div_floor(Span::from_us(1))))
        .collect()
}

/// Flow 0 has frames of 10; flow 1, with 45 between its messages, has frames of 40. Items of flow 0
/// that arrive at 3, 4 and 10 leave in the frames from 10 and 20, though the link idles. Best
/// effort at 9 has just begun at 10, and takes 3. Flow 1's item of 5 arrived at 1 and leaves in the
/// frame from 40, after flow 0's of 35 and before flow 0's of 41.
#[test]
fn stop_and_go_by_hand() {
    let flow = |number, at, size| (us(at), item(number, size, [rate(10, 2), rate(45, 9)][number], us(at)));
    let mut arrivals =
        vec![flow(0, 3, 1), flow(0, 4, 1), flow(0, 10, 1), flow(1, 1, 5), flow(0, 35, 1), flow(0, 41, 1)];
    arrivals.push(best_effort(9, 3));
    let expected = [(9, 9), (0, 12), (0, 13), (0, 20), (0, 40), (1, 41), (0, 50)];
    assert_eq!(begun(Order::StopAndGo, arrivals), expected);
}

/// Flow 0 may have 2 bytes in each 10 us, flow 1 as many in 20. Each sends four of a byte at 1.
/// Flow 0 is first in its level: 1, 2; flow 1 has 3, 4. The link then idles to 10, except that best
/// effort of 5 takes 3 from 5. Then 10, 11 of flow 0, and at 20 the rest of flow 1: flow 0 has no
/// item left.
#[test]
fn hierarchical_round_robin_by_hand() {
    let flow = |number| (us(1), item(number, 1, [rate(10, 2), rate(20, 2)][number], us(1)));
    let mut arrivals: Arrivals = (0..8).map(|n| flow(n % 2)).collect();
    arrivals.push(best_effort(5, 3));
    let expected = [(0, 1), (0, 2), (1, 3), (1, 4), (9, 5), (0, 10), (0, 11), (1, 20), (1, 21)];
    assert_eq!(begun(Order::HierarchicalRoundRobin, arrivals), expected);
}

/// 10 us of the flow's own time in each frame, and items of a byte take 4: two, and 2 are left.
/// With these a frame has 12, three, and none are left. A quota unused for lack of items is not
/// kept: the item at 35 finds 10 in the frame from 30 and leaves 6, and the next at 45 also finds
/// 10.
#[test]
fn what_does_not_fit_a_frame_is_kept_and_what_was_not_wanted_is_not() {
    let flow = |at| (us(at), item(0, 1, rate(4, 1), us(at)));
    let speed = LinkCosts::new(Span::ZERO, Span::from_us(1));
    let server =
        ServerParameters { speed, frame: Span::from_us(10), ..ServerParameters::with(EarlyPolicy::HOLD) };
    let mut queue = Order::HierarchicalRoundRobin.discipline(&server);
    let mut at = |now: u64, coming: u64| {
        (0..coming).for_each(|_| queue.enqueue(us(now), &flow(now).1, ()));
        std::iter::from_fn(|| queue.select(us(now))).count()
    };
    assert_eq!([at(0, 6), at(9, 0), at(10, 0), at(20, 0), at(30, 0)], [2, 0, 3, 1, 0]);
    assert_eq!([at(35, 1), at(45, 4), at(50, 0)], [1, 2, 2]);
}

/// Flow 0, of level 0, has a byte in 10; flow 1, of level 1, two in 10. Flow 0 sends three at 0:
/// due at 0, 10, 20. Flow 1 sends three of two bytes at 0: due at 0, 10, 20, after those of flow 0.
/// Best effort of 9 arrives at 1, and begins at 3.
#[test]
fn rate_controlled_by_hand() {
    let flow = |number, size| (us(0), item(number, size, [rate(10, 1), rate(10, 2)][number], us(0)));
    let mut arrivals: Arrivals =
        [(1, 2), (0, 1), (1, 2), (0, 1), (1, 2), (0, 1)].map(|(n, size)| flow(n, size)).into();
    arrivals.push(best_effort(1, 9));
    let expected = [(0, 0), (1, 1), (9, 3), (0, 12), (1, 13), (0, 20), (1, 21)];
    assert_eq!(begun(Order::RateControlled, arrivals), expected);
}

fn carrying(flow: usize, carried: Carried) -> ItemRequest {
    ItemRequest { carried, ..item(flow, 1, rate(10, 1), us(0)) }
}

/// The item of 10 has waited 5 longer than usual so far, the item of 7 as long as usual, the item
/// of 8 waited 4 less.
#[test]
fn who_had_bad_luck_is_taken_as_come_before() {
    let mut queue = Order::FifoPlus.discipline(&ServerParameters::with(EarlyPolicy::HOLD));
    for (flow, at, excess) in [(0, 7, 0), (1, 8, -4_000_000), (2, 10, 5_000_000)] {
        queue.enqueue(us(at), &carrying(flow, Carried { excess, ..Carried::NOTHING }), flow);
    }
    assert_eq!(queue.usual_wait(), Some(Span::ZERO));
    let order: Vec<usize> = std::iter::from_fn(|| queue.select(us(10)).map(|(_, flow)| flow)).collect();
    assert_eq!(order, [2, 0, 1]);
    // Waits of 0, 3 and 2 us, each with a weight of a 64th: 3 us (1 − 1/64) + 2 us, and a 64th of
    // that.
    let usual = (3_000_000 - 3_000_000 / 64 + 2_000_000) / 64;
    assert_eq!(queue.usual_wait(), Some(Span::from_ps(usual)));
}

/// Flow 0 has 30 for three links, flow 1 has 12 for one: at 0 that is 10 each and 12. At 9 it is 7
/// and 3. At 32, where both are late, it is −2/3 and −20.
#[test]
fn least_time_for_each_link_is_first() {
    let first = |now| {
        let mut queue = Order::HopLaxity.discipline(&ServerParameters::with(EarlyPolicy::HOLD));
        for (flow, due, hops) in [(0, 30, 3), (1, 12, 1), (2, 40, 3)] {
            queue.enqueue(us(0), &carrying(flow, Carried { due: us(due), hops, ..Carried::NOTHING }), flow);
        }
        let order: Vec<usize> = std::iter::from_fn(|| queue.select(us(now)).map(|(_, flow)| flow)).collect();
        order
    };
    assert_eq!(first(0), [0, 1, 2]);
    assert_eq!(first(9), [1, 0, 2]);
    assert_eq!(first(32), [1, 0, 2]);
}
