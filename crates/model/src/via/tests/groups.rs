//! Groups of virtual interfaces: their shares of an adapter, under other load.

use laxity_qos::channel::ChannelId;
use laxity_qos::discipline::{Group, Groups};
use proptest::prelude::*;

use ViStep::SendDescriptorProgrammed;

use super::*;

/// A rate of that many megabytes a second.
fn rate(megabytes: u64) -> Vtick {
    Vtick::new(Span::from_us(1), Bytes::new(megabytes))
}

fn member(share: u64) -> AdapterVi {
    AdapterVi { share: Some(rate(share)), ..PLAIN }
}

/// An adapter with a very fast processor, so that HDMA is the bottleneck: 37.5 us for 4 KiB.
fn fast() -> ViaConfig {
    let firmware = Firmware::QualityOfService;
    let costs = FirmwareCosts::table_1(firmware, FirmwareCosts::LOOK).with_speedup(100.0);
    ViaConfig { costs, ..ViaConfig::table_1(firmware) }
}

/// Those of `groups` by their rates in megabytes a second and what they are within; `members` are
/// in them, in their order.
fn grouped(
    config: ViaConfig,
    vis: &[AdapterVi],
    groups: &[(u64, Option<usize>)],
    members: &[(u32, usize)],
) -> Bench {
    let mut bench = Bench::new(config, vis);
    let all = groups.iter().map(|(megabytes, within)| Group { tick: rate(*megabytes), within: *within });
    let groups_of = Groups::new(all.collect(), members.iter().map(|(vi, group)| (ChannelId(*vi), *group)));
    let outermost = groups.iter().filter(|(_, within)| within.is_none()).map(|(megabytes, _)| megabytes);
    bench.via.group(&groups_of, Rate::from_bytes_per_sec(outermost.sum::<u64>() * 1_000_000));
    bench
}

/// How many of the first `of` departures each virtual interface has, if each rings that many
/// doorbells, one after the other.
fn flooded(mut bench: Bench, vis: u32, of: usize) -> Vec<usize> {
    for vi in 0..vis {
        (0..of as u64).for_each(|number| bench.ring(0, ViDoorbell::Send(message(vi, number, 4096))));
    }
    let departures = bench.finish().departures();
    assert_eq!(departures.len(), vis as usize * of, "everybody is served in the end");
    (0..vis).map(|vi| departures[..of].iter().filter(|(other, _)| *other == vi).count()).collect()
}

/// A doorbell of a group is noted (500 and 1000), and found waiting in the processor's next round,
/// at 3000: a poll and 7500 then.
#[test]
fn a_member_alone_is_let_in_at_the_next_look() {
    let mut bench = grouped(looks(Firmware::QualityOfService), &[member(10)], &[(10, None)], &[(0, 0)]);
    bench.ring(0, ViDoorbell::Send(message(0, 0, 1024)));
    let steps = bench.finish().steps(0, 0);
    assert_eq!(steps[0], (SendDescriptorProgrammed, 11_000));
    assert_eq!(bench.via.report().longest_outside, Span::from_us(3));
}

#[test]
fn a_group_has_its_part_however_many_it_is() {
    // One virtual interface against four, in groups of equal rates; three parts of four against
    // one, in groups of such.
    let vis = [10, 10, 10, 10, 10].map(member);
    let members = [(0, 0), (1, 1), (2, 1), (3, 1), (4, 1)];
    let equal = flooded(grouped(fast(), &vis, &[(40, None), (40, None)], &members), 5, 160);
    assert!(equal[0].abs_diff(80) <= 2, "{equal:?}");
    assert!(equal[1..].iter().all(|each| each.abs_diff(20) <= 2), "{equal:?}");
    let third = flooded(grouped(fast(), &vis, &[(60, None), (20, None)], &members), 5, 160);
    assert!(third[0].abs_diff(120) <= 2, "{third:?}");
}

#[test]
fn groups_in_groups_share_theirs() {
    // Of the outer group one in it has 30 of 40, and within that two share by 2 to 1.
    let vis = [20, 10, 10, 40].map(member);
    let groups = [(40, None), (40, None), (30, Some(0))];
    let members = [(0, 2), (1, 2), (2, 0), (3, 1)];
    let parts = flooded(grouped(fast(), &vis, &groups, &members), 4, 160);
    for (part, expected) in parts.iter().zip([40usize, 20, 20, 80]) {
        assert!(part.abs_diff(expected) <= 2, "{parts:?}");
    }
}

/// Of 109 MB/s others have reserved 80 and send more than there is, so HDMA is never without their
/// stamps; a group has its 20 all the same, and no more.
#[test]
fn a_group_has_its_rate_beside_others() {
    let vis = [member(20), AdapterVi { vtick: Some(rate(80)), ..PLAIN }];
    let mut bench = grouped(fast(), &vis, &[(20, None)], &[(0, 0)]);
    for number in 0..400 {
        let at = number * 30_000;
        bench.ring(at, ViDoorbell::Send(message(0, number, 4096)));
        bench.ring(at, ViDoorbell::Send(message(1, number, 4096)));
    }
    // 12 ms: 20 MB/s are 58.6 messages.
    let out = |bench: &Bench| {
        let told = bench.told.iter().filter(|(at, _)| *at <= ns(12_000_000));
        told.filter(|(_, output)| matches!(output, ViaOutput::Departs(message) if message.vi == 0)).count()
    };
    let came = out(bench.finish());
    assert!((57..=61).contains(&came), "{came}");
}

/// Idle groups do not affect an interface outside groups.
#[test]
fn silent_groups_change_nothing() {
    let run = |groups: bool| {
        let vis = [member(20), reserved(50), PLAIN];
        let mut bench = match groups {
            true => grouped(looks(Firmware::QualityOfService), &vis, &[(20, None)], &[(0, 0)]),
            false => Bench::new(looks(Firmware::QualityOfService), &vis),
        };
        (0..40).for_each(|number| {
            bench.ring(number * 9000, ViDoorbell::Send(message(1 + number as u32 % 2, number, 4096)));
        });
        bench.finish();
        bench.told
    };
    assert_eq!(run(true), run(false));
}

/// Groups share bytes, so larger messages are fewer: 4 KiB in one, 1 KiB in the other, of equal
/// rates.
#[test]
fn groups_share_bytes_and_not_messages() {
    let mut bench = grouped(fast(), &[member(10), member(10)], &[(20, None), (20, None)], &[(0, 0), (1, 1)]);
    for number in 0..200 {
        bench.ring(0, ViDoorbell::Send(message(0, number, 4096)));
        bench.ring(0, ViDoorbell::Send(message(1, number, 1024)));
    }
    let departures = bench.finish().departures();
    let large = departures[..200].iter().filter(|(vi, _)| *vi == 0).count();
    assert!(large.abs_diff(40) <= 2, "{large}");
}

/// 4 KiB by 1 MB/s are 4 ms, but HDMA is otherwise idle; meanwhile waiting messages are counted.
#[test]
fn groups_are_not_held_to_their_rate_where_hdma_idles() {
    let mut bench = grouped(fast(), &[member(1)], &[(1, None)], &[(0, 0)]);
    (0..4).for_each(|number| bench.ring(0, ViDoorbell::Send(message(0, number, 4096))));
    bench.until(ns(20_000));
    assert_eq!(bench.via.backlog(), 4);
    bench.until(ns(1_000_000));
    assert_eq!(bench.departures().len(), 4);
}

/// A hundred doorbells of others are before it; messages within its rate are admitted before them.
#[test]
fn a_group_is_let_in_by_its_rate_however_many_have_rung() {
    let vis = [member(20), AdapterVi { vtick: Some(rate(80)), ..PLAIN }];
    let mut bench = grouped(looks(Firmware::QualityOfService), &vis, &[(20, None)], &[(0, 0)]);
    bench.ring(0, ViDoorbell::Send(message(0, 0, 1024)));
    (0..100).for_each(|number| bench.ring(0, ViDoorbell::Send(message(1, number, 1024))));
    let departures = bench.finish().departures();
    let place = departures.iter().position(|(vi, _)| *vi == 0);
    assert!(place < Some(5), "{place:?}");
}

proptest! {
    /// Whatever is rung ends, in its virtual interface's order, also when rates are set aside for
    /// groups and for best effort; and a group's doorbells are counted until then.
    #[test]
    fn everybody_is_let_in(
        rung in prop::collection::vec((0u64..40_000, 0u32..4, 1u64..9000), 1..60),
        best_effort in prop_oneof![Just(None), Just(Some(Rate::from_bytes_per_sec(3_000_000)))],
        buffers in prop_oneof![Just(None), (1u32..3).prop_map(Some)],
        nested in any::<bool>(),
        poll in prop_oneof![Just(0u64), Just(500)],
    ) {
        let firmware = Firmware::QualityOfService;
        let limits = ViLimits { best_effort, send_buffers: buffers, ..ViLimits::NONE };
        let costs = FirmwareCosts::table_1(firmware, Span::from_ns(poll));
        let config = ViaConfig { limits, costs, ..ViaConfig::table_1(firmware) };
        let vis = [member(5), AdapterVi { share: Some(rate(1)), ..reserved(200) }, PLAIN, reserved(2000)];
        let groups = [(6, None), (3, nested.then_some(0))];
        let mut bench = grouped(config, &vis, &groups, &[(0, 0), (1, 1)]);
        let (mut now, mut numbers) = (0, [0u64; 4]);
        for (gap, vi, size) in rung {
            now += gap;
            bench.ring(now, ViDoorbell::Send(message(vi, numbers[vi as usize], size)));
            numbers[vi as usize] += 1;
        }
        bench.finish();
        prop_assert_eq!(bench.via.backlog(), 0);
        let departures = bench.departures();
        for vi in 0..4u32 {
            let of: Vec<u64> = departures.iter().filter(|(other, _)| *other == vi).map(|(_, n)| *n).collect();
            prop_assert_eq!(of, (0..numbers[vi as usize]).collect::<Vec<_>>());
        }
    }
}
