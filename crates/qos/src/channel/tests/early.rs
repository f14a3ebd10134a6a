//! Treatment of early messages on the CPU and of early packets on the link.

use super::*;

/// The second message of a channel that sent its first at 0 too, so that the second is current at
/// 10, beside best effort.
fn early_and_best_effort(early: EarlyPolicy, processing: Processing) -> Subsystem {
    let mut s = Subsystem::new(Config { early, processing, ..config() });
    let id = s.open(real_time(5));
    let other = s.open(ChannelConfig::best_effort(PACKET, 4, PACKET));
    s.send(at(0), id, PACKET);
    drain(&mut s, at(0));
    s.send(at(0), id, PACKET);
    s.send(at(0), other, PACKET);
    s
}

fn who(s: &mut Subsystem, now: u64) -> Vec<Thread> {
    drain(s, at(now)).0.into_iter().map(|(thread, _)| thread).collect()
}

#[test]
fn held_until_its_time() {
    let mut s = early_and_best_effort(EarlyPolicy::HOLD, Processing::PerChannel);
    assert_eq!(who(&mut s, 0), [Thread::Handler(1)]);
    assert_eq!(s.next_wakeup(at(0)), Some(at(10)));
    assert_eq!(who(&mut s, 9), []);
    assert_eq!(who(&mut s, 10), [Thread::Handler(0)], "no proxy has to wake it then");
}

#[test]
fn worked_ahead_when_nothing_else_is_to_do() {
    let mut s = early_and_best_effort(EarlyPolicy::CONSERVE, Processing::PerChannel);
    assert_eq!(who(&mut s, 0), [Thread::Handler(1), Thread::Proxy(0), Thread::Handler(0)]);
}

/// From 4 ms before its logical arrival, and not before.
#[test]
fn worked_ahead_within_the_horizon() {
    let early = EarlyPolicy { horizon: Span::from_ms(4), above_best_effort: false };
    let mut s = early_and_best_effort(early, Processing::PerChannel);
    assert_eq!(who(&mut s, 0), [Thread::Handler(1)]);
    assert_eq!(s.next_wakeup(at(0)), Some(at(6)));
    assert_eq!(who(&mut s, 5), []);
    assert_eq!(who(&mut s, 6), [Thread::Proxy(0), Thread::Handler(0)]);
}

/// Figure 7(b)'s mistake.
#[test]
fn above_best_effort_it_goes_first() {
    let early = EarlyPolicy { above_best_effort: true, ..EarlyPolicy::CONSERVE };
    let mut s = early_and_best_effort(early, Processing::PerChannel);
    assert_eq!(who(&mut s, 0), [Thread::Proxy(0), Thread::Handler(0), Thread::Handler(1)]);
}

/// A message with its own thread needs no proxy: only the scheduler holds the thread.
#[test]
fn a_thread_per_message_has_no_proxy() {
    let mut s = early_and_best_effort(EarlyPolicy::CONSERVE, Processing::PerMessage);
    assert_eq!(who(&mut s, 0), [Thread::Handler(2), Thread::Handler(1)]);
}

/// The proxy does only the switch, and the handler follows; each message needs its own wake-up.
#[test]
fn a_proxy_signals_once_a_message() {
    let mut s = Subsystem::new(Config { early: EarlyPolicy::CONSERVE, ..config() });
    let id = s.open(ChannelConfig { message_slots: 4, packet_slots: 16, ..real_time(5) });
    for _ in 0..3 {
        s.send(at(0), id, PACKET * 3);
    }
    let done: Vec<_> = drain(&mut s, at(0)).0.into_iter().map(|(_, work)| work).collect();
    let (first, signal) = (Work::FirstPacket { new_thread: false, single: false }, Work::Signal);
    // Blocks are of two packets, and the third packet is a block of its own without a wake-up.
    let message = [first, Work::Packet, Work::Packet];
    let expected = [&message[..], &[signal], &message, &[signal], &message].concat();
    assert_eq!(done, expected);
}

/// On the link: the CPU works ahead in any case, and the adapter has been idle since the first
/// packet left.
fn links(early: EarlyPolicy) -> (Vec<u32>, Option<Time>) {
    let base = config();
    let link = LinkConfig { early, ..base.link };
    let mut s = Subsystem::new(Config { early: EarlyPolicy::CONSERVE, link, ..base });
    let id = s.open(real_time(5));
    let other = s.open(ChannelConfig::best_effort(PACKET, 4, PACKET));
    s.send(at(0), id, PACKET);
    let (_, first) = drain(&mut s, at(0));
    s.send(at(0), id, PACKET);
    s.send(at(0), other, PACKET);
    // Both packets are made while the adapter is busy with the first, the best-effort one before
    // the early one.
    drain(&mut s, at(0));
    s.transmitted(at(1), &first[0]);
    let mut order = Vec::new();
    while let Some(packet) = s.interrupt_transmit(at(1)) {
        order.push(packet.channel.0);
        s.transmitted(at(1), &packet);
    }
    (order, s.next_wakeup(at(1)))
}

#[test]
fn the_link_holds_or_works_ahead() {
    assert_eq!(links(EarlyPolicy::HOLD), (vec![1], Some(at(10))));
    assert_eq!(links(EarlyPolicy::CONSERVE), (vec![1, 0], None));
    let above = EarlyPolicy { above_best_effort: true, ..EarlyPolicy::CONSERVE };
    assert_eq!(links(above), (vec![0, 1], None));
    // The horizon begins at 10 − 8 = 2, or at 10 − 9 = 1, which is now.
    let horizon = |ms| EarlyPolicy { horizon: Span::from_ms(ms), above_best_effort: false };
    assert_eq!(links(horizon(8)), (vec![1], Some(at(2))));
    assert_eq!(links(horizon(9)), (vec![1, 0], None));
}

#[test]
fn a_full_adapter_asks_for_no_wake_up() {
    let mut s = Subsystem::new(Config { early: EarlyPolicy::CONSERVE, ..config() });
    let id = s.open(real_time(5));
    s.send(at(0), id, PACKET);
    s.send(at(0), id, PACKET);
    let (_, sent) = drain(&mut s, at(0));
    assert_eq!(s.next_wakeup(at(0)), None);
    s.transmitted(at(1), &sent[0]);
    assert_eq!(s.next_wakeup(at(1)), Some(at(10)));
}

/// The pending wake-up moves from 10 to an earlier time when an item arrives that is current
/// earlier.
#[test]
fn an_earlier_message_is_woken_for_earlier() {
    let mut s = Subsystem::new(config());
    let slow = s.open(real_time(5));
    let spec = TrafficSpec { min_interval: Span::from_ms(5), ..SPEC };
    let fast = s.open(ChannelConfig::real_time(spec, Span::from_ms(5), PACKET));
    for (id, wakeup) in [(slow, 10), (fast, 5)] {
        s.send(at(0), id, PACKET);
        s.send(at(0), id, PACKET);
        drain(&mut s, at(0));
        assert_eq!(s.next_wakeup(at(0)), Some(at(wakeup)));
    }
}

#[test]
fn a_late_wake_up_is_not_asked_for_again() {
    let mut s = Subsystem::new(config());
    let id = s.open(real_time(5));
    s.send(at(0), id, PACKET);
    s.send(at(0), id, PACKET);
    drain(&mut s, at(0));
    assert_eq!(s.next_wakeup(at(0)), Some(at(10)));
    s.wakeup(at(11));
    assert_eq!(s.next_wakeup(at(11)), None);
}
