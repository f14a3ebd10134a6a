//! The table of the reproduction, as Markdown that can be read back section by section.
//!
//! One system can run again without the others. The text therefore has marks for the system of each
//! section, its files, and how many of its claims hold. It has neither times nor machines: the same
//! experiments give the same bytes. Only the rows of running daemons, which another command writes,
//! have a date.

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
model contradicts stands here as contradicted, with the figures and the reason.

- **line** is where the text of the source has the claim: T thesis, S structuring, R resource management, Po polling
  interface, V QoS-VIA.
- **verdict**: of a claim that hangs on a parameter, that at the one setting of the machine, which its experiment or
  profile gives with its reason. `holds within` is the verdict where no setting decides; it does not count as holding.
- **draws**: in how many runs with different seeds the claim held. Nine of ten are needed.
- **range**: for which values of the parameter it holds.

Each claim of the papers is counted once; a row `A = B` is a further judgement of claim B. Counted apart are claims of
other papers, our own, those on real and virtual time, which no paper has, and tests of the implementation, which only
a bug makes fail: equations that the model is made of are among them.

The rows of `service` are those of running daemons, which `cargo xtask service-claims` writes. They have a date, since
they depend on the machine.
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
            text += "\n| claim | line | says | verdict | draws | range | figures |\n|---|---|---|---|---|---|---|\n";
        }
        for verdict in &entry.verdicts {
            text += &row_of(verdict);
        }
        Section { file: entry.file.clone(), hash: entry.hash.clone(), text }
    }

    /// Whether an experiment file gives it. Another command wrote the others.
    pub(crate) fn is_of_file(&self) -> bool {
        self.file.ends_with(".toml")
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

    /// Puts all systems of `other` in place of what was there.
    pub(crate) fn merge(&mut self, other: Table) {
        self.systems.extend(other.systems);
    }

    /// The same without the systems of experiment files, which a run writes again.
    pub(crate) fn of_other_commands(mut self) -> Table {
        self.systems.retain(|_, sections| sections.iter().any(|section| !section.is_of_file()));
        self
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
        let mut text = format!("{HEAD}\n{}.\n", self.summary());
        for (system, sections) in &self.systems {
            text += &format!("\n{SYSTEM}{system}{END}\n## {system}\n");
            for section in sections {
                text += &format!("\n{}", section.text);
            }
        }
        text
    }

    /// How many claims came to what, the papers' first: `61 of 86 claims of the papers hold; …`.
    ///
    /// A further judgement of a claim does not count, and a claim that holds within a range of a
    /// parameter which no setting decides does not hold.
    pub(crate) fn summary(&self) -> String {
        let lines = self.sections(None).flat_map(|section| section.text.lines());
        let rows: Vec<Row> = lines.filter_map(row).filter(|row| row.counts).collect();
        let groups = GROUPS.iter().filter_map(|(origin, what)| {
            let of: Vec<&Row> = rows.iter().filter(|row| row.origin == *origin).collect();
            let count = |word: &str| of.iter().filter(|row| row.word == word).count();
            let mut text = format!("{} of {} {what}", count(HOLDS), of.len());
            for (word, what) in [(WITHIN, "within a range"), (NOT_JUDGED, "not judged")] {
                if count(word) > 0 {
                    text += &format!(", {} {what}", count(word));
                }
            }
            (!of.is_empty()).then_some(text)
        });
        groups.collect::<Vec<_>>().join("; ")
    }
}

/// The groups that claims are counted in.
const GROUPS: [(Origin, &str); 5] = [
    (Origin::Source, "claims of the papers hold"),
    (Origin::Others, "of other papers"),
    (Origin::Ours, "of our own"),
    (Origin::Emulation, "on real and virtual time"),
    (Origin::Implementation, "tests of the implementation"),
];

/// The row of one verdict.
fn row_of(verdict: &Verdict) -> String {
    let word = verdict.ruling.word();
    let at = verdict.at.as_ref().map_or_else(String::new, |at| format!(" at {}", cell(&at.setting)));
    let outcome = match (&verdict.ruling, verdict.reason.is_empty()) {
        (Ruling::Holds, _) => format!("{word}{at}"),
        (Ruling::HoldsWithin { .. }, _) => word.to_string(),
        (Ruling::Contradicted, true) => format!("**{word}**{at}"),
        (Ruling::Contradicted, false) => format!("**{word}**{at}: {}", cell(&verdict.reason)),
        (Ruling::NotJudged { because }, _) => format!("**{word}**: {}", cell(because)),
    };
    let range = match (&verdict.ruling, &verdict.at) {
        (_, Some(at)) => cell(&at.range),
        (Ruling::HoldsWithin { range }, None) => cell(range),
        _ => String::new(),
    };
    let same_as = verdict.same_as.as_ref().map_or_else(String::new, |of| format!("{SAME_AS}{}", cell(of)));
    let (id, from, whose) = (cell(&verdict.id), cell(&verdict.from), verdict.origin.prefix());
    let (says, figure) = (cell(&verdict.says), cell(&verdict.figure));
    let draws = verdict.draws.map_or_else(String::new, |draws| draws.to_string());
    format!("| {id}{same_as} | {from} | {whose}{says} | {outcome} | {draws} | {range} | {figure} |\n")
}

/// The text of a mark of that kind.
fn mark<'a>(line: &'a str, kind: &str) -> Option<&'a str> {
    line.strip_prefix(kind)?.strip_suffix(END)
}

const HOLDS: &str = "holds";
const WITHIN: &str = "holds within";
const CONTRADICTED: &str = "contradicted";
const NOT_JUDGED: &str = "not judged";

/// Stands in the first cell of a claim before the claim that it is a further judgement of.
const SAME_AS: &str = " = ";

/// The content of a row of a table.
struct Row {
    word: &'static str,
    origin: Origin,
    /// It is no further judgement of another row's claim.
    counts: bool,
}

/// The row of a table in `line`; `None` for all other lines.
fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
    let [id, _, says, verdict, ..] = cells[..] else { return None };
    let verdict = verdict.trim_start_matches('*');
    let word =
        [WITHIN, HOLDS, CONTRADICTED, NOT_JUDGED].into_iter().find(|word| verdict.starts_with(word))?;
    let others = GROUPS.iter().map(|(origin, _)| *origin).filter(|origin| *origin != Origin::Source);
    let origin = others.into_iter().find(|origin| says.starts_with(origin.prefix())).unwrap_or_default();
    Some(Row { word, origin, counts: !id.contains(SAME_AS) })
}

/// `text` as it can stand in a cell.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    clean(&line).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use laxity_world::results::{AtSetting, Draws};

    use super::*;

    fn verdict(id: &str, holds: bool, reason: &str) -> Verdict {
        let ruling = if holds { Ruling::Holds } else { Ruling::Contradicted };
        let (id, says, figure) = (id.into(), "a | b".into(), "1 < 2".into());
        let (origin, reason) = (Origin::Source, reason.into());
        let (from, same_as, at, draws) = ("T1".into(), None, None, None);
        Verdict { id, says, origin, from, same_as, ruling, at, figure, reason, draws, spoilt: false }
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
        assert!(text.contains("1 of 2 claims of the papers hold."));
        assert!(text.contains("| A | T1 | a \\| b | holds |  |  | 1 &lt; 2 |"), "{text}");
        assert!(text.contains("| B | T1 | a \\| b | **contradicted**: why not |  |  | 1 &lt; 2 |"), "{text}");
    }

    #[test]
    fn every_verdict_is_read_back_as_what_it_is() {
        let mut table = table();
        let within = ruled(Ruling::HoldsWithin { range: "P 1, 2 (2 of 3 points)".into() });
        let open = ruled(Ruling::NotJudged { because: "holds nothing | at all".into() });
        table.replace("c", vec![section("e/c/z.toml", vec![within, open])]);
        assert_eq!(table.summary(), "1 of 4 claims of the papers hold, 1 within a range, 1 not judged");
        let text = table.text();
        assert!(text.contains("| holds within |  | P 1, 2 (2 of 3 points) |"), "{text}");
        assert!(text.contains("| **not judged**: holds nothing \\| at all |  |  |"), "{text}");
        assert_eq!(Table::parse(&text), table);
    }

    #[test]
    fn the_setting_decides_and_the_range_stands_beside_it() {
        let at =
            |setting: &str| Some(AtSetting { setting: setting.into(), range: "P 2 (1 of 2 points)".into() });
        let draws = Some(Draws { held: 9, of: 10 });
        let held = Verdict { at: at("P 2"), draws, ..verdict("C", true, "") };
        let failed = Verdict { at: at("P 1"), ..verdict("D", false, "why") };
        let mut table = Table::default();
        table.replace("c", vec![section("e/c/z.toml", vec![held, failed])]);
        assert_eq!(table.summary(), "1 of 2 claims of the papers hold");
        let text = table.text();
        assert!(text.contains("| holds at P 2 | 9 of 10 | P 2 (1 of 2 points) |"), "{text}");
        assert!(text.contains("| **contradicted** at P 1: why |  | P 2 (1 of 2 points) |"), "{text}");
    }

    #[test]
    fn groups_are_counted_apart_and_a_claim_once() {
        let of = |origin, holds| Verdict { origin, ..verdict("C", holds, "") };
        let mut table = table();
        let again = Verdict { same_as: Some("A".into()), ..verdict("A-again", true, "") };
        let others = [of(Origin::Ours, true), of(Origin::Ours, false), of(Origin::Implementation, true)];
        let more = [of(Origin::Others, true), of(Origin::Emulation, false), again];
        table.replace("c", vec![section("e/c/z.toml", others.into_iter().chain(more).collect())]);
        let text = table.text();
        let counted = "1 of 2 claims of the papers hold; 1 of 1 of other papers; 1 of 2 of our own; 0 of 1 on real \
                       and virtual time; 1 of 1 tests of the implementation.";
        assert!(text.contains(counted), "{text}");
        assert!(text.contains("| C | T1 | Our own: a \\| b | **contradicted** |  |  |"), "{text}");
        assert!(text.contains("| A-again = A | T1 | a \\| b | holds |  |  |"), "{text}");
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
        assert_eq!(table.summary(), "2 of 2 claims of the papers hold");
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
        assert_eq!(was, ["| B | T1 | a \\| b | holds |  |  | 1 &lt; 2 |"]);
        assert_eq!(is, ["| B | T1 | a \\| b | **contradicted** |  |  | 1 &lt; 2 |"]);
    }
}
