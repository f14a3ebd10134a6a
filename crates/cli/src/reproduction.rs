//! The table of the reproduction, as Markdown that can be read back section by section.
//!
//! One system can run again without the others. The text therefore has marks for the system of each
//! section, its files, and how many of its claims hold. It has neither times nor machines: the same
//! experiments give the same bytes.

use std::collections::BTreeMap;

use laxity_world::results::{Origin, Ruling, Verdict};
use laxity_world::text::clean;

/// Outcome of one experiment.
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

/// Text of the table for one experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// Path of its file, with slashes.
    pub(crate) file: String,
    /// The hash of the scenario that it was made from.
    pub(crate) hash: String,
    text: String,
}

/// The sections by system, in the order of their files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    systems: BTreeMap<String, Vec<Section>>,
}

const HEAD: &str = "# Reproduction

<!-- Made by `laxity reproduce`; do not edit. -->

What the papers claim about the systems they built, and what this model of them shows. A claim that a faithful
model contradicts stands here as contradicted, with the figures and the reason. Claims of our own about these systems,
which are in no paper, and tests of the implementation, which only a bug makes fail, say so and are counted apart.
";
const SYSTEM: &str = "<!-- system ";
const EXPERIMENT: &str = "<!-- experiment ";
const END: &str = " -->";

impl Section {
    /// The section that says what came of an experiment.
    pub(crate) fn new(entry: &Entry) -> Section {
        let mut text = format!("### {}\n\n", cell(&entry.title));
        text += &format!("{EXPERIMENT}{} {}{END}\n`{}`\n", entry.file, entry.hash, entry.file);
        if !entry.verdicts.is_empty() {
            text += "\n| claim | says | verdict | draws | figures |\n|---|---|---|---|---|\n";
        }
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
            let whose = verdict.origin.prefix();
            let draws = verdict.draws.map_or_else(String::new, |draws| draws.to_string());
            text += &format!("| {id} | {whose}{says} | {outcome} | {draws} | {figure} |\n");
        }
        Section { file: entry.file.clone(), hash: entry.hash.clone(), text }
    }

    /// The lines of this section that `other` has not, and those of the other that this one has not.
    pub(crate) fn differences<'a>(&'a self, other: &'a Section) -> (Vec<&'a str>, Vec<&'a str>) {
        let missing = |from: &'a Section, of: &'a Section| {
            from.text.lines().filter(|line| of.text.lines().all(|there| there != *line)).collect()
        };
        (missing(self, other), missing(other, self))
    }
}

impl Table {
    /// Reads what [`text`](Self::text) wrote; anything else is an empty table.
    pub(crate) fn parse(text: &str) -> Table {
        let mut table = Table::default();
        let mut system = None;
        for line in text.lines() {
            if let Some(name) = mark(line, SYSTEM) {
                system = Some(table.systems.entry(name.to_string()).or_default());
                continue;
            }
            let Some(sections) = &mut system else { continue };
            if line.starts_with("### ") {
                let (file, hash) = Default::default();
                sections.push(Section { file, hash, text: String::new() });
            }
            let Some(section) = sections.last_mut() else { continue };
            if let Some((file, hash)) = mark(line, EXPERIMENT).and_then(|mark| mark.rsplit_once(' ')) {
                (section.file, section.hash) = (file.to_string(), hash.to_string());
            }
            section.text.push_str(line);
            section.text.push('\n');
        }
        // The separator of two sections belongs to neither.
        for section in table.systems.values_mut().flatten() {
            section.text.truncate(section.text.trim_end().len() + 1);
        }
        table
    }

    /// Puts the outcome of a system's experiments in place of what was there.
    pub(crate) fn replace(&mut self, system: &str, sections: Vec<Section>) {
        self.systems.insert(system.to_string(), sections);
    }

    /// The section of the experiment in `file`.
    pub(crate) fn section(&self, file: &str) -> Option<&Section> {
        self.systems.values().flatten().find(|section| section.file == file)
    }

    /// The section of the same experiment from the same file: the rows that a disturbed run must
    /// not replace.
    pub(crate) fn measured_before(&self, now: &Section) -> Option<&Section> {
        self.section(&now.file).filter(|then| then.hash == now.hash)
    }

    /// The sections of all systems or one.
    pub(crate) fn sections<'a>(&'a self, system: Option<&'a str>) -> impl Iterator<Item = &'a Section> {
        let systems = self.systems.iter().filter(move |(name, _)| system.is_none_or(|only| only == *name));
        systems.flat_map(|(_, sections)| sections)
    }

    /// The whole file.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{HEAD}\n{}.{}\n", self.summary(), self.by_origin());
        for (system, sections) in &self.systems {
            text += &format!("\n{SYSTEM}{system}{END}\n## {system}\n");
            for section in sections {
                text += &format!("\n{}", section.text);
            }
        }
        text
    }

    /// How many claims came to what: `61 of 86 claims hold, 4 of them within a range; 2 are not judged`.
    pub(crate) fn summary(&self) -> String {
        let lines = self.sections(None).flat_map(|section| section.text.lines());
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

    /// How many claims of each origin hold, if there are several origins: ` Of the papers' 60 hold
    /// 41, …`.
    fn by_origin(&self) -> String {
        let lines = self.sections(None).flat_map(|section| section.text.lines());
        let rows: Vec<(&str, Origin)> = lines.filter_map(|line| Some((row(line)?, origin(line)))).collect();
        let of = |whose: Origin| {
            let verdicts = rows.iter().filter(|(_, origin)| *origin == whose).map(|(word, _)| *word);
            let hold = verdicts.clone().filter(|word| [HOLDS, WITHIN].contains(word)).count();
            (hold, verdicts.count())
        };
        let [source, ours, implementation] = [Origin::Source, Origin::Ours, Origin::Implementation].map(of);
        if source.1 == rows.len() {
            return String::new();
        }
        format!(
            " {} of {} claims of the papers hold, {} of {} of our own, {} of {} tests of the implementation.",
            source.0, source.1, ours.0, ours.1, implementation.0, implementation.1
        )
    }
}

/// The text of a mark of that kind.
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

/// Origin of the claim in a row of a table.
fn origin(line: &str) -> Origin {
    let says = line.split(" | ").nth(1).unwrap_or_default();
    let is = |whose: &Origin| says.starts_with(whose.prefix());
    [Origin::Ours, Origin::Implementation].into_iter().find(is).unwrap_or_default()
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
        let (origin, reason) = (Origin::Source, reason.into());
        Verdict { id, says, origin, ruling, figure, reason, draws: None, spoilt: false }
    }

    fn ruled(ruling: Ruling) -> Verdict {
        Verdict { ruling, ..verdict("C", true, "") }
    }

    fn entry(file: &str, verdicts: Vec<Verdict>) -> Entry {
        Entry { file: file.into(), hash: format!("hash-of-{file}"), title: "T".into(), verdicts }
    }

    fn section(file: &str, verdicts: Vec<Verdict>) -> Section {
        Section::new(&entry(file, verdicts))
    }

    fn table() -> Table {
        let mut table = Table::default();
        table.replace("b", vec![section("e/b/one.toml", vec![verdict("B", false, "why\nnot")])]);
        let first = section("e/a/x.toml", vec![verdict("A", true, "")]);
        table.replace("a", vec![first, section("e/a/y.toml", vec![])]);
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
        assert!(text.contains("| A | a \\| b | holds |  | 1 &lt; 2 |"), "{text}");
        assert!(text.contains("| B | a \\| b | **contradicted**: why not |  | 1 &lt; 2 |"), "{text}");
    }

    #[test]
    fn every_verdict_is_read_back_as_what_it_is() {
        let mut table = table();
        let within = ruled(Ruling::HoldsWithin { range: "P 1, 2 (2 of 3 points)".into() });
        let open = ruled(Ruling::NotJudged { because: "holds nothing | at all".into() });
        table.replace("c", vec![section("e/c/z.toml", vec![within, open])]);
        assert_eq!(table.summary(), "2 of 4 claims hold, 1 of them within a range; 1 is not judged");
        let text = table.text();
        assert!(text.contains("| holds within P 1, 2 (2 of 3 points) |  |"), "{text}");
        assert!(text.contains("| **not judged**: holds nothing \\| at all |  |"), "{text}");
        assert_eq!(Table::parse(&text), table);
    }

    #[test]
    fn whose_claims_hold_is_counted_apart() {
        let of = |origin, holds| Verdict { origin, ..verdict("C", holds, "") };
        let mut table = table();
        assert!(!table.text().contains("claims of the papers"), "all are of one");
        let ours = vec![of(Origin::Ours, true), of(Origin::Ours, false), of(Origin::Implementation, true)];
        table.replace("c", vec![section("e/c/z.toml", ours)]);
        let text = table.text();
        let counted = "3 of 5 claims hold. 1 of 2 claims of the papers hold, 1 of 2 of our own, 1 of 1 tests of the \
                       implementation.";
        assert!(text.contains(counted), "{text}");
        assert!(text.contains("| C | Our own: a \\| b | **contradicted** |  |"), "{text}");
        assert!(text.contains("| C | Test of the implementation: a \\| b | holds |  |"), "{text}");
        assert_eq!(Table::parse(&text), table);
    }

    #[test]
    fn measured_rows_are_those_of_the_same_file() {
        let table = table();
        let disturbed =
            section("e/a/x.toml", vec![ruled(Ruling::NotJudged { because: "it stood still".into() })]);
        assert_eq!(table.measured_before(&disturbed), table.section("e/a/x.toml"));
        let edited = Section { hash: "another".into(), ..disturbed };
        assert_eq!(table.measured_before(&edited), None);
        assert_eq!(table.measured_before(&section("e/a/new.toml", vec![])), None);
    }

    #[test]
    fn one_system_is_replaced_and_the_others_stay() {
        let mut table = Table::parse(&table().text());
        table.replace("b", vec![section("e/b/one.toml", vec![verdict("B", true, "")])]);
        assert_eq!(table.summary(), "2 of 2 claims hold");
        assert_eq!(table.sections(Some("a")).count(), 2);
        assert_eq!(table.section("e/b/one.toml").unwrap().hash, "hash-of-e/b/one.toml");
        assert_eq!(table.section("e/b/two.toml"), None);
    }

    #[test]
    fn sections_differ_by_the_lines_that_do() {
        let then = section("e/x.toml", vec![verdict("A", true, ""), verdict("B", true, "")]);
        let now = section("e/x.toml", vec![verdict("A", true, ""), verdict("B", false, "")]);
        assert_eq!(then.differences(&then), (vec![], vec![]));
        let (was, is) = then.differences(&now);
        assert_eq!(was, ["| B | a \\| b | holds |  | 1 &lt; 2 |"]);
        assert_eq!(is, ["| B | a \\| b | **contradicted** |  | 1 &lt; 2 |"]);
    }
}
