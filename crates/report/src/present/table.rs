//! The outcome in a terminal: a table per question and a line per claim.
//!
//! Rows never wrap. In a narrow terminal, the least important columns are dropped and named below
//! the table, so that the rest stays aligned. Per-station columns of the same kind stand below each
//! other. A sweep of many points prints one row per point and class of channels instead of one per
//! channel.

use comfy_table::{CellAlignment, ContentArrangement, Row as TableRow, Table, presets};
use laxity_world::results::{Results, Ruling, Verdict, VerdictTally};
use laxity_world::text::clean;

use super::answers::answers;
use super::grid::{self, Detail, Grid, Mark};
use super::{platform, promised};

/// Options of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableOptions {
    /// The width in columns; `None` for unlimited width, as in a file.
    pub width: Option<u16>,
    /// Whether colours may be used.
    pub colour: bool,
    /// Sweeps of more points than this print one row per class of channels.
    pub points_in_full: usize,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { width: None, colour: false, points_in_full: 12 }
    }
}

/// The answers of nodes that a table lists.
const ANSWERS: usize = 24;
/// The maximum number of rows of a table before channels are merged to classes, whatever the number
/// of points.
const ROWS_IN_FULL: usize = 120;
/// Where running text wraps if the terminal does not say.
const MEASURE: usize = 110;

/// The whole outcome as text, ending in a newline.
pub fn text(results: &Results, verdicts: &[Verdict], options: &TableOptions) -> String {
    let paint = Paint(options.colour);
    let mut out = String::new();
    let p = &results.provenance;
    out.push_str(&format!("{}  {}\n", paint.bold(&clean(&p.name)), clean(&p.title)));
    out.push_str(&paint.faint(&format!(
        "{}, seed {}, {} clock, file {}",
        counted(results.runs.len(), "run", "runs"),
        p.seed,
        clean(&p.clock),
        p.file_hash.chars().take(12).collect::<String>(),
    )));
    out.push('\n');
    for (line, unfit) in platform::fitness(results, verdicts) {
        let line = wrapped(&clean(&line), "", width(options));
        out.push_str(&if unfit { paint.red(&line) } else { paint.faint(&line) });
        out.push('\n');
    }

    let rows: usize = results.runs.iter().map(|run| run.channels.len()).sum();
    let compact = results.runs.len() > options.points_in_full || rows > ROWS_IN_FULL;
    let detail = if compact { Detail::Classes } else { Detail::Channels };
    let channels = grid::channels(results, detail);
    push_grid(&mut out, &channels, options);
    if compact && !channels.rows.is_empty() {
        let note = "One row per class: rates and counts summed, laxity of all, worst and bound of the channel \
                    closest to its bound.";
        out.push_str(&paint.faint(&wrapped(note, "", width(options))));
        out.push('\n');
    }
    push_promised(&mut out, results, options);
    push_grid(&mut out, &grid::figures(results), options);
    push_grid(&mut out, &platform::computations(results), options);
    if results.runs.len() == 1 {
        push_grid(&mut out, &grid::resources(results), options);
        push_grid(&mut out, &platform::stages(results), options);
        push_grid(&mut out, &answers(results, ANSWERS), options);
        push_unlisted(&mut out, results, options);
    }
    let frames = platform::frames(results);
    push_grid(&mut out, &frames, options);
    if !frames.rows.is_empty() {
        let note = "`missed` counts from when a frame was read; what it may have waited in its port before stands beside it.";
        out.push_str(&paint.faint(&wrapped(note, "", width(options))));
        out.push('\n');
    }
    push_grid(&mut out, &platform::delays(results), options);
    push_grid(&mut out, &platform::real_time(results), options);
    if results.runs.is_empty() {
        out.push_str("\nnothing ran: the sweep has no points\n");
    }
    push_verdicts(&mut out, verdicts, options);
    out
}

/// How many answers of nodes the table does not list.
fn push_unlisted(out: &mut String, results: &Results, options: &TableOptions) {
    let more: usize = results.runs.iter().map(|run| run.answers.len().saturating_sub(ANSWERS)).sum();
    if more > 0 {
        let note = format!("and {}, which the report lists", counted(more, "more answer", "more answers"));
        out.push_str(&Paint(options.colour).faint(&note));
        out.push('\n');
    }
}

fn push_grid(out: &mut String, grid: &Grid, options: &TableOptions) {
    if grid.rows.is_empty() {
        return;
    }
    let (Some(first), Some(limit)) = (grid.alike, options.width) else {
        return push_part(out, grid, options);
    };
    // Each part has the columns that identify the rows, and at least one other column.
    let mut part: Vec<usize> = (0..first).collect();
    for column in first..grid.columns.len() {
        part.push(column);
        if part.len() > first + 1 && wide(&render(&grid.of(&part), &[])) > usize::from(limit) {
            part.pop();
            push_part(out, &grid.of(&part), options);
            part.truncate(first);
            part.push(column);
        }
    }
    push_part(out, &grid.of(&part), options);
}

/// How many columns of text the longest line takes.
fn wide(text: &str) -> usize {
    text.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0)
}

/// The columns of a grid that stand beside each other.
fn push_part(out: &mut String, grid: &Grid, options: &TableOptions) {
    let mut hidden: Vec<usize> = Vec::new();
    let mut printed = render(grid, &hidden);
    while let Some(limit) = options.width {
        if wide(&printed) <= usize::from(limit) {
            break;
        }
        let candidates = (0..grid.columns.len()).filter(|i| grid.columns[*i].rank > 0 && !hidden.contains(i));
        let Some(victim) = candidates.max_by_key(|i| grid.columns[*i].rank) else { break };
        hidden.push(victim);
        printed = render(grid, &hidden);
    }

    let paint = Paint(options.colour);
    out.push('\n');
    let heads = printed.lines().count() - grid.rows.len();
    for (i, line) in printed.lines().enumerate() {
        let line = line.trim_end();
        let mark = i.checked_sub(heads).map_or(Mark::Plain, |row| grid.rows[row].mark);
        match mark {
            _ if i < heads => out.push_str(&paint.bold(line)),
            Mark::Plain => out.push_str(line),
            Mark::Missed => out.push_str(&paint.yellow(line)),
            Mark::Failed | Mark::Broken | Mark::Refused => out.push_str(&paint.red(line)),
        }
        out.push('\n');
    }
    let broken = grid.rows.iter().filter(|row| row.mark == Mark::Broken).count();
    if broken > 0 {
        let note = format!("! measured above a bound in {}", counted(broken, "row", "rows"));
        out.push_str(&paint.red(&note));
        out.push('\n');
    }
    if !hidden.is_empty() {
        hidden.sort_unstable();
        let names: Vec<&str> = hidden.iter().map(|i| grid.columns[*i].title.as_str()).collect();
        let note = format!("no room for: {}", names.join(", "));
        out.push_str(&paint.faint(&wrapped(&note, "", width(options))));
        out.push('\n');
    }
}

/// The grid without the hidden columns, one line per row.
fn render(grid: &Grid, hidden: &[usize]) -> String {
    let shown: Vec<usize> = (0..grid.columns.len()).filter(|i| !hidden.contains(i)).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let units = shown.iter().any(|i| !grid.columns[*i].unit.is_empty());
    let head = |i: &usize| {
        let column = &grid.columns[*i];
        if units { format!("{}\n{}", clean(&column.title), column.unit) } else { clean(&column.title) }
    };
    table.set_header(shown.iter().map(head));
    let mut last: Option<&[String]> = None;
    for row in &grid.rows {
        let axes = grid.columns.iter().position(|c| c.title == "channel").unwrap_or(0);
        let cells = shown.iter().map(|&i| {
            // A cell equal to that of the row above is left empty, so that each point appears as a
            // group.
            let repeated = i < axes && !row.leads && last.is_some_and(|l| l[i] == row.cells[i]);
            let text = if repeated { String::new() } else { clean(&row.cells[i]) };
            let broken = row.mark == Mark::Broken && grid.columns[i].title == "used";
            if broken { format!("! {text}") } else { text }
        });
        table.add_row(TableRow::from(cells.collect::<Vec<String>>()));
        last = Some(&row.cells);
    }
    for (position, &i) in shown.iter().enumerate() {
        let column = table.column_mut(position).expect("a column per shown index");
        column.set_padding((if position == 0 { 0 } else { 1 }, 1));
        if grid.columns[i].numeric {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// Why channels have no bound, each reason once.
fn push_promised(out: &mut String, results: &Results, options: &TableOptions) {
    let paint = Paint(options.colour);
    for note in promised::notes(results) {
        let text = wrapped(&clean(&note.text), "", width(options));
        out.push_str(&if note.fails { paint.red(&text) } else { paint.faint(&text) });
        out.push('\n');
    }
}

fn push_verdicts(out: &mut String, verdicts: &[Verdict], options: &TableOptions) {
    if verdicts.is_empty() {
        return;
    }
    let paint = Paint(options.colour);
    out.push('\n');
    out.push_str(&paint.bold(&format!(
        "{}: {}",
        counted(verdicts.len(), "claim", "claims"),
        VerdictTally::of(verdicts).words()
    )));
    out.push('\n');
    let id_width = verdicts.iter().map(|v| clean(&v.id).chars().count()).max().unwrap_or(0);
    let indent = " ".repeat(id_width + 4);
    for verdict in verdicts {
        let word = format!("{:12}", verdict.ruling.word());
        let word = match verdict.ruling {
            Ruling::Holds | Ruling::HoldsWithin { .. } => paint.green(&word),
            Ruling::Contradicted | Ruling::NotJudged { .. } => paint.red(&word.to_uppercase()),
        };
        out.push_str(&format!("  {:id_width$}  {word}", clean(&verdict.id)));
        let figure = wrapped(&clean(&verdict.figure), &format!("{indent}              "), width(options));
        out.push_str(&format!("  {}\n", figure.trim_start()));
        if let Some(draws) = verdict.draws {
            out.push_str(&wrapped(&format!("held in {draws} draws"), &indent, width(options)));
            out.push('\n');
        }
        let detail = verdict.ruling.detail();
        if !detail.is_empty() {
            out.push_str(&wrapped(
                &format!("{}: {}", verdict.ruling.word(), clean(detail)),
                &indent,
                width(options),
            ));
            out.push('\n');
        }
        let says = format!("{}{}", verdict.origin.prefix(), clean(&verdict.says));
        out.push_str(&paint.faint(&wrapped(&says, &indent, width(options))));
        out.push('\n');
        if !verdict.reason.is_empty() {
            let reason = format!("why: {}", clean(&verdict.reason));
            out.push_str(&wrapped(&reason, &indent, width(options)));
            out.push('\n');
        }
    }
}

fn width(options: &TableOptions) -> usize {
    options.width.map_or(MEASURE, |w| usize::from(w).max(40))
}

fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `text` in lines of at most `width`, each after `indent`.
fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let mut lines = vec![String::from(indent)];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        let used = line.chars().count();
        if used > indent.len() && used + 1 + word.chars().count() > width {
            lines.push(format!("{indent}{word}"));
        } else {
            if used > indent.len() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

/// Colours, if they may be used.
struct Paint(bool);

impl Paint {
    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn faint(&self, text: &str) -> String {
        self.with("2", text)
    }

    fn red(&self, text: &str) -> String {
        self.with("1;31", text)
    }

    fn yellow(&self, text: &str) -> String {
        self.with("33", text)
    }

    fn green(&self, text: &str) -> String {
        self.with("32", text)
    }

    fn with(&self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use laxity_world::results::{ResourceResults, Results};

    fn plain(results: &Results, verdicts: &[Verdict], width: Option<u16>) -> String {
        text(results, verdicts, &TableOptions { width, ..TableOptions::default() })
    }

    #[test]
    fn names_do_not_act_on_the_terminal() {
        let text = plain(&sample::hostile(), &sample::hostile_verdicts(), None);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }

    #[test]
    fn a_sweep_in_full() {
        insta::assert_snapshot!(plain(&sample::sweep(), &sample::verdicts(), None));
    }

    #[test]
    fn a_single_run() {
        insta::assert_snapshot!(plain(&sample::single(), &[], None));
    }

    #[test]
    fn a_narrow_terminal() {
        let text = plain(&sample::sweep(), &sample::verdicts(), Some(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_big_sweep_by_class() {
        insta::assert_snapshot!(plain(&sample::grid(), &[], None));
    }

    #[test]
    fn gaps_and_odd_numbers() {
        insta::assert_snapshot!(plain(&sample::gaps(), &[], None));
    }

    #[test]
    fn what_a_program_had_no_place_for_is_told_where_it_was_dropped() {
        let mut results = sample::single();
        assert!(!plain(&results, &[], None).contains("messages dropped"));
        results.runs[0].channels[0].drops.insert("program_queue".into(), 104);
        let text = plain(&results, &[], None);
        assert!(text.contains("messages dropped") && text.contains("program queue 104"), "{text}");
    }

    /// Of values that each of a thousand stations has, the largest are shown, and the names of the
    /// rest: 24 columns of each kind and one more.
    #[test]
    fn a_large_network_is_told_by_its_busiest() {
        let mut results = sample::single();
        let run = &mut results.runs[0];
        let resource = run.resources.swap_remove(0);
        run.resources.clear();
        for station in 0..1000 {
            run.figures.insert(format!("driver_interrupts@h-{station}"), f64::from(station));
            let utilisation = f64::from(station) / 1000.0;
            run.resources.push(ResourceResults {
                name: format!("cpu@h-{station}"),
                utilisation,
                ..resource.clone()
            });
        }
        let text = plain(&results, &[], None);
        for shown in ["driver interrupts@h-976", "driver interrupts@h-999", "cpu@h-976", "cpu@h-999"] {
            assert!(text.contains(&format!("{shown} ")), "{shown}: {text}");
        }
        assert!(!text.contains("interrupts@h-975") && !text.contains("cpu@h-975"), "{text}");
        assert!(text.contains("most driver interrupts of 976 others"), "{text}");
        assert!(
            text.lines().any(|line| line.ends_with("  975")),
            "the most that any of the others has: {text}"
        );
        assert!(text.contains("busiest of 976 others"), "{text}");
        assert!(text.lines().any(|line| line.ends_with("  97.5")), "{text}");
    }

    /// In a narrow terminal such columns stand below each other, each part with the columns that
    /// identify its rows, and no line is longer than the terminal.
    #[test]
    fn what_is_alike_stands_below_where_there_is_no_room() {
        let mut results = sample::sweep();
        for run in &mut results.runs {
            run.figures = (0..9).map(|host| (format!("driver_interrupts@host-{host}"), 7.0)).collect();
        }
        let text = plain(&results, &[], Some(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for host in 0..9 {
            assert_eq!(text.matches(&format!("interrupts@host-{host}")).count(), 1, "{text}");
        }
        let heads: Vec<&str> = text.lines().filter(|line| line.contains("interrupts@")).collect();
        assert_eq!(heads.len(), 5, "two names of 24 letters beside a load");
        assert!(heads.iter().all(|head| head.trim_start().starts_with("load")), "{heads:?}");
        let whole = plain(&results, &[], None);
        assert_eq!(
            whole.lines().filter(|line| line.contains("interrupts@")).count(),
            1,
            "a file is as wide as it gets"
        );
    }

    #[test]
    fn nothing_ran() {
        let empty = Results { runs: vec![], ..sample::sweep() };
        insta::assert_snapshot!(plain(&empty, &[], None));
    }

    #[test]
    fn colours_only_where_wanted_and_names_drive_no_terminal() {
        let mut results = sample::sweep();
        results.runs[0].channels[0].name = "\u{1b}[2Jrt".into();
        assert!(!plain(&results, &sample::verdicts(), None).contains('\u{1b}'));
        let colour = TableOptions { colour: true, ..TableOptions::default() };
        let coloured = text(&results, &sample::verdicts(), &colour);
        assert!(coloured.contains("\u{1b}[1;31mCONTRADICTED\u{1b}[0m") && !coloured.contains("\u{1b}[2J"));
    }
}
