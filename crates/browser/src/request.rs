//! The requests of a page.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{design, edit, simulated};

/// A request. Field `do` is the name in lower case.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum PageRequest {
    /// Everything that is known of a scenario without a run: errors with their places, the
    /// document, the drawing and the result of admission.
    Design {
        /// The scenario.
        text: String,
        /// Which point of its sweep.
        #[serde(default)]
        point: usize,
        /// Whether a refused channel gets advice, which takes many trials of admission.
        #[serde(default)]
        advice: bool,
    },
    /// A run of one point.
    Run {
        /// The scenario.
        text: String,
        /// Which point of its sweep.
        #[serde(default)]
        point: usize,
        /// Most events to simulate; all if there is none. A shorter run says `"whole": false`.
        events: Option<u64>,
        /// Whether queue lengths and the worst messages are recorded.
        #[serde(default)]
        watch: bool,
    },
    /// Results of admission for several values of one key.
    Sweep {
        /// The scenario.
        text: String,
        /// Which point of its own sweep.
        #[serde(default)]
        point: usize,
        /// The key.
        path: Vec<PathStep>,
        /// The values.
        values: Vec<Value>,
    },
    /// The text with one key set, or removed by `null`.
    Set {
        /// The scenario.
        text: String,
        /// The key.
        path: Vec<PathStep>,
        /// Its value.
        value: Value,
    },
    /// The text with the contents of the adapter's file in place of its name.
    Inline {
        /// The scenario.
        text: String,
        /// The adapter's table, such as `["adapter"]`.
        path: Vec<PathStep>,
    },
    /// The digest of a scenario's results, as 16 hexadecimal digits.
    Digest {
        /// The scenario.
        text: String,
    },
}

/// A step from a table to one of its keys, or from a list to one of its items.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum PathStep {
    /// An item of a list, counted from 0.
    Item(usize),
    /// A key of a table.
    Key(String),
}

impl PageRequest {
    /// The answer, or why there is none.
    pub(crate) fn answer(self) -> Result<Value, String> {
        match self {
            PageRequest::Design { text, point, advice } => Ok(design::design(&text, point, advice)),
            PageRequest::Run { text, point, events, watch } => simulated::run(&text, point, events, watch),
            PageRequest::Sweep { text, point, path, values } => design::sweep(&text, point, &path, &values),
            PageRequest::Set { text, path, value } => {
                edit::set(&text, &path, &value).map(|text| json!({ "text": text }))
            }
            PageRequest::Inline { text, path } => {
                edit::inline(&text, &path).map(|text| json!({ "text": text }))
            }
            PageRequest::Digest { text } => {
                crate::digest(text.as_bytes()).map(|digest| json!({ "digest": format!("{digest:016x}") }))
            }
        }
    }
}
