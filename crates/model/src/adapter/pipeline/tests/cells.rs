//! Packets cut into cells, and resources that go by how urgent a packet is.

use super::*;

/// A wire with that many servers, a cell of 48 B taking 3, with a trailer of 8 B: a packet of 100 B
/// is three cells.
fn wire(servers: u32, yields: bool) -> Description {
    let delay = Delay { segment: Bytes::new(48), per_segment: Span::from_us(3), ..Delay::default() };
    let cut = Phase { delay, yields, trailer: Bytes::new(8), holds: vec![1], ..Phase::default() };
    let mut description = description(vec![Stage { servers, ..stage("wire", vec![cut]) }]);
    (description.resources[1].preemptive, description.resources[1].urgent) = (false, true);
    description
}

fn sized(number: u64, class: Class, deadline: u64, size: u64) -> Packet {
    Packet { size: Bytes::new(size), ..packet(number, class, deadline) }
}

/// 100 and 8 are three cells, 88 and 8 two, 89 and 8 three: there is no cell for the trailer alone
/// but where it does not fit.
#[test]
fn a_packet_is_whole_cells() {
    let took = |size| run(wire(1, true), &[(0, sized(0, Class::BestEffort, 0, size))]).0[0].1;
    assert_eq!([1, 40, 41, 88, 89, 100].map(took), [3, 3, 6, 6, 9, 9]);
}

/// Best effort of nine cells from 0 on. At 4 an urgent packet of two cells arrives: it waits for
/// the cell on the wire, to 6, and has the next two, to 12; a less urgent one, which arrived at 5,
/// has the wire to 15. Without cells, all of them wait for 27.
#[test]
fn an_urgent_packet_waits_for_a_cell() {
    let handed = [
        (0, sized(0, Class::BestEffort, 0, 424)),
        (4, sized(7, Class::RealTime, 50, 88)),
        (5, sized(8, Class::RealTime, 90, 40)),
    ];
    assert_eq!(run(wire(4, true), &handed).0, [(7, 12), (8, 15), (0, 36)]);
    assert_eq!(run(wire(4, false), &handed).0, [(0, 27), (7, 33), (8, 36)]);
    // With one server the packet is chosen as a whole, in cells or not.
    assert_eq!(run(wire(1, true), &handed).0, [(0, 27), (7, 33), (8, 36)]);
}

/// Of packets alike the older goes on between its cells, and one that is as urgent does not part them.
#[test]
fn cells_of_equals_stay_together() {
    assert_eq!(run(wire(3, true), &best_effort(&[0, 1, 2])).0, [(0, 9), (1, 18), (2, 27)]);
}

/// A bus that may be taken: an urgent packet's transfer of 10 has it from 4 to 14, in the middle of
/// another's, which has its other 6 after that. Without regard to urgency it waits for 10.
#[test]
fn a_resource_goes_by_urgency() {
    let bus = |urgent| {
        let mut description =
            description(vec![Stage { servers: 2, ..stage("dma", vec![phase(10, Some(0))]) }]);
        description.resources[1].urgent = urgent;
        description
    };
    for first in [Class::BestEffort, Class::RealTime] {
        let handed = [(0, packet(0, first, 90)), (4, packet(1, Class::RealTime, 50))];
        assert_eq!(run(bus(true), &handed).0, [(1, 14), (0, 20)]);
        assert_eq!(run(bus(false), &handed).0, [(0, 10), (1, 20)]);
    }
    // Equally or less urgent packets wait.
    let handed = [(0, packet(0, Class::RealTime, 50)), (4, packet(1, Class::RealTime, 50))];
    assert_eq!(run(bus(true), &handed).0, [(0, 10), (1, 20)]);
}

/// A transfer of 10 over a bus that the host has from 4 to 7, and, since it copies again at 5 for
/// 2, to 9: it is done at 15. A phase on another resource continues. The host also takes a bus that
/// is not preemptible by phases.
#[test]
fn the_host_has_the_bus_while_it_copies() {
    let at = |us| Time::ZERO + Span::from_us(us);
    let done = |host, bus, preemptive| {
        let mut description = description(vec![stage("dma", vec![phase(10, bus)])]);
        (description.resources[1].host, description.resources[1].preemptive) = (host, preemptive);
        let mut adapter = pipeline(description);
        assert!(adapter.transmit(at(0), &packet(0, Class::BestEffort, 0)), "there is room");
        adapter.copies(at(4), Span::from_us(3));
        adapter.copies(at(5), Span::from_us(2));
        let mut now = at(5);
        while let Some(next) = adapter.next_deadline() {
            now = next;
            adapter.timer(now);
        }
        assert_eq!(adapter.held(), 0);
        now.since(Time::ZERO).as_ps() / 1_000_000
    };
    assert_eq!((done(true, Some(0), true), done(true, Some(0), false)), (15, 15));
    assert_eq!((done(false, Some(0), true), done(true, None, true)), (10, 10));
}

/// A phase that wants the bus while the host has it waits exactly until the host releases it.
#[test]
fn who_comes_while_the_host_copies_waits() {
    let at = |us| Time::ZERO + Span::from_us(us);
    let mut description = description(vec![stage("dma", vec![phase(10, Some(0))])]);
    description.resources[1].host = true;
    let mut adapter = pipeline(description);
    adapter.copies(at(2), Span::from_us(6));
    assert_eq!(adapter.next_deadline(), None, "nobody wants it");
    assert!(adapter.transmit(at(4), &packet(0, Class::BestEffort, 0)), "there is room");
    assert_eq!(adapter.next_deadline(), Some(at(8)));
    adapter.timer(at(8));
    assert_eq!(adapter.next_deadline(), Some(at(18)));
    adapter.timer(at(18));
    assert!(adapter.transmit(at(20), &packet(1, Class::BestEffort, 0)), "there is room");
    assert_eq!(adapter.next_deadline(), Some(at(30)), "the host has long done");
}

/// The host's copy does not affect another resource: from 4 on it takes 10.
#[test]
fn who_needs_nothing_of_what_the_host_copies_over_goes_on() {
    let at = |us| Time::ZERO + Span::from_us(us);
    let mut description = description(vec![stage("dma", vec![phase(10, Some(0))])]);
    description.resources[0].host = true;
    let mut adapter = pipeline(description);
    adapter.copies(at(2), Span::from_us(6));
    assert!(adapter.transmit(at(4), &packet(0, Class::BestEffort, 0)), "there is room");
    adapter.timer(at(8));
    assert_eq!(adapter.next_deadline(), Some(at(14)));
}

/// A reset in the middle of a packet's cells gives it back once.
#[test]
fn a_packet_in_cells_is_given_back_whole() {
    let mut adapter = pipeline(wire(2, true));
    for (_, packet) in best_effort(&[0, 0]) {
        assert!(adapter.transmit(Time::ZERO, &packet), "there is room");
    }
    let at = |us| Time::ZERO + Span::from_us(us);
    adapter.timer(at(3));
    adapter.reset(at(4));
    let failed = std::iter::from_fn(|| adapter.poll_output())
        .filter(|output| matches!(output, AdapterOutput::Response(AdapterResponse::Failed(..))));
    assert_eq!((failed.count(), adapter.held(), adapter.next_deadline()), (2, 0, None));
}
