//! Two hosts on a network where everything goes wrong: every message and buffer is accounted for in
//! the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use laxity_engine::trace::NoTrace;
use laxity_engine::{Calendar, Limits, Seed, SimulationClock};
use laxity_model::network::MediumReport;
use laxity_model::node::HostNode;
use laxity_qos::channel::{ChannelCounters, ChannelId, Dropped, LinkId};
use laxity_units::{Span, Time};

use laxity_scenario::Scenario;
use laxity_world::experiment::{AdapterSpec, Experiment, Task};
use laxity_world::{Assembly, Elsewhere, Nothing, limits};

const GENERIC: &str = r#"
[adapter]
kind = "generic"
queue = [{ takes = "real_time", slots = 4 }, { takes = "best_effort", priority = 1, slots = 3 }]
transmit_buffers = { shared = 5, overload = "priority" }
receive_buffers = { per_channel = 3, overload = "drop" }
resource = [{ name = "bus" }]
[[adapter.transmit]]
name = "dma"
queue = [{ order = "multiclass_edf", slots = 2, overload = "drop" }]
phase = [{ per_byte = "20 ns", holds = ["bus"], tells = "handshake" }]
[[adapter.transmit]]
name = "link"
queue = [{ slots = 1, overload = "block" }]
phase = [{ rate = "100 Mbit/s", medium = true }, { fixed = "20 us", holds = ["bus"] }]
[[adapter.receive]]
name = "dma"
phase = [{ per_byte = "20 ns", holds = ["bus"], tells = "handshake" }]
"#;

fn scenario(seed: u64) -> (Experiment, String) {
    let mut dice = Seed::new(seed).stream("scenario");
    let mut pick = |of: &[&str]| of[dice.below(of.len() as u64) as usize].to_string();
    let adapter = pick(&[GENERIC, "[adapter]\nfile = \"cim250\"", "[adapter]\nfile = \"ring-edf\""]);
    let network = pick(&[
        "kind = \"point_to_point\"",
        "kind = \"token_ring\"\nrotation = \"3 ms\"\nholding = \"1 ms\"",
        "kind = \"csma\"\nrate = \"100 Mbit/s\"\nothers = { stations = 2, frame = \"500 B\", load = \"20 Mbit/s\" }",
    ]);
    let impairments = pick(&[
        "",
        // Not both: a duplicated frame is lost only if either copy is.
        "impairments = { duplication = 0.05 }",
        "impairments = { loss = 0.03, corruption = 0.03 }",
        "impairments = { delay = \"1 ms\", jitter = \"2 ms\", reordering = 0.1, reorder_by = \"3 ms\" }",
    ]);
    let paradigm =
        pick(&["paradigm = \"adapter\"", "paradigm = \"O1\", depth = 4", "paradigm = \"O2\", depth = 2"]);
    let overflow = pick(&["drop", "block"]);
    let mut text = format!(
        r#"
        title = "a test"
        seed = {seed}
        [host]
        profile = "mc68040"
        speedup = 8
        driver = {{ watchdog = "5 ms", reset_after = "400 ms" }}
        [host.subsystem]
        link = {{ {paradigm} }}
        {adapter}
        [network]
        stations = 2
        {network}
        {impairments}
        [admission]
        formula = "off"
        [run]
        time = "60 s"
        "#
    );
    for (name, from, to, class) in [
        ("there", 0, 1, "real_time"),
        ("back", 1, 0, "real_time"),
        ("bulk", 0, 1, "best_effort"),
        ("other", 1, 0, "best_effort"),
    ] {
        let contract = match class {
            "real_time" => "min_interval = \"20 ms\"\ndeadline = \"30 ms\"\nsource = { kind = \"bursty\" }",
            _ => "source = { kind = \"poisson\", rate = \"200 KiB/s\" }",
        };
        write!(
            text,
            r#"
        [[channel]]
        name = "{name}"
        from = {from}
        to = {to}
        class = "{class}"
        max_message = "10 KiB"
        burst = 3
        packet_slots = 5
        packet_overflow = "{overflow}"
        {contract}
        "#
        )
        .expect("a string takes all");
    }
    for _ in 0..1 + dice.below(4) {
        let at = 50 + dice.below(700);
        let node = dice.below(2);
        let fault = match dice.below(5) {
            0 => "kind = \"stop\"".into(),
            1 => "kind = \"full_queues\"".into(),
            2 => format!("kind = \"full_queues\"\nfor = \"{} ms\"", 1 + dice.below(200)),
            3 => format!("kind = \"lost_interrupts\"\nshare = 0.5\nfor = \"{} ms\"", 1 + dice.below(300)),
            _ => format!("kind = \"stall\"\nresource = \"processor\"\nfor = \"{} ms\"", 1 + dice.below(300)),
        };
        write!(text, "\n[[fault]]\nat = \"{at} ms\"\nnode = {node}\n{fault}\n").expect("a string takes all");
    }
    let scenario =
        Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    (scenario.first(), text)
}

type Quiet<'a> = Assembly<'a, 'static, NoTrace, Nothing>;

/// Loaded for a second, and then left alone until all is done that can be.
fn drained<'a>(experiment: &'a Experiment, trace: &'a mut NoTrace) -> Quiet<'a> {
    let Task::Simulate(length) = experiment.task else { panic!("it is a run") };
    let mut assembly = Assembly::with_outside(experiment, length, trace, Nothing, Elsewhere::default());
    let mut calendar = Calendar::new();
    assembly.start(&mut calendar);
    let until = |ms| Limits { until: Time::ZERO + Span::from_ms(ms), ..limits(length) };
    laxity_engine::run(&mut assembly, &mut calendar, &mut SimulationClock, until(1000));
    assembly.silence();
    // Time for a reset, and for all that waited behind it; a second reset if it hit the first's
    // last packets.
    laxity_engine::run(&mut assembly, &mut calendar, &mut SimulationClock, until(20_000));
    assembly
}

fn counters<'a>(assembly: &'a Quiet<'_>, node: usize, channel: usize) -> &'a ChannelCounters {
    let host = assembly.nodes()[node].host().expect("it is here");
    host.subsystem().counters(ChannelId(channel as u32)).unwrap()
}

#[test]
fn faults_lose_nothing_unaccounted_and_leave_no_buffer_behind() {
    let mut met = BTreeMap::<&str, u64>::new();
    for seed in 0..120 {
        let (experiment, text) = scenario(seed);
        let mut trace = NoTrace;
        let assembly = drained(&experiment, &mut trace);
        let what = |channel: usize| format!("{seed}, channel {}:\n{text}", experiment.channels[channel].name);
        for (n, node) in assembly.nodes().iter().enumerate() {
            let adapter = node.adapter(LinkId::FIRST);
            assert_eq!((adapter.held(), adapter.buffers_in_use()), (0, 0), "{seed}, node {n}:\n{text}");
            *met.entry("resets").or_default() += node.driver(LinkId::FIRST).resets;
            *met.entry("recovered").or_default() += node.driver(LinkId::FIRST).recovered;
        }
        let (mut sent_on, mut came) = (0, 0);
        for (i, spec) in experiment.channels.iter().enumerate() {
            let (tally, sender, receiver) = (
                assembly.tally(i),
                counters(&assembly, spec.route[0], i),
                counters(&assembly, spec.route[1], i),
            );
            for node in assembly.nodes() {
                let subsystem = node.host().expect("it is here").subsystem();
                assert_eq!(subsystem.buffers_in_use(ChannelId(i as u32)), Ok(0), "{}", what(i));
            }
            let cause = |cause| sender.dropped.get(&cause).copied().unwrap_or_default();
            // A message is refused, or accepted; accepted, it is cut into packets or dropped for
            // want of buffers.
            assert_eq!(
                tally.messages,
                sender.accepted + cause(Dropped::MessageQueue) + cause(Dropped::Undersized),
                "{}",
                what(i)
            );
            let failed = sender.created - sender.transmitted;
            assert!(cause(Dropped::Adapter) <= failed, "{}", what(i));
            assert!(sender.transmitted <= tally.packets && tally.packets <= sender.created, "{}", what(i));
            // A message is whole if none of its packets was lost before it left.
            let broken = cause(Dropped::PacketQueue) + cause(Dropped::Adapter);
            assert!(tally.completed <= sender.accepted, "{}", what(i));
            assert!(tally.completed + broken >= sender.accepted, "{}", what(i));
            assert!(
                receiver.delivered == tally.delivered && tally.delivered <= tally.completed,
                "{}",
                what(i)
            );
            sent_on += tally.packets;
            came += sender.created - tally.lost_packets;
            for (name, n) in
                [("completed", tally.completed), ("lost", tally.lost_packets), ("failed", failed)]
            {
                *met.entry(name).or_default() += n;
            }
        }
        // Each packet was lost before it left, on the path or on arrival, or was received, some of
        // them twice.
        let duplicated = assembly.impairments().duplicated;
        let received: u64 = assembly.nodes().iter().map(received).sum();
        if matches!(experiment.adapter(0), AdapterSpec::Described(adapter) if !adapter.receive.is_empty()) {
            assert_eq!(received, came + duplicated, "{seed}:\n{text}");
        }
        assert!(sent_on > 100, "{seed}: {sent_on} frames\n{text}");
        if let Some(MediumReport::Csma(report)) = assembly.media().next().map(|(medium, _)| medium.report()) {
            *met.entry("collisions").or_default() +=
                report.stations.iter().map(|s| s.collisions).sum::<u64>();
        }
    }
    for what in ["completed", "lost", "failed", "resets", "recovered", "collisions"] {
        assert!(met.get(what).is_some_and(|n| *n > 20), "{what}: {met:?}");
    }
}

/// Frames that have passed the last stage on their way in.
fn received(node: &HostNode) -> u64 {
    node.adapter(LinkId::FIRST)
        .stages(Time::ZERO)
        .iter()
        .rfind(|stage| stage.name.starts_with("rx "))
        .map_or(0, |stage| stage.passed)
}
