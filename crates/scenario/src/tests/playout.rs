//! Virtual interfaces with playout: messages are held at their destination until a fixed time after
//! they were sent.

use laxity_units::Span;
use laxity_world::promise::{self, Connection, Promise};
use laxity_world::results::Run;

use super::*;

/// Two programs that keep their bandwidths, both ways, beside one that knows no end; the first is played out.
const PLAYED: &str = r#"
title = "played out"
[via]
firmware = "qosvia"
doorbells = "apart"
reap = "3 us"
[run]
time = "200 ms"
[[channel]]
name = "film"
class = "real_time"
to = 1
max_message = "1 KiB"
burst = 1
min_interval = "2 ms"
playout = "800 us"
source = { kind = "poisson", phase = "random" }
[[channel]]
name = "other"
class = "real_time"
to = 1
max_message = "1 KiB"
burst = 1
min_interval = "3 ms"
source = { kind = "periodic" }
[[channel]]
name = "flood"
class = "best_effort"
to = 1
max_message = "4 KiB"
burst = 1
source = { kind = "closed", outstanding = 20 }
"#;

const US: f64 = 1e-6;

fn only(text: &str) -> Experiment {
    let scenario = right(text);
    scenario.experiment(&scenario.points().next().unwrap())
}

fn run(text: &str) -> Run {
    laxity_world::run(&only(text))
}

/// Promise of the first channel.
fn promised(text: &str) -> Connection {
    let experiment = only(text);
    match promise::of_channels(&experiment, experiment.admission.formula)[0] {
        Promise::Connected(connection) => connection,
        ref other => panic!("{other:?}"),
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

/// Alone or beside a flood each message takes the playout and its program's 3 us; the bound is the
/// same, and no jitter is left in it.
#[test]
fn nothing_is_left_of_the_way_in_how_long_it_takes() {
    let alone = PLAYED.replace("{ kind = \"closed\", outstanding = 20 }", "{ kind = \"none\" }");
    for text in [PLAYED, &alone] {
        let film = &run(text).channels[0];
        let took = film.delivery.as_ref().unwrap();
        assert!(film.delivered.unwrap() > 50, "{film:?}");
        assert!(near(took.min, 803.0 * US) && near(took.max, 803.0 * US), "{took:?}");
        let Connection { longest, shortest, jitter_fraction } = promised(text);
        assert_eq!((longest, shortest), (Span::from_us(803), Span::from_us(803)));
        assert!(jitter_fraction == 0.0 && near(film.delivery_bound.unwrap(), 803.0 * US));
    }
    // The other is not held, and takes as long as it takes.
    let other = run(PLAYED).channels[1].delivery.clone().unwrap();
    assert!(other.max - other.min > 20.0 * US && other.max < 800.0 * US, "{other:?}");
}

/// A message that took longer than the playout is delivered at once, and in order of arrival: only
/// early messages are held.
#[test]
fn what_comes_after_its_time_is_not_held() {
    let (held, free) = (PLAYED.replace("800 us", "170 us"), PLAYED.replace("playout = \"800 us\"\n", ""));
    let (with, without) = (run(&held), run(&free));
    let (took, would) =
        (with.channels[0].delivery.clone().unwrap(), without.channels[0].delivery.clone().unwrap());
    assert!(would.min < 170.0 * US && would.max > 180.0 * US, "some are before and some behind: {would:?}");
    assert!(near(took.min, 173.0 * US) && near(took.max, would.max), "{took:?} {would:?}");
    assert_eq!(with.channels[0].delivered, without.channels[0].delivered);
    assert_eq!(with.channels[1], without.channels[1], "to nobody else it is anything");
    // By as little as it may take without, and no less than the playout and the program.
    let (held, free) = (promised(&held), promised(&free));
    assert_eq!((held.longest, held.shortest), (free.longest, Span::from_us(173)));
    assert!(free.shortest < held.shortest && held.jitter_fraction < free.jitter_fraction);
}

/// A program that waits for a message waits for its playout: a ping-pong takes both playouts. A
/// ping-pong with a posted descriptor for each response takes no other time.
#[test]
fn rounds_take_both_playouts() {
    let rounds = r#"
title = "rounds"
[via]
firmware = "pvia"
post = "0 us"
reap = "0 us"
receives = 1
[run]
time = "100 ms"
[[channel]]
name = "ping"
class = "best_effort"
to = 1
max_message = "4 B"
burst = 1
playout = "300 us"
source = { kind = "rounds", after = "pong" }
[[channel]]
name = "pong"
class = "best_effort"
from = 1
to = 0
max_message = "4 B"
burst = 1
playout = "700 us"
source = { kind = "rounds", after = "ping" }
"#;
    let run = run(rounds);
    let took = |channel: usize| run.channels[channel].delivery.clone().unwrap();
    assert!(near(took(0).max, 300.0 * US) && near(took(1).min, 700.0 * US), "{:?} {:?}", took(0), took(1));
    // The window leaves out a tenth at either end.
    assert!(run.channels[0].delivered.unwrap().abs_diff(100) <= 25, "{:?}", run.channels[0].delivered);
}

#[test]
fn who_holds_what_is_said_where_it_is() {
    let late = PLAYED.replace("min_interval = \"2 ms\"", "min_interval = \"2 ms\"\ndeadline = \"802 us\"");
    let reason = run(&late).channels[0].refused.clone().unwrap().reason;
    assert!(reason.contains("its messages may take 803 us, and 802 us is asked for"), "{reason}");
    let met = late.replace("802 us", "803 us");
    assert!(run(&met).channels[0].refused.is_none());
    let elsewhere = with("min_interval", "playout = \"1 ms\"\nmin_interval");
    let Err(errors) = read(&elsewhere) else { panic!("the file is valid") };
    assert!(errors.to_string().contains("only virtual interfaces hold a message until its time"), "{errors}");
}
