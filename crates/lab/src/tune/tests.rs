use std::collections::BTreeSet;

use laxity_world::results::{Channel, RefusedChannel, Summary};

use super::grid::Grid;
use super::*;

/// Pages of one to six packets of a Poisson source through a polled interface, for the quotas in
/// `values`.
fn scenario(values: &str, tune: &str) -> Scenario {
    let text = format!(
        r#"
title = "a choice"
[host]
profile = "harts-reception"
receive = {{ program = "100 us" }}
[admission]
formula = "off"
[run]
time = "200 ms"
[[interface]]
name = "in"
policy = "timed"
interval = "1 ms"
quota = 1
[[channel]]
name = "packets"
class = "best_effort"
max_message = "1 KiB"
burst = 1
interface = "in"
source = {{ kind = "poisson", rate = "1000 KiB/s" }}
[[sweep]]
name = "load"
key = "channel.packets.source.rate"
values = ["1000 KiB/s", "1500 KiB/s"]
[[sweep]]
name = "I"
key = "interface.in.interval"
values = [{values}]
{tune}
"#
    );
    crate::from_text("test.toml", text).unwrap_or_else(|why| panic!("{}", why.render(false)))
}

const MOST: &str = "[tune]\nover = [\"I\"]\nmost = \"figure:received_per_second\"\n";
const LEFT: &str = "[[tune.need]]\nmetric = \"figure:cpu_left_share\"\nat_least = ";

fn tuned(scenario: &Scenario) -> Tuned {
    tune(scenario, NonZero::new(2), &mut |_| ()).unwrap()
}

#[test]
fn a_small_grid_is_run_as_a_whole_and_the_best_that_keeps_what_is_needed_wins() {
    // A shorter interval takes more of the load, and more of the CPU.
    let values = "\"0.5 ms\", \"1 ms\", \"2 ms\", \"4 ms\"";
    let free = scenario(values, MOST);
    let outcome = tuned(&free);
    assert_eq!((outcome.settings.len(), outcome.total, outcome.circumstances), (4, 4, 2));
    let best = outcome.best().unwrap();
    assert_eq!((best.setting.place.as_slice(), best.fresh.len()), ([0].as_slice(), 3));
    let goals: Vec<f64> = outcome.settings.iter().filter_map(|setting| setting.goal).collect();
    assert!(goals.is_sorted_by(|a, b| a >= b) && goals[0] > goals[3], "{goals:?}");
    // The mean of the loads, and not the least.
    assert!(goals[0] > 1100.0, "{goals:?}");
    let bound = scenario(values, &format!("{MOST}{LEFT}0.5"));
    let outcome = tuned(&bound);
    let best = &outcome.best().unwrap().setting;
    assert!(best.needs[0] >= Some(0.5) && best.place == [1], "{best:?}");
    let least =
        tuned(&scenario(values, &MOST.replace("most", "least"))).best().unwrap().setting.place.clone();
    assert_eq!(least, [3]);
}

#[test]
fn what_nothing_meets_says_how_near_the_nearest_came() {
    let outcome = tuned(&scenario("\"1 ms\", \"2 ms\"", &format!("{MOST}{LEFT}0.999")));
    assert!(outcome.best().is_none() && outcome.trials.is_empty());
    let nearest = &outcome.settings[0];
    assert_eq!(nearest.place, [1]);
    assert!(nearest.shortfall > 0.0 && nearest.shortfall < outcome.settings[1].shortfall, "{outcome:?}");
    let missed = (0.999 - nearest.needs[0].unwrap()) / 0.999;
    assert!((nearest.shortfall - missed).abs() < 1e-12);
}

#[test]
fn what_is_not_measured_is_no_good() {
    let need = "[[tune.need]]\nmetric = \"laxity.min\"\nchannels = [\"packets\"]\nat_least = \"0 ms\"";
    let outcome = tuned(&scenario("\"1 ms\", \"2 ms\"", &format!("{MOST}{need}")));
    assert!(outcome.best().is_none());
    assert!(outcome.settings.iter().all(|s| s.needs == [None] && s.shortfall == f64::INFINITY));
}

#[test]
fn a_large_grid_is_refined_to_the_same_best_and_the_same_each_time() {
    let values: Vec<String> = (1..=40).map(|n| format!("\"{} us\"", n * 100)).collect();
    let all = scenario(&values.join(", "), &format!("{MOST}{LEFT}0.6"));
    let some = scenario(&values.join(", "), &format!("{}exhaustive = 10\n{LEFT}0.6", MOST));
    let (all, some, again) = (tuned(&all), tuned(&some), tuned(&some));
    assert_eq!(all.settings.len(), 40);
    assert!(some.settings.len() < 25, "{} of 40 were run", some.settings.len());
    assert_eq!(some.best().unwrap().setting, all.best().unwrap().setting);
    assert_eq!(some, again);
}

#[test]
fn seeds_that_nobody_has_looked_at_decide() {
    let mean = "[[tune.need]]\nmetric = \"latency.mean\"\nat_most = \"1 s\"";
    let outcome = tuned(&scenario("\"1 ms\"", &format!("{MOST}{mean}")));
    let trial = outcome.best().unwrap();
    let means: BTreeSet<String> = trial.fresh.iter().map(|fresh| format!("{:?}", fresh.needs)).collect();
    assert_eq!(means.len(), 3, "each has a seed of its own: {trial:?}");
    assert!(!means.contains(&format!("{:?}", trial.setting.needs)));
    // One that fails with any of them is not the best.
    let mut failed = trial.clone();
    failed.fresh[2].shortfall = 0.1;
    assert!(!failed.holds());
}

#[test]
fn the_frontier_is_what_nothing_beats_in_all() {
    let values = "\"0.5 ms\", \"1 ms\", \"2 ms\", \"4 ms\"";
    let scenario = scenario(values, &format!("{MOST}{LEFT}0.5"));
    let outcome = tuned(&scenario);
    let goal = scenario.tune.as_ref().unwrap();
    let kept = frontier(goal, &outcome);
    // Each takes more of the CPU than the next and delivers more: none dominates another.
    assert_eq!(kept.len(), 4);
    assert!(kept.is_sorted_by(|a, b| a.needs[0] <= b.needs[0] && a.goal >= b.goal), "{kept:?}");
    let svg = figure(&scenario, &outcome).unwrap();
    assert!(
        svg.contains("best") && svg.contains("falls short") && svg.contains("received per second"),
        "{svg}"
    );
    let mut worse = outcome.clone();
    worse.settings.push(TuneSetting {
        goal: Some(1.0),
        needs: vec![Some(0.0)],
        place: vec![9],
        ..kept[0].clone()
    });
    assert_eq!(frontier(goal, &worse).len(), 4);
}

#[test]
fn a_grid_is_coarse_first_and_comes_down_to_every_neighbour() {
    let grid = Grid::new(&[(10, true), (3, false)]);
    let firsts = |places: Vec<Vec<usize>>| places.iter().map(|place| place[0]).collect::<BTreeSet<_>>();
    assert_eq!((grid.total(), grid.all().len()), (30, 30));
    assert_eq!(firsts(grid.coarse()), BTreeSet::from([0, 4, 8, 9]));
    assert_eq!((grid.coarse().len(), grid.distance()), (12, 2));
    let around: BTreeSet<Vec<usize>> = grid.around(&[9, 1], 2).into_iter().collect();
    let expected = [[7, 1], [9, 0], [9, 1], [9, 2]];
    assert_eq!(around, expected.iter().map(|place| place.to_vec()).collect());
    assert_eq!(Grid::new(&[(1, true)]).coarse(), [[0]]);
    // Of many axes one moves at a time.
    let many = Grid::new(&[(9, true); 5]);
    let around: BTreeSet<Vec<usize>> = many.around(&[4; 5], 1).into_iter().collect();
    assert_eq!(around.len(), 11);
}

#[test]
fn of_several_channels_the_worst_counts_and_of_circumstances_the_mean() {
    let scenario = scenario(
        "\"1 ms\"",
        &format!(
            "{}{}",
            MOST.replace("figure:received_per_second", "throughput"),
            "[[tune.need]]\nmetric = \"dropped_packets\"\nat_most = 4\n[[tune.need]]\nmetric = \"throughput\"\nchannels = [\"packets\"]\nat_least = \"2 B/s\""
        ),
    );
    let goal = scenario.tune.as_ref().unwrap();
    let run = |values: [(f64, u64); 2]| {
        let channel = |name: &str, (throughput, dropped_packets): (f64, u64)| Channel {
            name: name.into(),
            messages: 10,
            throughput,
            dropped_packets,
            ..Channel::default()
        };
        Run { channels: vec![channel("packets", values[0]), channel("others", values[1])], ..Run::default() }
    };
    let of = |runs: &[Run]| setting(goal, &[0], runs);
    let both = of(&[run([(8.0, 1), (3.0, 2)]), run([(5.0, 3), (6.0, 0)])]);
    // The least of each run is 3 and 5; most dropped is 3, and of `packets` the least throughput is 5.
    assert_eq!(
        (both.goal, both.needs.as_slice(), both.shortfall),
        (Some(4.0), [Some(3.0), Some(5.0)].as_slice(), 0.0)
    );
    let short = of(&[run([(1.0, 1), (3.0, 6)])]);
    assert_eq!((short.needs.as_slice(), short.shortfall), ([Some(6.0), Some(1.0)].as_slice(), 0.5));
    let mut refused = run([(8.0, 1), (3.0, 2)]);
    refused.channels[1].refused =
        Some(RefusedChannel { reason: "no room".into(), ..RefusedChannel::default() });
    let refused = of(&[refused]);
    assert!(!refused.is_good() && refused.refused.unwrap().contains("`others` is refused: no room"));
}

/// A channel that carried no messages has no late ones, and the other channels gain. A setting that
/// starves a channel does not meet its need by that, and is not the best.
#[test]
fn who_starves_a_channel_is_not_the_better_for_it() {
    let of = |need: &str, carried: u64, offered: u64| {
        let goal = scenario(
            "\"1 ms\"",
            &format!("{}[[tune.need]]\n{need}", MOST.replace("figure:received_per_second", "throughput")),
        );
        let latency = Summary { count: 3, p99: 0.001, ..Summary::default() };
        let channel = |name: &str, messages: u64, completed: u64| Channel {
            name: name.into(),
            deadline: Some(0.1),
            throughput: 5.0,
            messages,
            completed,
            latency: (completed > 0).then(|| latency.clone()),
            ..Channel::default()
        };
        let channels = vec![channel("packets", offered, carried), channel("others", 5, 5)];
        setting(goal.tune.as_ref().unwrap(), &[0], &[Run { channels, ..Run::default() }]).needs[0]
    };
    let named = |metric: &str| format!("metric = \"{metric}\"\nat_most = 0\nchannels = [\"packets\"]");
    for metric in ["missed_messages", "missed_packets", "late_outside"] {
        assert_eq!(of(&named(metric), 0, 5), None, "{metric}");
        assert_eq!(of(&named(metric), 5, 5), Some(0.0), "{metric}");
    }
    for metric in ["dropped_packets", "dropped_messages", "drops.message_queue", "lost_packets"] {
        assert_eq!(of(&named(metric), 0, 0), None, "{metric}");
        assert_eq!(of(&named(metric), 0, 5), Some(0.0), "{metric}");
    }
    // Of all channels that have the metric the worst counts. A channel that was offered messages
    // but lacks the metric makes it unknown; a channel without offered messages is ignored.
    for (need, value) in [
        ("metric = \"latency.p99\"\nat_most = \"5 ms\"", 0.001),
        ("metric = \"missed_messages\"\nat_most = 0", 0.0),
    ] {
        assert_eq!(of(need, 0, 5), None, "{need}");
        assert_eq!(of(need, 0, 0), Some(value), "{need}");
        assert_eq!(of(need, 5, 5), Some(value), "{need}");
    }
}

#[test]
fn what_cannot_be_tuned_says_why() {
    let real = "[emulation]\nhost = \"thread\"\n[[sweep]]\nname = \"clock\"\nkey = \"run.clock\"\nvalues = [\"virtual\", \"real\"]\n";
    let real = scenario("\"1 ms\"", &format!("{real}{MOST}"));
    let refused = tune(&real, None, &mut |_| ()).unwrap_err();
    assert!(
        matches!(refused, TuneError::RealTime(_)) && refused.to_string().contains("clock = real"),
        "{refused}"
    );
    let none = scenario("\"1 ms\"", "");
    assert!(matches!(tune(&none, None, &mut |_| ()), Err(TuneError::NoGoal)));
}
