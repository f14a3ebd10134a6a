//! Nodes that establish, change and close channels while traffic runs.

use laxity_scenario::Scenario;
use laxity_signalling::faults::Fault as Protocol;
use laxity_world::broken::{FAULT, NodeFault};
use laxity_world::experiment::Experiment;
use laxity_world::results::{Channel, Run};
use laxity_world::run;

/// Three links of 10 Mbit/s in a row, with a flood from end to end, and `rest`.
fn text(rest: &str) -> String {
    format!(
        r#"
title = "A row"
run = {{ time = "2 s" }}
signalling = {{ lease = "300 ms" }}
node = {{ a = {{}}, b = {{}}, c = {{}}, d = {{}} }}
[network]
rate = "10 Mbit/s"
propagation = "100 us"
[network.ab]
joins = ["a", "b"]
[network.bc]
joins = ["b", "c"]
[network.cd]
joins = ["c", "d"]
[[channel]]
name = "flood"
class = "best_effort"
from = "a"
to = "d"
max_message = "900 B"
burst = 8
source = {{ kind = "continuous" }}
{rest}
"#
    )
}

fn row(rest: &str) -> Run {
    scene(&text(rest))
}

fn scene(text: &str) -> Run {
    run(&Scenario::from_text("row.toml", text).unwrap_or_else(|wrong| panic!("{wrong}")).first())
}

/// A real-time channel from `a` to `d`, with further keys.
fn film(keys: &str) -> String {
    format!(
        r#"
[[channel]]
name = "film"
class = "real_time"
from = "a"
to = "d"
max_message = "4 kB"
burst = 2
min_interval = "20 ms"
deadline = "60 ms"
{keys}
"#
    )
}

const PERIODIC: &str = "source = { kind = \"periodic\" }\n";

fn of<'r>(run: &'r Run, name: &str) -> &'r Channel {
    run.channel(name).unwrap_or_else(|| panic!("no {name}"))
}

fn keeps_all(run: &Run) {
    assert_eq!(run.exceeded().collect::<Vec<_>>(), [], "{:?}", run.answers);
    assert!(!run.misses_deadlines(), "{:#?}", run.channels);
}

fn words<'r>(run: &'r Run, channel: &str) -> Vec<&'r str> {
    run.answers.iter().filter(|answer| answer.channel == channel).map(|answer| &answer.answer[..]).collect()
}

fn are_as_new(run: &Run, nodes: &[&str]) -> bool {
    nodes.iter().all(|node| run.figures[&format!("as_new@{node}")] == 1.0)
}

/// Six crossings of at most one datagram and one signalling message, and their propagation.
#[test]
fn a_film_is_established_beside_a_flood_and_keeps_its_deadline() {
    let run = row(&film(&["open = \"100 ms\"\nclose = \"1 s\"\n", PERIODIC].concat()));
    keeps_all(&run);
    let film = of(&run, "film");
    assert_eq!((film.requests, film.established, film.lost), (Some(1), Some(1), Some(0)));
    assert!(film.messages >= 44 && film.on_time == Some(1.0), "{film:?}");
    assert!(film.establishment_worst <= film.establishment_bound && film.establishment_worst < Some(0.015));
    assert!(film.delivery_worst <= film.delivery_bound && film.delivery_bound <= film.deadline);
    assert!(film.delivery_worst > Some(0.01), "three hops of 3.4 ms");
    assert!(of(&run, "flood").throughput > 700_000.0);
    assert_eq!(words(&run, "film"), ["established", "closed"]);
    assert!(are_as_new(&run, &["a", "b", "c", "d"]));
}

#[test]
fn a_refusal_says_who_lacks_what_and_fails_the_run_unless_it_is_expected() {
    for (refusal, unexpected) in [("refusal = \"expected\"\n", 0), ("", 1)] {
        let run = row(&film(&[refusal, PERIODIC].concat()).replace("60 ms", "8 ms"));
        let film = of(&run, "film");
        assert_eq!((film.established, film.refused_requests), (Some(0), Some(1)));
        let refused = film.refused.as_ref().expect("it is refused");
        assert!(refused.reason.contains("deadline") && refused.admissible > Some(0.008), "{refused:?}");
        assert_eq!((film.unexpected, refused.expected), (Some(unexpected), unexpected == 0));
        assert_eq!(film.refusals.values().sum::<u64>(), 1);
        assert!(are_as_new(&run, &["a", "b", "c", "d"]));
    }
}

/// The messages under way at the change count under the old contract.
#[test]
fn a_change_has_no_gap() {
    let change = "change = [{ at = \"500 ms\", min_interval = \"10 ms\", deadline = \"70 ms\" }]\n";
    let source = "source = { kind = \"periodic\", interval = \"20 ms\" }\n";
    let run = row(&film(&[change, source].concat()));
    keeps_all(&run);
    let film = of(&run, "film");
    assert_eq!((film.changed, film.refused_changes, film.lost), (Some(1), Some(0), Some(0)));
    assert!(film.drops.is_empty() && film.due_messages >= Some(95), "{film:?}");
    assert_eq!(words(&run, "film"), ["established", "changed"]);
}

/// The new contract gives the destination more of its time: a message of it is never due there
/// before one of the old contract, or the old one would be given up. A search found this network,
/// and the name seeds the source.
#[test]
fn a_message_under_way_is_delivered_before_those_of_a_new_contract() {
    let run = scene(
        r#"
title = "A change"
run = { time = "1322 ms" }
node = { a = {}, b = {}, c = {}, d = {}, e = {}, f = {} }
network.n1 = { joins = ["a", "b"], rate = "20 Mbit/s" }
network.n2 = { joins = ["a", "c"], rate = "10 Mbit/s" }
network.n3 = { joins = ["c", "d"], rate = "20 Mbit/s" }
network.n4 = { joins = ["b", "e"], rate = "20 Mbit/s" }
network.n5 = { joins = ["c", "f"], rate = "10 Mbit/s" }
admission = { deadlines = "slowest" }
signalling = {}
[[channel]]
name = "c2"
class = "real_time"
from = "c"
to = "e"
max_message = "99 B"
burst = 3
min_interval = "23.38 ms"
deadline = "22.46 ms"
change = [{ at = "345444.75 us", min_interval = "4.56 ms", deadline = "33.62 ms" }]
source = { kind = "poisson" }
"#,
    );
    let channel = of(&run, "c2");
    assert_eq!((channel.changed, channel.failed_messages), (Some(1), Some(0)), "{channel:?}");
}

/// The channel is lost within a lease of the crash; the one that does not pass the node stays.
#[test]
fn a_crash_costs_the_channels_through_the_node() {
    let fault = "[[fault]]\nkind = \"crash\"\nnode = \"c\"\nat = \"500 ms\"\nfor = \"100 ms\"\n";
    let beside = film("to = \"b\"\nsource = { kind = \"adversary\" }\n");
    let beside = beside.replace("\"film\"", "\"beside\"").replace("to = \"d\"\n", "");
    let run = row(&[fault, &film(PERIODIC), &beside].concat());
    keeps_all(&run);
    assert_eq!(words(&run, "film"), ["established", "lost"]);
    let lost = run.answers.iter().find(|answer| answer.answer == "lost").expect("it is lost");
    assert!((0.5..0.9).contains(&lost.at), "{lost:?}");
    let (film, beside) = (of(&run, "film"), of(&run, "beside"));
    assert_eq!((film.lost, film.unexpected, beside.lost), (Some(1), Some(0), Some(0)));
    assert!(beside.on_time == Some(1.0) && beside.due_messages > Some(90), "{beside:?}");
}

#[test]
fn a_dead_program_leaves_no_reservation_behind_its_lease() {
    let fault = "[[fault]]\nkind = \"program_crash\"\nnode = \"a\"\nat = \"300 ms\"\n";
    let run = row(&[fault, &film(PERIODIC)].concat());
    keeps_all(&run);
    assert!(are_as_new(&run, &["a", "b", "c", "d"]), "{:?}", run.figures);
    assert!(of(&run, "film").messages < 16);
}

/// Deadlines of a file are in true time, whatever the clocks.
#[test]
fn clocks_that_differ_and_drift_keep_the_deadline() {
    let clocks = r#"node = { a = { clock = { drift = "2000 ppm", offset = "-3 s", grain = "20 us" } }, b = { clock = { drift = "-2000 ppm" } }, c = {}, d = {} }"#;
    let source = "source = { kind = \"adversary\" }\n";
    let text = text(&film(source)).replace("node = { a = {}, b = {}, c = {}, d = {} }", clocks);
    let run = run(&Scenario::from_text("row.toml", &text).unwrap_or_else(|wrong| panic!("{wrong}")).first());
    keeps_all(&run);
    let film = of(&run, "film");
    assert!(film.delivery_bound <= film.deadline && film.delivery_bound > Some(0.0599), "{film:?}");
    assert_eq!(film.on_time, Some(1.0));
}

/// Each call holds a part of the links, so that some are refused.
#[test]
fn calls_are_counted_and_blocked() {
    let calls = "calls = { every = \"20 ms\", hold = \"300 ms\" }\n";
    let run = row(&film(&[calls, PERIODIC].concat()).replace("burst = 2", "burst = 1"));
    keeps_all(&run);
    let film = of(&run, "film");
    let (asked, refused) = (film.requests.unwrap(), film.refused_requests.unwrap());
    assert!((60..150).contains(&asked) && refused > 10, "{asked} {refused}");
    assert!((film.blocking.unwrap() - refused as f64 / asked as f64).abs() < 0.1);
    assert_eq!(film.unexpected, Some(0));
    assert!(film.refused.is_none() && film.due_messages > Some(100));
}

/// Each rule, and each bound, notices a fault of nodes.
#[test]
fn each_rule_notices_a_fault() {
    let change = "change = [{ at = \"100 ms\", min_interval = \"25 ms\" }]\nclose = \"900 ms\"\n";
    let film = film(&[change, "source = { kind = \"adversary\" }\n"].concat());
    let greedy =
        film.replace("\"film\"", "\"greedy\"").replace("\"adversary\"", "\"periodic\", multiple = 3.0");
    let crash = "[[fault]]\nkind = \"crash\"\nnode = \"c\"\nat = \"700 ms\"\nfor = \"100 ms\"\n";
    // With little time to spare a message is late if it is held for longer than its time.
    let tight = text(&film.replace("60 ms", "40 ms").replace("min_interval = \"25 ms\"", "burst = 1"));
    // A flood that ends now and then lets what it overtook leave; a request behind a full queue waits.
    let flooded = |film: &str, rate: &str| {
        text(film).replace("\"continuous\"", &format!("\"poisson\", rate = \"{rate}\""))
    };
    let bursts = flooded(&film, "6 Mbit/s");
    let full = flooded(&film.replace("60 ms", "20 ms").replace(change, "open = \"100 ms\"\n"), "15 Mbit/s");
    let scenes = [
        text(&film),
        text(&[film.as_str(), &greedy].concat()),
        text(&[crash, &film].concat()),
        tight,
        bursts,
        full,
    ];
    let noticed = |fault| {
        FAULT.set(Some(fault));
        let words = |run: Run| {
            let rules = run.answers.iter().map(|answer| answer.answer.clone());
            let exceeded = run.exceeded().map(|exceeded| exceeded.judged.what.to_string());
            let missed = run.misses_deadlines().then(|| "missed".to_string());
            rules.chain(exceeded).chain(missed).collect::<Vec<_>>()
        };
        let all = scenes.iter().flat_map(|scene| words(self::scene(scene))).collect::<Vec<_>>();
        FAULT.set(None);
        all
    };
    for (fault, rule) in [
        (NodeFault::ReleasedEarly, "a packet left before its logical arrival"),
        (NodeFault::RemainingNotReduced, "time to delivery"),
        (NodeFault::ContractNotPoliced, "missed"),
        (NodeFault::BestEffortFirst, "a packet left after its local deadline"),
        (NodeFault::NumbersRestart, "a message arrived twice, out of order or changed"),
        (NodeFault::LastPacketLost, "missed"),
        (NodeFault::SignallingBestEffort, "time to an answer"),
        (NodeFault::Protocol(Protocol::LossToldTwice), "a request or a channel was not answered once"),
        (NodeFault::FlowKept, "the data path differs from the contracts held"),
        (NodeFault::ReservationKept, "a node holds something of channels that are over"),
    ] {
        let noticed = noticed(fault);
        assert!(noticed.iter().any(|other| other == rule), "{fault:?}: {noticed:?}");
    }
    let right = scenes.iter().map(|scene| self::scene(scene));
    right.for_each(|run| keeps_all(&run));
}

/// The source uses all of the old contract, of which messages have 60 ms at the nodes that send; in
/// the new one they have 30 ms there.
#[test]
fn a_source_that_uses_all_of_its_contract_loses_no_message_at_a_change() {
    let change = "change = [{ at = \"500 ms\", min_interval = \"10 ms\" }]\n";
    let source = "source = { kind = \"periodic\", interval = \"20 ms\" }\n";
    let run = row(&film(&[change, source].concat()).replace("60 ms", "100 ms"));
    keeps_all(&run);
    let film = of(&run, "film");
    assert_eq!((film.changed, film.failed_messages), (Some(1), Some(0)));
    assert!(film.drops.is_empty() && film.due_messages >= Some(94), "{film:?}");
}

/// An owner with one channel is refused a second by its own node; a channel of no owner is not.
#[test]
fn an_owner_has_its_quota_and_no_more() {
    let owned = |name: &str, owner: &str| {
        film(&[owner, "refusal = \"expected\"\n", PERIODIC].concat())
            .replace("\"film\"", &format!("\"{name}\""))
    };
    let owner = "owner = \"tenant\"\n";
    let text = text(&[owned("one", owner), owned("two", owner), owned("free", "")].concat());
    for (quota, resource) in [
        ("channels = 1", "quota_channels"),
        // 4 kB each 20 ms.
        ("bandwidth = \"3 Mbit/s\"", "quota_bandwidth"),
        ("buffers = 3", "quota_buffers"),
    ] {
        let lease = format!("signalling = {{ lease = \"300 ms\", owner.tenant = {{ {quota} }} }}");
        let run = scene(&text.replace("signalling = { lease = \"300 ms\" }", &lease));
        keeps_all(&run);
        let established = ["one", "two", "free"].map(|name| of(&run, name).established);
        assert_eq!(established, [Some(1), Some(0), Some(1)], "{quota}");
        assert_eq!(of(&run, "two").refusals, [(format!("a {resource}"), 1)].into());
    }
}

/// Two routes of two hops, and two films that one link cannot carry together.
fn square(routes: &str, rest: &str) -> String {
    let film = film("refusal = \"expected\"\nsource = { kind = \"adversary\" }\n");
    let film = film.replace("4 kB", "9 kB").replace("to = \"d\"", "to = \"b\"");
    let other = film.replace("\"film\"", "\"other\"").replace("burst", "open = \"200 ms\"\nburst");
    format!(
        r#"
title = "A square"
run = {{ time = "2 s" }}
signalling = {{ lease = "300 ms", routes = "{routes}" }}
node = {{ a = {{}}, b = {{}}, m = {{}}, n = {{}} }}
[network]
rate = "10 Mbit/s"
network.am = {{ joins = ["a", "m"] }}
network.mb = {{ joins = ["m", "b"] }}
network.an = {{ joins = ["a", "n"] }}
network.nb = {{ joins = ["n", "b"] }}
{film}{other}{rest}"#
    )
    .replace("[network]\nrate = \"10 Mbit/s\"\n", "network.rate = \"10 Mbit/s\"\n")
}

/// A computed route is the one with room, and leads around what is cut.
#[test]
fn a_request_takes_the_route_that_has_room() {
    for (routes, second) in [("fewest_hops", 0), ("widest", 1)] {
        let run = scene(&square(routes, ""));
        keeps_all(&run);
        let established = ["film", "other"].map(|name| of(&run, name).established);
        assert_eq!(established, [Some(1), Some(second)], "{routes}: {:?}", run.answers);
    }
    let cut = "[[fault]]\nkind = \"cut\"\nnetwork = \"am\"\nat = \"0 s\"\n";
    for (routes, first) in [("fewest_hops", 0), ("widest", 1)] {
        let run = scene(&square(routes, cut));
        keeps_all(&run);
        assert_eq!(of(&run, "film").established, Some(first), "{routes}: {:?}", run.answers);
    }
}

/// The answers are those of the whole run, of which only the last request is awaited.
#[test]
fn what_is_admitted_is_known_without_the_whole_run() {
    let scenario = Scenario::from_text("square.toml", square("fewest_hops", "")).unwrap();
    let (first, whole) = (laxity_world::answered(&scenario.first()).unwrap(), run(&scenario.first()));
    let words: Vec<_> =
        first.answers.iter().map(|answer| (&answer.channel[..], &answer.answer[..])).collect();
    assert_eq!(words, [("film", "established"), ("other", "refused")]);
    assert!(first.answers[0].detail.starts_with("bound "), "{:?}", first.answers);
    assert!(first.answers[1].detail.starts_with("a, "), "{:?}", first.answers);
    assert!(first.simulated < 0.5 && whole.simulated > 1.9);
    assert!(whole.answers.starts_with(&first.answers));
}

fn traced(experiment: &Experiment) -> String {
    let mut trace = laxity_engine::trace::PerfettoTrace::new(Vec::new());
    laxity_world::observe(experiment, &mut trace, None);
    String::from_utf8(trace.finish().unwrap()).unwrap()
}

/// The trace has the messages of establishment in their order at each link, and packets by hop.
#[test]
fn a_trace_shows_signalling_and_packets_by_hop() {
    let text = text(&film(&["close = \"1 s\"\n", PERIODIC].concat()));
    let experiment = Scenario::from_text("row.toml", &text).unwrap().first();
    let json = traced(&experiment);
    let at = |what: &str| json.find(what).unwrap_or_else(|| panic!("no {what}"));
    let order = ["ask", "commit", "refresh", "refreshed", "release", "released"];
    let order = order.map(|name| at(&format!("\"name\":\"{name}\"")));
    assert!(order.is_sorted(), "{order:?}");
    for what in
        ["link a-b", "link c-d", "link a-b queue", "\"established\"", "\"delivered\"", "\"best_effort\""]
    {
        at(what);
    }
    let packets = json.matches("\"name\":\"packet\"").count();
    // Up to fifty messages of four packets over three links.
    assert!((576..=600).contains(&packets), "{packets}");
}

/// Clocks that drift by 50 ppm follow that of `a`, beside floods. The true error is within the
/// stated one at each instant that is looked at, and that within the bound beforehand.
#[test]
fn clocks_are_synchronised_within_the_stated_error() {
    let clock = |drift: &str| {
        format!("{{ clock = {{ drift = \"{drift}\", offset = \"-3 ms\", grain = \"2 us\" }} }}")
    };
    let nodes = format!(
        "node = {{ a = {}, b = {}, c = {{}}, d = {} }}",
        clock("50 ppm"),
        clock("-50 ppm"),
        clock("20 ppm")
    );
    let synchronise = "signalling = { lease = \"300 ms\", synchronise = { reference = \"a\", accept = \"2 ms\", period = \"1 s\" } }";
    let text = text(&film(PERIODIC)).replace("node = { a = {}, b = {}, c = {}, d = {} }", &nodes);
    let text = text
        .replace("signalling = { lease = \"300 ms\" }", synchronise)
        .replace("time = \"2 s\"", "time = \"10 s\"");
    let run = scene(&text);
    keeps_all(&run);
    let json = traced(&Scenario::from_text("row.toml", &text).unwrap().first());
    assert!(json.contains("\"name\":\"clock\"") && !json.contains("malformed"));
    for node in ["b", "c", "d"] {
        let figure = |name: &str| run.figures[&format!("{name}@{node}")];
        let (error, stated, bound) = (figure("clock_error"), figure("clock_stated"), figure("clock_bound"));
        assert!(error > 1e-6 && error <= stated && stated <= bound, "{node}: {error} {stated} {bound}");
        assert!(bound < 0.0075, "{bound}");
    }
    assert!(!run.figures.contains_key("clock_error@a"));
    // Each hop counts 2 grains and drifts; the deadline counts both errors beside.
    assert!(
        run.figures["term_remaining"] < 20e-6 && run.figures["term_deadline"] > 4e-3,
        "{:?}",
        run.figures
    );
}
