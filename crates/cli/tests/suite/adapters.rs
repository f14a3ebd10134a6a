//! `laxity emulate` of a scenario with `[via]`: what it writes when programs of their own used its
//! adapters. Order and account are asserted, never milliseconds.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Output};
use std::time::Duration;

use crate::common::Here;
use laxity_vi::{Address, Descriptor, Nic, Vi, ViAttributes};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));
/// Messages that are sent one way.
const MESSAGES: u64 = 20;

const SCENARIO: &str = r#"
title = "Two programs"
[via]
firmware = "qosvia"
[admission]
formula = "off"
[run]
packets = 40
[[channel]]
name = "there"
class = "best_effort"
from = 0
to = 1
max_message = "1 KiB"
burst = 1
playout = "5 ms"
source = { kind = "rounds", after = "back" }
[[channel]]
name = "back"
class = "best_effort"
from = 1
to = 0
max_message = "1 KiB"
burst = 1
source = { kind = "rounds", after = "there" }
"#;

/// A claim about adapters, which is measured if a program sends.
const OF_ADAPTERS: &str = r#"
[[claim]]
id = "in-order"
says = "Data is down after its descriptor"
holds = 'runs.all(|r| r.figures.send_data_down_time > r.figures.send_descriptor_down_time)'
shows = '"it is not"'
stalls = "accounted"
"#;

/// A claim about a channel of the file, which is measured if a program is it.
const OF_A_CHANNEL: &str = r#"
[[claim]]
id = "received"
says = "Messages come"
holds = 'runs.all(|r| r.channel("there").delivered > 0)'
shows = '"they do not"'
stalls = "accounted"
"#;

/// Adapters that are served until a signal.
struct Serving(Option<Child>);

impl Serving {
    fn begin(here: &Here) -> Self {
        let mut child =
            here.command("emulate two.toml --adapters . --for 600s --log run.log").spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.as_mut().expect("it is piped")).lines();
        assert!(
            lines.any(|line| line.is_ok_and(|line| line.contains("adapter 1 is open"))),
            "it ended first"
        );
        Self(Some(child))
    }

    fn stop(mut self) -> Output {
        let child = self.0.take().expect("it stops once");
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        child.wait_with_output().unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A virtual interface with room for a message, and the memory that it sends from.
fn opened(nic: &Nic) -> (laxity_vi::Region, Vi) {
    let tag = nic.create_tag().unwrap();
    let memory = nic.register(8192, tag, Default::default()).unwrap();
    let mut vi = nic.create_vi(&ViAttributes::new(tag)).unwrap();
    for _ in 0..MESSAGES {
        vi.post_receive(&Descriptor::receive(&[memory.segment(4096..8192)])).unwrap();
    }
    (memory, vi)
}

/// Sends messages from adapter 0 to adapter 1, one after the other.
fn send(directory: &Path) {
    let [here, there] = [0, 1].map(|node| Nic::open(directory.join(node.to_string())).unwrap());
    let ((memory, mut sender), (_room, mut receiver)) = (opened(&here), opened(&there));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let arrived = there.wait_connection(1, PATIENCE).unwrap();
            there.accept(arrived, &receiver).unwrap();
        });
        sender.connect(Address { host: 1, discriminator: 1 }, PATIENCE).unwrap();
    });
    for _ in 0..MESSAGES {
        sender.post_send(&Descriptor::send(&[memory.segment(0..1024)])).unwrap();
        assert!(sender.wait_send(PATIENCE).unwrap().status.is_done());
        assert_eq!(receiver.wait_receive(PATIENCE).unwrap().length, 1024);
    }
}

#[test]
fn what_programs_did_is_written_beside_what_was_simulated() {
    let here = Here::new("adapters");
    here.write("two.toml", &format!("{SCENARIO}{OF_ADAPTERS}{OF_A_CHANNEL}"));
    let serving = Serving::begin(&here);
    send(&here.0);
    let output = serving.stop();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let results = here.read("results/two/results.json");
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    let results = &results["results"];
    let run = &results["runs"][0];
    let figure = |name: &str| run["figures"][name].as_f64();
    assert_eq!(results["provenance"]["clock"], "real");
    assert_eq!(figure("messages_sent"), Some(MESSAGES as f64), "{told}");
    assert_eq!(figure("messages_received"), Some(MESSAGES as f64));
    assert_eq!(figure("messages_lost"), Some(0.0));
    // Each step is there as it was and as it is simulated, and none is done before the one before it.
    let steps = ["send_descriptor_programmed_time", "send_descriptor_down_time", "send_data_programmed_time"];
    let measured: Vec<f64> = steps.iter().map(|step| figure(step).expect("it was measured")).collect();
    assert!(measured.is_sorted(), "{measured:?}");
    assert!(steps.iter().all(|step| figure(&format!("simulated_{step}")).is_some()), "{run}");
    assert!(figure("receive_status_done_time@1").is_some() && figure("receive_status_done_time").is_none());
    assert_eq!(run["resources"].as_array().unwrap().len(), 8, "four units at each adapter");
    assert!(run["real_time"]["fitness"]["stalled_share"].is_number());
    // The program called at 1, so it is the first channel, and the other side what answers it.
    let channels = run["channels"].as_array().unwrap();
    let of = |place: usize| (channels[place]["name"].as_str(), channels[place]["delivered"].as_u64());
    assert_eq!([of(0), of(1)], [(Some("there"), Some(MESSAGES)), (Some("back"), Some(0))]);
    assert_eq!(channels[0]["delivery"]["count"].as_u64(), Some(MESSAGES));
    // The file delays deliveries, whatever the program says.
    assert!(channels[0]["delivery"]["min"].as_f64().unwrap() >= 5e-3, "{run}");
    // The claim holds, unless the machine stood still for too much of the time.
    let hopeless = told.contains("NOT JUDGED");
    assert_eq!(output.status.code(), Some(if hopeless { 4 } else { 0 }), "{told}");
    assert!(hopeless || told.contains("2 hold"), "{told}");
    // From the log alone it is the same run again.
    fs::remove_file(here.path("two.toml")).unwrap();
    let again = here.laxity("replay run.log --out again");
    assert_eq!(again.status.code(), output.status.code(), "{}", String::from_utf8_lossy(&again.stderr));
    let replayed: serde_json::Value = serde_json::from_str(&here.read("again/results.json")).unwrap();
    assert_eq!(replayed["results"]["provenance"]["clock"], "replayed");
    assert_eq!(&replayed["results"]["runs"], &results["runs"]);
    // A log with a foreign ending is reported: none of it is taken for a run.
    let mut log = fs::read(here.path("run.log")).unwrap();
    let last = log.len() - 3;
    log[last] ^= 1;
    fs::write(here.path("run.log"), log).unwrap();
    let damaged = here.laxity("replay run.log --out other");
    assert_eq!(damaged.status.code(), Some(2), "{}", String::from_utf8_lossy(&damaged.stderr));
    assert!(!here.path("other").exists());
}

#[test]
fn what_was_not_measured_is_not_judged() {
    for (claim, name, says, exit) in [
        (OF_ADAPTERS, "nobody", "NOT JUDGED", 4),
        // No program was it: that there is none is no verdict either.
        (OF_A_CHANNEL, "channel", "no channel `there`", 2),
    ] {
        let here = Here::new(&format!("adapters-{name}"));
        here.write("two.toml", &format!("{SCENARIO}{claim}"));
        let output = Serving::begin(&here).stop();
        let told = [&output.stdout, &output.stderr].map(|told| String::from_utf8_lossy(told).into_owned());
        assert!(told.concat().contains(says), "{told:?}");
        assert_eq!(output.status.code(), Some(exit), "{told:?}");
    }
}

#[test]
fn results_are_not_put_where_something_else_is() {
    let here = Here::new("adapters-slip");
    here.write("two.toml", SCENARIO);
    fs::create_dir(here.path("thesis")).unwrap();
    here.write("thesis/thesis.tex", "years");
    let output = here.laxity("emulate two.toml --adapters . --for 1s --out thesis");
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(here.read("thesis/thesis.tex"), "years");
    assert!(!here.path("0").exists(), "nothing was opened before that was known");
}
