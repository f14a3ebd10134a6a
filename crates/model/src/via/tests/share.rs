//! A reserved rate for traffic in turn, with separated processes.
//!
//! As in `timelines`: a poll takes 500 here, 1 KiB takes HDMA 9638.4 down and 9433.6 up and the
//! network 7000, a descriptor 2500 and completion 1200; in nanoseconds.

use proptest::prelude::*;

use super::apart::{beside_and_alone, longest_beside, of, told_apart};
use super::*;

/// Reserves that many megabytes a second.
fn aside(ahead: u32, megabytes: u64) -> ViaConfig {
    let plain = told_apart(ahead);
    let best_effort = Some(Rate::from_bytes_per_sec(megabytes * 1_000_000));
    ViaConfig { limits: ViLimits { best_effort, ..plain.limits }, ..plain }
}

/// Traffic within bandwidths fills the adapter: without a reserved rate almost no best effort
/// passes, in either direction, and otherwise the reserved rate does.
#[test]
fn what_is_set_aside_passes_beside_bandwidths_of_all_there_is() {
    let end = 60_000_000;
    // 98 MB/s of 4 KiB are the send capacity, and 120 the receive capacity; the others have an
    // endless backlog, one of them with a tiny bandwidth.
    for (come, interval) in [(false, 84), (true, 69)] {
        let vis = [
            of(1, reserved(interval)),
            of(2, reserved(interval)),
            of(3, PLAIN),
            of(4, reserved(100_000)),
            of(5, PLAIN),
        ];
        for (config, least, most) in [
            (told_apart(4), 0.0, 1.3),
            (aside(4, 8), 7.2, 8.1),
            (aside(1, 8), 7.2, 8.1),
            (aside(1, 2), 1.8, 2.1),
        ] {
            let mut bench = Bench::new(config, &vis);
            let mut tell = |at, vi, number| match come {
                true => bench.reach(at, ViMessage { in_turn: vi > 1, ..message(vi, number, 4096) }),
                false => bench.ring(at, ViDoorbell::Send(message(vi, number, 4096))),
            };
            for number in 0..end / (interval * 1000) {
                (0..2).for_each(|vi| tell(number * interval * 1000, vi, number));
                if number == 2 {
                    (2..5).for_each(|vi| (0..200).for_each(|n| tell(number * interval * 1000, vi, n)));
                }
            }
            bench.until(ns(end));
            let mut bytes = [0.0; 5];
            for (_, output) in &bench.told {
                match output {
                    ViaOutput::Departs(message) if !come => {
                        bytes[message.vi as usize] += message.size.get() as f64;
                    }
                    ViaOutput::Received(message) => bytes[message.vi as usize] += message.size.get() as f64,
                    _ => {}
                }
            }
            let rates = bytes.map(|bytes| bytes * 1e3 / end as f64);
            let turns = rates[2..].iter().sum::<f64>();
            assert!((least..most).contains(&turns), "{come} {rates:?}");
            assert!(rates[0] + rates[1] > 0.9 * 2.0 * 4096.0 / interval as f64, "{come} {rates:?}");
        }
    }
}

/// 1 KiB is 12.8 us of 80 MB/s. The first of three is within that at once; the second is let in
/// beyond it, and is given a stamp when the clock allows it and the processor gets to it.
#[test]
fn what_is_beyond_the_rate_is_given_a_stamp_when_the_clock_allows_it() {
    let mut bench = Bench::new(aside(1, 80), &[of(1, PLAIN)]);
    (0..3).for_each(|number| bench.ring(0, ViDoorbell::Send(message(0, number, 1024))));
    bench.finish();
    let worked: Vec<(&str, u64, u64)> = bench
        .told
        .iter()
        .filter_map(|(_, output)| match output {
            ViaOutput::Worked(Unit::Processor, what, message, since) => {
                Some((*what, message.number, since.as_ps() / 1000))
            }
            _ => None,
        })
        .collect();
    // Each has a round of polls, 2000. Doorbells 7500; at 9500 the descriptor is not there (12000)
    // and the clock not there (12800). At 19000 the descriptor of the first is, with the stamp
    // 12800: 10500. At 31500 the second, 25600, is before the third, which would have 38400: to
    // note it takes 1000.
    assert_eq!(
        worked[..5],
        [
            ("doorbell", 0, 0),
            ("doorbell", 1, 9500),
            ("program data", 0, 19_000),
            ("program further fragments", 0, 31_500),
            ("stamp for what has none", 1, 31_500),
        ]
    );
    assert!(worked[5].2 - worked[4].2 <= 3500, "{worked:?}");
    assert_eq!(bench.departures(), [(0, 0), (0, 1), (0, 2)]);
}

/// As in [`apart`](super::apart): with a bandwidth and beside what goes in turn, now with a rate,
/// one waits for what is in hand and what has a stamp before.
#[test]
fn a_stamp_of_the_rate_is_one_among_others() {
    let order = |interval: u64| {
        let mut bench = Bench::new(aside(4, 8), &[of(1, reserved(interval)), of(2, PLAIN)]);
        // In hand.
        bench.ring(0, ViDoorbell::Send(message(1, 0, 4096)));
        bench.ring(100, ViDoorbell::Send(message(1, 1, 4096)));
        bench.ring(513_000, ViDoorbell::Send(message(1, 2, 4096)));
        bench.ring(513_000, ViDoorbell::Send(message(1, 3, 4096)));
        bench.ring(513_100, ViDoorbell::Send(message(0, 0, 4096)));
        bench.finish().departures().iter().map(|(vi, _)| *vi).collect::<Vec<_>>()
    };
    // The first of the two at 513 has its stamp by the rate, 512 later.
    assert_eq!(order(400), [1, 1, 0, 1, 1]);
    assert_eq!(order(4000), [1, 1, 1, 0, 1]);
}

proptest! {
    /// Whatever goes in turn beside, one that keeps a bandwidth waits at its sender for what is in
    /// hand at each visit, and besides for no more of the rest than the rate allows.
    #[test]
    fn what_has_no_bandwidth_is_in_nobodys_way_but_by_its_rate(
        gaps in prop::collection::vec(1_100_000u64..1_500_000, 1..6),
        flood in prop::collection::vec((0u64..60_000, 1u32..4, prop_oneof![Just(1u64), Just(4096)]), 1..120),
        ahead in 1u32..5,
        megabytes in 1u64..9,
    ) {
        let vis = [of(1, reserved(1000)), of(2, PLAIN), of(2, PLAIN), of(3, PLAIN)];
        for (took, takes) in beside_and_alone(aside(ahead, megabytes), &vis, &gaps, &flood) {
            // As without a rate; and of the rest by it, at most one in each 1 KiB's time.
            let longest = longest_beside(|longest| {
                (1 + (takes.min(400_000) + longest) * megabytes / 1_024_000).min(2 + flood.len() as u64)
            });
            prop_assert!(took.saturating_sub(takes) <= longest, "{took} {takes} {longest}");
        }
    }
}
