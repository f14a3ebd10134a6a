//! The outcomes as tables in Markdown.

use std::time::Duration;

use crate::cases::{CASES, Case, Outcome, SENDERS, Sender};
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
