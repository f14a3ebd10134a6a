//! `laxity diff`: the results of two runs beside each other.

use std::fs;
use std::path::Path;

use laxity_report::diff::{self, Comparison, Difference, LEVEL};
use laxity_report::present::quantity;
use laxity_world::metric::Metric;
use laxity_world::results::Results;
use laxity_world::text::clean;
use serde::Deserialize;

use crate::Exit;
use crate::arguments::Diff;
use crate::check::counted;
use crate::terminal::Terminal;

/// The part of `results.json` that is compared.
#[derive(Deserialize)]
struct Document {
    results: Results,
}

pub(crate) fn diff(arguments: &Diff, terminal: &mut Terminal) -> Exit {
    let read =
        |path: &Path| read(path).map_err(|why| format!("{}: {why}", clean(&path.display().to_string())));
    let metrics: Result<Vec<Metric>, String> =
        arguments.metrics.iter().map(|name| name.parse::<Metric>().map_err(|e| e.to_string())).collect();
    let compared = metrics.and_then(|metrics| {
        if let Some(curve) = metrics.iter().find(|metric| metric.curve().is_some()) {
            return Err(format!("`{}` is a curve and no number", curve.name()));
        }
        Ok(diff::compare(&read(&arguments.before)?, &read(&arguments.after)?, &metrics))
    });
    let comparison = match compared {
        Ok(comparison) => comparison,
        Err(reason) => {
            terminal.error(&reason);
            return Exit::BadInput;
        }
    };
    if arguments.json {
        terminal.line(&serde_json::to_string_pretty(&comparison).expect("JSON is text"));
    } else {
        show(&comparison, terminal);
    }
    let matters = comparison.differences.iter().any(|d| d.is_significant() != Some(false));
    match matters || !comparison.removed.is_empty() || !comparison.added.is_empty() {
        true => Exit::Fails,
        false => Exit::Holds,
    }
}

/// The results of a directory or a file.
fn read(path: &Path) -> Result<Results, String> {
    let file = if path.is_dir() { path.join("results.json") } else { path.to_path_buf() };
    let text = fs::read_to_string(&file).map_err(|error| match path.is_dir() {
        true => "this directory has no results: valid is one that `laxity run` wrote".into(),
        false => error.to_string(),
    })?;
    let document: Document = serde_json::from_str(&text)
        .map_err(|error| format!("it is no `results.json` of `laxity run`: {error}"))?;
    Ok(document.results)
}

fn show(comparison: &Comparison, terminal: &mut Terminal) {
    for (rows, what) in
        [(&comparison.removed, "only in the first"), (&comparison.added, "only in the second")]
    {
        for row in rows {
            terminal.line(&format!("{what}: {}", clean(row)));
        }
    }
    let heading = ["at", "of", "metric", "first", "second", "change", "by chance"].map(String::from);
    let rows: Vec<[String; 7]> = comparison.differences.iter().map(row).collect();
    if !rows.is_empty() {
        table(&[&[heading][..], &rows[..]].concat(), terminal);
    }
    let significant = |known: Option<bool>| {
        comparison.differences.iter().filter(|difference| difference.is_significant() == known).count()
    };
    let mut counts = format!(
        "{} compared, {} differ",
        counted(comparison.compared, "figure"),
        comparison.differences.len()
    );
    if significant(Some(true)) + significant(Some(false)) > 0 {
        counts += &format!("; {} significantly (below {LEVEL}, by Holm)", significant(Some(true)));
    }
    if significant(None) > 0 {
        counts += &format!("; {} in one draw only", significant(None));
    }
    terminal.line(&counts);
}

fn row(difference: &Difference) -> [String; 7] {
    let value = |value: f64| quantity(difference.kind, value);
    let relative = |share: f64| format!("{:+.2} %", share * 100.0);
    [
        clean(&difference.point),
        clean(difference.of.as_deref().unwrap_or("the run")),
        difference.metric.clone(),
        value(difference.before),
        value(difference.after),
        difference.relative().map_or_else(|| "from 0".into(), relative),
        match difference.p {
            None => "one draw".into(),
            Some(p) if p < 0.001 => "< 0.001".into(),
            Some(p) => format!("{p:.3}"),
        },
    ]
}

fn table(rows: &[[String; 7]], terminal: &mut Terminal) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    for row in rows {
        let cells = row.iter().enumerate().filter(|(column, _)| width(*column) > 0);
        let cells = cells.map(|(column, cell)| {
            let wide = width(column);
            // The heading decides the column, and numbers stand to the right.
            if column < 3 { format!("{cell:<wide$}") } else { format!("{cell:>wide$}") }
        });
        terminal.line(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
