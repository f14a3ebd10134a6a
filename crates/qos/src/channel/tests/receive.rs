//! Packets that come in: received here, or passed on.

use super::*;

fn packet(class: Class, message: u64, index: u32, count: u32, deadline: u64) -> Packet {
    let tag = Tag { class, logical_arrival: at(0), deadline: at(deadline), level: 4 };
    Packet {
        channel: ChannelId(9),
        message,
        index,
        count,
        size: PACKET,
        message_size: PACKET * u64::from(count),
        tag,
        due_from: at(0),
        sent: at(0),
        created: at(0),
        handed: at(0),
    }
}

fn receiving(role: Role, config: Config) -> (Subsystem, ChannelId) {
    let mut s = Subsystem::new(config);
    let id = s.open(ChannelConfig { role, level: 6, ..real_time(7) });
    (s, id)
}

fn works(s: &mut Subsystem, now: u64) -> Vec<Work> {
    drain(s, at(now)).0.into_iter().map(|(_, work)| work).collect()
}

/// The last packet of a message completes it, whichever comes last; what is relayed is moved and no more.
#[test]
fn work_is_by_role() {
    let (mut s, id) = receiving(Role::Receive, config());
    for index in 0..3 {
        s.receive(at(5), id, packet(Class::RealTime, 0, index, 3, 5)).unwrap();
    }
    let (part, last) = (Work::Receive { completes: false }, Work::Receive { completes: true });
    assert_eq!(works(&mut s, 5), [part, part, last]);
    assert_eq!((s.counters(id).delivered, s.buffers_in_use(id)), (1, 0));
    let (mut s, id) = receiving(Role::Relay, config());
    for index in 0..3 {
        s.receive(at(5), id, packet(Class::RealTime, 0, index, 3, 5)).unwrap();
    }
    assert_eq!(works(&mut s, 5), [Work::Relay; 3]);
    let counters = s.counters(id);
    assert_eq!((counters.delivered, counters.created, s.buffers_in_use(id)), (0, 3, 3));
}

/// Due here 7 ms after it was due there, at this host's level and by this host's number; made when it was moved.
#[test]
fn a_relayed_packet_is_tagged_anew() {
    let (mut s, id) = receiving(Role::Relay, config());
    s.receive(at(1), id, packet(Class::RealTime, 0, 0, 1, 5)).unwrap();
    assert_eq!(s.next_wakeup(at(1)), Some(at(5)), "early until it was due there");
    let (_, sent) = drain(&mut s, at(5));
    let expected = Tag { class: Class::RealTime, logical_arrival: at(5), deadline: at(12), level: 6 };
    assert_eq!((sent[0].tag, sent[0].channel, sent[0].created), (expected, id, at(5)));
    // Without enforcement it counts from now.
    let (mut s, id) = receiving(Role::Relay, Config { enforcement: false, ..config() });
    s.receive(at(1), id, packet(Class::RealTime, 0, 0, 1, 5)).unwrap();
    let (_, sent) = drain(&mut s, at(1));
    assert_eq!((sent[0].tag.logical_arrival, sent[0].tag.deadline), (at(1), at(8)));
}

#[test]
fn best_effort_is_tagged_as_such() {
    let mut s = Subsystem::new(config());
    let best_effort = ChannelConfig::best_effort(PACKET, 2, PACKET);
    let id = s.open(ChannelConfig { role: Role::Relay, ..best_effort });
    s.receive(at(3), id, packet(Class::BestEffort, 0, 0, 1, 5)).unwrap();
    let (_, sent) = drain(&mut s, at(3));
    let expected = Tag { class: Class::BestEffort, logical_arrival: at(3), deadline: Time::MAX, level: 31 };
    assert_eq!(sent[0].tag, expected);
}

/// Two messages of four packets fit; the ninth packet finds no buffer. A receiver's buffer is free when its packet is
/// processed, a relay's when it has left.
#[test]
fn a_packet_without_a_buffer_is_dropped() {
    for role in [Role::Receive, Role::Relay] {
        let (mut s, id) = receiving(role, config());
        for n in 0..8 {
            s.receive(at(5), id, packet(Class::RealTime, n / 4, (n % 4) as u32, 4, 5)).unwrap();
        }
        let extra = packet(Class::RealTime, 2, 0, 4, 5);
        assert_eq!(s.receive(at(5), id, extra), Err(Dropped::PacketQueue));
        assert_eq!((s.counters(id).dropped_packets, s.counters(id).dropped[&Dropped::PacketQueue]), (1, 1));
        let (_, sent) = drain(&mut s, at(5));
        if role == Role::Relay {
            assert_eq!(s.receive(at(5), id, extra), Err(Dropped::PacketQueue));
            s.transmitted(at(5), &sent[0]);
        }
        assert_eq!(s.receive(at(5), id, extra), Ok(()));
    }
}

/// A packet that was lost on the way takes its message with it, as soon as the next one is complete.
#[test]
fn an_incomplete_message_is_counted() {
    let (mut s, id) = receiving(Role::Receive, config());
    for (message, index) in [(0, 0), (1, 0), (1, 1)] {
        s.receive(at(5), id, packet(Class::RealTime, message, index, 2, 5)).unwrap();
    }
    drain(&mut s, at(5));
    assert_eq!(s.counters(id).dropped[&Dropped::Incomplete], 1);
    assert_eq!(s.counters(id).delivered, 1);
}

/// A packet is the same wherever it is looked at, by channel, message and index.
#[test]
fn packets_are_told_apart() {
    let one = packet(Class::RealTime, 2, 1, 3, 5);
    assert!(one.is_same(&Packet { handed: at(4), ..one }));
    for other in
        [Packet { channel: ChannelId(1), ..one }, Packet { message: 3, ..one }, Packet { index: 0, ..one }]
    {
        assert!(!one.is_same(&other));
    }
    assert_eq!([0, 1, 2].map(|index| Packet { index, ..one }.is_last()), [false, false, true]);
}

/// The papers' buffers: as many slots as the burst, and as many packets as fit those.
#[test]
fn channels_have_the_papers_buffers() {
    let real_time = real_time(5);
    assert_eq!((real_time.message_slots, real_time.packet_slots, real_time.level), (2, 8, 0));
    assert_eq!((real_time.class, real_time.role), (Class::RealTime, Role::Send));
    let best_effort = ChannelConfig::best_effort(PACKET * 3, 5, PACKET);
    assert_eq!((best_effort.message_slots, best_effort.packet_slots, best_effort.level), (5, 15, 31));
    assert_eq!((best_effort.class, best_effort.deadline), (Class::BestEffort, Span::MAX));
}
