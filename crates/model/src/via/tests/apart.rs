//! Separated processes: timelines by hand, and mutual delays.
//!
//! As in `timelines`: a poll takes 500 here, 1 KiB takes HDMA 9638.4 down and 9433.6 up and the
//! network 7000, a descriptor 2500 and completion 1200; in nanoseconds.

use proptest::prelude::*;

use ViStep::*;

use super::*;

pub(super) fn told_apart(ahead: u32) -> ViaConfig {
    let limits = ViLimits { doorbells: Doorbells::Apart { ahead }, ..ViLimits::NONE };
    ViaConfig { limits, ..looks(Firmware::QualityOfService) }
}

pub(super) fn of(process: u32, vi: AdapterVi) -> AdapterVi {
    AdapterVi { process, ..vi }
}

/// As [`super::timelines`] has it with a round of four looks (2000) before each thing that is
/// handled: doorbell 2000 and 7500; descriptor there at 12000, and a round ends at 13500, so found
/// at 13500 and 2000 and 10500 for the data, which is down at 35638 since the first KiB was
/// programmed; and so on.
#[test]
fn one_message_alone_has_a_round_of_looks_at_each_step() {
    let mut bench = Bench::new(told_apart(4), &[reserved(1000)]);
    bench.ring(0, ViDoorbell::Send(message(0, 0, 1024)));
    let steps = bench.finish().steps(0, 0);
    // 2000 + 7500. Rounds begin at 9500, 11500 and 13500; the descriptor is there at 12000.
    assert_eq!(steps[..2], [(SendDescriptorProgrammed, 9500), (SendDescriptorDown, 13_500)]);
    // 13500 + 2000 + 10500; rounds from there, one of which begins at 36000, after 35638.
    assert_eq!(steps[2..4], [(SendDataProgrammed, 26_000), (SendDataDown, 36_000)]);
    // 36000 + 2000 + 2000 + 1000: the network has it from 41000 to 48000, and rounds begin at 47000
    // and 49000; 2000 and 4500 for the status, 1200, and rounds from 55500 find it at 57500.
    assert_eq!(
        steps[4..],
        [(SendNetworkDone, 49_000), (SendStatusProgrammed, 55_500), (SendStatusDone, 60_800)]
    );
}

/// The same message beside a flood of another process, at every time of a period of it: each of its
/// steps is delayed by at most the work in progress at each visit.
#[test]
fn beside_a_flood_each_visit_waits_for_what_is_in_hand() {
    let steps = |at: u64, flood: u64| {
        let mut bench = Bench::new(told_apart(4), &[of(1, reserved(1000)), of(2, PLAIN), of(2, PLAIN)]);
        (0..flood).for_each(|number| {
            bench.ring(0, ViDoorbell::Send(message(1, number, 4096)));
            bench.ring(0, ViDoorbell::Send(message(2, number, 4096)));
        });
        bench.ring(at, ViDoorbell::Send(message(0, 0, 1024)));
        bench.finish().steps(0, 0).iter().map(|(_, done)| done - at).collect::<Vec<_>>()
    };
    let alone = steps(0, 0);
    // In hand: a round in vain (2) and programming of 4 KiB with its round (10.5 + 3 × 1.65 + 2) at
    // the processor; a transfer down (33.8), and one that stays at the head of the queue, at HDMA.
    let (processor, hdma) = (19_450, 2 * 33_754);
    let mut worst = vec![0; alone.len()];
    for at in (300_000..500_000).step_by(700) {
        for (worst, (beside, alone)) in worst.iter_mut().zip(steps(at, 40).iter().zip(&alone)) {
            *worst = (*worst).max(beside.saturating_sub(*alone));
        }
    }
    assert!(worst[0] <= processor && worst[0] > processor / 2, "{worst:?}");
    assert!(worst[1] <= 2 * processor + hdma, "{worst:?}");
    assert!(worst[3] <= 4 * processor + 2 * hdma && worst[3] > hdma / 2, "{worst:?}");
    // Merged, it waits for all of the flood: 80 messages of which each takes HDMA 37 us.
    let merged = ViaConfig { limits: ViLimits::NONE, ..told_apart(4) };
    let mut bench = Bench::new(merged, &[reserved(1000), PLAIN]);
    (0..80).for_each(|number| bench.ring(0, ViDoorbell::Send(message(1, number, 4096))));
    bench.ring(300_000, ViDoorbell::Send(message(0, 0, 1024)));
    assert!(bench.finish().steps(0, 0)[0].1 > 1_000_000);
}

/// Two processes without bandwidths have half of the adapter each, whether one of them has one
/// virtual interface or twelve.
#[test]
fn processes_have_equal_parts_whatever_they_open() {
    for count in [1, 4, 12] {
        let vis: Vec<AdapterVi> =
            std::iter::once(of(1, PLAIN)).chain((0..count).map(|_| of(2, PLAIN))).collect();
        let mut bench = Bench::new(told_apart(4), &vis);
        for number in 0..60 {
            (0..=count).for_each(|vi| bench.ring(0, ViDoorbell::Send(message(vi, number, 4096))));
        }
        let departures = bench.finish().departures();
        let own = departures[..100].iter().filter(|(vi, _)| *vi == 0).count();
        assert!(own.abs_diff(50) <= 2, "{count}: {own}");
    }
}

/// A process that posts receive descriptors without end gets its turns, and no more.
#[test]
fn room_that_is_posted_without_end_goes_in_turn() {
    let vis = [of(1, reserved(500)), AdapterVi { receives: Some(0), ..of(2, reserved(100_000)) }];
    let mut bench = Bench::new(told_apart(4), &vis);
    (0..200).for_each(|_| bench.ring(0, ViDoorbell::Receive(1)));
    (0..6).for_each(|number| bench.ring(number * 500_000, ViDoorbell::Send(message(0, number, 1024))));
    bench.finish();
    for number in 0..6 {
        let begun = bench.steps(0, number)[0].1 - number * 500_000;
        // The task in progress may record or fetch a descriptor: 2 + 7.5, after a round in vain.
        assert!(begun <= 9500 + 2000 + 9500, "{begun}");
    }
}

/// A message admitted in turn by its sender goes in turn at the receiver.
#[test]
fn what_exceeds_a_bandwidth_is_told_to_the_other_side() {
    let mut bench = Bench::new(told_apart(4), &[reserved(1000)]);
    (0..4).for_each(|number| bench.ring(0, ViDoorbell::Send(message(0, number, 4096))));
    bench.finish();
    let in_turn: Vec<bool> = bench
        .told
        .iter()
        .filter_map(|(_, output)| match output {
            ViaOutput::Departs(message) => Some(message.in_turn),
            _ => None,
        })
        .collect();
    assert_eq!(in_turn, [false, false, true, true]);
    // Four arrive at once, and then one of another interface within its bandwidth: it is next
    // behind the work in progress.
    let mut bench = Bench::new(told_apart(4), &[of(1, PLAIN), of(2, reserved(1000))]);
    (0..4).for_each(|number| bench.reach(0, message(0, number, 4096)));
    bench.reach(10, message(1, 0, 4096));
    bench.finish();
    let order = bench.told.iter().filter_map(|(_, output)| match output {
        ViaOutput::Received(message) => Some(message.vi),
        _ => None,
    });
    assert_eq!(order.collect::<Vec<_>>(), [0, 1, 0, 0, 0]);
}

/// Requests of others to a process's memory take no turn of its own.
#[test]
fn answers_are_told_apart_from_what_a_process_sends() {
    let mut bench = Bench::new(told_apart(1), &[of(1, PLAIN), of(1, PLAIN)]);
    (0..10).for_each(|number| bench.ring(0, ViDoorbell::Answer(message(0, number, 4096))));
    (0..3).for_each(|number| bench.ring(0, ViDoorbell::Send(message(1, number, 4096))));
    let order: Vec<u32> = bench.finish().departures().iter().map(|(vi, _)| *vi).collect();
    // The first is begun when it is asked for, and the rest are there before anything else is.
    assert_eq!(order[..7], [0, 0, 1, 0, 1, 0, 1]);
}

/// Merged list of events: none by the interface within its bandwidth after each of `gaps`, and the
/// other processes' events, each that long after the one before.
fn beside<T: Copy>(gaps: &[u64], others: impl Iterator<Item = (u64, T)>) -> Vec<(u64, Option<T>)> {
    let after = |at: &mut u64, gap: u64| {
        *at += gap;
        Some(*at)
    };
    let own = gaps.iter().scan(0, |at, gap| after(at, *gap)).map(|at| (at, None));
    let others = others.scan(500_000, |at, (gap, what)| Some((after(at, gap)?, Some(what))));
    let mut acts: Vec<_> = own.chain(others).collect();
    acts.sort_by_key(|(at, _)| *at);
    acts
}

/// Times of each 1 KiB message of the first virtual interface to its last step: beside a flood of
/// others (gap, interface and size), and alone.
pub(super) fn beside_and_alone(
    config: ViaConfig,
    vis: &[AdapterVi; 4],
    gaps: &[u64],
    flood: &[(u64, u32, u64)],
) -> Vec<(u64, u64)> {
    let acts = beside(gaps, flood.iter().map(|(gap, vi, size)| (*gap, (*vi, *size))));
    let run = |alone: bool| {
        let mut bench = Bench::new(config, vis);
        let mut numbers = [0; 4];
        for (at, act) in &acts {
            let (vi, size) = act.unwrap_or((0, 1024));
            if act.is_none() || !alone {
                bench.ring(*at, ViDoorbell::Send(message(vi, numbers[vi as usize], size)));
                numbers[vi as usize] += 1;
            }
        }
        bench.finish();
        (0..gaps.len() as u64).map(|number| bench.steps(0, number).last().unwrap().1).collect::<Vec<_>>()
    };
    run(false).into_iter().zip(run(true)).collect()
}

/// Maximum delay of the first interface: the work in progress at each visit, and the messages that
/// a rate admits in that time, each with five visits to the processor, one for its stamp, HDMA and
/// the network.
pub(super) fn longest_beside(by_rate: impl Fn(u64) -> u64) -> u64 {
    let (processor, hdma) = (2_000 + 17_450, 2 * 33_754);
    let one = 6 * processor + hdma + 26_200;
    let in_hand = 6 * processor + 2 * hdma + 26_200 + 2 * processor;
    let mut longest = in_hand;
    loop {
        let next = in_hand + by_rate(longest) * one;
        if next <= longest {
            return longest;
        }
        longest = next;
    }
}

proptest! {
    /// One that keeps its bandwidth, at any times and beside anything that has none: each step at
    /// its sender is no later than alone by what is in hand at each visit until then.
    #[test]
    fn whoever_keeps_a_bandwidth_waits_for_what_is_in_hand(
        gaps in prop::collection::vec(1_100_000u64..1_500_000, 1..6),
        flood in prop::collection::vec((0u64..60_000, 1u32..5, 0u8..4, prop_oneof![Just(1u64), Just(4096)]), 1..120),
        ahead in 1u32..5,
        nsdma_queue in any::<bool>(),
    ) {
        let limits = ViLimits { nsdma_queue, ..told_apart(ahead).limits };
        let config = ViaConfig { limits, ..told_apart(ahead) };
        // The last has a bandwidth and sends more than it is for, the one before has descriptors to
        // be fetched.
        let vis = [of(1, reserved(1000)), of(2, PLAIN), of(2, PLAIN), AdapterVi { receives: Some(0), ..of(3, PLAIN) }, of(4, reserved(30_000))];
        // The virtual interface, the kind of event, and the size.
        let acts = beside(&gaps, flood.iter().map(|(gap, vi, kind, size)| (*gap, (*vi, *kind, *size))));
        let run = |alone: bool| {
            let mut bench = Bench::new(config, &vis);
            let (mut numbers, mut came) = ([0; 5], [0; 5]);
            // Uses up its bandwidth for longer than the test lasts.
            for number in (0..2).filter(|_| !alone) {
                bench.ring(0, ViDoorbell::Send(message(4, number, 4096)));
                bench.ring(0, ViDoorbell::Receive(4));
                bench.reach(0, ViMessage { in_turn: true, ..message(4, came[4], 4096) });
                numbers[4] += 1;
                came[4] += 1;
            }
            for (at, act) in &acts {
                match act {
                    None => {
                        bench.ring(*at, ViDoorbell::Send(message(0, numbers[0], 1024)));
                        numbers[0] += 1;
                    }
                    Some(_) if alone => {}
                    Some((vi, kind, size)) => {
                        let place = *vi as usize;
                        let doorbell = match kind {
                            0 => ViDoorbell::Receive(*vi),
                            1 => {
                                bench.reach(*at, ViMessage { in_turn: *vi == 4, ..message(*vi, came[place], *size) });
                                came[place] += 1;
                                continue;
                            }
                            2 if *vi != 4 => ViDoorbell::Answer(message(*vi, numbers[place], *size)),
                            _ => ViDoorbell::Send(message(*vi, numbers[place], *size)),
                        };
                        numbers[place] += u64::from(*kind > 1);
                        // A few at once.
                        bench.ring(*at, doorbell);
                    }
                }
            }
            bench.finish();
            (0..gaps.len() as u64).map(|number| bench.steps(0, number)).collect::<Vec<_>>()
        };
        let (beside, alone) = (run(false), run(true));
        // A round in vain, and programming 4 KiB; 4 KiB down or up, twice; 4 KiB on the network,
        // and until that is noticed.
        let (processor, hdma) = (2_000 + 17_450, 2 * 33_754);
        let network = 26_200 + if nsdma_queue { 26_200 } else { 2 * processor };
        for (beside, alone) in beside.iter().zip(&alone) {
            let longest = [processor, 2 * processor + hdma, 3 * processor + hdma, 4 * processor + 2 * hdma, 6 * processor + 2 * hdma + network];
            for ((step, beside), ((_, alone), longest)) in beside.iter().zip(alone.iter().zip(longest)) {
                prop_assert!(beside.saturating_sub(*alone) <= longest, "{step:?} {beside} {alone}");
            }
        }
    }
}
