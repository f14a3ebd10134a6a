//! Every word of Laxity's output: fields, metrics, columns, verdicts, and the functions of scripts.
//!
//! Each description is read from the definition of the word, in the types of results and the tables
//! that print them, so the two cannot diverge. `laxity explain` and the generated references in
//! docs/ are made from here.

mod fields;
mod terms;
mod words;

use std::collections::BTreeSet;

#[cfg(test)]
use crate::claims;
use fields::{OF_FILES, RECORDS, Record};
use laxity_scenario::diagnostic::nearest;
use laxity_world::metric::{self, metrics};
use laxity_world::{causes, figures};
use terms::TERMS;
use words::{COLUMNS, HELPERS, NOTIONS, OF_SCRIPTS, VERDICTS};

/// A word explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlossaryTerm {
    /// The word.
    pub name: String,
    /// Of what, and how to get at it.
    pub place: String,
    /// The kind of value, with its unit; empty for a word without a value.
    pub shape: String,
    /// The meaning, and when the value is absent.
    pub means: String,
}

fn term(name: &str, place: &str, shape: &str, means: &str) -> GlossaryTerm {
    GlossaryTerm { name: name.into(), place: place.into(), shape: shape.into(), means: means.into() }
}

/// Every word, in the order of the references; a word with several meanings is listed several
/// times.
pub fn terms() -> Vec<GlossaryTerm> {
    let mut terms: Vec<GlossaryTerm> =
        VERDICTS.iter().map(|(name, means)| term(name, "a verdict", "", means)).collect();
    terms.extend(TERMS.iter().map(|(name, means)| term(name, "a term of a bound", "", means)));
    terms.extend(NOTIONS.iter().map(|(name, means)| term(name, "a notion", "", means)));
    terms.extend(RECORDS.iter().flat_map(fields::of));
    terms.extend(OF_SCRIPTS.iter().map(|(name, shape, means)| term(name, "claims", shape, means)));
    terms.extend(HELPERS.iter().map(|(name, means, _)| term(name, "a function of claims", "", means)));
    let causes = causes::ALL.iter();
    terms.extend(causes.map(|(_, name, means)| term(name, "a cause of drops: `c.drops`", "count", means)));
    let figures = figures::ALL.iter();
    terms.extend(figures.map(|(name, means)| {
        let place = format!("a figure: `r.figures.{name}`; `{name}@1` at the second node");
        term(name, &place, "number, or absent if nothing of the kind happened", means)
    }));
    terms.extend(metrics().into_iter().map(|(name, means)| {
        let column = name.replace('.', "_");
        let place = format!(
            "a metric: `{name}` on a figure's axis, `{column}` in the Parquet file if it is measured"
        );
        term(&name, &place, "", &means)
    }));
    terms.extend(
        columns().into_iter().map(|(table, title, means)| {
            term(title, &format!("a column of the table of {table}"), "", &means)
        }),
    );
    terms.extend(OF_FILES.iter().flat_map(fields::of));
    terms
}

/// Columns of tables in the terminal and the report: table, title, meaning. Those of channels are
/// read from the declaration of their numbers.
pub(crate) fn columns() -> Vec<(&'static str, &'static str, String)> {
    let channel = RECORDS.iter().find(|record| record.kind == "Channel").map(fields::of).unwrap_or_default();
    let means = |name: &str| channel.iter().find(|field| field.name == name).map(|field| field.means.clone());
    let numbers = metric::numbers().map(|(field, number)| {
        (number.column, format!("{} `{}`.", means(field.name).unwrap_or_default(), field.name))
    });
    let statistics = metric::distributions().flat_map(|(field, distribution)| {
        distribution.columns.iter().map(move |(statistic, column)| {
            let label = metric::statistic(statistic).map_or("", |statistic| statistic.label);
            let what = format!("{label} {}", distribution.label);
            (*column, format!("{} in the window. `{}.{statistic}`.", sentence(&what), field.name))
        })
    });
    let mut of_channels: Vec<_> = numbers.chain(statistics).collect();
    of_channels.sort_by_key(|(column, _)| column.seat);
    let of_channels = of_channels.into_iter().map(|(column, means)| ("channels", column.title, means));
    let others = COLUMNS.iter().map(|(table, title, means)| (*table, *title, (*means).to_string()));
    of_channels.chain(others).collect()
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The meanings of `word`, or similar words if it has none.
pub fn explain(word: &str) -> Result<Vec<GlossaryTerm>, Vec<String>> {
    let wanted = word.trim().to_lowercase();
    // As it is written in a script, a figure or a file.
    let bare = figures::plain(wanted.rsplit(['.', ':']).next().unwrap_or(&wanted));
    let all = terms();
    let named = |name: &str| -> Vec<GlossaryTerm> {
        let is = |term: &&GlossaryTerm| {
            let known = term.name.to_lowercase();
            known == name || known.replace('.', "_") == name || known.split(" (").next() == Some(name)
        };
        all.iter().filter(is).cloned().collect()
    };
    // A heading has spaces where the figure of a run has `_`.
    for name in [wanted.as_str(), &wanted.replace('_', " "), &wanted.replace(' ', "_"), bare] {
        let found = named(name);
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let names: BTreeSet<&str> = all.iter().map(|term| term.name.as_str()).collect();
    let close = nearest(&wanted, names.iter().copied()).map(String::from);
    let within = names.iter().filter(|name| wanted.len() > 2 && name.to_lowercase().contains(&wanted));
    let mut near: Vec<String> = close.into_iter().chain(within.map(|name| (*name).to_string())).collect();
    near.dedup();
    near.truncate(8);
    Err(near)
}

const MADE: &str = "<!-- Made by `cargo xtask generate` from crates/report; do not edit. -->\n\n";

/// The reference of claims, as Markdown.
pub fn claims_reference() -> String {
    let mut text = format!("# What a claim can say\n\n{MADE}");
    text += "A claim is a [Rhai](https://rhai.rs) expression over finished results; `holds` decides it and `shows` gives the figures. \
             `laxity explain WORD` prints any of this.\n\
             \n\
             Comparing an absent value has no answer, and the claim is *not judged*: neither green nor red. The amount carried by a \
             channel without sent messages has no answer either, except that it adds zero to a sum and is not more than anything. An \
             unknown name is an error, found before anything runs. Times are in seconds and sizes in bytes; `/` divides really.\n\
             \n\
             Tests of the elements of an *empty* list have no answer either: `all`, `any`, `filter`, `find`, `contains`, `index_of`, \
             `reduce`, a `for` loop (over `0..xs.len()`, too), `==` of two of them. A filter that leaves no element of a non-empty list \
             has tested each, so `rt.filter(|c| c.refused == () && c.worst > c.bound).len() == 0` holds where no channel satisfies both; \
             `rt.filter(|c| c.refused == ()).filter(|c| c.worst > c.bound).len() == 0` tests the admitted channels, and is not judged \
             without any. `len()` of any list is a number: a script that accepts an empty list uses it, `xs.len() == 0 || xs.all(…)`.\n\
             \n\
             ```toml\n\
             [[claim]]\n\
             id = \"on-time\"\n\
             says = \"Every frame is sent by its deadline\"\n\
             holds = 'runs.all(|r| r.rt.all(|c| c.on_time == 1 && c.worst <= c.bound))'\n\
             shows = 'ms(runs[0].channel(\"camera\").worst)'\n\
             ```\n\
             \n\
             ## Functions\n\
             \n\
             | name | what it is | for example |\n\
             |---|---|---|\n\
             ";
    for (name, means, example) in HELPERS {
        text += &row(&[&code(name), means, &code(example)]);
    }
    for record in RECORDS {
        text += &section(record);
        if record.kind == "Run" {
            for (name, shape, means) in OF_SCRIPTS.iter().filter(|(name, ..)| *name != "total") {
                text += &row(&[&code(name), shape, means]);
            }
        }
    }
    text += "\n## Causes of drops\n\n`c.drops.message_queue`; `c.drops.total` is all of them.\n\n| name | why |\n|---|---|\n";
    for (_, name, means) in causes::ALL {
        text += &row(&[&code(name), means]);
    }
    text += "\n\
             ## Figures\n\
             \n\
             `r.figures.admitted`; with `@1` behind the name at the second node. Absent if there was no event of the kind.\n\
             \n\
             | name | what it is |\n\
             |---|---|\n\
             ";
    for (name, means) in figures::ALL {
        text += &row(&[&code(name), means]);
    }
    text
}

/// The glossary, as Markdown.
pub fn glossary() -> String {
    let mut text = format!("# Glossary\n\n{MADE}");
    text += "Words of tables, reports and files. [claims.md](claims.md) has the fields that claims see; they are also those of the JSON \
             file, in the same nesting.\n\n## Verdicts\n\n| word | what it means |\n|---|---|\n";
    for (name, means) in VERDICTS {
        text += &row(&[name, means]);
    }
    text += "\nOther exit codes: 2 if the input is bad (a scenario, an argument, a script), 3 if the work could not be done.\n\n## Notions\n\n\
             | word | what it means |\n|---|---|\n";
    for (name, means) in NOTIONS {
        text += &row(&[name, means]);
    }
    text += "\n## Terms of bounds\n\nThe lines of `laxity admit --terms`.\n\n| term | what it means |\n|---|---|\n";
    for (name, means) in TERMS {
        text += &row(&[name, means]);
    }
    text += "\n## Metrics\n\nOn a figure's axis under this name (`y = \"laxity.min\"`), in the Parquet file with `_` for `.`; seconds, bytes, bytes \
             per second.\n\n| name | what it is |\n|---|---|\n";
    for (name, means) in metrics() {
        text += &row(&[&code(&name), &means]);
    }
    text += "\n## Columns of tables\n\n| table | column | what it is |\n|---|---|---|\n";
    for (table, title, means) in columns() {
        text += &row(&[table, title, &means]);
    }
    for record in OF_FILES {
        text += &section(record);
    }
    text
}

/// The fields of a record under a heading.
fn section(record: &Record) -> String {
    let mut text = format!(
        "\n## {}\n\n{}\n\n| name | value | what it is |\n|---|---|---|\n",
        record.title, record.access
    );
    for field in fields::of(record) {
        text += &row(&[&code(&field.name), &field.shape, &field.means]);
    }
    text
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_explained_as_it_is_written_anywhere() {
        for word in [
            "laxity.min",
            "c.on_time",
            "laxity_p99",
            "not judged",
            "window",
            "figure:admitted",
            "Worst found",
        ] {
            assert!(explain(word).is_ok(), "{word}: {:?}", explain(word));
        }
        let on_time = explain("on_time").unwrap();
        assert!(on_time.iter().any(|term| term.shape == "share, 0 to 1, or absent"), "{on_time:?}");
    }

    #[test]
    fn an_unknown_word_has_near_ones() {
        assert!(explain("throughptu").unwrap_err().contains(&"throughput".to_string()));
        assert!(explain("missed_").unwrap_err().len() > 1);
        assert!(explain("xyzzy").unwrap_err().is_empty());
    }

    #[test]
    fn references_name_every_word_and_break_no_table() {
        let both = [claims_reference(), glossary()].concat();
        for term in terms() {
            assert!(both.contains(&term.name), "{} is in neither reference", term.name);
            assert!(!term.means.is_empty(), "{} means nothing", term.name);
        }
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut before = 0;
        for line in both.lines() {
            let now = if line.starts_with('|') { columns(line) } else { 0 };
            assert!(now == 0 || before == 0 || now == before, "{line}");
            before = now;
        }
    }

    #[test]
    fn every_example_is_a_claim() {
        for (name, _, example) in HELPERS {
            assert!(example.contains(name), "{name} is not in its example");
            if let Err(why) = claims::tried(example) {
                panic!("{name}: {why}");
            }
        }
    }
}
