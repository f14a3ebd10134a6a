//! A scenario's text without a run: errors, the document, the drawing, admission.

use laxity_scenario::Scenario;
use laxity_scenario::diagnostic::Diagnostics;
use laxity_world::experiment::Experiment;
use serde_json::{Map, Value, json};
use toml_edit::Item;

use crate::request::PathStep;
use crate::{admitted, drawing, edit};

/// Name of the scenario in messages.
const NAME: &str = "scenario.toml";

/// Points of a sweep that are listed by name.
const LISTED: usize = 500;

/// The scenario that `text` is.
pub(crate) fn scenario(text: &str) -> Result<Scenario, Diagnostics> {
    Scenario::from_text(NAME, text)
}

/// The experiment at the point of that number, and what the point is in words.
pub(crate) fn experiment(scenario: &Scenario, point: usize) -> Result<Experiment, String> {
    let index = scenario.points().nth(point).ok_or_else(|| format!("there is no point {point}"))?;
    Ok(scenario.experiment(&index))
}

pub(crate) fn design(text: &str, point: usize, advice: bool) -> Value {
    let document = edit::parse(text).ok();
    let written = document.as_ref().map(|document| edit::json(document.as_item()));
    let adapters = document.as_ref().map(|document| adapters(document.as_item())).unwrap_or_default();
    let scenario = match scenario(text) {
        Ok(scenario) => scenario,
        Err(diagnostics) => {
            return json!({
                "findings": diagnostics.findings(), "document": written, "adapters": adapters,
            });
        }
    };
    let total = scenario.points().count();
    let points: Vec<String> = scenario.points().take(LISTED).map(|point| scenario.describe(&point)).collect();
    // A text that lost an axis of its sweep has fewer points than before.
    let point = point.min(total - 1);
    let experiment = experiment(&scenario, point).expect("the number is below that of points");
    json!({
        "findings": [],
        "title": scenario.title,
        "document": written,
        "adapters": adapters,
        "points": points,
        "point": point,
        "drawing": drawing::drawing(&experiment),
        "admission": admitted::admission(&experiment, advice),
    })
}

/// Results of admission with each of `values` for the key at `path`; `null` where the text with
/// that value is not valid.
pub(crate) fn sweep(text: &str, point: usize, path: &[PathStep], values: &[Value]) -> Result<Value, String> {
    let of = |value: &Value| -> Result<Value, String> {
        let text = edit::set(text, path, value)?;
        let Ok(scenario) = scenario(&text) else { return Ok(Value::Null) };
        Ok(match experiment(&scenario, point) {
            Ok(experiment) => admitted::admission(&experiment, false)["channels"].take(),
            Err(_) => Value::Null,
        })
    };
    let all: Vec<Value> = values.iter().map(of).collect::<Result<_, _>>()?;
    Ok(json!({ "points": all }))
}

/// Adapters that the document describes: for each the path of its table, and its keys with those of
/// the file that it names.
fn adapters(document: &Item) -> Vec<Value> {
    let mut all = Vec::new();
    let mut add = |path: Vec<&str>, item: Option<&Item>| {
        let Some(item) = item.filter(|item| item.is_table_like()) else { return };
        if item.get("kind").is_some() || item.get("file").is_some() {
            all.push(json!({ "path": path, "table": whole(item) }));
        }
    };
    add(vec!["adapter"], document.get("adapter"));
    for (name, node) in document.get("node").and_then(Item::as_table_like).into_iter().flat_map(|t| t.iter())
    {
        let Some(adapter) = node.get("adapter") else { continue };
        add(vec!["node", name, "adapter"], Some(adapter));
        for (own, item) in adapter.as_table_like().into_iter().flat_map(|table| table.iter()) {
            add(vec!["node", name, "adapter", own], Some(item));
        }
    }
    all
}

/// The keys of an adapter, laid over those of its file if that is built in.
fn whole(item: &Item) -> Value {
    let own = edit::json(item);
    let file = item.get("file").and_then(Item::as_str).and_then(laxity_scenario::built_in_adapter);
    let file = file.and_then(|text| edit::parse(text).ok());
    let Some(common) = file.as_ref().and_then(|file| file.get("adapter")) else { return own };
    let mut common = edit::json(common);
    if let (Value::Object(common), Value::Object(own)) = (&mut common, own) {
        over(common, own);
    }
    common
}

fn over(common: &mut Map<String, Value>, own: Map<String, Value>) {
    for (key, value) in own {
        match (common.get_mut(&key), value) {
            (Some(Value::Object(beneath)), Value::Object(above)) => over(beneath, above),
            (_, value) => {
                common.insert(key, value);
            }
        }
    }
}
