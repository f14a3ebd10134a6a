//! `laxity explain`: the keys that a path or a word stands for.

use serde_json::Value;

use super::{Key, NAME, Part, Table, dotted, tables, tables_of};
use crate::diagnostic::nearest;

/// A key explained, or a word that a key takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// `channel.deadline`; of a word `host.subsystem.cpu = "edf"`.
    pub path: String,
    /// Where else the key stands.
    pub also: Vec<String>,
    /// The meaning.
    pub means: String,
    /// The valid values, with the unit; empty for a word.
    pub kind: String,
    /// The least and the greatest value; empty if there is no such thing.
    pub range: String,
    /// Empty if none is stated.
    pub default: String,
    /// Whether the table needs it.
    pub required: bool,
    /// The words that it takes, and what each means.
    pub words: Vec<(String, String)>,
    /// The keys of the table that stands there.
    pub keys: Vec<String>,
    /// A line of a scenario.
    pub example: String,
}

/// The keys that `query` stands for: a path as in a scenario or a sweep, some parts of one, a key's
/// name, or a word that a key takes. If it stands for none, paths that are near it.
pub fn explain(query: &str) -> Result<Vec<Explained>, Vec<String>> {
    explain_in(&tables(), query)
}

/// The same for files with that schema.
pub fn explain_by(schema: &Value, query: &str) -> Result<Vec<Explained>, Vec<String>> {
    explain_in(&tables_of(schema), query)
}

fn explain_in(tables: &[Table], query: &str) -> Result<Vec<Explained>, Vec<String>> {
    let query = query.trim().trim_matches(['[', ']']).replace('"', "").to_lowercase();
    let parts: Vec<&str> = query.split('.').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return Err(Vec::new());
    }
    let entries = entries(tables);
    let found = found(&entries, &parts);
    if found.is_empty() {
        return Err(near(&entries, &parts));
    }
    Ok(found.into_iter().map(|entry| entry.explained(tables)).collect())
}

/// The keys whose path is `query`, or else the keys that match some parts of it.
fn found<'e, 't>(entries: &'e [Entry<'t>], query: &[&str]) -> Vec<&'e Entry<'t>> {
    let exact: Vec<_> = entries.iter().filter(|entry| entry.is_at(query)).collect();
    if !exact.is_empty() && query.len() > 1 {
        return exact;
    }
    let some = entries.iter().filter(|entry| entry.paths.iter().any(|path| holds(path, query)));
    exact.iter().copied().chain(some.filter(|entry| !entry.is_at(query))).collect()
}

/// A key, or a word that it takes, at all its paths.
struct Entry<'t> {
    paths: Vec<Vec<Part>>,
    key: &'t Key,
    word: Option<&'t (String, String)>,
}

fn entries(tables: &[Table]) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for table in tables {
        for key in &table.keys {
            let alias = key.table.and_then(|table| tables[table].paths.first()).and_then(|path| path.last());
            let alias = alias.map(|part| part.alias.clone()).unwrap_or_default();
            let part = Part { name: key.name.clone(), alias, list: key.list };
            let with = |path: &Vec<Part>| path.iter().cloned().chain([part.clone()]).collect::<Vec<_>>();
            let paths: Vec<Vec<Part>> = table.paths.iter().map(with).collect();
            for word in &key.words {
                let last = Part { name: word.0.clone(), alias: String::new(), list: false };
                let with = |path: &Vec<Part>| path.iter().cloned().chain([last.clone()]).collect();
                entries.push(Entry { paths: paths.iter().map(with).collect(), key, word: Some(word) });
            }
            entries.push(Entry { paths, key, word: None });
        }
    }
    entries
}

impl Entry<'_> {
    /// Whether `query` is one of its paths, as a scenario or a sweep writes it.
    fn is_at(&self, query: &[&str]) -> bool {
        self.paths.iter().any(|path| is(path, query))
    }

    fn explained(&self, tables: &[Table]) -> Explained {
        let key = self.key;
        let paths = self.paths.iter().map(|path| {
            let path = &path[..path.len() - usize::from(self.word.is_some())];
            dotted(path)
        });
        let mut paths: Vec<String> = paths.collect();
        let first = paths.remove(0);
        if let Some((word, means)) = self.word {
            let line = if key.list {
                format!("{} = [\"{word}\"]", key.name)
            } else {
                format!("{} = \"{word}\"", key.name)
            };
            return Explained {
                path: format!("{first} = \"{word}\""),
                also: paths,
                means: means.clone(),
                kind: String::new(),
                range: String::new(),
                default: String::new(),
                required: false,
                words: Vec::new(),
                keys: Vec::new(),
                example: line,
            };
        }
        let keys = key.table.map(|table| tables[table].keys.iter().map(|key| key.name.clone()).collect());
        let example = match (key.example.as_str(), key.list) {
            ("", true) => format!("[[{first}]]"),
            ("", false) => match key.table.map(|table| dotted(&tables[table].paths[0])) {
                Some(path) if path.ends_with(NAME) => format!("[{path}]"),
                _ => format!("[{first}]"),
            },
            (value, _) => format!("{} = {value}", key.name),
        };
        Explained {
            path: first,
            also: paths,
            means: key.means.clone(),
            kind: key.kind.clone(),
            range: key.range.clone(),
            default: key.default.clone(),
            required: key.required,
            words: key.words.clone(),
            keys: keys.unwrap_or_default(),
            example,
        }
    }
}

/// Whether `query` is `path`, with a name where one belongs; in a list the name or place of an item
/// may stand.
fn is(path: &[Part], query: &[&str]) -> bool {
    match (path, query) {
        ([], []) => true,
        ([part, path @ ..], [word, query @ ..]) => {
            let here = part.name == NAME || part.name == *word;
            let item = part.list && !path.is_empty() && query.len() > 1;
            here && (is(path, query) || item && is(path, &query[1..]))
        }
        _ => false,
    }
}

/// Whether `path` ends as `query` does and has the other parts of it in order.
fn holds(path: &[Part], query: &[&str]) -> bool {
    let named = |part: &Part, word: &str| part.name == word || !part.alias.is_empty() && part.alias == word;
    let (Some((last, path)), Some((word, query))) = (path.split_last(), query.split_last()) else {
        return false;
    };
    let mut parts = path.iter();
    named(last, word) && query.iter().all(|word| parts.any(|part| named(part, word)))
}

/// Paths of keys that are near `query`.
fn near(entries: &[Entry<'_>], query: &[&str]) -> Vec<String> {
    let Some((last, table)) = query.split_last() else { return Vec::new() };
    let keys: Vec<&Entry<'_>> = entries.iter().filter(|entry| entry.word.is_none()).collect();
    let inside = |entry: &&&Entry<'_>| {
        entry.paths.iter().any(|path| path.split_last().is_some_and(|(_, above)| is(above, table)))
    };
    let beside: Vec<&&Entry<'_>> = keys.iter().filter(inside).collect();
    let paths = |among: &[&&Entry<'_>]| -> Vec<String> {
        let close = nearest(last, among.iter().map(|entry| entry.key.name.as_str()));
        let of = among.iter().filter(|entry| Some(entry.key.name.as_str()) == close);
        of.map(|entry| dotted(&entry.paths[0])).collect()
    };
    let mut near = if table.is_empty() { Vec::new() } else { paths(&beside) };
    if near.is_empty() {
        near = paths(&keys.iter().collect::<Vec<_>>());
    }
    near.truncate(6);
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(query: &str) -> Vec<String> {
        explain(query)
            .unwrap_or_else(|near| panic!("{query}: {near:?}"))
            .into_iter()
            .map(|key| key.path)
            .collect()
    }

    #[test]
    fn a_path_is_found_as_it_is_written_anywhere() {
        for (query, path) in [
            ("channel.deadline", "channel.deadline"),
            ("[[channel]]", "channel"),
            ("channel.video.source.rate", "channel.source.rate"),
            ("adapter.response_queue.0.delay", "adapter.response_queue.delay"),
            ("adapter.transmit.link.phase.1.fixed", "adapter.receive.phase.fixed"),
            ("node.camera.host.speedup", "host.speedup"),
            ("node.camera.host.subsystem.link.depth", "host.subsystem.link.depth"),
            ("network.hall.impairments.loss", "network.impairments.loss"),
            ("node.gate.adapter.left.response_queue.delay", "adapter.response_queue.delay"),
            ("host.poll", "host.costs.poll"),
            ("adapter.stage.phase", "adapter.receive.phase"),
            ("interface.policy.napi", "interface.policy = \"napi\""),
        ] {
            assert!(paths(query).contains(&path.to_string()), "{query}: {:?}", paths(query));
        }
        assert_eq!(paths("channel.deadline"), ["channel.deadline"]);
    }

    #[test]
    fn a_key_has_its_unit_range_default_and_example() {
        let key = &explain("channel.source.phase").unwrap()[0];
        assert_eq!(key.default, "`0 us`");
        let key = &explain("channel.min_interval").unwrap()[0];
        assert_eq!(key.range, "1 ns to 1 h");
        assert!(key.kind.contains("a time with its unit"), "{key:?}");
        assert_eq!(key.example, "min_interval = \"40 ms\"");
        let key = &explain("host.cores").unwrap()[0];
        assert_eq!((key.range.as_str(), key.default.as_str()), ("1 to 64", "1"));
        assert!(explain("channel.name").unwrap()[0].required);
    }

    #[test]
    fn every_key_is_found_by_its_path() {
        let tables = tables();
        let entries = entries(&tables);
        for entry in entries.iter().filter(|entry| entry.word.is_none()) {
            for path in &entry.paths {
                let query: Vec<&str> = path.iter().map(|part| part.name.as_str()).collect();
                let found = found(&entries, &query);
                assert!(found.iter().any(|found| std::ptr::eq(*found, entry)), "{}", dotted(path));
            }
        }
    }

    #[test]
    fn what_is_near_is_suggested() {
        assert_eq!(explain("channel.dedline").unwrap_err(), ["channel.deadline"]);
        assert!(explain("speedupp").unwrap_err().contains(&"host.speedup".to_string()));
        assert!(explain("xyzzy").unwrap_err().is_empty());
        assert!(explain("").unwrap_err().is_empty());
    }
}
