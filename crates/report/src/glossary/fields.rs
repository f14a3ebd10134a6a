//! The fields of results, from the types themselves: a new field is explained without further work.

use laxity_world::metric::{self, Kind};
use laxity_world::results::{Results, Verdict};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::GlossaryTerm;

/// A kind of record, and how a script or a reader accesses it.
pub(super) struct Record {
    /// The type's name in the results.
    pub(super) kind: &'static str,
    /// The name in headings.
    pub(super) title: &'static str,
    /// How a claim accesses a record, or its place in the JSON file.
    pub(super) access: &'static str,
}

/// Records that scripts see, in the order in which they are met.
pub(super) const RECORDS: &[Record] = &[
    Record { kind: "Run", title: "A run", access: "`runs[0]`, each `r` of `runs`" },
    Record {
        kind: "Channel",
        title: "A channel",
        access: "`r.channel(\"name\")`, each of `r.channels`, `r.rt` (real time), `r.be` (best effort)",
    },
    Record {
        kind: "Summary",
        title: "A distribution",
        access: "`c.laxity`, `c.latency`, `c.sojourn`, `c.queueing`, `c.access`, `c.delivery`, `c.establishment`; a stage's `waited` and `served`, an application's `response`",
    },
    Record { kind: "Answer", title: "An answer of a node", access: "each of `r.answers`" },
    Record { kind: "Refused", title: "A refusal", access: "`c.refused`" },
    Record { kind: "Resource", title: "A resource", access: "`r.resource(\"cpu\")`, each of `r.resources`" },
    Record {
        kind: "Stage",
        title: "A stage of an adapter",
        access: "`r.stage(\"dma\")`, each of `r.stages`",
    },
    Record {
        kind: "Computation",
        title: "An application that computes",
        access: "`r.computation(\"video\")`, each of `r.computations`",
    },
    Record {
        kind: "RealTime",
        title: "Real time",
        access: "`r.real_time`; absent for a run in virtual time",
    },
    Record { kind: "Fitness", title: "Fitness of a run in real time", access: "`r.real_time.fitness`" },
    Record { kind: "Delays", title: "Delays of frames", access: "`r.real_time.delays`" },
    Record { kind: "Frames", title: "Frames of programs", access: "each of `r.real_time.frames`" },
    Record { kind: "Gap", title: "A stop of the platform", access: "each of `r.real_time.gaps`" },
];

/// Records that only files have.
pub(super) const OF_FILES: &[Record] = &[
    Record { kind: "Results", title: "Results", access: "`results` in the JSON file" },
    Record { kind: "Provenance", title: "Provenance", access: "`results.provenance` in the JSON file" },
    Record { kind: "Axis", title: "An axis of the sweep", access: "each of `results.axes` in the JSON file" },
    Record { kind: "AxisPoint", title: "A point of an axis", access: "each of an axis's `points`" },
    Record { kind: "Verdict", title: "A verdict", access: "each of `verdicts` in the JSON file" },
];

/// The fields of `record`, in the order of the type.
pub(super) fn of(record: &Record) -> Vec<GlossaryTerm> {
    let root = if record.kind == "Verdict" { schema::<Verdict>() } else { schema::<Results>() };
    let schema = match record.kind {
        "Results" | "Verdict" => &root,
        kind => &root["$defs"][kind],
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, field)| GlossaryTerm {
            name: name.clone(),
            place: format!("{}: {}", record.title.to_lowercase(), record.access),
            shape: shape(name, field),
            means: means(field),
        })
        .collect()
}

fn schema<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

/// The field's documentation as running text.
fn means(field: &Value) -> String {
    let text = field["description"].as_str().unwrap_or_default();
    let text = text
        .replace("[`", "`")
        .replace("`]", "`")
        .replace("Results::axes", "axes")
        .replace("`None`", "absent");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The kind of value, its unit, and whether it can be absent.
fn shape(name: &str, field: &Value) -> String {
    let is = |wanted: &str| match &field["type"] {
        Value::String(kind) => kind == wanted,
        Value::Array(kinds) => kinds.iter().any(|kind| kind == wanted),
        _ => false,
    };
    let choices = || field["anyOf"].as_array().into_iter().flatten();
    let optional = is("null") || choices().any(|choice| choice["type"] == "null");
    let record = |value: &Value| {
        let kind = value["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let known = RECORDS.iter().chain(OF_FILES).find(|record| record.kind == kind);
        known.map(|record| record.title.to_lowercase())
    };
    let word = match () {
        () if is("number") => unit(name).unwrap_or("number").to_string(),
        () if is("integer") => "count".into(),
        () if is("string") => "text".into(),
        () if is("boolean") => "true or false".into(),
        () if is("array") => {
            format!("list: {}", record(&field["items"]).unwrap_or_else(|| "counts".into()))
        }
        () if is("object") => "values by name".into(),
        () => {
            let referred = record(field).or_else(|| choices().find_map(record));
            referred.unwrap_or_else(|| "word".into())
        }
    };
    if optional { format!("{word}, or absent") } else { word }
}

/// The unit of a number of that name.
pub(super) fn unit(name: &str) -> Option<&'static str> {
    if let Some((_, number)) = metric::numbers().find(|(field, _)| field.name == name) {
        return Some(match number.kind {
            Kind::Time => "s",
            Kind::Rate => "bytes/s",
            Kind::Size => "bytes",
            Kind::Share => "share, 0 to 1",
            Kind::Count => "count",
        });
    }
    Some(match name {
        "utilisation" | "of_contract" | "stalled_share" | "latest_share" | "budget_share" | "progress"
        | "percentile_error" => "share, 0 to 1",
        "value" => "number in the unit of the axis's label",
        "curve" => "pairs of a share, 0 to 1, and seconds",
        "simulated" | "window" | "admissible" | "admissible_jitter" | "largest" | "min" | "mean"
        | "deviation" | "p1" | "p50" | "p99" | "p999" | "p9999" | "max" | "late_p50" | "late_p99"
        | "late_p999" | "late_max" | "stall_total" | "stall_longest" | "at" | "took" | "length"
        | "earliest" | "waited_p50" | "waited_p99" | "waited_max" | "longest_stop" | "latest" | "slack" => {
            "s"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_said_with_its_unit() {
        for record in RECORDS.iter().chain(OF_FILES) {
            let fields = of(record);
            assert!(!fields.is_empty(), "{} has no fields", record.kind);
            for field in fields {
                assert!(!field.means.is_empty(), "{}.{} is not documented", record.kind, field.name);
                assert!(!field.shape.starts_with("number,") && field.shape != "number", "{}", field.name);
            }
        }
    }

    #[test]
    fn every_record_of_the_results_is_listed() {
        let root = schema::<Results>();
        for kind in root["$defs"].as_object().unwrap().keys() {
            assert!(RECORDS.iter().chain(OF_FILES).any(|record| record.kind == kind), "{kind} is not listed");
        }
    }
}
