//! The outcomes as tables in Markdown.

use std::time::Duration;

use crate::cases::{CASES, Case, Outcome, SENDERS, Sender};
use crate::claims::Row as Claim;
use crate::streams::{BULK, Delays, STREAM, Stream};

type Row = (Case, Sender, Outcome);

/// Late and lost messages in percent of those sent.
fn missed(delays: &Delays, stream: Stream) -> f64 {
    let missed = delays.late(stream.deadline) + delays.lost();
    100.0 * missed as f64 / delays.sent.max(1) as f64
}

fn percent(part: f64) -> String {
    if part == 0.0 || part == 100.0 { format!("{part:.0} %") } else { format!("{part:.2} %") }
}

fn ms(delay: Option<Duration>) -> String {
    delay.map_or_else(|| "–".to_owned(), |delay| format!("{:.2}", delay.as_secs_f64() * 1e3))
}

/// Prints the shares of late messages, and then each run.
pub(crate) fn print(rows: &[Row], seconds: u64) {
    println!(
        "{} B each {:?} for {seconds} s; later than {:?} or lost, in percent:\n",
        STREAM.size, STREAM.period, STREAM.deadline
    );
    let head: Vec<&str> = CASES.iter().map(|case| case.words()).collect();
    println!("| sender | {} |\n|---|{}", head.join(" | "), "---|".repeat(head.len()));
    for sender in SENDERS {
        let cell = |case| {
            let row = rows.iter().find(|row| row.0 == case && row.1 == sender);
            row.map_or_else(String::new, |row| percent(missed(&row.2.stream, STREAM)))
        };
        let cells: Vec<String> = CASES.into_iter().map(cell).collect();
        println!("| {} | {} |", sender.words(), cells.join(" | "));
    }
    println!("\n| case | sender | late | lost | p50 ms | p99.9 ms | maximum ms | first line carries |");
    println!("|---|---|---|---|---|---|---|---|");
    for (case, sender, outcome) in rows {
        line(case.words(), sender.words(), &outcome.stream, STREAM, outcome.carried);
        if let Some(bulk) = &outcome.bulk {
            let words = format!("its {} kB within {:?}", BULK.size / 1000, BULK.deadline);
            line(&words, sender.words(), bulk, BULK, outcome.carried);
        }
    }
    println!();
    for (case, _, outcome) in rows {
        let Some((unexplained, longest)) = outcome.daemons else { continue };
        println!(
            "- laxity, {}: {} messages late by the count of the nodes, {unexplained} late packets that no stop \
             covers; the longest stop of a daemon {longest:?}",
            case.words(),
            outcome.stream.missed,
        );
    }
}

fn line(case: &str, sender: &str, delays: &Delays, stream: Stream, carried: f64) {
    let share = |count: u64| percent(100.0 * count as f64 / delays.sent.max(1) as f64);
    let late = share(delays.late(stream.deadline));
    let [p50, p999, worst] = [0.5, 0.999, 1.0].map(|of| ms(delays.quantile(of)));
    let lost = share(delays.lost());
    println!("| {case} | {sender} | {late} | {lost} | {p50} | {p999} | {worst} | {carried:.1} Mbit/s |");
}

/// Prints the claims.
pub(crate) fn print_claims(rows: &[Claim]) {
    println!("\n| claim | says | verdict | figures |\n|---|---|---|---|");
    for row in rows {
        println!("| {} | {} | {} | {} |", row.id, row.says, row.verdict, row.figures);
    }
}

/// The claims as a section of docs/reproduction.md, with date and machine.
pub(crate) fn section(rows: &[Claim], seconds: u64) -> String {
    let date = output("date", &["-u", "+%F"]);
    let release = output("uname", &["-r"]);
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models = processors.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = models.clone().next().map_or("an unknown processor", |(_, model)| model.trim());
    let count = models.count();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    let mut text = format!(
        "<!-- system service -->\n## service\n\n### Channels of daemons on three nodes, beside floods of both \
         lines\n\n<!-- experiment crates/service/benches/comparison/claims.rs {date} -->\n\
         `cargo xtask service-claims` on {date}, {seconds} s: {count} cores of {model}, Linux {release}, a load \
         of {load}\n\n| claim | line | says | verdict | draws | range | figures |\n|---|---|---|---|---|---|---|\n"
    );
    for Claim { id, line, says, verdict, figures } in rows {
        text += &format!("| {id} | {line} | Real and virtual time: {says} | {verdict} |  |  | {figures} |\n");
    }
    text
}

/// The output of a program.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new(program).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
