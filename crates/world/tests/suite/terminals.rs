//! Nodes at the ends of paths that receive at interfaces: the bound from end to end, what arrives,
//! and what is lost where.

use laxity_admission::Formula;
use laxity_qos::channel::Order;
use laxity_qos::costs::HostCosts;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::promise::{self, Promise, Uncovered};
use laxity_world::results::Channel;

/// A channel from `a` over a switch to `b`, with a packet of 1000 B each millisecond. The host of `a`
/// takes no time. A packet takes 10 us on a link, 1 us on its way, and 4 us at the interface.
const PATH: &str = r#"
title = "A path to an interface"
[host]
profile = "hartos-np"
costs = { context_switch = "0 us", cache_miss = "0 us", first_packet = "0 us", packet = "0 us", link_scheduling = "0 us", interrupt = "1 us", receive_packet = "3 us", receive_message = "0 us" }
receive = { poll = "1 us", program = "2 us" }
subsystem = { packet = "1000 B", resources = "ideal" }
[node.a.host]
costs = { interrupt = "0 us" }
[node.switch]
kind = "switch"
[node.b]
[network.n]
joins = ["switch", "a", "b"]
rate = "100 MB/s"
propagation = "1 us"
[run]
time = "200 ms"
misses = "expected"
[[interface]]
name = "nic"
node = "b"
policy = "hard_timer"
interval = "100 us"
quota = 4
slots = 16
buffers = 16
buffers_real_time = 8
sharing = { kind = "weighted", real_time = 2, best_effort = 2 }
[[program]]
name = "control"
order = "class"
budget = "100 us"
period = "500 us"
[[program]]
name = "rest"
[[channel]]
name = "in"
from = "a"
to = "b"
class = "real_time"
max_message = "1000 B"
burst = 1
min_interval = "1 ms"
deadline = "1 ms"
source = { kind = "periodic", interval = "1 ms" }
"#;

/// Best effort of a packet each 2 us from `c`, of which `b` can take two each 100 us.
const FLOOD: &str = r#"
[node.c.host]
costs = { interrupt = "0 us" }
[[channel]]
name = "flood"
from = "c"
to = "b"
program = "rest"
class = "best_effort"
max_message = "100 B"
burst = 1
source = { kind = "periodic", interval = "2 us" }
"#;

fn flooded(text: &str) -> String {
    text.replace("joins = [\"switch\", \"a\", \"b\"]", "joins = [\"switch\", \"a\", \"b\", \"c\"]") + FLOOD
}

fn experiment(text: &str) -> Experiment {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    scenario.first()
}

#[track_caller]
fn with(from: &str, to: &str) -> String {
    assert!(PATH.contains(from), "{from}");
    PATH.replacen(from, to, 1)
}

fn promised(experiment: &Experiment) -> Promise {
    let promises = promise::promises(experiment, Formula::Corrected).expect("it is covered");
    promises.channels.into_iter().next().expect("there is a channel")
}

/// The first channel of a run. It lost no packet and kept its bound from end to end.
#[track_caller]
fn kept(experiment: &Experiment) -> Channel {
    let channel = laxity_world::run(experiment).channels.swap_remove(0);
    assert_eq!(channel.drops, Default::default());
    assert!(channel.delivered >= Some(100), "{channel:?}");
    assert!(
        channel.delivery_bound.is_some() && channel.delivery_worst <= channel.delivery_bound,
        "{channel:?}"
    );
    assert_eq!(channel.on_time, Some(1.0));
    channel
}

#[test]
fn the_bound_is_that_of_the_path_and_of_the_receiver() {
    let us = Span::from_us;
    let experiment = experiment(&flooded(PATH));
    let promise = promised(&experiment);
    let [sender, port, receiver] = promise.hops() else { panic!("three hops: {promise:?}") };
    // A packet of the flood, of 1 us, may be on the second link.
    assert_eq!((sender.kept, sender.way, port.kept, port.way), (us(10), us(1), us(11), us(1)));
    // A turn each 100 us; a packet in hand, the poll, and the packet; then the program.
    let parts = receiver.wait.terms().iter().chain(receiver.service.terms());
    let costs: Vec<Span> = parts.map(|term| term.cost).collect();
    assert_eq!(costs[..2], [us(100), us(3 + 1 + 3)]);
    assert_eq!(receiver.kept, costs.into_iter().sum());
    assert_eq!(promise.delivery_bound(), Some(us(23) + receiver.kept));
    assert_eq!(receiver.bound.deadline, us(1000 - 23));
    let channel = kept(&experiment);
    assert_eq!(channel.delivery_bound, promise.delivery_bound().map(Span::as_secs_f64));
    // It has its path, and the time to a turn.
    assert!(channel.delivery_worst > Some(22e-6 + 6e-6), "{channel:?}");
}

/// Each link delays a packet by up to 3.5 ms, more than three intervals. No packet may be dropped,
/// and the slots have to be enough for the packets that arrive together.
#[test]
fn what_the_path_moves_closer_together_is_in_the_room_and_past_the_policer() {
    let moved = |more: &str| {
        with(
            "propagation = \"1 us\"",
            &format!("propagation = \"1 us\"\nimpairments = {{ jitter = \"3500 us\" }}{more}"),
        )
        .replace("deadline = \"1 ms\"", "deadline = \"20 ms\"")
        .replace("[run]", "[admission]\ntest = \"demand\"\n[run]")
    };
    let moving = experiment(&flooded(&moved("")));
    let room = promised(&moving).room_at_interface().expect("it has a bound");
    let still = experiment(&flooded(PATH));
    let before = promised(&still).room_at_interface().expect("it has a bound");
    assert_eq!((before.slots, room.slots >= 4), (1, true), "{room:?}");
    for seed in 1..6 {
        kept(&Experiment { seed, ..moving.clone() });
    }
    let few = experiment(&flooded(&moved("").replace("slots = 16", &format!("slots = {}", room.slots - 1))));
    let refusal = promised(&few).refusal(&few, 0).expect("there are too few slots");
    assert!(refusal.contains(&format!("needs {} slots", room.slots)), "{refusal}");
}

#[test]
fn a_source_beyond_its_contract_is_held_where_it_sends() {
    let hasty =
        with("kind = \"periodic\", interval = \"1 ms\"", "kind = \"periodic\", interval = \"100 us\"");
    let channel = laxity_world::run(&experiment(&flooded(&hasty))).channels.swap_remove(0);
    assert!(channel.drops.keys().all(|cause| cause == "message_queue"), "{:?}", channel.drops);
    assert!(channel.delivered > Some(190) && channel.delivery_worst <= channel.delivery_bound, "{channel:?}");
}

#[test]
fn a_flood_is_lost_where_the_policy_says() {
    let lost = |change: &dyn Fn(String) -> String| {
        let channels = laxity_world::run(&experiment(&change(flooded(PATH)))).channels;
        assert_eq!(channels[0].drops, Default::default());
        channels[1].drops.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(lost(&|text| text), ["ring"]);
    let slow = |text: String| text.replace("name = \"rest\"", "name = \"rest\"\nwork = \"300 us\"");
    assert_eq!(lost(&slow), ["receive_buffers", "ring"]);
    let early = |text: String| slow(text).replace("slots = 16", "slots = 16\nearly_drop = true");
    assert_eq!(lost(&early), ["early", "ring"]);
}

#[test]
fn interrupts_for_packets_have_no_bound_and_are_in_livelock() {
    let each = |text: &str| {
        text.replace("policy = \"hard_timer\"\ninterval = \"100 us\"\nquota = 4", "policy = \"interrupt\"")
            .replace("receive_packet = \"3 us\"", "receive_packet = \"13 us\"")
    };
    let alone = experiment(&each(PATH));
    assert_eq!(promised(&alone).uncovered(), Some(Uncovered::InterruptFlood));
    let run = laxity_world::run(&alone);
    assert_eq!((run.channels[0].on_time, run.channels[0].delivery_bound), (Some(1.0), None));
    assert!(run.channels[0].no_bound.contains("interrupts for packets"), "{}", run.channels[0].no_bound);
    let run = laxity_world::run(&experiment(&each(&flooded(PATH))));
    let channel = &run.channels[0];
    assert_eq!((channel.delivered, channel.completed > 190), (Some(0), true), "{channel:?}");
    assert!(run.figures["interrupts_per_second@b"] > 50_000.0);
    let cpu = run.resources.iter().find(|resource| resource.name == "cpu@b").expect("b has a CPU");
    assert!(cpu.utilisation > 0.99 && cpu.uses.contains_key("wasted"), "{cpu:?}");
}

#[test]
fn no_bound_without_one_on_the_path_or_where_packets_come_ahead() {
    // A channel beside it, over a link of its own, has no bound where it is sent.
    let beside = PATH.replace("[run]", "[network.m]\njoins = [\"c\", \"b\"]\nrate = \"100 MB/s\"\n[run]")
        + "[node.c.host]\nsubsystem = { packet = \"1000 B\", enforcement = false }\n"
        + &PATH[PATH.find("[[channel]]").unwrap()..].replace("\"in\"", "\"other\"").replace("\"a\"", "\"c\"");
    assert_eq!(promised(&experiment(&beside)).uncovered(), Some(Uncovered::PathUnbound));
    // A host that hands on what it has, and a port that does not hold it.
    let mut ahead = experiment(&with("kind = \"switch\"", "kind = \"switch\"\norder = \"fifo\""));
    let host = ahead.nodes[0].host;
    ahead.hosts[host].costs = HostCosts::default();
    ahead.hosts[host].subsystem.order = Order::Fifo;
    ahead.hosts[host].subsystem.link.order = Order::Fifo;
    assert_eq!(promised(&ahead).uncovered(), Some(Uncovered::PathAhead));
    // Duplicates on the last link are more packets than a contract has.
    let last = with("joins = [\"switch\", \"a\", \"b\"]", "joins = [\"switch\", \"a\"]").replace(
        "[run]",
        "[network.m]\njoins = [\"switch\", \"b\"]\nrate = \"100 MB/s\"\nimpairments = { duplication = 0.1 }\n[run]",
    );
    assert_eq!(promised(&experiment(&last)).uncovered(), Some(Uncovered::Duplication));
}

#[test]
fn copies_of_a_node_receive_each_for_itself() {
    let both = with("[node.b]", "[node.b]\ncount = 2").replace("to = \"b\"", "to = \"b\"\ncount = 2");
    let experiment = experiment(&both);
    assert_eq!(experiment.receivers().len(), 2);
    let run = laxity_world::run(&experiment);
    assert!(run.channels.iter().all(|channel| channel.delivered == Some(200)), "{:?}", run.channels);
    assert!(run.figures.contains_key("longest_ring@b-1") && run.figures.contains_key("longest_ring@b-2"));
}

#[test]
fn a_message_in_pieces_is_delivered_whole() {
    let large = with(
        "source = { kind = \"periodic\", interval = \"1 ms\" }",
        "min_message = \"500 B\"\nmessage_slots = 8\npacket_slots = 24\nsource = { kind = \"periodic\", interval = \"4 ms\", size = \"2500 B\" }",
    );
    let channel = laxity_world::run(&experiment(&large)).channels.swap_remove(0);
    assert_eq!((channel.packets, channel.delivery_worst <= channel.delivery_bound), (150, true));
    assert_eq!((channel.delivered, channel.goodput), (Some(50), 2500.0 * 250.0));
}

/// Within a horizon packets leave before their logical arrival, at the host and at the port. Four
/// messages that are sent together arrive together.
#[test]
fn what_leaves_within_a_horizon_is_in_the_jitter() {
    let bursts = with("200 ms", "800 ms").replace(
        "source = { kind = \"periodic\", interval = \"1 ms\" }",
        "message_slots = 8\npacket_slots = 8\nsource = { kind = \"periodic\", interval = \"1 ms\", burst = 4 }",
    )
    .replace("kind = \"periodic\", interval = \"1 ms\", burst = 4", "kind = \"bursty\", interval = \"4 ms\", burst = 4")
    .replace("kind = \"switch\"", "kind = \"switch\"\nhorizon = \"3500 us\"")
    .replace("resources = \"ideal\"", "resources = \"ideal\", early = \"below_best_effort\", link = { horizon = \"3500 us\" }");
    let experiment = experiment(&bursts);
    assert!(promised(&experiment).room_at_interface().expect("it has a bound").slots >= 4);
    kept(&experiment);
    let held = self::experiment(&bursts.replace("horizon = \"3500 us\"", "horizon = \"0 us\""));
    assert_eq!(promised(&held).room_at_interface().expect("it has a bound").slots, 1);
    kept(&held);
}
