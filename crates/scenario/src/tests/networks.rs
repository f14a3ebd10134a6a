//! Unlike nodes, what they have in common, and the ways between them.

use laxity_qos::channel::{LinkId, Order};
use laxity_units::{ByteTime, Bytes, Span};

use super::*;

/// Four cameras and a server at two switches, with `more` behind.
pub(super) fn network(more: &str) -> String {
    format!(
        r#"title = "A network"
[host]
profile = "mc68040"
subsystem = {{ packet = "1500 B", link = {{ depth = 2 }} }}
[node.cam]
count = 4
host = {{ speedup = 2.0 }}
[node.server]
host = {{ subsystem = {{ link = {{ depth = 3 }} }} }}
[node.desk]
adapter = {{ kind = "null", rate = "50 Mbit/s", startup = "3 us" }}
[node.sw]
kind = "switch"
latency = "2 us"
[node.sx]
kind = "switch"
order = "fixed_priority"
memory = "10 KiB"
shared_memory = "20 KiB"
[network]
rate = "100 Mbit/s"
framing = "ethernet"
impairments = {{ delay = "1 us" }}
[network.access]
joins = ["sw", "cam"]
propagation = "500 ns"
[network.trunk]
joins = ["sw", "sx"]
rate = "1 Gbit/s"
impairments = {{ jitter = "2 us" }}
[network.rest]
joins = ["sx", "server", "desk"]
[[channel]]
name = "video"
class = "real_time"
from = "cam"
to = "server"
max_message = "12 KiB"
burst = 2
min_interval = "60 ms"
deadline = "50 ms"
source = {{ kind = "periodic" }}
[run]
time = "1 s"
{more}"#
    )
}

#[test]
fn nodes_say_what_differs_and_have_the_rest_in_common() {
    let experiment = right(&network("")).first();
    let names: Vec<String> = (0..experiment.stations()).map(|station| experiment.name(station)).collect();
    let (hosts, ports) = names.split_at(6);
    assert_eq!(hosts, ["cam-1", "cam-2", "cam-3", "cam-4", "desk", "server"]);
    let toward = ["cam-1", "cam-2", "cam-3", "cam-4", "sx"].map(|to| format!("sw.{to}"));
    let mut expected: Vec<String> =
        toward.into_iter().chain(["sx.desk", "sx.server", "sx.sw"].map(Into::into)).collect();
    let mut ports = ports.to_vec();
    ports.sort();
    expected.sort();
    assert_eq!(ports, expected);
    let of = |node: usize| (experiment.host(node).speedup, experiment.host(node).subsystem.link.depth);
    assert_eq!([of(0), of(3), of(4), of(5)], [(2.0, 2), (2.0, 2), (1.0, 2), (1.0, 3)]);
    assert_eq!(experiment.hosts.len(), 3, "cameras share one, the desk has the common one");
    let network = |name: &str| {
        let found = experiment.networks.iter().find(|network| network.name.as_deref() == Some(name));
        let network = found.unwrap();
        (network.propagation, network.impairments.delay, network.impairments.jitter)
    };
    let us = Span::from_us;
    assert_eq!(network("access"), (Span::from_ns(500), us(1), us(0)));
    assert_eq!(network("trunk"), (us(0), us(1), us(2)));
}

/// 84 bytes at least, 38 beside a packet, of 80 ns each; a desk's adapter is slower than its link,
/// and starts in 3 us; the trunk is ten times as fast.
#[test]
fn a_packet_takes_what_the_slower_of_adapter_and_link_takes() {
    let experiment = right(&network("")).first();
    let link = |name: &str| {
        let station = (0..experiment.stations()).find(|station| experiment.name(*station) == name).unwrap();
        let link = experiment.link(station, LinkId::FIRST).unwrap();
        [1, 46, 1500].map(|size| link.transmit(Bytes::new(size)))
    };
    let ns = |all: [u64; 3]| all.map(Span::from_ns);
    assert_eq!(link("cam-1"), ns([6_720, 6_720, 123_040]));
    assert_eq!(link("sw.cam-1"), ns([6_720, 6_720, 123_040]));
    assert_eq!(link("sw.sx"), ns([672, 672, 12_304]));
    assert_eq!(
        link("desk"),
        ns([3_000 + 3_040 + 46 * 160, 3_000 + 3_040 + 46 * 160, 3_000 + 3_040 + 240_000])
    );
}

#[test]
fn ports_are_what_their_switch_says() {
    let port = |text: &str, name: &str| {
        let experiment = right(text).first();
        let station = (0..experiment.stations()).find(|station| experiment.name(*station) == name).unwrap();
        let outlet = experiment.outlet(station).unwrap();
        (outlet.config.order, outlet.config.memory, experiment.switches[outlet.switch].shared)
    };
    let (kib, text) = (Bytes::from_kib, network(""));
    assert_eq!(port(&text, "sw.sx"), (Order::MultiClassEdf, kib(64), Bytes::ZERO));
    assert_eq!(port(&text, "sx.desk"), (Order::FixedPriority, kib(10), kib(20)));
    let all_shared = text.replace("memory = \"10 KiB\"", "memory = \"0 B\"");
    assert_eq!(port(&all_shared, "sx.desk"), (Order::FixedPriority, Bytes::ZERO, kib(20)));
}

fn ways(text: &str) -> Vec<String> {
    let experiment = right(text).first();
    let way = |channel: &ChannelSpec| {
        let stations: Vec<_> = channel.route.iter().map(|station| experiment.name(*station)).collect();
        let networks = channel.ways.iter().map(|way| experiment.networks[*way].name.clone().unwrap());
        format!("{} over {}", stations.join(" "), networks.collect::<Vec<_>>().join(" "))
    };
    experiment.channels.iter().map(way).collect()
}

#[test]
fn channels_of_several_nodes_start_at_each() {
    let ways = ways(&network(""));
    let camera = |n: usize| format!("cam-{n} sw.sx sx.server server over access trunk rest");
    assert_eq!(ways, [1, 2, 3, 4].map(camera));
}

/// Over the loop of three hosts the way found is the shorter, and the one written is taken.
#[test]
fn the_way_is_the_shortest_or_the_written_one() {
    let text = |way: &str| {
        format!(
            r#"title = "A ring of links"
[host]
profile = "mc68040"
[adapter]
kind = "null"
rate = "100 Mbit/s"
[node.a]
[node.b]
[node.c]
[network.ab]
joins = ["a", "b"]
[network.bc]
joins = ["b", "c"]
[network.ca]
joins = ["c", "a"]
[[channel]]
name = "one"
class = "best_effort"
{way}
max_message = "1 KiB"
burst = 1
source = {{ kind = "periodic", interval = "10 ms" }}
[run]
time = "1 s"
"#
        )
    };
    assert_eq!(ways(&text("from = \"a\"\nto = \"c\"")), ["a c over ca"]);
    assert_eq!(ways(&text("route = [\"a\", \"b\", \"c\"]")), ["a b c over ab bc"]);
    assert_eq!(ways(&text("route = [\"c\", \"b\", \"a\"]\ncount = 2")), ["c b a over bc ab"; 2]);
}

#[test]
fn sweeps_reach_what_nodes_and_networks_say() {
    let sweeps = "[[sweep]]\nname = \"csf\"\nkey = \"node.desk.host.speedup\"\nvalues = [3.0]\n\
                  [[sweep]]\nname = \"rate\"\nkeys = [\"network.rate\"]\nvalues = [\"10 Mbit/s\"]\n\
                  [[sweep]]\nname = \"trunk\"\nkey = \"network.trunk.rate\"\nvalues = [\"400 Mbit/s\"]\n";
    let experiment = right(&network(sweeps)).first();
    assert_eq!([0, 4, 5].map(|node| experiment.host(node).speedup), [2.0, 3.0, 1.0]);
    let per_byte = |name: &str| {
        let station = (0..experiment.stations()).find(|station| experiment.name(*station) == name).unwrap();
        experiment.link(station, LinkId::FIRST).unwrap().per_byte
    };
    assert_eq!([per_byte("cam-1"), per_byte("sw.sx")], [ByteTime::from_ns(800), ByteTime::from_ns(20)]);
}

/// A host of twice the speed has an adapter with processors of twice the speed, as with `[host]`
/// alone.
#[test]
fn an_adapter_is_as_fast_as_its_host() {
    let text = r#"title = "A ring"
[host]
profile = "mc68040"
[adapter]
file = "ring-edf"
[admission]
formula = "off"
[node.slow]
[node.fast]
count = 2
host = { speedup = 2.0 }
[network.ring]
kind = "token_ring"
joins = ["slow", "fast"]
rotation = "8 ms"
holding = "2 ms"
[[channel]]
name = "one"
class = "best_effort"
from = "slow"
to = "fast-2"
max_message = "1 KiB"
burst = 1
source = { kind = "periodic", interval = "10 ms" }
[run]
time = "1 s"
"#;
    let experiment = right(text).first();
    let AdapterSpec::Described(slow) = experiment.adapter(2) else { panic!("it is described") };
    let AdapterSpec::Described(fast) = experiment.adapter(0) else { panic!("it is described") };
    assert_eq!(**fast, slow.as_ref().clone().with_speedup(2.0));
    assert_ne!(fast, slow);
    assert_eq!(experiment.nodes[0].adapters, experiment.nodes[1].adapters);
    assert_eq!(experiment.networks[0].members, [2, 0, 1], "in the order of what it joins");
}

/// Ports of a switch have the shapers, gates, cyclic or regulated classes of its table, and shapers and
/// gates together.
#[test]
fn a_switch_has_the_classes_of_its_table() {
    let text = |order: &str, keys: &str| {
        network("").replace("order = \"fixed_priority\"", &format!("order = \"{order}\"\n{keys}"))
    };
    let shapers = "shapers = [{ level = 1, idle_slope = \"30 Mbit/s\" }]";
    let gates = "gate_offset = \"150 us\"\ngates = [{ for = \"90 us\", levels = [0, 2] }, { for = \"10 us\", best_effort = true }]";
    let cyclic = "cyclic = [{ level = 0, cycle = \"1 ms\" }]";
    let ats = "ats = [{ level = 2 }, { level = 30 }]";
    let of = |order, keys: &str| {
        let experiment = right(&text(order, keys)).first();
        let port = (0..experiment.stations()).find(|station| experiment.name(*station) == "sx.sw").unwrap();
        experiment.outlet(port).unwrap().config.selection.clone()
    };
    let shaped = of("strict_priority", shapers).unwrap();
    assert_eq!((shaped.shapers[0].level, shaped.shapers[0].idle_slope.bits_per_sec()), (1, 30_000_000));
    let gated = of("strict_priority", gates).unwrap().gates.clone().unwrap();
    assert_eq!(gated.of(31), Some(vec![(Span::from_us(90), Span::from_us(10))]));
    assert_eq!(gated.of(2), Some(vec![(Span::ZERO, Span::from_us(90))]));
    assert_eq!(gated.open(laxity_units::Time::ZERO, 0, Span::from_us(90)).unwrap().as_ps(), 50_000_000);
    assert_eq!(of("strict_priority", cyclic).unwrap().cyclic[0].cycle, Span::from_ms(1));
    let regulated = of("strict_priority", ats).unwrap();
    assert_eq!([1, 2, 30].map(|level| regulated.regulates(level)), [false, true, true]);
    assert_eq!(of("strict_priority", ""), None);
    let both = of("strict_priority", &format!("{shapers}\n{gates}")).unwrap();
    assert_eq!((&both.shapers, &both.gates), (&shaped.shapers, &Some(gated)));
    for (key, keys) in [("shapers", shapers), ("gates", gates), ("cyclic", cyclic), ("ats", ats)] {
        let reason = format!("`{key}` is of ports by strict priority");
        assert!(errors::refused(&text("fifo", keys)).contains(&reason), "{reason}");
    }
    for (keys, reason) in [
        (format!("{shapers}\n{cyclic}"), "a switch has no `cyclic` beside `shapers`"),
        (format!("{gates}\n{cyclic}"), "a switch has no `cyclic` beside `gates`"),
        (format!("{ats}\n{cyclic}"), "a switch has no `ats` beside `cyclic`"),
        (format!("{shapers}\n{gates}\n{ats}"), "a switch has no `ats` beside `shapers`"),
        (ats.replace("30", "2"), "level 2 has regulators already"),
        (ats.replace("30", "31"), "31"),
        (shapers.replace('[', "[{ level = 1, idle_slope = \"1 Mbit/s\" }, "), "level 1 has a shaper already"),
        (cyclic.replace('[', "[{ level = 0, cycle = \"2 ms\" }, "), "level 0 is cyclic already"),
        ("gate_offset = \"1 us\"".to_owned(), "there are no gates"),
    ] {
        assert!(errors::refused(&text("strict_priority", &keys)).contains(reason), "{reason}");
    }
}

/// Frames are interrupted at Ethernet ports by strict priority that store them.
#[test]
fn a_switch_interrupts_frames_of_ethernet() {
    let text = |keys: &str| network("").replace("order = \"fixed_priority\"", keys);
    let preempting = "order = \"strict_priority\"\npreemptable_from = 3";
    let experiment = right(&text(preempting)).first();
    let ports: Vec<_> = experiment.outlets.iter().flat_map(|outlet| outlet.config.preemptable_from).collect();
    assert_eq!(ports, [3; 3], "of one of two switches");
    let windows = "gates = [{ for = \"90 us\", levels = [0, 2] }, { for = \"10 us\", best_effort = true }]";
    let held = right(&text(&format!("{preempting}\n{windows}"))).first();
    let gates = held.outlets.iter().filter_map(|outlet| outlet.config.selection.as_ref()?.gates.clone());
    let gates: Vec<_> = gates.collect();
    assert_eq!(gates.len(), 3);
    let length = |level| gates[0].of(level).unwrap()[0].1;
    assert_eq!([2, 3, 30, 31].map(length), [90, 10, 10, 10].map(Span::from_us));
    assert_eq!([2, 3].map(|level| gates[0].least(level).map(|least| least.get())), [None, Some(143)]);
    let foreign = windows.replace("[0, 2]", "[0, 3]");
    let shapers = "shapers = [{ level = 0, idle_slope = \"1 Mbit/s\" }]";
    for (text, reason) in [
        (text(&format!("{preempting}\n{foreign}")), "the gate of best effort is theirs"),
        (text(&format!("{preempting}\n{windows}\n{shapers}")), "no `preemptable_from` beside `shapers`"),
        (
            text(&format!("{preempting}\ncyclic = [{{ level = 0, cycle = \"1 ms\" }}]")),
            "no `preemptable_from` beside `cyclic`",
        ),
        (text(&format!("{preempting}\nforwarding = \"cut_through\"")), "cannot leave before it has arrived"),
        (text(preempting).replace("framing = \"ethernet\"\n", ""), "interrupts frames, which Ethernet can"),
        (text("order = \"strict_priority\"\npreemptable_from = 0"), "1"),
        (text("order = \"fifo\"\npreemptable_from = 3"), "`preemptable_from` is of ports by strict priority"),
    ] {
        let refused = errors::refused(&text);
        assert!(refused.contains(reason), "{reason}: {refused}");
    }
}
