//! The number of early messages, worked out by hand where they meet another channel: at a
//! rate-based port, where all simultaneous arrivals may go first.
//!
//! `a` sends, perhaps over `r`, and `w` does, through the port of a switch by VirtualClock to `z`:
//! 1000 B are 80 us there. Each contract is of one message in ten milliseconds within five at every
//! station, so a deadline alone makes one message early in any time below five milliseconds. All
//! are through at the port within as many times 80 us as may arrive there: one of each, and the
//! early ones.

use crate::common::free;
use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::promise::promises;

/// Messages by which all are through at the port, if `a` has the settings `sender`, may send
/// `burst` at once, and has its frames take the path of `relay`.
fn through(sender: &str, burst: u32, relay: &str) -> u64 {
    through_if("drop", sender, burst, relay).expect("it is admitted")
}

/// The same where what exceeds the contract becomes of it what `excess` says; `None` if a channel
/// is refused.
fn through_if(excess: &str, sender: &str, burst: u32, relay: &str) -> Option<u64> {
    through_of("kind = \"periodic\", multiple = 2", excess, sender, burst, relay)
}

/// The same where the messages of `a` are those of `source`.
fn through_of(source: &str, excess: &str, sender: &str, burst: u32, relay: &str) -> Option<u64> {
    let free = free();
    let (first, nodes) =
        if relay.is_empty() { ("t", "") } else { ("r", "[network.n1]\njoins = [\"r\", \"t\"]") };
    // Five milliseconds at each hop.
    let deadline = match relay {
        "" => 15,
        // The relay is notified up to 100 ms late.
        relay if relay.contains("100 ms") => 120 + 1,
        _ => 20,
    };
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        costs = {{ {free} }}
        subsystem = {{ packet = "1000 B" }}
        [admission]
        deadlines = "alike"
        [node.a.host]
        {sender}
        {relay}
        [node.w]
        [node.z]
        [node.t]
        kind = "switch"
        order = "virtual_clock"
        [network]
        rate = "100 Mbit/s"
        [network.n0]
        joins = ["{first}", "a"]
        {nodes}
        [network.n2]
        joins = ["t", "w", "z"]
        [run]
        time = "400 ms"
        [[channel]]
        name = "film"
        class = "real_time"
        from = "a"
        to = "z"
        max_message = "1000 B"
        burst = {burst}
        message_overflow = "{excess}"
        min_interval = "10 ms"
        deadline = "{deadline} ms"
        source = {{ {source} }}
        [[channel]]
        name = "alarm"
        class = "real_time"
        from = "w"
        to = "z"
        max_message = "1000 B"
        burst = 1
        min_interval = "10 ms"
        deadline = "15 ms"
        source = {{ kind = "periodic" }}
        "#
    );
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    let experiment = scenario.first();
    let promises = promises(&experiment, Formula::Corrected).expect("it is covered");
    if promises.channels[0].is_refused() {
        return None;
    }
    let at_the_port = promises.channels[1].at(1)?.bound.bound;
    let message = Span::from_us(80);
    assert!(at_the_port.as_ps().is_multiple_of(message.as_ps()), "{at_the_port}");
    Some(at_the_port.as_ps() / message.as_ps())
}

/// A sender that holds releases no message early; one of which the link has a horizon of 25 ms
/// releases the messages of three intervals, whatever the burst. A message beyond its contract that
/// waits for a slot, or is dropped without one, has a logical arrival further ahead each time.
/// Where it is carried as best effort, one of which may be before all others, no more is ahead than
/// a burst.
#[test]
fn a_sender_lets_go_what_its_horizon_has_room_for() {
    assert_eq!(through("", 5, ""), 2);
    let horizon = "subsystem = { early = \"below_best_effort\", link = { horizon = \"25 ms\" } }";
    let of_bursts = |excess| [1, 2, 5].map(|burst| through_if(excess, horizon, burst, ""));
    assert_eq!(of_bursts("drop"), [Some(2 + 3); 3]);
    assert_eq!(of_bursts("block"), [Some(2 + 3); 3]);
    assert_eq!(of_bursts("best_effort"), [2 + 1, 2 + 2, 2 + 3].map(|ahead| Some(1 + ahead)));
}

/// A source that keeps its contract has no more than a burst ahead, less the message that is due, whatever
/// becomes of excess.
#[test]
fn a_contract_that_is_kept_limits_what_is_ahead() {
    let horizon = "subsystem = { early = \"below_best_effort\", link = { horizon = \"25 ms\" } }";
    let kept = |excess, burst| through_of("kind = \"periodic\"", excess, horizon, burst, "");
    for excess in ["drop", "block"] {
        assert_eq!([1, 2, 3, 5].map(|burst| kept(excess, burst)), [0, 1, 2, 3].map(|ahead| Some(2 + ahead)));
    }
    let open = "subsystem = { early = \"below_best_effort\", link = { paradigm = \"adapter\" } }";
    assert_eq!(through_of("kind = \"periodic\"", "drop", open, 5, ""), Some(2 + 4));
}

/// A link that hands packets over as they are made has no order of its own, and so no horizon: they
/// leave as far ahead as the CPU makes them, which has no end.
#[test]
fn what_a_link_does_not_hold_goes_as_far_ahead_as_it_is_made() {
    let ahead = "subsystem = { early = \"below_best_effort\", link = { paradigm = \"adapter\" } }";
    assert_eq!(through_if("drop", ahead, 5, ""), None);
    let held = "subsystem = { early = \"hold\", link = { paradigm = \"adapter\", horizon = \"25 ms\" } }";
    assert_eq!(through(held, 5, ""), 2);
    let link = "subsystem = { early = \"below_best_effort\", link = { paradigm = \"adapter\", order = \"multiclass_edf\", horizon = \"25 ms\" } }";
    assert_eq!(through(link, 5, ""), 2 + 3);
}

/// At a relay that notices at once a message is early by the unused part of five milliseconds: one
/// goes on. If it notices all of 100 ms together, its horizon limits the number: three.
#[test]
fn a_relay_that_is_told_late_lets_go_what_it_was_told_at_once() {
    let relay = |adapter: &str| {
        let horizon = "subsystem = { packet = \"1000 B\", early = \"below_best_effort\", link = { horizon = \"25 ms\" } }";
        through("", 1, &format!("[node.r.host]\n{horizon}\n{adapter}"))
    };
    assert_eq!(relay(""), 2 + 1);
    let told_late = r#"
        [node.r.adapter]
        kind = "generic"
        transmit = [{ name = "link", queue = [{ order = "fifo" }], phase = [{ fixed = "20 us", medium = true }] }]
        receive = [{ name = "store", queue = [{ order = "fifo" }], phase = [{ fixed = "5 us" }] }]
        response_queue = [{ answers = "received", interval = "100 ms" }, { answers = "sent" }]
        "#;
    assert_eq!(relay(told_late), 2 + 3);
}
