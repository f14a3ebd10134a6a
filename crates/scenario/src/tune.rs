//! Goal of a good setting, for which `laxity tune` searches the sweep.
//!
//! A sweep gives the values of keys, and a metric has one name everywhere. So a goal needs only
//! three more facts: which axes are *chosen*; which metric is to be the largest or the smallest;
//! and which needs have to hold. The other axes are *circumstances* under which a setting has to
//! work (an unknown load, the length of a medium). Of several channels the worst counts. The goal
//! takes the mean over circumstances, or the lightest load would decide the highest throughput.
//! Needs have to hold at each, since a guarantee is no average.

use std::ops::Range;

use laxity_units::{Bytes, Rate, Span};
use laxity_world::metric::{Kind, Metric, MetricOwner};
use laxity_world::results::Axis;
use serde_spanned::Spanned;

use crate::context::{Context, Reported};
use crate::judged::{nothing_called, number};
use crate::leaf::Number;
use crate::raw::{RawNeed, RawTune};
use crate::section::Key;
use crate::written::{List, Part, Written};

/// The goal of a scenario, under `[tune]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Tune {
    /// The axes of the sweep that are chosen, by their places in it, ascending; at least one.
    pub over: Vec<usize>,
    /// Metric to make the largest, or the smallest.
    pub goal: Wanted,
    /// Whether more is better.
    pub more: bool,
    /// The needs, each met at every circumstance.
    pub needs: Vec<Need>,
    /// Fresh seeds that the best setting is run with.
    pub seeds: u64,
    /// Settings that are all run if there are no more; of more, some are.
    pub exhaustive: u64,
}

/// A metric of some channels.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The metric: of channels, of a resource, or of the run.
    pub metric: Metric,
    /// Those channels (or resources); empty for all that have the metric.
    pub channels: Vec<String>,
}

/// A bound on a metric, in its SI unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    /// Of what.
    pub wanted: Wanted,
    /// The bound.
    pub bound: f64,
    /// Whether it is an upper one.
    pub at_most: bool,
}

/// The names of channels that a goal gives, with their places.
pub(crate) type Named = Vec<Spanned<String>>;

/// The goal, with existing axes; channels are checked by [`crate::judged::check_named`].
pub(crate) fn tune(
    cx: &mut Context<'_>,
    part: Option<Part<RawTune>>,
    axes: &[Axis],
) -> Result<Option<(Tune, Named)>, Reported> {
    let Some(part) = part else { return Ok(None) };
    let (owner, keys) = cx.keys(part, "")?;
    let over = chosen(cx, keys.over, &owner, axes);
    let goal = goal(cx, &keys.most, &keys.least, &owner);
    let mut named = Vec::new();
    let channels = names(cx, keys.channels);
    let needs = needs(cx, keys.need, &mut named);
    let (over, (metric, more), channels) = (over?, goal?, channels?);
    let texts = channels.iter().map(|name| name.get_ref().clone()).collect();
    if metric.owner() == MetricOwner::Channel {
        named.extend(channels);
    }
    let goal = Wanted { metric, channels: texts };
    let (seeds, exhaustive) = (keys.seeds.value?.get(), keys.exhaustive.value?.get());
    Ok(Some((Tune { over, goal, more, needs: needs?, seeds, exhaustive }, named)))
}

fn chosen(
    cx: &mut Context<'_>,
    over: Option<List<Written<String>>>,
    owner: &Range<usize>,
    axes: &[Axis],
) -> Result<Vec<usize>, Reported> {
    let have: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
    let names = names(cx, over)?;
    if names.is_empty() {
        return Err(cx.fault(
            owner,
            "there is nothing to choose",
            "say the axes of the sweep, as in `over = [\"Q\"]`",
        ));
    }
    let mut places = Vec::new();
    for name in names {
        let Some(place) = axes.iter().position(|axis| axis.name == *name.get_ref()) else {
            return Err(nothing_called(cx, &name.span(), "axis", name.get_ref(), &have));
        };
        if places.contains(&place) {
            return Err(cx.fault(&name.span(), "this axis is chosen already", "name each once"));
        }
        places.push(place);
    }
    places.sort_unstable();
    Ok(places)
}

fn goal(
    cx: &mut Context<'_>,
    most: &Key<Option<String>>,
    least: &Key<Option<String>>,
    owner: &Range<usize>,
) -> Result<(Metric, bool), Reported> {
    match (most.placed()?, least.placed()?) {
        (Some(name), None) => Ok((number(cx, &name)?, true)),
        (None, Some(name)) => Ok((number(cx, &name)?, false)),
        (Some(_), Some(name)) => {
            let help = "keep one, and say the other under `[[tune.need]]`";
            Err(cx.fault(&name.span(), "there cannot be most of one thing and least of another", help))
        }
        (None, None) => {
            let help = "add `most = …` or `least = …` with a metric, such as `most = \"throughput\"`";
            Err(cx.fault(owner, "this says not what is to be most or least", help))
        }
    }
}

fn names(cx: &mut Context<'_>, list: Option<List<Written<String>>>) -> Result<Named, Reported> {
    let names: Vec<_> = cx.items(list)?.into_iter().map(|name| cx.value(name)).collect();
    names.into_iter().collect()
}

fn needs(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawNeed>>>,
    named: &mut Named,
) -> Result<Vec<Need>, Reported> {
    let mut needs = Vec::new();
    let mut outcome = Ok(());
    for part in cx.items(list)? {
        match need(cx, part, named) {
            Ok(need) => needs.push(need),
            Err(reported) => outcome = Err(reported),
        }
    }
    outcome.map(|()| needs)
}

fn need(cx: &mut Context<'_>, part: Part<RawNeed>, named: &mut Named) -> Result<Need, Reported> {
    let (owner, keys) = cx.keys(part, "this need")?;
    let channels = names(cx, keys.channels);
    let metric = number(cx, &keys.metric.spanned()?)?;
    let channels = channels?;
    let (bound, at_most) = match (keys.at_most.placed()?, keys.at_least.placed()?) {
        (Some(bound), None) => (bound, true),
        (None, Some(bound)) => (bound, false),
        (Some(_), Some(bound)) => {
            let help = "make two needs of them";
            return Err(cx.fault(&bound.span(), "a need has one bound", help));
        }
        (None, None) => {
            let help = "add `at_most = …` or `at_least = …`";
            return Err(cx.fault(&owner, "this need has no bound", help));
        }
    };
    let value = bound_of(cx, &bound, &metric)?;
    let texts = channels.iter().map(|name| name.get_ref().clone()).collect();
    if metric.owner() == MetricOwner::Channel {
        named.extend(channels);
    }
    Ok(Need { wanted: Wanted { metric, channels: texts }, bound: value, at_most })
}

/// A bound in the unit that its metric has.
fn bound_of(cx: &mut Context<'_>, bound: &Spanned<Number>, metric: &Metric) -> Result<f64, Reported> {
    let (read, valid) = match (metric.kind(), bound.get_ref()) {
        (Kind::Count | Kind::Share, Number::Plain(number)) => (Some(*number), ""),
        (Kind::Count, Number::Text(_)) => (None, "a number, such as `1000`"),
        (Kind::Share, Number::Text(_)) => (None, "a share of one, such as `0.3`"),
        (Kind::Time, Number::Text(text)) => {
            let (sign, text) = text.strip_prefix('-').map_or((1.0, text.as_str()), |text| (-1.0, text));
            (text.parse::<Span>().ok().map(|span| sign * span.as_secs_f64()), "a time, such as `\"5 ms\"`")
        }
        (Kind::Rate, Number::Text(text)) => {
            (text.parse::<Rate>().ok().map(Rate::bytes_per_sec_f64), "a rate, such as `\"400 KiB/s\"`")
        }
        (Kind::Size, Number::Text(text)) => {
            (text.parse::<Bytes>().ok().map(|bytes| bytes.get() as f64), "a size, such as `\"4 KiB\"`")
        }
        (Kind::Time, Number::Plain(_)) => (None, "a time, such as `\"5 ms\"`"),
        (Kind::Rate, Number::Plain(_)) => (None, "a rate, such as `\"400 KiB/s\"`"),
        (Kind::Size, Number::Plain(_)) => (None, "a size, such as `\"4 KiB\"`"),
    };
    read.ok_or_else(|| {
        let reason = format!("this is no bound on `{}`", metric.name());
        cx.fault(&bound.span(), reason, format!("valid is {valid}"))
    })
}
