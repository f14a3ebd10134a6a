//! Stages that serve several packets at once: by hand, and small adapters in all their ways.

use std::collections::VecDeque;

use super::*;

/// A stage that waits for `wait` and then holds resource 0 for `work`, with `servers`.
fn reads(wait: u64, work: u64, servers: u32) -> StationStage {
    let holds = StationPhase { holds: vec![0], ..phase(work, 0) };
    StationStage { servers, ..stage(vec![phase(wait, 0), holds]) }
}

/// Waits of 40 by four servers and of 20 by ten, before 3 and 2 of a bus, and a link of 9.
///
/// One server for both takes 65 for each packet. The path pays 5 of the bus and 40/4 for each, once
/// 60 of waits and 5 for each packet ahead, 3 for each behind, and what fills the stages.
#[test]
fn waits_at_the_same_time_are_shared_by_the_servers() {
    let row = |servers| station(vec![reads(40, 3, servers), reads(20, 2, 10), stage(vec![phase(9, 0)])]);
    let behind = Behind::new(row(4), 30, KILO);
    // With M = 8, 60/8 are less than 40/4; with 4 they would be 15 for each.
    assert_eq!(charged(&behind), (15, 9 + 60 + 8 * 5 + 29 * 3));
    // With 20 servers 60/16 is the larger share: 3.75 and 5 are less than the link's 9.
    let fast = Behind::new(row(20), 30, KILO);
    assert_eq!(fast.charge(KILO), 9_000_000);
    assert_eq!(once(&fast), 8_750_000 + 1_000_000 * (60 + 16 * 5 + 29 * 3));
    // A window of one has the whole path, and one of two cannot share much.
    assert_eq!(charged(&Behind::new(row(4), 1, KILO)), (74, 0));
    // With too few slots before the second stage both are one server.
    let mut short = row(4);
    short.stages[1].places = Some(4);
    assert_eq!(Behind::new(short, 30, KILO).charge(KILO), 65_000_000);
}

/// A stage is one server if it notifies the host, lingers, or waits for a time that depends on the
/// packet.
#[test]
fn other_stages_are_one_server() {
    let base = || station(vec![reads(40, 3, 4), stage(vec![phase(9, 0)])]);
    let charge = |change: fn(&mut StationStage)| {
        let mut changed = base();
        change(&mut changed.stages[0]);
        Behind::side_by_side(changed, 30, KILO).unwrap().charge(KILO) / 1_000_000
    };
    assert_eq!(charge(|_| ()), 13);
    assert_eq!(charge(|stage| stage.servers = 1), 43);
    assert_eq!(charge(|stage| stage.phases[0].tells = StationTells::Progress), 43);
    assert_eq!(charge(|stage| stage.phases[1].optional = true), 43);
    assert_eq!(charge(|stage| stage.phases[0].since_service = true), 43);
    assert_eq!(charge(|stage| stage.phases[0].delay.per_byte = ByteTime::from_ns(1)), 44);
    assert_eq!(charge(|stage| stage.linger = us(1)), 44);
    // A batch waits once.
    assert_eq!(charge(|stage| stage.batch = 2), 13);
}

/// In nanoseconds: as many as a long packet has bytes more than a short one.
const TICK: u64 = 900;

/// A stage of the small adapter: servers, a wait, the work on a short and on a long packet, the
/// resource of the work, packets in a batch, and queues in turn.
type Kind = (usize, u64, [u64; 2], usize, usize, usize);

/// A batch in a server: the instant at which it requests its resource, and since when it has it
/// with what is left.
struct Job {
    requests: u64,
    packets: Vec<usize>,
    left: u64,
}

/// A small adapter at work, one tick at a time.
#[derive(Default)]
struct Small {
    stages: Vec<Kind>,
    /// Slots before each stage; of stages that are not listed as many as there are packets.
    slots: Vec<usize>,
    depth: usize,
    hears: u64,
    /// Which stage has a resource first: the later one, or else the earlier.
    later_first: bool,
    /// Queues go by rank, not in turn.
    ranked: bool,
}

impl Small {
    /// When each packet is handed over and complete. `packets[n]` are whether it is long, and its
    /// queue.
    fn run(&self, packets: &[(usize, usize)]) -> Vec<(u64, u64)> {
        let count = self.stages.len();
        let mut lines: Vec<Vec<VecDeque<usize>>> =
            self.stages.iter().map(|kind| vec![VecDeque::new(); kind.5]).collect();
        let mut jobs: Vec<VecDeque<Job>> = self.stages.iter().map(|_| VecDeque::new()).collect();
        let mut turns = vec![0; count];
        let mut has: [Option<usize>; 2] = [None; 2];
        let (mut handed, mut left) = (vec![u64::MAX; packets.len()], vec![u64::MAX; packets.len()]);
        let mut next = 0;
        for now in 0.. {
            // Finished packets leave and waiting ones move up, until no packet moves.
            loop {
                let mut changed = false;
                for k in 0..count {
                    let done = |job: &Job| job.requests <= now && job.left == 0;
                    let full = |lines: &[Vec<VecDeque<usize>>]| {
                        let waiting =
                            lines.get(k + 1).map_or(0, |lines| lines.iter().map(VecDeque::len).sum());
                        self.slots.get(k + 1).is_some_and(|slots| waiting >= *slots)
                    };
                    while !full(&lines)
                        && let Some(job) = jobs[k].pop_front_if(|job| done(job))
                    {
                        changed = true;
                        for n in job.packets {
                            match self.stages.get(k + 1) {
                                Some(kind) => lines[k + 1][packets[n].1 % kind.5].push_back(n),
                                None => left[n] = now,
                            }
                        }
                    }
                }
                let under_way = |left: &[u64], next: usize| {
                    (0..next).filter(|n| left[*n] == u64::MAX || left[*n] + self.hears > now).count()
                };
                while next < packets.len() && under_way(&left, next) < self.depth {
                    (handed[next], changed) = (now, true);
                    lines[0][packets[next].1 % self.stages[0].5].push_back(next);
                    next += 1;
                }
                for k in 0..count {
                    let (servers, wait, work, _, batch, queues) = self.stages[k];
                    while jobs[k].len() < servers {
                        let mut taken = Vec::new();
                        while taken.len() < batch {
                            let line = (0..queues)
                                .map(|n| (turns[k] + n) % queues)
                                .find(|n| !lines[k][*n].is_empty());
                            let Some(line) = line else { break };
                            turns[k] = if self.ranked { 0 } else { (line + 1) % queues };
                            taken.extend(lines[k][line].pop_front());
                        }
                        if taken.is_empty() {
                            break;
                        }
                        changed = true;
                        let left = taken.iter().map(|n| work[packets[*n].0]).sum();
                        jobs[k].push_back(Job { requests: now + wait, packets: taken, left });
                    }
                }
                if !changed {
                    break;
                }
            }
            if left.iter().all(|left| *left < u64::MAX) {
                return handed.into_iter().zip(left).collect();
            }
            // Whatever has a resource keeps it until it is done with it.
            for (resource, has) in has.iter_mut().enumerate() {
                let ready = |k: &usize| {
                    self.stages[*k].3 == resource
                        && jobs[*k].iter().any(|job| job.requests <= now && job.left > 0)
                };
                let mut ready = (0..count).filter(ready);
                *has = has.or_else(|| if self.later_first { ready.next_back() } else { ready.next() });
                if let Some(k) = *has {
                    let job = jobs[k].iter_mut().find(|job| job.left > 0).expect("it is served");
                    job.left -= 1;
                    *has = (job.left > 0).then_some(k);
                }
            }
        }
        unreachable!("packets take a time")
    }

    fn station(&self) -> Station {
        let tick = |ticks: u64| Span::from_ns(TICK * ticks);
        let stage_of = |kind: &Kind| {
            let (servers, wait, work, resource, batch, _) = *kind;
            // Short packets have 100 B and long ones 1000 B.
            let per_byte = tick(work[1] - work[0]) / 900;
            let delay = Delay {
                per_packet: tick(work[0]) - per_byte * 100,
                per_byte: ByteTime::of(per_byte),
                ..Delay::default()
            };
            let waits = StationPhase { delay: Delay::fixed(tick(wait)), ..StationPhase::default() };
            let works = StationPhase { delay, holds: vec![resource], ..StationPhase::default() };
            StationStage { servers: servers as u32, batch: batch as u32, ..stage(vec![waits, works]) }
        };
        let in_turn = self.stages.iter().filter(|kind| kind.5 > 1).count();
        let passes = if self.ranked { 0 } else { overtaking::in_turn(self.depth as u32, 1, in_turn as u64) };
        let places = |k: usize| self.slots.get(k).map(|slots| *slots as u32);
        let stages = self.stages.iter().enumerate();
        Station {
            hears: tick(self.hears),
            passes: passes as u32,
            order: if in_turn > 0 { Overtaking::Urgent } else { Overtaking::Never },
            ..station(stages.map(|(k, kind)| StationStage { places: places(k), ..stage_of(kind) }).collect())
        }
    }

    /// How near to its charge by any of `ways` a time from a handing over to a completion is; it is
    /// not beyond.
    fn nearest(&self, packets: &[(usize, usize)], ways: &[Behind]) -> f64 {
        let times = self.run(packets);
        let mut closest: f64 = 0.0;
        for behind in ways {
            let charge = [100, 1000].map(|size| behind.charge(Bytes::new(size)) as u64);
            let once = once(behind);
            for from in 0..packets.len() {
                let handed = times[from].0;
                let under_way = |n: &usize| times[*n].1 + self.hears > handed;
                let before = (0..from).filter(under_way).map(|n| charge[packets[n].0]);
                let mut sum = once + before.sum::<u64>();
                for n in from..packets.len() {
                    sum += charge[packets[n].0];
                    let took = (times[n].1 - handed) * TICK * 1000;
                    assert!(
                        took <= sum,
                        "{:?} {} {} {} {packets:?} {from} {n}: {took} {sum}",
                        self.stages,
                        self.depth,
                        self.hears,
                        self.later_first
                    );
                    closest = closest.max(took as f64 / sum as f64);
                }
            }
        }
        closest
    }

    /// The ways to charge for it: with `M` of every size, and the one that is chosen.
    fn ways(&self) -> Vec<Behind> {
        let depth = self.depth as u32;
        (1..depth)
            .filter_map(|ahead| Behind::clustered(self.station(), depth, KILO, Some(ahead)))
            .chain([Behind::new(self.station(), depth, KILO)])
            .collect()
    }
}

/// Rows have one to three stages with several servers, common and own resources, batches and queues
/// in turn. Windows are of two to five, and eight packets are of either size in either queue. The
/// time from the handing over of one packet to the completion of another never exceeds the charge,
/// with any `M`.
#[test]
fn no_packet_takes_longer_in_parallel_stages_than_it_is_charged() {
    const PACKETS: usize = 8;
    let kinds: [Kind; 4] =
        [(2, 4, [1, 1], 0, 1, 1), (3, 5, [1, 2], 0, 1, 2), (2, 3, [1, 2], 0, 2, 1), (1, 0, [1, 3], 1, 1, 1)];
    let mut rows: Vec<Vec<Kind>> = kinds.iter().map(|kind| vec![*kind]).collect();
    rows.extend(kinds.iter().flat_map(|first| kinds.iter().map(|second| vec![*first, *second])));
    rows.push(vec![(2, 4, [1, 1], 0, 2, 2), (4, 6, [2, 3], 0, 1, 2), (1, 0, [2, 4], 1, 1, 1)]);
    rows.push(vec![(1, 2, [3, 3], 0, 1, 1), (4, 9, [1, 1], 1, 1, 1), (2, 1, [2, 2], 0, 1, 1)]);
    let (mut closest, mut parallel): (f64, usize) = (0.0, 0);
    for stages in rows {
        for (depth, hears, later_first) in (2..=5)
            .flat_map(|depth| [(0, true), (0, false), (9, true)].map(|(hears, later)| (depth, hears, later)))
        {
            let small = Small { stages: stages.clone(), depth, hears, later_first, ..Small::default() };
            let ways = small.ways();
            parallel += ways.len() - 1;
            let queues = stages.iter().any(|kind| kind.5 > 1);
            let count = if queues { 1 << (2 * PACKETS) } else { 1 << PACKETS };
            // One of 331 of the larger set, and one of three of the smaller.
            for pattern in (0..count).step_by(if queues { 331 } else { 3 }) {
                let packets: Vec<(usize, usize)> =
                    (0..PACKETS).map(|n| (pattern >> n & 1, pattern >> (PACKETS + n) & 1)).collect();
                closest = closest.max(small.nearest(&packets, &ways));
            }
        }
    }
    assert!(closest > 0.95 && parallel > 200, "{closest} {parallel}");
}

/// Rows of two and three stages with two ranks, one or two slots before a stage and common resources
/// have windows of two to five. The completions between the handing over of one packet and any later
/// one never take longer than the charge for their number.
#[test]
fn no_number_of_packets_takes_longer_than_it_is_charged_where_ranks_meet_few_slots() {
    const PACKETS: usize = 8;
    let rows: [(Vec<Kind>, Vec<usize>); 5] = [
        (vec![(1, 0, [1, 3], 0, 1, 2), (1, 0, [2, 4], 0, 1, 1)], vec![9, 1]),
        (vec![(1, 0, [3, 3], 0, 1, 2), (1, 0, [1, 4], 1, 1, 2)], vec![9, 1]),
        (vec![(1, 2, [1, 2], 0, 1, 2), (1, 0, [2, 2], 0, 1, 2), (1, 0, [1, 5], 1, 1, 1)], vec![9, 9, 1]),
        (vec![(1, 0, [2, 4], 1, 1, 2), (1, 0, [1, 1], 0, 1, 2), (1, 1, [2, 4], 0, 1, 2)], vec![9, 2, 1]),
        (vec![(1, 0, [1, 2], 0, 1, 2), (1, 0, [3, 3], 1, 1, 1), (1, 0, [2, 3], 0, 1, 2)], vec![9, 1, 1]),
    ];
    let mut closest: f64 = 0.0;
    for (stages, slots) in rows {
        for (depth, hears, later_first) in (2..=5)
            .flat_map(|depth| [(0, true), (0, false), (9, true)].map(|(hears, later)| (depth, hears, later)))
        {
            let (stages, slots) = (stages.clone(), slots.clone());
            let small = Small { stages, slots, depth, hears, later_first, ranked: true };
            let behind = Behind::side_by_side(small.station(), depth as u32, KILO).expect("it applies");
            let (charge, once) = (behind.charge(KILO) as u64, once(&behind));
            for pattern in (0..1usize << (2 * PACKETS)).step_by(37) {
                let packets: Vec<(usize, usize)> =
                    (0..PACKETS).map(|n| (pattern >> n & 1, pattern >> (PACKETS + n) & 1)).collect();
                let times = small.run(&packets);
                let mut left: Vec<u64> = times.iter().map(|(_, left)| *left).collect();
                left.sort_unstable();
                for (handed, _) in &times {
                    let before = left.iter().filter(|left| **left + hears <= *handed).count();
                    for (n, left) in left.iter().enumerate().skip(before) {
                        let took = left.saturating_sub(*handed) * TICK * 1000;
                        let sum = once + charge * (n + 1 - before) as u64;
                        assert!(
                            took <= sum,
                            "{:?} {depth} {hears} {packets:?} {handed} {n}: {took} {sum}",
                            small.slots
                        );
                        closest = closest.max(took as f64 / sum as f64);
                    }
                }
            }
        }
    }
    assert!(closest > 0.8, "{closest}");
}

/// Sixty packets show what each of many takes. Two servers that wait for 8 ticks and work for 1 finish
/// two packets in 9 ticks, so a charge of less than 4.5 for a packet would be exceeded.
#[test]
fn many_packets_in_parallel_stages_take_no_longer_than_they_are_charged() {
    let rows: [Vec<Kind>; 3] = [
        vec![(2, 8, [1, 1], 0, 1, 1)],
        vec![(2, 8, [1, 1], 0, 1, 1), (3, 9, [1, 1], 0, 1, 1)],
        vec![(4, 6, [1, 1], 0, 1, 1), (1, 0, [1, 4], 1, 1, 1)],
    ];
    for stages in rows {
        for depth in [2, 5, 9] {
            let small = Small { stages: stages.clone(), depth, ..Small::default() };
            let closest = small.nearest(&[(1, 0); 60], &small.ways());
            assert!(closest > 0.6, "{stages:?} {depth}: {closest}");
        }
    }
}
