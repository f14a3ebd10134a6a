//! What was not promised, and why, and what was late where no column counts it: lines below the table, so that nobody
//! takes silence for a guarantee.

use std::collections::BTreeMap;

use laxity_world::metric::Kind;
use laxity_world::results::{Channel, Refused, Results};

use super::units::{Readable, typeset};

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// Channels and reason.
    pub(crate) text: String,
    /// Whether it fails the run.
    pub(crate) fails: bool,
}

/// A line per reason for which channels have no bound, those that fail the run first.
pub(crate) fn notes(results: &Results) -> Vec<Note> {
    let mut found: BTreeMap<(bool, String), Who> = BTreeMap::new();
    for (number, run) in results.runs.iter().enumerate() {
        for channel in &run.channels {
            let reasons = failed(channel).into_iter().chain(reason(channel)).chain(late_outside(channel));
            for (fails, reason) in reasons {
                let who = found.entry((!fails, reason)).or_default();
                who.runs.push(number);
                if !who.channels.contains(&channel.name) {
                    who.channels.push(channel.name.clone());
                }
            }
        }
    }
    let line = |((passes, reason), mut who): ((bool, String), Who)| {
        who.runs.dedup();
        let at = match who.runs.as_slice() {
            all if all.len() == results.runs.len() => String::new(),
            [one] => format!(" at {}", super::grid::point_text(results, &results.runs[*one])),
            some => format!(" at {} of {} points", some.len(), results.runs.len()),
        };
        Note { text: format!("{}{at}: {reason}", names(&who.channels)), fails: !passes }
    };
    found.into_iter().map(line).collect()
}

/// Who has one reason, and where.
#[derive(Default)]
struct Who {
    channels: Vec<String>,
    runs: Vec<usize>,
}

/// Channels named one by one here, at most.
const NAMED: usize = 4;

fn names(channels: &[String]) -> String {
    match channels.len().checked_sub(NAMED) {
        Some(more) if more > 1 => format!("{} and {more} more", channels[..NAMED].join(", ")),
        _ => channels.join(", "),
    }
}

/// Messages within their contract that were not there by their deadline.
fn failed(channel: &Channel) -> Option<(bool, String)> {
    let (failed, due) =
        channel.failed_messages.zip(channel.due_messages).filter(|(failed, _)| *failed > 0)?;
    let expected = if channel.misses_expected { ", as expected" } else { "" };
    let reason = format!("{failed} of {due} messages within the contract late or lost{expected}");
    Some((channel.fails(), reason))
}

/// Misses outside the window, which only the worst response time tells of.
fn late_outside(channel: &Channel) -> Option<(bool, String)> {
    (channel.late_outside > 0).then(|| (false, "late outside the window, too (`late_outside`)".to_string()))
}

fn reason(channel: &Channel) -> Option<(bool, String)> {
    if let Some(refused) = &channel.refused {
        return Some((!refused.expected, refusal(refused)));
    }
    (!channel.no_bound.is_empty()).then(|| (false, format!("no bound: {}", channel.no_bound)))
}

/// A refusal in words: why, what would have been admitted, and what takes most of it.
fn refusal(refused: &Refused) -> String {
    let time = |seconds: f64| typeset(&Kind::Time.quantity(seconds)).replace('\u{a0}', " ");
    let expected = if refused.expected { "refused, as expected" } else { "refused" };
    let mut text = format!("{expected} ({})", refused.reason);
    match refused.admissible {
        Some(least) => text += &format!("; a deadline of {} would be admitted", time(least)),
        None => text += "; no deadline would be admitted beside the others",
    }
    if let Some(largest) = refused.largest {
        text += &format!(", most of it for {} ({})", refused.largest_term, time(largest));
    }
    text
}
