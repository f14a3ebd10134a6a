//! Every helper from a script's side, and every way in which a claim cannot be judged.

mod idle;
mod nothing;
mod pooled;

use std::collections::BTreeMap;

use laxity_scenario::claim::Stalls;
use laxity_world::results::{
    Axis, AxisPoint, Channel, Computation, Origin, Provenance, RefusedChannel, ResourceResults, Results,
    Ruling, Run, Summary, Verdict,
};

use super::{Claim, ClaimError, Judge};

fn point(text: &str, value: Option<f64>) -> AxisPoint {
    AxisPoint { text: text.into(), value }
}

/// A sweep of a best-effort load under two overheads: throughput follows the load up to 3000 B/s.
fn results() -> Results {
    let loads = [1000.0, 2000.0, 3000.0, 4000.0];
    let mut runs = Vec::new();
    for (i, load) in loads.iter().enumerate() {
        for j in 0..2 {
            runs.push(run(vec![i, j], *load));
        }
    }
    let load = loads.iter().map(|load| point(&format!("{load} B/s"), Some(*load))).collect();
    let model = vec![point("O1", None), point("O2", None)];
    Results {
        provenance: Provenance {
            name: "sample".into(),
            title: String::new(),
            about: String::new(),
            seed: 1,
            file_hash: String::new(),
            version: String::new(),
            clock: "virtual".into(),
            percentile_error: 0.0,
        },
        axes: vec![
            Axis { name: "load".into(), label: "load (B/s)".into(), points: load },
            Axis { name: "model".into(), label: "model".into(), points: model },
        ],
        runs,
    }
}

fn run(point: Vec<usize>, load: f64) -> Run {
    let laxity = Summary { count: 10, min: 0.002, mean: 0.0125, ..Summary::default() };
    let rt = Channel {
        name: "0".into(),
        class: "real_time".into(),
        reserved: Some(500.0),
        throughput: 500.0,
        messages: 3,
        due_messages: Some(3),
        failed_messages: Some(0),
        laxity: Some(laxity),
        ..Channel::default()
    };
    let be = Channel {
        name: "3".into(),
        class: "best_effort".into(),
        offered: load,
        throughput: load.min(3000.0),
        messages: 2,
        drops: BTreeMap::from([("packet_queue".to_string(), u64::from(load > 3000.0) * 5)]),
        ..Channel::default()
    };
    let cpu =
        ResourceResults { name: "cpu".into(), utilisation: load / 4000.0, ..ResourceResults::default() };
    let figures = BTreeMap::from([("admitted".to_string(), 7.0), ("broken".to_string(), f64::NAN)]);
    Run {
        point,
        simulated: 1.0,
        window: 0.9,
        channels: vec![rt, be],
        resources: vec![cpu],
        figures,
        ..Run::default()
    }
}

fn claim(holds: &str, shows: Option<&str>) -> Claim {
    Claim {
        id: "T1".into(),
        says: "it is so".into(),
        origin: Origin::Source,
        from: String::new(),
        same_as: None,
        holds: holds.into(),
        shows: shows.map(Into::into),
        reason: "because".into(),
        range: None,
        setting: None,
        by_draw: false,
        stalls: Stalls::Spoil,
        location: "x.toml:4:1".into(),
    }
}

/// See [`super::tried`].
pub(super) fn tried(script: &str) -> Result<(), String> {
    let mut results = results();
    results.runs.retain(|run| run.point[1] == 0 && run.point[0] < 2);
    results.axes[0].points.truncate(2);
    for (run, load) in results.runs.iter_mut().zip([100.0, 200.0]) {
        run.channels[0].name = "rt".into();
        results.axes[0].points[run.point[0]] = point(&format!("{load} B/s"), Some(load));
    }
    let judge = Judge::compile(&[claim(script, None)]).map_err(|errors| errors[0].to_string())?;
    let verdict = judged_on(&judge, &results).map_err(|error| error.to_string())?;
    if verdict.holds() { Ok(()) } else { Err(format!("{script}: {:?}", verdict.ruling)) }
}

fn judged(holds: &str, shows: Option<&str>) -> Result<Verdict, Box<ClaimError>> {
    let first = |mut errors: Vec<ClaimError>| Box::new(errors.remove(0));
    let judge = Judge::compile(&[claim(holds, shows)]).map_err(first)?;
    judged_on(&judge, &results())
}

fn judged_on(judge: &Judge, results: &Results) -> Result<Verdict, Box<ClaimError>> {
    let mut judgement = judge.judge(results, None);
    assert_eq!(judgement.verdicts.len(), 1, "every claim has a verdict");
    match judgement.errors.pop() {
        Some(error) => Err(Box::new(error)),
        None => Ok(judgement.verdicts.remove(0)),
    }
}

#[track_caller]
fn holds(script: &str) {
    match judged(script, None) {
        Ok(verdict) => assert_eq!(verdict.ruling, Ruling::Holds, "{script}"),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn fails(script: &str) {
    match judged(script, None) {
        Ok(verdict) => assert_eq!(verdict.ruling, Ruling::Contradicted, "{script}"),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn refused(script: &str, message: &str) -> Box<ClaimError> {
    match judged(script, None) {
        Ok(verdict) => panic!("{:?}: {script}", verdict.ruling),
        Err(error) => {
            assert!(error.message.contains(message), "{error}");
            error
        }
    }
}

#[track_caller]
fn unjudged(script: &str, why: &str) {
    match judged(script, None).unwrap_or_else(|error| panic!("{error}")).ruling {
        Ruling::NotJudged { because } => assert!(because.contains(why), "{script}: {because}"),
        ruling => panic!("{ruling:?}: {script}"),
    }
}

#[track_caller]
fn shown(script: &str) -> String {
    judged("true", Some(script)).unwrap_or_else(|error| panic!("{error}")).figure
}

#[test]
fn runs_have_axes_channels_resources_and_figures() {
    holds("runs.len() == 8 && runs[2].at(\"load\") == 2000 && runs[2].at(\"model\") == \"O1\"");
    holds("runs[2].point.load == 2000.0 && runs[2].label == \"load = 2000 B/s, model = O1\"");
    holds("runs.all(|r| r.channel(\"0\").throughput == 500 && r.channel(0).class == \"real_time\")");
    holds("runs[0].channels.len() == 2 && runs[0].rt.len() == 1 && runs[0].be[0].name == \"3\"");
    holds("runs[0].figures.admitted == 7 && runs[0].resource(\"cpu\").utilisation == 0.25");
    holds("runs[0].window < runs[0].simulated && runs[0].rt[0].laxity.min >= 0");
}

#[test]
fn unmeasured_metrics_are_unit_and_say_so_when_compared() {
    holds("runs[0].be[0].deadline == () && runs[0].rt[0].reserved != ()");
    unjudged("runs[0].be[0].deadline < 3", "best_effort");
    unjudged("!(runs[0].be[0].deadline > 3)", "best_effort");
    unjudged("near(runs[0].be[0].deadline, 3, 0.1)", "best_effort");
    unjudged("runs[0].be[0].laxity.min >= 0", "carried nothing");
    unjudged("max(column(|r| r.be[0].deadline)) < 1", "position 0");
    unjudged("runs[0].be[0].deadline - 1 > 0 && true", "deadline");
    unjudged("abs(-runs[0].be[0].deadline) > 0", "deadline");
    unjudged("() > 1 || () * 2 > 1", "not measured");
    // Two values that are not there are not therefore equal.
    unjudged("runs[0].be[0].bound == runs[1].be[0].bound", "bound");
}

#[test]
fn drops_of_a_known_cause_are_zero_and_of_an_unknown_one_an_error() {
    holds("runs[0].rt[0].drops.packet_queue == 0 && runs[0].rt[0].drops.oversize == 0");
    holds("runs[6].be[0].drops.packet_queue == 5 && runs[6].be[0].drops.total == 5");
    refused("runs[0].rt[0].drops.pakcet_queue == 0", "`packet_queue`");
    // This name of a cause existed once without a cause.
    refused("runs[0].rt[0].drops.policed == 0", "`oversize`");
}

#[test]
fn slips_are_errors_that_list_what_there_is() {
    refused("runs[0].channel(\"0\").througput > 1", "`throughput`");
    refused("runs[0].channel(\"7\").throughput > 1", "the channels are `0`, `3`");
    refused("runs[0].at(\"P\") == 1", "the axes are `load`, `model`");
    refused("runs[0].resource(\"link\").utilisation < 1", "the resources are `cpu`");
    refused("runs[0].figures.admited > 1", "`admitted`");
    refused("where(\"load\", 5).len() == 0", "`1000 B/s`");
    refused("axis(\"P\").len() == 1", "the axes are");
    refused("runs[0].rt[0].at(\"load\") == 1", "not a run");
    refused("runs[0].rt[0].name == 0", "compares");
    refused("rissing([1, 2], 0.1)", "rissing");
    refused("runs.len()", "must end in `true` or `false`");
}

#[test]
fn numbers_that_are_not_finite_are_errors() {
    unjudged("runs[0].figures.broken > 1", "NaN");
    unjudged("!(sqrt(-1.0) > 1)", "finite");
    unjudged("1 / 0 > 1", "not a finite number");
    unjudged("0.0 / 0.0 == 1.0", "not a finite number");
    unjudged("near(1e300 * 1e300, 1, 0.1)", "finite");
}

#[test]
fn division_divides() {
    holds("1 / 2 == 0.5 && 3.0 / 2 == 1.5 && 3 / 2.0 == 1.5");
}

#[test]
fn all_and_any_quantify_over_something() {
    holds("runs.any(|r| r.at(\"load\") > 3000) && runs.some(|r| r.at(\"load\") > 3000)");
    fails("runs.any(|r| r.at(\"load\") > 4000)");
    fails("runs.all(|r| r.at(\"load\") > 1000)");
    unjudged("runs.filter(|r| r.at(\"load\") > 9000).all(|r| false)", "over nothing");
    unjudged("[].any(|r| true)", "over nothing");
    holds("let limit = 100; runs.all(|r| r.be[0].throughput > limit)");
    holds("runs.map(|r| r.window).reduce(|sum, x| sum + x, 0.0) > 7");
}

#[test]
fn runs_are_filtered_by_axis_and_read_in_columns() {
    holds("where(\"model\", \"O2\").len() == 4 && where(\"load\", 3000).len() == 2");
    holds(
        "where(\"load\", \"3000 B/s\").len() == 2 && runs.where(\"load\", 3000.0).where(\"model\", \"O1\").len() == 1",
    );
    holds(
        "column(|r| r.window).len() == 8 && where(\"model\", \"O1\").column(|r| r.at(\"load\"))[1] == 2000",
    );
    holds("axis(\"load\").len() == 4 && axis(\"model\")[1] == \"O2\"");
}

#[test]
fn near_counts_against_its_second_argument() {
    holds("near(99, 100, 0.01) && near(101, 100, 0.01) && near(0, 0, 0) && near(-99.5, -100, 0.01)");
    fails("near(98, 100, 0.01)");
    fails("near(0.001, 0, 0.5)");
    refused("near(1, 1, 5)", "tolerance");
    refused("near(1, 1, -0.1)", "tolerance");
}

#[test]
fn columns_have_shapes() {
    holds("rising([1, 2, 3], 0) && !rising([1, 3, 2], 0.01) && rising([1.0, 3.0, 2.99], 0.01)");
    holds("falling([3, 2, 1], 0) && !falling([1, 2], 0) && !falling([2, 2], 0)");
    holds("never_falling([1, 1, 2], 0) && never_rising([2, 1, 1], 0) && !never_rising([1, 2], 0)");
    holds("monotone([2, 1, 1], 0) && monotone([1, 1, 2], 0) && !monotone([1, 2, 1], 0.1)");
    holds("flat([100, 99.5], 0.01) && !flat([100, 90], 0.01)");
    unjudged("rising([1], 0)", "at least 2");
    refused("flat([1, \"2\"], 0)", "position 1");
}

#[test]
fn columns_have_statistics() {
    holds("max([1, 3.5, 2]) == 3.5 && min([1, 3.5, 2]) == 1 && mean([1, 2]) == 1.5 && sum([1, 2]) == 3");
    holds("argmax([1, 3, 3]) == 1 && argmin([2, 1, 1]) == 1 && max(2, 3) == 3");
    unjudged("max([]) == 0", "at least 1");
}

#[test]
fn lines_are_fitted() {
    holds(
        "let up = runs.filter(|r| r.at(\"load\") <= 3000); \
           linear(up.map(|r| r.at(\"load\")), up.map(|r| r.be[0].throughput), 0.001)",
    );
    holds("slope([1, 2, 3], [2, 4, 6]) == 2 && near(r2([1, 2, 3], [2, 4, 6]), 1, 1e-9)");
    fails("linear([1, 2, 3, 4], [1, 5, 1, 5], 0.1)");
    unjudged("linear([1, 1], [1, 2], 0.1)", "same");
    unjudged("slope([1, 2], [1, 2, 3]) == 1", "as many");
}

#[test]
fn figures_are_shown_in_units() {
    assert_eq!(shown("ms(runs[0].rt[0].laxity.mean)"), "12.5 ms");
    assert_eq!(shown("us(0.0000125)"), "12.5 µs");
    assert_eq!(shown("kib(1536)"), "1.5 KiB");
    assert_eq!(shown("mb(2500000) + \"/s\""), "2.5 MB/s");
    assert_eq!(shown("percent(0.125)"), "12.5 %");
    assert_eq!(shown("round(3.14159, 2)"), "3.14");
    assert_eq!(shown("ms(runs[0].be[0].deadline)"), "not measured");
    assert_eq!(shown("`worst ${ms(0.002)} of\n  ${runs.len()}`"), "worst 2 ms of 8");
    assert_eq!(shown("[1, 2.5, \"x\"]"), "1, 2.5, x");
    assert_eq!(shown("runs[0].be[0].throughput"), "1000");
    assert_eq!(
        shown("\"x: \" + (0.1 + 0.2) + \", \" + [1, ms(0.002)] + \", \" + ()"),
        "x: 0.3, 1, 2 ms, not measured"
    );
}

#[test]
fn a_reason_goes_with_a_contradicted_claim_only() {
    assert_eq!(judged("false", None).unwrap().reason, "because");
    assert_eq!(judged("true", None).unwrap().reason, "");
}

#[test]
fn scripts_that_do_not_compile_are_found_before_anything_runs() {
    let errors = Judge::compile(&[claim("runs.all(|r| ", None), claim("load > 1", Some("1 +"))]).unwrap_err();
    assert_eq!(errors.len(), 3);
    assert!(errors[1].message.contains("load"), "{}", errors[1]);
    assert_eq!((errors[1].script, errors[2].script), ("holds", "shows"));
    for forbidden in ["eval(\"true\")", "import \"x\" as x; true", "print(1); true"] {
        assert!(Judge::compile(&[claim(forbidden, None)]).is_err(), "{forbidden}");
    }
}

#[test]
fn an_error_points_at_its_place() {
    let error = refused("let a = 1;\nruns.all(|r| r.channel(\"7\").missed == 0)", "no channel `7`");
    assert_eq!(error.position, Some((2, 16)), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with("x.toml:4:1: claim `T1` cannot be judged: in `holds` at 2:16: there is no"),
        "{text}"
    );
    assert!(
        text.ends_with("\n    runs.all(|r| r.channel(\"7\").missed == 0)\n                   ^"),
        "{text}"
    );
}

#[test]
fn endless_and_bloated_scripts_are_stopped() {
    refused("loop {}", "operations");
    refused("let s = \"x\"; loop { s += s; }", "ength of string");
    refused("fn f() { f() } f()", "tack overflow");
    refused("timestamp() == 1", "timestamp");
}

#[test]
fn a_script_ends_when_its_budget_does_and_the_others_are_judged() {
    let judge = Judge::compile(&[
        claim("true", None),
        claim("let a = []; loop { a.push(a); }", None),
        claim("let i = 0;\nwhile true { i += 1; }", None),
    ])
    .unwrap();
    // The clock advances by a second per call.
    let budget = || {
        let asked = std::cell::Cell::new(0);
        let budget: super::ScriptBudget = Box::new(move || {
            asked.set(asked.get() + 1);
            (asked.get() > 100).then(|| "it was ended after 2 s".to_string())
        });
        budget
    };
    let judgement = judge.judge(&results(), Some(budget));
    assert_eq!(judgement.verdicts[0].ruling, Ruling::Holds);
    assert_eq!(judgement.errors.len(), 2);
    let second = judgement.errors[1].to_string();
    assert!(second.contains("it was ended after 2 s") && second.contains("at 2:"), "{second}");
}

#[test]
fn a_closure_cannot_read_the_list_its_chain_starts_from() {
    refused("let xs = [1, 2]; xs.extract(1).all(|x| x > xs[0])", "variable of its own");
    holds("let xs = [1, 2]; let rest = xs.extract(1); rest.all(|x| x > xs[0])");
}

#[test]
fn one_claim_with_an_error_leaves_the_others_judged() {
    let judge =
        Judge::compile(&[claim("true", None), claim("runs[0].x", None), claim("false", None)]).unwrap();
    let judgement = judge.judge(&results(), None);
    let rulings: Vec<&str> = judgement.verdicts.iter().map(|verdict| verdict.ruling.word()).collect();
    assert_eq!((rulings, judgement.errors.len()), (vec!["holds", "not judged", "contradicted"], 1));
}

#[test]
fn an_application_that_was_done_with_no_budget_was_late_with_none_and_kept_none() {
    let mut results = results();
    for (run, budgets) in results.runs.iter_mut().zip([0, 3]) {
        run.computations = vec![Computation { name: "film".into(), budgets, ..Computation::default() }];
    }
    let ruling = |run: usize| {
        let script = format!("runs[{run}].computation(\"film\").late == 0");
        let judge = Judge::compile(&[claim(&script, None)]).unwrap();
        judged_on(&judge, &results).unwrap_or_else(|error| panic!("{error}")).ruling
    };
    let Ruling::NotJudged { because } = ruling(0) else { panic!("judged") };
    assert!(because.contains("`film` was done with no budget"), "{because}");
    assert_eq!(ruling(1), Ruling::Holds);
}

#[test]
fn a_channel_that_carried_nothing_has_missed_no_deadline_and_kept_none() {
    let mut results = results();
    for run in &mut results.runs {
        let rt = &mut run.channels[0];
        (rt.messages, rt.laxity, rt.backlog) = (0, None, Some(0));
    }
    let on = |results: &Results, script: &str| {
        let judge = Judge::compile(&[claim(script, None)]).unwrap();
        judged_on(&judge, results).unwrap_or_else(|error| panic!("{error}")).ruling
    };
    for script in [
        "runs.all(|r| r.rt.all(|c| c.missed_packets == 0 && c.dropped_packets == 0))",
        "runs.all(|r| r.rt.all(|c| c.missed_messages == 0))",
        "sum(runs.map(|r| sum(r.rt.map(|c| c.missed_packets + c.dropped_packets)))) == 0",
        "!(runs[0].rt[0].drops.total > 0)",
        "runs[0].rt[0].drops.message_queue == 0",
        "runs.all(|r| r.rt.all(|c| c.worst <= c.bound))",
        "!runs.any(|r| r.rt.any(|c| c.laxity.min < 0))",
        "runs[0].rt[0].lost_packets == 0",
        "runs[0].rt[0].late_outside == 0",
        "runs[0].rt[0].backlog <= 3",
    ] {
        let Ruling::NotJudged { because } = on(&results, script) else { panic!("judged: {script}") };
        assert!(because.contains("channel `0` carried nothing"), "{script}: {because}");
    }
    // Messages that were offered and did not arrive have missed no deadline either, but were
    // dropped.
    results.runs[0].channels[0].messages = 4;
    let of_first = |field: &str| format!("runs[0].rt[0].{field} == 0");
    assert!(matches!(on(&results, &of_first("missed_messages")), Ruling::NotJudged { .. }));
    assert!(matches!(on(&results, &of_first("late_outside")), Ruling::NotJudged { .. }));
    // Before the window something came of it, and was in time.
    results.runs[0].channels[0].worst = Some(0.001);
    assert_eq!(on(&results, &of_first("late_outside")), Ruling::Holds);
    assert_eq!(on(&results, &of_first("dropped_packets")), Ruling::Holds);
    // An element that decides does so whatever became of the others.
    assert_eq!(
        on(&results, "runs.all(|r| r.be[0].throughput > 1000 && r.rt[0].missed_packets == 0)"),
        Ruling::Contradicted
    );
    assert_eq!(on(&results, "runs.any(|r| r.rt[0].dropped_packets == 0)"), Ruling::Holds);

    let refused = RefusedChannel { reason: "too late by 3 ms".into(), ..RefusedChannel::default() };
    results.runs[1].channels[0].refused = Some(refused);
    results.runs[2].channels[0].no_bound = "nobody knows".into();
    for (script, why) in [
        ("runs[1].rt[0].bound > 0", "was refused (too late by 3 ms)"),
        ("runs[1].rt[0].missed_packets == 0", "was refused (too late by 3 ms)"),
        ("runs[2].rt[0].bound > 0", "has no bound: nobody knows"),
        ("runs[3].be[0].bound > 0", "asks for none"),
    ] {
        let Ruling::NotJudged { because } = on(&results, script) else { panic!("judged: {script}") };
        assert!(because.contains(why), "{script}: {because}");
    }
    let asked = "runs[1].rt[0].refused != () && runs[0].rt[0].refused == () && runs[1].rt[0].refused.admissible == ()";
    assert_eq!(on(&results, asked), Ruling::Holds);
}

/// The ruling of a claim that ranges over the loads.
fn ranging(script: &str) -> (Ruling, String) {
    let claim = Claim { range: Some("load".into()), ..claim(script, Some("runs.len()")) };
    let judge = Judge::compile(&[claim]).unwrap();
    let verdict = judged_on(&judge, &results()).unwrap_or_else(|error| panic!("{error}"));
    (verdict.ruling, verdict.figure)
}

#[test]
fn a_claim_that_ranges_over_an_axis_holds_everywhere_somewhere_or_nowhere() {
    assert_eq!(ranging("runs.len() == 2 && axis(\"load\").len() == 4").0, Ruling::Holds);
    assert_eq!(ranging("runs[0].be[0].throughput > 9000").0, Ruling::Contradicted);
    let (ruling, figure) =
        ranging("runs.all(|r| r.be[0].throughput < r.be[0].offered || r.at(\"load\") < 2500)");
    let range = "load 1000 B/s, 2000 B/s, 4000 B/s (3 of 4 points)".to_string();
    assert_eq!(ruling, Ruling::HoldsWithin { range });
    assert!(
        figure.starts_with("1000 B/s: holds (2); ") && figure.contains("3000 B/s: contradicted (2)"),
        "{figure}"
    );
    let stretch = ranging("runs[0].at(\"load\") < 3500").0;
    assert_eq!(stretch.detail(), "load 1000 B/s to 3000 B/s (3 of 4 points)");
    // A point without a verdict is within no range; without any judged point there is no verdict.
    let some = ranging("if runs[0].at(\"load\") < 2500 { runs[0].be[0].deadline > 1 } else { true }").0;
    assert_eq!(some.detail(), "load 3000 B/s, 4000 B/s (2 of 4 points)");
    let open = ranging("runs[0].be[0].deadline > 1").0;
    assert!(matches!(open, Ruling::NotJudged { .. }) && open.detail().contains("deadline"), "{open:?}");
    let mixed = ranging("if runs[0].at(\"load\") < 2500 { runs[0].be[0].deadline > 1 } else { false }").0;
    assert_eq!(mixed, Ruling::Contradicted);
}
