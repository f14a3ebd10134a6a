//! Channels on which no message was sent: their counts are measured, but no evidence.

use super::*;

/// Neither channel of the first two runs was given a message; the best-effort channel was in the
/// third. The guaranteed channel had a packet left from before the window in the second. Receptions
/// are known of the best-effort channel only.
fn ruling(script: &str) -> Ruling {
    let mut results = results();
    for (n, run) in results.runs.iter_mut().enumerate() {
        for channel in &mut run.channels {
            channel.messages = u64::from(n > 2);
            if n < 3 {
                (channel.packets, channel.completed, channel.throughput) = (0, 0, 0.0);
            }
        }
    }
    results.runs[2].channels[1].messages = 7;
    (results.runs[1].channels[0].packets, results.runs[1].channels[0].throughput) = (1, 5.0);
    for run in &mut results.runs[..3] {
        (run.channels[0].delivered, run.channels[1].delivered) = (None, Some(0));
    }
    let judge = Judge::compile(&[claim(script, None)]).unwrap();
    judged_on(&judge, &results).unwrap_or_else(|error| panic!("{error}")).ruling
}

#[test]
fn what_holds_of_nothing_is_not_judged() {
    for script in [
        "runs[0].be[0].throughput == runs[1].be[0].throughput",
        "near(runs[0].be[0].throughput, runs[1].be[0].throughput, 0.01)",
        "near(runs[0].be[0].throughput, 0, 0.01)",
        "runs[0].rt[0].throughput >= runs[0].be[0].throughput",
        "runs[0].be[0].packets == 0",
        "runs[0].be[0].completed != 5",
        "runs[0].be[0].throughput <= 100",
        "100 > runs[0].be[0].throughput",
        "!(runs[0].be[0].throughput == 0)",
        "sum(runs[0].channels.map(|c| c.throughput)) == 0",
        "runs[0].be[0].throughput + runs[0].rt[0].throughput == 0",
        "runs[0].be[0].throughput * 2 == 0",
        "max(runs[0].channels.map(|c| c.packets)) < 3",
        "runs[0].be[0].delivered <= 100",
        "runs[0].rt[0].delivered > 0",
        "runs[4].rt[0].throughput - runs[0].be[0].throughput == 500",
        "runs[0].be[0].throughput > runs[1].be[0].throughput",
        "runs[0].be[0].throughput + runs[0].be[0].deadline == ()",
    ] {
        let Ruling::NotJudged { because } = ruling(script) else { panic!("judged: {script}") };
        assert!(because.contains("carried nothing in the window"), "{script}: {because}");
    }
}

/// The message left its source, and was in transit when the run ended.
#[test]
fn nothing_is_late_where_nothing_was_delivered() {
    let judge = Judge::compile(&[claim("runs[4].rt[0].delivered_late == 0", None)]).unwrap();
    let mut results = results();
    let channel = &mut results.runs[4].channels[0];
    (channel.messages, channel.completed, channel.delivered_late) = (10, 10, Some(0));
    for (delivered, judged) in [(0, false), (1, true)] {
        results.runs[4].channels[0].delivered = Some(delivered);
        let ruling = judged_on(&judge, &results).unwrap_or_else(|error| panic!("{error}")).ruling;
        match ruling {
            Ruling::Holds => assert!(judged),
            Ruling::NotJudged { because } => {
                assert!(!judged && because.contains("nothing was delivered"), "{because}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_was_not_carried_is_not_more_than_anything_and_adds_nothing() {
    assert_eq!(ruling("runs[0].be[0].throughput > 0"), Ruling::Contradicted);
    assert_eq!(ruling("runs[0].channels.filter(|c| c.completed > 0).len() == 0"), Ruling::Holds);
    assert_eq!(ruling("runs[0].be[0].throughput == 5"), Ruling::Contradicted);
    // With a run in which both carried 500 and 1000 or more.
    assert_eq!(ruling("sum([runs[0].be[0].throughput, runs[4].rt[0].throughput]) == 500"), Ruling::Holds);
    assert_eq!(ruling("runs[0].be[0].throughput + runs[4].rt[0].throughput == 500"), Ruling::Holds);
    assert_eq!(ruling("runs[4].rt[0].throughput + runs[0].be[0].throughput == 500"), Ruling::Holds);
}

#[test]
fn who_sent_and_got_nothing_through_has_carried_nothing() {
    assert_eq!(ruling("runs[2].be[0].throughput == 0 && runs[2].be[0].packets < 1"), Ruling::Holds);
}

#[test]
fn whoever_asks_whether_it_is_there_is_told() {
    assert_eq!(ruling("runs[0].be[0].throughput == ()"), Ruling::Holds);
    assert_eq!(ruling("runs[2].be[0].throughput == ()"), Ruling::Contradicted);
}

#[test]
fn what_was_sent_before_the_window_is_carried_within() {
    assert_eq!(ruling("runs[1].rt[0].throughput == 5 && runs[1].rt[0].completed == 0"), Ruling::Holds);
}
