//! Several adapters at a host: what they have in common, where they are, and what is wrong.

use laxity_qos::channel::LinkId;
use laxity_units::{ByteTime, Span};
use laxity_world::experiment::Experiment;

use super::errors::refused;
use super::*;

const BRIDGE: &str = r#"title = "A bridge"
[host]
profile = "mc68040"
[adapter]
kind = "null"
startup = "3 us"
[node.field]
count = 2
[node.bridge]
adapter = { rate = "50 Mbit/s", plant = {}, office = { startup = "7 us" } }
[node.desk]
[node.sw]
kind = "switch"
[network.plant]
joins = ["sw", "field", "bridge.plant"]
rate = "10 Mbit/s"
[network.office]
joins = ["desk", "bridge.office"]
rate = "100 Mbit/s"
[[channel]]
name = "up"
class = "best_effort"
from = "field-2"
to = "desk"
max_message = "1 KiB"
burst = 1
source = { kind = "periodic", interval = "10 ms" }
[[channel]]
name = "down"
class = "best_effort"
from = "bridge"
to = "field-1"
max_message = "1 KiB"
burst = 1
source = { kind = "periodic", interval = "10 ms" }
[[fault]]
kind = "lost_interrupts"
at = "1 ms"
node = "bridge"
adapter = "plant"
[run]
time = "1 s"
"#;

fn node(experiment: &Experiment, name: &str) -> usize {
    let called = |node: &laxity_world::experiment::NodeSpec| node.name.as_deref() == Some(name);
    experiment.nodes.iter().position(called).expect("it is there")
}

/// By name, so the office's is the first. Each is laid over what the node's have in common, and
/// that over `[adapter]`; the slower of adapter and link is what a packet takes.
#[test]
fn adapters_are_laid_over_what_they_have_in_common() {
    let experiment = right(BRIDGE).first();
    let bridge = node(&experiment, "bridge");
    let names: Vec<_> =
        experiment.nodes[bridge].adapters.iter().map(|adapter| adapter.name.as_deref()).collect();
    assert_eq!(names, [Some("office"), Some("plant")]);
    let speed = |link| experiment.speed(bridge, LinkId(link));
    assert_eq!((speed(0).startup, speed(0).per_byte), (Span::from_us(7), ByteTime::from_ns(160)));
    assert_eq!((speed(1).startup, speed(1).per_byte), (Span::from_us(3), ByteTime::from_ns(800)));
    assert_eq!(experiment.suffix_of(bridge, LinkId(1)), "@bridge.plant");
    let desk = node(&experiment, "desk");
    assert_eq!(
        (experiment.speed(desk, LinkId::FIRST).per_byte, experiment.nodes[desk].adapters.len()),
        (ByteTime::from_ns(80), 1)
    );
}

/// A channel leaves by the adapter with the network that leads on: relayed channels by the
/// office's, channels from here by the plant's.
#[test]
fn a_channel_leaves_by_the_adapter_that_leads_on() {
    let experiment = right(BRIDGE).first();
    let [up, down] = &experiment.channels[..] else { panic!("there are two") };
    let bridge = up.passages(node(&experiment, "bridge")).next().expect("it passes");
    assert_eq!((experiment.link_out(up, bridge), experiment.link_out(down, 0)), (LinkId(0), LinkId(1)));
    assert_eq!(
        experiment.link_to(up.route[bridge], up.ways[bridge - 1]),
        LinkId(1),
        "and comes in by the other"
    );
    assert_eq!(experiment.faults[0].link, LinkId(1));
}

#[test]
fn what_is_wrong_with_adapters_says_what_would_be_right() {
    for (right, wrong, why) in [
        ("\"bridge.plant\"]", "\"bridge\"]", "say which, as `bridge.office`"),
        ("bridge.plant\"", "bridge.plnt\"", "it has `office` and `plant`"),
        ("\"desk\", ", "\"desk.a\", ", "say `desk`, or describe `[node.desk.adapter.a]`"),
        ("\"desk\", ", "\"sw.a\", ", "`sw` has no adapter `a`"),
        ("bridge.plant\"", "bridge.pl.ant\"", "a name cannot hold `.`"),
        ("\"bridge.plant\"]", "\"bridge.plant\", \"bridge.office\"]", "`bridge` stands here twice"),
        ("plant = {},", "plant = {}, spare = {},", "adapter `spare` of `bridge` is at no network"),
        ("plant = {},", "plant = 3,", "there is no key `plant`"),
        ("plant = {},", "plant = { sartup = 1 },", "did you mean `startup`?"),
        ("adapter = \"plant\"", "adapter = \"plan\"", "the node has no adapter `plan`"),
        ("node = \"bridge\"", "node = \"desk\"", "the node has no adapter `plant`"),
        ("[run]", "[emulation]\nhost = \"thread\"\n[run]\nclock = \"real\"", "in a thread has one adapter"),
    ] {
        let text = BRIDGE.replacen(right, wrong, 1);
        assert_ne!(text, BRIDGE, "{right}");
        let refused = refused(&text);
        assert!(refused.contains(why), "{wrong}\n{refused}");
    }
}
