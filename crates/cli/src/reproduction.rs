//! The table of what was reproduced, as Markdown that can be read back section by section.
//!
//! One system can be run again without the others, so the text keeps marks that say which system a section
//! is of, from which files, and how many of its claims hold. There is no time in it and no machine: whoever
//! runs the same experiments gets the same bytes.

use std::collections::BTreeMap;

use laxity_lab::results::{Ruling, Verdict};

use crate::terminal::clean;

/// What came of one experiment.
pub(crate) struct Entry {
    /// Path of its file, with slashes.
    pub(crate) file: String,
    /// The scenario's hash.
    pub(crate) hash: String,
    /// Its title.
    pub(crate) title: String,
    /// One per claim.
    pub(crate) verdicts: Vec<Verdict>,
}

/// The sections by system, each as its text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    sections: BTreeMap<String, String>,
}

const HEAD: &str = "# Reproduction

<!-- Made by `laxity reproduce`; do not edit. -->

What the papers claim about the systems they built, and what this model of them shows. A claim that a faithful
model contradicts stands here as contradicted, with the figures and the reason.
";
const SYSTEM: &str = "<!-- system ";
const EXPERIMENT: &str = "<!-- experiment ";
const END: &str = " -->";

impl Table {
    /// Reads what [`text`](Self::text) wrote; anything else is an empty table.
    pub(crate) fn parse(text: &str) -> Table {
        let mut sections: BTreeMap<String, String> = BTreeMap::new();
        let mut current = None;
        for line in text.lines() {
            if let Some(system) = mark(line, SYSTEM) {
                current = Some(system.to_string());
            }
            if let Some(system) = &current {
                let section = sections.entry(system.clone()).or_default();
                section.push_str(line);
                section.push('\n');
            }
        }
        // What separates two sections belongs to neither.
        sections.values_mut().for_each(|section| section.truncate(section.trim_end().len()));
        Table { sections }
    }

    /// Puts the outcome of a system's experiments in place of what was there.
    pub(crate) fn replace(&mut self, system: &str, entries: &[Entry]) {
        let mut text = format!("{SYSTEM}{system}{END}\n## {system}\n");
        for entry in entries {
            text += &format!("\n### {}\n\n", cell(&entry.title));
            text += &format!("{EXPERIMENT}{} {}{END}\n", entry.file, entry.hash);
            text += &format!("`{}`\n", entry.file);
            if entry.verdicts.is_empty() {
                continue;
            }
            text += "\n| claim | says | verdict | figures |\n|---|---|---|---|\n";
            for verdict in &entry.verdicts {
                let word = verdict.ruling.word();
                let outcome = match (&verdict.ruling, verdict.reason.is_empty()) {
                    (Ruling::Holds, _) => word.to_string(),
                    (Ruling::HoldsWithin { range }, _) => format!("{word} {}", cell(range)),
                    (Ruling::Contradicted, true) => format!("**{word}**"),
                    (Ruling::Contradicted, false) => format!("**{word}**: {}", cell(&verdict.reason)),
                    (Ruling::NotJudged { because }, _) => format!("**{word}**: {}", cell(because)),
                };
                let (id, says, figure) = (cell(&verdict.id), cell(&verdict.says), cell(&verdict.figure));
                text += &format!("| {id} | {says} | {outcome} | {figure} |\n");
            }
        }
        text.truncate(text.trim_end().len());
        self.sections.insert(system.to_string(), text);
    }

    /// The whole file.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{HEAD}\n{}.\n", self.summary());
        for section in self.sections.values() {
            text += &format!("\n{section}\n");
        }
        text
    }

    /// How many claims came to what: `61 of 86 claims hold, 4 of them within a range; 2 are not judged`.
    pub(crate) fn summary(&self) -> String {
        let lines = self.sections.values().flat_map(|section| section.lines());
        let words: Vec<&str> = lines.filter_map(row).collect();
        let count = |word: &str| words.iter().filter(|other| **other == word).count();
        let (within, not_judged) = (count(WITHIN), count(NOT_JUDGED));
        let mut text = format!("{} of {} claims hold", count(HOLDS) + within, words.len());
        if within > 0 {
            text += &format!(", {within} of them within a range");
        }
        if not_judged > 0 {
            text += &format!("; {not_judged} {} not judged", if not_judged == 1 { "is" } else { "are" });
        }
        text
    }

    /// The hash of each experiment file that the table was made from, of all systems or one.
    pub(crate) fn hashes(&self, system: Option<&str>) -> BTreeMap<String, String> {
        let sections = self.sections.iter().filter(|(name, _)| system.is_none_or(|only| only == *name));
        let lines = sections.flat_map(|(_, section)| section.lines());
        let marks = lines.filter_map(|line| mark(line, EXPERIMENT)?.rsplit_once(' '));
        marks.map(|(file, hash)| (file.to_string(), hash.to_string())).collect()
    }
}

/// What the mark of that kind says.
fn mark<'a>(line: &'a str, kind: &str) -> Option<&'a str> {
    line.strip_prefix(kind)?.strip_suffix(END)
}

const HOLDS: &str = "holds";
const WITHIN: &str = "holds within";
const CONTRADICTED: &str = "contradicted";
const NOT_JUDGED: &str = "not judged";

/// The verdict in a row of a table; `None` for all other lines.
fn row(line: &str) -> Option<&'static str> {
    let verdict = line.strip_prefix("| ")?.split(" | ").nth(2)?;
    let verdict = verdict.trim_start_matches('*');
    [WITHIN, HOLDS, CONTRADICTED, NOT_JUDGED].into_iter().find(|word| verdict.starts_with(word))
}

/// `text` as it can stand in a cell.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    clean(&line).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(id: &str, holds: bool, reason: &str) -> Verdict {
        let ruling = if holds { Ruling::Holds } else { Ruling::Contradicted };
        let (id, says, figure) = (id.into(), "a | b".into(), "1 < 2".into());
        Verdict { id, says, ruling, figure, reason: reason.into() }
    }

    fn ruled(ruling: Ruling) -> Verdict {
        Verdict { ruling, ..verdict("C", true, "") }
    }

    fn entry(file: &str, verdicts: Vec<Verdict>) -> Entry {
        Entry { file: file.into(), hash: format!("hash-of-{file}"), title: "T".into(), verdicts }
    }

    fn table() -> Table {
        let mut table = Table::default();
        table.replace("b", &[entry("e/b/one.toml", vec![verdict("B", false, "why\nnot")])]);
        table.replace("a", &[entry("e/a/x.toml", vec![verdict("A", true, "")]), entry("e/a/y.toml", vec![])]);
        table
    }

    #[test]
    fn a_table_reads_back_as_it_was() {
        let table = table();
        assert_eq!(Table::parse(&table.text()), table);
        assert_eq!(Table::parse(""), Table::default());
    }

    #[test]
    fn rows_are_counted_and_escaped() {
        let text = table().text();
        assert!(text.contains("1 of 2 claims hold."));
        assert!(text.contains("| A | a \\| b | holds | 1 &lt; 2 |"), "{text}");
        assert!(text.contains("| B | a \\| b | **contradicted**: why not | 1 &lt; 2 |"), "{text}");
    }

    #[test]
    fn every_verdict_is_read_back_as_what_it_is() {
        let mut table = table();
        let within = ruled(Ruling::HoldsWithin { range: "P 1, 2 (2 of 3 points)".into() });
        let open = ruled(Ruling::NotJudged { because: "holds nothing | at all".into() });
        table.replace("c", &[entry("e/c/z.toml", vec![within, open])]);
        assert_eq!(table.summary(), "2 of 4 claims hold, 1 of them within a range; 1 is not judged");
        let text = table.text();
        assert!(text.contains("| holds within P 1, 2 (2 of 3 points) |"), "{text}");
        assert!(text.contains("| **not judged**: holds nothing \\| at all |"), "{text}");
        assert_eq!(Table::parse(&text), table);
    }

    #[test]
    fn one_system_is_replaced_and_the_others_stay() {
        let mut table = Table::parse(&table().text());
        table.replace("b", &[entry("e/b/one.toml", vec![verdict("B", true, "")])]);
        assert_eq!(table.summary(), "2 of 2 claims hold");
        assert_eq!(table.hashes(Some("a")).len(), 2);
        assert_eq!(table.hashes(None)["e/b/one.toml"], "hash-of-e/b/one.toml");
    }
}
