//! Contracts kept by the adapter, instant by instant.

use super::*;
use crate::adapter::{Excess, Policing};

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn policed(excess: Excess, tolerance: u64, transmit: Vec<Stage>) -> Description {
    let policing = Some(Policing { excess, tolerance: Span::from_us(tolerance) });
    Description { transmit_policing: policing, ..description(transmit) }
}

fn real_time(numbers: &[u64]) -> Vec<(u64, Packet)> {
    (0..).zip(numbers).map(|(number, us)| (*us, packet(number, Class::RealTime, 500))).collect()
}

/// Two at once; the third is one too many. By 10 there is room for another, and no more; by 25 for
/// that of 20 and half of the next.
#[test]
fn what_exceeds_a_contract_is_dropped() {
    let link = || vec![stage("link", vec![phase(1, None)])];
    let handed = real_time(&[0, 0, 0, 10, 10, 25, 25]);
    let outcome = run(policed(Excess::Drop, 0, link()), &handed);
    assert_eq!(outcome, (vec![(0, 1), (1, 2), (3, 11), (5, 26)], vec![2, 4, 6]));
    // Five early is half a packet, which the one at 25 then finds.
    assert_eq!(run(policed(Excess::Drop, 5, link()), &handed).1, [2, 4]);
    // Best effort has no contract.
    assert_eq!(run(policed(Excess::Drop, 0, link()), &best_effort(&[0, 0, 0])).1, [0; 0]);
}

/// Three at 0, of which the third goes on as best effort, before best effort that came after it;
/// one at 25 passes what waits there. The next hop sees it as it is here, and the host that counts
/// its buffers as what it was.
#[test]
fn what_exceeds_a_contract_goes_on_without_it() {
    let queues = vec![
        queue(Takes::Only(Class::RealTime), Order::Fifo, 0),
        queue(Takes::Only(Class::BestEffort), Order::Fifo, 1),
    ];
    let link = Stage { queues, ..stage("link", vec![phase(10, None)]) };
    let mut handed = real_time(&[0, 0, 0]);
    handed.push((0, packet(7, Class::BestEffort, 0)));
    handed.push((25, packet(9, Class::RealTime, 500)));
    let description = policed(Excess::Demote, 0, vec![link]);
    let outcome = run(description.clone(), &handed);
    assert_eq!(outcome, (vec![(0, 10), (1, 20), (2, 30), (9, 40), (7, 50)], vec![]));
    let mut adapter = pipeline(description);
    for (_, packet) in &handed[..3] {
        assert!(adapter.transmit(at(0), packet), "there is room");
    }
    adapter.timer(at(10));
    adapter.timer(at(20));
    adapter.timer(at(30));
    let (mut left, mut answered) = (Vec::new(), Vec::new());
    while let Some(output) = adapter.poll_output() {
        match output {
            AdapterOutput::Frame { packet, .. } => left.push((packet.message, packet.tag.class)),
            AdapterOutput::Response(AdapterResponse::Transmitted(packet)) => {
                answered.push((packet.message, packet.tag));
            }
            _ => {}
        }
    }
    assert_eq!(left, [(0, Class::RealTime), (1, Class::RealTime), (2, Class::BestEffort)]);
    assert_eq!(answered, [0, 1, 2].map(|n| (n, handed[n as usize].1.tag)));
}

/// A bucket of 200. Of a message of three packets, after one of 100, the first has 60 of what is
/// left; 50 more is too much, and the last goes the same way, though there would be room for its
/// 20. The next message finds that room.
#[test]
fn the_rest_of_a_message_goes_the_same_way() {
    let part = |message, index, size| {
        let packet = packet(message, Class::RealTime, 500);
        (0, Packet { index, count: 3, size: Bytes::new(size), ..packet })
    };
    let handed = [part(0, 2, 100), part(1, 0, 60), part(1, 1, 50), part(1, 2, 20), part(2, 0, 40)];
    assert_eq!(
        run(policed(Excess::Drop, 0, vec![stage("link", vec![phase(1, None)])]), &handed),
        (vec![(0, 1), (1, 2), (2, 3)], vec![1, 1])
    );
}

/// The same where it goes on without a guarantee: the packet that was demoted is counted as what it was.
#[test]
fn the_rest_of_a_message_is_demoted_too() {
    let part = |message, index, size| {
        let packet = packet(message, Class::RealTime, 500);
        Packet { index, count: 3, size: Bytes::new(size), ..packet }
    };
    let mut adapter = pipeline(policed(Excess::Demote, 0, vec![stage("link", vec![phase(1, None)])]));
    for packet in [part(0, 2, 100), part(1, 0, 60), part(1, 1, 50), part(1, 2, 20), part(2, 0, 40)] {
        assert!(adapter.transmit(at(0), &packet), "there is room");
    }
    (1..=5).for_each(|us| adapter.timer(at(us)));
    let left = std::iter::from_fn(|| adapter.poll_output()).filter_map(|output| match output {
        AdapterOutput::Frame { packet, .. } => Some((packet.message, packet.tag.class)),
        _ => None,
    });
    let (real_time, best_effort) = (Class::RealTime, Class::BestEffort);
    assert_eq!(
        left.collect::<Vec<_>>(),
        [(0, real_time), (1, real_time), (1, best_effort), (1, best_effort), (2, real_time)]
    );
}

/// Packets that a channel sends as excess are not policed, and use none of its contract: both
/// guaranteed packets find room.
#[test]
fn what_is_sent_as_excess_is_not_policed() {
    let mut handed = real_time(&[0, 0, 0]);
    handed[1].1.tag = Tag::best_effort(at(0));
    let outcome = run(policed(Excess::Drop, 0, vec![stage("link", vec![phase(1, None)])]), &handed);
    assert_eq!(outcome, (vec![(0, 1), (1, 2), (2, 3)], vec![]));
}

/// One buffer: the third packet is fetched at 20, and conforms by then. It is what is fetched that counts.
#[test]
fn what_waits_is_looked_at_again() {
    for excess in [Excess::Drop, Excess::Demote] {
        let mut description = policed(excess, 0, vec![stage("link", vec![phase(10, None)])]);
        description.transmit_buffers =
            AdapterBuffers { pool: BufferPool::Shared(1), overload: Overload::Block };
        let mut adapter = pipeline(description);
        for (us, packet) in real_time(&[0, 0, 0]) {
            assert!(adapter.transmit(at(us), &packet), "there is room");
        }
        [10, 20, 30].into_iter().for_each(|us| adapter.timer(at(us)));
        let left = std::iter::from_fn(|| adapter.poll_output()).filter_map(|output| match output {
            AdapterOutput::Frame { packet, .. } => Some(packet.tag.class),
            _ => None,
        });
        assert_eq!(left.collect::<Vec<_>>(), [Class::RealTime; 3], "{excess:?}");
    }
}

/// A reset gives a demoted packet back as what it was.
#[test]
fn a_demoted_packet_is_given_back_as_what_it_was() {
    let mut adapter = pipeline(policed(Excess::Demote, 0, vec![stage("link", vec![phase(10, None)])]));
    for (us, packet) in real_time(&[0, 0, 0]) {
        assert!(adapter.transmit(at(us), &packet), "there is room");
    }
    adapter.reset(at(5));
    let given = std::iter::from_fn(|| adapter.poll_output()).filter_map(|output| match output {
        AdapterOutput::Response(AdapterResponse::Failed(packet, Loss::Reset)) => Some(packet.tag.class),
        _ => None,
    });
    assert_eq!(given.collect::<Vec<_>>(), [Class::RealTime; 3]);
}

/// Frames that come in have the same contract: the third of three is dropped before it has a
/// buffer, or is best effort from there.
#[test]
fn what_comes_in_is_policed_too() {
    for excess in [Excess::Drop, Excess::Demote] {
        let mut description = description(vec![stage("link", vec![phase(1, None)])]);
        description.receive = vec![stage("store", vec![phase(2, None)])];
        description.receive_policing = Some(Policing { excess, tolerance: Span::ZERO });
        let mut adapter = pipeline(description);
        for (us, packet) in real_time(&[0, 0, 0]) {
            adapter.receive(at(us), &packet);
        }
        assert_eq!(adapter.buffers_in_use(), if excess == Excess::Drop { 2 } else { 3 });
        while let Some(now) = adapter.next_deadline() {
            adapter.timer(now);
        }
        let (mut received, mut discarded) = (Vec::new(), Vec::new());
        while let Some(output) = adapter.poll_output() {
            match output {
                AdapterOutput::Response(AdapterResponse::Received(packet)) => received.push(packet.tag.class),
                AdapterOutput::Discarded(packet, loss) => discarded.push((packet.message, loss)),
                _ => {}
            }
        }
        match excess {
            Excess::Drop => assert_eq!((received.len(), discarded), (2, vec![(2, Loss::Contract)])),
            Excess::Demote => assert_eq!(
                (received, discarded),
                (vec![Class::RealTime, Class::RealTime, Class::BestEffort], vec![])
            ),
        }
    }
}
