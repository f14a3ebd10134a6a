//! FIFO queues behind stations that do not hold early messages: ports by rates, and those that work ahead.

use laxity_units::Span;
use laxity_world::promise::Hop;

use super::fifo::{HEAD, bound_and_worst, channel, of, promises};

/// Three hosts that go by deadlines, at a switch with `port`, before a switch with FIFO ports.
fn text(port: &str, channels: &[String]) -> String {
    let edf = HEAD.replace(r#"cpu = "fifo", link = { order = "fifo" }"#, r#"cpu = "multiclass_edf""#);
    let nodes = format!(
        "[node.a]\n[node.b]\n[node.c]\n[node.r]\n[node.s]\nkind = \"switch\"\n{port}\n[node.t]\nkind = \"switch\"\norder = \"fifo\"\n\
         [network.in]\njoins = [\"s\", \"a\", \"b\"]\n[network.trunk]\njoins = [\"s\", \"t\"]\n[network.out]\njoins = [\"t\", \"c\", \"r\"]\n"
    );
    [&*edf, &nodes, &channels.concat()].concat()
}

const PORTS: [&str; 8] = [
    "order = \"wfq\"",
    "order = \"wf2q_plus\"",
    "order = \"scfq\"",
    "order = \"sfq\"",
    "order = \"drr\"",
    "order = \"virtual_clock\"",
    "order = \"multiclass_edf\"\nhorizon = \"1 h\"",
    "order = \"multiclass_edf\"\nhorizon = \"300 us\"",
];

/// Both frames have one trunk before the queue, so they are there one after the other, each with a link of
/// its own.
#[test]
fn frames_of_one_trunk_wait_for_no_other_behind_it() {
    let both = ["a", "b"].map(|from| channel(from, from, "r", "462 B", "4 ms"));
    for port in PORTS {
        let text = text(port, &both);
        let of_queue = |hops: &[Hop]| hops.iter().find(|hop| hop.hop == 2).unwrap().kept;
        for promise in promises(&of(&text)) {
            // Rates are rounded to the picosecond.
            let more = of_queue(promise.hops()).as_ps() - Span::from_us(40).as_ps();
            assert!(more <= 1, "{port}: {promise:?}");
        }
        let found = bound_and_worst(&text);
        assert!(found.iter().all(|(bound, worst)| worst <= bound && *worst >= 120.0), "{port}: {found:?}");
    }
}

/// The same to the nanosecond that a bound is cut off at.
fn all_kept(found: &[(f64, f64)]) -> bool {
    found.iter().all(|(bound, worst)| *worst < bound + 0.0015)
}

/// Messages of a channel may be there together, up to the burst and the delays of the ports before; those
/// of the other host use a link of their own.
#[test]
fn messages_that_come_together_are_paid_for() {
    let burst = |name: &str, from: &str| {
        let one = channel(name, from, "r", "1400 B", "8 ms");
        one.replace("burst = 1", "burst = 3").replace("kind = \"periodic\"", "kind = \"bursty\"")
    };
    let all = [burst("a", "a"), burst("b", "b"), burst("c", "c")];
    for port in PORTS {
        let found = bound_and_worst(&text(port, &all));
        assert!(all_kept(&found), "{port}: {found:?}");
        let close = found.iter().any(|(bound, worst)| *worst > 0.3 * bound);
        assert!(close, "{port}: {found:?}");
    }
}

/// Hosts that work an hour ahead, before a port that does, hold no message up to the queue. Of
/// its messages the contract of the source is known.
#[test]
fn a_path_that_holds_nothing_has_a_bound_if_the_source_keeps_its_contract() {
    let both = ["a", "b"].map(|from| channel(from, from, "r", "462 B", "40 ms"));
    let ahead = |text: String| text.replace("cpu = \"multiclass_edf\"", "link = { horizon = \"1 h\" }");
    for port in PORTS {
        let found = bound_and_worst(&ahead(text(port, &both)));
        assert!(all_kept(&found) && found.iter().all(|(bound, _)| *bound < 10_000.0), "{port}: {found:?}");
    }
}
