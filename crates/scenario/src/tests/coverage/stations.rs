//! Which adapters of several stages have a bound, behind which windows.

use super::*;

/// A single host with an adapter, and a link scheduler as in `link`.
fn host(adapter: &str, link: &str) -> String {
    format!(
        r#"title = "A host"
[host]
profile = "mc68040"
subsystem = {{ packet = "1500 B", link = {{ {link} }} }}
[adapter]
{adapter}
[run]
time = "1 s"
[[channel]]
name = "a"
class = "real_time"
max_message = "1500 B"
burst = 1
min_interval = "60 ms"
deadline = "50 ms"
source = {{ kind = "continuous" }}
[[channel]]
name = "b"
class = "best_effort"
max_message = "1500 B"
burst = 1
source = {{ kind = "continuous" }}
"#
    )
}

/// The bound of the first channel in microseconds, or why it has none.
fn bound(text: &str) -> Result<u64, &'static str> {
    let promises = promises(&only(text), Formula::Corrected).map_err(|why| why.sentence())?;
    Ok(promises.channels[0].bound().expect("it is admitted").as_ps() / 1_000_000)
}

fn generic(stages: &[&str]) -> String {
    let stages = stages.iter().enumerate().map(|(n, stage)| format!("{{ name = \"s{n}\", {stage} }}"));
    format!("kind = \"generic\"\ntransmit = [{}]", stages.collect::<Vec<_>>().join(", "))
}

const LONG: &str = "phase = [{ fixed = \"400 us\" }]";
const BY_CLASS: &str =
    "queue = [{ takes = \"real_time\", order = \"edf\" }, { takes = \"best_effort\", priority = 1 }]";

/// Two stages of 400 us are one of 800 us to a host that has one packet outstanding.
#[test]
fn one_packet_takes_what_its_stages_take() {
    let null = bound(&host("kind = \"null\"\nstartup = \"800 us\"\nper_byte = \"7 ns\"", "depth = 1"));
    let per_byte = "phase = [{ fixed = \"400 us\", per_byte = \"7 ns\" }]";
    assert_eq!(bound(&host(&generic(&[LONG, per_byte]), "depth = 1")), null);
    assert!(null.is_ok());
}

/// With one packet in the adapter, queues, orders and buffers have no effect; with several they do.
#[test]
fn what_several_packets_can_do_to_each_other() {
    let held = "depth = 2";
    let ahead = "depth = 2, horizon = \"1 ms\"";
    let servers = format!("servers = 2, {LONG}");
    let drops = format!("queue = [{{ slots = 1, overload = \"drop\" }}], {LONG}");
    let turns = format!("{BY_CLASS}, selection = \"round_robin\", {LONG}");
    let first_come = turns.replace("order = \"edf\"", "order = \"fifo\"");
    let levels = format!("queue = [{{ order = \"fixed_priority\" }}], {LONG}");
    let deadlines = format!("{BY_CLASS}, {LONG}");
    let unequal = "servers = 2, phase = [{ fixed = \"400 us\", per_byte = \"1 ns\" }]";
    let early =
        "a queue in the adapter serves early packets as urgent ones: `horizon = \"0 us\"` of the host's link";
    let cases: [(&str, &str, Result<(), &str>); 10] = [
        (LONG, held, Ok(())),
        (LONG, ahead, Ok(())),
        // Servers with equal times finish packets in order.
        (&servers, held, Ok(())),
        (unequal, held, Err("packets that are served side by side may pass each other")),
        (&drops, held, Err("the adapter loses packets for want of places in a queue")),
        // No more than are under way. One that overtakes by its deadline gives a turn to the other queue.
        (&first_come, held, Ok(())),
        (&turns, held, Err("queues in turn have a bound in order of arrival: `order = \"fifo\"`")),
        // All of real time is one level.
        (&levels, held, Ok(())),
        (&deadlines, held, Ok(())),
        (&deadlines, ahead, Err(early)),
    ];
    for (stage, link, expected) in cases {
        let adapter = generic(&[stage, LONG]);
        assert_eq!(bound(&host(&adapter, link)).map(|_| ()), expected, "{stage} {link}");
        assert!(bound(&host(&adapter, &link.replace('2', "1"))).is_ok(), "{stage}");
    }
}

/// An adapter that has each packet at once has a bound if no packet without one can be ahead in it.
/// So has one behind a window that never closes, and a bound by time is by no number of packets.
#[test]
fn an_adapter_that_schedules_has_to_tell_who_is_urgent() {
    let urgent = format!("{BY_CLASS}, {LONG}");
    let at_once = |stages: &[&str]| bound(&host(&generic(stages), "paradigm = \"adapter\""));
    let known = at_once(&[&urgent, &urgent]).unwrap();
    let filled = Err("best effort may fill the adapter's queue before packets with deadlines");
    assert_eq!(at_once(&[LONG, &urgent]), filled);
    assert_eq!(at_once(&[&urgent, LONG]), filled);
    // A prefetch is short, and all of it is counted.
    let prefetch = format!("queue = [{{ slots = 2 }}], {LONG}");
    let (one, two) = (at_once(&[&urgent, LONG, &prefetch]), at_once(&[&urgent, &urgent, &prefetch]).unwrap());
    assert_eq!(one, filled);
    assert!(two > known + 3 * 400, "{known} {two}");
    // As many as there are buffers for are never more than fit.
    let deep = |depth: u32| bound(&host(&generic(&[&urgent, &urgent]), &format!("depth = {depth}"))).unwrap();
    assert_eq!(deep(60_000), deep(50_000));
    assert!(deep(60_000) < known + 400, "{} {known}", deep(60_000));
    let waits = host(&generic(&[&urgent, &urgent]), "paradigm = \"adapter\", depth = 2");
    assert_eq!(bound(&waits), Err("packets wait for a window before the adapter schedules them"));
}

/// Of two stages of 400 us and one of 200 a window of three pays the longest, in any order; with one
/// packet at a time all of them.
#[test]
fn a_window_is_charged_for_its_slowest_stage() {
    let fifo = [LONG, LONG, "phase = [{ fixed = \"200 us\" }]"];
    let edf = format!("{BY_CLASS}, {LONG}");
    let several = bound(&host(&generic(&fifo), "depth = 3")).unwrap();
    assert_eq!(bound(&host(&generic(&[&edf, LONG, fifo[2]]), "depth = 3")), Ok(several));
    // Packets that wait for a slot of the next stage are charged for all.
    let held = "queue = [{ slots = 1, overload = \"block\" }], phase = [{ fixed = \"200 us\" }]";
    let long = bound(&host(&generic(&[&edf, LONG, held]), "depth = 3")).unwrap();
    assert!(several < long, "{several} {long}");
}

#[test]
fn a_driver_must_be_patient_with_a_described_adapter_too() {
    let text = |after: u64| {
        let driver = format!("profile = \"mc68040\"\ndriver = {{ reset_after = \"{after} us\" }}");
        host(&generic(&[LONG, LONG]), "depth = 1").replacen("profile = \"mc68040\"", &driver, 1)
    };
    assert_eq!(bound(&text(1600)), Err("the driver resets the adapter while the adapter works"));
    assert!(bound(&text(4000)).is_ok());
}

/// Receivers: stages that keep up with received frames are a part of the route. Of stages that do
/// not, only a host that sends no packets keeps its bound.
#[test]
fn an_adapter_has_a_bound_for_what_it_receives_if_it_keeps_up() {
    let receive =
        |takes: &str| format!("\nreceive = [{{ name = \"up\", phase = [{{ fixed = \"{takes}\" }}] }}]");
    let text = |more: &str| {
        let node =
            format!("adapter = {{ {}{} }}", generic(&[LONG]).replace('\n', ", "), more.replace('\n', ", "));
        star(&node, "", &[(RT, "ada", "ben"), (RT, "ben", "cleo"), (RT, "ada", "dan")])
    };
    assert_eq!(bounds(&text("")), [(2, vec![]), (2, vec![]), (2, vec![])]);
    assert_eq!(bounds(&text(&receive("1 us"))), [(2, vec![]), (2, vec![]), (2, vec![])]);
    // A message every 60 ms, and no other sender there.
    assert_eq!(bounds(&text(&receive("5 ms"))), [(2, vec![]), (2, vec![]), (2, vec![])]);
    assert_eq!(bounds(&text(&receive("70 ms"))), [(1, vec![]), (0, vec![]), (2, vec![])]);
}

/// At a ring the token counts, and collisions have no bound.
#[test]
fn a_shared_medium_has_a_bound_if_it_takes_turns() {
    let stages = "phase = [{ fixed = \"100 us\", medium = true }]";
    let on = |network: &str| host(&generic(&[stages]), "depth = 1") + network;
    let ring = "[network]\nkind = \"token_ring\"\nrotation = \"1 ms\"\nholding = \"200 us\"\n";
    let own = bound(&on("")).unwrap();
    let waits = bound(&on(ring)).unwrap();
    // One packet before it and its own each wait for 800 us and for half of that, which the one
    // before may have overrun by. The host of the ring counts completions in another way, which is
    // up to 100 us more.
    assert!((own + 2 * 1200..own + 2 * 1200 + 100).contains(&waits), "{own} {waits}");
    assert_eq!(
        bound(&on("[network]\nkind = \"csma\"\nrate = \"10 Mbit/s\"\n")),
        Err("collisions have a probability, and no largest number")
    );
}
