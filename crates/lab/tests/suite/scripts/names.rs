//! Scripts of claims are tried before anything runs: every misspelt name is an error of the file.

use super::{and, read};

/// The error of a claim with the script `holds`, on two loads.
#[track_caller]
fn wrong(holds: &str, why: &str) {
    let text = swept(holds);
    let Err(errors) = read(&text) else { panic!("this is taken: {holds}") };
    let errors = errors.to_string();
    assert!(errors.contains(why) && errors.contains("`holds`"), "{holds}: {errors}");
}

fn swept(holds: &str) -> String {
    and(&format!(
        "[[sweep]]\nname = \"load\"\nkey = \"channel.bulk.source.rate\"\nvalues = [\"400 KiB/s\", \"800 KiB/s\"]\n\
         [[claim]]\nid = \"C\"\nsays = \"so it is\"\nholds = \'\'\'{holds}\'\'\'\n"
    ))
}

#[test]
fn names_that_are_not_there_are_found_wherever_they_stand() {
    for (holds, why) in [
        ("runs[0].channel(\"vidoe\").missed_packets == 0", "did you mean `video`"),
        ("runs[0].channel(\"video\").mised_packets == 0", "did you mean `missed_packets`"),
        ("runs[0].channel(\"video\").drops.message_que == 0", "did you mean `message_queue`"),
        ("runs[0].channel(\"video\").laxity.minn > 0", "did you mean `min`"),
        ("where(\"laod\", 400).len() > 0", "did you mean `load`"),
        ("where(\"load\", 500).len() > 0", "`400 KiB/s`"),
        ("runs[0].resource(\"cup\").utilisation < 1", "did you mean `cpu`"),
        ("runs[0].figures.driver_reset == 0", "did you mean `driver_resets`"),
        ("rissing(column(|r| r.window), 0.1)", "rissing"),
        ("runs[0].window == \"long\"", "compares"),
        // Behind a false operand, a true one, and in either branch.
        ("runs[0].window > 5 && runs[0].channel(\"x\").worst > 0", "no channel `x`"),
        ("runs[0].window < 5 || runs[0].channel(\"x\").worst > 0", "no channel `x`"),
        ("if runs[0].window > 5 { runs[0].windw == 1 } else { true }", "did you mean `window`"),
        ("if runs[0].window > 5 { true } else { runs[0].windw == 1 }", "did you mean `window`"),
        ("runs.all(|r| r.rt.all(|c| c.worst < 1 && c.bounds > 1))", "did you mean `bound`"),
        ("runs.filter(|r| r.window > 5).any(|r| r.widnow > 1)", "did you mean `window`"),
    ] {
        wrong(holds, why);
    }
}

#[test]
fn what_only_results_can_tell_is_left_to_them() {
    for holds in [
        "runs.filter(|r| r.channel(\"bulk\").throughput > 1e9).all(|r| false)",
        "let low = runs.filter(|r| r.window > 1e9); low[0].window > 1",
        "1 / runs[0].resource(\"cpu\").utilisation > 1",
        "runs[0].figures.driver_resets == 0 && runs[0].real_time.late_max < 1",
        "runs[0].channel(\"bulk\").deadline == () || runs[0].channel(\"bulk\").bound > 1",
        "let i = 0; while runs[i].window < 1e9 { i += 1; } i > 1",
        "linear(column(|r| r.at(\"load\")), column(|r| r.channel(\"bulk\").throughput), 0.1)",
        "runs.all(|r| r.channel(\"video\").on_time == 1 && r.channel(\"video\").drops.total == 0)",
    ] {
        read(&swept(holds)).unwrap_or_else(|errors| panic!("{errors}"));
    }
}
