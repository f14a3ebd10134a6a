//! Claims that range over a parameter: one verdict from those at each value.

use laxity_world::results::{AtSetting, Axis, Ruling};

use super::Found;

/// The verdict of all points of `axis`, from that at each; of the one that is the `setting`, if one is.
///
/// A point that could not be judged neither widens nor narrows the range; with none judged there is
/// no verdict.
pub(super) fn joined(axis: &Axis, setting: Option<usize>, found: &[Found]) -> Found {
    let holding: Vec<bool> = found.iter().map(|found| found.ruling.holds()).collect();
    let contradicted = found.iter().filter(|found| found.ruling == Ruling::Contradicted).count();
    let ruling = match holding.iter().filter(|holds| **holds).count() {
        all if all > 0 && all == found.len() => Ruling::Holds,
        0 if contradicted > 0 => Ruling::Contradicted,
        0 => {
            let because = found.first().map_or("the axis has no points", |found| found.ruling.detail());
            Ruling::NotJudged { because: because.to_string() }
        }
        some => {
            let of = found.len();
            let range = format!("{} {} ({some} of {of} points)", axis.name, stretches(axis, &holding));
            Ruling::HoldsWithin { range }
        }
    };
    let shown = axis.points.iter().zip(found).map(|(point, found)| {
        let draws = found.draws.map_or_else(String::new, |draws| format!(" in {draws}"));
        match found.figure.as_str() {
            "" => format!("{}: {}{draws}", point.text, found.ruling.word()),
            figure => format!("{}: {}{draws} ({figure})", point.text, found.ruling.word()),
        }
    });
    // A gap in the range where the platform stalled is not the claim's.
    let spoilt = found.iter().any(|found| found.spoilt);
    let figure = shown.collect::<Vec<_>>().join("; ");
    if let Some(at) = setting {
        let range = match &ruling {
            Ruling::Holds => format!("{}: all of {} points", axis.name, found.len()),
            Ruling::HoldsWithin { range } => range.clone(),
            Ruling::Contradicted | Ruling::NotJudged { .. } => format!("no {} of {}", axis.name, found.len()),
        };
        let setting = format!("{} {}", axis.name, axis.points[at].text);
        let (ruling, draws) = (found[at].ruling.clone(), found[at].draws);
        return Found { ruling, at: Some(AtSetting { setting, range }), figure, draws, spoilt };
    }
    let draws = found.iter().filter_map(|found| found.draws).max_by_key(|draws| draws.held);
    Found { draws, spoilt, ..Found::of(ruling, figure) }
}

/// The points where `holding` is true, neighbours as a stretch: `1 to 4, 16`.
fn stretches(axis: &Axis, holding: &[bool]) -> String {
    let mut stretches: Vec<(usize, usize)> = Vec::new();
    for (at, _) in holding.iter().enumerate().filter(|(_, holds)| **holds) {
        match stretches.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => stretches.push((at, at)),
        }
    }
    let text = |at: usize| axis.points[at].text.as_str();
    let words = stretches.into_iter().map(|(first, last)| match last - first {
        0 => text(first).to_string(),
        1 => format!("{}, {}", text(first), text(last)),
        _ => format!("{} to {}", text(first), text(last)),
    });
    words.collect::<Vec<_>>().join(", ")
}
