//! Interrupts of frames that arrive, where an adapter moderates them.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_world::promise::promises;
use laxity_world::run;

/// Eight channels of 5000 frames a second each, to a host with 28 us for an interrupt and 1 us for a
/// response: an interrupt for each frame takes 116 % of its CPU.
fn scenario(moderation: &str) -> String {
    let channel = |n| {
        format!(
            r#"[[channel]]
name = "c{n}"
class = "real_time"
from = "left"
to = "right"
max_message = "1500 B"
burst = 1
min_interval = "200 us"
deadline = "20 ms"
source = {{ kind = "periodic" }}
"#
        )
    };
    let channels: String = (0..8).map(channel).collect();
    format!(
        r#"title = "a test"
[host]
profile = "mc68040"
speedup = 400
costs = {{ interrupt = "11.2 ms", response = "400 us" }}
subsystem = {{ packet = "1500 B", preemption = 2, link = {{ paradigm = "O1" }} }}
[adapter]
kind = "generic"
response_queue = [{{ answers = "received"{moderation} }}, {{ answers = "sent" }}]
transmit = [{{ name = "link", phase = [{{ fixed = "300 ns", rate = "1 Gbit/s", medium = true }}] }}]
receive = [{{ name = "store", phase = [{{ fixed = "100 ns" }}] }}]
[node.left]
[node.right]
[node.left.host]
speedup = 4000
costs = {{ interrupt = "1 us", response = "100 ns" }}
[network.wire]
joins = ["left", "right"]
propagation = "500 ns"
[admission]
test = "demand"
[run]
time = "60 ms"
{channels}"#
    )
}

/// The bound and the worst response of the first channel in microseconds; `None` if it is refused.
fn first(text: &str) -> Option<(f64, f64)> {
    let experiment =
        Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}")).first();
    let promises = promises(&experiment, Formula::Corrected).expect("an analysis covers it");
    let bound = promises.channels[0].delivery_bound()?;
    let worst = run(&experiment).channels[0].delivery_worst.expect("messages arrived");
    Some((bound.as_secs_f64() * 1e6, worst * 1e6))
}

#[test]
fn a_host_with_moderated_interrupts_is_not_refused_for_one_interrupt_a_frame() {
    assert_eq!(first(&scenario("")), None);
    for moderation in [", frames = 64, delay = \"1 ms\"", ", delay = \"1 ms\"", ", interval = \"500 us\""] {
        let (bound, worst) = first(&scenario(moderation)).expect("it is admitted");
        assert!(worst <= bound && bound < 3000.0, "{moderation}: {worst} of {bound}");
    }
}
