//! The keys of a format as data: the reference in docs/scenario, that of node files and `laxity
//! explain` are made from here.
//!
//! All of it is from a schema, which the raw types generate, so the reference cannot differ from
//! the reader. A type at several places is one [`Table`] with several paths.

mod examples;
mod facets;
mod find;
mod pages;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::schema;
use facets::{Facets, Inner};
pub use find::{Explained, explain, explain_by};
pub use pages::{page_of, pages};

/// The part of a path that stands for a name of the user's.
const NAME: &str = "NAME";

/// A key.
#[derive(Debug, Clone, Default)]
struct Key {
    name: String,
    /// The meaning, without the default.
    means: String,
    /// The valid values, in words.
    kind: String,
    /// The least and the greatest value; empty if there is no such thing.
    range: String,
    /// Empty if none is stated.
    default: String,
    required: bool,
    /// Each word that it takes, and what the word means.
    words: Vec<(String, String)>,
    /// The number of the table that stands there.
    table: Option<usize>,
    /// Whether it is a list of tables.
    list: bool,
    /// An example of its value.
    example: String,
}

/// A part of a path: a key, and what the table there is called.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    name: String,
    /// `stage` of `adapter.transmit`; empty for a value.
    alias: String,
    list: bool,
}

/// A table of the format.
#[derive(Debug, Clone, Default)]
struct Table {
    /// Where it may stand; empty for the file itself.
    paths: Vec<Vec<Part>>,
    means: String,
    keys: Vec<Key>,
}

impl Table {
    fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// The path as it is written: `channel.source.kind`.
fn dotted(path: &[Part]) -> String {
    path.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".")
}

/// The tables of scenarios, the file itself first.
fn tables() -> Vec<Table> {
    let mut tables = tables_of(&schema());
    examples::fill(&mut tables);
    tables
}

/// All tables of a schema, the file itself first.
fn tables_of(schema: &Value) -> Vec<Table> {
    let mut builder = Builder { schema, tables: Vec::new(), known: BTreeMap::new(), edges: Vec::new() };
    let file = builder.table("", schema);
    builder.place(file, Vec::new());
    let mut tables = builder.tables;
    for table in &mut tables {
        // The plainest first: a node's own host is described as the host of all.
        table.paths.sort_by_key(Vec::len);
    }
    tables
}

struct Builder<'s> {
    schema: &'s Value,
    tables: Vec<Table>,
    known: BTreeMap<String, usize>,
    /// Which table stands in which, and under which parts of a path.
    edges: Vec<(usize, Vec<Part>, usize)>,
}

impl Builder<'_> {
    /// The table of the type called `definition`.
    fn table(&mut self, definition: &str, schema: &Value) -> usize {
        if let Some(&number) = self.known.get(definition) {
            return number;
        }
        let number = self.tables.len();
        self.known.insert(definition.to_string(), number);
        self.tables.push(Table { paths: Vec::new(), means: text(schema, "description"), keys: Vec::new() });
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut keys: Vec<Key> = Vec::new();
        for (name, value) in schema["properties"].as_object().into_iter().flatten() {
            let facets = Facets::of(value);
            let (means, default) = split_default(&text(value, "description"));
            let mut key = Key {
                name: name.clone(),
                means,
                kind: facets.kind_in_words(),
                range: facets.range.clone(),
                default,
                required: required.contains(&name.as_str()),
                example: facets.example(),
                words: facets.words,
                list: facets.list,
                table: None,
            };
            for Inner { definition, own, named } in facets.tables {
                let inner = self.table(&definition, &self.schema["$defs"][&definition]);
                key.table = Some(inner);
                let alias = snake(&definition);
                let part = Part { name: name.clone(), alias: alias.clone(), list: facets.list };
                if own {
                    self.edges.push((number, vec![part.clone()], inner));
                }
                if named {
                    let name = Part { name: NAME.into(), alias, list: false };
                    self.edges.push((number, vec![part, name], inner));
                }
            }
            keys.push(key);
        }
        keys.sort_by_key(|key| !key.required);
        self.tables[number].keys = keys;
        number
    }

    /// Gives the table `number`, which stands at `path`, that path, and those within it theirs.
    fn place(&mut self, number: usize, path: Vec<Part>) {
        let inner: Vec<(Vec<Part>, usize)> = self
            .edges
            .iter()
            .filter(|(outer, ..)| *outer == number)
            .map(|(_, parts, inner)| (path.iter().chain(parts).cloned().collect(), *inner))
            .collect();
        self.tables[number].paths.push(path);
        for (path, number) in inner {
            self.place(number, path);
        }
    }
}

/// A text of a schema on one line.
fn text(schema: &Value, key: &str) -> String {
    schema[key].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `RawCommandQueue` as `command_queue`.
fn snake(definition: &str) -> String {
    let mut snake = String::new();
    for letter in definition.trim_start_matches("Raw").chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// The description without what it says of the default, and that.
fn split_default(text: &str) -> (String, String) {
    let sentences = sentences(text);
    let is_default = |sentence: &&str| sentence.starts_with("Default");
    let default: Vec<&str> = sentences.iter().copied().filter(is_default).collect();
    let rest: Vec<&str> = sentences.iter().copied().filter(|sentence| !is_default(sentence)).collect();
    let default = default.join(" ");
    let default = default.trim_start_matches("Default").trim_start_matches(':').trim().trim_end_matches('.');
    (rest.join(" "), default.to_string())
}

/// The sentences of `text`: a full stop ends one before a blank, outside of code.
fn sentences(text: &str) -> Vec<&str> {
    let (mut found, mut from, mut code) = (Vec::new(), 0, false);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'`' => code = !code,
            b'.' if !code && bytes.get(at + 1).is_none_or(|next| *next == b' ') => {
                found.push(text[from..=at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    if !text[from..].trim().is_empty() {
        found.push(text[from..].trim());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_is_told_apart_from_the_meaning() {
        let (means, default) = split_default("How long. Default `0.5 us`; with a ring, 0.25. At least 0.01.");
        assert_eq!(means, "How long. At least 0.01.");
        assert_eq!(default, "`0.5 us`; with a ring, 0.25");
        assert_eq!(split_default("A name.").1, "");
    }

    #[test]
    fn every_key_says_what_it_means_and_has_an_example() {
        for table in tables() {
            for key in &table.keys {
                let path = format!("{}.{}", dotted(&table.paths[0]), key.name);
                assert!(!key.means.is_empty() && !key.kind.is_empty(), "{path}: {key:?}");
                assert!(key.table.is_some() || !key.example.is_empty(), "{path} has no example");
            }
        }
    }

    #[test]
    fn a_type_that_stands_at_two_places_is_one_table() {
        let tables = tables();
        let paths = |path: &str| {
            let table = tables.iter().find(|table| dotted(&table.paths[0]) == path).unwrap();
            table.paths.iter().map(|path| dotted(path)).collect::<Vec<_>>()
        };
        assert_eq!(paths("host"), ["host", "node.NAME.host"]);
        assert_eq!(
            paths("adapter.receive"),
            [
                "adapter.receive",
                "adapter.transmit",
                "node.NAME.adapter.receive",
                "node.NAME.adapter.transmit",
                "node.NAME.adapter.NAME.receive",
                "node.NAME.adapter.NAME.transmit"
            ]
        );
        assert_eq!(paths("network"), ["network", "network.NAME"]);
        assert_eq!(paths("group.NAME"), ["group.NAME"]);
    }
}
