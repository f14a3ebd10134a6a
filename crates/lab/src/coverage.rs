//! Which combinations of host, adapter, medium and discipline have a bound, by which proof, or the
//! reason why none has.
//!
//! A page written by hand is wrong after the next proof. So each cell is a scenario of its own,
//! which is read and submitted to admission like any other. The format supplies the words of the
//! rows, so a new discipline has a row as soon as a file can name it.

mod systems;

use std::fmt::Write;

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_scenario::keys::explain;
use laxity_world::promise::{Promise, promises, proofs};

/// One table of the page.
struct Section {
    title: &'static str,
    about: &'static str,
    /// The heading of the first column, and those of the others.
    head: (&'static str, Vec<String>),
    /// The name of each row, and the scenario of each cell with the hop of its first channel.
    rows: Vec<(String, Vec<(String, usize)>)>,
}

/// The proof of a cell, or the reason why there is none.
type Answer = Result<Vec<&'static str>, String>;

/// The page as Markdown.
pub fn markdown() -> String {
    let mut text = String::from("# Which systems have a bound\n\n");
    text += "<!-- Made by `cargo xtask generate` from crates/lab/src/coverage.rs; do not edit. -->\n\n";
    text += "Each cell is a scenario with one real-time channel and one channel of best effort, which admission was asked about.\n\
             A cell has the modules whose proofs give the bound, or the number of the reason why there is no bound. The\n\
             reasons stand at the end. [design/admission.md](design/admission.md) explains the proofs.\n\n";
    let mut reasons: Vec<String> = Vec::new();
    for section in systems::all() {
        let Section { title, about, head: (first, columns), rows } = section;
        let _ = write!(text, "## {title}\n\n{about}\n\n| {first} | {} |\n", columns.join(" | "));
        text += &format!("|{}\n", "---|".repeat(columns.len() + 1));
        for (name, cells) in rows {
            let cells: Vec<String> = cells
                .iter()
                .map(|(file, hop)| match answer(file, *hop) {
                    Ok(proofs) => {
                        proofs.iter().map(|proof| format!("`{proof}`")).collect::<Vec<_>>().join(" ")
                    }
                    Err(reason) => format!("no: {}", number(&mut reasons, reason)),
                })
                .collect();
            let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
        }
        text += "\n";
    }
    text += "## Reasons\n\n| number | reason |\n|---|---|\n";
    for (number, reason) in reasons.iter().enumerate() {
        let _ = writeln!(text, "| {} | {} |", number + 1, reason.replace('|', "\\|"));
    }
    text
}

/// The number of `reason`, which is added if it is new.
fn number(reasons: &mut Vec<String>, reason: String) -> usize {
    let known = reasons.iter().position(|other| *other == reason);
    known.unwrap_or_else(|| {
        reasons.push(reason);
        reasons.len() - 1
    }) + 1
}

/// The proofs of the bound that the first channel of the scenario `file` has at a hop.
///
/// Panics if admission refuses the channel for its numbers: such a cell gives no information about
/// the combination.
fn answer(file: &str, hop: usize) -> Answer {
    let scenario = match Scenario::from_text("combination.toml", file) {
        Ok(scenario) => scenario,
        Err(errors) => {
            let first = errors.iter().next().map(|error| error.reason().to_string()).unwrap_or_default();
            return Err(format!("not a valid scenario: {first}"));
        }
    };
    let experiment = scenario.first();
    let promised = promises(&experiment, Formula::Corrected).map_err(|why| why.sentence().to_string())?;
    match &promised.channels[0] {
        Promise::Admitted(_) | Promise::Received(_) | Promise::Connected(_) => {
            let station = experiment.channels[0].route.get(hop).copied().unwrap_or(0);
            proofs(&experiment, station).map_err(|why| why.sentence().to_string())
        }
        Promise::Unbounded(why, _) => Err(why.sentence().to_string()),
        // No numbers help for ticks that can follow each other at once, nor for a processor that
        // waits for each transfer beside best effort that posts again at once.
        Promise::Unreceived(refusal) => Err(refusal.missing.to_string()),
        Promise::Unconnected(why) | Promise::Unkept(why) => Err(why.clone()),
        Promise::Likely(_) => Err("a chance is no bound".into()),
        Promise::Refused(refused) => panic!("{}\n{file}", refused.in_words(&experiment)),
        Promise::BestEffort => panic!("the first channel is not of real time\n{file}"),
    }
}

/// The words that the key at `path` takes.
fn words(path: &str) -> Vec<String> {
    let found = explain(path).unwrap_or_else(|near| panic!("there is no key {path}, but {near:?}"));
    found[0].words.iter().map(|(word, _)| word.clone()).collect()
}

#[cfg(test)]
mod tests {
    use laxity_world::promise::Uncovered;

    use super::*;

    #[test]
    fn every_reason_names_a_key_that_is_explained() {
        for why in Uncovered::ALL {
            assert!(explain(why.key()).is_ok(), "{}: {}", why.code(), why.key());
        }
    }

    /// Every discipline has a row, and the page has both bounds and reasons.
    #[test]
    fn the_page_has_every_discipline() {
        let text = markdown();
        for order in words("host.subsystem.cpu") {
            assert!(text.contains(&format!("| `{order}` |")), "{order}\n{text}");
        }
        assert!(text.contains("`station::window`") && text.contains("`reception::bound`"), "{text}");
        assert!(text.contains("| 1 | "), "{text}");
    }
}
