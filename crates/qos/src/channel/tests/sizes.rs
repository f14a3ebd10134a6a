//! Messages larger or smaller than the sizes of their contract.

use super::*;

#[test]
fn an_oversize_message_is_carried_as_messages_of_its_contract() {
    for order in [Order::MultiClassEdf, Order::FixedPriority] {
        let mut s = Subsystem::new(Config { order, ..config() });
        let id = s.open(real_time(5));
        // 36 KiB of 16 KiB messages: two of four packets, and one of one, ten milliseconds apart.
        s.send(at(0), id, Bytes::from_kib(36));
        assert_eq!(deadlines(&mut s, at(0)), [at(5); 4], "{order:?}");
        assert_eq!(s.next_wakeup(at(0)), Some(at(10)));
        assert_eq!(deadlines(&mut s, at(9)), []);
        assert_eq!(deadlines(&mut s, at(10)), [at(15); 4]);
        assert_eq!(deadlines(&mut s, at(20)), [at(25)]);
        // The next message follows all three.
        s.send(at(20), id, PACKET);
        assert_eq!(s.next_wakeup(at(20)), Some(at(30)));
        assert_eq!(deadlines(&mut s, at(30)), [at(35)]);
    }
}

/// Every piece of an oversize message costs the same as a message of the contract, beginning with a
/// first packet: 20 KiB are four packets, of the first 16 KiB, and, 10 ms later, one more. Only the
/// message's own first packet is made by a new thread.
#[test]
fn a_piece_begins_as_a_message_does() {
    for (processing, new_thread) in [(Processing::PerChannel, false), (Processing::PerMessage, true)] {
        let mut s = Subsystem::new(Config { processing, ..config() });
        let id = s.open(real_time(5));
        s.send(at(0), id, Bytes::from_kib(20));
        let works =
            |s: &mut Subsystem, now| drain(s, now).0.into_iter().map(|(_, work)| work).collect::<Vec<_>>();
        let further = Work::Packet;
        assert_eq!(
            works(&mut s, at(0)),
            [Work::FirstPacket { new_thread, single: false }, further, further, further]
        );
        assert_eq!(works(&mut s, at(10)), [Work::FirstPacket { new_thread: false, single: true }]);
    }
}

#[test]
fn a_size_outside_the_contract_that_cannot_be_carried_in_pieces_is_refused() {
    let mut s = Subsystem::new(config());
    let real_time = s.open(real_time(5));
    let whole = TrafficSpec { min_message: SPEC.max_message, ..SPEC };
    let fixed = s.open(ChannelConfig::real_time(whole, Span::from_ms(5), PACKET));
    let best_effort = s.open(ChannelConfig::best_effort(PACKET, 2, PACKET));
    // The contract of 1 to 16 KiB has packets down to 1 B, that of 16 KiB none below 4 KiB.
    assert!(matches!(s.send(at(0), real_time, Bytes::new(16 * 1024 + 1)), Sent::Accepted { .. }));
    assert_eq!(s.send(at(0), fixed, Bytes::new(16 * 1024 + 1)), Sent::Dropped(Dropped::Oversize));
    assert!(matches!(s.send(at(0), fixed, Bytes::from_kib(20)), Sent::Accepted { .. }));
    assert_eq!(s.send(at(0), fixed, Bytes::new(16 * 1024 - 1)), Sent::Dropped(Dropped::Undersized));
    // Best effort has no rate at which pieces could be sent.
    assert_eq!(s.send(at(0), best_effort, Bytes::new(4097)), Sent::Dropped(Dropped::Oversize));
    assert_eq!(s.send(at(0), best_effort, Bytes::new(4095)), Sent::Dropped(Dropped::Undersized));
    assert!(matches!(s.send(at(0), best_effort, PACKET), Sent::Accepted { .. }));
}
