//! The arrivals of Ethernet frames, and the times at which links are free again, worked out by
//! hand.

use crate::common::free;
use laxity_scenario::Scenario;
use laxity_world::results::Run;
use laxity_world::run;

/// Two hosts that take no time, joined by `links`, and one channel between them, a message in each
/// millisecond.
fn joined(links: &str, more: &str) -> Run {
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        costs = {{ {} }}
        subsystem = {{ packet = "1500 B" }}
        [node.a]
        [node.b]
        {links}
        [run]
        time = "10 ms"
        [[channel]]
        name = "one"
        from = "a"
        to = "b"
        {more}
        "#,
        free()
    );
    run(&Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}")).first())
}

fn sent(size: u32, burst: u32) -> String {
    format!(
        "class = \"best_effort\"\nmax_message = \"{size} B\"\nburst = {burst}\n\
         source = {{ kind = \"bursty\", interval = \"1 ms\" }}"
    )
}

fn wire(rate: &str, framing: &str, propagation: &str) -> String {
    format!(
        "[network.wire]\njoins = [\"a\", \"b\"]\nrate = \"{rate}\"\nframing = \"{framing}\"\npropagation = \"{propagation}\""
    )
}

/// The shortest and the longest time to delivery, in picoseconds.
fn delivery(run: &Run) -> (u64, u64) {
    let delivery = run.channels[0].delivery.as_ref().expect("it was delivered");
    let ps = |seconds: f64| (seconds * 1e12).round() as u64;
    (ps(delivery.min), ps(delivery.max))
}

/// 100 B are a frame of 126 on the wire with preamble and check sequence, and 12 of gap behind it:
/// 1008 ns and 96 at 1 Gbit/s.
#[test]
fn a_frame_has_come_when_its_last_byte_has() {
    let alone = |rate: &str, framing: &str, propagation: &str| {
        let (min, max) = delivery(&joined(&wire(rate, framing, propagation), &sent(100, 1)));
        assert_eq!(min, max);
        min
    };
    assert_eq!(alone("1 Gbit/s", "ethernet", "100 ns"), 1_108_000);
    assert_eq!(alone("1 Gbit/s", "ethernet_vlan", "100 ns"), 1_140_000);
    assert_eq!(alone("1 Gbit/s", "none", "100 ns"), 900_000);
    // Shorter than the gap: 10 m, and 20 m at a tenth of the rate.
    assert_eq!(alone("1 Gbit/s", "ethernet", "50 ns"), 1_058_000);
    assert_eq!(alone("100 Mbit/s", "ethernet", "100 ns"), 10_180_000);
    // Where no cable is modelled, a frame arrives when its time is over.
    assert_eq!(alone("1 Gbit/s", "ethernet", "0 ns"), 1_104_000);
    // 126 B at 112 Gbit/s are 9 ns, and its gap 857.142... ps rounded up, of 9857.142... rounded
    // up: 9858 - 858 + 1000.
    assert_eq!(alone("112 Gbit/s", "ethernet", "1 ns"), 10_000);
}

/// The link is busy for the gap: a second frame arrives 1104 ns after the first, and so it does
/// over a switch, where each hop takes 1108.
#[test]
fn the_gap_delays_the_next_frame() {
    assert_eq!(
        delivery(&joined(&wire("1 Gbit/s", "ethernet", "100 ns"), &sent(100, 2))),
        (1_108_000, 2_212_000)
    );
    let over = |propagation: &str| {
        format!(
            "[node.s]\nkind = \"switch\"\n[network.n]\njoins = [\"s\", \"a\", \"b\"]\nrate = \"1 Gbit/s\"\n\
             framing = \"ethernet\"\npropagation = \"{propagation}\""
        )
    };
    assert_eq!(delivery(&joined(&over("100 ns"), &sent(100, 2))), (2_216_000, 3_320_000));
    assert_eq!(delivery(&joined(&over("50 ns"), &sent(100, 2))), (2_116_000, 3_220_000));
    // From the header on, 22 B, at the switch; behind it all of the frame but for its gap.
    let cut = over("100 ns").replace("\"switch\"", "\"switch\"\nforwarding = \"cut_through\"");
    assert_eq!(delivery(&joined(&cut, &sent(100, 1))).0, (22 * 8 + 100) * 1000 + 1_108_000);
}

/// Bounds count the gap of the last frame as little as the run does: a message of two frames, of
/// 1500 and 100 B, is there after 12304 + 1008 + 100 ns, without other traffic.
#[test]
fn a_bound_ends_with_the_last_byte() {
    let contract = "class = \"real_time\"\nmax_message = \"1600 B\"\nmin_message = \"1600 B\"\nburst = 1\nmin_interval = \"1 ms\"\n\
                    deadline = \"1 ms\"\nsource = { kind = \"periodic\" }";
    for propagation in ["100 ns", "30 ns", "0 ns"] {
        let with = joined(&wire("1 Gbit/s", "ethernet", propagation), contract);
        let channel = &with.channels[0];
        let (bound, worst) =
            (channel.delivery_bound.expect("it is admitted"), channel.delivery_worst.unwrap());
        assert!(worst <= bound * (1.0 + 1e-12), "{worst} of {bound} with {propagation}");
    }
}
