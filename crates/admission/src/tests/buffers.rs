//! Room, counted by hand.

use super::super::buffers::{check, needed};
use super::*;

/// 60 KiB, 15 packets, in bursts of 3, 10 ms apart and due after 25 ms: 3 messages are current at a
/// time and 2 more may have arrived early, so 5 are unfinished.
fn bursty() -> Request {
    let spec = TrafficSpec { burst: 3, ..spec(60, Span::from_ms(10)) };
    Request::new(spec, Span::from_ms(25)).unwrap()
}

fn room(messages: u32, packets: u64) -> Buffers {
    Buffers { messages, packets, waits: true }
}

fn host() -> Environment {
    mc68040(ResourceModel::O1, 4, Formula::Corrected)
}

fn interfered(above: Above) -> Environment {
    let work = Interference {
        above,
        cost: Span::from_us(9),
        adapter: Span::ZERO,
        burst: 0,
        interval: Span::from_ms(1),
    };
    Environment { interference: vec![work], ..host() }
}

#[test]
fn a_message_needs_a_place_until_its_handler_has_it() {
    let messages = |environment: Environment| needed(&environment, &bursty()).0;
    assert_eq!(messages(host()), 5);
    assert_eq!(messages(interfered(Above::Thread)), 5);
    // Where every message has a thread it keeps its place, so one that an application had delayed
    // needs another.
    let threads = |environment| Environment { thread_per_message: true, ..environment };
    assert_eq!(messages(threads(host())), 5);
    assert_eq!(messages(threads(interfered(Above::Thread))), 6);
    // An interrupt delays no send.
    assert_eq!(messages(threads(interfered(Above::Interrupt))), 5);
}

#[test]
fn only_a_handler_ahead_that_does_not_wait_makes_packets_of_what_is_early() {
    let packets = |ahead, waits| {
        let request = bursty().with_buffers(Buffers { waits, ..room(9, 99) });
        needed(&Environment { ahead, ..host() }, &request).1
    };
    assert_eq!((packets(false, true), packets(false, false)), (3 * 15, 3 * 15));
    assert_eq!((packets(true, true), packets(true, false)), (3 * 15, 5 * 15));
    // A channel that declares no buffers gets those that waiting needs.
    assert_eq!(needed(&Environment { ahead: true, ..host() }, &bursty()).1, 3 * 15);
}

#[test]
fn what_is_short_is_said_with_how_much() {
    let short = |messages, packets| {
        check(&host(), &bursty().with_buffers(room(messages, packets)))
            .err()
            .map(|(resource, deficit, reason)| (resource, deficit, reason == Reason::NoRoom))
    };
    assert_eq!(short(5, 45), None);
    assert_eq!(short(6, 46), None);
    assert_eq!(short(4, 45), Some((Scarce::Messages, Deficit::Places(1), true)));
    assert_eq!(short(3, 45), Some((Scarce::Messages, Deficit::Places(2), true)));
    assert_eq!(short(5, 44), Some((Scarce::Packets, Deficit::Places(1), true)));
    assert_eq!(short(5, 20), Some((Scarce::Packets, Deficit::Places(25), true)));
    // A channel that only receives takes no room of these, and one without declared buffers has
    // those it needs.
    let receives = bursty().at(Role::Receive).with_buffers(room(0, 0));
    assert!(check(&host(), &receives).is_ok() && check(&host(), &bursty()).is_ok());
}

#[test]
fn a_request_without_room_is_refused_before_its_deadline_is_looked_at() {
    let request = Request::new(spec(60, Span::from_ms(50)), Span::from_ms(50)).unwrap();
    let decide = |messages, packets| table(host()).request(request.with_buffers(room(messages, packets)));
    let Decision::Refused(refusal) = decide(1, 13) else { panic!("there is no room") };
    assert_eq!(
        refusal.to_string(),
        "packet slots: a burst within the contract finds no room; 2 more are needed"
    );
    let Decision::Refused(refusal) = decide(0, 15) else { panic!("there is no room") };
    assert_eq!(
        refusal.to_string(),
        "message slots: a burst within the contract finds no room; one more is needed"
    );
    assert!(matches!(decide(1, 15), Decision::Admitted { .. }));
}
