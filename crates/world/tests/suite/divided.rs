//! Deadlines that are shared out again among the hops of a path.

use laxity_units::Span;
use laxity_world::promise::Promise;

use super::fifo::{of, promises};

/// Two hosts at a switch by deadlines, and what is asked for first and next.
fn two(speedup: u32, first: &str, next: &[&str]) -> String {
    format!(
        r#"title = "two"
[host]
profile = "mc68040"
speedup = {speedup}.0
subsystem = {{ packet = "1500 B" }}
[adapter]
kind = "null"
[node.a]
[node.b]
[node.s]
kind = "switch"
[network.w]
joins = ["s", "a", "b"]
rate = "100 Mbit/s"
framing = "ethernet"
[run]
time = "50 ms"
{first}
{}"#,
        next.concat()
    )
}

fn channel(name: &str, ends: [&str; 2], size: u32, every: &str, deadline: &str) -> String {
    let [from, to] = ends;
    format!(
        r#"[[channel]]
name = "{name}"
class = "real_time"
from = "{from}"
to = "{to}"
max_message = "{size} B"
burst = 1
min_interval = "{every}"
deadline = "{deadline}"
source = {{ kind = "periodic" }}
"#
    )
}

/// The first channel's part at its receiver is small, as a fast host needs little. The camera that this host
/// sends needs more of it, and the other hops have it to spare.
#[test]
fn a_fast_host_takes_the_channels_of_a_slow_one() {
    let answers = channel("answers", ["b", "a"], 200, "5 ms", "2 ms");
    let camera = channel("camera", ["a", "b"], 4000, "2 ms", "10 ms");
    for speedup in [100, 200, 300, 400, 600, 1000, 3000] {
        for promise in promises(&of(&two(speedup, &answers, &[&camera]))) {
            assert!(promise.is_bound(), "{speedup}: {promise:?}");
        }
    }
}

/// The parts of all others are as before, where the newcomer is refused in spite of other parts: it needs
/// more of the promise of the first channel than that has to give.
#[test]
fn a_newcomer_that_is_refused_leaves_no_trace() {
    let log = channel("log", ["a", "b"], 1400, "9 ms", "9 ms");
    let camera = channel("camera", ["a", "b"], 9000, "2 ms", "10 ms");
    let parts = |promises: &[Promise]| -> Vec<Vec<(Span, Span)>> {
        let of =
            |promise: &Promise| promise.hops().iter().map(|hop| (hop.bound.deadline, hop.kept)).collect();
        promises.iter().take(2).map(of).collect()
    };
    let mut refused = 0;
    for deadline in (60..300).step_by(10) {
        let answers = channel("answers", ["b", "a"], 200, "5 ms", &format!("{deadline} us"));
        let without = promises(&of(&two(400, &answers, &[&log])));
        let with = promises(&of(&two(400, &answers, &[&log, &camera])));
        if without.iter().all(Promise::is_bound) && with[2].is_refused() {
            refused += 1;
            assert_eq!(parts(&with), parts(&without), "{deadline}");
        }
    }
    assert!(refused > 0);
}

/// With all slack at the slowest hop, the hosts of six cameras, each frame of a camera is due at the port as
/// soon as it can be. The port cannot promise a seventh channel a millisecond, until one of the
/// cameras lets it pass.
#[test]
fn channels_that_are_due_later_let_a_newcomer_pass() {
    let names: Vec<String> = (0..6).map(|n| format!("k{n}")).collect();
    let node = |name: &String| format!("[node.{name}]\nhost.speedup = 3.0\n");
    let nodes = names.iter().map(node).collect::<String>();
    let ends = names.iter().map(|name| format!(", \"{name}\"")).collect::<String>();
    let camera = |name: &String| channel(&format!("of-{name}"), [name, "b"], 6000, "33 ms", "33 ms");
    let cameras = names.iter().map(camera).collect::<String>();
    let urgent = channel("urgent", ["a", "b"], 64, "10 ms", "1 ms");
    let text = two(300, &format!("[admission]\ndeadlines = \"slowest\"\n{cameras}"), &[&urgent]);
    let text = text.replace("[node.s]", &format!("{nodes}[node.s]"));
    let text = text.replace("\"a\", \"b\"]", &format!("\"a\", \"b\"{ends}]"));
    for promise in promises(&of(&text)) {
        assert!(promise.is_bound(), "{promise:?}");
    }
}

/// Twelve hosts take a millisecond for a message, and the port 115 us. The first channel is promised little
/// at the port. Each later one takes its transmission from all, which they have to spare at their hosts.
#[test]
fn a_port_by_rates_takes_time_that_is_left_at_the_hosts() {
    let hosts: Vec<String> = (0..12).map(|n| format!("h{n}")).collect();
    let nodes: String = hosts.iter().map(|host| format!("[node.{host}]\n")).collect();
    let asked: String = hosts.iter().map(|host| channel(host, [host, "r"], 1400, "10 ms", "3 ms")).collect();
    for order in ["wfq", "drr", "virtual_clock"] {
        let text = two(40, &nodes, &[&asked]).replace("[node.a]\n[node.b]", "[node.r]");
        let text = text.replace("kind = \"switch\"\n", &format!("kind = \"switch\"\norder = \"{order}\"\n"));
        let text = text.replace("\"a\", \"b\"", &format!("\"r\", \"{}\"", hosts.join("\", \"")));
        let refused = promises(&of(&text)).iter().filter(|promise| promise.is_refused()).count();
        assert_eq!(refused, 0, "{order}");
    }
}
