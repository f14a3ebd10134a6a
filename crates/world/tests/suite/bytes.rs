//! The costs of bytes for a CPU beside packets and messages: the times of packets, worked out by
//! hand.

use crate::common::free;
use laxity_scenario::Scenario;
use laxity_world::results::{Channel, Summary};
use laxity_world::run;

/// A message of 2500 bytes in packets of 1000, from one host to another; costs are those said, and
/// a byte takes 50 ns on the link.
fn sent(class: &str, paradigm: &str, costs: &str) -> Channel {
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        costs = {{ {}, {costs} }}
        subsystem = {{ packet = "1000 B", link = {{ paradigm = "{paradigm}" }} }}
        [adapter]
        kind = "null"
        startup = "0 us"
        per_byte = "50 ns"
        [path]
        receive = true
        [run]
        time = "100 ms"
        [[channel]]
        name = "one"
        max_message = "2500 B"
        burst = 1
        {class}
        "#,
        free()
    );
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    run(&scenario.first()).channels.remove(0)
}

const BEST_EFFORT: &str = "class = \"best_effort\"\nsource = { kind = \"periodic\", interval = \"10 ms\" }";
const REAL_TIME: &str =
    "class = \"real_time\"\nmin_interval = \"10 ms\"\ndeadline = \"1 ms\"\nsource = { kind = \"periodic\" }";

/// The longest from being sent to being transmitted and to being delivered, in microseconds.
fn times(paradigm: &str, costs: &str) -> (f64, f64) {
    let channel = sent(BEST_EFFORT, paradigm, costs);
    let us = |summary: Option<Summary>| (summary.expect("it was measured").max * 1e9).round() / 1e3;
    (us(channel.latency), us(channel.delivery))
}

const ALL: &str = r#"send_byte = "3 ns", receive_byte = "2 ns", transfer_byte = "1 ns""#;

/// O1: made by 3 us, moved by 4, on the link until 54; two more made meanwhile. The interrupt moves
/// the second by 55, which is out by 105, and the last, of 500 bytes, is moved by 105.5 and out by
/// 130.5. It is received in 1 us, the ones before it long since.
#[test]
fn bytes_are_paid_where_they_are_touched() {
    assert_eq!(times("O1", ALL), (130.5, 131.5));
}

/// Each part by itself, against 125 us of the link: the first packet's making; the last one's
/// receiving; the moving of all three.
#[test]
fn each_part_is_its_own() {
    assert_eq!(times("O1", r#"send_byte = "3 ns""#), (128.0, 128.0));
    assert_eq!(times("O1", r#"receive_byte = "2 ns""#), (125.0, 126.0));
    assert_eq!(times("O1", r#"transfer_byte = "1 ns""#), (127.5, 127.5));
    assert_eq!(times("O2", r#"transfer_byte = "1 ns""#), (127.5, 127.5));
}

/// With full packets throughout, bytes are as much as their share of each packet: bound and
/// measurement alike.
#[test]
fn bytes_count_in_bounds() {
    let of = |costs: &str| sent(REAL_TIME, "O1", costs);
    let by_bytes = of(ALL);
    let free = of(r#"send_byte = "0 us""#);
    let bound = |channel: &Channel| channel.bound.expect("it is admitted");
    // Three packets made and moved, if all were full: 3 × (3 + 1) us; others' are none.
    assert!(bound(&by_bytes) >= bound(&free) + 11.9e-6, "{} and {}", bound(&by_bytes), bound(&free));
    assert!(by_bytes.worst <= by_bytes.bound && by_bytes.delivery_worst <= by_bytes.delivery_bound);
}
