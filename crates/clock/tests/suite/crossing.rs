//! Messages over hops with clocks that drift: no way of regulation exceeds its bound, and the terms
//! are needed.

use laxity_clock::{Crossing, CrossingHop, Drift, NodeClock, Quality, Shift, Tolerance};
use laxity_engine::{Seed, Stream};
use laxity_units::{Span, Time};
use proptest::prelude::*;

const MESSAGES: u64 = 400;

struct Route {
    hops: Vec<CrossingHop>,
    /// The oscillators of all nodes, the destination's not.
    own: Vec<NodeClock>,
    /// The synchronised clocks of all nodes.
    synchronised: Vec<NodeClock>,
    quality: Quality,
    interval: Span,
    /// Nodes send at the last moment always; else at a random one.
    last_moment: bool,
}

/// The true times of one message.
struct Journey {
    /// The first logical arrival.
    start: Time,
    /// The arrival behind the last link.
    end: Time,
    /// In synchronised time: becoming current at each node, and the nominal time that the packet
    /// carries.
    current: Vec<(Time, Time)>,
}

/// The true time at which `clock` shows `local`, not before `from`.
fn when(clock: &NodeClock, local: Time, from: Time) -> Time {
    clock.first_at(local, from).expect("the run is short")
}

/// Sends messages as fast as the contract allows. `regulated` is the interval at each node; a
/// mutant passes another.
fn travel(
    route: &Route,
    way: Crossing,
    regulated: impl Fn(u32) -> Span,
    stream: &mut Stream,
) -> Vec<Journey> {
    let synchronised = matches!(way, Crossing::Deadline { .. });
    let first = if synchronised { &route.synchronised[0] } else { &route.own[0] };
    let mut logical = first.shown(Time::ZERO) + Span::from_ms(1);
    let mut before: Vec<Option<Time>> = vec![None; route.hops.len()];
    let mut left = vec![Time::ZERO; route.hops.len()];
    (0..MESSAGES)
        .map(|_| {
            logical += route.interval;
            let start = when(first, logical, Time::ZERO);
            let (mut arrived, mut nominal, mut remaining) = (start, logical, Span::ZERO);
            let mut currents = Vec::new();
            for (k, hop) in route.hops.iter().enumerate() {
                let (own, shared) = (&route.own[k], &route.synchronised[k]);
                // From `current` on the node may send, and by `due` of its own clock it has.
                let current = if synchronised {
                    let current = when(shared, nominal, arrived);
                    currents.push((current, nominal));
                    nominal += hop.delay + hop.most_transit;
                    current
                } else {
                    let earliest = if k == 0 { logical } else { own.shown(arrived) + remaining };
                    let spaced = before[k].map_or(earliest, |last| earliest.max(last + regulated(k as u32)));
                    before[k] = Some(spaced);
                    when(own, spaced, arrived)
                };
                let began = if synchronised { own.shown(current) } else { before[k].expect("set above") };
                let due = began + hop.delay;
                let latest = when(own, due, current);
                let sent = match route.last_moment {
                    true => latest,
                    false => current + stream.uniform(Span::ZERO, latest.since(current)),
                };
                left[k] = sent.max(left[k]);
                remaining = match way {
                    Crossing::Remaining => due.saturating_since(own.shown(left[k])),
                    _ => Span::ZERO,
                };
                arrived = left[k] + stream.uniform(hop.least_transit, hop.most_transit);
            }
            Journey { start, end: arrived, current: currents }
        })
        .collect()
}

/// Clocks with random drift; synchronised ones keep within `error` of true time, which is the
/// reference's.
fn route(seed: u64, hops: usize, ppm: i64, error: Span, last_moment: bool) -> Route {
    let stream = &mut Seed::new(seed).stream("route");
    let bound = ppm * 1000;
    let drift = |stream: &mut Stream, bound: i64| {
        // The extremes are the worst, and are drawn often.
        Drift::from_ppb(
            [-bound, bound, stream.below(2 * bound as u64 + 1) as i64 - bound][stream.below(3) as usize],
        )
        .unwrap()
    };
    let grain = Span::from_ns(stream.below(2000) + 1);
    let span = |stream: &mut Stream, us: u64| Span::from_us(stream.below(us));
    let hops: Vec<CrossingHop> = (0..hops)
        .map(|_| {
            let least_transit = span(stream, 50);
            CrossingHop {
                delay: span(stream, 40_000),
                least_transit,
                most_transit: least_transit + span(stream, 50),
            }
        })
        .collect();
    let own = (0..hops.len()).map(|_| {
        let start = Time::ZERO + Span::from_secs(1) + Span::from_ms(stream.below(900));
        NodeClock::new(start, drift(stream, bound)).with_grain(grain)
    });
    let own = own.collect();
    let synchronised = (0..hops.len()).map(|_| {
        // Between both ends of the error: a drift of 5 % leads from one to the other, then the
        // clock rests there.
        let fast = |up: bool| Drift::from_ppb(if up { 50_000_000 } else { -50_000_000 }).unwrap();
        let mut at = Time::ZERO;
        let mut ahead = stream.chance(0.5);
        let start = Time::ZERO + Span::from_secs(1);
        let start = if ahead { start + error } else { start - error };
        let mut clock = NodeClock::new(start, Drift::NONE);
        while at < Time::ZERO + Span::from_secs(4) {
            at += span(stream, 300_000);
            ahead = !ahead;
            clock.change(at, Shift::NONE, fast(ahead)).unwrap();
            at += error * 40;
            clock.change(at, Shift::NONE, Drift::NONE).unwrap();
        }
        clock
    });
    let synchronised = synchronised.collect();
    let quality = Quality { drift: Tolerance::of(Drift::from_ppb(bound).unwrap()), grain };
    Route { hops, own, synchronised, quality, interval: Span::from_ms(5), last_moment }
}

fn check(route: &Route, way: Crossing, seed: u64) -> Result<(), TestCaseError> {
    let regulated = |k| way.interval(route.interval, k, route.quality);
    let journeys = travel(route, way, regulated, &mut Seed::new(seed).stream("travel"));
    let delays: Vec<Span> = journeys.iter().map(|journey| journey.end.since(journey.start)).collect();
    let (least, most) = (*delays.iter().min().unwrap(), *delays.iter().max().unwrap());
    let (bound, jitter) = (way.delay(&route.hops, route.quality), way.jitter(&route.hops, route.quality));
    prop_assert!(most <= bound, "{:?}: {} above {}", way, most, bound);
    prop_assert!(most - least <= jitter, "{:?}: jitter {} above {}", way, most - least, jitter);
    if let Crossing::Deadline { error } = way {
        // The reference shows true time and a second.
        let ahead = Span::from_secs(1);
        for (k, (current, nominal)) in journeys.iter().flat_map(|journey| journey.current.iter().enumerate())
        {
            let (earliest, current) = (*nominal - error, *current + ahead);
            let jitter = way.release_jitter(&route.hops[..k], route.quality);
            prop_assert!(current >= earliest && current.since(earliest) <= jitter, "node {}", k);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_way_exceeds_its_bound(seed in any::<u64>(), hops in 1usize..8, ppm in 0i64..300, us in 0u64..3000, last_moment in any::<bool>()) {
        let error = Span::from_us(us);
        let route = route(seed, hops, ppm, error, last_moment);
        for way in [Crossing::Arrivals, Crossing::Remaining, Crossing::Deadline { error }] {
            check(&route, way, seed)?;
        }
    }
}

/// A sender 100 ppm fast and a regulator 100 ppm slow: without the factor each message waits 1 us
/// longer than the last.
#[test]
fn a_regulator_that_does_not_allow_for_drift_is_unstable() {
    let mut route = route(1, 2, 100, Span::ZERO, true);
    let drift = |ppb| Drift::from_ppb(ppb).unwrap();
    let start = Time::ZERO + Span::from_secs(1);
    route.own = vec![NodeClock::new(start, drift(100_000)), NodeClock::new(start, drift(-100_000))];
    route.quality.grain = Span::from_ps(1);
    let way = Crossing::Arrivals;
    for hop in &mut route.hops {
        hop.most_transit = hop.least_transit;
    }
    let late = |interval: &dyn Fn(u32) -> Span| {
        let journeys = travel(&route, way, interval, &mut Seed::new(1).stream("travel"));
        journeys.last().unwrap().end.since(journeys.last().unwrap().start)
    };
    let bound = way.delay(&route.hops, route.quality);
    let allowed = late(&|k| way.interval(route.interval, k, route.quality));
    let ideal = late(&|_| route.interval);
    assert!(allowed <= bound && ideal > bound);
    let gained = ideal - allowed;
    assert!((398..=400).contains(&gained.div_floor(Span::from_us(1))), "399 intervals of 1 us: {gained}");
}
