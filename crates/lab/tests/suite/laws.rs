//! No change that can only help lengthens a bound or refuses an admitted channel: pairs of drawn
//! scenarios.
//!
//! `cargo xtask soak --laws` goes on with others for as long as requested. Only admission is
//! tested; runs last an instant.
//!
//! # The laws, and why they hold
//!
//! All guaranteed channels of the first scenario of a pair are admitted. The second differs in one
//! value. The law: each of these channels is admitted in the second as well, and no bound of
//! another channel is longer.
//!
//! * *A channel is removed; its burst, its largest message or its rate is lowered.* All that the
//!   channels may send in the second scenario they may send in the first one, too. Every analysis
//!   takes maxima and sums over channels that do not fall when a channel is added or its contract
//!   grows.
//! * *A deadline is lengthened.* Under the demand test less is due by each instant.
//! * *A host that only receives is faster.* An analysis takes the cost of a packet as an upper
//!   bound, and no packet leaves the host that could disturb another one.
//! * *A link or a switch is faster.* A port waits for frames in progress and for its own, and both
//!   are shorter.
//! * *Admission is repeated* with the same result, and *the results of a run* have the bounds that
//!   admission promises.
//!
//! Where several analyses compete, the smallest bound holds (`laxity_world::promise`,
//! `analyses.rs`). If none of them grows, the smallest does not grow either. A choice between them
//! by the wrong figure breaks these laws: a host that was 350 times as fast as its profile was
//! refused a bound that it was promised at 300 times.
//!
//! # The anomalies, by name
//!
//! A law does not apply to these pairs, and the soak counts them with their reason:
//!
//! * *A newcomer overtakes others.* `D_order` gives a newcomer the highest priority that those
//!   below tolerate. A newcomer with a lower cost, or above channels that tolerate more, may so
//!   precede a channel, or a budget, that it followed before. That channel then takes longer, within
//!   its deadline. With three channels, this uses slack that might have admitted a fourth one. A
//!   channel that passes a station twice is a newcomer to itself. The table that promised may so
//!   refuse a channel, and another table promises the others. Where there are too few levels, a
//!   change also moves which channels share one. The law that holds: with the channels of each
//!   station in the same order and levels no bound is longer.
//! * *A promise that reaches further.* Where no analysis covers the receiver, a deadline is that of
//!   the last transmission. A removal may let an analysis cover it, and the same deadline then has
//!   to be enough for the delivery, too.
//! * *Other deadlines at the stations of a path.* If a deadline is divided, the per-hop deadline of
//!   a station depends on the bounds of the other stations. A message may be early behind a station
//!   by as much as its deadline there. A longer interval also allows longer deadlines at a station, so
//!   a channel with a lower rate may be refused itself. The law that holds: with the same
//!   deadlines at each station no bound is longer.
//! * *Shorter frames.* A message of one frame that is half as large brings completions and
//!   interrupts closer to each other. The law that holds: where the smallest packet is no smaller.
//! * *A jitter of smaller messages.* A requested jitter counts from the shortest delay, which a smaller
//!   smallest message lowers. The channel is then due sooner, and takes time from others.
//! * *Best effort without an end* sends shorter messages the faster, and each takes an adapter of
//!   virtual interfaces about as long.
//! * *Shorter bursts or messages of a source* wake its application more often, if its rate stays.
//!   Enforcement limits the messages, and not the time that a shared CPU has for its application.
//! * *A source beyond the changed contract.* A source that kept its contract has no more than a burst ahead.
//!   With a lower rate or burst it exceeds the contract, and any number of its messages may be ahead.
//! * *Buffers for messages in transit.* With a longer deadline more messages of the channel are in
//!   transit, and each has a buffer. More of its packets may be with the adapter.
//! * *A shorter deadline than the requested one.* A channel that is refused its deadline may be promised a
//!   shorter one, and precedes channels that it followed with the other. The law that holds: with the
//!   same deadlines promised so no bound is longer.
//! * *Fewer packets than a window.* With fewer buffers than the window is deep, the adapter's stages
//!   are filled less, and a window of that depth is analysed. The bound may be longer, and with it the
//!   channel refused.
//! * *Policing by bursts.* A shorter burst or a longer deadline may be more than an adapter's
//!   policing tolerates, and no channel of its host then has a bound.
//! * *A CPU before a link.* A message with a longer deadline waits longer at its core, or at the CPU before
//!   the shapers of an adapter. It meets other messages at the link later, more of them at a time.
//! * *Turns in proportion to rates.* The channel with the lowest rate has a packet in each round of
//!   deficit round robin. With a lower rate the rounds, and all quanta, are longer.
//! * *A lower rate is a lower share.* Where links are scheduled by rates, a channel is served by
//!   its own rate; its own bound is longer if the rate is lowered, and another channel may be
//!   refused because that bound could not be kept beside it.
//! * *More messages under way.* With a longer deadline more messages of a channel may be under way. At
//!   a link by rates they wait for it together, and others behind them.
//! * *A slower link keeps floods apart.* Completions at a sender, and interrupts at a receiver, are
//!   as far apart as the transmission time of the link. A faster link may take the CPU of a host
//!   from a message. The law that holds: at ports together, and where neither takes time. A station
//!   that keeps a requested deadline keeps the same one with any link.
//! * *FIFO queues.* A frame that leaves one queue sooner may meet others at the next. A linear
//!   program gives the bounds, and is solved to a few digits. `laxity_curves` has a property of its own.
//! * *Another core.* A channel without a `core` goes to the next core in turn. A removal moves the
//!   channels behind it, for example to the core that also has the interrupts. The law that holds:
//!   with each channel on the same core no bound is longer.
//! * *Another table has the bounds.* The table with the least sum of bounds gives the order of the
//!   channels of a station by EDF. Tables with the same order and the same `W` and `S` give each
//!   channel the least of their bounds. Where tables differ in more, another table may take over
//!   and lengthen a single bound, within its deadline. The law that holds: each channel stays
//!   admitted, and with bounds from the same tables none is longer.
//! * *A virtual interface beyond its contract.* A source that keeps to its size exceeds a contract for
//!   smaller messages, and its bound is that of what it sends.
//! * *A renegotiated rate* stays in bytes, so smaller messages are more of them.
//! * *A more expensive program slows a flood.* Each packet that a program finishes lets a spare one
//!   be taken at a guaranteed interface. So a faster host may lengthen a bound there.
//! * *A faster host that sends* may fill the queue of its adapter or the network behind it. No pair
//!   makes a sending host faster.

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
