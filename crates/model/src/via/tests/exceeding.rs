//! A sender that exceeds its bandwidth, with separated processes: it gets its bandwidth, and its
//! excess does not delay others.
//!
//! As in `timelines`: a poll takes 500 here, 1 KiB takes HDMA 9638.4 down and 9433.6 up and the
//! network 7000, a descriptor 2500 and completion 1200; in nanoseconds.

use proptest::prelude::*;

use super::apart::{beside_and_alone, longest_beside, of, told_apart};
use super::*;

/// 1 KiB in 50 us. The first two are within that at once; the third is admitted beyond it, and is
/// given a stamp when the clock has reached 100 and the processor gets to it.
#[test]
fn the_oldest_that_exceeds_a_bandwidth_is_given_a_stamp() {
    let kib = Vtick::new(Span::from_us(50), Bytes::from_kib(1));
    let mut bench = Bench::new(told_apart(1), &[of(1, AdapterVi { vtick: Some(kib), ..PLAIN })]);
    (0..4).for_each(|number| bench.ring(0, ViDoorbell::Send(message(0, number, 1024))));
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
        .filter(|(what, ..)| *what != "program further fragments")
        .collect();
    // Each has a round of looks, 2000. Doorbells 7500; at 19000 both descriptors are there (12000
    // and 21500) and go first, 10500. The data of the first is down at 41138 and found at 44000:
    // 2000 + 1000.
    assert_eq!(
        worked[..6],
        [
            ("doorbell", 0, 0),
            ("doorbell", 1, 9500),
            ("program data", 0, 19_000),
            ("program data", 1, 31_500),
            ("hand to network", 0, 44_000),
            // At 49000 its clock is at 100000, more than an interval ahead.
            ("doorbell", 2, 49_000),
        ]
    );
    // Tasks of the first two go before that. At 101300 the second is completed, 100000: 1300. Then
    // the third is given 150000 for ∞, which is noted in 1000.
    let rest: Vec<_> = worked.iter().filter(|(.., since)| *since > 100_000).take(5).collect();
    assert_eq!(
        rest,
        [
            &("finish", 1, 101_300),
            &("stamp for what has none", 2, 104_600),
            // It is within the bandwidth from 100000 on, and has 200000.
            &("doorbell", 3, 107_600),
            // The third has left at 108300, and is before the fourth.
            &("program status", 2, 117_100),
            &("program data", 3, 123_600),
        ]
    );
    let departs = bench.told.iter().filter_map(|(_, output)| match output {
        ViaOutput::Departs(message) => Some((message.number, message.in_turn)),
        _ => None,
    });
    // The third was on its way before.
    assert_eq!(departs.collect::<Vec<_>>(), [(0, false), (1, false), (2, true), (3, false)]);
}

/// Requests by virtual interface, time and size: 0 exceeds its bandwidth, 1 uses all of its own,
/// and 2 to 4 are endless best effort of two processes.
#[derive(Debug)]
struct Asked {
    /// Microseconds per 4 KiB.
    own: u64,
    other: u64,
    sizes: Vec<u64>,
    /// Which received messages were within the bandwidth when sent.
    stamped: Vec<bool>,
    end: u64,
}

impl Asked {
    /// The adapter after those requests: received messages, or doorbells.
    fn of(&self, config: ViaConfig, come: bool) -> Bench {
        let vis = [
            of(1, reserved(self.own)),
            of(2, reserved(self.other)),
            of(3, PLAIN),
            of(3, PLAIN),
            of(4, PLAIN),
        ];
        let mut bench = Bench::new(config, &vis);
        let tell = |bench: &mut Bench, at, in_turn, message: ViMessage| match come {
            true => bench.reach(at, ViMessage { in_turn, ..message }),
            false => bench.ring(at, ViDoorbell::Send(message)),
        };
        let every = |interval: u64| (0..self.end / interval).map(move |number| number * interval);
        let mut acts: Vec<(u64, bool, u32, u64)> = Vec::new();
        acts.extend(every(self.other * 1000).map(|at| (at, true, 1, 4096)));
        // More than enough of best effort; and of the first twice what it may.
        acts.extend((2..5).flat_map(|vi| every(120_000).map(move |at| (at, false, vi, 4096))));
        let (mut at, mut clock) = (0, 0);
        for (size, stamped) in self.sizes.iter().cycle().zip(self.stamped.iter().cycle()) {
            let tick = self.own * 1000 * size / 4096;
            let stamped = *stamped && clock <= at;
            if stamped {
                clock = clock.max(at) + tick;
            }
            acts.push((at, stamped, 0, *size));
            at += tick / 2;
            if at >= self.end {
                break;
            }
        }
        acts.sort_by_key(|(at, ..)| *at);
        let mut numbers = [0; 5];
        for (at, stamped, vi, size) in acts {
            tell(&mut bench, at, !stamped, message(vi, numbers[vi as usize], size));
            numbers[vi as usize] += 1;
        }
        bench.until(ns(self.end));
        bench
    }
}

/// When how many bytes of `vi` were through, in nanoseconds.
fn through(bench: &Bench, come: bool, vi: u32) -> Vec<(u64, u64)> {
    let told = bench.told.iter().filter_map(|(at, output)| match output {
        ViaOutput::Departs(message) if !come && message.vi == vi => Some((at, message)),
        ViaOutput::Received(message) if message.vi == vi => Some((at, message)),
        _ => None,
    });
    told.map(|(at, message)| (at.as_ps() / 1000, message.size.get())).collect()
}

/// By how many bytes what was through between any two times was less than `interval` for 4 KiB has it.
fn short(through: &[(u64, u64)], end: u64, interval: u64) -> f64 {
    let rate = 4096.0 / (interval * 1000) as f64;
    let (mut most, mut bytes, mut short) = (0.0f64, 0.0, 0.0f64);
    for (at, size) in through.iter().copied().chain([(end, 0)]) {
        short = short.max(most - (bytes - rate * at as f64));
        bytes += size as f64;
        most = most.max(bytes - rate * at as f64);
    }
    short
}

fn asked() -> impl Strategy<Value = Asked> {
    let sizes = prop_oneof![
        Just(vec![4096u64]),
        prop::collection::vec(prop_oneof![Just(2048u64), Just(4096), 2048u64..4096], 1..6),
    ];
    (110u64..1000, sizes, prop::collection::vec(any::<bool>(), 1..6)).prop_map(|(own, sizes, stamped)| {
        // A message takes the processor 42 us, looks included, and 3 to be given a stamp; to what
        // has no bandwidth a thirtieth of its time is left.
        let most = 4096.0 / *sizes.iter().min().expect("there is one") as f64;
        let left = 0.97 - 45.0 * most / own as f64;
        Asked { own, other: (42.0 / left).ceil() as u64, sizes, stamped, end: 12_000_000 }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Beside a flood, and another bandwidth, it has its own between any two times but for what is
    /// under way, at either side; and so has the other.
    #[test]
    fn who_posts_more_than_its_bandwidth_has_that(asked in asked(), ahead in 1u32..5, nsdma_queue in any::<bool>(), come in any::<bool>()) {
        let limits = ViLimits { nsdma_queue, ..told_apart(ahead).limits };
        let bench = asked.of(ViaConfig { limits, ..told_apart(ahead) }, come);
        for (vi, interval) in [(0, asked.own), (1, asked.other)] {
            let short = short(&through(&bench, come, vi), asked.end, interval);
            // Three messages, and what its rate is for while one is on its way.
            let lump = 3.0 * 4096.0 + 4096.0 * 600.0 / interval as f64;
            prop_assert!(short <= lump, "{vi}: {short} of {lump}");
        }
    }
    /// A sender within its bandwidth waits at each visit for the work in progress, and for no more
    /// of the endless sender than that one's bandwidth admits: two at once, and then one in each
    /// interval.
    #[test]
    fn who_posts_more_than_its_bandwidth_is_in_nobodys_way_but_by_that(
        gaps in prop::collection::vec(1_100_000u64..1_500_000, 1..6),
        flood in prop::collection::vec((0u64..60_000, 1u32..4, prop_oneof![Just(1024u64), Just(4096)]), 1..120),
        interval in 400u64..2000,
        ahead in 1u32..5,
    ) {
        // Of 1 KiB in that time; the second, too, the third is best effort.
        let own = Vtick::new(Span::from_us(interval), Bytes::from_kib(1));
        let own = AdapterVi { vtick: Some(own), ..PLAIN };
        let vis = [of(1, reserved(1000)), of(2, own), of(2, own), of(3, PLAIN)];
        let longest = longest_beside(|longest| 2 * (2 + longest / (interval * 1000)).min(flood.len() as u64));
        for (took, takes) in beside_and_alone(told_apart(ahead), &vis, &gaps, &flood) {
            prop_assert!(took.saturating_sub(takes) <= longest, "{took} {takes} {longest}");
        }
    }
}
