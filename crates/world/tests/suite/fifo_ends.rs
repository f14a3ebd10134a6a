//! Hosts that take time for messages from FIFO queues.

use laxity_admission::Formula;
use laxity_units::Span;
use laxity_world::promise::{self, Promise};

use super::common::free;
use super::fifo::{HEAD, STAR, bound_and_worst, channel, of, promises};

/// Hosts that go by deadlines, with a receiver that takes 5 us to switch to a message, 30 us for its packet
/// and 20 us for its end.
pub(super) fn head() -> String {
    let costs = [
        ("context_switch = \"0 us\"", "context_switch = \"5 us\""),
        ("receive_packet = \"0 us\"", "receive_packet = \"30 us\""),
        ("receive_message = \"0 us\"", "receive_message = \"20 us\""),
    ];
    let head = HEAD.replace(r#"cpu = "fifo", link = { order = "fifo" }"#, r#"cpu = "multiclass_edf""#);
    costs.into_iter().fold(head, |head, (free, cost)| head.replace(free, cost))
}

/// A sender needs 5 us for the switch to its handler and 40 us for the frame; a switch to a lower handler
/// and a frame on the link may be in its way. The frames meet at the port. The receiver has both messages at
/// once, each for 55 us, and may have begun another just before.
#[test]
fn a_receiver_that_takes_time_has_its_part_of_the_bound() {
    let both = [channel("a", "a", "r", "462 B", "4 ms"), channel("b", "b", "r", "462 B", "4 ms")].concat();
    let text = [&head(), STAR, &both].concat();
    for promise in promises(&of(&text)) {
        let kept: Vec<Span> = promise.hops().iter().map(|hop| hop.kept).collect();
        assert_eq!(kept, [2 * (5 + 40), 2 * 40, 3 * 55].map(Span::from_us));
    }
    // The handler has the messages when the bound of the port has passed.
    let found = bound_and_worst(&text);
    assert_eq!(found.iter().map(|(_, worst)| *worst).fold(0.0, f64::max), 90.0 + 80.0 + 2.0 * 55.0);
}

/// Hosts by order of arrival hold no early message. Of a source within its contract the receiver has no more
/// than are sent until one is done.
#[test]
fn a_receiver_behind_hosts_that_hold_nothing_has_room_for_what_they_send() {
    let both = [channel("a", "a", "r", "462 B", "4 ms"), channel("b", "b", "r", "462 B", "4 ms")].concat();
    let by_deadlines = "[node.r]\nhost.costs = { context_switch = \"5 us\", receive_packet = \"30 us\", receive_message = \"20 us\" }\n\
         host.subsystem = { cpu = \"multiclass_edf\", link = { order = \"multiclass_edf\" } }\n";
    let text = [HEAD, &STAR.replace("[node.r]\n", by_deadlines), &both].concat();
    for promise in promises(&of(&text)) {
        let kept: Vec<Span> = promise.hops().iter().map(|hop| hop.kept).collect();
        assert_eq!(kept, [40, 80, 165].map(Span::from_us));
        // In 285 us each source sends once.
        assert_eq!(promise.hops().last().map(|hop| hop.backlog), Some(1));
    }
    assert!(bound_and_worst(&text).iter().all(|(bound, worst)| worst <= bound));
}

/// Hosts send into the queues from which they receive.
#[test]
fn hosts_send_and_receive_through_the_same_switch() {
    let all = [
        channel("to", "a", "r", "462 B", "4 ms"),
        channel("back", "r", "a", "1400 B", "4 ms"),
        channel("across", "b", "a", "3000 B", "4 ms"),
        channel("along", "b", "r", "100 B", "2 ms"),
    ]
    .concat();
    let found = bound_and_worst(&[&head(), STAR, &all].concat());
    assert!(found.iter().all(|(bound, worst)| worst <= bound && *worst > 0.4 * bound), "{found:?}");
}

/// A host by order of arrival passes the excess of its source on. Its channel has no bound at the port, so
/// no other has one there or at the receiver, which sends.
#[test]
fn what_may_come_late_takes_the_bound_from_the_host() {
    let text = |every: &str| {
        let free = free();
        let host = format!(
            "[node.b]\nhost.costs = {{ {free} }}\nhost.subsystem = {{ cpu = \"fifo\", link = {{ order = \"fifo\" }} }}\n"
        );
        let star = STAR.replace("[node.b]\n", &host);
        let from_b = channel("b", "b", "r", "462 B", "4 ms");
        let from_b = from_b.replace("\"periodic\"", &format!("\"periodic\", interval = \"{every}\""));
        let others = [channel("a", "a", "r", "462 B", "4 ms"), channel("own", "r", "a", "462 B", "4 ms")];
        [&*head(), &star, &from_b, &others.concat()].concat()
    };
    assert!(promises(&of(&text("4 ms"))).iter().all(Promise::is_bound));
    // None of the three has a bound.
    let none = promise::promises(&of(&text("1 ms")), Formula::Corrected).err();
    assert!(none.is_some_and(|why| why.sentence().contains("passes excess on")));
}

/// The same where the source has no analysis: a host that loses interrupts has no bound.
#[test]
fn a_source_without_an_analysis_takes_the_bound_from_the_host_that_receives() {
    let all = [channel("a", "a", "r", "462 B", "4 ms"), channel("own", "r", "a", "462 B", "4 ms")];
    let from_b = channel("b", "b", "r", "462 B", "4 ms");
    let text = [&*head(), STAR, &all.concat(), &from_b].concat();
    assert!(promises(&of(&text)).iter().all(Promise::is_bound));
    let fault = "[[fault]]\nkind = \"lost_interrupts\"\nat = \"0 us\"\nnode = \"b\"\n";
    let none = promise::promises(&of(&[&*text, fault].concat()), Formula::Corrected).err();
    assert!(none.is_some_and(|why| why.sentence().contains("a fault takes")));
}

/// The deadline holds from end to end: without the receiver's part it would be kept.
#[test]
fn a_deadline_that_the_receiver_exceeds_is_refused() {
    let one = channel("a", "a", "r", "462 B", "150 us");
    let free = HEAD.replace(r#"cpu = "fifo", link = { order = "fifo" }"#, r#"cpu = "multiclass_edf""#);
    assert!(!promises(&of(&[&free, STAR, &one].concat()))[0].is_refused());
    assert!(promises(&of(&[&head(), STAR, &one].concat()))[0].is_refused());
}
