//! Results as scripts see them: records. A field that does not exist is an error that lists the
//! valid fields.
//!
//! The fields are those of the serialised form, so claims can name a metric as soon as
//! [`laxity_world::results`] has it; this module does not list them.

use std::collections::BTreeSet;
use std::rc::Rc;

use laxity_scenario::diagnostic::nearest;
use laxity_world::results::{Axis, AxisPoint, Channel, Results, Run};
use laxity_world::{causes, figures, metric};
use rhai::{Array, Dynamic, Engine, FLOAT, INT, ImmutableString, Map};

use super::absent::{Absent, Answer, absent};
use super::lacks;
use super::shape::near;
use super::stalls::{Spoilt, Witness};
use crate::misses::Misses;

/// Names that the results define, shared by all records.
#[derive(Debug, Default)]
pub(super) struct Names {
    axes: Vec<Axis>,
    /// Causes of drops and uses of resources: one that a run lacks counts zero there; a name that
    /// no run has is an error.
    counters: BTreeSet<String>,
    /// Sees which figures of disturbed runs are read.
    pub(super) witness: Witness,
}

/// Shared [`Names`].
pub(super) type Vocabulary = Rc<Names>;

impl Names {
    /// The names in `results`.
    pub(super) fn of(results: &Results) -> Vocabulary {
        let channels = results.runs.iter().flat_map(|run| &run.channels).flat_map(|c| c.drops.keys());
        let resources = results.runs.iter().flat_map(|run| &run.resources).flat_map(|r| r.uses.keys());
        // A claim may name a cause for which no packet of the sweep was dropped.
        let known = causes::ALL.iter().map(|(_, name, _)| (*name).to_string());
        let counters = channels.chain(resources).cloned().chain(known).collect();
        Rc::new(Names { axes: results.axes.clone(), counters, witness: Witness::default() })
    }

    fn axis(&self, name: &str) -> Answer<(usize, &Axis)> {
        let found = self.axes.iter().enumerate().find(|(_, axis)| axis.name == name);
        found.ok_or_else(|| missing("axis", name, "axes", self.axes.iter().map(|axis| axis.name.as_str())))
    }

    /// The values of an axis, in order.
    pub(super) fn axis_values(&self, name: &str) -> Answer<Array> {
        Ok(self.axis(name)?.1.points.iter().map(value).collect())
    }
}

/// The kind of record, where it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Run,
    Counters,
    Figures,
    Other,
}

/// A group of named values.
#[derive(Debug, Clone)]
pub(super) struct Record {
    kind: Kind,
    /// The record's name in messages: ``channel `0` ``.
    name: Rc<str>,
    fields: Rc<Map>,
    /// Positions on the axes; of a run only.
    point: Rc<[usize]>,
    vocabulary: Vocabulary,
    /// How far the platform spoilt the record, if it did.
    spoilt: Option<Rc<Spoilt>>,
}

/// Every run as a record.
pub(super) fn runs(results: &Results, vocabulary: &Vocabulary) -> Array {
    let mut last: Option<(&Run, Record)> = None;
    let mut records = Array::new();
    for run in &results.runs {
        // Before anything has run, most points differ in nothing else.
        let alike = |before: &Run| {
            // Channels that have run differ, and are compared first.
            run.channels == before.channels
                && run.real_time.is_none()
                && *run == Run { point: run.point.clone(), ..before.clone() }
        };
        let record = match &last {
            Some((before, record)) if alike(before) => record.moved_to(run),
            _ => record_of(run, vocabulary),
        };
        records.push(record.clone().into());
        last = Some((run, record));
    }
    records
}

/// The settings of a run: its value on each axis, and all of them in a line.
fn settings(run: &Run, vocabulary: &Vocabulary) -> (Map, String) {
    let axes = vocabulary.axes.iter().zip(&run.point);
    let points: Vec<(&str, &AxisPoint)> =
        axes.filter_map(|(axis, index)| Some((axis.name.as_str(), axis.points.get(*index)?))).collect();
    let label = points.iter().map(|(axis, point)| format!("{axis} = {}", point.text)).collect::<Vec<_>>();
    (points.iter().map(|(axis, point)| ((*axis).into(), value(point))).collect(), label.join(", "))
}

fn name_of(label: &str) -> String {
    if label.is_empty() { "the run".to_string() } else { format!("the run {label}") }
}

fn record_of(run: &Run, vocabulary: &Vocabulary) -> Record {
    let positions: Rc<[usize]> = run.point.clone().into();
    // Serialising a plain structure of numbers and text to values cannot fail.
    let raw = rhai::serde::to_dynamic(run).expect("results are plain values");
    let Some(mut fields) = raw.try_cast::<Map>() else { unreachable!("a run is a structure") };

    let (point, label) = settings(run, vocabulary);
    let spoilt = Spoilt::of(run, &label);
    let build = Builder { vocabulary, point: &positions, spoilt };
    let sound = Builder { vocabulary, point: &positions, spoilt: None };
    fields.insert("point".into(), sound.map("the point".into(), point, Kind::Other).into());
    fields.insert("label".into(), label.clone().into());

    let (mut all, mut rt, mut be) = (Array::new(), Array::new(), Array::new());
    for (channel, raw) in run.channels.iter().zip(list(fields.remove("channels"))) {
        let mut raw = raw.cast::<Map>();
        for (field, value) in &mut raw {
            let measured = !value.is_unit();
            if let Some(why) = lacks::why(channel, field, measured) {
                let idle = measured && metric::is_carried(field);
                *value = if idle { Absent::idle(why) } else { Absent::new(why) }.into();
            }
        }
        let record = build.value(&format!("channel `{}`", channel.name), Dynamic::from_map(raw));
        match channel.class.as_str() {
            "real_time" => rt.push(record.clone()),
            _ => be.push(record.clone()),
        }
        all.push(record);
    }
    for (name, channels) in [("channels", all), ("rt", rt), ("be", be)] {
        fields.insert(name.into(), Dynamic::from_array(channels));
    }
    let resources = run.resources.iter().zip(list(fields.remove("resources")));
    let resources = resources.map(|(r, raw)| build.value(&format!("resource `{}`", r.name), raw)).collect();
    fields.insert("resources".into(), Dynamic::from_array(resources));
    let stages = run.stages.iter().zip(list(fields.remove("stages")));
    let stages = stages.map(|(s, raw)| build.value(&format!("stage `{}`", s.name), raw)).collect();
    fields.insert("stages".into(), Dynamic::from_array(stages));
    let answers = run.answers.iter().zip(list(fields.remove("answers")));
    let answers = answers.map(|(a, raw)| build.value(&format!("the answer `{}`", a.answer), raw)).collect();
    fields.insert("answers".into(), Dynamic::from_array(answers));
    let computations = run.computations.iter().zip(list(fields.remove("computations")));
    let computations = computations.map(|(computation, raw)| {
        let mut raw = raw.cast::<Map>();
        for (field, value) in &mut raw {
            if let Some(why) = lacks::why_not_computed(computation, field) {
                *value = Absent::new(why).into();
            }
        }
        build.value(&format!("application `{}`", computation.name), Dynamic::from_map(raw))
    });
    let computations = computations.collect();
    fields.insert("computations".into(), Dynamic::from_array(computations));
    let real_time = match fields.remove("real_time").filter(Dynamic::is_map) {
        // Clock precision is a property of the platform; the times of frames belong to the emulated
        // system.
        Some(real_time) => {
            let mut real_time = real_time.cast::<Map>();
            let frames = list(real_time.remove("frames"));
            let frames = frames.into_iter().map(|frames| build.value("frames", frames)).collect();
            let record = sound.value("the real time", Dynamic::from_map(real_time));
            let mut record = record.cast::<Record>();
            Rc::make_mut(&mut record.fields).insert("frames".into(), Dynamic::from_array(frames));
            record.into()
        }
        None => Absent::new("the run was in virtual time").into(),
    };
    fields.insert("real_time".into(), real_time);
    let figures = fields.remove("figures").and_then(Dynamic::try_cast::<Map>).unwrap_or_default();
    fields.insert("figures".into(), build.map("the figures".into(), figures, Kind::Figures).into());

    sound.map(name_of(&label), fields, Kind::Run)
}

fn list(value: Option<Dynamic>) -> Array {
    value.and_then(Dynamic::try_cast::<Array>).unwrap_or_default()
}

/// The value of an axis at a point: its number, or its text if it has none.
fn value(point: &AxisPoint) -> Dynamic {
    point.value.map_or_else(|| point.text.clone().into(), Dynamic::from_float)
}

struct Builder<'a> {
    vocabulary: &'a Vocabulary,
    point: &'a Rc<[usize]>,
    spoilt: Option<Rc<Spoilt>>,
}

impl Builder<'_> {
    /// Maps become records, all the way down.
    fn value(&self, name: &str, raw: Dynamic) -> Dynamic {
        if raw.is_unit() {
            return Absent::new(format!("{name} was not measured")).into();
        }
        if !raw.is_map() {
            return raw;
        }
        let mut fields = raw.cast::<Map>();
        for (field, value) in &mut fields {
            if !value.is_unit() && !value.is_map() {
                continue;
            }
            let (inner, raw) = (format!("`{field}` of {name}"), std::mem::take(value));
            *value = match matches!(field as &str, "drops" | "uses" | "refusals") && raw.is_map() {
                true => self.counters(inner, raw.cast()).into(),
                false => self.value(&inner, raw),
            };
        }
        self.map(name.to_string(), fields, Kind::Other).into()
    }

    fn counters(&self, name: String, mut fields: Map) -> Record {
        let total =
            fields.values().fold(Dynamic::from_int(0), |sum, count| match (sum.as_int(), count.as_int()) {
                (Ok(a), Ok(b)) => Dynamic::from_int(a + b),
                _ => (sum.as_float().unwrap_or_default() + count.as_float().unwrap_or_default()).into(),
            });
        fields.insert("total".into(), total);
        // The caller has read the field that holds them.
        Record { spoilt: None, ..self.map(name, fields, Kind::Counters) }
    }

    fn map(&self, name: String, fields: Map, kind: Kind) -> Record {
        Record {
            kind,
            name: name.into(),
            fields: fields.into(),
            point: self.point.clone(),
            vocabulary: self.vocabulary.clone(),
            spoilt: self.spoilt.clone(),
        }
    }
}

impl From<Record> for Dynamic {
    fn from(record: Record) -> Dynamic {
        Dynamic::from(record)
    }
}

impl Record {
    /// The record of `run`, which differs from that of this record in its point only.
    fn moved_to(&self, run: &Run) -> Self {
        let (point, label) = settings(run, &self.vocabulary);
        let mut record =
            Self { point: run.point.clone().into(), name: name_of(&label).into(), ..self.clone() };
        let build = Builder { vocabulary: &self.vocabulary, point: &record.point, spoilt: None };
        let point = build.map("the point".into(), point, Kind::Other);
        let fields = Rc::make_mut(&mut record.fields);
        fields.insert("point".into(), point.into());
        fields.insert("label".into(), label.into());
        record
    }

    /// The field of that name, if it is there and finite.
    fn field(&mut self, name: &str) -> Answer<Dynamic> {
        if let Some(spoilt) = &self.spoilt {
            self.vocabulary.witness.see(spoilt, name);
        }
        match self.fields.get(name) {
            Some(value) => match value.as_float() {
                Ok(x) if !x.is_finite() => absent(format!("`{name}` of {} is `{x}`", self.name)),
                _ => Ok(value.clone()),
            },
            None if self.kind == Kind::Counters && self.vocabulary.counters.contains(name) => {
                Ok(Dynamic::from_int(0))
            }
            None if self.kind == Kind::Figures
                && figures::ALL.iter().any(|(figure, _)| *figure == figures::plain(name)) =>
            {
                Ok(Absent::new(format!(
                    "there is no figure `{name}` at {}: nothing of the kind happened",
                    self.name
                ))
                .into())
            }
            None => {
                let mut known: BTreeSet<&str> = self.fields.keys().map(|key| key as &str).collect();
                if self.kind == Kind::Counters {
                    known.extend(self.vocabulary.counters.iter().map(String::as_str));
                }
                let meant = meant(name, known.iter().copied());
                Err(format!("{} has no `{name}`{meant}; it has {}", self.name, listed(known)).into())
            }
        }
    }

    fn run(&self) -> Answer<()> {
        match self.kind {
            Kind::Run => Ok(()),
            _ => {
                Err(format!("{} is not a run: axes, channels and resources belong to runs", self.name).into())
            }
        }
    }

    fn at(&mut self, axis: &str) -> Answer<Dynamic> {
        Ok(value(self.axis_point(axis)?))
    }

    fn axis_point(&self, axis: &str) -> Answer<&AxisPoint> {
        self.run()?;
        let (i, axis) = self.vocabulary.axis(axis)?;
        let point = self.point.get(i).and_then(|index| axis.points.get(*index));
        point.ok_or_else(|| format!("{} has no point on the axis `{}`", self.name, axis.name).into())
    }

    /// The element named `name` of a list of records.
    fn member(&mut self, list: &str, what: &str, name: &str) -> Answer<Dynamic> {
        self.run()?;
        let list = self.fields[list].as_array_ref().map_err(|kind| format!("{list} is a {kind}"))?;
        let mut names = Vec::new();
        for member in list.iter() {
            let own = member.read_lock::<Record>().and_then(|record| record.fields.get("name").cloned());
            let own = own.map(|own| own.to_string()).unwrap_or_default();
            if own == name {
                return Ok(member.clone());
            }
            names.push(own);
        }
        Err(missing(what, name, &format!("{what}s"), names.iter().map(String::as_str)))
    }
}

/// The runs of `list` at `wanted` on `axis`; never none.
pub(super) fn filter(list: &Array, axis: &str, wanted: &Dynamic) -> Answer<Array> {
    let mut found = Array::new();
    let mut vocabulary = None;
    for run in list {
        let record = run.read_lock::<Record>();
        let record = record.ok_or_else(|| format!("`where` filters runs, not a {}", run.type_name()))?;
        let point = record.axis_point(axis)?;
        let hit = match (point.value, wanted.as_float(), wanted.as_int()) {
            (Some(value), Ok(x), _) => near(value, x, 1e-9),
            (Some(value), _, Ok(n)) => near(value, n as f64, 1e-9),
            _ => wanted.is_string() && wanted.to_string() == point.text,
        };
        if hit {
            found.push(run.clone());
        }
        vocabulary = Some(record.vocabulary.clone());
    }
    if found.is_empty() {
        let points =
            vocabulary.iter().flat_map(|names| names.axis(axis).map(|(_, axis)| axis.points.clone()));
        let texts: Vec<String> = points.flatten().map(|point| point.text).collect();
        let texts = listed(texts.iter().map(String::as_str));
        return Err(format!("no run here has `{axis}` = `{wanted}`; its points are {texts}").into());
    }
    Ok(found)
}

/// The misses of the channel called `name`, pooled over the runs of `list`.
fn pooled(list: &Array, name: &str) -> Answer<Dynamic> {
    let (mut of, mut members): (Vec<Channel>, Vec<Record>) = (Vec::new(), Vec::new());
    for run in list {
        let run = run.read_lock::<Record>();
        let mut run = run.ok_or("`pooled` is of a list of runs")?.clone();
        let mut channel = run.member("channels", "channel", name)?.cast::<Record>();
        // An absent count adds no messages. The witness records a run with counts that the platform
        // spoilt.
        let mut count = |field: &str| channel.field(field).map(|x| x.as_int().ok().map(|n| n as u64));
        let (due_messages, failed_messages) = (count("due_messages")?, count("failed_messages")?);
        let mut number = |field: &str| channel.field(field).map(|x| x.as_float().ok());
        let (deadline, bound, delivery_bound) =
            (number("deadline")?, number("bound")?, number("delivery_bound")?);
        let counts =
            Channel { due_messages, failed_messages, deadline, bound, delivery_bound, ..Channel::default() };
        of.push(counts);
        members.push(channel);
    }
    let Some(first) = members.first() else { return absent("`pooled` over nothing says nothing") };
    let Some(misses) = Misses::of(of.iter()) else {
        return absent(format!("no message of `{name}` with a deadline was due"));
    };
    let count = |n: u64| Dynamic::from_int(n as INT);
    let or_absent = |value: Option<f64>, what: &str| match value {
        Some(value) => Dynamic::from_float(value),
        None => Absent::new(format!("`{name}` has no {what}")).into(),
    };
    let fields: Map = [
        ("runs", count(misses.runs)),
        ("due", count(misses.due)),
        ("missed", count(misses.missed)),
        ("miss_share", misses.share().into()),
        ("miss_limit", misses.limit().into()),
        ("deadline", or_absent(misses.deadline, "deadline")),
        ("bound", or_absent(misses.bound, "bound")),
    ]
    .into_iter()
    .map(|(field, value)| (field.into(), value))
    .collect();
    Ok(Record {
        kind: Kind::Other,
        name: format!("pooled `{name}`").into(),
        fields: fields.into(),
        spoilt: None,
        ..first.clone()
    }
    .into())
}

/// Adds the names of all fields of `value`, a record or a list of records that are alike.
fn add_names(value: &Dynamic, names: &mut BTreeSet<ImmutableString>) {
    if let Some(first) = value.as_array_ref().ok().as_ref().and_then(|list| list.first()) {
        add_names(first, names);
    } else if let Some(record) = value.read_lock::<Record>() {
        names.extend(record.fields.keys().map(|name| name.as_str().into()));
        record.fields.values().for_each(|value| add_names(value, names));
    }
}

/// Gives scripts the records, of which `runs` has some.
pub(super) fn register(engine: &mut Engine, runs: &[Dynamic]) {
    engine.register_type_with_name::<Record>("record");
    engine.register_indexer_get(|record: &mut Record, name: ImmutableString| record.field(&name));
    // The language asks the indexer only after it has made an error of a property that it does not
    // know, which takes longer than the rest of an access. Other names are right all the same.
    let mut names = BTreeSet::new();
    runs.first().into_iter().for_each(|run| add_names(run, &mut names));
    for name in names {
        engine.register_get(name.clone(), move |record: &mut Record| record.field(&name));
    }
    engine.register_fn("at", |run: &mut Record, axis: ImmutableString| run.at(&axis));
    let channel = |run: &mut Record, name: &str| run.member("channels", "channel", name);
    engine.register_fn("channel", move |run: &mut Record, name: ImmutableString| channel(run, &name));
    engine.register_fn("channel", move |run: &mut Record, name: INT| channel(run, &name.to_string()));
    let resource = |run: &mut Record, name: ImmutableString| run.member("resources", "resource", &name);
    engine.register_fn("resource", resource);
    let stage = |run: &mut Record, name: ImmutableString| run.member("stages", "stage", &name);
    engine.register_fn("stage", stage);
    let computation =
        |run: &mut Record, name: ImmutableString| run.member("computations", "application", &name);
    engine.register_fn("computation", computation);
    engine.register_fn("keys", |record: &mut Record| -> Array {
        record.fields.keys().map(|key| key.as_str().into()).collect()
    });
    engine.register_fn("pooled", |list: &mut Array, name: ImmutableString| pooled(list, &name));
    engine.register_fn("pooled", |list: &mut Array, name: INT| pooled(list, &name.to_string()));
    engine.register_fn("where", |list: &mut Array, axis: ImmutableString, x: FLOAT| {
        filter(list, &axis, &x.into())
    });
    engine.register_fn("where", |list: &mut Array, axis: ImmutableString, n: INT| {
        filter(list, &axis, &n.into())
    });
    engine.register_fn("where", |list: &mut Array, axis: ImmutableString, text: ImmutableString| {
        filter(list, &axis, &text.into())
    });
}

fn missing<'a, E: From<String>>(
    what: &str,
    name: &str,
    plural: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> E {
    let known: Vec<&str> = known.into_iter().collect();
    let meant = meant(name, known.iter().copied());
    format!("there is no {what} `{name}`{meant}; the {plural} are {}", listed(known)).into()
}

/// `, did you mean …?` if `name` is close to one of `known`.
fn meant<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(name, known).map_or(String::new(), |meant| format!(", did you mean `{meant}`?"))
}

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
