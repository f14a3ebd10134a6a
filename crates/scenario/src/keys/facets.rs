//! The description of one value of a schema, in words.

use serde_json::Value;

/// A table that may stand at a key.
pub(super) struct Inner {
    /// The name of its type.
    pub(super) definition: String,
    /// Right at the key.
    pub(super) own: bool,
    /// Under names of the user's.
    pub(super) named: bool,
}

/// The valid values of a key.
#[derive(Default)]
pub(super) struct Facets {
    kinds: Vec<String>,
    pub(super) range: String,
    pub(super) words: Vec<(String, String)>,
    pub(super) tables: Vec<Inner>,
    pub(super) list: bool,
    example: Option<String>,
}

impl Facets {
    pub(super) fn of(schema: &Value) -> Self {
        let mut facets = Self::default();
        facets.walk(schema);
        facets
    }

    fn walk(&mut self, schema: &Value) {
        if let Some(definition) = definition(schema) {
            self.kind("a table");
            self.tables.push(Inner { definition, own: true, named: false });
            return;
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            self.kind("a word");
            let word = |choice: &Value| (super::text(choice, "const"), super::text(choice, "description"));
            self.words.extend(choices.iter().map(word));
            self.like(&format!("\"{}\"", self.words.first().map_or("", |(word, _)| word)));
            return;
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            choices.iter().for_each(|choice| self.walk(choice));
            return;
        }
        match &schema["type"] {
            Value::String(kind) => self.typed(kind, schema),
            Value::Array(kinds) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                kinds.iter().for_each(|kind| self.typed(kind, schema));
            }
            _ => self.kind("any value"),
        }
    }

    fn typed(&mut self, kind: &str, schema: &Value) {
        if let example @ Value::Number(_) = &schema["examples"][0] {
            self.like(&example.to_string());
        }
        match kind {
            "array" => {
                self.walk(&schema["items"]);
                self.list = true;
            }
            "object" => self.table(schema),
            "boolean" => {
                self.kind("`true` or `false`");
                self.like("true");
            }
            "integer" => {
                self.kind("a whole number");
                match (&schema["minimum"], &schema["maximum"]) {
                    (_, Value::Null) => {}
                    (least, most) => self.range(&format!("{least} to {most}")),
                }
                self.like(&schema["minimum"].as_u64().map_or(1, |least| least.max(1)).to_string());
            }
            "number" => {
                self.kind("a number");
                match (&schema["minimum"], &schema["exclusiveMinimum"], &schema["maximum"]) {
                    (Value::Null, Value::Null, _) => {}
                    (Value::Null, least, most) => self.range(&format!("above {least}, to {most}")),
                    (least, _, most) => self.range(&format!("{least} to {most}")),
                }
                self.like("0.5");
            }
            "string" => self.string(schema),
            other => self.kind(other),
        }
    }

    fn string(&mut self, schema: &Value) {
        if let Some(quantity) = schema["x-quantity"].as_str() {
            let units = match quantity {
                "a time" => "ps, ns, us, ms, s, min, h",
                "a size" => "B, kB, MB, GB, KiB, MiB, GiB",
                _ => "bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s",
            };
            self.kind(&format!("{quantity} with its unit ({units})"));
            let [least, most] = ["x-minimum", "x-maximum"].map(|key| super::text(schema, key));
            if !most.is_empty() {
                self.range(&format!("{least} to {most}"));
            }
        } else if schema.get("pattern").is_some() {
            self.kind("a name");
        } else {
            self.kind("a text");
        }
        if let Some(example) = schema["examples"][0].as_str() {
            self.like(&format!("\"{example}\""));
        }
    }

    fn table(&mut self, schema: &Value) {
        let own = schema.get("properties").is_some();
        if let Some(definition) = definition(&schema["additionalProperties"]) {
            self.kind(if own { "a table, or tables by name" } else { "tables by name" });
            self.tables.push(Inner { definition, own, named: true });
        } else if own {
            let keys = schema["properties"].as_object().into_iter().flatten();
            let keys: Vec<String> = keys.map(|(key, _)| format!("`{key}`")).collect();
            self.kind(&format!("a table of {}", keys.join(" and ")));
        } else {
            self.kind("a table with keys of yours");
        }
    }

    fn kind(&mut self, kind: &str) {
        if !self.kinds.iter().any(|known| known == kind) {
            self.kinds.push(kind.to_string());
        }
    }

    fn range(&mut self, range: &str) {
        if self.range.is_empty() {
            self.range = range.to_string();
        }
    }

    fn like(&mut self, example: &str) {
        self.example.get_or_insert_with(|| example.to_string());
    }

    /// The valid values.
    pub(super) fn kind_in_words(&self) -> String {
        let kinds = self.kinds.join(" or ");
        if self.list { format!("a list; each is {kinds}") } else { kinds }
    }

    /// A value that may.
    pub(super) fn example(&self) -> String {
        let example = self.example.clone().unwrap_or_default();
        if self.list && !example.is_empty() { format!("[{example}]") } else { example }
    }
}

/// The type that a schema refers to.
fn definition(schema: &Value) -> Option<String> {
    schema["$ref"].as_str().and_then(|target| target.strip_prefix("#/$defs/")).map(String::from)
}
