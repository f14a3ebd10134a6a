//! Sweeps: one document, many experiments.
//!
//! A point of a sweep is the scenario's own document with some values replaced or added, read again
//! as a file of its own. Values keep their places in the file, so an error of a point is shown at
//! the value in the sweep that caused it, and every key that can be written can be swept.

mod change;
mod draws;
mod put;
mod stages;

use std::collections::BTreeMap;
use std::ops::Range;

use laxity_world::results::{Axis, AxisPoint};
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::context::{Context, Reported};
use crate::diagnostic::{Diagnostic, list, nearest, shown};
use crate::judged;
use crate::leaf::{Name, Whole};
use crate::raw::{MOST_DRAWS, RawPoint, RawSweep};
use crate::section::first;
use crate::written::{List, Part, Written};

pub use change::Change;

/// Points in a sweep, at most.
pub const MOST_POINTS: usize = 100_000;

/// Sections that a sweep may set: the parts of a scenario that make an experiment.
const SECTIONS: [&str; 16] = [
    "seed",
    "host",
    "adapter",
    "path",
    "node",
    "network",
    "admission",
    "run",
    "signalling",
    "channel",
    "interface",
    "program",
    "command",
    "emulation",
    "fault",
    "via",
];

/// Lists of named items, the name of an item, and a key of one.
const NAMED: [(&str, &str, &str); 3] = [
    ("channel", "a channel", "channel.video.deadline"),
    ("interface", "an interface", "interface.lan.quota"),
    ("program", "a program", "program.control.budget"),
];

/// Lists of unnamed items, which are set whole, and the notation.
const WHOLE_LISTS: [(&str, &str); 2] = [
    ("fault", "[{ kind = \"stop\", at = \"1 s\" }]"),
    ("command", "[{ kind = \"mode_poll\", at = \"1 s\", interface = \"lan\" }]"),
];

/// A point of a sweep: an index into each axis's points, outermost axis first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PointIndex(Vec<usize>);

impl PointIndex {
    /// The indices, one per axis.
    pub fn indices(&self) -> &[usize] {
        &self.0
    }

    /// The point of these indices.
    pub fn at(indices: &[usize]) -> Self {
        PointIndex(indices.to_vec())
    }

    /// The points of axes of these lengths, the last axis fastest; one for no axes.
    pub(crate) fn all(lengths: Vec<usize>) -> impl Iterator<Item = PointIndex> {
        let total: usize = lengths.iter().product();
        (0..total).map(move |mut number| {
            let mut indices = vec![0; lengths.len()];
            for (index, length) in indices.iter_mut().zip(&lengths).rev() {
                *index = number % length;
                number /= length;
            }
            PointIndex(indices)
        })
    }

    /// The point in words: `load = 400 KiB/s, variant = O1`.
    pub fn describe(&self, axes: &[Axis]) -> String {
        let axes = axes.iter().zip(&self.0);
        let words = axes.map(|(axis, index)| format!("{} = {}", axis.name, shown(&axis.points[*index].text)));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// A sweep ready to make documents.
#[derive(Debug, Default)]
pub(crate) struct Plan<'i> {
    pub(crate) axes: Vec<Axis>,
    /// Per axis, the point that is the setting of the machine, if one is said to be.
    chosen: Vec<Option<usize>>,
    /// Whether the last axis is that of `draws`.
    pub(crate) draws: bool,
    /// Per axis, per point: what is set.
    settings: Vec<Vec<Vec<Setting<'i>>>>,
    /// What is set at every point, after the axes.
    fixed: Vec<Setting<'i>>,
}

/// One value put in one place.
#[derive(Debug, Clone)]
struct Setting<'i> {
    /// From the root; channels by index.
    path: Vec<Step<'i>>,
    /// The key as written, and where.
    key: Spanned<String>,
    value: Spanned<DeValue<'i>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step<'i> {
    Key(std::borrow::Cow<'i, str>),
    Item(usize),
    /// An item of an adapter's list that stands in no list of the scenario, by its name or place:
    /// which it is hangs on the adapter's file.
    Of(std::borrow::Cow<'i, str>),
}

impl<'i> Plan<'i> {
    /// The sweep that `raw`, read from `document`, asks for.
    pub(crate) fn new(
        cx: &mut Context<'_>,
        raw: Option<List<Part<RawSweep>>>,
        draws: Option<Written<Whole<2, MOST_DRAWS>>>,
        document: &DeTable<'i>,
    ) -> Result<Self, Reported> {
        let draws = cx.optional(draws)?;
        let sweeps = cx.items(raw)?;
        let nodes = array(document.get("sweep"));
        let mut plan = Plan::default();
        let mut outcome = Ok(());
        let mut taken: BTreeMap<Vec<Step<'i>>, (usize, Spanned<String>)> = BTreeMap::new();
        for (number, part) in sweeps.into_iter().enumerate() {
            let node = nodes.get(number).and_then(|node| node.get_ref().as_table());
            let axis = axis(cx, part, node, document).and_then(|(axis, points, chosen)| {
                let setting = points.iter().flatten();
                setting.clone().try_for_each(|setting| conflict(cx, number, setting, &mut taken))?;
                Ok((axis, points, chosen))
            });
            match axis {
                Ok((axis, points, chosen)) => {
                    plan.axes.push(axis.into_inner());
                    plan.settings.push(points);
                    plan.chosen.push(chosen);
                }
                Err(reported) => outcome = Err(reported),
            }
        }
        outcome?;
        if let Some(draws) = draws {
            plan.draw(cx, &draws, document, &mut taken)?;
        }
        for (number, axis) in plan.axes.iter().enumerate() {
            if plan.axes[..number].iter().any(|other| other.name == axis.name) {
                let span = name_span(nodes.get(number));
                let reason = format!("there are two axes called `{}`", axis.name);
                return Err(cx.fault(&span, reason, "give each axis a name of its own"));
            }
        }
        let total = plan.settings.iter().try_fold(1usize, |total, points| total.checked_mul(points.len()));
        if total.is_none_or(|total| total > MOST_POINTS) {
            let lengths: Vec<String> = plan.settings.iter().map(|points| points.len().to_string()).collect();
            let reason = format!("the sweep has {} points", lengths.join(" × "));
            let span = name_span(nodes.last());
            return Err(cx.fault(&span, reason, format!("at most {MOST_POINTS} points can be run")));
        }
        Ok(plan)
    }

    /// The point of the axis called `name` that is the setting of the machine, if one is.
    pub(crate) fn setting(&self, name: &str) -> Option<usize> {
        let at = self.axes.iter().position(|axis| axis.name == name)?;
        self.chosen.get(at).copied().flatten()
    }

    /// The points, in order.
    pub(crate) fn points(&self) -> impl Iterator<Item = PointIndex> + use<> {
        PointIndex::all(self.settings.iter().map(Vec::len).collect())
    }
}

/// The place of an axis's name.
fn name_span(node: Option<&Spanned<DeValue<'_>>>) -> Range<usize> {
    let name = node.and_then(|node| node.get_ref().get("name")).map(Spanned::span);
    name.or(node.map(Spanned::span)).unwrap_or(0..0)
}

fn array<'a, 'i>(value: Option<&'a Spanned<DeValue<'i>>>) -> &'a [Spanned<DeValue<'i>>] {
    value.and_then(|value| value.get_ref().as_array()).map_or(&[], |array| array.as_ref())
}

/// Refuses two axes that set the same place, or one a part of the other's.
fn conflict<'i>(
    cx: &mut Context<'_>,
    axis: usize,
    setting: &Setting<'i>,
    taken: &mut BTreeMap<Vec<Step<'i>>, (usize, Spanned<String>)>,
) -> Result<(), Reported> {
    let path = &setting.path;
    let within = (1..=path.len()).filter_map(|length| taken.get(&path[..length]));
    let around =
        taken.range(path.clone()..).take_while(|(other, _)| other.starts_with(path)).map(|(_, at)| at);
    let other = within.chain(around).find(|(other, _)| *other != axis);
    if let Some((_, other)) = other {
        let reason = format!("two axes set `{}`, and one would undo the other", setting.key.get_ref());
        let diagnostic = Diagnostic::new(cx.place(&setting.key.span()), reason)
            .related(cx.place(&other.span()).label("also set here"))
            .help("set it by one axis only");
        return Err(cx.report(diagnostic));
    }
    taken.entry(path.clone()).or_insert_with(|| (axis, setting.key.clone()));
    Ok(())
}

type Settings<'i> = Vec<Vec<Setting<'i>>>;

fn axis<'i>(
    cx: &mut Context<'_>,
    part: Part<RawSweep>,
    node: Option<&DeTable<'i>>,
    document: &DeTable<'i>,
) -> Result<(Spanned<Axis>, Settings<'i>, Option<usize>), Reported> {
    let (span, keys) = cx.keys(part, "this axis of the sweep")?;
    let by_values = first([&keys.key, &keys.keys, &keys.values]).is_some();
    let written = match (by_values, keys.points) {
        (true, Some(points)) => Err(cx.fault(
            &points.span,
            "an axis has either keys and values or points",
            "give the values of these points in their `set`, or make a second `[[sweep]]`",
        )),
        (false, None) => Err(cx.fault(
            &span,
            "this axis varies nothing",
            "add `key = \"…\"` and `values = […]`, or `points = [{ name = \"…\", set = { … } }]`",
        )),
        (true, None) => {
            let others = cx
                .items(keys.keys)
                .and_then(|keys| keys.into_iter().map(|key| cx.value(key)).collect::<Result<Vec<_>, _>>());
            let set: Vec<Spanned<String>> = keys.key.placed()?.into_iter().chain(others?).collect();
            if set.is_empty() {
                let valid = "the key that takes the values, such as `\"host.subsystem.packet\"`";
                return Err(cx.missing("key", &span, "this axis of the sweep", valid));
            }
            let Some(values) = keys.values else {
                let valid = "the values that it takes in brackets";
                return Err(cx.missing("values", &span, "this axis of the sweep", valid));
            };
            let place = values.span.clone();
            cx.items(Some(values))?;
            let values = array(node.and_then(|node| node.get("values")));
            along_values(cx, &place, &set, values, document)
        }
        (false, Some(points)) => {
            let place = points.span.clone();
            let points = cx.items(Some(points))?;
            let nodes = array(node.and_then(|node| node.get("points")));
            along_points(cx, &place, points, nodes, document)
        }
    };
    let (texts, settings) = written?;
    let Name(name) = keys.name.value?;
    let chosen = match keys.setting.placed()? {
        Some(setting) => match texts.iter().position(|text| text == setting.get_ref()) {
            None => {
                let what = format!("value on the axis `{name}`");
                return Err(judged::nothing_called(cx, &setting.span(), &what, setting.get_ref(), &texts));
            }
            some => some,
        },
        None => None,
    };
    let (unit, numbers) = numbers(&texts);
    let label = keys.label.value?.unwrap_or_else(|| match unit.as_str() {
        "" => name.clone(),
        unit => format!("{name} ({unit})"),
    });
    let points = texts.into_iter().zip(numbers).map(|(text, value)| AxisPoint { text, value }).collect();
    Ok((Spanned::new(span, Axis { name, label, points }), settings, chosen))
}

/// The texts of an axis's points and what each sets, from keys and the values they take together.
fn along_values<'i>(
    cx: &mut Context<'_>,
    place: &Range<usize>,
    keys: &[Spanned<String>],
    values: &[Spanned<DeValue<'i>>],
    document: &DeTable<'i>,
) -> Result<(Vec<String>, Settings<'i>), Reported> {
    if values.is_empty() {
        return Err(cx.fault(place, "an axis needs at least one value", "add a value, or remove the axis"));
    }
    let mut paths = Vec::new();
    for key in keys {
        paths.push((key, resolve(cx, key, document)?));
    }
    let mut texts: Vec<String> = Vec::new();
    let mut settings = Vec::new();
    for value in values {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            _ => cx.text(&value.span()),
        };
        if texts.contains(&text) {
            let reason = format!("the value `{}` stands here twice", shown(&text));
            return Err(cx.fault(&value.span(), reason, "remove one"));
        }
        texts.push(text);
        let places = paths.iter().flat_map(|(key, paths)| paths.iter().map(move |path| (*key, path)));
        let set =
            places.map(|(key, path)| Setting { path: path.clone(), key: key.clone(), value: value.clone() });
        settings.push(set.collect());
    }
    Ok((texts, settings))
}

/// The names of an axis's points and what each sets.
fn along_points<'i>(
    cx: &mut Context<'_>,
    place: &Range<usize>,
    points: Vec<Part<RawPoint>>,
    nodes: &[Spanned<DeValue<'i>>],
    document: &DeTable<'i>,
) -> Result<(Vec<String>, Settings<'i>), Reported> {
    if points.is_empty() {
        return Err(cx.fault(place, "an axis needs at least one point", "add a point, or remove the axis"));
    }
    let (mut texts, mut settings): (Vec<String>, _) = (Vec::new(), Vec::new());
    for (part, node) in points.into_iter().zip(nodes) {
        let (span, keys) = cx.keys(part, "this point")?;
        let (name, set) = (keys.name.spanned()?, keys.set);
        if set.is_none() {
            let valid = "the keys it sets, such as `{ \"host.subsystem.link.paradigm\" = \"O2\" }`";
            return Err(cx.missing("set", &span, "this point", valid));
        }
        let entries = cx.entries(set)?;
        let table = node.get_ref().get("set").and_then(|set| set.get_ref().as_table());
        let mut here: Vec<Setting<'i>> = Vec::new();
        for (key, _) in entries {
            let value = table.and_then(|table| table.get(key.get_ref().as_str()));
            let value = value.expect("the raw form was read from the document").clone();
            for path in resolve(cx, &key, document)? {
                here.push(Setting { path, key: key.clone(), value: value.clone() });
            }
        }
        if texts.contains(name.get_ref()) {
            let reason = format!("there are two points called `{}`", shown(name.get_ref()));
            return Err(cx.fault(&name.span(), reason, "give each point a name of its own"));
        }
        texts.push(name.into_inner());
        settings.push(here);
    }
    Ok((texts, settings))
}

/// The places that a dotted key names, channels found in `document` by their names.
fn resolve<'i>(
    cx: &mut Context<'_>,
    key: &Spanned<String>,
    document: &DeTable<'i>,
) -> Result<Vec<Vec<Step<'i>>>, Reported> {
    let span = key.span();
    let text = key.get_ref();
    let parts: Vec<&str> = text.split('.').map(str::trim).collect();
    if parts.iter().any(|part| part.is_empty()) || parts.len() > 9 {
        let help = "valid is a path such as `host.subsystem.packet` or `channel.video.source.rate`";
        return Err(cx.fault(&span, format!("`{}` is not a key", shown(text)), help));
    }
    if !SECTIONS.contains(&parts[0]) {
        let mut diagnostic =
            Diagnostic::new(cx.place(&span), format!("a sweep cannot set `{}`", shown(text)));
        if let Some(meant) = nearest(parts[0], SECTIONS) {
            diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
        }
        return Err(cx.report(diagnostic.help(format!("keys to set start with {}", list(SECTIONS)))));
    }
    let step = |part: &&str| Step::Key(part.to_string().into());
    let Some((section, one, like)) = NAMED.into_iter().find(|(section, ..)| *section == parts[0]) else {
        let whole = WHOLE_LISTS.into_iter().find(|(list, _)| *list == parts[0]);
        if let Some((list, like)) = whole.filter(|_| parts.len() > 1) {
            let reason = format!("{list}s have no names by which to tell them apart");
            return Err(cx.fault(&span, reason, format!("set `{list}` to the whole list, such as `{like}`")));
        }
        if parts.len() == 1 && parts[0] != "seed" && whole.is_none() {
            let reason = format!("`{}` is a whole table, not a key", parts[0]);
            let help = format!("name a key in it, dotted and in quotes, such as `\"{}.…\"`", parts[0]);
            return Err(cx.fault(&span, reason, help));
        }
        return Ok(vec![stages::steps(cx, &span, document, &parts)?]);
    };
    if parts.len() < 3 {
        let help = format!("name {one} (or `*` for all) and a key of it, such as `{like}`");
        return Err(cx.fault(&span, format!("`{}` names no key of {one}", shown(text)), help));
    }
    let channels = array(document.get(section));
    let names: Vec<&str> = channels
        .iter()
        .map(|channel| channel.get_ref().get("name").and_then(|name| name.get_ref().as_str()).unwrap_or(""))
        .collect();
    let chosen: Vec<usize> = names
        .iter()
        .enumerate()
        .filter(|(_, name)| parts[1] == "*" || **name == parts[1])
        .map(|(index, _)| index)
        .collect();
    if chosen.is_empty() {
        let mut diagnostic =
            Diagnostic::new(cx.place(&span), format!("there is no {section} `{}`", shown(parts[1])));
        if let Some(meant) = nearest(parts[1], names.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
        }
        return Err(cx.report(diagnostic.help(format!("{section}s are {}", list(names)))));
    }
    let rest =
        |index: &usize| [step(&parts[0]), Step::Item(*index)].into_iter().chain(parts[2..].iter().map(step));
    Ok(chosen.iter().map(|index| rest(index).collect()).collect())
}

/// The common unit of `texts` and the number before it in each, or no numbers at all.
fn numbers(texts: &[String]) -> (String, Vec<Option<f64>>) {
    let split = |text: &String| {
        let text = text.trim();
        let number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+');
        let end = text.find(|c: char| !number(c)).unwrap_or(text.len());
        let value: f64 = text[..end].replace('_', "").parse().ok()?;
        Some((text[end..].trim().to_string(), value))
    };
    let split: Option<Vec<(String, f64)>> = texts.iter().map(split).collect();
    match split {
        Some(split) if split.iter().all(|(unit, _)| *unit == split[0].0) => {
            (split[0].0.clone(), split.into_iter().map(|(_, value)| Some(value)).collect())
        }
        _ => (String::new(), vec![None; texts.len()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_run_through_the_last_axis_first() {
        let points: Vec<_> = PointIndex::all(vec![2, 3]).map(|point| point.0).collect();
        assert_eq!(points, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert_eq!(PointIndex::all(vec![]).collect::<Vec<_>>(), [PointIndex(vec![])]);
        assert_eq!(PointIndex::all(vec![3, 0]).count(), 0);
    }

    #[test]
    fn values_of_one_unit_are_numbers() {
        let of = |texts: &[&str]| numbers(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>());
        assert_eq!(of(&["200 KiB/s", "1_200.5KiB/s"]), ("KiB/s".into(), vec![Some(200.0), Some(1200.5)]));
        assert_eq!(of(&["1", "2"]), (String::new(), vec![Some(1.0), Some(2.0)]));
        assert_eq!(of(&["500 KiB/s", "1 MiB/s"]).1, [None, None]);
        assert_eq!(of(&["O1", "O2"]).1, [None, None]);
        assert_eq!(of(&["4", "\"never\""]).1, [None, None]);
    }
}
