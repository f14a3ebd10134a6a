//! Channels that are promised a shorter deadline than they ask for.

use laxity_admission::Formula;
use laxity_units::Span;

use super::fifo::{of, promises};

/// A host with that order at its CPU and link, and a channel with that `deadline` and what else its lines
/// say.
fn one(order: &str, deadline: &str, further: &str) -> String {
    format!(
        r#"title = "one"
[host]
profile = "mc68040"
speedup = 5
subsystem = {{ packet = "1500 B", cpu = "{order}", link = {{ order = "{order}" }} }}
[adapter]
kind = "null"
rate = "1 Gbit/s"
[run]
time = "50 ms"
[[channel]]
name = "control"
class = "real_time"
max_message = "1500 B"
burst = 1
min_interval = "2 ms"
deadline = "{deadline}"
source = {{ kind = "periodic" }}
{further}"#
    )
}

/// Levels that admission chooses have a test for one message at a time. The bound lies far before the
/// next message, so each deadline beyond that is kept as well.
#[test]
fn a_deadline_beyond_the_interval_is_kept_like_the_interval() {
    for deadline in ["2001 us", "3 ms", "6 ms", "50 ms", "1 s"] {
        let promises = promises(&of(&one("fixed_priority", deadline, "")));
        let bound = promises[0].end_to_end_bound();
        assert!(bound.is_some_and(|bound| bound < Span::from_ms(1)), "{deadline}: {:?}", promises[0]);
    }
    // The papers' formulas have one deadline.
    let experiment = of(&one("fixed_priority", "6 ms", ""));
    let paper = laxity_world::promise::promises(&experiment, Formula::Papers).unwrap();
    assert!(paper.channels[0].is_refused(), "{:?}", paper.channels[0]);
}

/// A place for one message is enough for a channel of which each message is sent before the next.
#[test]
fn a_longer_deadline_asks_for_no_more_places_than_a_shorter_one() {
    for deadline in ["2 ms", "5 ms", "20 ms"] {
        let promises = promises(&of(&one("multiclass_edf", deadline, "message_slots = 1\n")));
        assert!(promises[0].is_bound(), "{deadline}: {:?}", promises[0]);
    }
}
