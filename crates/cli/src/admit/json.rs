//! An answer as JSON. Times are in seconds.

use laxity_lab::answer::{self, Answers};
use laxity_scenario::{PointIndex, Scenario};
use serde_json::{Value, json};

use super::{Answer, View};

/// All `answers`, each with the points that share it.
pub(super) fn points(scenario: &Scenario, answers: &[(Answer, Vec<PointIndex>)], view: &View<'_>) -> String {
    let answer = |(answer, points): &(Answer, Vec<PointIndex>)| {
        let experiment = scenario.experiment(&points[0]);
        let points: Vec<String> = points.iter().map(|point| scenario.describe(point)).collect();
        if let Some(answers) = &answer.of_nodes {
            return json!({ "points": points, "exit": answer.exit.code(), "answers": answers });
        }
        let Answers { channels, applications, exchanges, not_analysed } =
            answer::answers(&experiment, |name| view.shows(name));
        json!({
            "points": points, "exit": answer.exit.code(), "not_analysed": not_analysed,
            "channels": channels, "applications": applications, "exchanges": exchanges,
        })
    };
    let all: Vec<Value> = answers.iter().map(answer).collect();
    serde_json::to_string_pretty(&json!({ "answers": all })).expect("JSON is text")
}
