//! Bounds at a link that is shared by rates, by hand.

use super::*;
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::Group;
use laxity_qos::traffic::TrafficSpec;
use laxity_qos::virtual_clock::Vtick;

/// A number of early messages that leaves no wait for the end of them.
const MANY: u64 = 1000;

/// 1 ns a byte, packets of 1000 B.
fn rated(order: Order, without: u64) -> RateTable {
    let speed = LinkCosts::new(Span::ZERO, Span::from_ns(1));
    let sharing = Sharing {
        speed,
        flows: Vec::new(),
        without: Bytes::new(without),
        frame: Span::from_us(8),
        groups: Vec::new(),
    };
    RateTable::new(order, Bytes::new(1000), sharing).expect("it shares by rates")
}

fn asks(message: u64, interval: Span, deadline: Span) -> RateRequest {
    let (size, burst) = (Bytes::new(message), 3);
    let spec = TrafficSpec { max_message: size, min_message: size, burst, min_interval: interval };
    let early = Early { by: Span::ZERO, ahead: MANY };
    RateRequest {
        request: Request::new(spec, deadline).unwrap(),
        level: 0,
        group: None,
        pays: Pays::Everywhere,
        early,
        whole: false,
    }
}

/// The same by its clock, though all may be through before.
fn by_clock(message: u64, interval: Span, deadline: Span) -> RateRequest {
    RateRequest { pays: Pays::First, ..asks(message, interval, deadline) }
}

fn us(us: u64) -> Span {
    Span::from_us(us)
}

/// A message of 2500 B each 10 us, packets of up to 1000: 10 us and the longest packet of any flow,
/// 1 us, or 1.5 us of best effort. Behind another such link its largest packet is worth 4 us.
#[test]
fn a_message_takes_its_interval_and_one_packet_of_another() {
    let asked = by_clock(2500, us(10), us(12));
    for (without, longest) in [(0, Span::from_us(1)), (1500, Span::from_ns(1500))] {
        let mut table = rated(Order::VirtualClock, without);
        assert_eq!(table.least_deadline(&asked), Ok(us(10) + longest + ROUNDING));
        assert_eq!(table.handed_on(&asked), us(4));
        let next = RateRequest { pays: Pays::Before(us(4)), ..asked };
        assert_eq!(table.least_deadline(&next), Ok(us(4) + longest + ROUNDING));
        assert!(matches!(table.request(next), Decision::Admitted { .. }));
        let (wait, service) = table.terms(&next, &table.bounds()[0]);
        assert_eq!((wait.total(), service.total()), (longest + ROUNDING, us(4)));
    }
}

/// 2500 B each 10 us and 1000 B each 20, both as contracts have them, and 1500 B of best effort: 5
/// us, and the message's own part of it is 2.5. A message that arrives 6 us early may have another
/// behind it, for which others wait: 6. Behind another such link only clocks count, and so they do in frames.
#[test]
fn what_keeps_contracts_is_through_together() {
    let punctual = |asked: RateRequest, by| RateRequest { early: Early { by, ahead: 0 }, ..asked };
    let mut table = rated(Order::SelfClocked, 1500);
    let long = punctual(asks(2500, us(10), us(30)), Span::ZERO);
    let short = punctual(asks(1000, us(20), us(5)), Span::ZERO);
    assert!(matches!(table.request(long), Decision::Admitted { .. }));
    assert_eq!(table.least_deadline(&short), Ok(us(5)));
    assert!(matches!(table.request(short), Decision::Admitted { .. }));
    let bound = table.bounds()[0];
    assert_eq!((bound.bound, bound.higher), (us(5), us(1)));
    let (wait, service) = table.terms(&long, &bound);
    assert_eq!((wait.total(), service.total()), (Span::from_ns(1500), Span::from_ns(2500)));
    // A third would make the second late, which its clock would not help.
    let Decision::Refused(refused) = table.request(punctual(asks(1000, us(20), us(30)), us(1))) else {
        panic!("the second is late")
    };
    assert_eq!(refused.deficit, Deficit::Time(us(1)));
    let early = punctual(asks(1000, us(7), us(30)), us(6));
    let mut beside = rated(Order::SelfClocked, 1500);
    assert_eq!(beside.least_deadline(&early), Ok(Span::from_ns(2500)));
    assert!(matches!(beside.request(long), Decision::Admitted { .. }));
    assert!(matches!(beside.request(early), Decision::Admitted { .. }));
    assert_eq!(beside.bounds().iter().map(|bound| bound.bound).collect::<Vec<_>>(), [us(6), us(5)]);
    // By its clock, though it would be through with all others before.
    let first = RateRequest { pays: Pays::First, ..long };
    let alone = rated(Order::SelfClocked, 1500);
    assert_eq!(alone.least_deadline(&first), Ok(Span::from_ns(11_500) + ROUNDING));
    let next = RateRequest { pays: Pays::Before(us(4)), ..long };
    assert_eq!(alone.least_deadline(&next), Ok(Span::from_ns(5500) + ROUNDING));
    let frames = rated(Order::HierarchicalRoundRobin, 1500);
    assert_eq!(
        frames.least_deadline(&punctual(asks(1000, us(8), us(90)), Span::ZERO)),
        Ok(us(24) + ROUNDING)
    );
}

/// A quarter of the link each: four fit, and no fifth. One that is given back is there again.
#[test]
fn rates_are_all_that_is_reserved() {
    let mut table = rated(Order::WeightedFair, 0);
    let asked = by_clock(2500, us(10), us(20));
    let mut admitted = Vec::new();
    for _ in 0..4 {
        let Decision::Admitted { id, .. } = table.request(asked) else { panic!("it fits") };
        admitted.push(id);
    }
    let Decision::Refused(refused) = table.request(asked) else { panic!("it does not fit") };
    assert_eq!((refused.resource, refused.reason), (Scarce::Link, Reason::Overload));
    assert_eq!(refused.deficit, Deficit::Share(250_000));
    assert!(table.release(admitted[1]) && !table.release(admitted[1]));
    assert!(matches!(table.request(asked), Decision::Admitted { .. }));
    assert_eq!(table.bounds().len(), 4);
    assert!(table.bounds().iter().all(|bound| bound.bound == us(11) + ROUNDING && bound.service == us(10)));
}

/// Self-clocked, each other channel is a packet more to wait for: one that is admitted with just
/// enough time is in the way of any other.
#[test]
fn a_newcomer_may_not_make_others_late() {
    let mut table = rated(Order::SelfClocked, 0);
    let tight = by_clock(1000, us(10), us(10) + ROUNDING);
    let Decision::Admitted { id, bound, .. } = table.request(tight) else { panic!("it is alone") };
    assert_eq!(bound, us(10) + ROUNDING);
    let Decision::Refused(refused) = table.request(by_clock(1000, us(10), us(20))) else {
        panic!("one is late")
    };
    assert_eq!((refused.claimant, refused.deficit), (Claimant::Channel(id), Deficit::Time(us(1))));
    let late = by_clock(1000, us(10), us(9));
    let Decision::Refused(refused) = rated(Order::SelfClocked, 0).request(late) else { panic!() };
    assert_eq!((refused.reason, refused.deficit), (Reason::Late, Deficit::Time(us(1) + ROUNDING)));
}

/// Half the link is a group's: of quarters it has two, and no third, beside which there is room for
/// others.
#[test]
fn a_group_has_no_more_than_its_own() {
    let mut table = rated(Order::HierarchicalFair, 0);
    let half = Vtick::new(Span::from_ns(2), Bytes::new(1));
    table.sharing.groups.push(Group { tick: half, within: None });
    let outside = asks(2500, us(10), us(40));
    let inside = RateRequest { group: Some(0), ..outside };
    for asked in [inside, inside, outside] {
        assert!(matches!(table.request(asked), Decision::Admitted { .. }));
    }
    let Decision::Refused(refused) = table.request(inside) else { panic!("the group is full") };
    assert_eq!((refused.reason, refused.deficit), (Reason::NoRoomInFrames, Deficit::Unbounded));
    assert!(matches!(table.request(outside), Decision::Admitted { .. }));
}

/// Frames of 8 us have no room for seven of them, a packet, and one of another; they have for an
/// eighth.
#[test]
fn frames_without_room_promise_nothing() {
    let table = rated(Order::HierarchicalRoundRobin, 1500);
    let refused = table.least_deadline(&asks(7000, us(8), us(90))).unwrap_err();
    assert_eq!((refused.reason, refused.deficit), (Reason::NoRoomInFrames, Deficit::Unbounded));
    assert_eq!(table.least_deadline(&asks(1000, us(8), us(90))), Ok(us(24) + ROUNDING));
    assert!(RateTable::new(Order::StopAndGo, Bytes::new(1), table.sharing).is_none());
}

/// With 400 channels, sums answer requests. A bound is never longer than the answer, and what the sums do not
/// admit is decided by the bounds.
#[test]
fn sums_over_many_channels_answer_as_their_bounds_do() {
    let asked = |deadline| RateRequest {
        early: Early { by: us(5), ahead: 1 },
        ..asks(1000, Span::from_ms(20), deadline)
    };
    for order in [Order::WeightedFair, Order::DeficitRoundRobin, Order::HierarchicalFair] {
        let mut table = rated(order, 500);
        for _ in 0..400 {
            let least = table.least_deadline(&asked(Span::from_ms(20))).expect("there is time");
            assert!(matches!(table.request(asked(Span::from_ms(20))), Decision::Admitted { .. }));
            let last = table.bounds().pop().expect("it was admitted").bound;
            assert!(last <= least && least < last * 21 / 20, "{order:?}: {last} of {least}");
        }
        let longest = table.bounds().into_iter().map(|bound| bound.bound).max().expect("there are some");
        // Sums leave the second no time, since a channel has to be through by then, and bounds do.
        for _ in 0..2 {
            let Decision::Admitted { .. } = table.request(asked(longest + us(5))) else {
                panic!("{order:?}")
            };
        }
        let Decision::Refused(late) = table.request(asked(longest / 2)) else { panic!("{order:?}") };
        assert_eq!(late.reason, Reason::Late, "{order:?}");
        // A channel that is given up no longer counts.
        let before = table.sums;
        let id = table.bounds()[7].id;
        assert!(table.release(id));
        let Decision::Admitted { .. } = table.request(asked(Span::from_ms(20))) else { panic!("{order:?}") };
        assert_eq!(table.sums, before);
    }
}
