//! The subsystem, step by step, with steps that take no time.

mod blocks;
mod closing;
mod driven;
mod early;
mod link;
mod links;
mod misuse;
mod order;
mod overflow;
mod receive;
mod sizes;

use laxity_units::{Bytes, Span, Time};

use driven::Subsystem;

use super::*;
use crate::costs::LinkCosts;
use crate::discipline::{Class, EarlyPolicy, Tag};
use crate::traffic::TrafficSpec;
use crate::virtual_clock::Vtick;

const PACKET: Bytes = Bytes::from_kib(4);
const SPEC: TrafficSpec = TrafficSpec {
    max_message: Bytes::from_kib(16),
    min_message: Bytes::from_kib(1),
    burst: 2,
    min_interval: Span::from_ms(10),
};

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn config() -> Config {
    let block = Block::Packets(2);
    Config {
        cores: 1,
        processing: Processing::PerChannel,
        order: Order::MultiClassEdf,
        early: EarlyPolicy::HOLD,
        preemption: Preemption { real_time: block, early: block, best_effort: block, immediate: false },
        link: LinkConfig {
            paradigm: LinkParadigm::O1,
            core: CoreId::FIRST,
            order: Order::MultiClassEdf,
            early: EarlyPolicy::HOLD,
            depth: 1,
            launch: None,
            speed: LinkCosts::default(),
            frame: Span::ZERO,
        },
        packet: PACKET,
        enforcement: true,
        oversize: Oversize::Intervals,
    }
}

fn real_time(deadline: u64) -> ChannelConfig {
    ChannelConfig::real_time(SPEC, Span::from_ms(deadline), PACKET)
}

/// Runs all steps due at `now`; returns threads and work in order, and the packets handed to the
/// adapter.
fn drain(subsystem: &mut Subsystem, now: Time) -> (Vec<(Thread, Work)>, Vec<Packet>) {
    let (mut done, mut sent) = (Vec::new(), Vec::new());
    loop {
        match subsystem.next_step(now) {
            Step::Idle => return (done, sent),
            Step::Process { thread, work, .. } => {
                done.push((thread, work));
                subsystem.finish(now);
            }
            Step::Transmit { packet, .. } => sent.push(packet),
            Step::Application { .. } | Step::Compute { .. } | Step::Read { .. } | Step::Spin { .. } => {}
        }
    }
}

fn threads(done: &[(Thread, Work)]) -> Vec<u32> {
    done.iter().map(|(thread, _)| if let Thread::Handler(n) = thread { *n } else { u32::MAX }).collect()
}

#[test]
fn a_handler_yields_after_a_block_to_an_earlier_deadline() {
    let mut s = Subsystem::new(config());
    let slow = s.open(real_time(9));
    let fast = s.open(real_time(5));
    s.send(at(0), slow, SPEC.max_message);
    // The slow handler begins its block of two; the fast one becomes ready in the middle of the
    // block.
    assert!(matches!(s.next_step(at(0)), Step::Process { thread: Thread::Handler(0), .. }));
    s.send(at(0), fast, SPEC.max_message);
    s.finish(at(0));
    let (done, sent) = drain(&mut s, at(0));
    assert_eq!(threads(&done), [0, 1, 1, 1, 1, 0, 0]);
    assert_eq!(sent.len(), 1, "the adapter takes one at a time");
}

#[test]
fn best_effort_handlers_take_turns() {
    let mut s = Subsystem::new(config());
    for _ in 0..2 {
        let id = s.open(ChannelConfig::best_effort(SPEC.max_message, 4, PACKET));
        s.send(at(0), id, SPEC.max_message);
    }
    assert_eq!(threads(&drain(&mut s, at(0)).0), [0, 0, 1, 1, 0, 0, 1, 1]);
}

#[test]
fn an_early_message_waits_for_its_time() {
    let mut s = Subsystem::new(config());
    let id = s.open(real_time(5));
    s.send(at(0), id, PACKET);
    s.send(at(0), id, PACKET);
    assert_eq!(drain(&mut s, at(0)).0.len(), 1);
    assert_eq!(s.next_wakeup(at(0)), Some(at(10)));
    assert_eq!(drain(&mut s, at(10)).0.len(), 1);
}

#[test]
fn a_proxy_wakes_a_handler_when_nothing_else_is_to_do() {
    let mut s = Subsystem::new(Config { early: EarlyPolicy::CONSERVE, ..config() });
    let early = s.open(real_time(5));
    let other = s.open(ChannelConfig::best_effort(PACKET, 4, PACKET));
    s.send(at(0), early, PACKET);
    s.send(at(0), early, PACKET);
    s.send(at(0), other, PACKET);
    let (done, _) = drain(&mut s, at(0));
    let expected = [Thread::Handler(0), Thread::Handler(1), Thread::Proxy(0), Thread::Handler(0)];
    assert_eq!(done.iter().map(|(thread, _)| *thread).collect::<Vec<_>>(), expected);
}

#[test]
fn a_full_message_queue_drops_blocks_or_degrades() {
    for overflow in [MessageOverflow::Drop, MessageOverflow::Block, MessageOverflow::BestEffort] {
        let mut s = Subsystem::new(config());
        let id = s.open(ChannelConfig { message_overflow: overflow, ..real_time(5) });
        // One message in the handler's hands, two in the queue.
        for _ in 0..3 {
            assert!(matches!(s.send(at(0), id, PACKET), Sent::Accepted { .. }));
        }
        let answer = s.send(at(0), id, PACKET);
        match overflow {
            MessageOverflow::Drop => assert_eq!(answer, Sent::Dropped(Dropped::MessageQueue)),
            MessageOverflow::Block => assert_eq!(answer, Sent::WouldBlock),
            MessageOverflow::BestEffort => {
                assert!(matches!(answer, Sent::Excess { .. }));
                let (_, sent) = drain(&mut s, at(0));
                assert_eq!(sent[0].tag.class, Class::RealTime);
                s.transmitted(at(0), &sent[0]);
                assert_eq!(s.interrupt_transmit(at(0)).unwrap().tag.class, Class::BestEffort);
            }
        }
    }
}

#[test]
fn a_handler_without_packet_buffers_waits_for_the_link() {
    let mut s = Subsystem::new(config());
    let id = s.open(ChannelConfig { packet_slots: 3, ..real_time(5) });
    s.send(at(0), id, SPEC.max_message);
    let (done, sent) = drain(&mut s, at(0));
    assert_eq!(done.len(), 3);
    s.transmitted(at(0), &sent[0]);
    assert_eq!(drain(&mut s, at(0)).0.len(), 1, "the freed buffer lets the last packet through");
}

#[test]
fn a_dropped_packet_takes_its_message_with_it() {
    let mut s = Subsystem::new(config());
    let drops = ChannelConfig { packet_slots: 3, packet_overflow: PacketOverflow::Drop, ..real_time(5) };
    let id = s.open(drops);
    s.send(at(0), id, Bytes::from_kib(64));
    let (done, _) = drain(&mut s, at(0));
    assert_eq!(done.len(), 4, "three packets and the one that found no buffer");
    assert_eq!(s.counters(id).dropped_packets, 13);
    assert_eq!(s.counters(id).dropped[&Dropped::PacketQueue], 1);
}

#[test]
fn a_decayed_deadline_lets_others_pass() {
    let mut s = Subsystem::new(config());
    let decays =
        ChannelConfig { packet_slots: 2, packet_overflow: PacketOverflow::DecayDeadline, ..real_time(5) };
    let id = s.open(decays);
    s.send(at(0), id, SPEC.max_message);
    let deadlines = deadlines(&mut s, at(0));
    // After the two buffers each packet adds a quarter of an interval.
    let quarter = Span::from_ms(10) / 4;
    assert_eq!(deadlines, [at(5), at(5), at(5) + quarter, at(5) + quarter * 2]);
}

/// Runs all steps due at `now`, each transmission included; returns the deadlines of the
/// transmitted packets, in order.
fn deadlines(s: &mut Subsystem, now: Time) -> Vec<Time> {
    s.wakeup(now);
    let (_, mut sent) = drain(s, now);
    let mut deadlines = Vec::new();
    while let Some(packet) = sent.pop() {
        deadlines.push(packet.tag.deadline);
        s.transmitted(now, &packet);
        sent.extend(s.interrupt_transmit(now));
        sent.extend(drain(s, now).1);
    }
    deadlines
}

#[test]
fn a_wake_up_is_asked_for_until_it_comes() {
    // The CPU works ahead and the link holds: the packet waits there for its release time.
    let mut s = Subsystem::new(Config { early: EarlyPolicy::CONSERVE, ..config() });
    let id = s.open(real_time(5));
    s.send(at(0), id, PACKET);
    s.send(at(0), id, PACKET);
    let (_, sent) = drain(&mut s, at(0));
    s.transmitted(at(1), &sent[0]);
    assert_eq!(s.next_wakeup(at(1)), Some(at(10)));
    // Another event at the same instant polls the queues.
    assert_eq!(s.next_step(at(10)), Step::Idle);
    assert_eq!(s.next_wakeup(at(10)), Some(at(10)));
    s.wakeup(at(10));
    assert!(s.interrupt_transmit(at(10)).is_some_and(|packet| packet.message == 1));
    assert_eq!(s.next_wakeup(at(10)), None);
}

#[test]
fn a_later_message_leaves_an_earlier_one_its_buffers() {
    let ahead = Config { early: EarlyPolicy::CONSERVE, processing: Processing::PerMessage, ..config() };
    let mut s = Subsystem::new(ahead);
    let id = s.open(ChannelConfig { message_slots: 3, packet_slots: 4, ..real_time(5) });
    for _ in 0..3 {
        s.send(at(0), id, Bytes::from_kib(12));
    }
    // Nine packets of three messages, and four buffers: three for the first, one for the second.
    let (_, mut sent) = drain(&mut s, at(0));
    let mut left = Vec::new();
    while let Some(packet) = sent.pop() {
        left.push((packet.message, packet.index));
        s.transmitted(at(0), &packet);
        sent.extend(s.interrupt_transmit(at(0)));
        sent.extend(drain(&mut s, at(0)).1);
    }
    assert_eq!(left, [(0, 0), (0, 1), (0, 2)], "the link holds what is early");
    assert_eq!(s.buffers_in_use(id), 4);
    s.wakeup(at(10));
    sent.extend(s.interrupt_transmit(at(10)));
    while let Some(packet) = sent.pop() {
        left.push((packet.message, packet.index));
        s.transmitted(at(10), &packet);
        sent.extend(s.interrupt_transmit(at(10)));
        sent.extend(drain(&mut s, at(10)).1);
    }
    assert_eq!(left[3..], [(1, 0), (1, 1), (1, 2)], "whoever comes first has all the buffers it needs");
}

#[test]
fn a_block_of_received_packets_ends_with_its_message() {
    let mut s = Subsystem::new(Config {
        preemption: Preemption { real_time: Block::Message, ..config().preemption },
        ..config()
    });
    let mut source = Subsystem::new(config());
    let from = source.open(real_time(5));
    let via = [s.open(ChannelConfig { role: Role::Relay, ..real_time(9) }), s.open(real_time(3))];
    // Two messages arrive before their logical arrival; between them a message of higher priority
    // becomes current.
    for now in [at(0), at(10)] {
        source.send(now, from, Bytes::from_kib(8));
        let (_, mut sent) = drain(&mut source, now);
        while let Some(packet) = sent.pop() {
            s.receive(at(0), via[0], packet).unwrap();
            source.transmitted(now, &packet);
            sent.extend(source.interrupt_transmit(now));
        }
    }
    assert!(matches!(s.next_step(at(5)), Step::Process { work: Work::Relay, .. }));
    s.finish(at(5));
    s.send(at(15), via[1], PACKET);
    let (done, _) = drain(&mut s, at(15));
    // The second packet of the first message precedes the message that has a higher priority than
    // the second one.
    assert_eq!(threads(&done), [0, 1, 0, 0]);
}

#[test]
fn excess_goes_its_own_way_through_a_relay() {
    let excess = MessageOverflow::BestEffort;
    let config_of = |role| ChannelConfig { role, message_overflow: excess, message_slots: 1, ..real_time(5) };
    let (mut source, mut relay) = (Subsystem::new(config()), Subsystem::new(config()));
    let from = source.open(config_of(Role::Send));
    let via = relay.open(config_of(Role::Relay));
    for _ in 0..3 {
        source.send(at(0), from, PACKET);
    }
    let (_, mut sent) = drain(&mut source, at(0));
    let mut classes = Vec::new();
    while let Some(packet) = sent.pop() {
        classes.push(packet.tag.class);
        relay.receive(at(0), via, packet).unwrap();
        source.transmitted(at(0), &packet);
        sent.extend(source.interrupt_transmit(at(0)));
    }
    assert_eq!(classes, [Class::RealTime, Class::BestEffort]);
    // The guaranteed packet is early until its deadline of the last hop; the excess is released at
    // once.
    let (_, relayed) = drain(&mut relay, at(1));
    assert_eq!(relayed.iter().map(|packet| packet.message).collect::<Vec<_>>(), [2]);
}

#[test]
fn an_unenforced_channel_is_always_on_time() {
    let mut s = Subsystem::new(Config { enforcement: false, ..config() });
    let id = s.open(real_time(5));
    for _ in 0..9 {
        assert!(matches!(s.send(at(0), id, PACKET), Sent::Accepted { .. }));
    }
    assert_eq!(drain(&mut s, at(0)).0.len(), 9);
}

#[test]
fn a_thread_per_message_makes_a_burst_of_threads() {
    let mut s = Subsystem::new(Config { processing: Processing::PerMessage, ..config() });
    let id = s.open(ChannelConfig::best_effort(SPEC.max_message, 2, PACKET));
    s.send(at(0), id, SPEC.max_message);
    s.send(at(0), id, SPEC.max_message);
    assert_eq!(s.send(at(0), id, SPEC.max_message), Sent::Dropped(Dropped::MessageQueue));
    let (done, _) = drain(&mut s, at(0));
    assert_eq!(threads(&done), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(done[0].1, Work::FirstPacket { new_thread: true, single: false });
}

#[test]
fn the_link_threads_differ_by_option() {
    for paradigm in [LinkParadigm::O1, LinkParadigm::O2, LinkParadigm::O3, LinkParadigm::Adapter] {
        let mut c = config();
        c.link.paradigm = paradigm;
        let mut s = Subsystem::new(c);
        let id = s.open(ChannelConfig::best_effort(PACKET, 4, PACKET));
        s.send(at(0), id, PACKET);
        s.send(at(0), id, PACKET);
        let mut who = Vec::new();
        let mut flying = Vec::new();
        loop {
            match s.next_step(at(0)) {
                Step::Idle if flying.is_empty() => break,
                Step::Idle => {
                    s.transmitted(at(0), &flying.remove(0));
                    flying.extend(s.interrupt_transmit(at(0)));
                }
                Step::Process { .. } => drop(s.finish(at(0))),
                Step::Transmit { thread, packet, .. } => {
                    who.push(thread);
                    flying.push(packet);
                }
                Step::Application { .. } | Step::Compute { .. } | Step::Read { .. } | Step::Spin { .. } => {
                    unreachable!()
                }
            }
        }
        let expected: &[Thread] = match paradigm {
            LinkParadigm::O1 | LinkParadigm::Adapter => &[Thread::Handler(0)],
            LinkParadigm::O2 => &[Thread::LinkScheduler, Thread::LinkScheduler],
            LinkParadigm::O3 => &[Thread::Handler(0), Thread::LinkThread(1)],
        };
        assert_eq!(who, expected, "{paradigm:?}");
        assert_eq!(s.counters(id).transmitted, 2);
    }
}

#[test]
fn a_receiver_reassembles_and_a_relay_passes_on() {
    let mut source = Subsystem::new(config());
    let id = source.open(real_time(5));
    source.send(at(0), id, SPEC.max_message);
    let (_, mut sent) = drain(&mut source, at(0));
    while sent.len() < 4 {
        source.transmitted(at(0), &sent[sent.len() - 1]);
        sent.extend(source.interrupt_transmit(at(0)));
    }
    let mut relay = Subsystem::new(config());
    let via = relay.open(ChannelConfig { role: Role::Relay, ..real_time(7) });
    let mut sink = Subsystem::new(config());
    let to = sink.open(ChannelConfig { role: Role::Receive, ..real_time(7) });
    for packet in sent {
        relay.receive(at(1), via, packet).unwrap();
    }
    assert_eq!(drain(&mut relay, at(1)).0, [], "ahead of the deadline it had before, it is early here");
    let (done, mut relayed) = drain(&mut relay, at(5));
    assert_eq!(done.len(), 4);
    while relayed.len() < 4 {
        relay.transmitted(at(5), &relayed[relayed.len() - 1]);
        relayed.extend(relay.interrupt_transmit(at(5)));
    }
    assert_eq!(relayed[0].tag.deadline, at(12));
    assert_eq!(relay.packets.len(), 0, "what has gone on lies there no more");
    for packet in &relayed {
        sink.receive(at(12), to, *packet).unwrap();
    }
    // A burst of two messages is eight packets.
    for packet in &relayed {
        sink.receive(at(12), to, *packet).unwrap();
    }
    assert_eq!(sink.receive(at(12), to, relayed[0]), Err(Dropped::PacketQueue));
    assert_eq!(sink.packets.len(), 8, "what finds no buffer lies nowhere");
    let mut delivered = Vec::new();
    while let Step::Process { .. } = sink.next_step(at(12)) {
        delivered.extend(sink.finish(at(12)).delivered);
    }
    assert_eq!(delivered.len(), 1);
    assert_eq!((delivered[0].size, delivered[0].due_from), (SPEC.max_message, at(0)));
    assert_eq!((sink.counters(to).delivered, sink.packets.len()), (1, 0));
}
