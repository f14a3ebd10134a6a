//! Channels that end while others continue.

use proptest::prelude::*;

use super::receive::packet;
use super::*;

/// Messages accepted before the end proceed as usual; then the channel is gone, and its resources
/// are reused.
#[test]
fn what_was_accepted_is_sent_before_a_channel_is_gone() {
    let mut s = Subsystem::new(config());
    let id = s.open(real_time(5));
    // The second is early until 10 ms.
    (0..2).for_each(|_| assert!(matches!(s.send(at(0), id, PACKET), Sent::Accepted { .. })));
    s.close(id).unwrap();
    assert_eq!(s.forget(id), Ok(None), "two messages are left");
    let (_, sent) = drain(&mut s, at(0));
    assert_eq!(sent.len(), 1);
    s.transmitted(at(1), &sent[0]);
    assert_eq!((s.forget(id), s.next_wakeup(at(1))), (Ok(None), Some(at(10))), "one waits for its time");
    s.wakeup(at(10));
    let (_, sent) = drain(&mut s, at(10));
    assert_eq!(s.forget(id), Ok(None), "its packet is with the adapter");
    s.transmitted(at(11), &sent[0]);
    let counters = s.forget(id).unwrap().expect("nothing is left");
    assert_eq!((counters.accepted, counters.created, counters.transmitted), (2, 2, 2));
    assert_eq!((s.lanes.len(), s.handlers.len(), s.all_counters().count()), (1, 1, 0));
    let other = s.open(real_time(5));
    assert_eq!(
        (other, s.lanes.len(), s.handlers.len()),
        (ChannelId(1), 1, 1),
        "in its place, by a number of its own"
    );
    s.open_as(id, real_time(7)).unwrap();
    s.send(at(20), id, PACKET);
    s.send(at(20), other, PACKET);
    let (done, sent) = drain(&mut s, at(20));
    assert_eq!((done.len(), sent[0].channel), (2, other), "each has its own deadline");
}

#[test]
fn an_open_channel_is_not_forgotten() {
    let mut s = Subsystem::new(config());
    let id = s.open(real_time(5));
    assert_eq!(s.forget(id), Ok(None));
    s.send(at(0), id, PACKET);
    assert_eq!(drain(&mut s, at(0)).1.len(), 1);
}

#[test]
fn its_application_does_not_get_the_cpu() {
    let mut s = Subsystem::new(config());
    let [id, other] = [s.open(real_time(5)), s.open(real_time(5))];
    s.application_ready(id).unwrap();
    s.application_ready(other).unwrap();
    s.close(id).unwrap();
    assert!(s.forget(id).unwrap().is_some());
    assert_eq!(s.next_step(at(0)), Step::Application { channel: other });
    assert_eq!(s.next_step(at(0)), Step::Idle);
}

/// The received part of a message that never becomes complete is dropped with its channel.
#[test]
fn where_it_is_received_a_part_is_dropped_with_it() {
    let mut s = Subsystem::new(config());
    let id = s.open(ChannelConfig { role: Role::Receive, ..real_time(7) });
    s.receive(at(0), id, packet(Class::RealTime, 0, 0, 1, 0)).unwrap();
    s.receive(at(0), id, packet(Class::RealTime, 1, 0, 2, 0)).unwrap();
    s.close(id).unwrap();
    assert_eq!(s.forget(id), Ok(None), "its handler has them before it");
    drain(&mut s, at(0));
    let counters = s.forget(id).unwrap().unwrap();
    assert_eq!((counters.delivered, counters.dropped[&Dropped::Incomplete]), (1, 1));
}

proptest! {
    /// Channels open and close in any order while an adapter takes packets. No accepted message is
    /// lost and all channels are gone in the end. The numbers of lanes and handlers are limited by
    /// the channels open at a time and the messages in progress.
    #[test]
    fn nothing_is_lost_while_channels_come_and_go(
        orders in prop::collection::vec((0..4_u8, 0..6_usize), 1..120),
        per_message: bool,
        conserving: bool,
    ) {
        let processing = if per_message { Processing::PerMessage } else { Processing::PerChannel };
        let early = if conserving { EarlyPolicy::CONSERVE } else { EarlyPolicy::HOLD };
        let mut s = Subsystem::new(Config { processing, early, ..config() });
        let (mut open, mut closed, mut taken): (Vec<ChannelId>, Vec<ChannelId>, Vec<Packet>) = Default::default();
        let (mut accepted, mut transmitted, mut most) = (0, 0, 0);
        let mut now = 0;
        let mut forget = |s: &mut Subsystem, closed: &mut Vec<ChannelId>| {
            closed.retain(|id| match s.forget(*id).unwrap() {
                Some(counters) => {
                    assert_eq!(counters.created, counters.transmitted);
                    transmitted += counters.transmitted;
                    false
                }
                None => true,
            });
        };
        for (order, which) in orders {
            match order {
                0 if which % 2 == 0 => open.push(s.open(real_time(5 + which as u64))),
                0 => open.push(s.open(ChannelConfig::best_effort(SPEC.max_message, 4, PACKET))),
                1 if !open.is_empty() => {
                    let id = open.swap_remove(which % open.len());
                    s.close(id).unwrap();
                    closed.push(id);
                }
                2 if !open.is_empty() => {
                    let id = open[which % open.len()];
                    let size = PACKET * (1 + which as u64 % 3);
                    if let Sent::Accepted { .. } | Sent::Excess { .. } = s.send(at(now), id, size) {
                        accepted += 1 + which as u64 % 3;
                    }
                }
                _ => {
                    now += 1;
                    taken.drain(..).for_each(|packet| s.transmitted(at(now), &packet));
                    s.wakeup(at(now));
                }
            }
            most = most.max(open.len() + closed.len());
            taken.extend(drain(&mut s, at(now)).1);
            taken.extend(s.interrupt_transmit(at(now)));
            forget(&mut s, &mut closed);
        }
        closed.extend(open.drain(..).inspect(|id| s.close(*id).unwrap()));
        while !closed.is_empty() {
            now += 1;
            prop_assert!(now < 10_000, "{closed:?} are never over");
            taken.drain(..).for_each(|packet| s.transmitted(at(now), &packet));
            s.wakeup(at(now));
            taken.extend(drain(&mut s, at(now)).1);
            taken.extend(s.interrupt_transmit(at(now)));
            forget(&mut s, &mut closed);
        }
        prop_assert_eq!(accepted, transmitted);
        prop_assert!(s.lanes.len() <= 2 * most, "{} lanes for {} channels", s.lanes.len(), most);
        prop_assert_eq!((s.all_counters().count(), s.packets.len()), (0, 0));
    }
}
