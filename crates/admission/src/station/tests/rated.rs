//! Stages by rates, by hand. `rates/row.rs` holds the whole of it against rows of queues at work.

use super::*;
use laxity_qos::discipline::Order;

const VC: StageLine = StageLine::Rates(Order::VirtualClock, LinkCosts::new(Span::ZERO, Span::ZERO));

fn rated(stages: Vec<StationStage>, lines: &[StageLine], spacing: u64) -> Result<Rated, UnratedStation> {
    of(station(stages), lines, spacing)
}

fn of(station: Station, lines: &[StageLine], spacing: u64) -> Result<Rated, UnratedStation> {
    let open = Arc::new(Open::new(station, KILO).unwrap());
    Rated::new(open, lines, us(spacing), true)
}

/// Of each server, the time of a packet of no bytes and of a thousand, and the time charged once;
/// and the way.
fn numbers(rated: &Rated) -> (Vec<[u64; 3]>, u64) {
    let whole = |span: Span| span.as_ps() / 1_000_000;
    let of = |server: &RatedServer| {
        [server.speed.transmit(Bytes::ZERO), server.speed.transmit(KILO), server.once].map(whole)
    };
    (rated.servers().iter().map(of).collect(), whole(rated.way()))
}

/// 10 before a stage by rates of 20 and 10 ns a byte, and 15 behind it: a way of 25, if packets
/// arrive from the CPU 10 apart or more. The last takes less for a packet of a byte than the 20.01
/// in which those follow each other. With best effort put behind real time at either of these, one
/// packet of it may be in the server: 50.
#[test]
fn stages_that_are_no_slower_are_a_way() {
    let stages =
        |last| vec![stage(vec![phase(10, 0)]), stage(vec![phase(20, 10)]), stage(vec![phase(last, 0)])];
    let all = |last, spacing| rated(stages(last), &[StageLine::Fifo, VC, StageLine::Fifo], spacing);
    assert_eq!(all(15, 10).as_ref().map(numbers), Ok((vec![[20, 30, 0]], 25)));
    assert_eq!(all(15, 9), Err(UnratedStation::Slow), "the CPU is faster");
    assert_eq!(all(21, 10), Err(UnratedStation::Slow), "a short packet is behind the other too soon");
    let behind = rated(stages(15), &[StageLine::Before, VC, StageLine::Before], 10);
    assert_eq!(behind.as_ref().map(numbers), Ok((vec![[20, 30, 0]], 50)));
    let looks = Station { looks: us(7), ..station(stages(15)) };
    assert_eq!(
        of(looks, &[StageLine::Fifo, VC, StageLine::Fifo], 10),
        Err(UnratedStation::Slow),
        "a look finds several"
    );
    let looks = Station { looks: us(7), ..station(stages(15)) };
    assert_eq!(
        of(looks, &[VC, VC, StageLine::Fifo], 0).as_ref().map(numbers),
        Ok((vec![[10, 10, 0], [20, 30, 0]], 22))
    );
}

/// 20, by rates, and then 15 and 18: in a row of queues for all, each is charged once by coming to
/// it, and packets are 20 apart all the same. Where the first of them sets best effort behind,
/// arrivals at the next are 15 apart, as it may take one that waited right after the other.
#[test]
fn packets_are_as_far_apart_as_the_stage_that_ordered_them_takes() {
    let stages = || vec![stage(vec![phase(20, 0)]), stage(vec![phase(15, 0)]), stage(vec![phase(18, 0)])];
    let all = |second| rated(stages(), &[VC, second, StageLine::Fifo], 0);
    assert_eq!(all(StageLine::Fifo).as_ref().map(numbers), Ok((vec![[20, 20, 0]], 33)));
    assert_eq!(all(StageLine::Before), Err(UnratedStation::Slow));
    // The third sees what the second lets through, in queues of one or of two.
    let fast = || vec![stage(vec![phase(20, 0)]), stage(vec![phase(5, 0)]), stage(vec![phase(18, 0)])];
    assert!(rated(fast(), &[VC, StageLine::Fifo, StageLine::Fifo], 0).is_ok());
    assert_eq!(rated(fast(), &[VC, StageLine::Fifo, StageLine::Before], 0), Err(UnratedStation::Slow));
}

/// A segment begun counts whole, and what is for some packets as for all: 5 + 3 + (2 + 3/100 a
/// byte) for 1000 B, where 9 short ones take 3 in it. Phases for some packets only do not keep
/// packets apart.
#[test]
fn a_packet_takes_no_longer_than_the_line_says() {
    let segments = Delay {
        fixed: us(5),
        segment: Bytes::new(100),
        per_segment: us(3),
        per_byte: ByteTime::from_ns(2),
        ..Delay::default()
    };
    let some = StationPhase { from: Bytes::new(500), ..phase(4, 0) };
    let by_rates = stage(vec![StationPhase { delay: segments, ..StationPhase::default() }, some]);
    let all = rated(vec![by_rates.clone()], &[VC], 0).unwrap();
    assert_eq!(numbers(&all), (vec![[12, 44, 0]], 0));
    for size in (1..=1000).map(Bytes::new) {
        assert!(by_rates.service(size) <= ps(all.servers()[0].speed.transmit(size)), "{size:?}");
    }
    // A byte in a segment of its own is 8 of fixed parts and of segments; by the line it is 5.
    let next =
        |service| rated(vec![by_rates.clone(), stage(vec![phase(service, 0)])], &[VC, StageLine::Fifo], 0);
    assert!(next(5).is_ok());
    assert_eq!(next(6), Err(UnratedStation::Slow));
    let knee = Delay {
        fixed: us(5),
        knee: Bytes::new(10),
        per_byte: ByteTime::from_ns(9),
        per_byte_past: ByteTime::from_ns(1),
        ..Delay::default()
    };
    let bent = stage(vec![StationPhase { delay: knee, ..StationPhase::default() }]);
    assert_eq!(numbers(&rated(vec![bent.clone()], &[VC], 0).unwrap()), (vec![[5, 14, 0]], 0));
    // 5 + 1 for a thousand bytes is less than 6.1 of one that is no faster at its start.
    let slower = stage(vec![StationPhase {
        delay: Delay { fixed: us(5), per_byte: ByteTime::from_ps(1100), ..Delay::default() },
        ..StationPhase::default()
    }]);
    assert_eq!(rated(vec![bent, slower], &[VC, StageLine::Fifo], 0), Err(UnratedStation::Slow));
}

/// 10 by rates and 30 behind two places: a packet takes 40, and of what is inside there may be four
/// of 30. Each of those may find the bus taken, for 4 by a packet that goes before, or for 4 by
/// each that finds a place.
#[test]
fn a_prefetch_is_one_server_with_the_stage_before() {
    let prefetch = |places| StationStage { places: Some(places), ..stage(vec![phase(30, 0)]) };
    let all = rated(vec![stage(vec![phase(10, 0)]), prefetch(2)], &[VC, StageLine::Fifo], 0).unwrap();
    assert_eq!(numbers(&all), (vec![[40, 40, 120]], 0));
    let bus = |phase: StationPhase, rank| StationPhase { holds: vec![0], rank, ..phase };
    let shared = |rank| {
        let before = stage(vec![phase(6, 0), bus(phase(4, 0), 1)]);
        let last = StationStage { places: Some(2), ..stage(vec![bus(phase(30, 0), rank)]) };
        numbers(&rated(vec![before, last], &[VC, StageLine::Fifo], 0).unwrap()).0
    };
    assert_eq!(shared(0), vec![[40, 40, 4 * (30 + 4)]]);
    assert_eq!(shared(1), vec![[40, 40, 4 * (30 + 4 * 4)]]);
    let two = || vec![stage(vec![phase(10, 0)]), prefetch(2)];
    let told = LinkCosts::new(us(10), Span::ZERO);
    for order in [Order::WeightedFair, Order::WorstCaseFair] {
        assert_eq!(
            rated(two(), &[StageLine::Rates(order, told), StageLine::Fifo], 0),
            Err(UnratedStation::HeldUp)
        );
    }
    assert_eq!(rated(two(), &[VC, VC], 0), Err(UnratedStation::Order));
    assert_eq!(rated(two(), &[StageLine::Fifo, StageLine::Fifo], 90), Err(UnratedStation::Slow));
}

#[test]
fn what_is_no_server_by_rates_has_no_bound_by_them() {
    let one = || vec![stage(vec![phase(10, 5)])];
    assert_eq!(rated(one(), &[StageLine::Fifo], 90), Err(UnratedStation::None));
    assert_eq!(rated(one(), &[StageLine::Other], 90), Err(UnratedStation::Order));
    // The fluid server's time is the declared one, if no packet takes longer.
    let fluid = |startup, per_byte| {
        let told = LinkCosts::new(us(startup), Span::from_ns(per_byte));
        rated(one(), &[StageLine::Rates(Order::WeightedFair, told)], 0)
            .as_ref()
            .map(numbers)
            .map_err(|why| *why)
    };
    assert_eq!(fluid(10, 5), Ok((vec![[10, 15, 0]], 0)));
    assert_eq!(fluid(11, 6), Ok((vec![[11, 17, 0]], 0)));
    assert_eq!((fluid(9, 5), fluid(10, 4)), (Err(UnratedStation::Fluid), Err(UnratedStation::Fluid)));
    let turns =
        Turns { rotation: us(100), holding: us(30), handling: us(5), longest: us(40), others: us(25) };
    let link = stage(vec![StationPhase { medium: true, ..phase(10, 0) }]);
    let ring = Station { medium: FrameMedium::Ring(turns), ..station(vec![link]) };
    assert_eq!(of(ring, &[VC], 0), Err(UnratedStation::Medium));
}
