//! Misses pooled over runs: counts, the limit, and what has no answer.

use super::*;

/// Eight runs of three messages each, none missed: 1 − 0.05^(1/24) = 0.1173; at one load two runs,
/// 1 − 0.05^(1/6) = 0.3930.
#[test]
fn misses_are_pooled_over_the_runs_of_a_list() {
    holds("let m = runs.pooled(\"0\"); m.runs == 8 && m.due == 24 && m.missed == 0 && m.miss_share == 0");
    holds("near(runs.pooled(\"0\").miss_limit, 0.1173, 0.001)");
    holds("near(where(\"load\", 1000).pooled(\"0\").miss_limit, 0.3930, 0.001)");
    fails("runs.pooled(\"0\").miss_limit <= 1e-3");
}

#[test]
fn without_messages_due_there_is_no_answer() {
    unjudged("runs.pooled(\"3\").miss_limit < 1", "no message of `3` with a deadline was due");
    unjudged("runs.pooled(\"0\").bound < 1", "`0` has no bound");
    unjudged("runs.filter(|r| r.window > 9).pooled(\"0\").missed == 0", "over nothing");
    refused("runs.pooled(\"9\").missed == 0", "there is no channel `9`");
    refused("runs.pooled(\"0\").late == 0", "has no `late`");
    refused("[1, 2].pooled(\"0\").missed == 0", "`pooled` is of a list of runs");
}
