//! The published bounds of rate-based disciplines, each tested with traffic that tries to exceed
//! it.

use laxity_units::{Bytes, Span, Time};
use proptest::prelude::*;

use super::server::{Arrivals, Case, Sent, cases, item, send, server};
use super::*;
use crate::costs::LinkCosts;
use crate::names::ChannelId;
use crate::packet::Carried;
use crate::virtual_clock::Vtick;

/// Work-conserving rate-based disciplines.
const SHARED: [Order; 6] = [
    Order::VirtualClock,
    Order::WeightedFair,
    Order::WorstCaseFair,
    Order::SelfClocked,
    Order::StartTimeFair,
    Order::DeficitRoundRobin,
];

/// Upper bound of the rounding error of the clocks in any case here.
const ROUNDING: Span = Span::from_ps(2);

/// Time that an item takes at its flow's rate.
fn tick(case: &Case, sent: &Sent) -> Span {
    case.sharing.flows[sent.flow].tick.of(case.arrivals[sent.item].1.size)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// An item of a flow that keeps its bucket leaves by the bound, beside flows that send all
    /// their items at once; and the link never idles.
    #[test]
    fn the_bound_holds_beside_cheats(case in cases()) {
        prop_assert!(case.sharing.fits());
        for order in SHARED {
            let sent = send(order, &server(&case.sharing), &case.arrivals, true);
            for sent in sent.iter().filter(|sent| sent.flow < case.cheats.len() && !case.cheats[sent.flow]) {
                let bound = order.bound(&case.sharing, sent.flow).expect("it shares by rates");
                prop_assert!(sent.left <= sent.came + bound + ROUNDING, "{:?}: {:?}, bound {}", order, sent, bound);
            }
        }
    }

    /// While two flows both wait, their service differs by at most the published number of items,
    /// plus a round for disciplines that take turns.
    #[test]
    fn flows_that_wait_are_served_alike(mut case in cases(), more in 10usize..60) {
        // The first flow and its neighbour are backlogged from the beginning; the other flows are
        // arbitrary.
        prop_assume!(case.sharing.flows.len() > 1);
        for flow in 0..2 {
            let Share { tick, largest, smallest, .. } = case.sharing.flows[flow];
            let sizes = [largest.get(), smallest.get(), (largest.get() + smallest.get()).div_ceil(2)];
            case.arrivals.retain(|(_, request)| request.flow != ChannelId(flow as u32));
            let items = (0..more).map(|n| (Time::ZERO, item(flow, sizes[n * n % 3], tick, Time::ZERO)));
            case.arrivals.splice(0..0, items);
        }
        let ticks = [0, 1].map(|flow| case.sharing.flows[flow].largest_tick());
        let round = case.sharing.flows.iter().map(Share::largest_tick).max().unwrap();
        for order in [Order::SelfClocked, Order::StartTimeFair, Order::DeficitRoundRobin] {
            let allowed = ticks[0] + ticks[1] + if order == Order::DeficitRoundRobin { round } else { Span::ZERO };
            let sent = send(order, &server(&case.sharing), &case.arrivals, true);
            let (mut given, mut served) = ([Span::ZERO; 2], [0; 2]);
            let (mut most, mut least) = (0i128, 0i128);
            for sent in sent.iter().filter(|sent| sent.flow < 2) {
                if served.contains(&more) { break }
                given[sent.flow] += tick(&case, sent);
                served[sent.flow] += 1;
                let ahead = i128::from(given[0].as_ps()) - i128::from(given[1].as_ps());
                (most, least) = (most.max(ahead), least.min(ahead));
            }
            let slack = 4 * more as i128;
            prop_assert!(most - least <= i128::from(allowed.as_ps()) + slack, "{:?}: {} of {}", order, most - least, allowed);
        }
    }

    /// WFQ finishes an item no later than the fluid server plus one item, whatever flows send; of
    /// the items that wait it takes the one that the fluid server would finish first.
    #[test]
    fn weighted_fair_follows_the_fluid_server(case in cases()) {
        let fluid = fluid(&case);
        let longest = case.sharing.longest().as_ps() as f64;
        let sent = send(Order::WeightedFair, &server(&case.sharing), &case.arrivals, true);
        for sent in sent.iter().filter(|sent| sent.flow < case.cheats.len()) {
            prop_assert!(sent.left.as_ps() as f64 <= fluid[sent.item] + longest + 10.0, "{:?}: {}", sent, fluid[sent.item]);
        }
        for (n, first) in sent.iter().enumerate().filter(|(_, sent)| sent.flow < case.cheats.len()) {
            for later in sent[n + 1..].iter().filter(|later| later.flow < case.cheats.len() && later.came <= first.began) {
                prop_assert!(fluid[first.item] <= fluid[later.item] + 10.0, "{:?} before {:?}", first, later);
            }
        }
    }

    /// WF2Q+ does not compensate: an item leaves within the backlog of its flow at the flow's rate,
    /// one more item at that rate, and one item of another flow less its own.
    #[test]
    fn worst_case_fair_makes_up_for_nothing(case in cases()) {
        let sent = send(Order::WorstCaseFair, &server(&case.sharing), &case.arrivals, true);
        let longest = case.sharing.longest();
        for one in sent.iter().filter(|sent| sent.flow < case.cheats.len()) {
            let flow = case.sharing.flows[one.flow];
            let own = case.sharing.item(one.flow);
            // The flow's backlog when the item arrives, and the item itself.
            let before = |other: &&Sent| other.flow == one.flow && other.item <= one.item && other.left > one.came;
            let waiting: u64 = sent.iter().filter(before).map(|other| case.arrivals[other.item].1.size.get()).sum();
            let by = flow.tick.of(Bytes::new(waiting)) + flow.largest_tick() + (longest - own) + ROUNDING;
            prop_assert!(one.left <= one.came + by, "{:?}: {} within {}", one, waiting, by);
        }
    }
}

/// When a fluid server finishes each item, in picoseconds. The fluid server serves all backlogged
/// flows at once, each in proportion to the ratio of its item's time at the server and at its
/// flow's rate. No virtual clock: the loop goes from event to event, with the rest of each item.
fn fluid(case: &Case) -> Vec<f64> {
    let mut done = vec![f64::INFINITY; case.arrivals.len()];
    let mut waiting: Vec<Vec<(usize, f64)>> = vec![Vec::new(); case.sharing.flows.len()];
    let share = |item: usize| {
        let ItemRequest { size, tag, .. } = case.arrivals[item].1;
        let size_in = |span: f64| span * size.get() as f64 / tag.tick.size().get() as f64;
        case.sharing.speed.transmit(size).as_ps() as f64 / size_in(tag.tick.interval().as_ps() as f64)
    };
    let mut coming =
        case.arrivals.iter().enumerate().filter(|(_, (_, request))| request.flow.0 < 100).peekable();
    let mut now = 0.0;
    loop {
        while let Some((n, (_, request))) = coming.next_if(|(_, (at, _))| at.as_ps() as f64 <= now) {
            let takes = case.sharing.speed.transmit(request.size).as_ps() as f64;
            waiting[request.flow.0 as usize].push((n, takes));
        }
        let all: f64 = waiting.iter().filter_map(|queue| queue.first()).map(|(item, _)| share(*item)).sum();
        let next = coming.peek().map_or(f64::INFINITY, |(_, (at, _))| at.as_ps() as f64);
        let ends =
            waiting.iter().filter_map(|queue| queue.first()).map(|(item, left)| left * all / share(*item));
        let step = ends.fold(f64::INFINITY, f64::min).min(next - now);
        if step.is_infinite() {
            return done;
        }
        now = if step == next - now { next } else { now + step };
        for queue in &mut waiting {
            if let Some((item, left)) = queue.first_mut() {
                *left -= step * share(*item) / all;
                if *left < 1e-3 {
                    done[*item] = now;
                    queue.remove(0);
                }
            }
        }
    }
}

/// A byte takes a nanosecond; returns the flows in the order of transmission.
fn flows(order: Order, arrivals: &Arrivals) -> Vec<usize> {
    let speed = LinkCosts::new(Span::ZERO, Span::from_ns(1));
    let server = ServerParameters { speed, ..ServerParameters::with(EarlyPolicy::CONSERVE) };
    send(order, &server, arrivals, true).iter().map(|sent| sent.flow).collect()
}

fn one_in(parts: u64) -> Vtick {
    Vtick::new(Span::from_ns(parts), Bytes::new(1))
}

/// Bennett and Zhang's example (INFOCOM 1996, Fig. 1). Flow 0 has half the link and eleven items;
/// ten others have a twentieth of the link and one item each. The fluid server finishes the k-th
/// item of flow 0 at 2k up to 20 and at 21, and all others at 20. WFQ sends ten items of flow 0 at
/// once, and the eleventh, with finish time 21, after all others: flow 0 gets no service for ten
/// items' time. WF2Q+ takes turns: at 0 flow 0 has finish time 2 and is sent. Its next item begins
/// at 2, so at 1 it has to wait, and at 2 its finish time is 4.
#[test]
fn weighted_fair_runs_ahead_and_worst_case_fair_does_not() {
    let mut arrivals: Arrivals = (0..11).map(|_| (Time::ZERO, item(0, 1, one_in(2), Time::ZERO))).collect();
    arrivals.extend((1..11).map(|flow| (Time::ZERO, item(flow, 1, one_in(20), Time::ZERO))));
    let all: Vec<usize> = (1..11).collect();
    let ahead = [vec![0; 10], all.clone(), vec![0]].concat();
    assert_eq!(flows(Order::WeightedFair, &arrivals), ahead);
    let turns: Vec<usize> = all.iter().flat_map(|flow| [0, *flow]).chain([0]).collect();
    assert_eq!(flows(Order::WorstCaseFair, &arrivals), turns);
    // VirtualClock has the same stamps 2, 4, …, 22 and 20: no flow is ahead of its own clock there,
    // but no item waits for its start either.
    assert_eq!(flows(Order::VirtualClock, &arrivals), ahead);
}

/// Self-clocked: flow 0 has half the link, flows 1 to 3 a sixth each. Flow 1's item, with tag 6, is
/// begun at 0; the clock is 6. At 1 flows 2 and 3 arrive, with tag 12. At 1 flow 0 arrives too,
/// with tag 8, and is next. Its next items have 10 and 12, and follow before flows 2 and 3, which
/// arrived before it with 12. WFQ would have sent flow 0 at 2.
///
/// Start-time: the clock is the start tag 0, so flows 2 and 3 start at 0 and go first, in order of
/// arrival; flow 0 too, as it arrives last: 2, 3, 0 and then its others, which start at 2 and 4.
#[test]
fn the_tag_in_service_is_the_clock() {
    let one = |flow, parts| (Time::ZERO + Span::from_ps(500), item(flow, 1, one_in(parts), Time::ZERO));
    let mut arrivals = vec![(Time::ZERO, item(1, 1, one_in(6), Time::ZERO)), one(2, 6), one(3, 6)];
    arrivals.extend([one(0, 2), one(0, 2), one(0, 2)]);
    assert_eq!(flows(Order::SelfClocked, &arrivals), [1, 0, 0, 2, 3, 0]);
    assert_eq!(flows(Order::StartTimeFair, &arrivals), [1, 2, 3, 0, 0, 0]);
}

/// Service of an otherwise idle link does not count against a flow after an idle time, however
/// short: flow 0 sent ten items to 10, worth 20 of its own time. Half after 10 one item of flow 0
/// and one of flow 1 arrive, both with half the link, and both flows start anew. VirtualClock has
/// 22 for flow 0 and 12.5 for flow 1.
#[test]
fn what_was_taken_before_an_idle_time_is_nobodys_loss() {
    let at = |ns| Time::ZERO + Span::from_ns(ns);
    let mut arrivals: Arrivals = (0..10).map(|_| (at(0), item(0, 1, one_in(2), at(0)))).collect();
    let later = at(10) + Span::from_ps(500);
    arrivals.extend([0, 1].map(|flow| (later, item(flow, 1, one_in(2), later))));
    let last = |order| flows(order, &arrivals)[10..].to_vec();
    assert_eq!(last(Order::VirtualClock), [1, 0]);
    for order in [Order::WeightedFair, Order::WorstCaseFair, Order::SelfClocked, Order::StartTimeFair] {
        assert_eq!(last(order), [0, 1], "{order:?}");
    }
}

/// Flow 0 has a quarter of the link and items of 2, flow 1 three quarters and items of 3 and 9. An
/// item of flow 0 takes 8 at its rate, those of flow 1 4 and 12: rounds are of 12. Flow 0 gets 12,
/// sends one for 8 and keeps 4. Flow 1 sends 4, 4, 4 of its 12. Flow 0 has 16: two, and 0 remains.
/// Flow 1 sends the 9. Flow 0 has 12, and sends its last.
#[test]
fn a_turn_is_worth_a_round() {
    let mut arrivals = Vec::new();
    for size in [2, 2, 2, 2] {
        arrivals.push((Time::ZERO, item(0, size, one_in(4), Time::ZERO)));
    }
    let faster = Vtick::new(Span::from_ns(4), Bytes::new(3));
    for size in [3, 3, 3, 9] {
        arrivals.push((Time::ZERO, item(1, size, faster, Time::ZERO)));
    }
    assert_eq!(flows(Order::DeficitRoundRobin, &arrivals), [0, 1, 1, 1, 0, 0, 1, 0]);
}

/// The rest of a flow's turn is lost when no item of the flow waits. Flow 0 sends one for 1 of a
/// round of 4, and the next time one for 4 of 4, not of 7; flow 1 has two for 4. With 7 flow 0
/// would have sent two.
#[test]
fn what_is_left_when_nothing_waits_is_lost() {
    let (quarter, at) = (Vtick::new(Span::from_ns(4), Bytes::new(4)), |ns| Time::ZERO + Span::from_ns(ns));
    let mut arrivals = vec![(at(0), item(0, 1, quarter, at(0))), (at(0), item(1, 4, quarter, at(0)))];
    arrivals.extend([
        (at(1), item(1, 4, quarter, at(1))),
        (at(2), item(0, 4, quarter, at(2))),
        (at(2), item(0, 3, quarter, at(2))),
    ]);
    assert_eq!(flows(Order::DeficitRoundRobin, &arrivals), [0, 1, 0, 1, 0]);
}

/// 1 ns a byte. Two flows with items of 100 B, at a quarter and a half of the link with buckets of
/// 300 and 100, and best effort of 150: rounds are of 400 ns, worth 100 and 200 for the two flows.
#[test]
fn bounds_by_hand() {
    let share = |interval, burst, level| {
        let (tick, item) = (Vtick::new(Span::from_ns(interval), Bytes::new(100)), Bytes::new(100));
        Share {
            tick,
            burst: Bytes::new(burst),
            largest: item,
            smallest: item,
            level,
            messages: None,
            group: None,
        }
    };
    let speed = LinkCosts::new(Span::ZERO, Span::from_ns(1));
    let (flows, without) = (vec![share(400, 300, 1), share(200, 100, 0)], Bytes::new(150));
    let sharing = Sharing { speed, flows, without, frame: Span::from_ns(1600), groups: Vec::new() };
    let of = |order: Order, flow| order.bound(&sharing, flow).map(|bound| bound.as_ps() / 1000);
    for order in [Order::VirtualClock, Order::WeightedFair, Order::WorstCaseFair] {
        assert_eq!([of(order, 0), of(order, 1)], [Some(1200 + 150), Some(200 + 150)], "{order:?}");
    }
    assert_eq!(
        [0, 1].map(|flow| of(Order::SelfClocked, flow)),
        [Some(1200 + 100 + 150), Some(200 + 100 + 150)]
    );
    assert_eq!([0, 1].map(|flow| of(Order::StartTimeFair, flow)), [Some(800 + 350), Some(350)]);
    let round = 3 * (100 + 200);
    let turns = [0, 1].map(|flow| of(Order::DeficitRoundRobin, flow));
    assert_eq!(turns, [Some(1200 + round - 200 + 150), Some(200 + round - 400 + 150)]);
    // A frame of 1600 has 300 + 400 and 100 + 800 to send, and 150 are begun: too much. A frame of
    // 6400 has 1900, 3300 and 150.
    assert_eq!(of(Order::StopAndGo, 0), None);
    let longer = Sharing { frame: Span::from_ns(6400), ..sharing.clone() };
    assert_eq!(Order::StopAndGo.bound(&longer, 0), Some(Span::from_ns(12_800)));
    // A frame is worth 500 and 900 with the deficit kept: 1400 + 150 of 1600.
    assert_eq!(
        [0, 1].map(|flow| of(Order::HierarchicalRoundRobin, flow)),
        [Some(1200 + 3200), Some(200 + 3200)]
    );
    // The first level is busy for 150 + 100 or twice that: 350 is more than 200 and less than 400.
    // The second for 150 + 100 + 100, 150 + 100 + 200, 150 + 200 + 300, 150 + 200 + 400 = 750, 750.
    assert_eq!([0, 1].map(|flow| of(Order::RateControlled, flow)), [Some(800 + 750), Some(350)]);
    assert_eq!(of(Order::FifoPlus, 1), Some(300 + 100 + 150));
    // With three quarters of the link for flow 1 the rates exceed the link.
    let more = Sharing { flows: vec![share(400, 300, 1), share(100, 100, 0)], ..sharing };
    assert!(Order::ALL.iter().all(|order| order.bound(&more, 0).is_none()));
}

/// Flow 0, at a tenth of the link, has five items from the beginning: start tags 0, 10, 20, 30, 40.
/// While the item with tag 20 is in service five of flow 1 arrive, at a quarter: 20, 24, 28, 32,
/// 36. With a clock that ignored the item in service they would start at 0, and all precede the 30.
#[test]
fn the_clock_of_start_tags_is_what_is_in_service() {
    let at = |ps| Time::ZERO + Span::from_ps(ps);
    let mut arrivals: Arrivals = (0..5).map(|_| (at(0), item(0, 1, one_in(10), at(0)))).collect();
    arrivals.extend((0..5).map(|_| (at(2500), item(1, 1, one_in(4), at(2500)))));
    assert_eq!(flows(Order::StartTimeFair, &arrivals), [0, 0, 0, 1, 1, 1, 0, 1, 1, 0]);
}

/// For flows with a rate the server is idle while it serves items without one. Flow 0 sends one at
/// a tenth of the link, to its clock's 10; behind it an item without a rate takes 20. Meanwhile
/// three of flow 1, at a quarter, and one of flow 0 arrive: start tags are 10, 14, 18 and 10. With
/// a clock that had stood still they would be 0, 4, 8 and 10. Flow 0 would be last, though its item
/// is no earlier than its rate allows.
#[test]
fn the_clock_of_start_tags_goes_on_when_only_what_has_no_rate_is_served() {
    let at = |ns| Time::ZERO + Span::from_ns(ns);
    let tag = Tag::best_effort(Time::ZERO);
    let without = ItemRequest { flow: ChannelId(7), size: Bytes::new(20), tag, carried: Carried::NOTHING };
    let mut arrivals = vec![(at(0), item(0, 1, one_in(10), at(0))), (at(0), without)];
    arrivals.extend((0..3).map(|_| (at(10), item(1, 1, one_in(4), at(10)))));
    arrivals.push((at(10), item(0, 1, one_in(10), at(10))));
    assert_eq!(flows(Order::StartTimeFair, &arrivals), [0, 7, 1, 0, 1, 1]);
}

/// Items without a rate are served in order of arrival when no other item waits.
#[test]
fn what_has_no_rate_is_last() {
    let carried = Carried::NOTHING;
    let best_effort =
        ItemRequest { flow: ChannelId(7), size: Bytes::new(1), tag: Tag::best_effort(Time::ZERO), carried };
    let arrivals = vec![
        (Time::ZERO, best_effort),
        (Time::ZERO, ItemRequest { flow: ChannelId(8), ..best_effort }),
        (Time::ZERO, item(0, 1, one_in(100), Time::ZERO)),
    ];
    for order in SHARED {
        assert_eq!(flows(order, &arrivals), [0, 7, 8], "{order:?}");
    }
}
