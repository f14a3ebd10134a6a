//! A rate-based stage: flows with a rate go by it, and traffic without one goes when no other
//! waits.

use super::*;

/// A packet of a flow with one packet in that many microseconds.
fn of_rate(channel: u32, number: u64, class: Class, every: u64) -> Packet {
    let packet = packet(number, class, 1000);
    let tick = Vtick::new(Span::from_us(every), packet.size);
    Packet { channel: ChannelId(channel), tag: Tag { tick, ..packet.tag }, ..packet }
}

/// The order in which packets leave a stage in `order` that takes 10 for each. All arrive at 0: 9
/// is begun, and then wait 0, 1 and 2 of a flow of one in 40, 8 of best effort without a rate, 5
/// and 6 of one in 20, and `others`.
fn served(order: Order, others: &[Packet]) -> Vec<u64> {
    let slow = |number| of_rate(0, number, Class::RealTime, 40);
    let fast = |number| of_rate(2, number, Class::RealTime, 20);
    let without = |number| packet(number, Class::BestEffort, 0);
    let all = [without(9), slow(0), slow(1), slow(2), without(8), fast(5), fast(6)];
    let handed: Vec<_> = all.into_iter().chain(others.iter().copied()).map(|packet| (0, packet)).collect();
    let link = Stage { queues: vec![queue(Takes::All, order, 0)], ..stage("link", vec![phase(10, None)]) };
    let (out, lost) = run(description(vec![link]), &handed);
    assert!(lost.is_empty() && out.iter().zip(1..).all(|((_, at), n)| *at == 10 * n), "{out:?}");
    out.into_iter().map(|(number, _)| number).collect()
}

/// Finishing times: those of the slow flow are stamped 40, 80 and 120, those of the fast one 20 and
/// 40; of the two at 40 the first arrival goes first. The fluid server, of which they have a
/// quarter and a half, has the same tags. By starting times it is 0, 40, 80 and 0, 20. A turn is
/// worth 40 to either: one packet of the slow flow, two of the fast.
#[test]
fn each_order_has_its_own() {
    for order in [Order::VirtualClock, Order::SelfClocked, Order::WeightedFair, Order::WorstCaseFair] {
        assert_eq!(served(order, &[]), [9, 5, 0, 6, 1, 2, 8], "{order:?}");
    }
    for order in [Order::StartTimeFair, Order::HierarchicalFair, Order::DeficitRoundRobin] {
        assert_eq!(served(order, &[]), [9, 0, 5, 6, 1, 2, 8], "{order:?}");
    }
}

/// Best effort of one in 15 is stamped 15 and 30, before a packet with a deadline that is stamped
/// 40: no more than its rate, but before.
#[test]
fn best_effort_with_a_rate_goes_before_real_time() {
    let shares = [3, 4].map(|number| of_rate(1, number, Class::BestEffort, 15));
    assert_eq!(served(Order::VirtualClock, &shares), [9, 3, 5, 4, 0, 6, 1, 2, 8]);
}
