//! Packets that arrive: received here, or relayed.

use super::*;

pub(super) fn packet(class: Class, message: u64, index: u32, count: u32, deadline: u64) -> Packet {
    let tag = Tag { class, logical_arrival: at(0), deadline: at(deadline), tick: Vtick::NONE, level: 4 };
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
        carried: Carried::NOTHING,
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

/// The packet that arrives last completes its message, whichever that is; a relayed packet costs
/// only the relay work.
#[test]
fn work_is_by_role() {
    let (mut s, id) = receiving(Role::Receive, config());
    for index in 0..3 {
        s.receive(at(5), id, packet(Class::RealTime, 0, index, 3, 5)).unwrap();
    }
    let (part, last) = (Work::Receive { completes: false }, Work::Receive { completes: true });
    assert_eq!(works(&mut s, 5), [part, part, last]);
    assert_eq!((s.counters(id).delivered, s.buffers_in_use(id)), (1, 0));
    assert!(s.counters(id).dropped.is_empty(), "nothing was, for no cause");
    let (mut s, id) = receiving(Role::Relay, config());
    for index in 0..3 {
        s.receive(at(5), id, packet(Class::RealTime, 0, index, 3, 5)).unwrap();
    }
    assert_eq!(works(&mut s, 5), [Work::Relay; 3]);
    let counters = s.counters(id);
    assert_eq!((counters.delivered, counters.created, s.buffers_in_use(id)), (0, 3, 3));
}

/// The deadline here is 7 ms after the last one, at this host's level and under this host's number;
/// `created` is the time of the relay.
#[test]
fn a_relayed_packet_is_tagged_anew() {
    let (mut s, id) = receiving(Role::Relay, config());
    s.receive(at(1), id, packet(Class::RealTime, 0, 0, 1, 5)).unwrap();
    assert_eq!(s.next_wakeup(at(1)), Some(at(5)), "early until it was due there");
    let (_, sent) = drain(&mut s, at(5));
    let expected =
        Tag { class: Class::RealTime, logical_arrival: at(5), deadline: at(12), tick: SPEC.tick(), level: 6 };
    assert_eq!((sent[0].tag, sent[0].channel, sent[0].created), (expected, id, at(5)));
    // Without enforcement the deadline counts from now.
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
    let expected = Tag {
        class: Class::BestEffort,
        logical_arrival: at(3),
        deadline: Time::MAX,
        tick: Vtick::NONE,
        level: 31,
    };
    assert_eq!(sent[0].tag, expected);
}

/// Two messages of four packets fit; the ninth packet finds no buffer. A receiver frees a buffer
/// when its packet is processed, a relay when it has left.
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

/// A packet that was demoted on its path is best effort here: it is not held, and has a best-effort
/// tag at a relay. Its deadline separates it from packets that never had a guarantee, which have a
/// queue of their own: its message is reassembled.
#[test]
fn what_was_demoted_stays_with_its_message() {
    let open = |role| {
        let mut s = Subsystem::new(config());
        let excess = MessageOverflow::BestEffort;
        let id = s.open(ChannelConfig { role, level: 6, message_overflow: excess, ..real_time(7) });
        (s, id)
    };
    let demoted = |index| {
        let packet = packet(Class::BestEffort, 0, index, 2, 0);
        Packet { carried: Carried { due: at(20), ..Carried::NOTHING }, ..packet }
    };
    assert_eq!((demoted(1).is_excess(), packet(Class::BestEffort, 0, 0, 2, 0).is_excess()), (false, true));
    let (mut s, id) = open(Role::Receive);
    s.receive(at(5), id, packet(Class::RealTime, 0, 0, 2, 5)).unwrap();
    s.receive(at(5), id, demoted(1)).unwrap();
    drain(&mut s, at(5));
    assert_eq!((s.counters(id).delivered, s.buffers_in_use(id)), (1, 0));
    let (mut s, id) = open(Role::Relay);
    s.receive(at(1), id, demoted(0)).unwrap();
    let (_, sent) = drain(&mut s, at(1));
    assert_eq!(sent[0].tag, Tag::best_effort(at(1)));
    s.transmitted(at(2), &sent[0]);
    assert_eq!(s.buffers_in_use(id), 0, "its buffer is given back where it was taken");
}

/// The loss of a packet on the path drops its message, as soon as the next message is complete.
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

/// The papers' buffers: as many message slots as the burst, and packet buffers for all of these.
#[test]
fn channels_have_the_papers_buffers() {
    let real_time = real_time(5);
    assert_eq!((real_time.message_slots, real_time.packet_slots, real_time.level), (2, 8, 0));
    assert_eq!((real_time.class, real_time.role), (Class::RealTime, Role::Send));
    let best_effort = ChannelConfig::best_effort(PACKET * 3, 5, PACKET);
    assert_eq!((best_effort.message_slots, best_effort.packet_slots, best_effort.level), (5, 15, 31));
    assert_eq!((best_effort.class, best_effort.deadline), (Class::BestEffort, Span::MAX));
}

/// Two relays with blocks of four packets. The first relay's packets belong to two messages, and
/// the second's packet is due between them: it goes between, since a block is for one message.
/// Without a guarantee, for best effort or without enforcement, the block continues.
#[test]
fn a_received_block_is_for_one_guaranteed_message() {
    let block = Block::Packets(4);
    let base = config();
    let preemption = Preemption { real_time: block, best_effort: block, ..base.preemption };
    let guaranteed = ChannelConfig { role: Role::Relay, ..real_time(7) };
    let best_effort =
        ChannelConfig { role: Role::Relay, ..ChannelConfig::best_effort(SPEC.max_message, 4, PACKET) };
    for (enforcement, channel, expected) in [
        (true, guaranteed, [0, 1, 0]),
        (false, guaranteed, [0, 0, 1]),
        (true, best_effort, [0, 0, 1]),
        (false, best_effort, [0, 0, 1]),
    ] {
        let mut s = Subsystem::new(Config { preemption, enforcement, ..base });
        let (a, b) = (s.open(channel), s.open(channel));
        for (ms, id, message) in [(8, a, 0), (9, b, 0), (10, a, 1)] {
            s.receive(at(ms), id, packet(channel.class, message, 0, 1, ms - 3)).unwrap();
        }
        assert_eq!(threads(&drain(&mut s, at(10)).0), expected, "{:?}, {enforcement}", channel.class);
    }
}

/// A block continues within a message though one of higher priority has arrived. A block of a
/// message ends with its last packet; if that was lost, after the largest message's number of
/// packets: four here.
#[test]
fn a_received_block_ends_with_the_message() {
    let message = Preemption {
        real_time: Block::Message,
        early: Block::Message,
        best_effort: Block::Message,
        immediate: false,
    };
    // Three packets of a message; the first is being made when the one of higher priority arrives.
    let mut s = Subsystem::new(Config { preemption: message, ..config() });
    let (a, b) = (s.open(ChannelConfig { role: Role::Relay, ..real_time(7) }), s.open(real_time(1)));
    for index in 0..3 {
        s.receive(at(5), a, packet(Class::RealTime, 0, index, 3, 5)).unwrap();
    }
    assert!(matches!(s.next_step(at(5)), Step::Process { thread: Thread::Handler(0), .. }));
    s.send(at(5), b, PACKET);
    s.finish(at(5));
    assert_eq!(threads(&drain(&mut s, at(5)).0), [0, 0, 1]);
    // Best effort takes turns: two messages of two packets, and one of another channel; then six
    // packets of messages without an end.
    let best_effort =
        ChannelConfig { role: Role::Relay, ..ChannelConfig::best_effort(SPEC.max_message, 4, PACKET) };
    for (count, packets, expected) in [(2, 4, [0, 0, 1, 0, 0].as_slice()), (8, 6, &[0, 0, 0, 0, 1, 0, 0])] {
        let mut s = Subsystem::new(Config { preemption: message, ..config() });
        let (a, b) = (s.open(best_effort), s.open(best_effort));
        for n in 0..packets {
            let (message, index) = (u64::from(n / count), n % count);
            s.receive(at(5), a, packet(Class::BestEffort, message, index, count, 5)).unwrap();
        }
        s.receive(at(5), b, packet(Class::BestEffort, 0, 0, 1, 5)).unwrap();
        assert_eq!(threads(&drain(&mut s, at(5)).0), expected, "{count}");
    }
    // A block of packets does not end with a message, nor does an unlimited block.
    for block in [Block::Packets(3), Block::Never] {
        let mut s =
            Subsystem::new(Config { preemption: Preemption { best_effort: block, ..message }, ..config() });
        let (a, b) = (s.open(best_effort), s.open(best_effort));
        for (id, message) in [(a, 0), (a, 1), (a, 2), (b, 0)] {
            s.receive(at(5), id, packet(Class::BestEffort, message, 0, 1, 5)).unwrap();
        }
        assert_eq!(threads(&drain(&mut s, at(5)).0), [0, 0, 0, 1], "{block:?}");
    }
}

/// A link in the order of FIFO+: the packet carries its wait here less the usual one to the next
/// host.
#[test]
fn a_packet_carries_what_it_waited_too_long() {
    let base = config();
    let link = LinkConfig { order: Order::FifoPlus, ..base.link };
    let mut s = Subsystem::new(Config { link, ..base });
    let id = s.open(ChannelConfig { way: Way { links: 3, deadline: Span::from_ms(50) }, ..real_time(7) });
    s.send(at(0), id, PACKET);
    let (_, sent) = drain(&mut s, at(0));
    let mut first = sent[0];
    assert_eq!((first.carried.hops, first.carried.due), (3, at(50)));
    // The usual wait is zero so far, so the whole wait of 4 counts.
    first.handed = at(4);
    first.arrive();
    assert_eq!((first.carried.hops, first.carried.excess), (2, 4_000_000_000));
    first.arrive();
    assert_eq!((first.carried.hops, first.carried.excess), (1, 4_000_000_000), "it is counted once");
}
