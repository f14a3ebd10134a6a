//! Several cores: where what is said to be, where what is not, and cores that are not there.

use laxity_admission::Formula;
use laxity_qos::channel::{ChannelId, CoreId};
use laxity_units::Span;
use laxity_world::promise::{Promise, promises};

use super::errors::refused;
use super::*;

/// Two hosts, the first of which has three cores; four channels, of which the second and the last say theirs.
const CORES: &str = r#"title = "Cores"
[host]
profile = "mc68040"
[node.ada.host]
cores = 3
[node.ada.host.compute.film]
slice = "1 ms"
[node.ada.host.compute.rest]
slice = "1 ms"
core = 0
[node.ben]
[adapter]
kind = "null"
rate = "160 Mbit/s"
[network.line]
joins = ["ada", "ben"]
[run]
time = "100 ms"
[[channel]]
name = "one"
class = "real_time"
from = "ada"
to = "ben"
max_message = "1 KiB"
burst = 1
min_interval = "20 ms"
deadline = "40 ms"
source = { kind = "periodic" }
[[channel]]
name = "two"
class = "best_effort"
from = "ada"
to = "ben"
max_message = "1 KiB"
burst = 1
core = 2
source = { kind = "periodic", interval = "10 ms", core = 1 }
[[channel]]
name = "three"
class = "best_effort"
from = "ben"
to = "ada"
max_message = "1 KiB"
burst = 1
reader = { work = "10 us", core = 2 }
source = { kind = "periodic", interval = "10 ms" }
[[channel]]
name = "four"
class = "best_effort"
from = "ben"
to = "ada"
max_message = "1 KiB"
burst = 1
source = { kind = "periodic", interval = "10 ms" }
"#;

fn cores(old: &str, new: &str) -> String {
    assert!(CORES.contains(old), "{old}");
    CORES.replacen(old, new, 1)
}

/// In turn go `one`, `three`, `four` and the film to 0, 1, 2 and 0; `two` and the rest take no
/// turn. At `ben` there is one core.
#[test]
fn what_says_nothing_is_placed_in_turn() {
    let experiment = right(CORES).first();
    let placement = &Placement::new(&experiment);
    let at = |node: usize| {
        (0..4)
            .map(move |channel| placement.of(node, ChannelId(channel)))
            .map(|Placed { handler, application, reader }| [handler, application, reader].map(|core| core.0))
    };
    assert_eq!(at(0).collect::<Vec<_>>(), [[0, 0, 0], [2, 1, 2], [1, 1, 2], [2, 2, 2]]);
    assert!(at(1).all(|cores| cores == [0; 3]));
    assert_eq!([0, 1].map(|application| placement.of_computing(0, application)), [0, 0].map(CoreId));
    assert_eq!(experiment.nodes[0].adapters[0].interrupts, [CoreId(0)]);
}

/// Interrupts of all adapters without a key of their own; at a host with one core there is no
/// choice, and 0 is right.
#[test]
fn interrupts_are_steered() {
    let of = |text: &str| {
        let nodes = right(text).first().nodes;
        nodes.into_iter().map(|mut node| node.adapters.remove(0).interrupts).collect::<Vec<_>>()
    };
    let own = cores("[node.ben]", "[node.ada.adapter]\ninterrupts = [2, 1]\n[node.ben]");
    assert_eq!(of(&own), [vec![CoreId(2), CoreId(1)], vec![CoreId(0)]]);
    let common = cores("kind = \"null\"", "kind = \"null\"\ninterrupts = [0, 0]");
    assert_eq!(of(&common), [vec![CoreId(0), CoreId(0)], vec![CoreId(0), CoreId(0)]]);
}

#[test]
fn cores_that_are_not_there_are_said() {
    let all = [
        cores("core = 2\n", "core = 3\n"),
        cores("interval = \"10 ms\", core = 1", "interval = \"10 ms\", core = 7"),
        cores("work = \"10 us\", core = 2", "work = \"10 us\", core = 63"),
        cores("slice = \"1 ms\"\ncore = 0", "slice = \"1 ms\"\ncore = 4"),
        cores("cores = 3", "cores = 3\nsubsystem = { link = { core = 3 } }"),
        cores("cores = 3", "cores = 0"),
        cores("[node.ben]", "[node.ada.adapter]\ninterrupts = [0, 3]\n[node.ben]"),
        cores("[node.ben]", "[node.ada.adapter]\ninterrupts = []\n[node.ben]"),
        cores("kind = \"null\"", "kind = \"null\"\ninterrupts = [1]"),
        CORES
            .replace("cores = 3\n", "")
            .replace("core = 0\n", "")
            .replace(", core = 1", "")
            .replace("work = \"10 us\", core = 2", "work = \"10 us\""),
    ];
    insta::assert_snapshot!("cores", all.map(|text| refused(&text)).join("\n\n"));
}

/// Promises on several cores, and the reasons for none where more than the link is shared.
#[test]
fn several_cores_have_bounds_where_they_share_the_way_out_only() {
    let of = |text: &str| match promises(&right(text).first(), Formula::Corrected) {
        Err(why) => why.sentence().to_string(),
        Ok(promises) => match &promises.channels[0] {
            Promise::Admitted(_) => String::new(),
            Promise::Unbounded(why, _) => why.sentence().to_string(),
            other => panic!("{other:?}"),
        },
    };
    let why = of(CORES);
    assert!(why.contains("to a program on another core"), "{why}");
    let here = |new: &str| {
        let text = cores("work = \"10 us\", core = 2", "work = \"10 us\"");
        assert!(text.contains("cores = 3"));
        text.replace("cores = 3", new)
    };
    assert_eq!(of(&here("cores = 3")), "");
    assert_eq!(of(&here("cores = 3\nsubsystem = { link = { paradigm = \"O2\" } }")), "");
    let refused = [
        ("cores = 3\napplications = \"shared\"", "each time that a handler on another core has room"),
        ("cores = 3\nsubsystem = { link = { paradigm = \"O3\" } }", "under O1"),
        (
            "cores = 3\nsubsystem = { cpu = \"fixed_priority\", link = { order = \"fixed_priority\" } }",
            "multi-class EDF",
        ),
        (
            "cores = 3\nsubsystem = { link = { order = \"virtual_clock\" } }",
            "under O1 and O2, with CPU and link",
        ),
    ];
    for (host, reason) in refused {
        let why = of(&here(host));
        assert!(why.contains(reason), "{why}");
    }
    // Received packets are handled by core 1, and announced to core 0.
    let class = "name = \"three\"\nclass = \"best_effort\"";
    let text = here("cores = 3");
    assert!(text.contains(class));
    let real_time = "name = \"three\"\nclass = \"real_time\"\nmin_interval = \"10 ms\"\ndeadline = \"20 ms\"";
    let why = of(&text.replace(class, real_time));
    assert!(why.contains("on the core that its adapter interrupts"), "{why}");
    let interrupts = "[node.ada.adapter]\ninterrupts = [1]\n[node.ben]";
    assert_eq!(of(&text.replace(class, real_time).replace("[node.ben]", interrupts)), "");
}

/// A host with two links: interrupts for frames at the full rate of one link leave their core no
/// time, and do not disturb channels on the other core.
#[test]
fn several_cores_before_several_adapters_have_bounds() {
    let text = include_str!("../../../../experiments/networks/cores.toml");
    let text = text.replace("formula = \"off\"", "formula = \"corrected\"");
    let slow = text.replace(
        "min_interval = \"2 ms\"\ndeadline = \"2 ms\"",
        "min_interval = \"20 ms\"\ndeadline = \"40 ms\"",
    );
    assert_ne!(slow, text);
    let scenario = right(&slow);
    let promise = |name: &str| {
        let point = scenario.points().find(|point| scenario.describe(point).contains(name));
        let experiment = scenario.experiment(&point.expect("there is that point"));
        promises(&experiment, Formula::Corrected).expect("it is covered").channels[0].clone()
    };
    let loops = promise("interrupts with the loop");
    assert!(matches!(loops, Promise::Refused(..)), "{loops:?}");
    let Promise::Admitted(hops) = promise("interrupts with the backup") else { panic!("its core has time") };
    // Measured with these costs: 0.14 ms.
    assert!(hops[0].bound.bound > Span::from_us(140) && hops[0].bound.bound < Span::from_ms(20));
}

/// Where timers cost something a message waits for its own, and for that by which `rest` is begun:
/// here the CPU counts what it starts by packets, so neither is stretched.
#[test]
fn timers_that_cost_something_are_waited_for() {
    let bound = |costs: &str| {
        let text = cores("cores = 3", costs).replace("core = 2", "core = 0").replace("core = 1", "core = 0");
        let promises = promises(&right(&text).first(), Formula::Corrected).expect("it is covered");
        let Promise::Admitted(hops) = &promises.channels[0] else { panic!("{:?}", promises.channels[0]) };
        hops[0].bound.bound
    };
    let (free, dear) = (bound("cores = 1"), bound("costs = { timer = \"3 us\" }"));
    assert_eq!(dear - free, Span::from_us(6));
}
