//! Buses that adapters of a host share: their owners, errors, and bounds beside them.

use laxity_admission::Formula;
use laxity_qos::channel::LinkId;
use laxity_world::experiment::Experiment;
use laxity_world::promise::promises;

use super::errors::{refused, refused_in};
use super::*;

const GATEWAY: &str = r#"title = "A gateway"
[host]
profile = "mc68040"
[host.bus.pci]
preemptive = false
urgent = true
[adapter]
kind = "generic"
resource = [{ name = "slot", bus = "pci" }]
transmit = [{ name = "dma", phase = [{ fixed = "20 us", holds = ["slot"] }] }]
[node.left]
[node.gateway]
adapter = { in = {}, out = {} }
[node.right]
host = { bus = { pci = { urgent = false, cpu = true } } }
[network.near]
joins = ["left", "gateway.in"]
rate = "100 Mbit/s"
[network.far]
joins = ["right", "gateway.out"]
rate = "100 Mbit/s"
[[channel]]
name = "there"
class = "real_time"
from = "left"
to = "right"
max_message = "1 KiB"
burst = 1
min_interval = "60 ms"
deadline = "50 ms"
source = { kind = "adversary" }
[run]
time = "1 s"
"#;

/// Parameters of the bus of an adapter of that node: preemptive, by urgency, the CPU's while it
/// copies.
fn bus(experiment: &Experiment, name: &str, link: u8) -> (bool, bool, bool) {
    let called = |node: &NodeSpec| node.name.as_deref() == Some(name);
    let node = experiment.nodes.iter().position(called).expect("it is there");
    let AdapterSpec::Described(description) = experiment.adapter_of(node, LinkId(link)) else {
        panic!("it is described");
    };
    assert_eq!(description.bus(), Some((1, "pci")));
    let slot = &description.resources[1];
    (slot.preemptive, slot.urgent, slot.host)
}

/// A host's keys of its bus are laid over the common ones, and its adapters are at that bus.
#[test]
fn a_host_says_what_its_bus_is_like() {
    let experiment = right(GATEWAY).first();
    assert_eq!(bus(&experiment, "left", 0), (false, true, false));
    assert_eq!(bus(&experiment, "gateway", 1), (false, true, false));
    assert_eq!(bus(&experiment, "right", 0), (false, false, true));
    let buses = &experiment.hosts[experiment.nodes[1].host].buses;
    let pci = |urgent, cpu| BusSpec { name: "pci".into(), preemptive: false, urgent, cpu };
    assert_eq!(*buses, [pci(true, false)]);
    let said = GATEWAY.replacen("preemptive = false\nurgent = true\n", "", 1);
    assert_eq!(bus(&right(&said).first(), "gateway", 0), (true, false, false));
}

#[test]
fn a_sweep_reaches_a_bus_by_its_name() {
    let swept = format!(
        "{GATEWAY}[[sweep]]\nname = \"taken\"\nkey = \"host.bus.pci.preemptive\"\nvalues = [true, false]\n"
    );
    let scenario = right(&swept);
    let points: Vec<_> =
        scenario.points().map(|point| bus(&scenario.experiment(&point), "gateway", 0).0).collect();
    assert_eq!(points, [true, false]);
}

#[test]
fn what_is_wrong_with_a_bus_says_what_would_be_right() {
    let slot = r#"{ name = "slot", bus = "pci" }"#;
    for (right, wrong, why) in [
        (r#"bus = "pci" }"#, r#"bus = "pcl" }"#, "has no bus `pcl`"),
        (r#"bus = "pci" }"#, r#"bus = "pcl" }"#, "add `[host.bus.pcl]`, or name `pci`"),
        ("[host.bus.pci]\npreemptive = false\nurgent = true\n", "", "the host of `gateway` has no bus `pci`"),
        ("[host.bus.pci]", "[host.bus.spare]\n[host.bus.pci]", "no adapter is at the bus `spare`"),
        ("[host.bus.pci]", "[host.bus.\"a b\"]\n[host.bus.pci]", "a name cannot hold"),
        ("urgent = true", "urgnt = true", "did you mean `urgent`?"),
        ("urgent = true", "urgent = 1", "valid is `true` or `false`"),
        (slot, r#"{ name = "slot", bus = "pci", urgent = true }"#, "say it in `[host.bus.NAME]`"),
        (slot, r#"{ name = "slot", bus = "pci", preemptive = true }"#, "a bus says this itself"),
        (slot, r#"{ name = "slot", bus = "pci", host = true }"#, "say `cpu` in `[host.bus.NAME]`"),
        (slot, r#"{ name = "slot", bus = "pci", servers = 1 }"#, "one packet is on a bus at a time"),
        (slot, r#"{ name = "processor", bus = "pci" }"#, "an adapter's processor is no bus"),
        (
            slot,
            r#"{ name = "slot", bus = "pci" }, { name = "other", bus = "pci" }"#,
            "the adapter is at a bus already, by its resource `slot`",
        ),
        (slot, r#"{ name = "lot", bus = "pci" }"#, "no phase holds the resource `lot`"),
    ] {
        let text = GATEWAY.replacen(right, wrong, 1);
        assert_ne!(text, GATEWAY, "{right}");
        let refused = refused(&text);
        assert!(refused.contains(why), "{wrong}\n{refused}");
    }
}

/// An error is shown where the adapter says which bus it is at, in its file if that is where it does.
#[test]
fn a_missing_bus_is_shown_where_it_is_named() {
    let refused = refused(&GATEWAY.replacen("bus = \"pci\" }", "bus = \"pcl\" }", 1));
    assert!(refused.contains("test.toml:9:36"), "{refused}");
    let card = "kind = \"generic\"\nresource = [{ name = \"slot\", bus = \"isa\" }]\n\
        transmit = [{ name = \"dma\", phase = [{ fixed = \"20 us\", holds = [\"slot\"], source = \"own choice: a test\" }] }]\n";
    let file = format!("title = \"A card\"\n[adapter]\n{card}");
    let alone = RIGHT.split("[adapter]").next().expect("there is something before");
    let text = format!(
        "{alone}[adapter]\nfile = \"card.toml\"\n[run]\npackets = 10\n[[channel]]\nname = \"a\"\nclass = \"best_effort\"\nmax_message = \"1 KiB\"\nburst = 1\nsource = {{ kind = \"continuous\" }}\n"
    );
    let mut files = memory(&text);
    files.insert("experiments/card.toml".into(), file.into_bytes());
    let refused = refused_in(&files);
    assert!(refused.contains("the host has no bus `isa`") && refused.contains("card.toml"), "{refused}");
}

/// A channel alone at a bus has the bound of a resource of its own. A channel that waits for
/// another has no bound, and a reason.
#[test]
fn who_waits_for_another_at_a_bus_has_no_bound() {
    let bound = |text: &str| {
        let experiment = right(text).first();
        let promises = promises(&experiment, Formula::Corrected).map_err(|why| why.sentence().to_string())?;
        match &promises.channels[0] {
            laxity_world::promise::Promise::Unbounded(why, _) => Err(why.sentence().to_string()),
            promise => Ok(promise.bound()),
        }
    };
    let lone = GATEWAY
        .replacen("adapter = { in = {}, out = {} }\n", "", 1)
        .replacen("\"gateway.in\"", "\"gateway\"", 1)
        .replacen("\"right\", \"gateway.out\"", "\"right\", \"left\"", 1);
    let own = lone
        .replacen("[host.bus.pci]\npreemptive = false\nurgent = true\n", "", 1)
        .replacen("host = { bus = { pci = { urgent = false, cpu = true } } }\n", "", 1)
        .replacen(", bus = \"pci\"", ", preemptive = false, urgent = true", 1);
    let alone = bound(&lone);
    assert!(matches!(alone, Ok(Some(_))), "{alone:?}");
    assert_eq!(alone, bound(&own));
    let why = "no analysis covers adapters that wait for each other at a bus of their host";
    assert_eq!(bound(GATEWAY).err().as_deref(), Some(why));
}
