//! Several links share only the CPU.

use super::*;

/// A host with two links, and a channel of one-packet messages on each.
fn two(paradigm: LinkParadigm) -> (Subsystem, [ChannelId; 2]) {
    let base = config();
    let link = LinkConfig { paradigm, ..base.link };
    let mut s = Subsystem::new(Config { early: EarlyPolicy::CONSERVE, link, ..base });
    let second = s.add_link(LinkCosts::default());
    let by = |link| ChannelConfig { link, message_slots: 8, packet_slots: 8, ..real_time(5) };
    let ids = [s.open(by(LinkId::FIRST)), s.open(by(second))];
    (s, ids)
}

/// The host of [`two`] with two messages on each link: the second is early, and these links hold it
/// until it is current.
fn two_busy(paradigm: LinkParadigm) -> (Subsystem, [ChannelId; 2]) {
    let (mut s, ids) = two(paradigm);
    for id in ids {
        s.send(at(0), id, PACKET);
        s.send(at(0), id, PACKET);
    }
    (s, ids)
}

fn channels(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|packet| packet.channel.0).collect()
}

/// Each adapter has one packet at once, though each takes one only; a completion frees a place at
/// its own adapter.
#[test]
fn a_packet_waits_for_its_own_adapter() {
    let (mut s, ids) = two_busy(LinkParadigm::O1);
    assert_eq!((s.links(), s.link_of(ids[0]), s.link_of(ids[1])), (2, LinkId::FIRST, LinkId(1)));
    let (_, sent) = drain(&mut s, at(0));
    assert_eq!(channels(&sent), [0, 1]);
    assert_eq!(s.link_queue(), (2, 1), "one at each");
    s.transmitted(at(10), &sent[1]);
    assert_eq!(s.interrupt_transmit(at(10)).map(|packet| packet.channel), Some(ids[1]));
    assert_eq!(s.interrupt_transmit(at(10)), None, "the first adapter still has one");
    assert_eq!(s.buffers_in_use(ids[0]), 2);
}

/// Both held packets are current at 10, and one timer starts both: a link that was not polled would
/// sleep for ever.
#[test]
fn a_timer_starts_every_link() {
    let (mut s, _) = two_busy(LinkParadigm::O1);
    let (_, sent) = drain(&mut s, at(0));
    for packet in &sent {
        s.transmitted(at(1), packet);
        assert_eq!(s.interrupt_transmit(at(1)), None);
    }
    assert_eq!(s.next_wakeup(at(1)), Some(at(10)));
    s.wakeup(at(10));
    let started: Vec<Packet> = std::iter::from_fn(|| s.interrupt_transmit(at(10))).collect();
    assert_eq!(channels(&started), [0, 1]);
}

/// O3 creates a thread for each link; a thread that finds its packet gone takes no packet of
/// another link.
#[test]
fn o3_makes_a_thread_for_each_link() {
    let (mut s, ids) = two_busy(LinkParadigm::O3);
    let (_, sent) = drain(&mut s, at(0));
    for packet in &sent {
        s.transmitted(at(1), packet);
    }
    s.wakeup(at(10));
    s.wakeup(at(10));
    let mut threads = Vec::new();
    while let Step::Transmit { thread, packet, new_thread: true } = s.next_step(at(10)) {
        threads.push((thread, packet.channel));
    }
    assert_eq!(threads, [(Thread::LinkThread(1), ids[0]), (Thread::LinkThread(2), ids[1])]);
}

/// O2 has one thread for all links. The links take turns, though the first always has a packet and
/// an adapter that takes it.
#[test]
fn o2_serves_links_in_turn() {
    let (mut s, ids) = two(LinkParadigm::O2);
    let open = |link| ChannelConfig { link, ..ChannelConfig::best_effort(PACKET, 8, PACKET) };
    let ids = ids.map(|id| s.link_of(id)).map(|link| s.open(open(link)));
    for id in [ids[0], ids[1], ids[0], ids[0], ids[1]] {
        s.send(at(0), id, PACKET);
    }
    let (_, sent) = drain(&mut s, at(0));
    assert_eq!(channels(&sent), [ids[0].0, ids[1].0], "and three wait");
    sent.iter().for_each(|packet| s.transmitted(at(0), packet));
    let mut order = Vec::new();
    while let Step::Transmit { thread: Thread::LinkScheduler, packet, .. } = s.next_step(at(0)) {
        s.transmitted(at(0), &packet);
        order.push(packet.channel);
    }
    assert_eq!(order, [ids[0], ids[1], ids[0]]);
}
