//! Verdicts as JUnit's XML, which systems of continuous integration show.
//!
//! Each claim is a test case: a contradicted claim is a failure, a claim that is not judged is
//! skipped. What every run is judged by without a claim (bounds, deadlines, admission) are three
//! more.

use laxity_world::results::{Results, Ruling, Run, Verdict};

use super::svg::escaped;

/// The file's text.
pub fn text(results: &Results, verdicts: &[Verdict]) -> String {
    let name = escaped(&results.provenance.name);
    let mut cases: Vec<(String, Option<Outcome>)> = Vec::new();
    for verdict in verdicts {
        let outcome = match &verdict.ruling {
            Ruling::Holds | Ruling::HoldsWithin { .. } => None,
            Ruling::Contradicted => Some(Outcome::Failure(match verdict.reason.as_str() {
                "" => verdict.figure.clone(),
                reason => format!("{}; {reason}", verdict.figure),
            })),
            Ruling::NotJudged { because } => Some(Outcome::Skipped(because.clone())),
        };
        cases.push((format!("{}: {}", verdict.id, verdict.says), outcome));
    }
    let refused = |run: &Run| run.channels.iter().any(|c| c.refused.as_ref().is_some_and(|r| !r.expected));
    let all: [(&str, Test<'_>); 3] = [
        ("no run exceeds a bound", &Run::exceeds_bounds),
        ("no guaranteed channel or budget misses its deadline", &Run::misses_deadlines),
        ("no channel is refused unexpectedly", &refused),
    ];
    for (what, fails) in all {
        let points: Vec<String> =
            results.runs.iter().filter(|run| fails(run)).map(|run| place(results, run)).collect();
        cases.push((what.into(), (!points.is_empty()).then(|| Outcome::Failure(points.join("; ")))));
    }
    let failures = cases.iter().filter(|(_, o)| matches!(o, Some(Outcome::Failure(_)))).count();
    let skipped = cases.iter().filter(|(_, o)| matches!(o, Some(Outcome::Skipped(_)))).count();
    let counts = format!("tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\"", cases.len());
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text += &format!("<testsuites name=\"laxity\" {counts} errors=\"0\">\n");
    text += &format!("  <testsuite name=\"{name}\" {counts} errors=\"0\">\n");
    for (case, outcome) in cases {
        let case = format!("    <testcase classname=\"{name}\" name=\"{}\"", escaped(&case));
        text += &match outcome {
            None => format!("{case}/>\n"),
            Some(outcome) => format!("{case}>\n      {}\n    </testcase>\n", outcome.element()),
        };
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// Whether a run fails a case.
type Test<'a> = &'a dyn Fn(&Run) -> bool;

/// The outcome of a case that did not pass.
enum Outcome {
    Failure(String),
    Skipped(String),
}

impl Outcome {
    fn element(&self) -> String {
        match self {
            Outcome::Failure(why) => format!("<failure message=\"{}\"/>", escaped(why)),
            Outcome::Skipped(why) => format!("<skipped message=\"{}\"/>", escaped(why)),
        }
    }
}

/// The point of `run` in words.
fn place(results: &Results, run: &Run) -> String {
    let axes = results.axes.iter().zip(&run.point);
    let words = axes.filter_map(|(axis, at)| Some(format!("{} = {}", axis.name, axis.points.get(*at)?.text)));
    match words.collect::<Vec<_>>().join(", ") {
        words if words.is_empty() => "the run".into(),
        words => words,
    }
}

/// `text` as the value of an attribute.
#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn each_claim_is_a_case() {
        let mut results = sample::sweep();
        let verdicts = sample::verdicts();
        let count = |text: &str, what: &str| text.matches(what).count();
        let contradicted = verdicts.iter().filter(|v| v.ruling == Ruling::Contradicted).count();
        let text = super::text(&results, &verdicts);
        assert_eq!(count(&text, "<testcase "), verdicts.len() + 3);
        let failed = count(&text, "<failure ");
        assert!(failed >= contradicted && contradicted > 0, "{text}");
        results.runs[0].figures.insert("exceeded".into(), 1.0);
        let text = super::text(&results, &verdicts);
        assert_eq!(count(&text, "<failure "), failed + 1);
        assert!(text.contains("load = 600 KiB/s"), "{text}");
        assert!(text.contains(&format!("failures=\"{}\"", failed + 1)), "{text}");
    }

    #[test]
    fn text_of_a_file_cannot_end_an_attribute() {
        assert_eq!(escaped("a\"/><b>&\u{1b}"), "a&quot;/&gt;&lt;b&gt;&amp;\u{fffd}");
    }
}
