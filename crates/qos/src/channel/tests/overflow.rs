//! Full queues and buffers, and the free capacity that is reported.

use super::*;

fn channel(message_overflow: MessageOverflow) -> ChannelConfig {
    ChannelConfig { message_overflow, ..real_time(5) }
}

/// Two slots and an idle handler, which dequeues a message at once.
#[test]
fn room_is_what_a_sender_may_send() {
    let mut s = Subsystem::new(config());
    let blocks = s.open(channel(MessageOverflow::Block));
    let drops = s.open(channel(MessageOverflow::Drop));
    let degrades = s.open(channel(MessageOverflow::BestEffort));
    assert_eq!([blocks, drops, degrades].map(|id| s.room(id)), [3, u64::MAX, u64::MAX]);
    for left in [2, 1, 0] {
        assert!(s.has_room(at(0), blocks));
        assert!(matches!(s.send(at(0), blocks, PACKET), Sent::Accepted { .. }));
        assert_eq!(s.room(blocks), left);
    }
    assert!(!s.has_room(at(0), blocks));
    assert_eq!(s.send(at(0), blocks, PACKET), Sent::WouldBlock);
    // The first message is made; the handler has the second, which is held, and the third is
    // queued.
    drain(&mut s, at(0));
    assert_eq!((s.room(blocks), s.has_room(at(0), blocks)), (1, true));
    // Both are made at their logical arrival, and the handler idles again. Their packets wait for
    // the adapter, and take no slot.
    drain(&mut s, at(10));
    assert_eq!(s.room(blocks), 2);
    drain(&mut s, at(20));
    assert_eq!(s.room(blocks), 3);
}

#[test]
fn room_without_enforcement_has_no_end() {
    let mut s = Subsystem::new(Config { enforcement: false, ..config() });
    let id = s.open(channel(MessageOverflow::Block));
    for _ in 0..5 {
        assert!(s.has_room(at(0), id));
        assert_eq!(s.room(id), u64::MAX);
        assert!(matches!(s.send(at(0), id, PACKET), Sent::Accepted { .. }));
    }
}

/// With a thread per message the message keeps its slot until the thread has made its last packet.
#[test]
fn a_thread_keeps_its_slot() {
    let mut s = Subsystem::new(Config { processing: Processing::PerMessage, ..config() });
    let id = s.open(channel(MessageOverflow::Block));
    assert_eq!(s.room(id), 2);
    s.send(at(0), id, PACKET * 2);
    s.send(at(0), id, PACKET);
    assert_eq!((s.room(id), s.send(at(0), id, PACKET)), (0, Sent::WouldBlock));
    assert!(matches!(s.next_step(at(0)), Step::Process { .. }));
    s.finish(at(0));
    assert_eq!(s.room(id), 0, "one of two packets is made");
    drain(&mut s, at(0));
    assert_eq!(s.room(id), 1);
}

/// Beyond two slots and the handler's message, three go as excess, and further ones are dropped.
/// Messages and excess have a common numbering, and the excess has buffers of its own.
#[test]
fn excess_has_a_queue_of_its_own() {
    let mut s = Subsystem::new(config());
    let id = s.open(channel(MessageOverflow::BestEffort));
    let answers: Vec<_> = (0..7).map(|_| s.send(at(0), id, PACKET)).collect();
    assert_eq!(answers[..3], [0, 1, 2].map(|message| Sent::Accepted { message }));
    assert_eq!(answers[3..6], [3, 4, 5].map(|message| Sent::Excess { message }));
    assert_eq!(answers[6], Sent::Dropped(Dropped::MessageQueue));
    let counters = s.counters(id);
    assert_eq!((counters.accepted, counters.excess, counters.dropped_packets), (6, 3, 1));
    let (done, sent) = drain(&mut s, at(0));
    // Messages within the contract first; of these only the first is current.
    assert_eq!(threads(&done), [0, 1, 1, 1]);
    assert_eq!(s.buffers_in_use(id), 4);
    s.transmitted(at(0), &sent[0]);
    assert_eq!(s.buffers_in_use(id), 3);
    let excess = s.interrupt_transmit(at(0)).unwrap();
    assert_eq!((excess.message, excess.tag.class, excess.tag.level), (3, Class::BestEffort, 31));
    s.transmitted(at(0), &excess);
    assert_eq!(s.buffers_in_use(id), 2);
}

/// The host works ahead and makes each message at once, so that a slot is always free. At 0 ms the
/// contract covers logical arrivals up to 20 ms, three messages. The rest goes as excess until 10
/// ms, when the contract covers one message more.
#[test]
fn a_free_slot_gives_no_guarantee_beyond_the_contract() {
    let ahead = EarlyPolicy { horizon: Span::from_secs(1), ..EarlyPolicy::HOLD };
    let base = config();
    let link = LinkConfig { early: ahead, ..base.link };
    let mut s = Subsystem::new(Config { early: ahead, link, ..base });
    let id = s.open(ChannelConfig { packet_slots: 100, ..channel(MessageOverflow::BestEffort) });
    let mut send = |now| {
        let answer = s.send(now, id, PACKET);
        drain(&mut s, now);
        answer
    };
    let answers: Vec<_> = [0, 0, 0, 0, 9, 10, 10].map(|ms| send(at(ms))).into();
    let guaranteed = answers.iter().map(|answer| matches!(answer, Sent::Accepted { .. }));
    assert_eq!(guaranteed.collect::<Vec<_>>(), [true, true, true, false, false, true, false]);
    assert_eq!(s.counters(id).excess, 3);
}

/// A source without end polls for a free slot. Three messages are guaranteed, three are excess, and
/// then both queues are full. With free slots in the guaranteed queue alone a slot counts as free
/// once the contract covers another message.
#[test]
fn there_is_room_where_the_next_message_would_go() {
    let mut s = Subsystem::new(config());
    let id = s.open(channel(MessageOverflow::BestEffort));
    for _ in 0..6 {
        assert!(s.has_room(at(0), id));
        s.send(at(0), id, PACKET);
    }
    assert!(!s.has_room(at(0), id) && !s.has_room(at(30), id));
    let excess = s.subsystem.channels[id].excess.expect("it carries excess");
    let own = s.subsystem.channels[id].lane;
    s.subsystem.lanes[own].messages.clear();
    assert!(s.subsystem.lanes[excess].room(Processing::PerChannel) == 0);
    assert_eq!([9, 10].map(|ms| s.has_room(at(ms), id)), [false, true]);
}

/// Only a guaranteed channel has excess; best effort has no lower class.
#[test]
fn best_effort_drops_its_excess() {
    let mut s = Subsystem::new(config());
    let best_effort = ChannelConfig::best_effort(PACKET, 1, PACKET);
    let id = s.open(ChannelConfig { message_overflow: MessageOverflow::BestEffort, ..best_effort });
    s.send(at(0), id, PACKET);
    s.send(at(0), id, PACKET);
    assert_eq!(s.send(at(0), id, PACKET), Sent::Dropped(Dropped::MessageQueue));
}

/// Two buffers, a message of four packets: the handler stops after two, yields the CPU, and makes a
/// further packet for each freed buffer.
#[test]
fn a_handler_without_buffers_gives_up_the_cpu() {
    let base = config();
    let preemption = Preemption { real_time: Block::Message, ..base.preemption };
    let mut s = Subsystem::new(Config { preemption, ..base });
    let id = s.open(ChannelConfig { packet_slots: 2, ..real_time(5) });
    let other = s.open(real_time(9));
    s.send(at(0), id, SPEC.max_message);
    s.send(at(0), other, PACKET);
    let (done, sent) = drain(&mut s, at(0));
    assert_eq!(threads(&done), [0, 0, 1]);
    s.transmitted(at(0), &sent[0]);
    assert_eq!(threads(&drain(&mut s, at(0)).0), [0]);
}

/// A message of which no packet found a buffer leaves its logical arrival to the next; a message of
/// which some did does not.
#[test]
fn a_message_that_is_lost_whole_takes_no_time() {
    let drops = |packet_slots| ChannelConfig {
        packet_slots,
        packet_overflow: PacketOverflow::Drop,
        message_slots: 4,
        ..real_time(5)
    };
    for (slots, arrival) in [(1, at(10)), (2, at(20))] {
        let mut s = Subsystem::new(config());
        let id = s.open(drops(slots));
        s.send(at(0), id, PACKET);
        drain(&mut s, at(0));
        s.send(at(10), id, PACKET * 2);
        drain(&mut s, at(10));
        assert_eq!(s.counters(id).dropped_packets, 3 - slots);
        s.send(at(10), id, PACKET);
        assert_eq!(s.next_wakeup(at(10)).unwrap_or(at(10)), arrival, "{slots} buffers");
    }
}

/// Only the latest arrival can be retracted: with another message sent after it the lost message
/// keeps its logical arrival.
#[test]
fn only_the_latest_message_takes_no_time() {
    let mut s = Subsystem::new(config());
    let id = s.open(ChannelConfig {
        packet_slots: 1,
        packet_overflow: PacketOverflow::Drop,
        message_slots: 4,
        ..real_time(5)
    });
    s.send(at(0), id, PACKET);
    drain(&mut s, at(0));
    s.send(at(10), id, PACKET);
    s.send(at(10), id, PACKET);
    drain(&mut s, at(10));
    assert_eq!(s.counters(id).dropped[&Dropped::PacketQueue], 1);
    assert_eq!(s.next_wakeup(at(10)), Some(at(20)));
}

/// Three buffers for two messages of three packets, each with a thread of its own. The first has
/// made two when it yields, and needs the third buffer. The second thread has to leave that buffer
/// free, and makes its packets as buffers are freed.
#[test]
fn a_thread_leaves_the_buffers_that_an_earlier_message_will_want() {
    let mut s = Subsystem::new(Config { processing: Processing::PerMessage, ..config() });
    let best_effort = ChannelConfig::best_effort(PACKET * 3, 4, PACKET);
    let id = s.open(ChannelConfig { packet_slots: 3, ..best_effort });
    s.send(at(0), id, PACKET * 3);
    s.send(at(0), id, PACKET * 3);
    let (done, sent) = drain(&mut s, at(0));
    assert_eq!(threads(&done), [0, 0, 0]);
    s.transmitted(at(0), &sent[0]);
    assert_eq!(threads(&drain(&mut s, at(0)).0), [1]);
}

/// A handler that has made its last packet and is about to call the link has no message, and takes
/// none before it has yielded the CPU. Messages sent meanwhile have two slots, and are made in
/// turn.
#[test]
fn a_handler_that_calls_the_link_takes_no_message() {
    let mut s = Subsystem::new(config());
    let id = s.open(ChannelConfig { class: Class::BestEffort, ..channel(MessageOverflow::Block) });
    s.send(at(0), id, PACKET);
    assert!(matches!(s.next_step(at(0)), Step::Process { .. }));
    s.finish(at(0));
    assert_eq!(s.room(id), 2);
    for left in [1, 0] {
        assert!(matches!(s.send(at(0), id, PACKET), Sent::Accepted { .. }));
        assert_eq!(s.room(id), left);
    }
    assert_eq!(s.send(at(0), id, PACKET), Sent::WouldBlock);
    let (done, sent) = drain(&mut s, at(0));
    assert_eq!((threads(&done), sent.len()), (vec![0, 0], 1));
    assert_eq!(s.room(id), 3);
}

/// Dropped excess must not move the logical time of the messages within the contract.
#[test]
fn dropped_excess_leaves_the_contract_alone() {
    let mut s = Subsystem::new(config());
    let drops = PacketOverflow::Drop;
    let id = s.open(ChannelConfig {
        packet_slots: 1,
        packet_overflow: drops,
        ..channel(MessageOverflow::BestEffort)
    });
    // One with the handler, two queued, and two beyond: of these the second finds the one buffer
    // taken.
    let answers: Vec<_> = (0..5).map(|_| s.send(at(0), id, PACKET)).collect();
    assert!(matches!(answers[2..], [Sent::Accepted { .. }, Sent::Excess { .. }, Sent::Excess { .. }]));
    let (_, sent) = drain(&mut s, at(0));
    assert_eq!(s.counters(id).dropped.get(&Dropped::PacketQueue), Some(&1));
    s.transmitted(at(0), &sent[0]);
    // The three within the contract take until 30 ms, whatever became of the others.
    for now in [at(10), at(20)] {
        for packet in s.interrupt_transmit(now).into_iter().chain(drain(&mut s, now).1) {
            s.transmitted(now, &packet);
        }
    }
    s.send(at(21), id, PACKET);
    assert_eq!(s.next_wakeup(at(21)), Some(at(30)));
}
