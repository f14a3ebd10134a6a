//! Channels through FIFO queues: bounds from end to end, beside exact timelines by hand.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::promise::{self, Promise};
use laxity_world::results::Channel;
use laxity_world::run;

/// Hosts that take no time, at switches with FIFO ports. A message of 462 B is a frame of 500 B,
/// which takes a link 40 us.
pub(super) const HEAD: &str = r#"title = "a test"
[host]
profile = "mc68040"
costs = { context_switch = "0 us", cache_miss = "0 us", first_packet = "0 us", packet = "0 us", link_scheduling = "0 us", hand_over = "0 us", interrupt = "0 us", thread_creation = "0 us", receive_packet = "0 us", receive_message = "0 us", send_call = "0 us" }
subsystem = { packet = "1500 B", cpu = "fifo", link = { order = "fifo" } }
[adapter]
kind = "null"
rate = "100 Mbit/s"
[network]
rate = "100 Mbit/s"
framing = "ethernet"
[run]
time = "40 ms"
"#;

/// Two senders, a switch and a receiver.
pub(super) const STAR: &str = r#"[node.a]
[node.b]
[node.r]
[node.s]
kind = "switch"
order = "fifo"
[network.all]
joins = ["s", "a", "b", "r"]
"#;

pub(super) fn channel(name: &str, from: &str, to: &str, size: &str, deadline: &str) -> String {
    format!(
        r#"[[channel]]
name = "{name}"
class = "real_time"
max_message = "{size}"
burst = 1
min_interval = "4 ms"
deadline = "{deadline}"
from = "{from}"
to = "{to}"
source = {{ kind = "periodic" }}
"#
    )
}

pub(super) fn of(text: &str) -> Experiment {
    Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}")).first()
}

pub(super) fn promises(experiment: &Experiment) -> Vec<Promise> {
    promise::promises(experiment, Formula::Corrected).expect("a proof").channels
}

/// Bound and worst of each channel in us, until delivery.
pub(super) fn bound_and_worst(text: &str) -> Vec<(f64, f64)> {
    let each = bounds_and_channels(text).into_iter().map(|(bound, channel)| {
        assert_eq!(channel.lost_packets, 0);
        let worst = channel.delivery_worst.expect("messages arrived");
        (bound.unwrap_or_else(|| panic!("no bound of {}", channel.name)), (worst * 1e9).round() / 1e3)
    });
    each.collect()
}

/// The bound of each channel in us until delivery, if it has one, and the channel of a run.
pub(super) fn bounds_and_channels(text: &str) -> Vec<(Option<f64>, Channel)> {
    let experiment = of(text);
    let us = |bound: Span| (bound.as_ps() / 1000) as f64 / 1000.0;
    let bounds = promises(&experiment).into_iter().map(|promise| promise.delivery_bound().map(us));
    bounds.zip(run(&experiment).channels).collect()
}

pub(super) fn why(text: &str) -> &'static str {
    let experiment = of(text);
    match promise::promises(&experiment, Formula::Corrected) {
        Err(why) => why.sentence(),
        Ok(promises) => match &promises.channels[0] {
            Promise::Unbounded(why, _) => why.sentence(),
            other => panic!("{other:?}"),
        },
    }
}

/// Both frames leave their hosts after 40 us and are at the switch then. One leaves it after 80 us,
/// and the other after 120 us.
#[test]
fn two_frames_that_meet_at_a_port_have_their_exact_bound() {
    let both = [channel("a", "a", "r", "462 B", "4 ms"), channel("b", "b", "r", "462 B", "4 ms")].concat();
    let found = bound_and_worst(&[HEAD, STAR, &both].concat());
    assert_eq!(found.iter().map(|(bound, _)| *bound).collect::<Vec<_>>(), [120.0, 120.0]);
    assert_eq!(found.iter().map(|(_, worst)| *worst).fold(0.0, f64::max), 120.0);
}

/// Propagation and the latency of the switch are part of the path: 2 · 3 us and 10 us. The
/// interframe gap of 12 B (0.96 us) delays no frame that has left a cable.
#[test]
fn paths_between_queues_are_added() {
    let star =
        STAR.replace("joins", "propagation = \"3 us\"\njoins").replace("order", "latency = \"10 us\"\norder");
    let one = channel("a", "a", "r", "462 B", "4 ms");
    assert_eq!(bound_and_worst(&[HEAD, &star, &one].concat()), [(80.0 + 16.0 - 1.92, 80.0 + 16.0 - 1.92)]);
}

/// Two messages of a host leave it after 40 and 80 us. They do not wait for each other again at the
/// next queue: 120 us, and not 160 us.
#[test]
fn frames_that_share_a_link_arrive_one_after_the_other() {
    let both = [channel("a", "a", "r", "462 B", "4 ms"), channel("b", "a", "r", "462 B", "4 ms")].concat();
    let found = bound_and_worst(&[HEAD, STAR, &both].concat());
    assert!(found.iter().all(|(bound, _)| *bound == 120.0), "{found:?}");
    assert_eq!(found.iter().map(|(_, worst)| *worst).fold(0.0, f64::max), 120.0);
}

/// A host under multi-class EDF holds early messages and has a table of its own. It promises 40 us, and
/// messages meet at the port. The receiver has that order, too: it holds each message until its bound.
#[test]
fn a_host_with_a_table_sends_into_a_queue() {
    let head = HEAD.replace(r#"cpu = "fifo", link = { order = "fifo" }"#, r#"cpu = "multiclass_edf""#);
    let both = [channel("a", "a", "r", "462 B", "4 ms"), channel("b", "b", "r", "462 B", "4 ms")].concat();
    let found = bound_and_worst(&[&head, STAR, &both].concat());
    assert!(found.iter().all(|(bound, worst)| *bound == 120.0 && worst <= bound), "{found:?}");
}

/// A frame of level 1 began a nanosecond before that of level 0 arrived, so both take 120 us. Level 1
/// may meet one frame above it; the steps of that flow as a curve add 1 % to the wait.
#[test]
fn levels_of_a_port_wait_for_one_frame_below() {
    let star = STAR.replace("order = \"fifo\"", "order = \"strict_priority\"");
    let level = |text: String, level| text.replace("burst", &format!("level = {level}\nburst"));
    let late = channel("a", "a", "r", "462 B", "4 ms")
        .replace("periodic\"", "script\", messages = [{ at = \"1 ns\" }]");
    let both = [level(late, 0), level(channel("b", "b", "r", "462 B", "4 ms"), 1)].concat();
    let found = bound_and_worst(&[HEAD, &star, &both].concat());
    assert_eq!(found[0], (120.0, 119.999));
    assert!(found[1].0 > 120.0 && found[1].0 < 121.0 && found[1].1 == 80.0, "{found:?}");
}

/// Best effort is below all levels of a port by strict priority: one frame of 1500 B, 120 us.
#[test]
fn best_effort_blocks_a_port_by_strict_priority_for_one_frame() {
    let head = HEAD.replace(r#"cpu = "fifo", link = { order = "fifo" }"#, r#"cpu = "multiclass_edf""#);
    let star = STAR.replace("order = \"fifo\"", "order = \"strict_priority\"");
    let flood = "[[channel]]\nname = \"flood\"\nclass = \"best_effort\"\nmax_message = \"1462 B\"\nburst = 4\nfrom = \"b\"\nto = \"r\"\nsource = { kind = \"continuous\" }\n";
    let experiment = of(&[&head, &star, &channel("a", "a", "r", "462 B", "4 ms"), flood].concat());
    let bound = promises(&experiment)[0].bound().expect("a bound");
    assert_eq!(bound, Span::from_us(40 + 120 + 40));
    let worst = run(&experiment).channels[0].worst.expect("messages are sent");
    assert!(worst > 80e-6 && worst <= bound.as_secs_f64(), "{worst}");
}

/// The second channel may take 120 us, and the first is not there to blame: it came before.
#[test]
fn a_channel_beyond_its_deadline_is_refused_with_the_least_that_would_do() {
    let late = [channel("a", "a", "r", "462 B", "4 ms"), channel("b", "b", "r", "462 B", "119 us")].concat();
    let experiment = of(&[HEAD, STAR, &late].concat());
    let found = promises(&experiment);
    assert!(matches!(found[..], [Promise::Admitted(_), Promise::Refused(_)]), "{found:?}");
    let least = promise::shortfall(&experiment, Formula::Corrected, 1).admissible.expect("a deadline");
    assert!(least >= Span::from_us(120) && least < Span::from_us(121), "{least}");
}

/// Three frames of 40 us follow each other at the host, and the last takes the port as long: 160 us.
/// With a fourth it would be 200.
#[test]
fn copies_that_do_not_fit_are_refused_for_one_reason() {
    let copies = channel("copy", "a", "r", "462 B", "170 us").replace("burst = 1", "burst = 1\ncount = 6");
    let experiment = of(&format!("{HEAD}{STAR}{copies}{}", channel("back", "b", "a", "462 B", "1 ms")));
    let answers = promises(&experiment);
    let refused: Vec<bool> = answers.iter().map(Promise::is_refused).collect();
    assert_eq!(refused, [false, false, false, true, true, true, false]);
    let why: Vec<Option<String>> = (3..6).map(|i| answers[i].refusal(&experiment, i)).collect();
    assert!(why[0].as_ref().is_some_and(|why| why.contains("`copy-1` would not hold")), "{why:?}");
    assert!(why[1] == why[0] && why[2] == why[0], "{why:?}");
}

/// Each of two channels asks for 55 % of a port: no deadline lets the other one stay. Alone at it a
/// frame takes 80 us from end to end, however short the deadline that is asked for.
#[test]
fn a_proposed_deadline_leaves_the_others_admitted() {
    let hasty = channel("hasty", "a", "r", "462 B", "1 ns");
    let other = channel("other", "b", "r", "462 B", "20 ms");
    let proposed = |text: &str| {
        let experiment = of(text);
        assert!(promises(&experiment)[0].is_refused());
        promise::shortfall(&experiment, Formula::Corrected, 0).proposed
    };
    assert_eq!(proposed(&format!("{HEAD}{STAR}{hasty}")), Some(Span::from_us(80)));
    assert_eq!(proposed(&format!("{HEAD}{STAR}{hasty}{other}")), Some(Span::from_us(120)));
    let both = format!("{HEAD}{STAR}{hasty}{other}").replace("\"4 ms\"", "\"72 us\"");
    assert_eq!(proposed(&both), None);
}

#[test]
fn what_keeps_a_queue_from_a_bound_is_named() {
    let one = channel("a", "a", "r", "462 B", "4 ms");
    let text = [HEAD, STAR, &one].concat();
    let flood = "[[channel]]\nname = \"flood\"\nclass = \"best_effort\"\nmax_message = \"1000 B\"\nburst = 1\nfrom = \"b\"\nto = \"r\"\nsource = { kind = \"continuous\" }\n";
    assert!(why(&[&text, flood].concat()).contains("best effort shares a FIFO queue"));
    let leveled = text.replace("order = \"fifo\"\n", "order = \"strict_priority\"\n");
    assert!(why(&leveled.replace("burst", "level = 31\nburst")).contains("that of best effort"));
    for (from, to, reason) in [
        ("order = \"fifo\"\n", "order = \"fifo\"\nforwarding = \"cut_through\"\n", "wait for whole frames"),
        (
            "joins",
            "impairments = { jitter = \"1 us\" }\njoins",
            "keep the order, the number and the distance",
        ),
        ("kind = \"periodic\"", "kind = \"poisson\"", "is not known to keep its contract"),
        ("burst = 1\n", "burst = 2\nmessage_overflow = \"best_effort\"\n", "best effort shares a FIFO link"),
    ] {
        assert!(text.contains(from));
        let found = why(&text.replace(from, to));
        assert!(found.contains(reason), "{from}: {found}");
    }
}

/// The schedules of the experiments bring each bound and its worst case together: exactly, or in the
/// tree for the first camera of each branch to a few percent.
#[test]
fn schedules_of_the_experiments_come_close_to_the_bounds() {
    let close = |text: &str, share: f64, of: &[usize]| {
        let found = bound_and_worst(text);
        assert!(found.iter().all(|(bound, worst)| worst <= bound), "{found:?}");
        assert!(of.iter().all(|i| found[*i].1 >= share * found[*i].0), "{found:?}");
        found
    };
    let five = close(include_str!("../../../../experiments/afdx/five-links.toml"), 0.998, &[0, 1, 2, 3, 4]);
    assert!(five[0].0 < 232.5 && five[2].0 < 272.5, "{five:?}");
    let line = close(include_str!("../../../../experiments/afdx/line.toml"), 0.9999, &[0, 1, 2, 3, 4, 5, 6]);
    assert!(line[0].0 < 680.1, "{line:?}");
    let tree = close(include_str!("../../../../experiments/afdx/tree.toml"), 0.95, &[0, 4]);
    assert!(tree[0].0 < 1141.0, "{tree:?}");
    let trunk = close(include_str!("../../../../experiments/afdx/trunk.toml"), 0.04, &[]);
    let worst = trunk.iter().map(|(_, worst)| *worst).fold(0.0, f64::max);
    assert!(worst == 880.0 && trunk[0].0 < 882.0, "{trunk:?}");
}

/// A jitter counts from the shortest delay, the transmission of 40 us at the host. The bound of 120 us over
/// a port is beyond it by 80.
#[test]
fn a_jitter_is_proved_over_queues_or_refused() {
    let edf = HEAD.replace(r#"cpu = "fifo", link = { order = "fifo" }"#, r#"cpu = "multiclass_edf""#);
    let with = |jitter: &str| {
        let both =
            [channel("a", "a", "r", "462 B", "4 ms"), channel("b", "b", "r", "462 B", "4 ms")].concat();
        let both = both.replace("deadline", &format!("jitter = \"{jitter}\"\ndeadline"));
        promises(&of(&[&edf, STAR, &both].concat())).iter().map(Promise::is_refused).collect::<Vec<_>>()
    };
    assert_eq!(with("80 us"), [false, false]);
    assert_eq!(with("79 us"), [false, true]);
}
