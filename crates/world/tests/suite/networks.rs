//! Unlike nodes and switches: when frames are where, worked out by hand.

use crate::common::free;
use laxity_scenario::Scenario;
use laxity_world::results::{Channel, Run};
use laxity_world::run;

/// Hosts that take no time beside what is said; a byte takes 80 ns on a link, a millisecond between
/// messages. `a` and `b` are at switch `sw`, `c` behind `sx`; each link takes 5 us, each switch 3.
fn network(more: &str, channels: &str) -> Run {
    network_with(more, "", channels)
}

/// The same with more said of the trunk.
fn network_with(more: &str, trunk: &str, channels: &str) -> Run {
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        costs = {{ {} }}
        subsystem = {{ packet = "1500 B" }}
        [admission]
        formula = "off"
        [node.a]
        [node.b]
        [node.c]
        host = {{ costs = {{ receive_packet = "10 us" }}, speedup = 2.0 }}
        [node.sw]
        kind = "switch"
        latency = "3 us"
        {more}
        [node.sx]
        kind = "switch"
        latency = "3 us"
        {more}
        [network]
        rate = "100 Mbit/s"
        propagation = "5 us"
        [network.near]
        joins = ["sw", "a", "b"]
        [network.trunk]
        joins = ["sw", "sx"]
        {trunk}
        [network.far]
        joins = ["sx", "c"]
        [run]
        time = "100 ms"
        {channels}
        "#,
        free()
    );
    run(&Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}")).first())
}

fn channel(name: &str, from: &str, to: &str, size: u32, class: &str) -> String {
    let class = match class {
        "best_effort" => "class = \"best_effort\"".to_string(),
        deadline => format!("class = \"real_time\"\ndeadline = \"{deadline}\"\nmin_interval = \"1 ms\""),
    };
    let interval = if class.contains("real_time") { "" } else { ", interval = \"1 ms\"" };
    format!(
        "[[channel]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{class}\nmax_message = \"{size} B\"\n\
         burst = 4\nsource = {{ kind = \"periodic\"{interval} }}\n"
    )
}

/// The same over a route that is written.
fn over(route: &[&str], name: &str, size: u32, class: &str) -> String {
    let ends = "from = \"\"\nto = \"\"\n";
    channel(name, "", "", size, class).replace(ends, &format!("route = {route:?}\n"))
}

/// From being sent to being delivered, in microseconds: the least, the most, and how often.
fn delivery(channel: &Channel) -> (f64, f64, u64) {
    let delivery = channel.delivery.as_ref().expect("it was delivered");
    let us = |seconds: f64| (seconds * 1e9).round() / 1e3;
    (us(delivery.min), us(delivery.max), delivery.count)
}

/// 1000 bytes: 80 us on each of three links, 5 behind each, 3 in each switch, and 10 us of
/// receiving at a host that is twice as fast: 3 × 85 + 2 × 3 + 5 = 266. From `a` to `b` one switch:
/// 2 × 85 + 3 = 173.
#[test]
fn a_frame_is_stored_and_forwarded() {
    let channels = channel("far", "a", "c", 1000, "best_effort");
    let far = network("", &channels);
    assert_eq!(delivery(&far.channels[0]), (266.0, 266.0, 100));
    let near = network("", &channel("near", "a", "b", 1000, "best_effort"));
    assert_eq!(delivery(&near.channels[0]), (173.0, 173.0, 100));
}

/// A switch begins when it has 22 bytes, 1.76 us, but sends for as long: 80 + 5, and twice 1.76 + 3
/// + 5, and 5: 109.52.
#[test]
fn a_frame_cuts_through() {
    let run = network("forwarding = \"cut_through\"", &channel("far", "a", "c", 1000, "best_effort"));
    assert_eq!(delivery(&run.channels[0]), (109.52, 109.52, 100));
}

/// Cutting through begins late enough that no frame has to wait. A trunk of 400 Mbit/s has 20 us
/// for a frame: it begins 20 us before the last bit is there, so that leaves as soon as it has
/// arrived, at 80 + 5 + 3. Behind it the far link takes its 80 us from the header on, which arrived
/// 0.44 us after the beginning: 68 + 0.44 + 8 + 80, and 10 to be received.
#[test]
fn a_faster_link_behind_a_cut_through_switch_waits() {
    let channels = channel("far", "a", "c", 1000, "best_effort");
    let run = network_with("forwarding = \"cut_through\"", "rate = \"400 Mbit/s\"", &channels);
    assert_eq!(delivery(&run.channels[0]), (166.44, 166.44, 100));
}

/// Both send at once, so one of them waits at the port to `sx` for 80 us; from there on they are 80
/// apart.
#[test]
fn two_frames_meet_at_a_port() {
    let channels =
        channel("one", "a", "c", 1000, "best_effort") + &channel("two", "b", "c", 1000, "best_effort");
    let run = network("", &channels);
    assert_eq!([0, 1].map(|n| delivery(&run.channels[n])), [(266.0, 266.0, 100), (346.0, 346.0, 100)]);
    let trunk = run.resources.iter().find(|resource| resource.name == "link@sw.sx").expect("it is a port");
    assert_eq!((trunk.utilisation * 1e3).round(), 160.0);
    assert_eq!(trunk.longest_queue, Some(1));
}

/// Of a deadline of 1221 us the propagation takes 21, and each of four hops has 300. A port holds
/// the frame until it was due at the hop before and could have arrived: `sw` until 308, `sx` until
/// 308 + 300 + 8 = 616. It has left after 80, has arrived after 5 and is received in 5, for no
/// bound is in force for which the receiver would hold it. With a horizon the ports release it at
/// once.
#[test]
fn a_guaranteed_frame_is_held_at_each_port() {
    let run = network("", &channel("held", "a", "c", 1000, "1221 us"));
    assert_eq!(delivery(&run.channels[0]), (706.0, 706.0, 100));
    let link = |run: &Run| {
        let summary = run.channels[0].latency.as_ref().expect("it was sent");
        (summary.max * 1e6).round()
    };
    let eager = network("horizon = \"1 s\"", &channel("held", "a", "c", 1000, "1221 us"));
    assert_eq!((link(&run), link(&eager)), (696.0, 256.0));
}

/// A port with buffers for one frame of 1000 bytes has it while it sends; of two simultaneous ones
/// it loses the second.
#[test]
fn what_finds_no_room_is_lost_and_told() {
    let channels =
        channel("one", "a", "c", 1000, "best_effort") + &channel("two", "b", "c", 1000, "best_effort");
    let run = network("memory = \"1999 B\"", &channels);
    let told = |n: usize| (run.channels[n].completed, run.channels[n].lost_packets);
    assert_eq!([told(0), told(1)], [(100, 0), (0, 100)]);
    assert_eq!(run.figures.get("switch_lost@sw.sx"), Some(&100.0));
    let shared = network("memory = \"1999 B\"\nshared_memory = \"1000 B\"", &channels);
    assert_eq!(shared.channels[1].lost_packets, 0);
}

/// A resource that works on one frame from before the window opens until after the run has ended is
/// busy for all of it: a port of which the frame takes 80 ms, a link, a stage and a CPU with a
/// packet that long.
#[test]
fn what_is_under_way_at_an_edge_counts_for_what_lies_within() {
    let fast = format!("costs = {{ {} }}", free());
    let slow_cpu = fast.replace("first_packet = \"0 us\"", "first_packet = \"80 ms\"");
    let line = "[node.a]\n[node.b]\n[node.s]\nkind = \"switch\"\n[network.n]\njoins = [\"s\", \"a\"]\nrate = \"1 Gbit/s\"\n\
                [network.m]\njoins = [\"s\", \"b\"]\nrate = \"100 kbit/s\"";
    let quick = "kind = \"null\"\nper_byte = \"1 ns\"";
    let staged = "kind = \"generic\"\ntransmit = [{ name = \"dma\", phase = [{ per_byte = \"80 us\", medium = true }] }]";
    let cases = [
        (&fast, quick, line, "link@s.b"),
        (&fast, "kind = \"null\"\nper_byte = \"80 us\"", "", "link"),
        (&fast, staged, "", "dma"),
        (&slow_cpu, quick, "", "cpu"),
    ];
    for (host, adapter, network, busy) in cases {
        for (warmup, expected) in [("20 ms", 1.0), ("0 ms", 1.0), ("39 ms", 1.0)] {
            let ends = if network.is_empty() { "" } else { "from = \"a\"\nto = \"b\"\n" };
            let text = format!(
                "title = \"a test\"\n[host]\nprofile = \"mc68040\"\nsubsystem = {{ packet = \"1000 B\" }}\n{host}\n[adapter]\n{adapter}\n\
                 {network}\n[admission]\nformula = \"off\"\n[run]\ntime = \"40 ms\"\nwarmup = \"{warmup}\"\n[[channel]]\nname = \"z\"\n\
                 class = \"best_effort\"\n{ends}max_message = \"1000 B\"\nburst = 1\nsource = {{ kind = \"periodic\", interval = \"1 h\" }}\n"
            );
            let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
            let run = run(&scenario.first());
            let found = run.resources.iter().find(|resource| resource.name == busy).expect("it is there");
            assert!(
                (found.utilisation - expected).abs() < 1e-3,
                "{busy} after {warmup}: {}",
                found.utilisation
            );
        }
    }
}

/// From `a` to `b` and back it is twice 173, by two ports of one switch.
#[test]
fn a_message_comes_back() {
    let run = network("", &over(&["a", "sw", "b", "sw", "a"], "echo", 1000, "best_effort"));
    assert_eq!(delivery(&run.channels[0]), (346.0, 346.0, 100));
    assert_eq!((run.channels[0].packets, run.channels[0].lost_packets), (100, 0));
}

/// To `c`, back and there again: 266 with what `c` takes to receive, 261 back to `a`, and 266, over
/// each port of that way twice. Each of two fragments has its own, and the second is behind by what
/// a link takes, 40 us.
#[test]
fn a_message_goes_round_and_round() {
    let there_and_back = ["a", "sw", "sx", "c", "sx", "sw", "a", "sw", "sx", "c"];
    let run = network("", &over(&there_and_back, "rounds", 1000, "best_effort"));
    assert_eq!(delivery(&run.channels[0]), (793.0, 793.0, 100));
    let two = network("", &over(&there_and_back, "rounds", 2000, "best_effort"));
    // 1500 and 500 bytes: 9 times 40 more for the first, and 40 for the second.
    assert_eq!(delivery(&two.channels[0]), (1193.0, 1193.0, 99));
    assert_eq!(two.channels[0].lost_packets, 0);
}

/// A port or relay holds a frame by the time of each passage: `sw` until 308, `b` until 308 + 305,
/// `sw` until 613 + 308. The frame is back where it began 80 and 5 later, and is received at once,
/// for no bound is in force.
#[test]
fn what_comes_back_is_held_again() {
    let run = network("", &over(&["a", "sw", "b", "sw", "a"], "held", 1000, "1526 us"));
    assert_eq!(delivery(&run.channels[0]), (1006.0, 1006.0, 99));
    assert_eq!(run.channels[0].missed_messages, 0);
}

/// Straight back from a switch, by the port to where it came from: 80 + 5 + 3 + 80 + 5.
#[test]
fn a_switch_sends_back() {
    let run = network("", &over(&["a", "sw", "a"], "echo", 1000, "best_effort"));
    assert_eq!(delivery(&run.channels[0]), (173.0, 173.0, 100));
}

/// The port to `b` has buffers for one frame. The second time at 434; there is another from `c`
/// then, which arrived at 242: 3 × 77 + 6, and 5 to be passed on. So that is at the port from 402
/// to 474, and the loss is reported for its channel.
#[test]
fn what_is_lost_on_a_later_lap_is_its_channels() {
    let rounds = over(&["a", "sw", "b", "sw", "a", "sw", "b"], "rounds", 1000, "best_effort");
    let other = over(&["b", "sw", "sx", "c", "sx", "sw", "b"], "other", 900, "best_effort");
    let told = |run: &Run| [0, 1].map(|n| run.channels.get(n).map(|c| (c.delivered, c.lost_packets)));
    let alone = network("memory = \"1000 B\"", &rounds);
    assert_eq!(told(&alone), [Some((Some(100), 0)), None]);
    let both = network("memory = \"1000 B\"", &(rounds + &other));
    assert_eq!(told(&both), [Some((Some(0), 100)), Some((Some(100), 0))]);
}

/// Three times over the trunk, which delays its frames by 7 us: 793 and 21. Its last lap is the
/// second, of which the hops differ from those of the first.
#[test]
fn what_happens_on_a_way_happens_on_every_lap() {
    let there_and_back = ["a", "sw", "sx", "c", "sx", "sw", "a", "sw", "sx", "c"];
    let delays = "impairments = { delay = \"7 us\" }";
    let rounds = over(&there_and_back, "rounds", 1000, "best_effort");
    let run = network_with("", delays, &rounds);
    assert_eq!(delivery(&run.channels[0]), (814.0, 814.0, 100));
    // Behind another of other laps, which it does not meet.
    let other = over(&["b", "sw", "b", "sw", "b"], "other", 1000, "best_effort");
    let run = network_with("", delays, &(other + &rounds));
    assert_eq!([0, 1].map(|n| delivery(&run.channels[n]).1), [346.0, 814.0]);
}

/// Four times 173, over three laps. Another, of four, is between a host and its switch: three times
/// two links of 85, a switch of 3 and 5 to be received, or passed on.
#[test]
fn a_message_has_as_many_laps_as_it_takes() {
    let rounds = over(&["a", "sw", "b", "sw", "a", "sw", "b", "sw", "a"], "rounds", 1000, "best_effort");
    let run = network("", &rounds);
    assert_eq!(delivery(&run.channels[0]), (692.0, 692.0, 100));
    let other = over(&["c", "sx", "c", "sx", "c", "sx", "c"], "other", 1000, "best_effort");
    let both = network("", &(rounds + &other));
    assert_eq!(delivery(&both.channels[0]), (692.0, 692.0, 100));
    assert_eq!(delivery(&both.channels[1]), (534.0, 534.0, 100));
}
