//! A scenario for each section, and from them an example of each key.

use std::collections::BTreeMap;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Table, dotted};

/// By section, a scenario that runs.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("adapter", include_str!("examples/adapter.toml")),
    ("admission", include_str!("examples/admission.toml")),
    ("channel", include_str!("examples/channel.toml")),
    ("claim", include_str!("examples/claim.toml")),
    ("command", include_str!("examples/command.toml")),
    ("emulation", include_str!("examples/emulation.toml")),
    ("fault", include_str!("examples/fault.toml")),
    ("figure", include_str!("examples/figure.toml")),
    ("group", include_str!("examples/group.toml")),
    ("host", include_str!("examples/host.toml")),
    ("interface", include_str!("examples/interface.toml")),
    ("network", include_str!("examples/network.toml")),
    ("node", include_str!("examples/node.toml")),
    ("path", include_str!("examples/path.toml")),
    ("port", include_str!("examples/port.toml")),
    ("program", include_str!("examples/program.toml")),
    ("run", include_str!("examples/run.toml")),
    ("signalling", include_str!("examples/signalling.toml")),
    ("sweep", include_str!("examples/sweep.toml")),
    ("tune", include_str!("examples/tune.toml")),
    ("via", include_str!("examples/via.toml")),
];

/// Examples of texts and lists that no scenario above has.
const MORE: &[(&str, &str)] = &[
    ("format", "1"),
    ("title", "\"A camera beside a bulk transfer\""),
    ("about", "\"Where it comes from and how it is set up.\""),
    ("adapter.file", "\"nic-25g\""),
    ("adapter.interrupts", "[0, 1]"),
    ("adapter.resource.bus", "\"pci\""),
    ("admission.fill", "\"camera\""),
    ("channel.importance", "[7, 2, 2, 5, 2, 2]"),
    ("channel.process", "\"player\""),
    ("channel.route", "[\"camera-1\", \"hall\", \"recorder\"]"),
    ("channel.receivers.route", "[\"camera-1\", \"hall\", \"screen\"]"),
    ("channel.source.after", "\"pong\""),
    ("channel.source.pattern", "\"IBBPBBPBBPBB\""),
    ("channel.source.trace", "\"film.csv\""),
    ("claim.from", "\"T1542\""),
    ("claim.range", "\"speed\""),
    ("claim.reason", "\"the paper's host had a second processor\""),
    ("claim.same_as", "\"T6.5-hqos2\""),
    ("command.channel", "\"camera\""),
    ("fault.adapter", "\"left\""),
    ("figure.by", "\"policy\""),
    ("figure.marks.panel", "\"O2\""),
    ("figure.where", "{ policy = \"napi\" }"),
    ("group.NAME.within", "\"studio\""),
    ("interface.intervals", "\"st-apache\""),
    ("interface.node", "\"server\""),
    ("sweep.keys", "[\"channel.left.deadline\", \"channel.right.deadline\"]"),
    ("sweep.label", "\"offered load (packets/s)\""),
    ("sweep.setting", "\"50 us\""),
    ("tune.least", "\"latency.p99\""),
    ("tune.need.at_least", "0.5"),
    ("via.renegotiate.channel", "\"film\""),
    ("program.node", "\"server\""),
];

/// An example of a source of a number, which many tables have.
const SOURCE: &str = "\"own choice: 500 ns, assumed (300 ns to 1.5 us)\"";

/// Gives each key the value that it has in a scenario, where there is one.
pub(super) fn fill(tables: &mut [Table]) {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for (_, text) in EXAMPLES {
        let (document, _) = DeTable::parse_recoverable(text);
        collect(tables, 0, document.get_ref(), text, &mut values);
    }
    values.extend(MORE.iter().map(|(key, value)| ((*key).to_string(), (*value).to_string())));
    for table in tables.iter_mut() {
        for key in &mut table.keys {
            let path = full(&dotted(&table.paths[0]), &key.name);
            match values.get(&path) {
                Some(value) => key.example.clone_from(value),
                None if key.name == "source" && key.table.is_none() => key.example = SOURCE.into(),
                None => {}
            }
        }
    }
}

fn full(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_string() } else { format!("{table}.{key}") }
}

/// The values of the keys of `document`, which is the table of that number.
fn collect(
    tables: &[Table],
    number: usize,
    document: &DeTable<'_>,
    text: &str,
    values: &mut BTreeMap<String, String>,
) {
    let path = dotted(&tables[number].paths[0]);
    for (name, value) in document.iter() {
        let Some(key) = tables[number].key(name.get_ref()) else {
            // A name of the user's, under which the same keys stand.
            if let DeValue::Table(inner) = value.get_ref() {
                collect(tables, number, inner, text, values);
            }
            continue;
        };
        if let Some(table) = key.table {
            let inner: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
                DeValue::Array(items) => items.iter().collect(),
                _ => vec![value],
            };
            let tables_of = |value: &&Spanned<DeValue<'_>>| matches!(value.get_ref(), DeValue::Table(_));
            for value in inner.iter().copied().filter(tables_of) {
                if let DeValue::Table(inner) = value.get_ref() {
                    collect(tables, table, inner, text, values);
                }
            }
            if inner.iter().any(tables_of) {
                continue;
            }
        }
        let written = &text[value.span()];
        if !written.contains('\n') {
            values.entry(full(&path, name.get_ref())).or_insert_with(|| written.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_an_example_that_has_it() {
        let tables = super::super::tables();
        let sections = tables[0].keys.iter().filter(|key| key.table.is_some());
        for key in sections {
            let (_, text) = EXAMPLES
                .iter()
                .find(|(section, _)| *section == key.name)
                .unwrap_or_else(|| panic!("{} has no example", key.name));
            let (document, errors) = DeTable::parse_recoverable(text);
            assert!(errors.is_empty() && document.get_ref().contains_key(key.name.as_str()), "{}", key.name);
        }
    }

    #[test]
    fn an_example_is_the_value_of_a_scenario() {
        let tables = super::super::tables();
        let of = |path: &str, key: &str| {
            let table = tables.iter().find(|table| dotted(&table.paths[0]) == path).unwrap();
            table.key(key).unwrap().example.clone()
        };
        assert_eq!(of("adapter", "doorbell"), "\"300 ns\"");
        assert_eq!(of("host.subsystem", "preemption"), "2");
        assert_eq!(of("group.NAME", "rate"), "\"2 MB/s\"");
    }
}
