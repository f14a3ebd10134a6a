//! `[signalling]`: nodes, their clocks, when channels are asked for, and what fails.

use laxity_signalling::contract::ChannelContract;
use laxity_units::{Bytes, Span};

use super::errors::refused;
use super::*;

const FILE: &str = r#"
title = "Nodes"
[signalling]
[node.a]
[node.b]
clock = { offset = "-3 ms", drift = "50 ppm", step = [{ at = "2 s", by = "-1 ms" }] }
[node.c]
[network]
rate = "10 Mbit/s"
[network.ab]
joins = ["a", "b"]
[network.bc]
joins = ["b", "c"]
propagation = "1 ms"
[run]
time = "10 s"
[[fault]]
kind = "crash"
node = "b"
at = "1 s"
for = "2 s"
[[fault]]
kind = "cut"
network = "bc"
at = "4 s"
[[channel]]
name = "film"
class = "real_time"
from = "a"
to = "c"
max_message = "4 kB"
burst = 2
rate = "200 kB/s"
deadline = "60 ms"
open = "100 ms"
close = "9 s"
change = [{ at = "5 s", deadline = "50 ms" }, { at = "3 s", rate = "400 kB/s" }]
source = { kind = "periodic" }
[[channel]]
name = "calls"
class = "real_time"
from = "c"
to = "a"
max_message = "100 B"
burst = 1
min_interval = "20 ms"
deadline = "60 ms"
calls = { every = "1 s", hold = "20 s" }
source = { kind = "none" }
[[channel]]
name = "flood"
class = "best_effort"
from = "a"
to = "c"
max_message = "900 B"
burst = 2
source = { kind = "continuous" }
"#;

#[test]
fn a_file_says_when_and_what() {
    let experiment = right(FILE).first();
    let spec = experiment.signalling().expect("the file has nodes");
    let ms = Span::from_ms;
    let AskedTimes::Once { at, until, changes } = &experiment.channels[0].asked else { panic!() };
    assert_eq!((*at, *until), (ms(100), Some(ms(9000))));
    let film = experiment.channels[0].contract().expect("it is real time");
    assert_eq!((film.min_interval, film.deadline), (ms(20), ms(60)));
    let faster = ChannelContract { min_interval: ms(10), ..film };
    assert_eq!(changes[..], [(ms(3000), faster), (ms(5000), ChannelContract { deadline: ms(50), ..film })]);
    assert_eq!(experiment.channels[1].asked, AskedTimes::Calls { every: ms(1000), hold: ms(20_000) });
    assert_eq!(experiment.channels[2].asked, AskedTimes::ALWAYS);
    let what: Vec<_> = spec.outages.iter().map(|outage| (outage.what, outage.length)).collect();
    assert_eq!(what, [(Fails::Node(1), Some(ms(2000))), (Fails::Network(1), None)]);
    let clock = spec.clocks[1].clock().expect("it is a clock");
    let shown = |at| clock.shown(laxity_units::Time::ZERO + at);
    let other = spec.clocks[0].clock().expect("it is a clock");
    assert_eq!(other.shown(laxity_units::Time::ZERO).since(shown(Span::ZERO)), ms(3));
    // In the millisecond that the step takes back it goes on by its drift alone.
    assert_eq!(shown(ms(2000)).since(shown(ms(1999))), Span::from_ns(50));
    assert_eq!(experiment.channels[0].route, [0, 1, 2]);
    assert_eq!((spec.packet, spec.memory), (1000, Bytes::from_kib(1024)));
    assert_eq!(spec.link(&experiment, &spec.links[1]).way, ms(1));
    // Half a lease has no time that another file would not have.
    let settings = spec.settings(&experiment);
    assert_eq!((settings.patience, settings.refresh, settings.drift), (ms(10_000), ms(6000), 50));
}

/// The deadline in the time of the source is shorter by 50 ppm and three grains, and the bound in
/// true time is within the deadline.
#[test]
fn a_deadline_is_in_true_time() {
    let experiment = right(FILE).first();
    let (spec, film) = (experiment.signalling().unwrap(), &experiment.channels[0]);
    let asked = spec.in_local_time(film.route.len(), film.contract().unwrap()).unwrap();
    assert_eq!(asked.deadline, Span::from_us(60_000 - 3) - Span::from_ns(3));
    let bound = spec.bound(film.route.len(), &asked);
    assert!(bound <= Span::from_ms(60) && bound > Span::from_us(59_999), "{bound}");
}

/// Errors name the reason.
#[test]
fn errors_name_the_reason() {
    let cases = [
        ("[signalling]\n", "[signalling]\npacket = \"100 B\"\n", "out of range"),
        ("[signalling]\n", "[signalling]\nspacing = \"1 ms\"\n", "cannot be"),
        ("drift = \"50 ppm\"", "drift = \"50 %\"", "no drift"),
        ("drift = \"50 ppm\"", "drift = \"200000 ppm\"", "out of range"),
        ("offset = \"-3 ms\"", "offset = \"-3 h\"", "more than 1 h"),
        ("[node.c]\n", "[node.c]\nlatency = \"1 ms\"\n", "no ports"),
        ("propagation = \"1 ms\"", "propagation = \"1 ms\"\nrate = \"1 kbit/s\"", "cannot be"),
        ("joins = [\"b\", \"c\"]", "joins = [\"b\", \"c\", \"b\"]", "twice"),
        ("time = \"10 s\"", "packets = 100", "for a time"),
        ("node = \"b\"\n", "", "no `node`"),
        ("network = \"bc\"", "network = \"cd\"", "no network `cd`"),
        ("kind = \"cut\"", "kind = \"stall\"", "no adapters"),
        (
            "min_interval = \"20 ms\"",
            "min_interval = \"20 ms\"\nlimits = [{ burst = 9, min_interval = \"1 s\" }]",
            "have one burst and one interval",
        ),
        ("close = \"9 s\"", "close = \"50 ms\"", "before it is asked for"),
        ("{ at = \"3 s\", rate", "{ at = \"9500 ms\", rate", "not open at"),
        ("calls = {", "open = \"1 s\"\ncalls = {", "by its `calls`"),
        ("max_message = \"900 B\"", "max_message = \"1 kB\"", "datagrams"),
        ("max_message = \"900 B\"", "max_message = \"900 B\"\nopen = \"1 s\"", "asks for nothing"),
        ("kind = \"periodic\"", "kind = \"continuous\"", "no rate"),
        ("deadline = \"60 ms\"\nopen", "deadline = \"1 ns\"\nopen", "terms of clocks"),
    ];
    for (old, new, reason) in cases {
        assert!(FILE.contains(old), "{old}");
        let said = refused(&FILE.replacen(old, new, 1));
        assert!(said.contains(reason), "{new}: {said}");
    }
    let host = FILE.replace("[signalling]", "[host]\nprofile = \"mc68040\"\n[signalling]");
    assert!(refused(&host).contains("take the place of hosts"));
    let hosts = refused(&FILE.replace("[signalling]", ""));
    assert!(hosts.contains("one common clock") || hosts.contains("add `[signalling]`"), "{hosts}");
}
