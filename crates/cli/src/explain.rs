//! `laxity explain`: what a key or a word means.

use std::collections::BTreeSet;

use laxity_report::glossary::{self, Term};
use laxity_scenario::keys::{self, Explained};
use laxity_world::text::clean;

use crate::Exit;
use crate::arguments::Explain;
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
    let (terms, keys) = (glossary::explain(&word), keys::explain(&word));
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

fn of_term(term: &Term) -> String {
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
    format!(
        "keys of scenarios; `laxity explain PATH` says more of one\n{}",
        lines.collect::<Vec<_>>().join("\n")
    )
}
