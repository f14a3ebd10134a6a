//! Packets that pass each other, are served together and wait to be seen: by hand, and small
//! adapters in all their ways.

use std::collections::VecDeque;

use super::*;

/// 10, and 20 for a batch of three of which half is fixed; 6 others pass.
#[test]
fn who_passes_and_who_is_behind_in_a_batch_is_charged_once() {
    let together = StationStage { batch: 3, linger: us(4), ..stage(vec![phase(10, 0), phase(0, 10)]) };
    let plain = Station { passes: 6, ..station(vec![stage(vec![phase(10, 0)]), together]) };
    // 10 and 4 + 20; six times that, and two more of 24 in the last batch.
    assert_eq!(charged(&Behind::one_by_one(plain.clone(), 4, KILO)), (34, 6 * 34 + 2 * 24));
    // Of a window of two only one can be behind; of one none.
    assert_eq!(charged(&Behind::one_by_one(plain.clone(), 2, KILO)).1, 6 * 34 + 24);
    assert_eq!(charged(&Behind::new(plain.clone(), 1, KILO)), (34, 0));
    // By the slower stage, and 10 to fill the other.
    assert_eq!(charged(&Behind::new(plain.clone(), 4, KILO)), (24, 10 + 6 * 24 + 2 * 24));
    // A round of 34 and the slower stage are for two: 29.
    assert_eq!(charged(&Behind::new(plain, 2, KILO)), (29, 10 + 6 * 29 + 24));
}

/// Waits of 10 and of 30: a window of eight has both together, and pays for 3 · 30 once and 2 ·
/// 30/8 each; one of two pays for that of 10 each time, and for the other 2 · 30 once and 30/2
/// each.
#[test]
fn a_window_waits_together() {
    let waits = Station {
        looks: us(10),
        hears: us(30),
        order: Overtaking::Urgent,
        ..station(vec![stage(vec![phase(10, 0)])])
    };
    let gathered = |depth| {
        let one_by_one = || Behind::one_by_one(waits.clone(), depth, KILO);
        Behind::gathered(waits.clone(), depth, KILO).unwrap_or_else(one_by_one)
    };
    assert_eq!(
        (gathered(8).method(), gathered(8).charge(KILO), once(&gathered(8))),
        (Method::Gathered, 17_500_000, 90_000_000)
    );
    assert_eq!((gathered(4).charge(KILO), once(&gathered(4))), (25_000_000, 90_000_000));
    assert_eq!((gathered(2).charge(KILO), once(&gathered(2))), (35_000_000, 60_000_000));
    assert_eq!(charged(&gathered(1)), (50, 0));
    let short = Station { buffers: Some(3), ..waits.clone() };
    assert_eq!(Behind::new(short, 4, KILO).method(), Method::OneByOne);
    // A round of 50 is for eight, which take 10 each in the only stage.
    assert_eq!(charged(&Behind::new(waits.clone(), 8, KILO)), (10, 40));
}

/// 10 and 30 and a host of 20: the slowest is 30, a round 30 more of the others, and a start at
/// first; of 50 of the host it is the host.
#[test]
fn the_host_may_be_a_stage() {
    let of = |host, depth| {
        let station = station(vec![stage(vec![phase(10, 0)]), stage(vec![phase(30, 0)])]);
        Behind::new(Station { host: Some(us(host)), ..station }, depth, KILO)
    };
    // 30 to fill, and a start at first; each pays for a part of a round: (30 + 30)/2, and 30/1.
    assert_eq!((of(20, 2).has_starts(), charged(&of(20, 2))), (true, (30, 30 + 20)));
    assert_eq!(charged(&of(50, 3)), (50, 40 + 50));
    assert!(!of(20, 1).has_starts());
}

/// Many packets of a batch of four take 2 each of what is fixed, two servers half of it all.
#[test]
fn many_packets_share_what_is_fixed_and_servers() {
    let mut several = StationStage { batch: 4, servers: 2, ..stage(vec![phase(8, 6)]) };
    let apart = |stage: &StationStage| {
        Behind::one_by_one(station(vec![stage.clone()]), 9, KILO).apart(KILO) / 1_000_000
    };
    assert_eq!(apart(&several), 4);
    several.phases[0].optional = true;
    assert_eq!(apart(&several), 0);
}

/// In nanoseconds: as many as a long packet has bytes more than a short one.
const TICK: u64 = 900;

/// A small adapter at work: stages of (fixed, each) for short and long packets, with a batch and
/// queues in turn; the host hands the next over `hears` after a completion, and the adapter knows
/// of it `looks` after that.
struct Small {
    stages: Vec<([u64; 2], u64, usize, usize)>,
    depth: usize,
    looks: u64,
    hears: u64,
}

impl Small {
    /// When each packet is handed over and complete, one tick at a time. `packets[n]` are whether
    /// it is long, and its queue.
    fn run(&self, packets: &[(usize, usize)]) -> Vec<(u64, u64)> {
        let count = self.stages.len();
        let mut lines: Vec<Vec<VecDeque<usize>>> =
            self.stages.iter().map(|(.., queues)| vec![VecDeque::new(); *queues]).collect();
        let mut serving: Vec<Option<(u64, Vec<usize>)>> = vec![None; count];
        let mut turns = vec![0; count];
        let (mut handed, mut left) = (vec![u64::MAX; packets.len()], vec![u64::MAX; packets.len()]);
        let mut next = 0;
        for now in 0.. {
            for k in 0..count {
                if let Some((_, done)) = serving[k].take_if(|(ends, _)| *ends <= now) {
                    for n in done {
                        match self.stages.get(k + 1) {
                            Some((.., queues)) => lines[k + 1][packets[n].1 % queues].push_back(n),
                            None => left[n] = now,
                        }
                    }
                }
            }
            let under_way = |left: &[u64], next: usize| {
                (0..next).filter(|n| left[*n] == u64::MAX || left[*n] + self.hears > now).count()
            };
            while next < packets.len() && under_way(&left, next) < self.depth {
                handed[next] = now;
                next += 1;
            }
            for n in (0..next).filter(|n| handed[*n] + self.looks == now) {
                lines[0][packets[n].1 % self.stages[0].3].push_back(n);
            }
            for k in 0..count {
                let (each, fixed, batch, queues) = self.stages[k];
                let mut taken = Vec::new();
                while serving[k].is_none() && taken.len() < batch {
                    let line =
                        (0..queues).map(|n| (turns[k] + n) % queues).find(|n| !lines[k][*n].is_empty());
                    let Some(line) = line else { break };
                    turns[k] = (line + 1) % queues;
                    taken.extend(lines[k][line].pop_front());
                }
                if !taken.is_empty() {
                    let took: u64 = taken.iter().map(|n| each[packets[*n].0]).sum();
                    serving[k] = Some((now + fixed + took, taken));
                }
            }
            if left.iter().all(|left| *left < u64::MAX) {
                return handed.into_iter().zip(left).collect();
            }
        }
        unreachable!("packets take a time")
    }

    fn station(&self) -> Station {
        let tick = |ticks: u64| Span::from_ns(TICK * ticks);
        let stage_of = |(each, fixed, batch, _): &([u64; 2], u64, usize, usize)| {
            // Short packets have 100 B and long ones 1000 B.
            let per_byte = tick(each[1] - each[0]) / 900;
            let delay = Delay {
                fixed: tick(*fixed),
                per_packet: tick(each[0]) - per_byte * 100,
                per_byte: ByteTime::of(per_byte),
                ..Delay::default()
            };
            StationStage {
                batch: *batch as u32,
                ..stage(vec![StationPhase { delay, ..StationPhase::default() }])
            }
        };
        let in_turn = self.stages.iter().filter(|(.., queues)| *queues > 1).count();
        let passes = overtaking::in_turn(self.depth as u32, 1, in_turn as u64);
        Station {
            looks: tick(self.looks),
            hears: tick(self.hears),
            passes: passes as u32,
            order: if passes > 0 { Overtaking::Urgent } else { Overtaking::Never },
            ..station(self.stages.iter().map(stage_of).collect())
        }
    }
}

/// Rows of one and two stages with batches and queues in turn, windows of one to four, with and
/// without waits, and seven packets of either size in either queue: from when one is handed over to
/// when another is complete never more passes than is charged for those under way and those in
/// between.
#[test]
fn no_packet_that_is_passed_or_gathered_takes_longer_than_it_is_charged() {
    const PACKETS: usize = 7;
    let kinds = [([2, 2], 0, 1, 1), ([1, 4], 3, 3, 1), ([1, 3], 0, 1, 2), ([1, 4], 2, 2, 2)];
    let mut rows: Vec<Vec<_>> = kinds.iter().map(|kind| vec![*kind]).collect();
    rows.extend(kinds.iter().flat_map(|first| kinds.iter().map(|second| vec![*first, *second])));
    rows.push(vec![([1, 1], 0, 1, 2), ([1, 1], 0, 1, 1), ([1, 4], 0, 1, 2)]);
    rows.push(vec![([1, 3], 0, 1, 2), ([1, 1], 0, 1, 2), ([1, 4], 0, 1, 2)]);
    let mut closest: f64 = 0.0;
    for stages in rows {
        for (depth, (looks, hears)) in
            (1..=4).flat_map(|depth| [(0, 0), (0, 7), (5, 0), (3, 9)].map(|waits| (depth, waits)))
        {
            let small = Small { stages: stages.clone(), depth, looks, hears };
            let behind = Behind::new(small.station(), depth as u32, KILO);
            let charge = [100, 1000].map(|size| behind.charge(Bytes::new(size)) as u64);
            let queues = stages.iter().any(|(.., queues)| *queues > 1);
            let ways = if queues { 1 << (2 * PACKETS) } else { 1 << PACKETS };
            // One of 29 of the larger set, and all of the smaller.
            for pattern in (0..ways).step_by(if queues { 29 } else { 1 }) {
                let packets: Vec<(usize, usize)> =
                    (0..PACKETS).map(|n| (pattern >> n & 1, pattern >> (PACKETS + n) & 1)).collect();
                let times = small.run(&packets);
                for from in 0..PACKETS {
                    let handed = times[from].0;
                    let under_way = |n: &usize| times[*n].1 + hears > handed;
                    let before = (0..from).filter(under_way).map(|n| charge[packets[n].0]);
                    let mut sum = once(&behind) + before.sum::<u64>();
                    for n in from..PACKETS {
                        sum += charge[packets[n].0];
                        let took = (times[n].1 - handed) * TICK * 1000;
                        assert!(
                            took <= sum,
                            "{stages:?} {depth} {looks} {hears} {packets:?} {from} {n}: {took} {sum}"
                        );
                        closest = closest.max(took as f64 / sum as f64);
                    }
                }
            }
        }
    }
    assert!(closest > 0.99, "{closest}");
}

/// A window of 64 before three stages of 10, of eight queues each in turn: 7 others pass for each of
/// the 63 before the packet and each stage, and each packet counts at one stage.
#[test]
fn a_burst_behind_several_stages_in_turn_is_charged_once() {
    let passes = overtaking::in_turn(64, 7, 3);
    assert_eq!(passes, 7 * (63 + 3));
    let three = || (0..3).map(|_| stage(vec![phase(10, 0)])).collect();
    let order = Overtaking::Urgent;
    let behind = Behind::new(Station { passes: passes as u32, order, ..station(three()) }, 64, KILO);
    assert_eq!((behind.method(), charged(&behind)), (Method::SideBySide, (10, 20 + 10 * passes)));
    assert_eq!(overtaking::in_turn(64, 0, 3), 0, "one queue");
}
