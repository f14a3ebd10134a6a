//! CPU time of other links, by hand.

use super::*;
use crate::counted::counted;

const fn us(us: u64) -> Span {
    Span::from_us(us)
}

/// Packets of 1000 bytes cost 20 us to make, 10 to start and 5 to hear of; a message has one.
fn host(other: OtherLink) -> Environment {
    Environment {
        host: HostCosts {
            first_packet: us(20),
            single_packet: us(20),
            packet: us(20),
            link_scheduling: us(10),
            interrupt: us(5),
            ..HostCosts::default()
        },
        link: LinkCosts::new(us(50), Span::ZERO).into(),
        packet: Bytes::new(1000),
        makes: Some(us(20)),
        others: vec![other],
        ..mc68040(ResourceModel::O1, 1, Formula::Corrected)
    }
}

fn packet(interval: Span) -> Request {
    let size = Bytes::new(1000);
    with(TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: interval })
}

fn beside(other: OtherLink) -> Beside {
    of(&host(other))
}

fn of(environment: &Environment) -> Beside {
    let all = Population::of_best_effort(environment).with(environment, &packet(us(1000)));
    Beside::of(environment, &all)
}

/// A block and four packets ahead are 100 us. By time that is 15 (2 + ⌈100/50⌉) = 60; by packets,
/// with four of them waiting, 15 (4 + 1 + 1 + 1 + 1) and four times the 25 of a gap.
#[test]
fn a_slow_link_is_counted_by_time() {
    let slow = OtherLink { apart: us(50), longest: Some(us(60)), interrupts: 1, buffers: Some(4) };
    let above = Interference {
        above: Above::Interrupt,
        cost: us(15),
        adapter: Span::ZERO,
        burst: 2,
        interval: us(50),
    };
    assert_eq!(beside(slow), Beside { above: vec![above], ..Beside::default() });
}

/// Completions that are closer together than they cost have no end by time. By packets: 15 for each
/// of the four that wait, of two made in a block, of one with the adapter and of one in part; a gap
/// of 10 + 5 + 2 · 10. Without buffers, (1) has it for a link as fast as the handlers: K + 5 + 15 =
/// 2 (20 + 15) + 20, so ⌈90/20⌉ + 1 wait; but not where handlers work ahead, for then packets
/// gather that may not go yet.
#[test]
fn a_fast_link_is_counted_by_packets() {
    let us = |n: u64| u128::from(Span::from_us(n).as_ps());
    let by = |waiting: u64| Beside {
        above: Vec::new(),
        each: us(15),
        once: us(15 * (waiting + 4)),
        per_start: us(35),
    };
    let fast = |buffers, longest| OtherLink {
        apart: Span::from_us(10),
        longest: Some(Span::from_us(longest)),
        interrupts: 1,
        buffers,
    };
    assert_eq!(beside(fast(Some(4), 60)), by(4));
    assert_eq!(beside(fast(None, 20)), by(6));
    assert_eq!(beside(fast(Some(9), 20)), by(6));
    let ahead = |buffers| of(&Environment { ahead: true, ..host(fast(buffers, 20)) });
    assert_eq!((ahead(Some(9)), ahead(None).each), (by(9), 0));
    let endless = beside(fast(None, 60));
    assert_eq!((endless.above.len(), endless.each), (1, 0), "and then nothing is admitted");
    let mut table = table(host(fast(None, 60)));
    assert!(matches!(table.request(packet(Span::from_ms(9))), Decision::Refused(_)));
}

/// Two links of which each has 15 of 25 us, by time, leave no CPU time; but they have no more than
/// 40 packets each, though that is more in any 100 us. So does one that has an end by time only
/// beside one that has not.
#[test]
fn links_that_take_all_together_are_counted_by_packets() {
    let other = OtherLink { apart: us(25), longest: Some(us(60)), interrupts: 1, buffers: Some(40) };
    let admits = |model: ResourceModel, counting_others: CountingOthers, others: &[OtherLink]| {
        let environment = Environment { model, others: others.to_vec(), counting_others, ..host(other) };
        let mut table = table(environment);
        matches!(table.request(packet(Span::from_ms(9))), Decision::Admitted { .. })
    };
    use CountingOthers::{Expected, Packets};
    let endless = OtherLink { buffers: None, ..other };
    for model in [ResourceModel::O1, ResourceModel::O2] {
        assert!(admits(model, Expected, &[other]) && admits(model, Expected, &[endless]), "{model:?}");
        for two in [[other, other], [other, endless]] {
            assert!(!admits(model, Expected, &two) && admits(model, Packets, &two), "{model:?}");
        }
        assert!(!admits(model, Packets, &[endless, endless]), "{model:?}");
    }
}

/// To the table of another link a channel is what it takes of the CPU: made in 20, and its start
/// and completion, 15, if that link is counted by packets. It waits for no transmission, and takes
/// none of this link's room.
#[test]
fn what_leaves_elsewhere_takes_the_cpu_only() {
    let fast = OtherLink { apart: us(10), longest: Some(us(20)), interrupts: 1, buffers: None };
    let table = table(host(fast));
    let service = |request: &Request| table.service_time(request).unwrap().total();
    let request = packet(Span::from_ms(9));
    // Alone here, no packet is transmitted by this link and no time stolen.
    assert_eq!(service(&request.by_another_link()), us(20 + 15));
    assert!(service(&request) > us(50));
}

/// Under O2 a call of 10 us keeps a run from going on, and in each 50 one more of ours completes,
/// which costs 15: 3 us more, and 1.5 for an interrupt of 5. By time, 19.5 (2 + ⌈100/50⌉) = 78; by
/// packets 19.5 for each of four that wait, two made, one with the adapter and one in part, and a
/// gap of three interrupts and two calls.
#[test]
fn a_thread_starts_more_while_it_serves_another_link() {
    let by_thread_of = |other| Environment { model: ResourceModel::O2, ..host(other) };
    let by_thread = |other| of(&by_thread_of(other));
    let slow = OtherLink { apart: us(50), longest: Some(us(60)), interrupts: 1, buffers: Some(4) };
    let each = |cost| Interference {
        above: Above::Interrupt,
        cost: us(cost),
        adapter: Span::ZERO,
        burst: 2,
        interval: us(50),
    };
    let above = vec![each(10), each(5)];
    assert_eq!(by_thread(slow), Beside { above: above.clone(), ..Beside::default() });
    let ps = |tenths: u128| tenths * 100_000;
    let by_packets = Beside { above: vec![], each: ps(195), once: ps(195 * 8), per_start: ps(350) };
    assert_eq!(by_thread(OtherLink { apart: us(19), ..slow }), by_packets);
    let environment = by_thread_of(OtherLink { apart: us(19), ..slow });
    let all = Population::of_best_effort(&environment).with(&environment, &packet(us(1000)));
    let [alone, charges] =
        [&Beside::default(), &by_packets].map(|beside| o2::charges(&environment, &all, beside).unwrap());
    assert_eq!(charges.per_start - alone.per_start, ps(350));
    assert_eq!(charges.wait.picoseconds() - alone.wait.picoseconds(), ps(195 * 8));
    assert_eq!((alone.per_other, charges.per_other), (0, ps(195)));
    // The speed of handlers does not bound the packets that wait for the thread.
    let fast = OtherLink { apart: us(19), longest: Some(us(20)), interrupts: 1, buffers: None };
    assert_eq!(by_thread(fast).above.len(), 2);
    // With two places in the adapter a part of 35 us more may be a whole packet more, in which 15
    // of 50 are its own.
    let two = Environment { depth: 2, ..by_thread_of(slow) };
    let all = Population::of_best_effort(&two).with(&two, &packet(us(1000)));
    let charges = o2::charges(&two, &all, &of(&two)).unwrap();
    assert_eq!([10, 5].map(|cost| charges.activation(&each(cost))), [ps(250), ps(200)]);
}

/// Under O3 a start may be that of a thread, created in 4 us and switched to in 3, and is counted
/// by time: 22 for each. Ours waits for the end of a block of 20, of any handler, which began with
/// a switch, and then for a thread's of its own. Of a block of two packets it waits for both.
#[test]
fn threads_are_created_for_each_link() {
    let other = OtherLink { apart: us(50), longest: Some(us(60)), interrupts: 1, buffers: Some(4) };
    let costs = |environment: Environment| {
        let host = HostCosts { context_switch: us(3), thread_creation: us(4), ..environment.host };
        Environment { model: ResourceModel::O3, host, ..environment }
    };
    let environment = costs(host(other));
    let above = Interference {
        above: Above::Interrupt,
        cost: us(22),
        adapter: Span::ZERO,
        burst: 2,
        interval: us(50),
    };
    assert_eq!(of(&environment), Beside { above: vec![above], ..Beside::default() });
    let per_start = |environment: &Environment, request: &Request| {
        let all = Population::of_best_effort(environment).with(environment, request);
        o3::charges(environment, &all).unwrap().per_start / u128::from(us(1).as_ps())
    };
    let both = |block: u32, request: &Request| {
        let block_real_time = Block::Packets(block);
        let alone = Environment { block_real_time, others: vec![], ..environment.clone() };
        let beside = Environment { block_real_time, ..environment.clone() };
        (per_start(&alone, request), per_start(&beside, request))
    };
    assert_eq!(both(1, &packet(us(1000))), (23 + 15, 23 + 7 + 15));
    let size = Bytes::new(2000);
    let two = with(TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: us(1000) });
    assert_eq!(both(2, &two), (23 + 15, 43 + 7 + 15));
    let no_end = costs(host(OtherLink { apart: us(22), ..other }));
    assert!(matches!(table(no_end).request(packet(Span::from_ms(9))), Decision::Refused(_)));
}

/// An adapter of stages interrupts for progress and for the completion: 20 us of a packet. By time, 20
/// (2 + ⌈100/60⌉). By packets, 20 for each of four that wait, of two made, of one with the adapter and
/// of one in part; a gap of 10 + 2 · 5 + 2 · 10. The speed of handlers does not bound the packets that
/// wait for stages. Under O2 there are three uses; a packet is 10 + 3 and 2 (5 + 1.5), and the gap is 3 ·
/// 10 + 2 · 10.
#[test]
fn an_adapter_of_stages_may_interrupt_several_times() {
    let slow = OtherLink { apart: us(60), longest: None, interrupts: 2, buffers: Some(4) };
    let each = |cost| Interference {
        above: Above::Interrupt,
        cost: us(cost),
        adapter: Span::ZERO,
        burst: 2,
        interval: us(60),
    };
    let by_time = |above| Beside { above, ..Beside::default() };
    let ps = |tenths: u128| tenths * 100_000;
    assert_eq!(beside(slow), by_time(vec![each(20)]));
    let fast = OtherLink { apart: us(15), ..slow };
    let by_packets = Beside { above: vec![], each: ps(200), once: ps(200 * 8), per_start: ps(400) };
    assert_eq!(beside(fast), by_packets);
    assert_eq!(beside(OtherLink { buffers: None, ..fast }).above.len(), 1);
    let by_thread = |other| of(&Environment { model: ResourceModel::O2, ..host(other) });
    assert_eq!(by_thread(slow), by_time(vec![each(10), each(5), each(5)]));
    let by_packets = Beside { above: vec![], each: ps(260), once: ps(260 * 8), per_start: ps(500) };
    assert_eq!(by_thread(fast), by_packets);
}

/// Frames keep a resource of ours for 2 us in each 100 us. Then packets wait for (10 + 5 + 25 + 2)/0.98 us
/// and two times 15 us, of which handlers make one in 20 us. Each 19 us another link takes 15 us of the
/// CPU, and 45 us at once. More frames arrive for each part of the time that is left, which is a wait of
/// (10 + 5 + 25 + 2 + 0.9 · 19/4) · 4/(4 − 0.38) us and two times 15 us.
#[test]
fn what_other_links_take_lets_more_frames_arrive() {
    let held = Interference {
        above: Above::Interrupt,
        cost: Span::ZERO,
        adapter: us(2),
        burst: 0,
        interval: us(100),
    };
    let once = |others| {
        let link = LinkCosts::new(us(10), Span::ZERO).into();
        let other = OtherLink { apart: us(19), longest: None, interrupts: 1, buffers: None };
        let environment = Environment { link, interference: vec![held], others, ..host(other) };
        let all = Population::of_best_effort(&environment).with(&environment, &packet(us(1000)));
        counted(&environment, &all).map(|counted| counted.once)
    };
    let of = |waiting: u64| Some(u128::from(us(15 * (waiting + 2 + 1 + 1)).as_ps()));
    assert_eq!(once(vec![]), of(1 + 4));
    let other = OtherLink { apart: us(19), longest: None, interrupts: 1, buffers: None };
    assert_eq!(once(vec![other]), of(1 + 5));
    assert_eq!(once(vec![OtherLink { apart: us(15), ..other }]), None, "frames without end");
}
