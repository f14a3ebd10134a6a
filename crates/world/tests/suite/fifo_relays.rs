//! Relays and ports by deadlines that have frames from FIFO queues.

use laxity_admission::Formula;
use laxity_qos::channel::Role;
use laxity_units::Span;
use laxity_world::promise::{self, Promise};

use super::common::free;
use super::fifo::{HEAD, STAR, bound_and_worst, channel, of, promises, why};
use super::fifo_ends::head;

/// A channel along `route`.
fn along(route: &[&str], name: &str, size: &str, deadline: &str) -> String {
    let ends = "from = \"\"\nto = \"\"\n";
    channel(name, "", "", size, deadline).replace(ends, &format!("route = {route:?}\n"))
}

/// The promise of each hop of a channel.
fn kept(promise: &Promise) -> Vec<Span> {
    promise.hops().iter().map(|hop| hop.kept).collect()
}

/// The frame of 40 us is the only one. Each host may have to switch to the handler (5 us) when a lower one
/// is switched to, and a frame that is made ahead of its time may be on the link. The relay takes
/// 30 us to receive the packet before it sends it, the receiver 50 us.
#[test]
fn a_relay_behind_a_switch_sends_into_it_again() {
    let one = along(&["a", "s", "r", "s", "b"], "loop", "462 B", "4 ms");
    let text = [&*head(), STAR, &one].concat();
    let promise = &promises(&of(&text))[0];
    let of_relay = (5 + 30) + 40 + 35 + 40;
    assert_eq!(kept(promise), [5 + 40 + 5 + 40, 40, of_relay, 40, 5 + 50 + 55].map(Span::from_us));
    // The delay of the frame of which no other is in the way, once it waits for its time at the last two.
    let (bound, worst) = bound_and_worst(&text)[0];
    assert_eq!(bound, 430.0);
    assert!(worst <= bound && worst >= 0.8 * bound, "{worst}");
}

/// Both ways through the relay, and into it.
#[test]
fn channels_pass_a_relay_in_both_directions() {
    let all = [
        along(&["a", "s", "r", "s", "b"], "there", "462 B", "4 ms"),
        along(&["b", "s", "r", "s", "a"], "back", "462 B", "4 ms"),
        channel("to", "a", "r", "3000 B", "4 ms"),
        channel("from", "r", "b", "1400 B", "4 ms"),
    ];
    let found = bound_and_worst(&[&*head(), STAR, &all.concat()].concat());
    assert!(found.iter().all(|(bound, worst)| worst <= bound && *worst > 0.4 * bound), "{found:?}");
}

/// A ring over one port: the channel passes the port to `r` twice, as two flows.
#[test]
fn a_channel_passes_the_same_queue_on_both_sides_of_a_relay() {
    let twice = along(&["a", "s", "r", "s", "b", "s", "r"], "twice", "462 B", "4 ms");
    let text = [&*head(), STAR, &twice].concat();
    let promise = &promises(&of(&text))[0];
    // Its own frame of the other lap may be before it at the port.
    assert_eq!([1, 5].map(|hop| kept(promise)[hop]), [80, 80].map(Span::from_us));
    let (bound, worst) = bound_and_worst(&text)[0];
    assert!(worst <= bound);
}

/// Ports by deadlines at a switch behind one by order of arrival.
const ROW: &str = r#"[node.a]
[node.b]
[node.c]
[node.r]
[node.s]
kind = "switch"
order = "fifo"
[node.t]
kind = "switch"
order = "multiclass_edf"
[network.first]
joins = ["s", "a", "b"]
[network.second]
joins = ["t", "c", "r"]
[network.trunk]
joins = ["s", "t"]
"#;

/// Two frames meet at `s`, and a third at `t`. There the first channel has the highest priority and waits
/// for one frame, and the others wait for two.
#[test]
fn a_port_by_deadlines_holds_what_comes_from_a_queue() {
    let all = ["a", "b", "c"].map(|from| channel(from, from, "r", "462 B", "4 ms")).concat();
    let edf = HEAD.replace(r#"cpu = "fifo", link = { order = "fifo" }"#, r#"cpu = "multiclass_edf""#);
    let text = [&*edf, ROW, &all].concat();
    let promises = promises(&of(&text));
    let of = promises.iter().map(kept);
    assert_eq!(
        of.collect::<Vec<_>>(),
        [&[40, 80, 80, 0][..], &[40, 80, 120, 0], &[40, 120, 0]].map(|of| of
            .iter()
            .copied()
            .map(Span::from_us)
            .collect::<Vec<_>>())
    );
    let at_t = promises[0].hops().iter().find(|hop| hop.hop == 2).map(|hop| (hop.role, hop.backlog));
    assert_eq!(at_t, Some((Role::Relay, 1)));
    let found = bound_and_worst(&text);
    assert_eq!(found.iter().map(|(bound, _)| *bound).collect::<Vec<_>>(), [200.0, 240.0, 160.0]);
    assert!(found.iter().all(|(bound, worst)| worst <= bound), "{found:?}");
}

/// A host by order of arrival passes the excess of its source on. So no channel has a bound from the relay
/// on, and one that only shares the relay with it has none.
#[test]
fn what_may_come_late_takes_the_bound_from_the_relay() {
    let text = |every: &str| {
        let free = free();
        let host = format!(
            "[node.b]\nhost.costs = {{ {free} }}\nhost.subsystem = {{ cpu = \"fifo\", link = {{ order = \"fifo\" }} }}\n"
        );
        let star = STAR.replace("[node.b]\n", &host);
        let from_b = along(&["b", "s", "r", "s", "a"], "b", "462 B", "4 ms");
        let from_b = from_b.replace("\"periodic\"", &format!("\"periodic\", interval = \"{every}\""));
        let own = channel("own", "r", "a", "462 B", "4 ms");
        [&*head(), &star, &from_b, &own].concat()
    };
    assert!(promises(&of(&text("4 ms"))).iter().all(Promise::is_bound));
    let none = promise::promises(&of(&text("1 ms")), Formula::Corrected).err();
    assert!(none.is_some_and(|why| why.sentence().contains("passes excess on")));
}

/// The deadline is from end to end, over both rows of queues.
#[test]
fn a_deadline_that_two_rows_exceed_together_is_refused() {
    let with = |deadline| {
        let one = along(&["a", "s", "r", "s", "b"], "loop", "462 B", deadline);
        promises(&of(&[&*head(), STAR, &one].concat())).remove(0).is_refused()
    };
    assert_eq!([with("430 us"), with("429 us")], [false, true]);
}

/// The reason is that of the queue, although the relay and the station behind it have none either.
#[test]
fn a_relay_without_a_bound_has_the_reason_of_the_queue_before_it() {
    let one = along(&["a", "s", "r", "s", "b"], "loop", "462 B", "4 ms");
    let flood = channel("flood", "b", "r", "1000 B", "4 ms")
        .replace("real_time", "best_effort")
        .replace("min_interval = \"4 ms\"\ndeadline = \"4 ms\"\n", "")
        .replace("periodic", "continuous");
    assert!(why(&[&*head(), STAR, &one, &flood].concat()).contains("best effort shares a FIFO queue"));
}
