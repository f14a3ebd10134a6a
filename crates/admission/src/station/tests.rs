//! Stations worked out by hand, and small ones in all their ways.

use laxity_units::{ByteTime, Bytes, Span};

use super::*;

mod fed;
mod incoming;
mod parallel;
mod rated;
mod turns;
mod unserved;

fn us(us: u64) -> Span {
    Span::from_us(us)
}

/// A phase of `fixed` microseconds, and `per_byte` nanoseconds for each byte.
fn phase(fixed: u64, per_byte: u64) -> StationPhase {
    StationPhase {
        delay: Delay { fixed: us(fixed), per_byte: ByteTime::from_ns(per_byte), ..Delay::default() },
        ..StationPhase::default()
    }
}

fn stage(phases: Vec<StationPhase>) -> StationStage {
    StationStage { name: "s".into(), phases, ..StationStage::default() }
}

fn station(stages: Vec<StationStage>) -> Station {
    Station::of_stages(stages)
}

fn once(behind: &Behind) -> u64 {
    behind.once().iter().map(|term| term.cost.as_ps()).sum()
}

const KILO: Bytes = Bytes::new(1000);

fn charged(behind: &Behind) -> (u64, u64) {
    let once = once(behind);
    ((behind.charge(KILO) / 1_000_000) as u64, once / 1_000_000)
}

/// 10 and 20, and 5 of something that began with the second stage and is over by then.
#[test]
fn one_packet_takes_the_sum_of_its_stages() {
    let since = StationPhase { since_service: true, ..phase(15, 0) };
    let mut station = station(vec![stage(vec![phase(10, 0)]), stage(vec![phase(20, 0), since])]);
    assert_eq!(charged(&Behind::new(station.clone(), 1, KILO)), (30, 0));
    (station.looks, station.hears) = (us(3), us(4));
    assert_eq!(charged(&Behind::new(station, 1, KILO)), (37, 0));
}

/// Three stages of 10: two at a time are three stages' time for two, three are the slowest stage's.
#[test]
fn a_window_pays_for_the_way_or_for_the_slowest_stage() {
    let alike = |depth| {
        let station = station((0..3).map(|_| stage(vec![phase(10, 0)])).collect());
        Behind::side_by_side(station, depth, KILO).as_ref().map(charged)
    };
    assert_eq!([1, 2, 3, 4].map(alike), [None, Some((15, 20)), Some((10, 20)), Some((10, 20))]);
    // By the packets left out: 20/(9 − 1); with the first: (70 + 20)/9.
    let unlike =
        station(vec![stage(vec![phase(10, 0)]), stage(vec![phase(70, 0)]), stage(vec![phase(10, 0)])]);
    assert_eq!(charged(&Behind::new(unlike, 2, KILO)), (70, 20));
}

/// Short packets pay no less than their part of the way of long ones.
#[test]
fn a_short_packet_pays_its_part_of_a_round() {
    let two = station(vec![stage(vec![phase(10, 50)]), stage(vec![phase(0, 40)])]);
    let behind = Behind::new(two, 3, KILO);
    // 60 and 40: E is 40, of which two pay 20 each; 10 B would take 10.5 in the first.
    assert_eq!(charged(&behind), (60, 40));
    assert_eq!(behind.charge(Bytes::new(10)), 20_000_000);
    assert_eq!(behind.apart(Bytes::new(10)), 10_500_000);
}

/// A stage that holds up a neighbour is one with it; a resource between two takes the stages in
/// between along.
#[test]
fn stages_that_hold_each_other_up_are_taken_together() {
    let holds = |phase| StationPhase { holds: vec![0], ..phase };
    let of = |stages: Vec<StationStage>, depth| {
        let behind = Behind::side_by_side(station(stages), depth, KILO).unwrap();
        let clusters: Vec<_> = behind.clusters().collect();
        (clusters, charged(&behind))
    };
    let short = |places| StationStage { places: Some(places), ..stage(vec![phase(30, 0)]) };
    let first = || stage(vec![phase(10, 0)]);
    assert_eq!(of(vec![first(), short(2)], 3), (vec![(0..2, us(40))], (40, 0)));
    assert_eq!(of(vec![first(), short(3)], 3), (vec![(0..1, us(10)), (1..2, us(30))], (30, 10)));
    let shares =
        vec![stage(vec![holds(phase(10, 0)), phase(1, 0)]), first(), stage(vec![holds(phase(5, 0))])];
    // Both behind one in the last stage may have had the resource before it, for 10 each.
    assert_eq!(of(shares, 3), (vec![(0..3, us(26))], (26, 20)));
}

#[test]
fn what_can_pass_or_has_to_be_waited_for_goes_one_by_one() {
    let plain = || station(vec![stage(vec![phase(10, 0)]), stage(vec![phase(20, 0)])]);
    let by = |station, depth| Behind::new(station, depth, KILO).method();
    assert_eq!(by(plain(), 1), Method::OneByOne);
    assert_eq!(by(plain(), 2), Method::SideBySide);
    let urgent = || Station { order: Overtaking::Urgent, ..plain() };
    assert_eq!(by(urgent(), 2), Method::SideBySide);
    let mut short = urgent();
    short.stages[1].places = Some(1);
    // 30 for both stages, which are one, and for one packet behind.
    assert_eq!(Behind::side_by_side(short, 2, KILO).as_ref().map(charged), Some((30, 10)));
    assert_eq!(by(Station { buffers: Some(2), ..urgent() }, 9), Method::OneByOne);
    assert_eq!(by(Station { buffers: Some(1), ..plain() }, 2), Method::OneByOne);
    assert_eq!(by(Station { buffers: Some(2), ..plain() }, 9), Method::SideBySide);
    let looks = Station { buffers: Some(2), looks: us(1), ..plain() };
    assert_eq!([by(looks.clone(), 9), by(looks, 2)], [Method::OneByOne, Method::SideBySide]);
    let mut told = plain();
    told.stages[0].phases[0].tells = StationTells::Handshake;
    let behind = Behind::new(told, 2, KILO);
    assert_eq!(behind.method(), Method::OneByOne);
    assert_eq!(behind.interrupts(), Interrupts { all: 2, beside: 0, waited_for: 1 });
}

/// 10 and 20 us of work, and 7 until the host hears: of a handshake, of a phase's end that it need
/// not answer, and of the completion.
#[test]
fn a_handshake_waits_to_be_heard_of_too() {
    let of = |tells| {
        let mut told =
            Station { hears: us(7), ..station(vec![stage(vec![phase(10, 0)]), stage(vec![phase(20, 0)])]) };
        told.stages[0].phases[0].tells = tells;
        Behind::new(told, 1, KILO).charge(KILO) / 1_000_000
    };
    assert_eq!(
        [of(StationTells::Nothing), of(StationTells::Progress), of(StationTells::Handshake)],
        [37, 37, 44]
    );
}

/// By programmed I/O up to 100 B at 1000 ns, by DMA from there on: 101 B take less than 100.
#[test]
fn the_longest_packet_need_not_be_the_largest() {
    let short = StationPhase { up_to: Some(Bytes::new(100)), ..phase(0, 1000) };
    let long = StationPhase { from: Bytes::new(101), ..phase(5, 10) };
    let behind = Behind::new(station(vec![stage(vec![short, long])]), 1, KILO);
    let at = |size| behind.charge(Bytes::new(size)) / 1000;
    assert_eq!([at(99), at(100), at(101), at(1000)], [99_000, 100_000, 100_000, 100_000]);
    let apart = |size| behind.apart(Bytes::new(size)) / 1000;
    assert_eq!([apart(1), apart(50), apart(101)], [1000, 6010, 6010]);
    let spacing = Spacing::Stage(behind.station().stages[0].clone());
    let source =
        FrameSource { spacing, smallest: Bytes::new(50), largest: KILO, pushed: Span::ZERO, senders: None };
    assert_eq!(source.apart(), Span::from_ns(6010));
}

/// TTRT 100, THT 30, handling 5: 20 of every 100 are the station's. It is away for 70 and 10, may
/// owe 40 (of frames of 30) and wait for the 25 of others' frames: 80 + 40 · 80/20 + 25.
#[test]
fn a_token_is_a_server_of_a_rate_and_a_latency() {
    let turns =
        Turns { rotation: us(100), holding: us(30), handling: us(5), longest: us(40), others: us(25) };
    assert_eq!((turns.stretched(20_000_000), turns.latency()), (100_000_000, us(265)));
    let medium = StationPhase { medium: true, ..phase(10, 0) };
    let select = StationStage { selects: true, ..stage(vec![phase(6, 0)]) };
    let on_ring = |stages| Station { medium: FrameMedium::Ring(turns.clone()), ..station(stages) };
    let ring = on_ring(vec![stage(vec![phase(40, 0)]), select.clone(), stage(vec![medium.clone()])]);
    // 16 at a fifth of the rate; a round fills the first stage and waits for the token.
    let side = Behind::side_by_side(ring.clone(), 60, KILO).unwrap();
    assert_eq!(charged(&side), (80, 305));
    assert_eq!(charged(&Behind::new(ring.clone(), 1, KILO)), (56 + 265, 0));
    // Of a small window each packet pays for a good part of the round: (80 + 305)/4.
    assert_eq!(charged(&Behind::side_by_side(ring, 4, KILO).unwrap()).0, 96);
    // A stage that does something else does not keep the token, so it must not be one with those
    // that do.
    let mut dma = stage(vec![phase(40, 0)]);
    dma.phases[0].holds = vec![0];
    let mut busy = select;
    busy.phases[0].holds = vec![0];
    assert_eq!(Behind::side_by_side(on_ring(vec![dma, busy, stage(vec![medium])]), 60, KILO), None);
}

/// A row of stages with a window, by its recurrence: when each packet is handed over and complete.
/// `services[k][n]`; a packet is handed over when the host has had that of `depth` before for
/// `host`, one after the other.
fn run(places: &[Option<usize>], services: &[Vec<u64>], depth: usize, host: u64) -> Vec<(u64, u64)> {
    let (stages, packets) = (services.len(), services[0].len());
    let mut began = vec![vec![0; packets]; stages];
    let mut left = vec![vec![0; packets]; stages];
    let mut handed = vec![0; packets];
    let mut heard: Vec<u64> = Vec::new();
    for n in 0..packets {
        handed[n] = if n >= depth { heard[n - depth] } else { 0 };
        for k in 0..stages {
            let comes = if k == 0 { handed[n] } else { left[k - 1][n] };
            began[k][n] = if n == 0 { comes } else { comes.max(left[k][n - 1]) };
            left[k][n] = began[k][n] + services[k][n];
            // There is a place when an earlier packet has been taken from it.
            if let Some(Some(places)) = places.get(k + 1)
                && n >= *places
            {
                left[k][n] = left[k][n].max(began[k + 1][n - places]);
            }
        }
        heard.push(left[stages - 1][n].max(heard.last().copied().unwrap_or(0)) + host);
    }
    (0..packets).map(|n| (handed[n], left[stages - 1][n])).collect()
}

/// All rows of two and three stages with short and long packets in every order: the promise of (1)
/// from when a packet is handed over until a later one is complete is never exceeded, and is nearly
/// reached.
#[test]
fn no_row_of_stages_takes_longer_than_it_is_charged() {
    const PACKETS: usize = 7;
    let sizes = [100u64, 1000];
    let mut closest: f64 = 0.0;
    // Per stage: fixed microseconds, nanoseconds per byte.
    let kinds = [(1, 0), (4, 0), (0, 4), (6, 1)];
    for stages in [2usize, 3] {
        for kind in 0..kinds.len().pow(stages as u32) {
            let rates: Vec<(u64, u64)> =
                (0..stages).map(|k| kinds[kind / kinds.len().pow(k as u32) % kinds.len()]).collect();
            for roomy in 0..1 << (stages - 1) {
                let room = |k: usize| (k > 0 && roomy >> (k - 1) & 1 == 1).then_some(1);
                let places: Vec<Option<usize>> = (0..stages).map(room).collect();
                let all = (0..stages).map(|k| StationStage {
                    places: places[k].map(|places| places as u32),
                    ..stage(vec![phase(rates[k].0, rates[k].1)])
                });
                let station = station(all.collect());
                for (depth, host) in (1..=4).flat_map(|depth| [(depth, 0), (depth, 2), (depth, 5)]) {
                    let station = Station { host: (host > 0).then(|| us(host)), ..station.clone() };
                    let behind = Behind::new(station, depth, KILO);
                    // Where it is no stage the host's part is the caller's to charge, with each
                    // packet.
                    let host = host * 1_000_000;
                    let starts = if behind.has_starts() { 0 } else { host };
                    let charge = sizes.map(|size| behind.charge(Bytes::new(size)) as u64 + starts);
                    let once = once(&behind);
                    for pattern in 0..1usize << PACKETS {
                        let long = |n: usize| pattern >> n & 1;
                        let service =
                            |k: usize, n: usize| rates[k].0 * 1_000_000 + rates[k].1 * 1000 * sizes[long(n)];
                        let services: Vec<Vec<u64>> =
                            (0..stages).map(|k| (0..PACKETS).map(|n| service(k, n)).collect()).collect();
                        let times = run(&places, &services, depth as usize, host);
                        for from in 0..PACKETS {
                            let handed = times[from].0;
                            let before = (0..from).filter(|n| times[*n].1 > handed).map(|n| charge[long(n)]);
                            let mut sum = once + before.sum::<u64>();
                            for (n, (_, left)) in times.iter().enumerate().skip(from) {
                                sum += charge[long(n)];
                                assert!(
                                    left - handed <= sum,
                                    "{rates:?} {places:?} {depth} {host} {pattern:b} {from} {n}: {left} {handed} {sum}"
                                );
                                closest = closest.max((left - handed) as f64 / sum as f64);
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(closest > 0.999, "{closest}");
}

/// 10 and 30: a server each may have had something, and the packet that came first passes the
/// shorter once more.
#[test]
fn an_adapter_that_schedules_is_charged_for_its_slowest_stage() {
    let open = |station| Open::new(station, KILO);
    let charged = |station| {
        let open = open(station).unwrap();
        let once: u64 = open.once().iter().map(|term| term.cost.as_ps()).sum();
        ((open.charge(KILO) / 1_000_000) as u64, once / 1_000_000)
    };
    let plain = || station(vec![stage(vec![phase(10, 0)]), stage(vec![phase(30, 0)])]);
    assert_eq!(charged(plain()), (30, 50));
    assert_eq!(charged(Station { looks: us(7), ..plain() }), (30, 57));
    // A prefetch of 10 by the processor that the link has for 5 of its 25: one in it, one waits,
    // one is at the link.
    let works = |time, rank| StationPhase { holds: vec![0], rank, ..phase(time, 0) };
    let prefetch = |rank| {
        let link = StationStage { places: Some(1), ..stage(vec![works(5, 0), phase(20, 0)]) };
        station(vec![stage(vec![phase(40, 0)]), stage(vec![works(10, rank)]), link])
    };
    // 40 and 35; what was inside is 40 and 10 + 3 (25 + 10), or 3 (25 + 3 · 10) if it does not go
    // before.
    assert_eq!(charged(prefetch(1)), (40, 40 + 10 + 3 * 35 + 35));
    assert_eq!(charged(prefetch(0)), (40, 40 + 10 + 3 * 55 + 35));
    assert_eq!(open(prefetch(1)).unwrap().apart(KILO), 25_000_000);

    let refused = |station| open(station).unwrap_err();
    assert_eq!(refused(Station { buffers: Some(9), ..plain() }), Closed::NoRoom);
    let mut short = plain();
    short.stages[0].places = Some(4);
    assert_eq!(refused(short), Closed::NoRoom);
    let mut told = plain();
    told.stages[1].phases[0].tells = StationTells::Progress;
    assert_eq!(refused(told), Closed::Talkative);
    let mut early = prefetch(1);
    early.stages[1].places = Some(1);
    assert_eq!(refused(early), Closed::Entangled);
    let mut shared = prefetch(1);
    shared.stages[0].phases[0].holds = vec![0];
    assert_eq!(refused(shared), Closed::Entangled);
    let mut apart = plain();
    apart.stages.iter_mut().for_each(|stage| stage.phases[0].holds = vec![0]);
    assert_eq!(refused(apart), Closed::Entangled);
}

/// The ring of the test above: the last stage at a fifth of its rate, with what it had, and the
/// token once.
#[test]
fn an_adapter_that_schedules_waits_for_the_token_once() {
    let turns =
        Turns { rotation: us(100), holding: us(30), handling: us(5), longest: us(40), others: us(25) };
    let medium = StationPhase { medium: true, ..phase(10, 0) };
    let on_ring = |stages| Station { medium: FrameMedium::Ring(turns.clone()), ..station(stages) };
    let ring = on_ring(vec![stage(vec![phase(40, 0)]), stage(vec![medium.clone()])]);
    let open = Open::new(ring, KILO).unwrap();
    let once: u64 = open.once().iter().map(|term| term.cost.as_ps()).sum();
    assert_eq!((open.charge(KILO), once / 1_000_000), (50_000_000, 40 + 50 + 40 + 265));
    // A selecting stage with a place for each packet would have to be with the link, and is not.
    let select = StationStage { selects: true, ..stage(vec![phase(1, 0)]) };
    let apart = on_ring(vec![select, stage(vec![medium])]);
    assert_eq!(Open::new(apart, KILO).unwrap_err(), Closed::Token);
}
