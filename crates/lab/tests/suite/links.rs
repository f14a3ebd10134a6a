//! A host with two adapters beside the same host with one: the effects of the second.

use laxity_units::Span;
use laxity_world::promise::of_channels;

/// A gateway that sends set-points by its first adapter; `second` is what the node says of another,
/// and `more` what uses it.
fn gateway(second: &str, first: &str, more: &str) -> String {
    format!(
        r#"title = "A gateway"
[host]
profile = "mc68040"
speedup = 8
subsystem = {{ packet = "1500 B" }}
[adapter]
kind = "null"
[node.drive]
[node.recorder]
[node.gateway]
{second}
[network.plant]
joins = ["gateway{first}", "drive"]
rate = "100 Mbit/s"
{more}
[run]
time = "1 s"
[[channel]]
name = "set-point"
class = "real_time"
from = "gateway"
to = "drive"
max_message = "512 B"
burst = 2
min_interval = "10 ms"
deadline = "9 ms"
source = {{ kind = "adversary" }}
"#
    )
}

const SECOND: &str = "adapter = { plant = {}, office = {} }";

/// The office behind the second adapter, with a rate, and the gateway's traffic to it.
fn office(rate: &str, channel: &str) -> String {
    format!(
        r#"[network.office]
joins = ["gateway.office", "recorder"]
rate = "{rate}"
{channel}"#
    )
}

const BACKUP: &str = r#"[[channel]]
name = "backup"
class = "best_effort"
from = "gateway"
to = "recorder"
max_message = "16 KiB"
burst = 8
source = { kind = "continuous" }
"#;

/// The set-point's bound, and its longest response in a run.
fn set_point(text: &str) -> (Option<Span>, f64) {
    let scenario =
        laxity_lab::from_text("gateway.toml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let experiment = scenario.first();
    let promises = of_channels(&experiment, experiment.admission.formula);
    let of = experiment.channels.iter().position(|channel| channel.name == "set-point").expect("it is there");
    let run = laxity_world::run(&experiment);
    (promises[of].delivery_bound(), run.channels[of].delivery_worst.expect("it was sent"))
}

/// An adapter that sends no packets costs no channel anything: the bound is that of a host without
/// it, to the picosecond.
#[test]
fn an_idle_adapter_changes_no_bound() {
    let alone =
        gateway("", "", "[network.office]\njoins = [\"gateway\", \"recorder\"]\nrate = \"100 Mbit/s\"");
    let beside = gateway(SECOND, ".plant", &office("1 Gbit/s", ""));
    let (bound, worst) = set_point(&alone);
    assert_eq!((bound, worst), set_point(&beside));
    assert!(bound.is_some_and(|bound| worst <= bound.as_secs_f64()));
}

/// Traffic on the second adapter takes CPU time from channels of the first, however fast that
/// adapter is, and no more than their bound allows. With one adapter the set-point also waits for
/// packets of the backup on the link.
#[test]
fn a_flood_by_the_second_adapter_is_in_the_bound() {
    let idle = set_point(&gateway(SECOND, ".plant", &office("1 Gbit/s", ""))).0.expect("it is admitted");
    for rate in ["10 Mbit/s", "100 Mbit/s", "1 Gbit/s", "10 Gbit/s"] {
        let (bound, worst) = set_point(&gateway(SECOND, ".plant", &office(rate, BACKUP)));
        let bound = bound.unwrap_or_else(|| panic!("nothing is promised beside {rate}"));
        assert!(bound > idle && worst <= bound.as_secs_f64(), "{rate}: {worst} s of {bound}");
    }
}
