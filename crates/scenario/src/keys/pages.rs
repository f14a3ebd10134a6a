//! The reference of a format as Markdown: for scenarios an index, and a page for each section.

use serde_json::Value;

use super::examples::EXAMPLES;
use super::{Key, Part, Table, dotted, tables, tables_of};

const MADE: &str = "<!-- Made by `cargo xtask generate` from crates/scenario/src/raw; do not edit. -->\n\n";

/// Each page: its path, and its text.
pub fn pages() -> Vec<(String, String)> {
    let tables = tables();
    let sections = tables[0].keys.iter().filter(|key| key.table.is_some());
    let pages =
        sections.map(|section| (format!("docs/scenario/{}.md", section.name), page(&tables, section)));
    [("docs/scenario.md".to_string(), index(&tables))].into_iter().chain(pages).collect()
}

/// One page with all tables of files with that schema, behind `front`.
pub fn page_of(schema: &Value, front: &str) -> String {
    let mut text = front.to_string();
    for (number, table) in tables_of(schema).iter().enumerate() {
        if number > 0 {
            text += &format!("\n## `{}`\n\n{}\n", heading(&table.paths[0]), table.means);
        }
        text += "\n";
        text += &rows(table.keys.iter());
        text += &words(table);
    }
    text
}

fn index(tables: &[Table]) -> String {
    let mut text = format!("# The format of scenarios\n\n{MADE}");
    text += "A scenario is a [TOML](https://toml.io) file with these sections. `laxity new` writes one to start from, \
             `laxity explain channel.deadline` prints what a key means, and [schema.json](schema.json) is the same for editors.\n\n\
             Quantities are texts with their unit: `\"40 ms\"`, `\"16 KiB\"`, `\"100 Mbit/s\"`. `k`, `M` and `G` are powers of 1000, \
             `Ki`, `Mi` and `Gi` of 1024. `NAME` in a path stands for a name of yours. A key marked * is needed.\n\n\
             ## Keys of the file itself\n\n";
    text += &rows(tables[0].keys.iter().filter(|key| key.table.is_none()));
    text += "\n## Sections\n\n| section | meaning |\n|---|---|\n";
    for key in tables[0].keys.iter().filter(|key| key.table.is_some()) {
        let means = cell(&key.means);
        text += &format!("| [`{}`](scenario/{}.md) | {means} |\n", header(tables, key), key.name);
    }
    text
}

/// How the table of a section begins.
fn header(tables: &[Table], section: &Key) -> String {
    let path = section.table.map(|table| &tables[table].paths[0]);
    path.map(|path| heading(path)).unwrap_or_default()
}

/// `[host]`, or `[[channel]]` for an item of a list.
fn heading(path: &[Part]) -> String {
    match path.last() {
        Some(part) if part.list => format!("[[{}]]", dotted(path)),
        _ => format!("[{}]", dotted(path)),
    }
}

fn page(tables: &[Table], section: &Key) -> String {
    let mut text = format!("# `{}`\n\n{MADE}{}", header(tables, section), section.means);
    if !section.default.is_empty() {
        text += &format!(" Default: {}.", section.default);
    }
    text += "\n";
    let within = |table: &&Table| table.paths[0].first().is_some_and(|part| part.name == section.name);
    // A table that other sections have, too, was found in the first of them.
    let mut own: Vec<&Table> = tables.iter().filter(within).collect();
    own.sort_by_key(|table| dotted(&table.paths[0]));
    for (number, table) in own.into_iter().enumerate() {
        let mut paths: Vec<String> = Vec::new();
        let here = |path: &&Vec<Part>| path.first().is_some_and(|part| part.name == section.name);
        for path in table.paths.iter().filter(here) {
            let heading = format!("`{}`", heading(path));
            if !paths.contains(&heading) {
                paths.push(heading);
            }
        }
        if number > 0 || paths.len() > 1 {
            text += &format!("\n## {}\n", paths.join(", "));
        }
        if number > 0 || table.means != section.means {
            text += &format!("\n{}\n", table.means);
        }
        text += "\n";
        text += &rows(table.keys.iter());
        text += &words(table);
    }
    if let Some((_, example)) = EXAMPLES.iter().find(|(name, _)| *name == section.name) {
        text += &format!("\n## Example\n\n```toml\n{}\n```\n", example.trim_end());
    }
    text
}

/// The words that keys of `table` take, a table a key.
fn words(table: &Table) -> String {
    let mut text = String::new();
    for key in table.keys.iter().filter(|key| !key.words.is_empty()) {
        text += &format!("\nWords of `{}`:\n\n| word | meaning |\n|---|---|\n", key.name);
        for (word, means) in &key.words {
            text += &format!("| `{word}` | {} |\n", cell(means));
        }
    }
    text
}

fn rows<'k>(keys: impl Iterator<Item = &'k Key>) -> String {
    let mut text = String::from("| key | value | default | meaning |\n|---|---|---|---|\n");
    for key in keys {
        let needed = if key.required { " *" } else { "" };
        let range = if key.range.is_empty() { String::new() } else { format!(", {}", key.range) };
        let example = match key.example.as_str() {
            "" => String::new(),
            example => format!("; as `{example}`"),
        };
        // The units stand in the index.
        let kind = key.kind.split(" with its unit").next().unwrap_or_default();
        let rest = key.kind.split_once(')').map_or("", |(_, rest)| rest);
        let value = format!("{kind}{rest}{range}{example}");
        text += &format!(
            "| `{}`{needed} | {} | {} | {} |\n",
            key.name,
            cell(&value),
            cell(&key.default),
            cell(&key.means)
        );
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_stands_on_the_page_of_its_section() {
        let pages = pages();
        for table in tables() {
            let section = table.paths[0]
                .first()
                .map_or("docs/scenario.md".into(), |part| format!("docs/scenario/{}.md", part.name));
            let (_, text) = pages.iter().find(|(path, _)| *path == section).unwrap();
            for key in &table.keys {
                let stands = text.contains(&format!("\n| `{}`", key.name))
                    || text.contains(&format!("/{}.md)", key.name));
                assert!(stands, "{} is not on {section}", key.name);
            }
        }
        assert!(pages.iter().all(|(path, text)| text.len() < 100_000 || panic!("{path} is too long")));
    }
}
