//! Requests beside the deadline: what admission makes of them, and errors at their lines.

use laxity_world::promise::{self, Promise};

use super::*;

/// A host alone, with a channel that accepts late messages.
const FILM: &str = r#"
title = "a film"
[host]
profile = "mc68040"
applications = "separate"
[adapter]
kind = "null"
startup = "40 us"
per_byte = "50 ns"
[admission]
test = "demand"
[run]
time = "1 s"
[[channel]]
name = "film"
class = "real_time"
count = 60
max_message = "40 KiB"
burst = 1
min_interval = "200 ms"
deadline = "200 ms"
late = 0.01
mean_message = "10 KiB"
source = { kind = "periodic", size = { uniform = ["1 B", "40 KiB"] } }
"#;

fn promises(text: &str) -> Vec<Promise> {
    let scenario = right(text);
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    promise::of_channels(&experiment, experiment.admission.formula)
}

#[track_caller]
fn error(text: &str, at: &str, says: &str) {
    let shown = match read(text) {
        Ok(_) => panic!("it is right"),
        Err(errors) => errors.to_string(),
    };
    assert!(shown.contains(says) && shown.contains(at), "{shown}");
}

fn admitted(promises: &[Promise]) -> usize {
    promises.iter().filter(|promise| !promise.is_refused()).count()
}

#[test]
fn more_channels_are_admitted_that_accept_more() {
    let of = |late: &str| admitted(&promises(&FILM.replace("late = 0.01", late)));
    let (none, few, some) = (of("late = 0"), of("late = 0.000001"), of("late = 0.1"));
    assert!(none < few && few < some && some <= 60, "{none}, {few}, {some}");
    let by_demand = FILM.replace("late = 0.01\nmean_message = \"10 KiB\"\n", "");
    assert_eq!(admitted(&promises(&by_demand)), none);
    let fixed = FILM.replace("late = 0.01", "late = 0.1").replace("\"10 KiB\"", "\"40 KiB\"");
    assert_eq!(admitted(&promises(&fixed)), none);
    for promise in promises(FILM) {
        match promise {
            Promise::Likely(share) => assert!(share <= 0.01, "{share}"),
            Promise::Unkept(why) => assert!(why.contains("may be late"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_fill_counts_them() {
    let fill = FILM.replace("test = \"demand\"", "test = \"demand\"\nfill = \"film\"");
    let text = fill.replace("count = 60\n", "");
    let scenario = right(&text);
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    let filled = promise::fill(&experiment, 0, laxity_admission::Formula::Corrected, 1000).unwrap();
    let many = FILM.replace("count = 60", "count = 200");
    assert_eq!(filled.admitted, admitted(&promises(&many)) as u64);
}

#[test]
fn a_jitter_is_a_shorter_deadline_and_a_loss_is_added_up() {
    let with = |more: &str| {
        let text = RIGHT.replacen("deadline = \"", &format!("{more}\ndeadline = \""), 1);
        promises(&text).remove(0)
    };
    let bound = with("").end_to_end_bound().expect("it is admitted");
    let wide = format!("jitter = \"{} us\"", bound.as_ps() / 1_000_000 + 1);
    assert!(with(&wide).end_to_end_bound().is_some());
    assert!(with("jitter = \"1 us\"").is_refused());
    assert!(!with("loss = 0").is_refused());
    let lossy = RIGHT.replacen("deadline = \"", "loss = 0.001\ndeadline = \"", 1);
    let lossy = format!("{lossy}\n[network]\nimpairments = {{ loss = 0.01 }}\n[path]\nreceive = true\n");
    if let Ok(scenario) = read(&lossy) {
        let experiment = scenario.experiment(&scenario.points().next().unwrap());
        let promises = promise::of_channels(&experiment, experiment.admission.formula);
        assert!(matches!(&promises[0], Promise::Unkept(why) if why.contains("networks may lose")));
    }
}

#[test]
fn requests_without_a_meaning_are_errors_at_their_lines() {
    let demand = FILM.replace("test = \"demand\"", "test = \"d_order\"");
    error(&demand, "late = 0.01", "the chance of a late message is analysed beside the demand");
    let alone = FILM.replace("late = 0.01\n", "");
    error(&alone, "mean_message", "without `late` the largest messages are reserved for");
    let large = FILM.replace("\"10 KiB\"", "\"41 KiB\"");
    error(&large, "mean_message", "is larger than the largest");
    let other = r#"
[[channel]]
name = "call"
class = "real_time"
max_message = "1 KiB"
burst = 1
min_interval = "20 ms"
deadline = "20 ms"
source = { kind = "periodic" }
"#;
    error(&format!("{FILM}{other}"), "late = 0.01", "channel `call` beside it accepts no late message");
    let best_effort = FILM.replace("class = \"real_time\"", "class = \"best_effort\"");
    let best_effort =
        best_effort.replace("min_interval = \"200 ms\"\ndeadline = \"200 ms\"\n", "jitter = \"1 ms\"\n");
    error(&best_effort, "jitter", "best effort is promised nothing");
    error(&FILM.replace("late = 0.01", "late = 2"), "late = 2", "a number from 0 to 1");
    let tagged = FILM.replace("late = 0.01", "late = 0.01\nimportance = [3]");
    error(&tagged, "importance", "only interfaces discard by importance");
}
