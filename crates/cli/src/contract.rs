//! `laxity contract`: what a recording must reserve.

use std::collections::BTreeMap;
use std::path::Path;

use laxity_lab::contract::{ContractRow, NoContract, Recording, choice};
use laxity_model::source::trace;
use laxity_report::output::{self, FileKind};
use laxity_report::present::figure;
use laxity_scenario::figure::FigureSpec;
use laxity_units::{Bytes, Rate, Span};
use laxity_world::results::{Axis, AxisPoint, Results, Run};
use laxity_world::text::{clean, clean_lines};
use serde_json::{Value, json};

use crate::arguments::Contract;
use crate::terminal::Terminal;
use crate::{Exit, columns};

/// The longest wait that can be asked for.
const LONGEST_WAIT: Span = Span::from_secs(24 * 3600);
/// Multiple of the mean above which a reservation is far from the mean.
const FAR: f64 = 2.0;
/// Multiple of the mean up to which one is near the mean.
const NEAR: f64 = 1.25;
/// Waits in the figure, in eighths of the mean spacing of messages.
const WAITS: [u64; 9] = [2, 4, 8, 16, 32, 64, 128, 256, 512];

pub(crate) fn contract(options: &Contract, terminal: &mut Terminal) -> Exit {
    let file = clean(&options.file.display().to_string());
    let (recording, rows) = match rows(options, &file) {
        Ok(known) => known,
        Err(reason) => {
            terminal.error(&reason);
            return Exit::BadInput;
        }
    };
    let Some(chosen) = choice(&rows).copied() else {
        terminal.error(&format!(
            "no interval lets each message of {file}, or each piece of one, wait so shortly; a longer `--wait` does"
        ));
        return Exit::Fails;
    };
    if options.json {
        terminal.line(&format!("{:#}", in_json(&recording, &rows, &chosen)));
    } else {
        let count = recording.messages();
        let (largest, lasts) = (recording.largest().get(), recording.lasts().as_secs_f64());
        let mean = in_mbit(recording.mean());
        terminal.line(&format!(
            "{file}  {count} messages of at most {largest} B in {lasts:.3} s, {mean} on average\n"
        ));
        terminal.print(&table(&recording, &rows, &chosen));
        terminal.print(&snippet(options, &chosen, recording.distance(&chosen)));
        if let Some((wait, percent)) = longer_wait(&recording, &chosen) {
            terminal.note(&format!(
                "messages come in groups, so a short wait reserves far more than the mean: `--wait {wait}ms` \
                 would reserve {percent:.0} % of it"
            ));
        }
    }
    match &options.svg {
        Some(path) => write(&drawing(&file, &recording, &rows), path, options, terminal),
        None => Exit::Holds,
    }
}

/// The recording and its contracts, or why there are none.
fn rows(options: &Contract, file: &str) -> Result<(Recording, Vec<ContractRow>), String> {
    let read = trace::read(&options.file).map_err(|error| clean_lines(&error.to_string()))?;
    let read = if options.link_header { read } else { read.without_link_headers().unwrap_or(read) };
    let recording = Recording::of(&read, options.interval).map_err(|unfit| match unfit {
        NoContract::NoTimes => {
            format!("{file} has no times; `--interval 40ms` says how far apart its messages are")
        }
        NoContract::OneInstant => format!("{file} has messages of one instant only, which have no rate"),
    })?;
    let wait = options.wait.unwrap_or_else(|| recording.spacing());
    if wait > LONGEST_WAIT {
        return Err(format!("a `--wait` of {wait} is no bound; valid is up to {LONGEST_WAIT}"));
    }
    let rows = match options.message {
        Some(message) if message > recording.largest() => {
            return Err(format!("no message of {file} is larger than {} B", recording.largest().get()));
        }
        Some(Bytes::ZERO) => return Err("a `--message` of 0 B carries nothing; valid is 1 B or more".into()),
        Some(largest) => recording.contract(largest, wait).into_iter().collect(),
        None => recording.contracts(wait),
    };
    Ok((recording, rows))
}

fn in_json(recording: &Recording, rows: &[ContractRow], chosen: &ContractRow) -> Value {
    let row = |row: &ContractRow| {
        json!({
            "max_message": row.largest.get(),
            "burst": row.burst,
            "min_interval": row.interval.as_secs_f64(),
            "rate": row.rate.bytes_per_sec_f64(),
            "longest_wait": row.waits.as_secs_f64(),
            "least_distance": recording.distance(row).map(Span::as_secs_f64),
            "chosen": row == chosen,
        })
    };
    json!({
        "messages": recording.messages(),
        "largest": recording.largest().get(),
        "lasts": recording.lasts().as_secs_f64(),
        "mean_rate": recording.mean().bytes_per_sec_f64(),
        "contracts": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

/// The least wait that is the chosen one times a power of two and reserves at most [`NEAR`] times the
/// mean, in milliseconds, rounded up, and the percentage of the mean. `None` if the chosen contract
/// reserves at most [`FAR`] times the mean, or if no wait up to the length of the recording does.
fn longer_wait(recording: &Recording, chosen: &ContractRow) -> Option<(u64, f64)> {
    let of_mean = |row: &ContractRow| row.rate.bytes_per_sec_f64() / recording.mean().bytes_per_sec_f64();
    if of_mean(chosen) <= FAR {
        return None;
    }
    let first = chosen.waits.max(recording.spacing());
    let longer = (1..).map(|doublings| first.saturating_mul(1 << doublings));
    let ms = |wait: Span| wait.as_ps().div_ceil(Span::from_ms(1).as_ps());
    let waits = longer.take_while(|wait| *wait <= recording.lasts().min(LONGEST_WAIT)).map(ms);
    let mut reserved = waits.filter_map(|wait| {
        let rows = recording.contracts(Span::from_ms(wait));
        Some((wait, 100.0 * of_mean(choice(&rows)?)))
    });
    reserved.find(|(_, percent)| *percent <= 100.0 * NEAR)
}

/// The contracts, each with what it reserves; a mark at the one that is chosen.
fn table(recording: &Recording, rows: &[ContractRow], chosen: &ContractRow) -> String {
    let heading =
        ["max_message", "burst", "min_interval", "reserved", "of the mean", "longest wait"].map(String::from);
    let line = |row: &ContractRow| {
        [
            format!("{} B", row.largest.get()),
            row.burst.to_string(),
            // No longer interval is kept, and no wait is longer than the longest.
            in_us(row.interval.as_ps() / 1000),
            in_mbit(row.rate),
            format!("{:.0} %", 100.0 * row.rate.bytes_per_sec_f64() / recording.mean().bytes_per_sec_f64()),
            in_us(row.waits.as_ps().div_ceil(1000)),
        ]
    };
    let lines: Vec<[String; 6]> = std::iter::once(heading).chain(rows.iter().map(line)).collect();
    let marks = std::iter::once("").chain(rows.iter().map(|row| if row == chosen { "  <" } else { "" }));
    columns::lines(&lines, [true; 6]).zip(marks).map(|(line, mark)| format!("{line}{mark}\n")).collect()
}

/// The chosen contract as a channel of a scenario, with the least `distance` of its messages as a
/// further limit. The deadline in it is the interval, which each admission test covers; the reader
/// chooses another. The recording is sent once, since its end and its beginning may be too close
/// together.
fn snippet(options: &Contract, chosen: &ContractRow, distance: Option<Span>) -> String {
    let name = options.file.file_stem().map_or("recorded".into(), |stem| stem.to_string_lossy());
    // A string of JSON without controls is one of TOML.
    let [name, file] = [name, options.file.to_string_lossy()].map(|text| json!(clean(&text)));
    // A shorter interval than the longest is kept as well.
    let rounded = |span: Span| match Span::from_ns(span.as_ps() / 1000) {
        Span::ZERO => span,
        whole => whole,
    };
    let interval = rounded(chosen.interval);
    let limits = distance.map_or(String::new(), |distance| {
        format!("limits = [{{ burst = 1, min_interval = \"{}\" }}]\n", rounded(distance))
    });
    let apart = options.interval.map_or(String::new(), |interval| format!(", interval = \"{interval}\""));
    format!(
        "\n[[channel]]\nname = {name}\nclass = \"real_time\"\nmax_message = \"{} B\"\nburst = {}\n\
         min_interval = \"{interval}\"\n{limits}deadline = \"{interval}\"  # choose yours\n\
         source = {{ kind = \"recorded\", trace = {file}{apart}, repeat = false }}\n",
        chosen.largest.get(),
        chosen.burst,
    )
}

/// The least rate for each wait, a line for each largest message, as SVG.
fn drawing(name: &str, recording: &Recording, rows: &[ContractRow]) -> String {
    let waits = WAITS.map(|eighths| recording.spacing().saturating_mul(eighths) / 8);
    let point = |text: String, value| AxisPoint { text, value };
    let axes = vec![
        Axis {
            name: "message".into(),
            label: "max_message".into(),
            points: rows.iter().map(|row| point(format!("{} B", row.largest.get()), None)).collect(),
        },
        Axis {
            name: "wait".into(),
            label: "wait (ms)".into(),
            points: waits
                .iter()
                .map(|wait| point(format!("{:.3}", wait.as_secs_f64() * 1e3), Some(wait.as_secs_f64() * 1e3)))
                .collect(),
        },
    ];
    let mut runs = Vec::new();
    for (line, row) in rows.iter().enumerate() {
        for (place, wait) in waits.iter().enumerate() {
            let Some(found) = recording.contract(row.largest, *wait) else { continue };
            let figures =
                BTreeMap::from([("reserved (Mbit/s)".to_string(), found.rate.bits_per_sec() as f64 / 1e6)]);
            runs.push(Run { point: vec![line, place], figures, ..Run::default() });
        }
    }
    let results = Results { provenance: Default::default(), axes, runs };
    let metric = "figure:reserved (Mbit/s)".parse().expect("a figure of this name is a metric");
    let spec = FigureSpec {
        title: format!("What {name} must reserve; {} on average", in_mbit(recording.mean())),
        by: Some("message".into()),
        log_x: true,
        ..FigureSpec::new("wait", metric)
    };
    figure::svg(&results, &spec).expect("the figure names axes that are there")
}

fn write(svg: &str, path: &Path, options: &Contract, terminal: &mut Terminal) -> Exit {
    match output::write(path, FileKind::Drawing, std::slice::from_ref(&options.file), svg.as_bytes()) {
        Ok(()) => {
            terminal.note(&format!("figure in {}", clean(&path.display().to_string())));
            Exit::Holds
        }
        Err(error) => terminal.unwritten(&error),
    }
}

/// Nanoseconds in microseconds.
pub(crate) fn in_us(ns: u64) -> String {
    format!("{}.{:03} us", ns / 1000, ns % 1000)
}

fn in_mbit(rate: Rate) -> String {
    format!("{:.3} Mbit/s", rate.bits_per_sec() as f64 / 1e6)
}
