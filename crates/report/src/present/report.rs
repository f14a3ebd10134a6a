//! One page that presents the results of an experiment.
//!
//! The page is self-contained: styles and figures are in the page, and there is no script. A
//! content policy forbids the page to load anything, so that a name in a scenario file is harmless.
//! The page follows the reader's light or dark scheme and prints.

use laxity_scenario::figure::FigureSpec;
use laxity_world::metric::Kind;
use laxity_world::results::{Results, Ruling, Verdict, VerdictTally};
use laxity_world::text::{acts, clean_lines};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context, escape_formatter};
use serde::Serialize;

use super::answers::answers;
use super::beside::{self, NONE};
use super::grid::{self, Detail, Grid, Mark};
use super::units::{Readable, typeset};
use super::{PresentError, Stamp, figure, platform, promised};

const PAGE: &str = include_str!("report.html.j2");
const STYLE: &str = include_str!("report.css");
/// Tables of more points than this start folded.
const POINTS_OPEN: usize = 4;

/// The page, made by and when `stamp` says, with the drawing `network` if there is one; figures that
/// suit the results if `figures` is empty.
pub fn html(
    results: &Results,
    verdicts: &[Verdict],
    figures: &[FigureSpec],
    network: Option<&str>,
    stamp: &Stamp,
) -> Result<String, PresentError> {
    let defaults;
    let figures = if figures.is_empty() {
        defaults = figure::defaults(results);
        &defaults
    } else {
        figures
    };
    let mut drawings = Vec::new();
    for spec in figures {
        drawings.push(Value::from_safe_string(figure::svg(results, spec)?));
    }
    let tally = VerdictTally::of(verdicts);
    let held = tally.hold + tally.within;
    let (bounds, time_unit) = beside::channels(results);
    let further = beside::further(results);
    let states = bounds.iter().map(|row| row.state).chain(further.iter().map(|row| row.state));
    let broken = states.filter(|state| *state == "broken").count();

    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    // The library escapes markup. Control characters are no markup; `clean_lines` replaces them. Hardly
    // any cell has one.
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() && text.contains(acts) => {
            escape_formatter(out, state, &Value::from(clean_lines(text)))
        }
        _ => escape_formatter(out, state, value),
    });
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters"));
    let p = &results.provenance;
    let page = environment.render_str(
        PAGE,
        context! {
            style => Value::from_safe_string(STYLE.to_string()),
            provenance => Serde(p.clone()),
            stamp => Serde(stamp.clone()),
            paragraphs => Serde(paragraphs(&p.about)),
            verdicts => Serde(cards(verdicts)),
            fitness => Serde(fitness(results, verdicts)),
            promised => Serde(promised(results)),
            held => held,
            open => verdicts.len() - held,
            tally => tally.words(),
            sweep => Serde(sweep(results)),
            runs => results.runs.len(),
            simulated => Kind::Time.quantity(results.runs.iter().map(|run| run.simulated).sum()),
            broken => broken,
            proved => bounds.iter().filter(|row| row.bound_at.is_some()).count() + further.len(),
            papers => bounds.iter().any(|row| row.papers != NONE),
            attacked => bounds.iter().any(|row| row.found != NONE),
            bounds => Serde(bounds),
            time_unit => time_unit,
            further => Serde(further),
            figures => drawings,
            network => network.map(|svg| Value::from_safe_string(svg.to_string())),
            tables => Serde(tables(results)),
        },
    );
    Ok(page.expect("the page is compiled in and its context is plain data"))
}

/// A claim and what came of it.
#[derive(Serialize)]
struct Card {
    id: String,
    says: String,
    word: &'static str,
    /// `good`, `bad` or `open`.
    state: &'static str,
    detail: String,
    figure: String,
    reason: String,
}

fn cards(verdicts: &[Verdict]) -> Vec<Card> {
    let card = |verdict: &Verdict| Card {
        id: verdict.id.clone(),
        says: format!("{}{}", verdict.origin.prefix(), verdict.says),
        word: verdict.ruling.word(),
        state: match verdict.ruling {
            Ruling::Holds | Ruling::HoldsWithin { .. } => "good",
            Ruling::Contradicted => "bad",
            Ruling::NotJudged { .. } => "open",
        },
        detail: match (verdict.ruling.detail(), verdict.draws) {
            (detail, None) => detail.to_string(),
            ("", Some(draws)) => format!("held in {draws} draws"),
            (detail, Some(draws)) => format!("{detail}; held in {draws} draws"),
        },
        figure: verdict.figure.clone(),
        reason: verdict.reason.clone(),
    };
    verdicts.iter().map(card).collect()
}

/// A line on missing bounds, or on timekeeping.
#[derive(Serialize)]
struct PromisedLine {
    text: String,
    state: &'static str,
}

fn promised(results: &Results) -> Vec<PromisedLine> {
    let notes = promised::notes(results).into_iter();
    notes
        .map(|note| PromisedLine { text: note.text, state: if note.fails { "bad" } else { "open" } })
        .collect()
}

fn fitness(results: &Results, verdicts: &[Verdict]) -> Vec<PromisedLine> {
    let line = |(text, unfit)| PromisedLine { text, state: if unfit { "bad" } else { "good" } };
    platform::fitness(results, verdicts).into_iter().map(line).collect()
}

fn paragraphs(text: &str) -> Vec<String> {
    text.split("\n\n").map(str::trim).filter(|s| !s.is_empty()).map(String::from).collect()
}

/// An axis of the sweep in words.
#[derive(Serialize)]
struct AxisLine {
    name: String,
    label: String,
    points: String,
}

fn sweep(results: &Results) -> Vec<AxisLine> {
    let line = |axis: &laxity_world::results::Axis| {
        let texts: Vec<&str> = axis.points.iter().map(|p| p.text.as_str()).collect();
        let points = match texts.as_slice() {
            [first, .., last] if texts.len() > 10 => format!("{first} … {last} ({} points)", texts.len()),
            _ => texts.join(", "),
        };
        AxisLine { name: axis.name.clone(), label: axis.label.clone(), points }
    };
    results.axes.iter().map(line).collect()
}

/// A table that may be folded.
#[derive(Serialize)]
struct TableView {
    title: &'static str,
    open: bool,
    heads: Vec<Head>,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Head {
    title: String,
    unit: String,
    numeric: bool,
}

#[derive(Serialize)]
struct Line {
    leads: bool,
    state: &'static str,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Cell {
    text: String,
    numeric: bool,
}

fn tables(results: &Results) -> Vec<TableView> {
    let grids = [
        ("Channels at every point", grid::channels(results, Detail::Everything)),
        ("Further figures", grid::figures(results)),
        ("Utilisation of resources", grid::resources(results)),
        ("Answers of nodes to programs, and faults", answers(results, usize::MAX)),
        ("Stages of the adapters", platform::stages(results)),
        ("Applications that compute", platform::computations(results)),
        (
            "Frames of programs: latency in the model and in real time, missed from when they were read",
            platform::frames(results),
        ),
        ("How well the delays of frames were kept", platform::delays(results)),
        ("Real time: lateness of events, and stalls of the platform", platform::real_time(results)),
        ("When the platform stood still longest", platform::gaps(results)),
    ];
    let filled = grids.into_iter().filter(|(_, grid)| !grid.rows.is_empty());
    filled.map(|(title, grid)| view(title, &grid, results.runs.len() <= POINTS_OPEN)).collect()
}

fn view(title: &'static str, grid: &Grid, open: bool) -> TableView {
    let heads = grid.columns.iter().map(|column| Head {
        title: column.title.clone(),
        unit: typeset(column.unit),
        numeric: column.numeric,
    });
    let rows = grid.rows.iter().map(|row| Line {
        leads: row.leads,
        state: match row.mark {
            Mark::Plain => "",
            Mark::Missed => "missed",
            Mark::Failed | Mark::Broken | Mark::Refused => "broken",
        },
        cells: row.cells.iter().zip(&grid.columns).map(|(text, column)| cell(text, column.numeric)).collect(),
    });
    TableView { title, open, heads: heads.collect(), rows: rows.collect() }
}

fn cell(text: &str, numeric: bool) -> Cell {
    let text = match text {
        "-" => NONE.into(),
        text if numeric => typeset(text),
        text => text.into(),
    };
    Cell { text, numeric }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use laxity_world::results::Provenance;

    fn stamp() -> Stamp {
        Stamp { version: "0.1.0".into(), build: "c2ef968".into(), date: "2026-11-21 21:40:28 UTC".into() }
    }

    /// Addresses in attributes and styles, except the name of the SVG vocabulary, which browsers do
    /// not load.
    fn loads_nothing(page: &str) {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        for needle in
            ["http:", "https:", "//", "url(", "@import", "<script", "<link", "<img", " src=", " href="]
        {
            assert!(!page.contains(needle), "the page contains {needle}");
        }
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let page = html(&sample::sweep(), &sample::verdicts(), &[], None, &stamp()).unwrap();
        loads_nothing(&page);
        assert!(page.contains("Content-Security-Policy"));
        assert_eq!(page, html(&sample::sweep(), &sample::verdicts(), &[], None, &stamp()).unwrap());
    }

    #[test]
    fn the_page_says_what_matters() {
        let page = html(&sample::sweep(), &sample::verdicts(), &[], None, &stamp()).unwrap();
        for text in
            ["CONTRADICTED", "holds", "S5a", "Bound beside worst", "deadbeef", "Utilisation of resources"]
        {
            assert!(page.to_lowercase().contains(&text.to_lowercase()), "no {text}");
        }
    }

    #[test]
    fn the_page_says_who_made_it_and_promises_bits_only_where_they_are_kept() {
        let page = |clock: &str| {
            let mut results = sample::sweep();
            results.provenance.clock = clock.into();
            html(&results, &[], &[], None, &stamp()).unwrap()
        };
        for text in ["Laxity 0.1.0", "c2ef968", "2026-11-21 21:40:28 UTC"] {
            assert!(page("virtual").contains(text), "no {text}");
        }
        const PROMISE: &str = "give the same bits";
        assert!(page("virtual").contains(PROMISE));
        for clock in ["real", "virtual and real"] {
            assert!(!page(clock).contains(PROMISE) && page(clock).contains("no two runs"), "{clock}");
        }
    }

    #[test]
    fn names_are_text_and_never_markup() {
        let page = html(&sample::hostile(), &sample::hostile_verdicts(), &[], None, &stamp()).unwrap();
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "something acts on the page");
        assert!(!page.contains("<script"), "markup came through");
        assert!(!page.contains("onload=\"") && !page.contains("<b onload"), "markup came through");
        assert!(page.contains("&lt;script&gt;"));
    }

    #[test]
    fn nothing_measured_is_still_a_page() {
        let empty =
            Results { provenance: Provenance { ..sample::sweep().provenance }, axes: vec![], runs: vec![] };
        let page = html(&empty, &[], &[], None, &stamp()).unwrap();
        assert!(page.contains("</html>"));
        loads_nothing(&page);
        html(&sample::gaps(), &[], &[], None, &stamp()).unwrap();
    }
}
