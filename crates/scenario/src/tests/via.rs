//! Clusters of virtual interfaces: keys, experiments, results and errors.

use laxity_model::via::{Doorbells, Firmware, ViLimits, ViaConfig};
use laxity_units::{Bytes, Span};
use laxity_world::experiment::ViaSpec;
use laxity_world::results::Run;

use super::*;

/// One virtual interface of 8 MB/s, best effort, and a ping-pong.
const VIRTUAL: &str = r#"
title = "Virtual interfaces"
[via]
firmware = "qosvia"
nodes = 3
best_effort = "4 MB/s"
send_buffers = 8
receives = 8
credits = 4
[admission]
formula = "off"
[run]
time = "20 ms"
[[channel]]
name = "video"
class = "real_time"
to = 1
max_message = "4 KiB"
burst = 1
rate = "8 MB/s"
source = { kind = "periodic" }
[[channel]]
name = "bulk"
class = "best_effort"
to = 2
max_message = "4 KiB"
burst = 1
source = { kind = "closed", outstanding = 3, size = "10 KiB" }
[[channel]]
name = "ping"
class = "best_effort"
to = 1
max_message = "1 KiB"
burst = 1
source = { kind = "rounds", outstanding = 2, after = "pong" }
[[channel]]
name = "pong"
class = "best_effort"
from = 1
to = 0
max_message = "64 B"
burst = 1
source = { kind = "rounds", outstanding = 2, after = "ping" }
"#;

#[track_caller]
fn with(from: &str, to: &str) -> String {
    assert!(VIRTUAL.contains(from), "{from}");
    VIRTUAL.replacen(from, to, 1)
}

fn only(text: &str) -> Experiment {
    let scenario = right(text);
    scenario.experiment(&scenario.points().next().unwrap())
}

fn run(text: &str) -> Run {
    laxity_world::run(&only(text))
}

#[track_caller]
fn refused(text: &str, says: &[&str]) {
    let Err(errors) = read(text) else { panic!("the file is valid") };
    let shown = errors.to_string();
    assert!(says.iter().all(|part| shown.contains(part)), "{shown}");
}

#[track_caller]
fn refused_once(text: &str, says: &str) {
    let Err(errors) = read(text) else { panic!("the file is valid") };
    let shown = errors.to_string();
    assert!(shown.contains(says) && errors.iter().count() == 1, "{shown}");
}

#[test]
fn a_cluster_is_what_its_file_says() {
    let experiment = only(VIRTUAL);
    let via = experiment.virtual_interfaces().unwrap();
    assert_eq!(via.adapter.firmware, Firmware::QualityOfService);
    let ViLimits { send_buffers, receive_buffers, nsdma_queue, guard, best_effort, doorbells } =
        via.adapter.limits;
    assert_eq!(doorbells, Doorbells::Merged);
    assert_eq!((send_buffers, receive_buffers, nsdma_queue, guard), (Some(8), None, false, 1));
    assert_eq!(best_effort.map(|rate| rate.bytes_per_sec_f64()), Some(4e6));
    assert_eq!((via.receives, via.credits, experiment.nodes.len()), (Some(8), Some(4), 3));
    assert_eq!(experiment.channels[0].vtick().unwrap().interval(), Span::from_us(512));
    assert_eq!(experiment.channels[1].vtick(), None);
    assert_eq!(experiment.channels[3].route, [1, 0]);
    let faster = only(&with("nodes = 3", "nodes = 3\nspeedup = 2")).virtual_interfaces().unwrap().adapter;
    assert_eq!(faster.costs.data * 2, via.adapter.costs.data);
    assert_eq!(faster.engines, via.adapter.engines);
}

#[test]
fn what_is_sent_is_received_and_counted() {
    let run = run(VIRTUAL);
    let [video, bulk, ping, pong] = &run.channels[..] else { panic!("four channels") };
    assert_eq!((video.messages, video.delivered), (40, Some(39)), "the last has just been posted");
    assert_eq!(video.jittered.map(|share| share < 0.8), Some(true), "{video:?}");
    assert!(video.jitter_fraction.unwrap() < 0.2 && bulk.jitter_fraction.is_none());
    // Of 10 KiB two messages of 4 KiB and one of 2; three such are under way.
    assert!(bulk.messages > 9 && bulk.delivered.unwrap() + 9 >= bulk.messages, "{bulk:?}");
    // Both messages of a round arrive before the next begins.
    assert_eq!(ping.messages % 2, 0);
    assert!(ping.messages - pong.messages <= 2 && pong.delivered.unwrap() <= pong.messages);
    assert!(run.channels.iter().all(|channel| channel.dropped_packets == 0));
    assert!(run.figures["send_data_down_time"] > 20e-6 && run.resources.len() == 12);
}

/// Three streams send three times as much.
#[test]
fn streams_add_up() {
    let one = run(VIRTUAL).channels.swap_remove(0);
    let source = "source = { kind = \"periodic\" }";
    let three = run(&with(source, &format!("streams = 3\n{source}")));
    assert_eq!(three.channels[0].messages, 3 * one.messages);
}

/// A program that posts no descriptors loses what it is sent; one with credits does not.
#[test]
fn credits_keep_a_sender_from_losing() {
    let flood = with("size = \"10 KiB\"", "size = \"40 KiB\"").replace("outstanding = 3", "outstanding = 30");
    let slow = flood.replace("receives = 8", "receives = 8\nreap = \"300 us\"");
    let without = run(&slow.replace("credits = 4\n", ""));
    assert!(without.channels[1].drops["no_descriptor"] > 0, "{:?}", without.channels[1]);
    let credited = run(&slow);
    assert_eq!(credited.channels[1].dropped_packets, 0);
    assert!(credited.channels[1].delivered.unwrap() > 10);
}

#[test]
fn what_is_wrong_is_said() {
    for (from, to, says) in [
        ("firmware = \"qosvia\"", "firmware = \"pvia\"", &["`pvia` has no use for this", "best effort"][..]),
        ("firmware = \"qosvia\"", "", &["has no `firmware`"]),
        ("credits = 4", "credits = 9", &["credits of lost ones are lost"]),
        ("[run]", "[host]\nprofile = \"mc68040\"\n[run]", &["take the place of hosts"]),
        ("[run]", "[network]\nkind = \"point_to_point\"\n[run]", &["no other network"]),
        ("to = 1\nmax_message = \"4 KiB\"", "to = 0\nmax_message = \"4 KiB\"", &["from a node to itself"]),
        ("burst = 1\nrate", "burst = 1\nlevel = 3\nrate", &["no queues at a host"]),
        (
            "burst = 1\nrate",
            "burst = 1\nlimits = [{ burst = 9, min_interval = \"1 s\" }]\nrate",
            &["reserves a bandwidth"],
        ),
        ("after = \"pong\"", "after = \"video\"", &["does not lead back"]),
        ("after = \"pong\"", "after = \"nobody\"", &["no channel `nobody`"]),
        ("after = \"pong\"", "phase = \"1 ms\"", &["no use for `phase`"]),
        (
            "{ kind = \"closed\", outstanding = 3, size = \"10 KiB\" }",
            "{ kind = \"continuous\" }",
            &["has none to fill"],
        ),
        ("formula = \"off\"", "formula = \"papers\"", &["no formulas for virtual interfaces"]),
        ("time = \"20 ms\"", "time = \"20 ms\"\nclock = \"real\"", &["under virtual time"]),
        ("nodes = 3", "nodes = 3\ncosts = { frame = \"0 us\", byte = \"0 ns\" }", &["takes no time"]),
        ("nodes = 3", "nodes = 3\ncosts = { pole = \"0 us\" }", &["did you mean `poll`"]),
        ("nodes = 3", "nodes = 1", &["2 to 64"]),
        ("burst = 1\nsource", "burst = 1\nshare = \"1 MB/s\"\nsource", &["and is in none"]),
        ("burst = 1\nsource", "burst = 1\ngroup = \"red\"\nsource", &["this channel has none", "`share`"]),
        ("burst = 1\nrate", "burst = 1\ngroup = \"red\"\nrate", &["no group `red`", "[group.red]"]),
        (
            "burst = 1\nrate",
            "burst = 1\ngroup = \"red\"\nshare = \"1 MB/s\"\nrate",
            &["a contract says a rate"],
        ),
    ] {
        refused(&with(from, to), says);
    }
    let grouped =
        with("burst = 1\nrate", "burst = 1\ngroup = \"red\"\nrate").replace("best_effort = \"4 MB/s\"\n", "");
    let grouped = format!("{grouped}[group.red]\nrate = \"9 MB/s\"\n");
    assert_eq!(only(&grouped).grouped_rate(0).map(|rate| rate.bytes_per_sec_f64()), Some(9e6));
    refused(&grouped.replace("qosvia", "pvia"), &["only `qosvia`"]);
    let hosts = "title = \"x\"\n[host]\nprofile = \"mc68040\"\n[adapter]\nkind = \"null\"\nper_byte = \"50 ns\"\n[path]\nreceive = true\n[run]\ntime = \"1 s\"\n[[channel]]\nname = \"a\"\nclass = \"best_effort\"\nmax_message = \"1 KiB\"\nburst = 1\nstreams = 2\nsource = { kind = \"periodic\", rate = \"1 MB/s\" }\n";
    refused(hosts, &["one source sends on a channel"]);
}

/// Valid keys of channels depend on `[via]`: where it is wrong, they are unknown.
#[test]
fn a_mistake_in_a_cluster_is_one_error() {
    for text in [BESIDE, GROUPED] {
        for (from, to, says) in [
            ("firmware = \"qosvia\"", "firmware = \"qosvja\"", "did you mean `qosvia`?"),
            ("firmware = \"qosvia\"", "firmware = \"qosvia\"\ndoorbell = 3", "no key `doorbell`"),
            ("firmware = \"qosvia\"", "firmware = \"qosvia\"\nlatency = \"3 kg\"", "not a unit"),
            (
                "firmware = \"qosvia\"",
                "firmware = \"qosvia\"\nreceives = 2\ncredits = 3",
                "credits of lost ones",
            ),
            ("firmware = \"qosvia\"", "firmware = \"qosvia\"\nguard = -1", "-1 is negative"),
        ] {
            refused_once(&text.replacen(from, to, 1), says);
        }
    }
}

/// Two groups with members that send more than the capacity, and a channel in neither.
const GROUPED: &str = r#"
title = "Groups"
[via]
firmware = "qosvia"
nodes = 4
speedup = 4
depth = 8
[group.red]
rate = "20 MB/s"
[group.green]
rate = "20 MB/s"
[group.dark]
rate = "5 MB/s"
within = "green"
[run]
time = "50 ms"
[[channel]]
name = "alone"
class = "best_effort"
group = "red"
share = "1 MB/s"
to = 1
max_message = "4 KiB"
burst = 1
source = { kind = "closed", outstanding = 8 }
[[channel]]
name = "many"
class = "best_effort"
count = 6
group = "green"
share = "1 MB/s"
to = 2
max_message = "4 KiB"
burst = 1
source = { kind = "closed", outstanding = 8 }
[[channel]]
name = "called"
class = "real_time"
group = "dark"
to = 3
max_message = "1 KiB"
burst = 1
rate = "100 kB/s"
refusal = "expected"
source = { kind = "periodic" }
[[channel]]
name = "free"
class = "real_time"
to = 3
max_message = "1 KiB"
burst = 1
rate = "100 kB/s"
refusal = "expected"
source = { kind = "periodic" }
"#;

#[test]
fn groups_of_virtual_interfaces_share_and_have_bounds() {
    let flood = run(GROUPED);
    // Channels with contracts have a bound, and none has one beside a flood that is admitted
    // whenever HDMA idles.
    let contracts = GROUPED
        .replace("class = \"best_effort\"", "class = \"real_time\"\nrefusal = \"expected\"")
        .replace("share = \"1 MB/s\"", "rate = \"1 MB/s\"")
        .replace("{ kind = \"closed\", outstanding = 8 }", "{ kind = \"periodic\", multiple = 3 }");
    let run = run(&contracts);
    assert!(flood.channels.iter().all(|channel| channel.delivery_bound.is_none()));
    let got = |name: &str| -> f64 {
        flood.channels.iter().filter(|c| c.name.starts_with(name)).map(|c| c.throughput).sum()
    };
    assert!((got("alone") / got("many") - 1.0).abs() < 0.1, "{} beside {}", got("alone"), got("many"));
    for channel in &run.channels {
        let name = &channel.name;
        assert!(channel.refused.is_none(), "{channel:?}");
        let (bound, worst) = (channel.delivery_bound.unwrap(), channel.delivery_worst.unwrap());
        assert!(worst <= bound, "{name}: {worst} of {bound}");
    }
    // A group without a sender here has no part of the rate that is set aside here.
    let experiment = only(&contracts);
    assert_eq!(experiment.grouped_rate(0).map(|rate| rate.bytes_per_sec_f64()), Some(40e6));
    assert_eq!(experiment.grouped_rate(1), None);
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let text = with("{ kind = \"periodic\" }", "{ kind = \"poisson\", phase = \"random\" }");
    assert_eq!(run(&text), run(&text));
    assert_ne!(run(&text), run(&text.replace("title", "seed = 7\ntitle")));
}

/// Two programs that keep their bandwidths beside two processes that do not know an end.
const BESIDE: &str = r#"
title = "told apart"
[via]
firmware = "qosvia"
doorbells = "apart"
ahead = 3
[run]
time = "500 ms"
[[channel]]
name = "ping"
class = "real_time"
from = 0
to = 1
max_message = "1 KiB"
burst = 1
min_interval = "20 ms"
source = { kind = "rounds", after = "pong" }
[[channel]]
name = "pong"
class = "real_time"
from = 1
to = 0
max_message = "1 KiB"
burst = 1
min_interval = "20 ms"
source = { kind = "rounds", after = "ping" }
[[channel]]
name = "there"
class = "best_effort"
process = "hostile"
from = 0
to = 1
max_message = "4 KiB"
burst = 1
source = { kind = "closed", outstanding = 20 }
[[channel]]
name = "back"
class = "best_effort"
process = "hostile"
from = 1
to = 0
max_message = "4 KiB"
burst = 1
source = { kind = "closed", outstanding = 20 }
"#;

/// Beside a flood without end a bound is longer than alone by what may be in hand at each unit on
/// the way, worked out here from Table 1; and is kept.
#[test]
fn told_apart_a_bound_has_one_thing_of_others_for_each_visit() {
    let bound_of = |text: &str| {
        let run = run(text);
        let ping = &run.channels[0];
        assert!(ping.delivered.unwrap() > 20 && ping.refused.is_none(), "{ping:?}");
        assert!(ping.delivery_worst.unwrap() <= ping.delivery_bound.unwrap(), "{ping:?}");
        ping.delivery_bound.unwrap() * 1e6
    };
    let alone = bound_of(&BESIDE.replace("{ kind = \"closed\", outstanding = 20 }", "{ kind = \"none\" }"));
    let beside = bound_of(BESIDE);
    let many = BESIDE.replace("process =", "count = 9\nprocess =");
    assert_eq!(bound_of(&many), beside, "however many they are");
    // The processor programs 4 KiB, with a round of looks, at each of five visits; HDMA moves 4 KiB
    // twice, in hand and at the head, at each of four.
    let (program, round) = (10.9 + 3.0 * 1.65, 0.4);
    let down = 1.6 + 4096.0 * 0.00785;
    // NSDMA sends 4 KiB and stands until that is noticed: what the processor has in hand, its
    // start, and rounds. NRDMA takes 4 KiB.
    let network = 0.6 + 4096.0 * 0.00625;
    let notice = program + 1.0 + 3.0 * round;
    let by_hand = 5.0 * (program + round) + 8.0 * down + (network + notice) + network;
    let longer = beside - alone;
    // A message in service may search for a queue entry, too, 0.6 us at each of six; and alone, all
    // units as one, in any order, are requested 7.2 us less than one by one.
    assert!(
        (by_hand + 3.6..by_hand + 11.2).contains(&longer),
        "{longer} where {by_hand} is expected: {alone} alone"
    );
    // Merged there is no bound, and a message waits for all that was rung before it.
    let merged =
        many.replace("doorbells = \"apart\"\nahead = 3\n", "").replace("process = \"hostile\"\n", "");
    let waits = run(&merged.replace("[run]", "[admission]\nformula = \"off\"\n[run]"));
    let mean = waits.channels[0].delivery.as_ref().map(|delivery| delivery.mean).unwrap();
    assert!(mean > 4.0 * beside * 1e-6, "{mean}");
    assert!(run(&merged.replace("count = 9\n", "")).channels[0].delivery_bound.is_none());
}

/// With a rate set aside, best effort is one more flow beside a bandwidth. The bound is longer by
/// the best-effort messages that precede in that time, in each direction, and is kept. Beside
/// bandwidths of the whole capacity, best effort gets its rate.
#[test]
fn told_apart_best_effort_has_what_is_set_aside() {
    let bound_of = |rate: &str| {
        let text = BESIDE.replace("ahead = 3", &format!("ahead = 3\nbest_effort = \"{rate}\""));
        let run = run(&text);
        let ping = &run.channels[0];
        assert!(ping.delivery_worst.unwrap() <= ping.delivery_bound.unwrap(), "{ping:?}");
        ping.delivery_bound.unwrap() * 1e6
    };
    let without = run(BESIDE).channels[0].delivery_bound.unwrap() * 1e6;
    // In such a bound one message of 4 KiB precedes among the doorbells at either adapter, and one
    // among the received messages. From Table 1, with a round of polls each: their time on both
    // processors and both HDMA, on the one NSDMA and on the one NRDMA of the route. Giving a stamp
    // is part of noting a doorbell.
    let experiment = only(BESIDE);
    let ViaSpec { adapter: ViaConfig { costs, engines, .. }, .. } = experiment.virtual_interfaces().unwrap();
    let us = |span: Span| span.as_secs_f64() * 1e6;
    let (round, kib) = (0.4, Bytes::from_kib(4));
    let program = us(costs.data) + 3.0 * us(costs.fragment);
    let (note, started) = (us(costs.note), us(costs.status) + us(costs.start));
    let out = [
        note,
        us(costs.doorbell),
        program,
        us(costs.queue) + us(costs.start),
        started,
        started,
        us(costs.finish),
    ];
    let back = [note, program, us(costs.status), us(costs.finish)];
    let processor = out.iter().chain(&back).map(|takes| takes + round).sum::<f64>();
    let hdma = us(engines.descriptor)
        + us(engines.down.takes(kib))
        + us(engines.up.takes(kib))
        + 2.0 * us(engines.status);
    let network = us(engines.network.takes(kib));
    let notice = program + us(costs.start) + 3.0 * round;
    let by_hand = 2.0 * (processor + hdma) + 2.0 * network + notice;
    let longer = bound_of("100 kB/s") - without;
    // A search for a queue entry may pass some of these, 0.2 us each.
    assert!((by_hand..by_hand + 30.0).contains(&longer), "{longer} where {by_hand} is expected");
    // More of them the higher the rate.
    assert!(bound_of("4 MB/s") > without + 2.0 * longer);
    // Beside bandwidths of more than the capacity of an adapter, which all get a little less, in
    // either direction. The posted messages are as late as the missing rate makes them.
    let starves = BESIDE
        .replace("max_message = \"1 KiB\"\nburst = 1\nmin_interval = \"20 ms\"\nsource = { kind = \"rounds\", after = \"pong\" }", "max_message = \"4 KiB\"\nburst = 1\nrate = \"105 MB/s\"\nsource = { kind = \"periodic\" }")
        .replace("source = { kind = \"rounds\", after = \"ping\" }", "source = { kind = \"none\" }")
        .replace("outstanding = 20", "outstanding = 200")
        .replace("[run]", "[admission]\nformula = \"off\"\n[run]");
    let got = |text: &str| {
        let channels = run(text).channels;
        [2, 3].map(|channel: usize| channels[channel].throughput / 1e6)
    };
    let starved = got(&starves);
    let kept = got(&starves.replace("ahead = 3", "ahead = 3\nbest_effort = \"6 MB/s\""));
    assert!(starved.iter().all(|rate| *rate < 3.0), "{starved:?}");
    assert!(kept.iter().all(|rate| (5.3..6.1).contains(rate)), "{kept:?}");
}

#[test]
fn who_is_told_apart_is_said_where_it_is() {
    let with = |from: &str, to: &str| BESIDE.replace(from, to);
    refused(
        &with("doorbells = \"apart\"\n", ""),
        &["ahead", "doorbells that are merged are taken as they come"],
    );
    refused(
        &with("doorbells = \"apart\"\nahead = 3\n", ""),
        &["process", "only virtual interfaces whose doorbells are told apart are of processes"],
    );
    refused(
        &with("process =", "group = \"red\"\nshare = \"1 MB/s\"\nprocess =")
            .replace("[run]", "[group.red]\nrate = \"1 MB/s\"\n[run]"),
        &["a group's members have one only together", "give each a `rate`"],
    );
    refused(
        &with("qosvia", "pvia"),
        &["doorbells", "`pvia` has no use for this: it tells nobody from others"],
    );
    let experiment = only(BESIDE);
    let processes: Vec<u32> = (0..4).map(|i| experiment.vi(i, None).process).collect();
    assert_eq!(processes, [0, 1, 2, 2]);
}
