//! `laxity explain`: what a key or a word means.

use std::collections::BTreeSet;

use laxity_report::glossary::{self, GlossaryTerm};
use laxity_scenario::keys::{self, Explained};
use laxity_world::text::clean;

use crate::Exit;
use crate::arguments::Explain;
use crate::reference::node_schema;
use crate::terminal::Terminal;

/// Keys that are explained at length; of more each has a line.
const AT_LENGTH: usize = 3;

pub(crate) fn explain(arguments: &Explain, terminal: &mut Terminal) -> Exit {
    if arguments.words.is_empty() {
        let names: BTreeSet<String> = glossary::terms().into_iter().map(|term| term.name).collect();
        names.iter().for_each(|name| terminal.line(name));
        terminal
            .line("\nkeys of scenarios: laxity explain channel, or any other section, and docs/scenario.md");
        return Exit::Holds;
    }
    // `laxity explain not judged` is one word in two.
    let word = arguments.words.join(" ");
    let (terms, keys) = (glossary::explain(&word), all_keys(&word));
    // `channel.deadline` is a key and not every `deadline` that there is.
    let exact = word.contains('.') && keys.as_ref().is_ok_and(|keys| keys.iter().any(|key| key.path == word));
    let sections: Vec<String> = match (&terms, &keys) {
        (Err(terms), Err(keys)) => {
            let near: Vec<&str> = keys.iter().chain(terms).map(String::as_str).take(8).collect();
            let near = match near.is_empty() {
                true => "`laxity explain` lists all words".to_string(),
                false => format!("near it are {}", near.join(", ")),
            };
            terminal.error(&format!("nothing here is called `{}`; {near}", clean(&word)));
            return Exit::BadInput;
        }
        (terms, keys) => {
            let terms = terms.iter().flatten().filter(|_| !exact).map(of_term);
            let keys = keys.as_deref().unwrap_or_default();
            match keys.len() > AT_LENGTH {
                false => terms.chain(keys.iter().map(of_key)).collect(),
                true => terms.chain([briefly(keys)]).collect(),
            }
        }
    };
    terminal.line(&sections.join("\n\n"));
    Exit::Holds
}

/// The keys of scenarios and those of node files that `word` stands for, or else those near it.
fn all_keys(word: &str) -> Result<Vec<Explained>, Vec<String>> {
    let of_nodes = keys::explain_by(&node_schema(), word);
    let of_nodes = of_nodes.map(|mut keys| {
        keys.iter_mut().for_each(|key| key.path += " of a node file");
        keys
    });
    match (keys::explain(word), of_nodes) {
        (Ok(keys), Ok(others)) => Ok(keys.into_iter().chain(others).collect()),
        (Err(mut near), Err(others)) => {
            near.extend(others);
            Err(near)
        }
        (found, Err(_)) | (Err(_), found) => found,
    }
}

fn of_term(term: &GlossaryTerm) -> String {
    let shape = if term.shape.is_empty() { String::new() } else { format!(" [{}]", term.shape) };
    format!("{}{shape}\n  {}\n  {}", term.name, term.means, term.place)
}

fn of_key(key: &Explained) -> String {
    let mut lines = vec![key.path.clone(), format!("  {}", key.means)];
    let mut add = |what: &str, text: &str| {
        if !text.is_empty() {
            lines.push(format!("  {what:8} {text}"));
        }
    };
    add("value", &key.kind);
    add("range", &key.range);
    add("default", &key.default);
    add("needed", if key.required { "always" } else { "" });
    add("keys", &key.keys.join(", "));
    add("example", &key.example);
    add("also at", &key.also.join(", "));
    for (word, means) in &key.words {
        lines.push(format!("    {word:20} {means}"));
    }
    lines.join("\n")
}

fn briefly(keys: &[Explained]) -> String {
    let lines = keys.iter().map(|key| format!("  {:40} {}", key.path, key.means));
    format!("keys; `laxity explain PATH` says more of one\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use laxity_service::NodeFile;

    use super::*;

    /// The reference states the defaults in words, and the reader has them as values.
    #[test]
    fn defaults_of_node_files_are_those_of_the_reader() {
        let text = "name = \"a\"\nid = 1\nsecurity = \"none\"\n[[link]]\npeer = \"b\"\npeer_id = 2\n\
                    local = \"127.0.0.1:1\"\nremote = \"127.0.0.1:2\"\nrate = \"1 Gbit/s\"\n";
        let file = NodeFile::parse(text, Path::new(".")).unwrap();
        let (host, link) = (&file.host, &file.links[0]);
        for (key, value) in [
            ("lease", file.lease.to_string()),
            ("packet", file.packet.to_string()),
            ("host.delay", host.delay.to_string()),
            ("host.packet", host.packet.to_string()),
            ("host.idle", format!("`{:?}`", host.idle).to_lowercase()),
            ("host.awake", host.awake.to_string()),
            ("host.priority", host.priority.to_string()),
            ("host.places", host.places.to_string()),
            ("host.datagrams", host.datagrams.to_string()),
            ("link.mtu", link.mtu.to_string()),
            ("link.propagation", link.propagation.to_string()),
        ] {
            let keys = all_keys(key).unwrap();
            let path = format!("{key} of a node file");
            let explained = keys.iter().find(|key| key.path == path).unwrap();
            assert_eq!(explained.default, value, "{key}");
        }
    }
}
