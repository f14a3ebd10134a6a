//! The search as a whole: against worst cases calculated by hand, and against itself.

use std::fs;

use laxity_scenario::{PointIndex, Scenario};
use laxity_units::{Bytes, Time};

use super::*;
use crate::scratch::Scratch;

/// A host with round numbers for every step, and two channels.
///
/// A packet takes 100 us to make and 10 us to hand to the link; a switch takes 20 us, an interrupt
/// no time. Blocks are two packets. `high` stands above `low`, because below it its deadline could
/// not be met.
const HOST: &str = r#"
title = "By hand"

[host]
profile = "mc68040"

[host.costs]
context_switch = "20 us"
cache_miss = "0 us"
first_packet = "100 us"
packet = "100 us"
link_scheduling = "10 us"
interrupt = "0 us"

[adapter]
kind = "null"
startup = "STARTUP"
per_byte = "0 ns"

[run]
time = "50 ms"

[[channel]]
name = "high"
class = "real_time"
max_message = "1 kB"
burst = 1
min_interval = "5 ms"
deadline = "700 us"
source = { kind = "periodic", phase = "1 ms" }

[[channel]]
name = "low"
class = "real_time"
max_message = "4 kB"
burst = 2
min_interval = "10 ms"
deadline = "10 ms"
source = { kind = "periodic", phase = "3 ms" }
"#;

const O1: &str = r#"
[host.subsystem]
packet = "1 kB"
preemption = 2
cpu = "fixed_priority"
link = { paradigm = "O1", order = "fixed_priority" }
"#;

const IDEAL: &str = r#"
[host.subsystem]
packet = "1 kB"
resources = "ideal"
"#;

fn text(subsystem: &str, startup: &str) -> String {
    HOST.replace("STARTUP", startup).replace("\n[adapter]", &format!("{subsystem}\n[adapter]"))
}

fn scenario(text: &str) -> Scenario {
    crate::from_text("by-hand.toml", text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn only(text: &str) -> Experiment {
    scenario(text).experiment(&PointIndex::default())
}

fn options(steps: u64) -> AttackOptions {
    AttackOptions { steps, seed: 1, threads: None, channel: None, events: u64::MAX }
}

fn search(experiment: &Experiment, options: &AttackOptions) -> Vec<Found> {
    attack(std::slice::from_ref(experiment), options, TimeLimit::NONE, &mut |_| ()).unwrap()
}

/// The worst response found is `us` microseconds, except for the picosecond by which two instants
/// must differ to be in order.
fn assert_worst(found: &[Found], name: &str, us: u64) {
    let found = found.iter().find(|found| found.name == name).unwrap();
    let expected = Span::from_us(us);
    let least = expected.saturating_sub(Span::from_ps(2));
    assert!((least..=expected).contains(&found.worst), "{name}: {} and not {expected}", found.worst);
    assert!(!found.exceeds() && found.plain.is_some_and(|plain| plain < found.worst), "{found:?}");
}

/// `high` arrives just after `low` has begun a block: the switch to it and two packets with their
/// starts, 240 us; then its own switch, packet and start, 130 us; and 50 us on the link, which is
/// idle by then. 420 us.
///
/// `low` is interrupted between its blocks: 240 us, 130 us for `high`, 240 us, and 50 us for its
/// last packet. 660 us.
#[test]
fn the_worst_by_hand_under_o1_is_found() {
    let found = search(&only(&text(O1, "50 us")), &options(4000));
    assert_worst(&found, "high", 420);
    assert_worst(&found, "low", 660);
}

/// The link is slower (150 us), so packets of `low` wait for it. While `high` makes its packet a
/// transmission ends and another of `low` begins, at the last moment: 100 us and 10 us stolen. Then
/// the packet waits for 150 us, for 10 us of scheduling, and takes 150 us. 420 us.
///
/// `high` is released just before the first packet of `low` is made, and takes 110 us. With that
/// packet, the link has no packet of `low` to send for 210 us. Then `high` has it for 150 us, and
/// `low` for four times 10 and 150 us. 1000 us.
#[test]
fn the_worst_by_hand_on_ideal_resources_is_found() {
    let found = search(&only(&text(IDEAL, "150 us")), &options(6000));
    assert_worst(&found, "high", 420);
    assert_worst(&found, "low", 1000);
}

#[test]
fn the_same_seed_and_steps_find_the_same_on_any_number_of_threads() {
    let flood = "\n[[channel]]\nname = \"bulk\"\nclass = \"best_effort\"\nmax_message = \"8 kB\"\nburst = 4\n\
                 min_message = \"100 B\"\nsource = { kind = \"continuous\" }\n";
    let extra = flood.replace("bulk", "more");
    let experiment = only(&(text(O1, "50 us") + flood + extra.as_str()));
    let with = |threads, seed| {
        let options = AttackOptions { threads: NonZero::new(threads), seed, ..options(700) };
        search(&experiment, &options)
    };
    let one = with(1, 1);
    assert_eq!(one, with(3, 1));
    assert_eq!(one, with(1, 1));
    assert_ne!(one, with(1, 2), "another seed goes another way");
}

#[test]
fn a_search_stops_when_it_is_told_to_and_attacks_only_what_it_is_told() {
    let experiment = only(&text(O1, "50 us"));
    let one = AttackOptions { channel: Some("low".into()), ..options(100) };
    let over = TimeLimit { limit: Some(Span::from_secs(1)), passed: &|| Span::from_ms(900) };
    let found = attack(std::slice::from_ref(&experiment), &one, over, &mut |_| ()).unwrap();
    assert_eq!(found.iter().map(|found| found.name.as_str()).collect::<Vec<_>>(), ["low"]);
    // A quarter of the time is for runs with its own traffic, so none is finished at nine tenths.
    assert_eq!((found[0].plain, found[0].scene.clone()), (None, None));
    let unknown = AttackOptions { channel: Some("bulk".into()), ..options(100) };
    let refused = attack(std::slice::from_ref(&experiment), &unknown, TimeLimit::NONE, &mut |_| ());
    assert_eq!(refused, Err(Unattacked::Unknown("bulk".into())));
    let off = only(&(text(O1, "50 us") + "\n[admission]\nformula = \"off\"\n"));
    let refused = attack(std::slice::from_ref(&off), &options(100), TimeLimit::NONE, &mut |_| ());
    assert!(matches!(refused, Err(Unattacked::Nothing(_))), "{refused:?}");
}

#[test]
#[should_panic(expected = "leaves the contract")]
fn what_leaves_the_contract_is_not_played() {
    let experiment = only(&text(O1, "50 us"));
    let mut ground = Ground::new(&experiment, &laxity_world::run(&experiment), u64::MAX).unwrap();
    let mut scene = ground.empty(0);
    let twice = [laxity_model::source::Arrival { at: Time::ZERO, size: Bytes::new(1000) }; 2];
    scene.plays[0] = Play::Script(twice.into());
    ground.play(&scene, &|| true);
}

/// No scene ends within three events, so the experiment's own traffic is the worst that is known.
#[test]
fn a_scene_that_does_not_end_is_given_up() {
    let experiment = only(&text(O1, "50 us"));
    let found = search(&experiment, &AttackOptions { events: 3, ..options(30) });
    assert!(found.iter().all(|found| found.scene.is_none() && found.plain == Some(found.worst)), "{found:?}");
}

#[test]
fn points_that_differ_in_seed_and_sources_are_attacked_once() {
    let sweeps = "\n[[sweep]]\nname = \"seed\"\nkey = \"seed\"\nvalues = [1, 2, 3]\n\
                  [[sweep]]\nname = \"deadline\"\nkey = \"channel.low.deadline\"\nvalues = [\"9 ms\", \"10 ms\"]\n\
                  [[sweep]]\nname = \"phase\"\nkey = \"channel.low.source.phase\"\nvalues = [\"1 ms\", \"2 ms\"]\n";
    let groups = alike(&scenario(&(text(O1, "50 us") + sweeps)));
    assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [6, 6]);
}

/// A profile beside the scenario, a sweep, copies, and a rate in place of an interval: all of it
/// must be said again.
#[test]
fn what_is_written_runs_to_the_same_worst() {
    let folder = Scratch::new("attack");
    let profile = fs::read_to_string(format!("{}/../../profiles/mc68040.toml", env!("CARGO_MANIFEST_DIR")));
    fs::write(folder.0.join("mine.toml"), profile.unwrap()).unwrap();
    let sweep = "\n[[sweep]]\nname = \"P\"\nkey = \"host.subsystem.preemption\"\nvalues = [1, 2]\n";
    let bulk = "\n[[channel]]\nname = \"bulk\"\nclass = \"best_effort\"\ncount = 2\nmax_message = \"3 kB\"\nburst = 9\n\
                source = { kind = \"poisson\", rate = \"100 kB/s\" }\n";
    let text = text(O1, "50 us").replace("\"mc68040\"", "\"mine.toml\"").replace(
        "class = \"real_time\"\nmax_message = \"4 kB\"",
        "count = 2\nclass = \"real_time\"\nmax_message = \"4 kB\"",
    );
    fs::write(folder.0.join("mine-too.toml"), text + sweep + bulk).unwrap();
    let scenario = crate::load(&folder.0.join("mine-too.toml")).unwrap();
    let point = scenario.points().nth(1).unwrap();
    let found = search(&scenario.experiment(&point), &options(300));
    assert_eq!(found.len(), 3);
    for found in &found {
        let path = folder.0.join("deeper/still").join(format!("{}.toml", found.name));
        write(&scenario, &point, found, &path, TimeLimit::NONE).unwrap();
        let again = crate::load(&path).unwrap();
        let run = laxity_world::run(&again.experiment(&PointIndex::default()));
        let channel = run.channel(&found.name).unwrap();
        assert_eq!(channel.worst.and_then(Span::from_secs_f64), Some(found.worst));
        assert_eq!(channel.bound.and_then(Span::from_secs_f64), Some(found.bound));
        // An attack may overwrite its own file only.
        write(&scenario, &point, found, &path, TimeLimit::NONE).unwrap();
        let taken = write(&scenario, &point, found, &folder.0.join("mine-too.toml"), TimeLimit::NONE);
        assert!(
            matches!(taken, Err(WriteError::Output(laxity_report::output::OutputError::Refused { .. }))),
            "{taken:?}"
        );
    }
    assert!(crate::load(&folder.0.join("mine-too.toml")).is_ok());

    let record_of = |found: &[Found]| {
        let kept: Vec<_> = found.iter().map(|found| (found.clone(), None)).collect();
        AttackedPoint::new(&scenario, std::slice::from_ref(&point), &kept)
    };
    let mut record = AttackRecord { file_hash: scenario.hash.clone(), ..AttackRecord::default() };
    record.renew(record_of(&found));
    record.renew(record_of(&found[..1]));
    record.write(&folder.0).unwrap();
    assert_eq!(AttackRecord::read(&folder.0, "another file"), None);
    let record = AttackRecord::read(&folder.0, &scenario.hash).unwrap();
    let mut run = laxity_world::run(&scenario.experiment(&point));
    record.tell("P = 1", &mut run);
    assert_eq!(run.channels[0].worst_found, None, "that is another point");
    record.tell(&scenario.describe(&point), &mut run);
    for found in &found {
        let told = run.channel(&found.name).unwrap().worst_found;
        assert_eq!(told.and_then(Span::from_secs_f64), Some(found.worst));
    }
}

/// Unlimited best effort without back-pressure would send for ever at one instant.
#[test]
fn a_flood_that_nothing_slows_down_comes_at_intervals() {
    let other = |name: &str, overflow: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"best_effort\"\nmax_message = \"1 kB\"\nburst = 1\n\
             packet_overflow = \"{overflow}\"\nsource = {{ kind = \"periodic\", interval = \"5 ms\" }}\n"
        )
    };
    let channels = [text(O1, "50 us"), other("waits", "block"), other("decays", "decay")];
    let experiment = only(&channels.concat());
    let ground = Ground::new(&experiment, &laxity_world::run(&experiment), u64::MAX).unwrap();
    let (size, length) = (Bytes::new(1000), Span::from_ms(40));
    assert_eq!(ground.flood(2, size, length), Play::Flood(size));
    assert_eq!(ground.flood(3, size, length), Play::Stream(size, Span::from_us(10)));
}
