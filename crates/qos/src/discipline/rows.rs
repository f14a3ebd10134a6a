//! Latencies of servers behind flows' own clocks: of one server, whatever flows send, and of
//! several in a row, where a burst counts once.

use std::sync::atomic::{AtomicU32, Ordering};

use laxity_units::{Bytes, Span, Time};
use proptest::prelude::*;

use super::server::{Case, cases, item, send_in, server};
use super::*;
use crate::costs::LinkCosts;
use crate::virtual_clock::Vtick;

const KNOWN: [Order; 9] = [
    Order::VirtualClock,
    Order::WeightedFair,
    Order::WorstCaseFair,
    Order::SelfClocked,
    Order::StartTimeFair,
    Order::HierarchicalFair,
    Order::DeficitRoundRobin,
    Order::HierarchicalRoundRobin,
    Order::RateControlled,
];

/// Number of tested latencies, by discipline.
static KEPT: [AtomicU32; 9] = [const { AtomicU32::new(0) }; 9];

/// Number of times that a flow passed to a further server of a row.
static ROWS: AtomicU32 = AtomicU32::new(0);

/// Upper bound of the rounding error of the clocks in any case here.
fn rounding(case: &Case) -> Span {
    Span::from_ps(2 + case.arrivals.len() as u64)
}

/// The clock of each flow: begin and end of its items at its own rate.
fn clocks(case: &Case) -> Vec<Option<(Time, Time)>> {
    let mut ends = vec![Time::ZERO; case.sharing.flows.len()];
    let of = |(came, request): &(Time, ItemRequest)| {
        let end = ends.get_mut(request.flow.0 as usize)?;
        let begin = (*end).max(*came);
        *end = begin + request.tag.tick.of(request.size);
        Some((begin, *end))
    };
    case.arrivals.iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Every item of every flow, whether the flow keeps its bucket or not.
    fn every_item_is_gone_by_its_own_clock(case in cases()) {
        let clocks = clocks(&case);
        for (n, order) in KNOWN.into_iter().enumerate() {
            let latencies = order.latencies(&case.sharing);
            KEPT[n].fetch_add(latencies.iter().flatten().count() as u32, Ordering::Relaxed);
            for sent in send_in(&case.groups(), order, &server(&case.sharing), &case.arrivals, !order.holds()) {
                let Some((begin, end)) = clocks[sent.item] else { continue };
                let Some(latency) = latencies[sent.flow] else { continue };
                let counted = if latency.counts_from_begin() { begin } else { end };
                let by = counted + latency.after() + rounding(&case);
                prop_assert!(sent.left <= by, "{:?}: {:?} by {}", order, sent, by);
            }
        }
    }

    /// Flow 0 passes from server to server, each with cross traffic of its own: its burst is in the
    /// bound once.
    fn a_burst_is_paid_for_once_in_a_row(
        rows in prop::collection::vec((cases(), prop::sample::select(&KNOWN[..])), 2..5), way in 0u64..3000,
    ) {
        let way = Span::from_ns(way);
        let first = rows[0].0.clone();
        let own = first.sharing.flows[0];
        prop_assume!(!first.cheats[0]);
        let mut items: Vec<(Time, Bytes)> = first.arrivals.iter().filter(|(_, request)| request.flow.0 == 0)
            .map(|(at, request)| (*at, request.size)).collect();
        let came: Vec<Time> = items.iter().map(|(at, _)| *at).collect();
        let (mut bound, mut handed) = (Span::ZERO, None);
        for (mut case, order) in rows {
            // The flow of the first server, beside all but one of the other flows.
            case.sharing.flows[0] = Share { group: case.sharing.flows[0].group, ..own };
            case.sharing.speed = first.sharing.speed;
            case.arrivals.retain(|(_, request)| request.flow.0 != 0);
            case.arrivals.extend(items.iter().map(|(at, size)| (*at, item(0, size.get(), own.tick, *at))));
            case.arrivals.sort_by_key(|(at, _)| *at);
            while !case.sharing.fits() && case.sharing.flows.len() > 1 {
                case.sharing.flows.pop();
                let left = case.sharing.flows.len() as u32;
                case.arrivals.retain(|(_, request)| request.flow.0 < left || request.flow.0 == 100);
            }
            let Some(latency) = order.latencies(&case.sharing)[0] else { return Ok(()) };
            ROWS.fetch_add(u32::from(handed.is_some()), Ordering::Relaxed);
            bound += match handed {
                None => latency.of_bucket(&own),
                Some(before) => way + latency.of_next(before, &own),
            };
            handed = Some(order.handed_on(&own));
            let mut sent = send_in(&case.groups(), order, &server(&case.sharing), &case.arrivals, !order.holds());
            sent.retain(|sent| sent.flow == 0);
            for (n, sent) in sent.iter().enumerate() {
                let by = came[n] + bound + Span::from_ps(2 + 4 * case.arrivals.len() as u64);
                prop_assert!(sent.left <= by, "{:?}: {:?} by {}", order, sent, by);
                items[n].0 = sent.left + way;
            }
        }
    }
}

#[test]
fn a_burst_is_paid_for_once_in_a_row_and_there_are_some() {
    a_burst_is_paid_for_once_in_a_row();
    let rows = ROWS.load(Ordering::Relaxed);
    assert!(rows > 200, "{rows} further servers");
}

#[test]
fn every_item_is_gone_by_its_own_clock_and_there_are_some() {
    every_item_is_gone_by_its_own_clock();
    let kept = KEPT.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert!(kept.iter().all(|count| *count > 100), "{kept:?} latencies");
}

/// 1 ns a byte; a flow of 250 B each 1 us in items of 50 to 100, a burst of 250; another with items
/// of 300, and best effort of 150.
///
/// VirtualClock: 1000 + 300. Behind it WFQ adds its 300 and the largest item's 400 again. Behind
/// VirtualClock start-time fair queueing has 300 + 100 + 150 from the beginning, so of the 400 it
/// adds the part beyond the smallest item's 200. Behind that VirtualClock adds 300 and 200.
#[test]
fn rows_by_hand() {
    let share = |interval, size, items: (u64, u64)| {
        let tick = Vtick::new(Span::from_ns(interval), Bytes::new(size));
        let (smallest, largest) = (Bytes::new(items.0), Bytes::new(items.1));
        Share { tick, burst: Bytes::new(size), largest, smallest, level: 0, messages: None, group: None }
    };
    let flows = vec![share(1000, 250, (50, 100)), share(1000, 300, (300, 300))];
    let speed = LinkCosts::new(Span::ZERO, Span::from_ns(1));
    let sharing = Sharing { speed, flows, without: Bytes::new(150), frame: Span::ZERO, groups: Vec::new() };
    let own = &sharing.flows[0];
    let of = |order: Order| order.latencies(&sharing)[0].unwrap();
    let (clock, fluid, start) = (of(Order::VirtualClock), of(Order::WeightedFair), of(Order::StartTimeFair));
    let (after_clock, after_start) =
        (Order::VirtualClock.handed_on(own), Order::StartTimeFair.handed_on(own));
    let ns = |span: Span| span.as_ps() / 1000;
    assert_eq!(ns(clock.of_bucket(own)), 1300);
    assert_eq!(ns(fluid.of_next(after_clock, own)), 300 + 400);
    assert_eq!(ns(start.of_bucket(own)), 800 + 550);
    assert_eq!(ns(start.of_next(after_clock, own)), 550 + 400 - 200);
    assert_eq!(ns(clock.of_next(after_start, own)), 300 + 200);
}

/// The bound of a row is the bound of one server plus the latencies of the others, if the smallest
/// item is minimal. Published for a tandem of PGPS servers as `σ / r + (K − 1) L / r + Σ L_max / C`
/// (Parekh and Gallager 1994, Eq. 42), here K = 3, σ = 1000, L = 100, r = 1/4, L_max = 400.
#[test]
fn a_tandem_of_fluid_followers_is_as_in_print() {
    let tick = Vtick::new(Span::from_ns(4), Bytes::new(1));
    let flow = Share {
        tick,
        burst: Bytes::new(1000),
        largest: Bytes::new(100),
        smallest: Bytes::new(100),
        level: 0,
        messages: None,
        group: None,
    };
    let other = Share { burst: Bytes::new(400), largest: Bytes::new(400), smallest: Bytes::new(400), ..flow };
    let speed = LinkCosts::new(Span::ZERO, Span::from_ns(1));
    let sharing = Sharing {
        speed,
        flows: vec![flow, other],
        without: Bytes::ZERO,
        frame: Span::ZERO,
        groups: Vec::new(),
    };
    let latency = Order::WeightedFair.latencies(&sharing)[0].unwrap();
    let next = || latency.of_next(Order::WeightedFair.handed_on(&flow), &flow);
    let all = latency.of_bucket(&flow) + next() + next();
    assert_eq!(all, Span::from_ns(4 * 1000 + 2 * 4 * 100 + 3 * 400));
}
