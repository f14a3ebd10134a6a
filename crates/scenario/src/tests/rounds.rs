//! Channels that answer others: which they can answer, and what a loop cannot have.

use super::ends::refused;
use super::*;

const LOOP: &str = r#"
title = "Loop"
[host]
profile = "mc68040"
[adapter]
kind = "null"
rate = "100 Mbit/s"
[node.a]
[node.b]
[node.s]
kind = "switch"
[network.all]
rate = "100 Mbit/s"
joins = ["s", "a", "b"]
[run]
time = "50 ms"
[[channel]]
name = "there"
from = "a"
to = "b"
class = "real_time"
max_message = "1 KiB"
burst = 1
min_interval = "10 ms"
deadline = "10 ms"
source = { kind = "rounds", after = "back" }
[[channel]]
name = "back"
from = "b"
to = "a"
class = "best_effort"
max_message = "1 KiB"
burst = 1
source = { kind = "rounds", after = "there" }
"#;

#[track_caller]
fn with(from: &str, to: &str) -> String {
    replaced(LOOP, from, to)
}

/// The channel that each channel answers.
fn answered(text: &str) -> Vec<Option<usize>> {
    let scenario = right(text);
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    (0..experiment.channels.len()).map(|i| experiment.answers(i)).collect()
}

#[test]
fn two_channels_answer_each_other() {
    assert_eq!(answered(LOOP), [Some(1), Some(0)]);
    let line = with("{ kind = \"rounds\", after = \"back\" }", "{ kind = \"periodic\" }");
    assert_eq!(answered(&line), [None, Some(0)]);
}

/// Each copy answers the copy of its number; of a channel without copies all answer that one.
#[test]
fn copies_answer_copies() {
    let twice = with("name = \"back\"", "name = \"back\"\ncount = 2")
        .replace("name = \"there\"", "name = \"there\"\ncount = 2");
    assert_eq!(answered(&twice), [Some(2), Some(3), Some(0), Some(1)]);
    let line = with("{ kind = \"rounds\", after = \"back\" }", "{ kind = \"periodic\" }")
        .replace("name = \"back\"", "name = \"back\"\ncount = 2");
    assert_eq!(answered(&line), [None, Some(0), Some(0)]);
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let cases = [
        (with("after = \"there\"", "after = \"where\""), "after", "there is no channel `where`"),
        (with("after = \"there\"", "after = \"back\""), "after", "channel `back` answers itself"),
        (
            with("name = \"back\"\nfrom = \"b\"\nto = \"a\"", "name = \"back\"\nfrom = \"a\"\nto = \"b\""),
            "after",
            "channel `back` does not end where `there` begins",
        ),
        (
            with("after = \"back\"", "after = \"back\", size = \"2 KiB\""),
            "after",
            "answers of 2 KiB are larger than the contract's 1 KiB",
        ),
        (
            with("after = \"there\"", "after = \"there\", outstanding = 2"),
            "outstanding",
            "1 messages fit the channel's queue",
        ),
        (
            with("name = \"back\"", "name = \"back\"\ncount = 2")
                .replace("name = \"there\"", "name = \"there\"\ncount = 3"),
            "after",
            "there is no copy 3 of channel `back`, for copy 3 of this one",
        ),
        (
            with("[network.all]", "[network.all]\nimpairments = { corruption = 0.1 }"),
            "",
            "channel `back` is part of a closed loop, which stops for ever when its network loses a message",
        ),
        (
            format!("{LOOP}[emulation]\nhost = \"thread\"\n"),
            "",
            "channel `there` answers another, and a host in a thread sends by itself",
        ),
    ];
    for (text, line, reason) in cases {
        refused(&text, line, reason);
    }
    // A line goes on with the next request.
    right(
        &with("[network.all]", "[network.all]\nimpairments = { loss = 0.1 }")
            .replace("{ kind = \"rounds\", after = \"back\" }", "{ kind = \"periodic\" }"),
    );
}
