//! The thread that runs the link scheduler, and the number of packets handed to the adapter.

use super::*;

fn with(paradigm: LinkParadigm, depth: u32) -> Subsystem {
    let base = config();
    Subsystem::new(Config { link: LinkConfig { paradigm, depth, ..base.link }, ..base })
}

/// Steps at 0 until the CPU idles; returns the threads that transmitted, whether each was created
/// for its packet, and the packets.
fn transmits(s: &mut Subsystem) -> (Vec<(Thread, bool)>, Vec<Packet>) {
    let (mut who, mut sent) = (Vec::new(), Vec::new());
    loop {
        match s.next_step(at(0)) {
            Step::Idle => return (who, sent),
            Step::Transmit { thread, packet, new_thread } => {
                who.push((thread, new_thread));
                sent.push(packet);
            }
            Step::Process { .. } => drop(s.finish(at(0))),
            Step::Application { .. } | Step::Compute { .. } | Step::Read { .. } | Step::Spin { .. } => {
                unreachable!("none is ready")
            }
        }
    }
}

/// A pipeline of depth `d` gets `d` packets, and the next when one is completed.
#[test]
fn the_adapter_is_handed_so_many() {
    for depth in 1..=4 {
        let mut s = with(LinkParadigm::O1, depth);
        let id = s.open(ChannelConfig::best_effort(SPEC.max_message, 4, PACKET));
        s.send(at(0), id, SPEC.max_message);
        s.send(at(0), id, SPEC.max_message);
        let (_, sent) = transmits(&mut s);
        assert_eq!(sent.len(), depth as usize);
        assert_eq!(s.interrupt_transmit(at(0)), None, "it has as many as it takes");
        assert_eq!(s.link_queue().0, 8 - depth as usize);
        s.transmitted(at(0), &sent[0]);
        assert_eq!(s.interrupt_transmit(at(0)).map(|packet| packet.index), Some(depth % 4));
        assert_eq!(s.interrupt_transmit(at(0)), None);
    }
}

/// The longest queue is the longest so far, not the current one. Of two packets the first leaves at
/// once and the second waits; of four more the adapter takes none.
#[test]
fn the_link_queue_remembers_its_longest() {
    let mut s = with(LinkParadigm::O1, 1);
    let id = s.open(ChannelConfig::best_effort(SPEC.max_message, 4, PACKET));
    s.send(at(0), id, SPEC.max_message);
    let (_, sent) = transmits(&mut s);
    assert_eq!(s.link_queue(), (3, 3));
    assert_eq!((s.buffers_in_use(id), s.counters(id).created), (4, 4));
    s.transmitted(at(0), &sent[0]);
    let next = s.interrupt_transmit(at(0)).unwrap();
    assert_eq!(s.link_queue(), (2, 3));
    s.failed(at(0), &next);
    assert_eq!(s.buffers_in_use(id), 2);
    let counters = s.counters(id);
    assert_eq!((counters.transmitted, counters.dropped_packets, counters.accepted), (1, 1, 1));
    assert_eq!(counters.dropped[&Dropped::Adapter], 1);
}

/// A message of which the adapter loses several packets counts as one dropped message; the next is
/// another.
#[test]
fn a_message_is_dropped_by_the_adapter_once() {
    let mut s = with(LinkParadigm::O1, 4);
    let id = s.open(ChannelConfig::best_effort(SPEC.max_message, 4, PACKET));
    for round in 1..=2 {
        s.send(at(0), id, SPEC.max_message);
        let (_, sent) = transmits(&mut s);
        for packet in &sent[1..] {
            s.failed(at(0), packet);
        }
        s.transmitted(at(0), &sent[0]);
        assert_eq!(s.counters(id).dropped[&Dropped::Adapter], round);
        assert_eq!(s.counters(id).dropped_packets, 3 * round);
    }
}

/// Interrupts transmit only under paradigms that schedule links there.
#[test]
fn only_o1_and_the_adapter_transmit_in_interrupts() {
    for (paradigm, theirs) in [
        (LinkParadigm::O1, true),
        (LinkParadigm::O2, false),
        (LinkParadigm::O3, false),
        (LinkParadigm::Adapter, true),
    ] {
        let mut s = with(paradigm, 1);
        let id = s.open(ChannelConfig::best_effort(PACKET, 4, PACKET));
        s.send(at(0), id, PACKET);
        s.send(at(0), id, PACKET);
        let (_, sent) = transmits(&mut s);
        s.transmitted(at(0), &sent[0]);
        assert_eq!(s.interrupt_transmit(at(0)).is_some(), theirs, "{paradigm:?}");
    }
}

/// O3: a completion creates a thread only if a packet waits; a thread that finds its packet gone
/// ends without a step, and the next has a number of its own.
#[test]
fn o3_makes_threads_for_packets_that_wait() {
    let mut s = with(LinkParadigm::O3, 1);
    let id = s.open(ChannelConfig::best_effort(PACKET, 8, PACKET));
    s.send(at(0), id, PACKET);
    let (who, sent) = transmits(&mut s);
    assert_eq!(who, [(Thread::Handler(0), false)]);
    s.transmitted(at(0), &sent[0]);
    assert_eq!(s.next_step(at(0)), Step::Idle, "nothing waited");
    s.send(at(0), id, PACKET);
    s.send(at(0), id, PACKET);
    s.send(at(0), id, PACKET);
    let (who, sent) = transmits(&mut s);
    assert_eq!(who, [(Thread::Handler(0), false)]);
    s.transmitted(at(0), &sent[0]);
    let (who, sent) = transmits(&mut s);
    assert_eq!(who, [(Thread::LinkThread(1), true)]);
    s.transmitted(at(0), &sent[0]);
    let (who, sent) = transmits(&mut s);
    assert_eq!(who, [(Thread::LinkThread(2), true)]);
    s.transmitted(at(0), &sent[0]);
    assert_eq!(transmits(&mut s).0, []);
    // A wake-up creates a thread only for a packet that can start.
    s.wakeup(at(0));
    assert_eq!(s.next_step(at(0)), Step::Idle);
    // And no thread was created that ended at once: the next is the third.
    s.send(at(0), id, PACKET);
    s.send(at(0), id, PACKET);
    let (_, sent) = transmits(&mut s);
    s.transmitted(at(0), &sent[0]);
    assert_eq!(transmits(&mut s).0, [(Thread::LinkThread(3), true)]);
}

/// A handler's call precedes the thread that a completion created: the thread then has no packet,
/// and its number is used up all the same.
#[test]
fn o3_a_handler_may_be_faster_than_the_thread() {
    let mut s = with(LinkParadigm::O3, 1);
    let id = s.open(ChannelConfig::best_effort(PACKET * 2, 8, PACKET));
    s.send(at(0), id, PACKET * 2);
    // The handler makes and hands over the first packet.
    assert!(matches!(s.next_step(at(0)), Step::Process { .. }));
    s.finish(at(0));
    let Step::Transmit { packet: first, .. } = s.next_step(at(0)) else { panic!("the adapter is free") };
    // A second message's packets wait behind the second packet when the first is completed.
    s.send(at(0), id, PACKET * 2);
    assert!(matches!(s.next_step(at(0)), Step::Process { .. }));
    s.finish(at(0));
    s.transmitted(at(0), &first);
    // One thread is created; the handler, whose call is due, takes the packet before it.
    let Step::Transmit { thread, packet: second, new_thread } = s.next_step(at(0)) else {
        panic!("a packet waits")
    };
    assert_eq!((thread, new_thread, second.index), (Thread::Handler(0), false, 1));
    let (who, sent) = transmits(&mut s);
    assert_eq!((who, sent.len()), (vec![], 0));
    s.transmitted(at(0), &second);
    assert_eq!(transmits(&mut s).0, [(Thread::LinkThread(2), true)]);
}

/// Several wake-ups before the CPU is free create one thread.
#[test]
fn o3_makes_one_thread_for_wake_ups() {
    let base = config();
    let link = LinkConfig { paradigm: LinkParadigm::O3, depth: 2, ..base.link };
    let mut s = Subsystem::new(Config { early: EarlyPolicy::CONSERVE, link, ..base });
    let id = s.open(real_time(5));
    s.send(at(0), id, PACKET);
    s.send(at(0), id, PACKET);
    drain(&mut s, at(0));
    s.wakeup(at(10));
    s.wakeup(at(10));
    let Step::Transmit { thread: Thread::LinkThread(1), packet: early, .. } = s.next_step(at(10)) else {
        panic!("a thread was made for the packet")
    };
    s.send(at(10), id, PACKET);
    drain(&mut s, at(10));
    s.wakeup(at(20));
    assert_eq!(s.next_step(at(20)), Step::Idle, "the adapter has two");
    // Neither created a thread without a packet.
    s.transmitted(at(20), &early);
    assert!(matches!(s.next_step(at(20)), Step::Transmit { thread: Thread::LinkThread(2), .. }));
}

/// Two packets become current at one instant, and the adapter has places for both: one wake-up is
/// enough, and its thread creates another.
#[test]
fn o3_starts_all_that_turn_current_at_once() {
    let base = config();
    let link = LinkConfig { paradigm: LinkParadigm::O3, depth: 2, ..base.link };
    let mut s = Subsystem::new(Config { early: EarlyPolicy::CONSERVE, link, ..base });
    let ids = [5, 6].map(|deadline| s.open(real_time(deadline)));
    for id in [ids[0], ids[0], ids[1], ids[1]] {
        s.send(at(0), id, PACKET);
    }
    let (_, sent) = drain(&mut s, at(0));
    assert_eq!(sent.len(), 2, "the others are ahead of their time");
    for packet in &sent {
        s.transmitted(at(0), packet);
    }
    assert_eq!(s.next_step(at(9)), Step::Idle);
    s.wakeup(at(10));
    for number in [1, 2] {
        let Step::Transmit { thread, .. } = s.next_step(at(10)) else { panic!("there is a place") };
        assert_eq!(thread, Thread::LinkThread(number));
    }
    assert_eq!(s.next_step(at(10)), Step::Idle);
}
