//! Hosts that hand packets over to their adapter as they are made.

use super::fifo::{HEAD, STAR, bound_and_worst, channel};

/// A host that makes a packet in 5 us, with interrupts of 10 us, at a link that sends the smallest frame in
/// 6.72 us. Completions may be pending for all packets with the adapter.
fn head() -> String {
    let handed = "subsystem = { packet = \"1500 B\", link = { paradigm = \"adapter\" } }";
    let changes = [
        ("subsystem = { packet = \"1500 B\", cpu = \"fifo\", link = { order = \"fifo\" } }", handed),
        ("first_packet = \"0 us\", packet = \"0 us\"", "first_packet = \"5 us\", packet = \"5 us\""),
        ("interrupt = \"0 us\"", "interrupt = \"10 us\""),
        ("receive_packet = \"0 us\"", "single_packet = \"5 us\", receive_packet = \"3 us\""),
    ];
    changes.iter().fold(HEAD.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

/// Each packet with the adapter has a buffer of its channel, and costs a completion of 10 us at either
/// host.
/// A channel has no buffers where it ends.
#[test]
fn no_more_completions_are_pending_than_there_are_buffers() {
    for slots in [1, 2, 8] {
        let slots_of =
            |text: String| text.replace("burst = 1", &format!("burst = 1\npacket_slots = {slots}"));
        let channels = [("there", "a", "b"), ("back", "b", "a")]
            .map(|(name, from, to)| slots_of(channel(name, from, to, "46 B", "4 ms")));
        let text = [head(), STAR.into(), channels.concat()].concat();
        for (bound, worst) in bound_and_worst(&text) {
            assert_eq!(bound, 259.6 + 20.0 * f64::from(slots));
            assert!(worst <= bound, "{worst}");
        }
    }
}

/// Both hosts have one level, and receive in no time. The first channel alone leaves little of its
/// deadline to the host where it ends. The second one shares that level, so the parts of the first are
/// shared out again.
#[test]
fn channels_that_share_a_level_make_room_for_each_other() {
    let head = head().replace("receive_packet = \"3 us\"", "receive_packet = \"0 us\"");
    let channels = [("there", "a", "b"), ("back", "b", "a")]
        .map(|(name, from, to)| channel(name, from, to, "1000 B", "4 ms"));
    let found = bound_and_worst(&[head, STAR.into(), channels.concat()].concat());
    let [there, back] = found[..] else { panic!("{found:?}") };
    assert_eq!(there, back);
    assert!(there.1 <= there.0 && there.0 < 4000.0, "{there:?}");
}
