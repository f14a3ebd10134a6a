//! Cases that no analysis covers are refused, and with their reason: in `uncovered/` each case is a
//! reason, and the edits of an experiment with a bound (`-` for the old text, `+` for the new) that
//! cause it.
//!
//! A forgotten decision would leave an unproved bound, and a run that never gets near it would not
//! show that. So each case is tested here.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_world::experiment::{Experiment, HostPlace, MediumSpec, Pace};
use laxity_world::promise::{self, Promise};

const HOST: &str = r#"title = "a test"
[host]
profile = "mc68040"
speedup = 10
subsystem = { packet = "4 KiB", preemption = 4, link = { paradigm = "O1", depth = 2 } }
[adapter]
kind = "null"
startup = "40 us"
per_byte = "50 ns"
[run]
time = "1 s"
[[channel]]
name = "urgent"
class = "real_time"
max_message = "8 KiB"
burst = 1
min_interval = "40 ms"
deadline = "30 ms"
source = { kind = "periodic" }
[[channel]]
name = "flood"
class = "best_effort"
max_message = "16 KiB"
burst = 4
source = { kind = "continuous" }
"#;

const NULL: &str = r#"kind = "null"
startup = "40 us"
per_byte = "50 ns"
"#;

const STAGES: &str = r#"kind = "generic"
transmit = [
  { name = "fetch", queue = [{ order = "fifo" }], phase = [{ fixed = "10 us", holds = ["bus"] }] },
  { name = "link", queue = [{ order = "fifo" }], phase = [{ fixed = "20 us", medium = true }] },
]
"#;

const RECEIVE: &str = r#"receive = [{ name = "store", queue = [{ order = "fifo" }], phase = [{ fixed = "5 us" }] }]
"#;

const NODES: &str = r#"[node.a]
[node.b]
[network.wire]
joins = ["a", "b"]
"#;

/// A host that takes messages from an interface, for a program with a budget and one without.
const RECEIVING: &str = r#"title = "a test"
[host]
profile = "polling-server"
costs = { context_switch = "2 us" }
receive = { poll = "1.59 us", program = "3 us" }
[run]
time = "1 s"
[[interface]]
name = "nic"
policy = "hard_timer"
interval = "100 us"
quota = 10
buffers = 128
buffers_real_time = 64
sharing = { kind = "weighted", real_time = 4, best_effort = 6 }
[[program]]
name = "control"
order = "class"
budget = "60 us"
period = "1 ms"
[[program]]
name = "others"
[[channel]]
name = "urgent"
class = "real_time"
max_message = "64 B"
burst = 1
min_interval = "500 us"
deadline = "5 ms"
interface = "nic"
program = "control"
source = { kind = "periodic" }
[[channel]]
name = "flood"
class = "best_effort"
max_message = "1000 B"
burst = 1
interface = "nic"
program = "others"
source = { kind = "periodic", rate = "10 MB/s" }
"#;

/// `text` with two hosts, of which one sends to the other.
fn of_two(text: &str) -> String {
    let from = |name: &str| format!("name = \"{name}\"\n");
    let goes = |name: &str| from(name) + "from = \"a\"\nto = \"b\"\n";
    let text = text.replace("[run]\n", &format!("{NODES}[run]\n"));
    text.replace(&from("urgent"), &goes("urgent")).replace(&from("flood"), &goes("flood"))
}

/// Why the first channel of `text` has no promise, or none up to its receiver; `None` if it has
/// one.
fn refused(text: &str) -> Option<&'static str> {
    why(&of_text(text))
}

fn of_text(text: &str) -> Experiment {
    Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}")).first()
}

/// The same of what a text says.
fn why(experiment: &Experiment) -> Option<&'static str> {
    let promises = match promise::promises(experiment, Formula::Corrected) {
        Ok(promises) => promises,
        Err(why) => return Some(why.sentence()),
    };
    match &promises.channels[0] {
        Promise::Admitted(_) => {
            promise::undelivered(experiment, Formula::Corrected)[0].as_ref().map(|why| why.sentence())
        }
        Promise::Unbounded(why, _) => Some(why.sentence()),
        Promise::Received(_) => None,
        other => panic!("{other:?}"),
    }
}

/// `text` with what `lines` say replaced.
fn edited(text: &str, lines: &[&str]) -> String {
    let mut edited = text.to_owned();
    for edit in lines.chunk_by(|line, next| !(line.starts_with('+') && next.starts_with('-'))) {
        let side =
            |sign: &str| -> Vec<&str> { edit.iter().filter_map(|line| line.strip_prefix(sign)).collect() };
        let (from, to) = (side("- ").join("\n"), side("+ ").join("\n"));
        assert!(!from.is_empty() && edited.contains(&from), "no `{from}`");
        edited = edited.replacen(&from, &to, 1);
    }
    edited
}

fn each_is_refused_for_its_reason(text: &str, cases: &str) {
    assert_eq!(refused(text), None, "{text}");
    for case in cases.trim_end().split("\n\n") {
        let lines: Vec<&str> = case.lines().collect();
        let edited = edited(text, &lines[1..]);
        assert_eq!(refused(&edited), Some(lines[0]), "{edited}");
    }
}

#[test]
fn a_host_alone() {
    each_is_refused_for_its_reason(HOST, include_str!("uncovered/host.txt"));
}

#[test]
fn two_hosts() {
    each_is_refused_for_its_reason(&of_two(HOST), include_str!("uncovered/path.txt"));
}

#[test]
fn an_adapter_of_stages() {
    each_is_refused_for_its_reason(&HOST.replace(NULL, STAGES), include_str!("uncovered/adapter.txt"));
}

#[test]
fn what_comes_in_and_media() {
    let stages = STAGES.to_owned() + RECEIVE;
    each_is_refused_for_its_reason(
        &of_two(&HOST.replace(NULL, &stages)),
        include_str!("uncovered/both-ways.txt"),
    );
}

#[test]
fn a_host_of_two_cores() {
    let cores = HOST.replace("speedup = 10\n", "speedup = 10\ncores = 2\n");
    each_is_refused_for_its_reason(&of_two(&cores), include_str!("uncovered/cores.txt"));
}

#[test]
fn what_comes_in_at_interfaces() {
    each_is_refused_for_its_reason(RECEIVING, include_str!("uncovered/receiving.txt"));
}

/// Near misses that are covered: each case is an edit.
fn each_is_covered(text: &str, cases: &str) {
    for case in cases.trim_end().split("\n\n") {
        let edited = edited(text, &case.lines().collect::<Vec<_>>());
        assert_eq!(refused(&edited), None, "{edited}");
    }
}

/// A host that receives works ahead of its time behind one that sends; as many channels as levels
/// are the same to the tables of two links.
#[test]
fn two_hosts_that_are_covered() {
    each_is_covered(&of_two(HOST), include_str!("uncovered/but-path.txt"));
}

/// A deadline of 30 ms and a horizon of 1 are tolerated by 31; the receive side of a sender's
/// adapter does not affect channels that start there.
#[test]
fn adapters_of_stages_that_are_covered() {
    each_is_covered(&of_two(&HOST.replace(NULL, STAGES)), include_str!("uncovered/but-adapter.txt"));
}

/// Best effort at an interface of its own shares no queue with real time.
#[test]
fn interfaces_that_are_covered() {
    each_is_covered(RECEIVING, include_str!("uncovered/but-receiving.txt"));
}

/// No file has a null adapter at a medium that stations share. An experiment made otherwise is
/// refused all the same, for any channel that is sent there, by any link and host of its path.
#[test]
fn a_null_adapter_at_a_shared_medium() {
    const TWO: &str = "[node.c]\n[node.a]\nadapter = { left = {}, right = {} }\n";
    let share = |experiment: &mut Experiment, name: &str, medium: &MediumSpec| {
        let members = (0..experiment.nodes.len()).collect();
        let mut networks = experiment.networks.iter_mut();
        let network = networks.find(|network| network.name.as_deref() == Some(name)).expect("it is there");
        (network.medium, network.members) = (medium.clone(), members);
    };
    let media =
        ["csma\"\nrate = \"10 Mbit/s", "token_ring\"\nrotation = \"2 ms\"\nholding = \"800 us"].map(|kind| {
            let text = of_two(&HOST.replace(NULL, STAGES))
                .replace("wire]\n", &format!("wire]\nkind = \"{kind}\"\n"));
            of_text(&text).networks[0].medium.clone()
        });
    let one = of_two(HOST);
    let flooded = "name = \"flood\"\nfrom = \"a\"\nto = \"b\"\nclass = \"best_effort\"\nmax_message = \"16 KiB\"\nburst = 4\nsource = { kind = \"continuous\" }\n";
    assert!(one.ends_with(flooded));
    let handed = one.replace("\"O1\", depth = 2", "\"adapter\"");
    let handed = handed.replace(&format!("[[channel]]\n{flooded}"), "");
    let three = |joins: &str| one.replace("joins = [\"a\", \"b\"]\n", joins);
    let behind = three("joins = [\"a\", \"b\"]\n[node.c]\n[network.other]\njoins = [\"b\", \"c\"]\n")
        .replacen("from = \"a\"\nto = \"b\"", "route = [\"a\", \"b\", \"c\"]", 1);
    let several = three("joins = [\"a.left\", \"b\"]\n[network.other]\njoins = [\"a.right\", \"c\"]\n")
        .replace("[node.a]\n", TWO)
        .replace("from = \"a\"\nto = \"b\"\nclass = \"best", "from = \"a\"\nto = \"c\"\nclass = \"best");
    let shared = "no analysis covers a medium that stations share";
    for (text, network) in
        [(&one, "wire"), (&handed, "wire"), (&behind, "other"), (&several, "wire"), (&several, "other")]
    {
        let mut experiment = of_text(text);
        assert_eq!(why(&experiment), None, "{text}");
        for medium in &media {
            assert_ne!(*medium, MediumSpec::PointToPoint);
            share(&mut experiment, network, medium);
            assert_eq!(why(&experiment), Some(shared), "{network} {medium:?}");
        }
    }
    // No channel is sent there.
    let mut experiment = of_text(&several.replace("to = \"c\"", "to = \"b\""));
    share(&mut experiment, "other", &media[0]);
    assert_eq!(why(&experiment), None);
}

/// A host at its own pace, or a kernel's, takes other times than its profile has.
#[test]
fn a_host_that_is_not_modelled() {
    let mut experiment = of_text(HOST);
    let own = "the profile has no times of a host at its own pace";
    let kernel = "the profile has no times of a real kernel";
    for (host, pace, expected) in [
        (HostPlace::Model, Pace::Native, None),
        (HostPlace::Thread, Pace::Profile, None),
        (HostPlace::Thread, Pace::Native, Some(own)),
        (HostPlace::Kernel, Pace::Profile, Some(kernel)),
    ] {
        (experiment.emulation.host, experiment.emulation.pace) = (host, pace);
        assert_eq!(why(&experiment), expected, "{host:?} {pace:?}");
    }
}

/// The papers' formulas are of a host with one adapter that is a delay, with the CPU to itself,
/// under O1 or O2.
#[test]
fn what_the_papers_have_no_formula_for() {
    let papers =
        |text: &str| promise::promises(&of_text(text), Formula::Papers).err().map(|why| why.sentence());
    let alone = HOST.replace("depth = 2", "depth = 1");
    assert_eq!(papers(&alone), None);
    assert_eq!(papers(&alone.replace("O1", "O2")), None);
    let several = of_two(&alone)
        .replace("[node.a]\n", "[node.c]\n[node.a]\nadapter = { left = {}, right = {} }\n")
        .replace(
            "joins = [\"a\", \"b\"]",
            "joins = [\"a.left\", \"b\"]\n[network.other]\njoins = [\"a.right\", \"c\"]",
        );
    for (text, expected) in [
        (alone.replace("O1", "O3"), "the papers have no formula for link scheduling by O3"),
        (alone.replace(NULL, STAGES), "the papers' adapter is a delay and has no stages"),
        (
            alone.replace("[adapter]", "[host.compute.video]\nslice = \"1 ms\"\n[adapter]"),
            "the papers' handlers have the CPU to themselves",
        ),
        (several, "the papers' host has one adapter"),
    ] {
        assert_eq!(refused(&text), None, "{text}");
        assert_eq!(papers(&text), Some(expected), "{text}");
    }
}
