//! What was exceeded, what was not promised, and why, and what was late where no column counts it: lines below the table, so that nobody
//! takes silence for a guarantee.

use std::collections::BTreeMap;

use laxity_world::metric::Kind;
use laxity_world::results::{Channel, Judged, Refused, Results};

use super::units::{Readable, typeset};

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// Channels and reason.
    pub(crate) text: String,
    /// Whether it fails the run.
    pub(crate) fails: bool,
}

/// A line for each bound that was exceeded and for each reason for which channels have no bound, those that fail the run first.
pub(crate) fn notes(results: &Results) -> Vec<Note> {
    let mut found: BTreeMap<(bool, String), Who> = BTreeMap::new();
    for (number, run) in results.runs.iter().enumerate() {
        // The papers' bounds are there to be compared, and some are exceeded.
        for of in run.exceeded().filter(|_| run.exceeds_bounds()) {
            let who = found.entry((false, above(&of.judged))).or_default();
            who.runs.push(number);
            if !who.channels.contains(&of.of) {
                who.channels.push(of.of);
            }
        }
        for channel in &run.channels {
            let reasons = failed(channel).into_iter().chain(reason(channel)).chain(late_outside(channel));
            for (fails, reason) in reasons {
                let who = found.entry((!fails, reason)).or_default();
                who.runs.push(number);
                who.failed = who.failed.into_iter().chain(failed_share(channel)).max_by(by_share);
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
        let most = match who.failed.filter(|_| reason.starts_with(FAILED)) {
            Some((failed, due)) if who.channels.len() + who.runs.len() > 2 => {
                format!(", at worst {failed} of {due}")
            }
            Some((failed, due)) => format!(", {failed} of {due}"),
            None => String::new(),
        };
        Note { text: format!("{}{at}: {reason}{most}", names(&who.channels)), fails: !passes }
    };
    found.into_iter().map(line).collect()
}

/// Who has one reason, and where.
#[derive(Default)]
struct Who {
    channels: Vec<String>,
    runs: Vec<usize>,
    /// Messages that failed and that were due, where the share is largest.
    failed: Option<(u64, u64)>,
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
    failed_share(channel)?;
    let expected = if channel.misses_expected { ", as expected" } else { "" };
    Some((channel.fails(), format!("{FAILED}{expected}")))
}

const FAILED: &str = "messages within the contract late or lost";

fn failed_share(channel: &Channel) -> Option<(u64, u64)> {
    channel.failed_messages.zip(channel.due_messages).filter(|(failed, _)| *failed > 0)
}

fn by_share(one: &(u64, u64), other: &(u64, u64)) -> std::cmp::Ordering {
    (u128::from(one.0) * u128::from(other.1)).cmp(&(u128::from(other.0) * u128::from(one.1)))
}

/// A bound that was exceeded, in words.
fn above(judged: &Judged) -> String {
    let value = |value| typeset(&judged.kind.quantity(value)).replace('\u{a0}', " ");
    let (measured, bound) = (value(judged.measured), value(judged.bound));
    format!(
        "BOUND EXCEEDED: {} of {measured}, proved to be {bound} at most; please report this file",
        judged.what
    )
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
