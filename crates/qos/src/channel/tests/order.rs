//! The order by each discipline, on the CPU and on the link.

use super::*;

/// Best effort, then a deadline of 9 at level 3, then a deadline of 5 at level 7, all queued at 0.
fn three(s: &mut Subsystem) {
    let best_effort = s.open(ChannelConfig::best_effort(PACKET, 4, PACKET));
    let loose = s.open(ChannelConfig { level: 3, ..real_time(9) });
    let tight = s.open(ChannelConfig { level: 7, ..real_time(5) });
    for id in [best_effort, loose, tight] {
        s.send(at(0), id, PACKET);
    }
}

const ORDERS: [(Order, [u32; 3]); 4] = [
    (Order::MultiClassEdf, [2, 1, 0]),
    (Order::FixedPriority, [1, 2, 0]),
    (Order::Edf, [2, 1, 0]),
    (Order::Fifo, [0, 1, 2]),
];

#[test]
fn handlers_have_the_cpu_in_order() {
    for (order, expected) in ORDERS {
        let mut s = Subsystem::new(Config { order, ..config() });
        three(&mut s);
        assert_eq!(threads(&drain(&mut s, at(0)).0), expected, "{order:?}");
    }
}

/// The handlers run first come, first served, while the adapter is busy; then the link selects
/// three times.
#[test]
fn packets_have_the_link_in_order() {
    for (order, expected) in ORDERS {
        let base = config();
        let link = LinkConfig { order, ..base.link };
        let mut s = Subsystem::new(Config { order: Order::Fifo, link, ..base });
        let busy = ChannelConfig::best_effort(PACKET, 4, PACKET);
        three(&mut s);
        let first = s.open(busy);
        s.send(at(0), first, PACKET);
        // The first packet to be made is channel 0's, and it is taken at once; another is sent in
        // its place.
        let (_, sent) = drain(&mut s, at(0));
        s.send(at(0), ChannelId(0), PACKET);
        drain(&mut s, at(0));
        let mut last = sent[0];
        let mut left = Vec::new();
        loop {
            s.transmitted(at(0), &last);
            match s.interrupt_transmit(at(0)) {
                Some(packet) => last = packet,
                None => break,
            }
            left.push(last.channel.0);
        }
        // Behind the three others there is channel 3's, which is best effort or arrived before
        // channel 0's second.
        let expected: Vec<u32> = match order {
            Order::Fifo => vec![1, 2, 3, 0],
            _ => expected[..2].iter().copied().chain([3, 0]).collect(),
        };
        assert_eq!(left, expected, "{order:?}");
    }
}

/// An early message has the CPU by EDF and FIFO alike: neither uses the logical arrival.
#[test]
fn plain_disciplines_hold_nothing() {
    for order in [Order::Edf, Order::Fifo] {
        let mut s = Subsystem::new(Config { order, ..config() });
        let id = s.open(real_time(5));
        s.send(at(0), id, PACKET);
        s.send(at(0), id, PACKET);
        let handlers = drain(&mut s, at(0)).0.into_iter().filter(|(_, work)| *work != Work::Signal);
        assert_eq!(handlers.count(), 2, "{order:?}");
        assert_eq!(s.next_wakeup(at(0)), None);
    }
}

/// The link scheduler's thread, then real-time applications, then others, each in the order in
/// which they became ready, then handlers.
#[test]
fn the_link_thread_then_applications_then_handlers() {
    let base = config();
    let link = LinkConfig { paradigm: LinkParadigm::O2, ..base.link };
    let mut s = Subsystem::new(Config { link, ..base });
    let channels: Vec<_> = [false, true, true, false]
        .into_iter()
        .map(|guaranteed| match guaranteed {
            true => s.open(real_time(5)),
            false => s.open(ChannelConfig::best_effort(PACKET, 4, PACKET)),
        })
        .collect();
    s.send(at(0), channels[0], PACKET);
    assert!(matches!(s.next_step(at(0)), Step::Process { .. }));
    s.finish(at(0));
    s.send(at(0), channels[1], PACKET);
    for id in [0, 3, 2, 1] {
        s.application_ready(channels[id]).unwrap();
    }
    let mut steps = Vec::new();
    loop {
        steps.push(match s.next_step(at(0)) {
            Step::Idle => break,
            Step::Transmit { thread: Thread::LinkScheduler, new_thread: false, .. } => "link".to_string(),
            Step::Transmit { .. } => unreachable!("O2 has one thread"),
            Step::Application { channel } => format!("application {}", channel.0),
            Step::Compute { .. } | Step::Read { .. } | Step::Spin { .. } => unreachable!("nothing computes"),
            Step::Process { channel, .. } => {
                s.finish(at(0));
                format!("handler {}", channel.0)
            }
        });
    }
    assert_eq!(
        steps,
        ["link", "application 2", "application 1", "application 0", "application 3", "handler 1"]
    );
}
