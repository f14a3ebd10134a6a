//! No change that can only help lengthens a bound or refuses an admitted channel: pairs of drawn
//! scenarios.
//!
//! `docs/design/laws.md` has the laws, why they hold, and the exceptions by name.
//! `cargo xtask soak --laws` goes on with others for as long as requested. Only admission is
//! tested; runs last an instant.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use laxity_admission::Formula;
use laxity_lab::dominance::{Breach, Law, PairJudgement, changes, judge, settled, shrunk};
use laxity_lab::property::drawn;
use laxity_scenario::draw::scenario;
use laxity_units::Span;
use laxity_world::promise::{Promise, promises};

/// Pairs that are judged, at least.
const PAIRS: u64 = 500;
/// Scenarios that are drawn for them.
const CASES: u64 = 1750;
/// Pairs of one scenario, beside the laws that need no change.
const OF_ONE: usize = 30;
const SEED: u64 = 8;
/// Attempts at making a pair smaller that breaks a law.
const TRIES: u32 = 200;

/// The number of pairs judged, by law and judgement, and the breaches by their scenarios.
type Judged = (BTreeMap<(Law, &'static str), u64>, Vec<(u64, Breach)>);

fn all() -> Judged {
    let (next, sum) = (AtomicU64::new(0), Mutex::new((BTreeMap::new(), Vec::new())));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= CASES {
                return;
            }
            let Some(text) = settled(&scenario(SEED, number).file.text()) else { continue };
            for (law, judgement) in judge(&text, &Law::ALL, OF_ONE) {
                let mut sum = sum.lock().unwrap();
                let word = match judgement {
                    PairJudgement::Kept(0) => "without a bound",
                    PairJudgement::Kept(_) => "kept",
                    PairJudgement::Unjudged(why) => why,
                    PairJudgement::Broken(breach) => {
                        sum.1.push((number, breach));
                        "broken"
                    }
                };
                *sum.0.entry((law, word)).or_default() += 1;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    sum.into_inner().unwrap()
}

#[test]
fn what_can_only_help_harms_no_channel() {
    let (counts, broken) = all();
    let mut told = String::new();
    for (number, breach) in broken.iter().take(3) {
        told += &format!("scenario {number} of seed {SEED}: {breach}\n");
        if let Some(small) = shrunk(&scenario(SEED, *number).file, breach, TRIES) {
            told += &format!("{}\n{}\nand changed:\n{}\n", small.breach, small.before, small.after);
        }
    }
    assert!(broken.is_empty(), "{} pairs break a law\n{told}", broken.len());
    let kept = |wanted: &dyn Fn(Law) -> bool| -> u64 {
        counts.iter().filter(|((law, word), _)| *word == "kept" && wanted(*law)).map(|(_, count)| count).sum()
    };
    let pairs = kept(&|law| !matches!(law, Law::Twice | Law::Run));
    assert!(pairs >= PAIRS, "{pairs} pairs: {counts:#?}");
    for law in Law::ALL {
        assert!(kept(&|other| other == law) > 5, "{law:?}: {counts:#?}");
    }
}

/// Each file broke a law by one of its changes.
#[test]
fn what_broke_a_law_keeps_it() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/laws")).unwrap();
    let mut judged = 0;
    for file in files {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for (law, judgement) in judge(&text, &Law::ALL, usize::MAX) {
            if let PairJudgement::Broken(breach) = judgement {
                panic!("{}: {breach}", path.display());
            }
            judged += usize::from(matches!(judgement, PairJudgement::Kept(1..)) && law != Law::Twice);
        }
    }
    assert!(judged > 50, "{judged}");
}

/// The bounds of the channels of a file, or `None` if one is refused.
fn bounds(text: &str) -> Option<Vec<Span>> {
    let scenario = drawn(text).unwrap_or_else(|error| panic!("{error}"));
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    let all = promises(&experiment, Formula::Corrected).unwrap();
    all.channels.iter().map(Promise::end_to_end_bound).collect()
}

/// A host that relays or receives over a switch, with an interrupt for each frame.
///
/// Its channel was admitted at 300 times the profile's speed, refused at 350, and admitted at 600.
/// The refusal counted arrivals by the rate of the link, and completions left too little of the CPU
/// for that.
fn loops(speed: u32, deadlines: &str, ends: bool) -> String {
    let route = if ends { r#"["ctl", "sw", "plc"]"# } else { r#"["ctl", "sw", "plc", "sw", "ctl"]"# };
    let count = if ends { "count = 4\n" } else { "" };
    format!(
        r#"
title = "loops"
[host]
profile = "mc68040"
speedup = 100.0
costs = {{ interrupt = "600 us" }}
subsystem = {{ packet = "1500 B", preemption = 2, link = {{ paradigm = "O1" }} }}
[adapter]
kind = "null"
[node.ctl]
[node.plc]
host = {{ speedup = {speed} }}
[node.sw]
kind = "switch"
[network]
rate = "1 Gbit/s"
framing = "ethernet"
[network.edge]
joins = ["sw", "ctl", "plc"]
{deadlines}
[[channel]]
name = "loop"
class = "real_time"
route = {route}
{count}max_message = "200 B"
burst = 1
min_interval = "2 ms"
deadline = "10 ms"
source = {{ kind = "periodic" }}
[run]
time = "1 s"
"#
    )
}

#[test]
fn a_faster_host_is_not_refused_at_any_speed() {
    for deadlines in ["", "[admission]\ntest = \"demand\""] {
        for ends in [false, true] {
            let mut before: Option<Vec<Span>> = None;
            for speed in (50..=1000).step_by(25) {
                let text = loops(speed, deadlines, ends);
                let now = bounds(&text).unwrap_or_else(|| panic!("refused at {speed}: {deadlines} {ends}"));
                // A faster relay may fill the queue of its link sooner, which no law excludes.
                if let Some(before) = before.as_ref().filter(|_| ends) {
                    let longer = now.iter().zip(before).any(|(now, before)| now > before);
                    assert!(!longer, "{speed}: {before:?} {now:?}");
                }
                before = Some(now);
            }
        }
    }
}

/// A host that hears of completions each millisecond was charged for completions as close as its
/// adapter is fast, which took all of its CPU: 8 us apart, 190 us each.
#[test]
fn polls_keep_completions_apart() {
    let text = |speed: f64, slots: u32| {
        format!(
            r#"
title = "three stages"
[host]
profile = "mc68040"
speedup = {speed:?}
costs = {{ interrupt = "100 us" }}
subsystem = {{ packet = "1500 B", link = {{ paradigm = "O1" }} }}
[adapter]
kind = "generic"
notification = "1 ms"
transmit = [
  {{ name = "a", phase = [{{ kind = "work", fixed = "1 us" }}] }},
  {{ name = "b", phase = [{{ kind = "work", fixed = "5 us" }}] }},
  {{ name = "c", phase = [{{ fixed = "2 us", per_byte = "8 ns", medium = true }}] }},
]
[run]
time = "1 s"
[[channel]]
name = "x"
class = "real_time"
max_message = "1500 B"
burst = 1
min_interval = "40 ms"
deadline = "40 ms"
packet_slots = {slots}
source = {{ kind = "periodic" }}
"#
        )
    };
    let with = |speed, slots| bounds(&text(speed, slots)).expect("one packet in 40 ms is admitted")[0];
    let of = |speed| with(speed, 2);
    // A switch 145, a block 420, two starts of 160, a packet with the adapter 20 + 1000 and its
    // interrupt 100, the crossing packet 420 + 145, and the message itself, 1020 + 260: 3850 us. A
    // poll takes 100 each millisecond and once more, and its completion 260: 3850 + 100 + 7 · 360.
    // In a run the message takes 0.6 ms.
    assert_eq!(of(1.0), Span::from_us(6470));
    assert!(of(2.0) < of(1.0) && of(4.0) < of(2.0));
    // With one buffer fewer are counted by packets: one that waits, three made in a block at 170 each,
    // one with the adapter and two in progress, 260 each. That is 145 + 420 + 7 · 260 + 1020 + 100, 825 for
    // the crossing packet, 1280, and eight polls of 100.
    assert_eq!(with(1.0, 1), Span::from_us(6410));
}

/// Each change is one line of the file, and changes only the value that it names.
#[test]
fn each_law_has_changes_and_each_is_valid() {
    let text = loops(100, "", true);
    let experiment = |text: &str| {
        let scenario = drawn(text).unwrap_or_else(|error| panic!("{error}"));
        scenario.experiment(&scenario.points().next().unwrap())
    };
    let before = experiment(&text);
    let all = changes(&text, &before);
    for law in [Law::Removal, Law::Size, Law::Rate, Law::Receiver, Law::Link] {
        assert!(all.iter().any(|change| change.law == law), "{law:?}");
    }
    for change in &all {
        let after = experiment(&change.text);
        match change.law {
            Law::Removal => assert_eq!(after.channels.len(), 3),
            Law::Size => assert_eq!(after.channels[0].spec.max_message.get(), 100),
            Law::Rate => assert!(after.channels[0].spec.min_interval > before.channels[0].spec.min_interval),
            Law::Receiver => assert!(after.host(1).speedup > 100.0 && after.host(0).speedup == 100.0),
            _ => {}
        }
    }
}

/// A removal moves the channels behind it to other cores, unless the file says the core of each.
#[test]
fn a_removal_is_judged_if_it_moves_no_channel_to_another_core() {
    let text = |cores: [&str; 2]| {
        let channel = |name: &str, core: &str| {
            format!(
                r#"
[[channel]]
name = "{name}"
class = "real_time"
max_message = "1000 B"
burst = 1
min_interval = "28 ms"
deadline = "28 ms"
source = {{ kind = "periodic" }}
{core}
"#
            )
        };
        let [first, second] = cores;
        format!(
            r#"
title = "two cores"
[host]
profile = "mc68040"
cores = 2
speedup = 20.0
[adapter]
kind = "null"
per_byte = "300 ns"
[run]
time = "1 ps"
{}{}"#,
            channel("first", first),
            channel("second", second)
        )
    };
    let judged = |text: &str| -> Vec<bool> {
        let all = judge(text, &[Law::Removal], usize::MAX);
        all.into_iter().map(|(_, judgement)| matches!(judgement, PairJudgement::Kept(1..))).collect()
    };
    assert_eq!(judged(&text(["", ""])), [false, true]);
    assert_eq!(judged(&text(["core = 0", "core = 1"])), [true, true]);
}
