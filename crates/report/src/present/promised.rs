//! Exceeded bounds, missing promises with the reason, and late messages that no column counts:
//! lines below the table, so that no reader takes silence for a guarantee.

use std::collections::BTreeMap;

use laxity_units::Span;
use laxity_world::metric::Kind;
use laxity_world::results::{Channel, Computation, Judged, RefusedChannel, Results};

use super::units::{Readable, typeset};
use crate::misses::{Misses, Pooled, REPETITIONS, over_seeds};

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// Channels and reason.
    pub(crate) text: String,
    /// Whether it fails the run.
    pub(crate) fails: bool,
}

/// A line for each bound that was exceeded and for each reason for which channels have no bound,
/// those that fail the run first.
pub(crate) fn notes(results: &Results) -> Vec<Note> {
    let mut found: BTreeMap<(bool, String), Who> = BTreeMap::new();
    for (number, run) in results.runs.iter().enumerate() {
        // The papers' bounds are for comparison, and some are exceeded.
        for of in run.exceeded().filter(|_| run.exceeds_bounds()) {
            let who = found.entry((false, above(&of.judged))).or_default();
            who.runs.push(number);
            if !who.channels.contains(&of.of) {
                who.channels.push(of.of);
            }
        }
        for (of, (late, due)) in run.computations.iter().map(|of| (of, late_share(of))) {
            if late == 0 {
                continue;
            }
            let expected = if of.misses_expected { ", as expected" } else { "" };
            let who = found.entry((!of.fails(), format!("{LATE}{expected}"))).or_default();
            who.runs.push(number);
            who.failed = who.failed.into_iter().chain([(late, due)]).max_by(by_share);
            if !who.channels.contains(&of.name) {
                who.channels.push(of.name.clone());
            }
        }
        for channel in &run.channels {
            let reasons = failed(channel).into_iter().chain(stopped(channel)).chain(reason(channel));
            let reasons = reasons.chain(late_outside(channel));
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
        let most = match who.failed.filter(|_| reason.starts_with(FAILED) || reason.starts_with(LATE)) {
            Some((failed, due)) if who.channels.len() + who.runs.len() > 2 => {
                format!(", at worst {failed} of {due}")
            }
            Some((failed, due)) => format!(", {failed} of {due}"),
            None => String::new(),
        };
        Note { text: format!("{}{at}: {reason}{most}", names(&who.channels)), fails: !passes }
    };
    found.into_iter().map(line).chain(misses(results)).collect()
}

/// The maximum number of groups of runs that have a line each for their misses.
const GROUPS: usize = 12;

/// The probability of a miss, pooled over the seeds of a sweep: the channels with the highest limit
/// first.
fn misses(results: &Results) -> Vec<Note> {
    let mut all: Vec<(f64, Pooled)> =
        over_seeds(results).into_iter().map(|pooled| (pooled.misses.limit(), pooled)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let left_out = all.len().saturating_sub(GROUPS);
    let text = |kind: Kind, value: f64| typeset(&kind.quantity(value)).replace('\u{a0}', " ");
    let line = |(limit, Pooled { point, channel, misses }): &(f64, Pooled)| {
        let axes = results.axes.iter().zip(point).filter(|(axis, _)| axis.name != REPETITIONS);
        let at: Vec<String> =
            axes.map(|(axis, place)| format!("{} = {}", axis.name, axis.points[*place].text)).collect();
        let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
        let Misses { runs, due, missed, deadline, bound } = misses;
        let bound = bound.map_or("no bound".into(), |bound| format!("bound {}", text(Kind::Time, bound)));
        let deadline = deadline.map_or(String::new(), |it| format!(", deadline {}", text(Kind::Time, it)));
        let limit = text(Kind::Share, *limit);
        format!(
            "{channel}{at}: {missed} of {due} messages late or lost over {runs} seeds; with 95 % confidence at most \
             {limit} of messages are (messages taken as independent); {bound}{deadline}"
        )
    };
    let more = (left_out > 0)
        .then(|| format!("and {left_out} more with a lower limit: `runs.pooled(…)` in a claim"));
    let lines = all.iter().take(GROUPS).map(line).chain(more);
    lines.map(|text| Note { text, fails: false }).collect()
}

/// The channels that have the same reason, and the points.
#[derive(Default)]
struct Who {
    channels: Vec<String>,
    runs: Vec<usize>,
    /// Messages that failed and that were due, at the point with the largest share.
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
    let lost = channel.failed_messages <= Some(channel.impaired_messages);
    let expected = match channel.misses_expected {
        true => ", as expected",
        false if lost => ", all of them by impairments of networks",
        false => "",
    };
    Some((channel.fails(), format!("{FAILED}{expected}")))
}

/// A closed loop that ends with this channel and stopped.
fn stopped(channel: &Channel) -> Option<(bool, String)> {
    let at = typeset(&Kind::Time.quantity(channel.round_stopped?)).replace('\u{a0}', " ");
    Some((channel.fails(), format!("its closed loop stopped at {at}, when a message was lost")))
}

/// The budgets of an application that were late or not done, of how many.
fn late_share(of: &Computation) -> (u64, u64) {
    (of.late + of.unfinished, of.budgets + of.unfinished)
}

const LATE: &str = "budgets late or not done";

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

/// Misses outside the window, which only the worst response time includes.
fn late_outside(channel: &Channel) -> Option<(bool, String)> {
    (channel.late_outside > 0).then(|| (false, "late outside the window, too (`late_outside`)".to_string()))
}

fn reason(channel: &Channel) -> Option<(bool, String)> {
    if let Some(refused) = &channel.refused {
        return Some((!refused.expected, refusal(refused)));
    }
    (!channel.no_bound.is_empty()).then(|| (false, format!("no bound: {}", channel.no_bound)))
}

/// A refusal in words: the reason, the contract that would have been admitted, and the largest
/// term.
fn refusal(refused: &RefusedChannel) -> String {
    let time = |seconds: f64| typeset(&Kind::Time.quantity(seconds)).replace('\u{a0}', " ");
    let expected = if refused.expected { "refused, as expected" } else { "refused" };
    let mut text = format!("{expected} ({})", refused.reason);
    // To the last figure: a shorter one would be refused.
    let exact = |least| Span::from_secs_f64(least).map_or_else(|| time(least), |span| span.to_string());
    match (refused.admissible, refused.admissible_jitter) {
        (Some(deadline), None) => text += &format!("; a deadline of {} would be admitted", exact(deadline)),
        (Some(deadline), Some(jitter)) => {
            let (jitter, deadline) = (exact(jitter), exact(deadline));
            text += &format!(
                "; a jitter of {jitter}, with a deadline no shorter than {deadline}, would be admitted"
            );
        }
        (None, _) if refused.largest.is_none() => {}
        (None, _) => text += "; no deadline was found that would be admitted beside the others",
    }
    if let Some(largest) = refused.largest {
        text += &format!(", most of it for {} ({})", refused.largest_term, time(largest));
    }
    text
}

#[cfg(test)]
mod tests {
    use laxity_world::results::{Axis, AxisPoint, Channel, Provenance, Run};

    use super::*;
    use crate::present::sample;

    /// An application that was never done with a budget in time, and one that was always.
    #[test]
    fn late_budgets_have_a_line() {
        let of = |name: &str, late, unfinished, misses_expected| Computation {
            name: name.into(),
            budgets: 4,
            late,
            unfinished,
            misses_expected,
            ..Computation::default()
        };
        let run = |misses_expected| Run {
            computations: vec![of("in time", 0, 0, misses_expected), of("late", 4, 5, misses_expected)],
            ..Run::default()
        };
        let said = |misses_expected| {
            let mut results = Results { runs: vec![run(misses_expected)], ..sample::sweep() };
            results.axes.clear();
            notes(&results)
        };
        let text = "late: budgets late or not done, 9 of 9".to_string();
        assert_eq!(said(false), [Note { text, fails: true }]);
        let text = "late: budgets late or not done, as expected, 9 of 9".to_string();
        assert_eq!(said(true), [Note { text, fails: false }]);
    }

    /// Ten seeds of 1200 messages without a miss: 3 / 12 000 is 2.5e-4.
    #[test]
    fn how_likely_a_miss_is_has_a_line_for_each_channel() {
        let channel = |missed| Channel {
            name: "camera".into(),
            class: "real_time".into(),
            deadline: Some(0.03),
            delivery_bound: Some(0.029),
            due_messages: Some(1200),
            failed_messages: Some(missed),
            misses_expected: true,
            ..Channel::default()
        };
        let points = (0..10).map(|i| AxisPoint { text: i.to_string(), value: Some(f64::from(i)) }).collect();
        let runs = (0..10).map(|i| Run { point: vec![i], channels: vec![channel(0)], ..Run::default() });
        let mut results = Results {
            provenance: Provenance::default(),
            axes: vec![Axis { name: "seed".into(), label: "seed".into(), points }],
            runs: runs.collect(),
        };
        let lines = |results: &Results| notes(results).into_iter().map(|note| note.text).collect::<Vec<_>>();
        assert_eq!(
            lines(&results),
            [
                "camera: 0 of 12000 messages late or lost over 10 seeds; with 95 % confidence at most 0.025 % of \
              messages are (messages taken as independent); bound 29 ms, deadline 30 ms"
            ]
        );
        results.runs[3].channels[0] = channel(2);
        assert!(lines(&results)[1].starts_with("camera: 2 of 12000 "), "{:?}", lines(&results));
        results.axes[0].name = "load".into();
        assert!(lines(&results).iter().all(|line| !line.contains("confidence")), "no repetitions");
    }
}
