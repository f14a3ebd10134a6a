//! `laxity explain`: what a word means.

use std::collections::BTreeSet;

use laxity_report::glossary;
use laxity_world::text::clean;

use crate::Exit;
use crate::arguments::Explain;
use crate::terminal::Terminal;

pub(crate) fn explain(arguments: &Explain, terminal: &mut Terminal) -> Exit {
    if arguments.words.is_empty() {
        let names: BTreeSet<String> = glossary::terms().into_iter().map(|term| term.name).collect();
        names.iter().for_each(|name| terminal.line(name));
        return Exit::Holds;
    }
    // `laxity explain not judged` is one word in two.
    let word = arguments.words.join(" ");
    match glossary::explain(&word) {
        Ok(terms) => {
            for (i, term) in terms.iter().enumerate() {
                if i > 0 {
                    terminal.line("");
                }
                let shape = if term.shape.is_empty() { String::new() } else { format!(" [{}]", term.shape) };
                terminal.line(&format!("{}{shape}\n  {}\n  {}", term.name, term.means, term.place));
            }
            Exit::Holds
        }
        Err(near) => {
            let near = match near.is_empty() {
                true => "`laxity explain` lists all words".to_string(),
                false => format!("near it are {}", near.join(", ")),
            };
            terminal.error(&format!("nothing here is called `{}`; {near}", clean(&word)));
            Exit::BadInput
        }
    }
}
