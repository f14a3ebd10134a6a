//! `W` of levels by hand, and the bounds of a link alone.

use super::exact::{packets, round};
use super::*;

fn us(us: u64) -> Span {
    Span::from_us(us)
}

/// A link without a CPU before it, of 1 us for a byte.
fn link_alone() -> Environment {
    Environment {
        host: HostCosts::default(),
        link: LinkCosts::new(Span::ZERO, us(1)).into(),
        packet: Bytes::new(1000),
        levels: Some(31),
        ..mc68040(ResourceModel::Ideal, 1, Formula::Corrected)
    }
}

/// Messages of that size in a least interval, within a deadline.
fn of_bytes(size: u64, interval: u64, deadline: u64, level: u32) -> Request {
    let size = Bytes::new(size);
    let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: us(interval) };
    Request::new(spec, us(deadline)).unwrap().on_level(level)
}

/// Bounds in microseconds, by levels.
fn bounds(environment: Environment, requests: &[Request]) -> Vec<u64> {
    let mut table = table(environment);
    for request in requests {
        let decision = table.request(*request);
        assert!(matches!(decision, Decision::Admitted { .. }), "{decision:?}");
    }
    for bound in table.bounds() {
        let parts = [bound.wait, bound.service, bound.higher, bound.interference];
        assert_eq!(parts.into_iter().fold(Span::ZERO, |sum, part| sum + part), bound.bound);
    }
    table.bounds().iter().map(|bound| bound.bound.as_ps() / 1_000_000).collect()
}

/// The set of Davis, Burns, Bril and Lukkien (2007) uses 97 % of the bus. In any order of requests
/// it has its exact response times.
#[test]
fn a_set_of_97_percent_has_its_exact_times() {
    let set = [(2500, 2500, 0), (3500, 3250, 1), (3500, 3500, 2)];
    let [a, b, c] = set.map(|(interval, deadline, level)| of_bytes(1000, interval, deadline, level));
    for order in [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
        assert_eq!(bounds(link_alone(), &order), [2000, 3000, 3500]);
        let host = Environment { model: ResourceModel::O1, ..link_alone() };
        assert_eq!(bounds(host, &order), [2000, 3000, 3500]);
    }
    // The deadline of C is its bound, which is the least deadline that it can have.
    let mut table = table(link_alone());
    for request in [a, b] {
        assert!(matches!(table.request(request), Decision::Admitted { .. }));
    }
    assert_eq!(table.least_deadline(&c), Ok(us(3500)));
    let Decision::Refused(refusal) = table.request(c.within(us(3499))) else { panic!("it takes longer") };
    assert_eq!((refusal.deficit, refusal.reason), (Deficit::Time(us(1)), Reason::Late));
    assert!(matches!(table.request(c), Decision::Admitted { .. }));
    // One more below makes C wait for a packet, and C is late by it.
    let Decision::Refused(refusal) = table.request(of_bytes(1, 1_000_000, 1_000_000, 3)) else {
        panic!("C cannot wait for it")
    };
    assert_eq!(
        (refusal.claimant, refusal.deficit),
        (Claimant::Channel(AdmissionId(2)), Deficit::Time(us(1)))
    );
}

/// Packets of 300, 700 and 500 us: the first waits for 700, the second for 500, the last for none,
/// or for best effort.
#[test]
fn each_level_waits_for_the_longest_packet_below_it() {
    let set = [(300, 0), (700, 4), (500, 9)].map(|(size, level)| of_bytes(size, 9000, 9000, level));
    assert_eq!(bounds(link_alone(), &set), [1000, 1500, 1500]);
    let size = Bytes::new(600);
    let flood = BestEffort {
        max_message: size,
        min_message: size,
        role: Role::Send,
        elsewhere: false,
        program: Span::ZERO,
    };
    let flooded = Environment { best_effort: vec![flood], ..link_alone() };
    assert_eq!(bounds(flooded, &set), [1000, 1600, 2100]);
    // An early packet of any channel may be on the link.
    assert_eq!(bounds(Environment { early: true, ..link_alone() }, &set), [1000, 1700, 2200]);
    // The channels of one level wait for each other, and for the level below.
    let two = [set[0].on_level(4), set[1], set[2]];
    assert_eq!(bounds(link_alone(), &two), [1500, 1500, 1500]);
}

/// Without a link alone the last level, too, waits for each packet that the adapter may have.
#[test]
fn a_packet_of_any_level_may_be_with_the_adapter_of_a_host() {
    let set = [(300, 0), (700, 4), (500, 9)].map(|(size, level)| of_bytes(size, 9000, 9000, level));
    let last = |environment: Environment| *bounds(environment, &set).last().unwrap();
    assert_eq!(last(link_alone()), 1500);
    assert_eq!(last(Environment { depth: 2, ..link_alone() }), 1500 + 2 * 700);
    let interrupt = HostCosts { interrupt: us(10), ..HostCosts::default() };
    assert!(last(Environment { host: interrupt, ..link_alone() }) > 1500 + 700);
    // The link of an O2 host without costs is as good, and its proof is another.
    assert_eq!(last(Environment { model: ResourceModel::O2, ..link_alone() }), 1500 + 700);
    let above = Interference {
        above: Above::Interrupt,
        cost: us(10),
        adapter: Span::ZERO,
        burst: 0,
        interval: us(9000),
    };
    assert_eq!(last(Environment { interference: vec![above], ..link_alone() }), 1500 + 700 + 10);
    let held = Interference { cost: Span::ZERO, adapter: us(10), ..above };
    assert_eq!(last(Environment { interference: vec![held], ..link_alone() }), 1500 + 700 + 10);
    let none = Interference { cost: Span::ZERO, ..above };
    assert_eq!(last(Environment { interference: vec![none], ..link_alone() }), 1500);
    let other = OtherLink { apart: us(700), longest: Some(us(700)), interrupts: 1, buffers: None };
    assert_eq!(last(Environment { others: vec![other], ..link_alone() }), 1500 + 700);
}

/// The blocks of a channel below count, and those of the same level and above do not.
#[test]
fn each_level_waits_for_the_longest_block_below_it() {
    let waits = |environment: Environment, levels: [u32; 2]| -> Vec<u64> {
        let mut table = table(Environment { levels: Some(31), ..environment });
        for (request, level) in [packets(1), packets(3)].into_iter().zip(levels) {
            assert!(matches!(table.request(request.on_level(level)), Decision::Admitted { .. }));
        }
        for bound in table.bounds() {
            let request = *table.admitted(bound.id).unwrap();
            assert_eq!(table.wait_time(&request).unwrap().total(), bound.wait);
        }
        table.bounds().iter().map(|bound| bound.wait.as_ps() / 1_000_000).collect()
    };
    let host = round(ResourceModel::O1);
    // 3/2·(100 + 420 + 2·170) + 200 + (400 + 40) + min(3/2·520, 600), then without the block.
    assert_eq!(waits(host.clone(), [0, 1]), [1290 + 1240, 1240]);
    // The block of the short one: 3/2·(100 + 420).
    assert_eq!(waits(host.clone(), [1, 0]), [780 + 1240, 1240]);
    assert_eq!(waits(host.clone(), [1, 1]), [1240, 1240]);
    // An early message of any channel stands below all levels.
    assert_eq!(waits(Environment { ahead: true, ..host.clone() }, [0, 1]), [2530, 2530]);
    // An application computes what is left: 3/2·(100 + 700).
    let computes = Environment { slice: us(700), ..host };
    assert_eq!(waits(computes, [0, 1]), [1290 + 1240, 1200 + 1240]);
    // A block of 760 with a run of 300, a completion of 440, and min(420 + 400, 400 + 200 + 960).
    let by_thread = waits(round(ResourceModel::O2), [0, 1]);
    assert_eq!(by_thread, [860 + 300 + 440 + 820, 300 + 440 + 820]);
}

/// A release leaves each level with what is still below it.
#[test]
fn a_level_waits_for_no_channel_that_left() {
    let mut table = table(link_alone());
    let set = [(300, 0), (700, 4), (500, 9)].map(|(size, level)| of_bytes(size, 9000, 9000, level));
    let ids = set.map(|request| match table.request(request) {
        Decision::Admitted { id, .. } => id,
        Decision::Refused(refusal) => panic!("{refusal:?}"),
    });
    let bounds = |table: &AdmissionTable| -> Vec<u64> {
        table.bounds().iter().map(|bound| bound.bound.as_ps() / 1_000_000).collect()
    };
    assert!(table.release(ids[1]));
    assert_eq!(bounds(&table), [800, 800]);
    assert!(table.release(ids[2]));
    assert_eq!(bounds(&table), [300]);
}

/// A channel of 4000 B leaves. The other one has blocks of its own that are longer than those below
/// it were, and no time for them. It waits for none of them, and has the bound that it has alone.
#[test]
fn a_channel_that_stays_waits_for_no_block_of_its_own() {
    let link = LinkCosts::new(us(40), Span::from_ns(50)).into();
    let host = Environment { link, levels: Some(31), ..round(ResourceModel::O1) };
    let admit = |table: &mut AdmissionTable, request: Request| match table.request(request) {
        Decision::Admitted { id, .. } => id,
        Decision::Refused(refusal) => panic!("{refusal:?}"),
    };
    let (stays, leaves) = (packets(3).on_level(0), of_bytes(4000, 50_000, 50_000, 1));
    let mut both = table(host.clone());
    admit(&mut both, stays);
    let gone = admit(&mut both, leaves);
    let stays = stays.within(both.bounds()[0].bound);
    assert!(both.release(gone));
    let mut hurried = table(host.clone());
    admit(&mut hurried, stays);
    let gone = admit(&mut hurried, leaves);
    assert!(hurried.release(gone));
    let mut alone = table(host);
    admit(&mut alone, stays);
    assert_eq!(hurried.bounds()[0].bound, alone.bounds()[0].bound);
    assert_eq!(both.bounds()[0].bound, alone.bounds()[0].bound);
}

/// All channels have a level by hand, or none has.
#[test]
fn levels_by_hand_are_for_all_channels() {
    let [by_hand, found] = [of_bytes(300, 9000, 9000, 1), {
        let spec = *of_bytes(300, 9000, 9000, 1).spec();
        Request::new(spec, us(9000)).unwrap()
    }];
    for [first, second] in [[by_hand, found], [found, by_hand]] {
        let mut table = table(link_alone());
        assert!(matches!(table.request(first), Decision::Admitted { .. }));
        let Decision::Refused(refusal) = table.request(second) else { panic!("only one has a level") };
        assert_eq!(refusal.reason, Reason::SharedLevels);
    }
}
