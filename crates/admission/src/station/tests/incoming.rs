//! Incoming frames: by hand, and every train of a few frames.

use super::*;
use laxity_qos::costs::LinkCosts;

pub(super) fn link(startup: u64, per_byte: u64, sizes: (u64, u64)) -> FrameSource {
    let costs = LinkCosts::new(us(startup), Span::from_ns(per_byte));
    let (smallest, largest) = (Bytes::new(sizes.0), Bytes::new(sizes.1));
    FrameSource { spacing: Spacing::Link(costs), smallest, largest, pushed: Span::ZERO, senders: None }
}

/// None of them guaranteed.
pub(super) fn by(others: Vec<FrameGroup>) -> Option<FrameSenders> {
    Some(FrameSenders { guaranteed: Vec::new(), others, sizes: (Bytes::new(100), Bytes::new(1000)) })
}

pub(super) fn incoming(stages: Vec<StationStage>, sources: Vec<FrameSource>) -> Incoming {
    Incoming { stages, held: Span::ZERO, shared: Vec::new(), sources }
}

/// 10 and 20 of a link's 60 and 200: rates are 1/3 for small frames and 3/20 for large ones. 10 +
/// 20 of the first, and as much again for each three.
#[test]
fn a_row_is_busy_until_it_has_caught_up() {
    let row = incoming(
        vec![stage(vec![phase(10, 0)]), stage(vec![phase(0, 20)])],
        vec![link(50, 150, (100, 1000))],
    );
    // 12 of 65, and 30 of 200: 30/(1 − 12/65).
    assert_eq!(row.stay().unwrap().as_ps() / 1000, 30_000 * 65 / 53);
    // Pushed together by 100: the arrivals in that time are added.
    let mut pushed = row.clone();
    pushed.sources[0].pushed = us(100);
    assert_eq!(pushed.stay().unwrap().as_ps() / 1000, (30_000 * 65 + 100_000 * 12) / 53);
    // One with the first, and as many as there are 65 in 59 and 100.
    let two = incoming(row.stages.clone(), vec![row.sources[0].clone(), row.sources[0].clone()]);
    assert_eq!(two.stay().unwrap().as_ps() / 1000, 60_000 * 65 / 41);
    // Twelve of twelve.
    let slow = incoming(row.stages, vec![link(2, 100, (100, 1000))]);
    assert_eq!(slow.stay(), Err(EndlessFrames));
}

/// Of a link that brings twelve of twelve no more than 3 frames and one in each 400 us, and of
/// another group 1 and one in each 600: each is 30 us of work at most, so 30 · 4 + 30 · 2 once, and
/// 30/400 + 30/600 of the time. If one of two links has no groups, those of the other have no
/// effect.
#[test]
fn groups_of_frames_are_caught_up_with_where_links_are_not() {
    let stages = vec![stage(vec![phase(10, 0)]), stage(vec![phase(0, 20)])];
    let mut slow = incoming(stages, vec![link(2, 100, (100, 1000))]);
    assert_eq!(slow.stay(), Err(EndlessFrames));
    slow.sources[0].senders =
        by(vec![FrameGroup { burst: 3, interval: us(400) }, FrameGroup { burst: 1, interval: us(600) }]);
    assert_eq!(slow.stay().unwrap().as_ps() / 1000, 180_000 * 8 / 7);
    slow.sources.push(link(2, 100, (100, 1000)));
    assert_eq!(slow.stay(), Err(EndlessFrames));
}

/// Frames of a link that are 65 us apart or more: one, and the next with the 65th. Pushed together
/// by 100 us another one may be there at once, and a third after 30. Of two groups four arrive
/// together, and one more of each as soon as any time has passed. Frames that take the link no time
/// arrive in any number.
#[test]
fn frames_are_counted_by_link_and_by_groups() {
    let mut row = incoming(vec![stage(vec![phase(1, 0)])], vec![link(50, 150, (100, 1000))]);
    let of = |row: &Incoming, times: [u64; 4]| times.map(|time| row.within(us(time)));
    assert_eq!(of(&row, [0, 64, 65, 130]), [1, 1, 2, 3].map(Some));
    row.sources[0].pushed = us(100);
    assert_eq!(of(&row, [0, 29, 30, 95]), [2, 2, 3, 4].map(Some));
    row.sources[0].senders =
        by(vec![FrameGroup { burst: 3, interval: us(400) }, FrameGroup { burst: 1, interval: us(600) }]);
    assert_eq!(of(&row, [0, 300, 400, 601]), [2, 6, 6, 8].map(Some));
    let two = incoming(row.stages.clone(), vec![row.sources[0].clone(), row.sources[0].clone()]);
    assert_eq!(of(&two, [0, 300, 400, 601]), [4, 12, 12, 16].map(Some));
    row.sources[0].spacing = link(0, 0, (100, 1000)).spacing;
    assert_eq!(of(&row, [0, 300, 400, 601]), [4, 6, 6, 8].map(Some));
    row.sources[0].senders = None;
    assert_eq!(row.within(us(0)), None);
}

/// Each frame takes 100 us. Take a link with frames 65 us apart, of which nine arrive together and
/// one more each 1000 us. 1 + Δ/65 and 10 + Δ/1000 cross after 626 us, when 10.6 have arrived and
/// 6.3 are through: counted in whole frames, 6 wait. Of the link alone all that the adapter is
/// slower waits.
#[test]
fn frames_that_a_link_brings_one_by_one_hardly_wait() {
    let mut row = incoming(vec![stage(vec![phase(100, 0)])], vec![link(50, 150, (100, 1000))]);
    assert_eq!(row.before_the_first(us(2000)), Some(30 + 3 - 20));
    row.sources[0].senders = by(vec![FrameGroup { burst: 9, interval: us(1000) }]);
    assert_eq!(row.before_the_first(us(2000)), Some(12 - 6));
    assert_eq!(row.before_the_first(us(300)), Some(4 + 3 - 3), "no later than one may be there");
    row.stages[0].linger = us(1);
    assert_eq!(row.before_the_first(us(2000)), None);
}

/// A phase that shares waits for 7 each time; what is above a size, or begins a segment, counts
/// where it is the most.
#[test]
fn what_goes_out_is_waited_for_and_phases_have_sizes() {
    let shared = StationPhase { holds: vec![3], ..phase(5, 0) };
    let segmented = StationPhase {
        from: Bytes::new(500),
        delay: Delay { segment: Bytes::new(250), per_segment: us(10), ..Delay::default() },
        ..StationPhase::default()
    };
    let mut row = incoming(vec![stage(vec![shared, segmented])], vec![link(0, 100, (100, 600))]);
    (row.held, row.shared) = (us(7), vec![3]);
    // At 500 B 12 and two segments and almost one more, of 50; at 600 B less than 36 of 60; at 100
    // B 12 of 10.
    assert_eq!(row.stay(), Err(EndlessFrames));
    row.sources[0].smallest = Bytes::new(400);
    // 12 + 849 of 250 segments begun in 600; at 500 B 12 + 749/250 · 10 = 41.96 of 50.
    let stay = row.stay().unwrap().as_ps() as f64 / 1e6;
    assert!((stay - 45.96 / (1.0 - 41.96 / 50.0)).abs() < 0.001, "{stay}");
    assert_eq!(row.holding(Bytes::new(600)), us(5));
    let stage = StationStage { phases: row.stages[0].phases.clone(), ..StationStage::default() };
    let by_stage = FrameSource { spacing: Spacing::Stage(stage), ..row.sources[0].clone() };
    // Of a stage like this 400 B take 5, and 500 B 5 + 20; no part of it is shorter than 12 of 5.
    assert_eq!(incoming(row.stages, vec![by_stage]).stay(), Err(EndlessFrames));
}

/// Frames of two sizes from two links as close as they arrive, each or none, through two stages in
/// order of arrival, of which the second has a batch: none stays longer.
#[test]
fn no_frame_stays_longer() {
    let batch = StationStage { batch: 2, ..stage(vec![phase(2, 1)]) };
    let row = incoming(
        vec![stage(vec![phase(1, 4)]), batch],
        vec![link(30, 4, (100, 1000)), link(40, 30, (100, 1000))],
    );
    let stay = row.stay().unwrap().as_ps() / 1000;
    let most = row.within(row.stay().unwrap()).unwrap();
    let waiting = row.before_the_first(row.stay().unwrap()).unwrap();
    let (mut longest, mut crowd, mut queue) = (0, 0, 0);
    for pattern in 0..1u64 << 16 {
        // Of each link: whether the frame is long, and whether the link is idle for as long first.
        let mut frames: Vec<(u64, u64)> = Vec::new();
        for (link, (fixed, each)) in [(30_000, 4), (40_000, 30)].into_iter().enumerate() {
            let bits = pattern >> (8 * link);
            let mut now = 0;
            for n in 0..4 {
                let size = if bits >> n & 1 == 1 { 1000 } else { 100 };
                now += (fixed + each * size) * (1 + (bits >> (4 + n) & 1));
                frames.push((now, size));
            }
        }
        frames.sort_unstable();
        let (mut first, mut batches) = (0u64, 0u64);
        let mut passed: Vec<(u64, u64, u64)> = Vec::new();
        let mut waits: Vec<(u64, u64)> = Vec::new();
        for (at, size) in frames {
            waits.push((at, first.max(at)));
            first = first.max(at) + 1000 + 4 * size;
            passed.push((first, at, size));
        }
        let mut gone: Vec<(u64, u64)> = Vec::new();
        let mut next = 0;
        while next < passed.len() {
            let begins = batches.max(passed[next].0);
            let together = passed[next..].iter().take(2).take_while(|(there, ..)| *there <= begins).count();
            batches =
                begins + 2000 + passed[next..next + together].iter().map(|(.., size)| size).sum::<u64>();
            gone.extend(passed[next..next + together].iter().map(|(_, at, _)| (*at, batches)));
            longest =
                passed[next..next + together].iter().map(|(_, at, _)| batches - at).fold(longest, u64::max);
            next += together;
        }
        // A frame that leaves when another arrives may have its buffer still.
        let there = |now: u64| gone.iter().filter(|(at, end)| *at <= now && now <= *end).count() as u64;
        let wait = |now: u64| waits.iter().filter(|(at, begin)| *at <= now && now < *begin).count() as u64;
        queue = waits.iter().map(|(at, _)| wait(*at)).fold(queue, u64::max);
        crowd = gone.iter().map(|(at, _)| there(*at)).fold(crowd, u64::max);
    }
    assert!(longest <= stay && 2 * longest > stay, "{longest} of {stay}");
    assert!(crowd <= most && 2 * crowd >= most, "{crowd} of {most}");
    assert!(queue <= waiting && queue > 0, "{queue} of {waiting}");
}
