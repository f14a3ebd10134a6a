//! Judged parts of a scenario: claims and figures.

use std::ops::Range;

use laxity_world::metric::{Metric, MetricOwner, metrics};
use laxity_world::results::{Axis, Run};
use laxity_world::{causes, figures};
use serde_spanned::Spanned;

use super::context::{Context, Reported};
use super::raw::{RawClaim, RawFigure, RawMarks};
use super::written::{List, Part, Written};
use crate::claim::{Claim, ClaimError, Scripts};
use crate::diagnostic::{Diagnostic, Place, list, nearest, shown};
use crate::figure::{FigureError, FigureSpec, Marks};
use crate::leaf::Number;
use crate::section::Section;

/// A figure, and the channels it names with their places.
pub(crate) type Figure = (FigureSpec, Vec<Spanned<String>>);

/// A claim, and where it and its scripts are.
pub(crate) struct Placed {
    pub(crate) claim: Claim,
    place: Range<usize>,
    holds: Range<usize>,
    shows: Option<Range<usize>>,
}

/// Tries the scripts on a stub of the results, and reports those that name what will not be there.
pub(crate) fn check_names(
    cx: &mut Context<'_>,
    claims: &[Placed],
    axes: &[Axis],
    stub: Vec<Run>,
    scripts: &dyn Scripts,
) -> Result<(), Reported> {
    let all: Vec<Claim> = claims.iter().map(|placed| placed.claim.clone()).collect();
    let mut outcome = Ok(());
    for error in scripts.try_on(&all, axes, stub) {
        let Some(placed) = claims.iter().find(|placed| placed.claim.id == error.id) else { continue };
        let (span, text) = match (error.script, &placed.shows, &placed.claim.shows) {
            ("shows", Some(span), Some(text)) => (span, text),
            _ => (&placed.holds, &placed.claim.holds),
        };
        outcome = Err(cx.report(script_error(cx, &error, span, text)));
    }
    outcome
}

/// The claims, each with scripts that compile, and with an axis to range over if it names one of
/// `axes`; without them any name will do.
pub(crate) fn claims(
    cx: &mut Context<'_>,
    raw: Option<List<Part<RawClaim>>>,
    axes: Option<&[Axis]>,
    scripts: &dyn Scripts,
) -> Result<Vec<Placed>, Reported> {
    let mut claims: Vec<Placed> = Vec::new();
    let mut outcome = Ok(());
    for part in cx.items(raw)? {
        let claim = claim(cx, part, axes, scripts).and_then(|claim| {
            if claims.iter().any(|other| other.claim.id == claim.claim.id) {
                let reason = format!("there are two claims `{}`", shown(&claim.claim.id));
                return Err(cx.fault(
                    &claim.place,
                    reason,
                    "give each claim an id of its own, or join them by `&&`",
                ));
            }
            Ok(claim)
        });
        match claim {
            Ok(claim) => claims.push(claim),
            Err(reported) => outcome = Err(reported),
        }
    }
    outcome.map(|()| claims)
}

fn claim(
    cx: &mut Context<'_>,
    part: Part<RawClaim>,
    axes: Option<&[Axis]>,
    reader: &dyn Scripts,
) -> Result<Placed, Reported> {
    let part = cx.part(part)?;
    let (owner, raw) = (part.span(), part.into_inner());
    let what = match raw.id.as_ref().map(|id| &id.value) {
        Some(Ok(id)) => format!("claim `{}`", shown(id)),
        _ => "this claim".into(),
    };
    let keys = raw.read(cx, &owner, &what);
    let range = keys.range.placed()?;
    if let (Some(range), Some(axes)) = (&range, axes)
        && !axes.iter().any(|axis| axis.name == *range.get_ref())
    {
        let have: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
        return Err(nothing_called(cx, &range.span(), "axis", range.get_ref(), &have));
    }
    let (id, holds, shows) = (keys.id.spanned()?, keys.holds.spanned()?, keys.shows.placed()?);
    let scripts = [Some(holds.span()), shows.as_ref().map(Spanned::span)];
    let place = id.span();
    let claim = Claim {
        location: cx.place(&place).to_string(),
        id: id.into_inner(),
        says: keys.says.value?,
        origin: keys.origin.value?,
        from: keys.from.value?.unwrap_or_default(),
        same_as: keys.same_as.value?,
        holds: holds.into_inner(),
        shows: shows.map(Spanned::into_inner),
        reason: keys.reason.value?.unwrap_or_default(),
        range: range.map(Spanned::into_inner),
        setting: None,
        by_draw: false,
        stalls: keys.stalls.value?,
    };
    let mut outcome = Ok(());
    for error in reader.compile(&claim) {
        let (script, text) = match error.script {
            "shows" => (&scripts[1], claim.shows.as_deref()),
            _ => (&scripts[0], Some(claim.holds.as_str())),
        };
        let span = script.clone().unwrap_or(place.clone());
        let diagnostic = script_error(cx, &error, &span, text.unwrap_or_default());
        outcome = Err(cx.report(diagnostic));
    }
    outcome?;
    let [holds, shows] = scripts;
    Ok(Placed { claim, place, holds: holds.expect("a claim has `holds`"), shows })
}

/// The error of a script, at its place in the file where the script stands there as it is.
fn script_error(cx: &Context<'_>, error: &ClaimError, span: &Range<usize>, script: &str) -> Diagnostic {
    let written = cx.source.text().get(span.clone()).unwrap_or_default();
    let start = written.find(script.trim_end_matches('\n')).map(|at| span.start + at);
    let place = match (start, error.position) {
        (Some(start), Some((line, column))) => {
            let line = script.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
            let column = script[line..].char_indices().nth(column.saturating_sub(1)).map_or(0, |(at, _)| at);
            let at = start + line + column;
            at..at + script[line + column..].chars().next().map_or(0, char::len_utf8)
        }
        _ => span.clone(),
    };
    Diagnostic::new(cx.place(&place), format!("`{}` cannot be read: {}", error.script, error.message))
}

/// The figures, each with axes and metrics that exist; channels are checked by [`check_channels`].
pub(crate) fn figures(
    cx: &mut Context<'_>,
    raw: Option<List<Part<RawFigure>>>,
    axes: &[Axis],
) -> Result<Vec<Figure>, Reported> {
    let mut figures = Vec::new();
    let mut outcome = Ok(());
    for part in cx.items(raw)? {
        match figure(cx, part, axes) {
            Ok(figure) => figures.push(figure),
            Err(reported) => outcome = Err(reported),
        }
    }
    outcome.map(|()| figures)
}

fn marks(cx: &mut Context<'_>, part: Part<RawMarks>) -> Result<Marks, Reported> {
    let (owner, keys) = cx.keys(part, "these marks")?;
    let (x, y) = (numbers(cx, keys.x)?, numbers(cx, keys.y)?);
    if x.len() != y.len() || x.is_empty() {
        let reason = format!("there are {} places and {} values", x.len(), y.len());
        return Err(cx.fault(&owner, reason, "give `x` and `y` as many numbers, at least one"));
    }
    Ok(Marks { name: keys.name.value?, panel: keys.panel.value?.unwrap_or_default(), x, y })
}

fn numbers(cx: &mut Context<'_>, list: Option<List<Written<Number>>>) -> Result<Vec<f64>, Reported> {
    let items = cx.items(list)?;
    let number = |item| {
        let item = cx.value(item)?;
        match item.get_ref() {
            Number::Plain(number) => Ok(*number),
            Number::Text(_) => {
                Err(cx.fault(&item.span(), "this is a text", "valid is a number such as `0.25`"))
            }
        }
    };
    items.into_iter().map(number).collect()
}

fn figure(cx: &mut Context<'_>, part: Part<RawFigure>, axes: &[Axis]) -> Result<Figure, Reported> {
    let (owner, keys) = cx.keys(part, "this figure")?;
    let y = keys.y.spanned().and_then(|y| metric(cx, &y));
    let channels = cx.items(keys.channels).and_then(|channels| {
        let channels: Vec<_> = channels.into_iter().map(|channel| cx.value(channel)).collect();
        channels.into_iter().collect::<Result<Vec<_>, _>>()
    });
    let only = cx.entries(keys.only).and_then(|entries| {
        let entries: Vec<_> = entries.into_iter().map(|(key, value)| Ok((key, cx.value(value)?))).collect();
        entries.into_iter().collect::<Result<Vec<_>, _>>()
    });
    let marks = cx.items(keys.marks).and_then(|marks| {
        let marks: Vec<_> = marks.into_iter().map(|part| self::marks(cx, part)).collect();
        marks.into_iter().collect::<Result<Vec<_>, _>>()
    });
    let (x, by, only, channels) = (keys.x.placed()?, keys.by.placed()?, only?, channels?);
    let x_place = x.as_ref().map(Spanned::span);
    let mut named: Vec<(String, Range<usize>)> = Vec::new();
    named.extend(x.iter().chain(&by).map(|axis| (axis.get_ref().clone(), axis.span())));
    named.extend(only.iter().map(|(axis, _)| (axis.get_ref().clone(), axis.span())));
    let points: Vec<_> = only.iter().map(|(_, point)| (point.get_ref().clone(), point.span())).collect();
    let spec = FigureSpec {
        name: keys.name.value?.map_or_else(String::new, |name| name.0),
        title: keys.title.value?.unwrap_or_default(),
        x: x.map_or(String::new(), Spanned::into_inner),
        y: y?,
        channels: channels.iter().map(|channel| channel.get_ref().clone()).collect(),
        by: by.map(Spanned::into_inner),
        only: only.into_iter().map(|(axis, point)| (axis.into_inner(), point.into_inner())).collect(),
        log_y: keys.log_y.value?,
        log_x: keys.log_x.value?,
        marks: marks?,
    };
    if let (Some(_), Some(x)) = (spec.y.curve(), &x_place) {
        let reason =
            format!("`x` has no meaning beside `{}`: what was measured runs to the right", spec.y.name());
        return Err(cx.fault(x, reason, "leave `x` out; `by` gives each point of an axis its line"));
    }
    match spec.check(axes) {
        Ok(()) => Ok((spec, channels)),
        Err(error) => {
            let (what, among, name, have) = match &error {
                FigureError::NoAxis { axis, have, .. } => ("axis".into(), &named, axis, have),
                FigureError::NoPoint { axis, point, have, .. } => {
                    (format!("value on the axis `{axis}`"), &points, point, have)
                }
                FigureError::NoChannel { channel, have, .. } => ("channel".into(), &named, channel, have),
            };
            let span = among.iter().find(|(word, _)| word == name).map_or(owner, |(_, span)| span.clone());
            Err(nothing_called(cx, &span, &what, name, have))
        }
    }
}

/// The metric of that name, or a report of what is near it.
pub(crate) fn metric(cx: &mut Context<'_>, name: &Spanned<String>) -> Result<Metric, Reported> {
    if let Some(figure) = name.get_ref().strip_prefix("figure:").filter(|figure| !figure.is_empty()) {
        let have: Vec<String> = figures::ALL.iter().map(|(name, _)| (*name).to_string()).collect();
        if !have.iter().any(|name| name == figures::plain(figure)) {
            return Err(nothing_called(cx, &name.span(), "figure", figure, &have));
        }
    }
    name.get_ref().parse::<Metric>().map_err(|error| {
        let reason = format!("there is no metric `{}`", shown(name.get_ref()));
        let mut diagnostic = Diagnostic::new(cx.place(&name.span()), reason);
        let causes = causes::ALL.iter().map(|(_, name, _)| format!("drops.{name}"));
        let names: Vec<String> = metrics().into_iter().map(|(name, _)| name).chain(causes).collect();
        if let Some(meant) = nearest(name.get_ref(), names.iter().map(String::as_str)) {
            diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
        }
        let words = error.to_string();
        let valid = words.split_once("; ").map_or(words.as_str(), |(_, valid)| valid);
        cx.report(diagnostic.help(valid))
    })
}

/// The same, of a metric that is a number, as a comparison needs.
pub(crate) fn number(cx: &mut Context<'_>, name: &Spanned<String>) -> Result<Metric, Reported> {
    let metric = metric(cx, name)?;
    if metric.curve().is_none() {
        return Ok(metric);
    }
    let reason = format!("`{}` is a curve, and no number to compare", metric.name());
    Err(cx.fault(&name.span(), reason, "name a percentile of it, such as `latency.p999`"))
}

pub(crate) fn nothing_called(
    cx: &mut Context<'_>,
    span: &Range<usize>,
    what: &str,
    name: &str,
    have: &[String],
) -> Reported {
    let mut diagnostic =
        Diagnostic::new(Place::new(cx.source, span.clone()), format!("there is no {what} `{}`", shown(name)));
    if let Some(meant) = nearest(name, have.iter().map(String::as_str)) {
        diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
    }
    cx.report(diagnostic.help(format!("there is {}", list(have))))
}

/// Whether every channel that a figure names is there at some point of the sweep.
pub(crate) fn check_channels(
    cx: &mut Context<'_>,
    figures: &[Figure],
    have: &[String],
) -> Result<(), Reported> {
    let mut outcome = Ok(());
    for (spec, channels) in figures.iter().filter(|(spec, _)| spec.y.owner() == MetricOwner::Channel) {
        debug_assert_eq!(spec.channels.len(), channels.len());
        outcome = check_named(cx, channels.iter(), have).and(outcome);
    }
    outcome
}

/// Whether each of the channels `named` is there at some point of the sweep.
pub(crate) fn check_named<'a>(
    cx: &mut Context<'_>,
    named: impl Iterator<Item = &'a Spanned<String>>,
    have: &[String],
) -> Result<(), Reported> {
    let mut outcome = Ok(());
    for channel in named.filter(|channel| !have.contains(channel.get_ref())) {
        outcome = Err(nothing_called(cx, &channel.span(), "channel", channel.get_ref(), have));
    }
    outcome
}
