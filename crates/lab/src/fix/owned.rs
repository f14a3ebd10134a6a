//! The knobs of a scenario: everything that its user can change.
//!
//! The file decides: a key that is there has a value to start from, and a key that is not has its
//! default. A change that the format does not allow at that place is found out when the changed
//! file is read.

use laxity_qos::discipline::Class;
use laxity_scenario::{PointIndex, Scenario, schema};
use laxity_world::experiment::{ChannelSpec, Experiment, RefusalEffect};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::adapters;
use super::groups;
use super::knob::{Knob, Scaled, Turn};
use super::quantity::Quantity;
use super::receivers;

/// Which way a value is changed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Towards {
    /// More of it may help.
    More,
    /// Less of it may help.
    Less,
    /// Either may.
    Either,
}
use Towards::{Either, Less, More};

/// A key of a table: its path there, its name, the direction of change, and its default.
pub(super) type Rule = (&'static str, &'static str, Towards, Option<Quantity>);

/// Keys of `[host]`, which a node may have of its own.
pub(super) const HOST: [Rule; 5] = [
    ("speedup", "speed of", More, Some(Quantity::Factor(1.0))),
    ("cores", "cores of", More, Some(Quantity::Count(1))),
    ("subsystem.link.depth", "packets at a time with the adapter of", Either, Some(Quantity::Count(1))),
    ("subsystem.preemption", "packets between preemption points of", Less, Some(Quantity::Count(4))),
    ("receive.pool", "shared receive buffers of", More, None),
];
/// Keys of `[host]` that all hosts have in common.
const ALL_HOSTS: [Rule; 1] = [("subsystem.packet", "largest packet of", Either, None)];
const NETWORK: [Rule; 3] = [
    ("rate", "rate of", More, None),
    ("holding", "token holding time of", Either, None),
    ("rotation", "token rotation time of", Either, None),
];
const VIA: [Rule; 9] = [
    ("speedup", "speed of the adapters' processors", More, Some(Quantity::Factor(1.0))),
    ("best_effort", "rate set aside for best effort", Less, None),
    ("depth", "depth of best-effort send queues", Less, None),
    ("ahead", "best-effort messages inside an adapter", Less, Some(Quantity::Count(4))),
    ("guard", "requests that stay before an insertion", Less, Some(Quantity::Count(1))),
    ("send_buffers", "send buffers of the adapters", More, None),
    ("receive_buffers", "receive buffers of the adapters", More, None),
    ("receives", "posted receive descriptors", More, None),
    ("credits", "credits of a virtual interface", More, None),
];
const INTERFACE: [Rule; 7] = [
    ("quota", "quota of interface", Either, None),
    ("interval", "interval of interface", Either, None),
    ("delay", "interrupt delay of interface", Either, None),
    ("frames", "frames per interrupt of interface", Either, None),
    ("slots", "slots of interface", More, Some(Quantity::Count(128))),
    ("buffers", "receive buffers of interface", More, Some(Quantity::Count(128))),
    ("buffers_real_time", "real-time receive buffers of interface", More, None),
];
const PROGRAM: [Rule; 2] =
    [("budget", "budget of program", More, None), ("period", "period of program", Less, None)];

/// Settings: key, name, values to try as a file has them.
const SETTINGS: [(&str, &str, &[&str]); 9] = [
    ("host.subsystem.cpu", "order of the CPU", &["multiclass_edf", "fixed_priority"]),
    (
        "host.subsystem.link.order",
        "order of the hosts' links",
        &["multiclass_edf", "fixed_priority", "strict_priority", "virtual_clock", "wf2q_plus", "drr"],
    ),
    ("host.subsystem.link.paradigm", "link scheduling paradigm", &["O1", "O2", "O3", "adapter"]),
    ("host.subsystem.processing", "processing", &["per_channel"]),
    ("host.applications", "place of applications", &["separate"]),
    ("host.subsystem.early", "early work of handlers", &["hold"]),
    ("via.firmware", "firmware of the adapters", &["qosvia"]),
    ("via.doorbells", "doorbells of the adapters", &["apart", "merged"]),
    ("admission.formula", "admission formula", &["corrected"]),
];
/// The same of a switch.
const SWITCH: [(&str, &str, &[&str]); 2] = [
    (
        "order",
        "order of",
        &["strict_priority", "multiclass_edf", "fixed_priority", "virtual_clock", "wf2q_plus", "drr"],
    ),
    ("forwarding", "forwarding of", &["store_and_forward", "cut_through"]),
];

/// A scenario's document at one point, and the experiment read from it.
pub(super) struct Owned<'a> {
    pub(super) document: &'a DeTable<'a>,
    pub(super) experiment: &'a Experiment,
}

/// All things of `scenario` at `point` that can be changed; `room` says whether a refusal is for want of it.
pub(super) fn knobs(
    scenario: &Scenario,
    point: &PointIndex,
    experiment: &Experiment,
    room: bool,
) -> Vec<Knob> {
    scenario.with_document(point, |document| {
        let owned = Owned { document, experiment };
        let mut knobs = owned.settings();
        knobs.extend(owned.channels(room));
        knobs.extend(owned.tables());
        knobs.extend(groups::knobs(&owned));
        knobs.extend(adapters::knobs(&owned));
        knobs.extend(receivers::knobs(&owned));
        knobs
    })
}

impl Owned<'_> {
    /// The value under `path`, in which an item of a list goes by its name.
    pub(super) fn value(&self, path: &str) -> Option<&DeValue<'_>> {
        let mut steps = path.split('.');
        let mut value = self.document.get(steps.next()?)?.get_ref();
        for step in steps {
            value = match value {
                DeValue::Table(table) => table.get(step)?.get_ref(),
                DeValue::Array(items) => {
                    let named = |item: &&DeValue<'_>| name_of(item) == Some(step);
                    items.iter().map(|item| item.get_ref()).find(named)?
                }
                _ => return None,
            };
        }
        Some(value)
    }

    /// The names in a section: of its tables, or of the items of its list.
    pub(super) fn names(&self, section: &str) -> Vec<String> {
        match self.value(section) {
            Some(DeValue::Table(table)) => {
                let tables = table.iter().filter(|(_, value)| value.get_ref().as_table().is_some());
                tables.map(|(key, _)| key.get_ref().to_string()).collect()
            }
            Some(DeValue::Array(items)) => {
                items.iter().filter_map(|item| name_of(item.get_ref())).map(String::from).collect()
            }
            _ => Vec::new(),
        }
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.value(path)?.as_str()
    }

    /// Nodes that are hosts, or switches.
    pub(super) fn nodes(&self, switches: bool) -> Vec<String> {
        let is_switch = |name: &String| self.text(&format!("node.{name}.kind")) == Some("switch");
        self.names("node").into_iter().filter(|name| is_switch(name) == switches).collect()
    }

    fn settings(&self) -> Vec<Knob> {
        let mut knobs = Vec::new();
        let mut add = |keys: Vec<String>, what: String, values: &[String], wide: bool| {
            let has = |key: &String| self.value(key).map_or("default".into(), shown);
            let mut now: Vec<String> = keys.iter().map(has).collect();
            now.dedup();
            let now = now.join(", ");
            for value in values.iter().filter(|value| **value != now) {
                knobs.push(Knob { what: what.clone(), wide, turn: Turn::set(&keys, &now, value) });
            }
        };
        let words = |values: &[&str]| -> Vec<String> { values.iter().map(|value| (*value).into()).collect() };
        for (key, values) in admission_words() {
            add(
                vec![format!("admission.{key}")],
                format!("admission: {}", key.replace('_', " ")),
                &values,
                false,
            );
        }
        for (key, what, values) in SETTINGS {
            let section = key.split('.').next().unwrap_or(key);
            if section == "admission" || self.value(section).is_some() {
                add(vec![key.into()], what.into(), &words(values), false);
            }
        }
        let switches = self.nodes(true);
        for (key, what, values) in SWITCH {
            let of = |name: &String| format!("node.{name}.{key}");
            for name in &switches {
                add(vec![of(name)], format!("{what} {name}"), &words(values), false);
            }
            if switches.len() > 1 {
                add(switches.iter().map(of).collect(), format!("{what} all switches"), &words(values), true);
            }
        }
        knobs
    }

    fn channels(&self, room: bool) -> Vec<Knob> {
        let mut knobs = Vec::new();
        let (mut deadlines, mut intervals) = (Vec::new(), Vec::new());
        for name in self.names("channel") {
            let copies: Vec<&ChannelSpec> =
                self.experiment.channels.iter().filter(|channel| is_copy(&channel.name, &name)).collect();
            let Some(first) = copies.first() else { continue };
            let whom = match copies.len() {
                1 => name.clone(),
                copies => format!("{name} ({copies} channels)"),
            };
            let key = |key: &str| format!("channel.{name}.{key}");
            let scaled = |leaf: &str, now: Quantity, up: bool| Scaled { key: key(leaf), now, up };
            let mut add = |what: &str, part: Scaled| {
                knobs.extend(scale(format!("{what} of {whom}"), false, vec![part]));
            };
            let spec = &first.spec;
            add("largest message", scaled("max_message", Quantity::Size(spec.max_message), false));
            if first.class == Class::BestEffort || first.refusal == RefusalEffect::Expected {
                continue;
            }
            if let Some(deadline) = first.deadline {
                let part = scaled("deadline", Quantity::Time(deadline), true);
                deadlines.push(part.clone());
                add("deadline", part);
            }
            if let Some(jitter) = first.asks.jitter {
                add("jitter", scaled("jitter", Quantity::Time(jitter), true));
            }
            let rate = self.value(&key("rate")).and_then(Quantity::of);
            let (what, part) = match rate {
                Some(rate) => ("rate", scaled("rate", rate, false)),
                None => ("interval", scaled("min_interval", Quantity::Time(spec.min_interval), true)),
            };
            intervals.push(part.clone());
            add(what, part);
            add("burst", scaled("burst", Quantity::Count(spec.burst.into()), false));
            if room {
                add(
                    "message slots",
                    scaled("message_slots", Quantity::Count(first.message_slots.into()), true),
                );
                add("packet slots", scaled("packet_slots", Quantity::Count(first.packet_slots), true));
            }
        }
        for (what, parts) in [("all deadlines", deadlines), ("all intervals", intervals)] {
            if parts.len() > 1 {
                knobs.extend(scale(what.into(), true, parts));
            }
        }
        knobs
    }

    fn tables(&self) -> Vec<Knob> {
        let mut knobs = Vec::new();
        let hosts = self.nodes(false);
        let several = !hosts.is_empty();
        if self.value("via").is_some() {
            knobs.extend(self.rules(&VIA, "via", None, "", false));
        } else {
            let (whom, wide) = if several { ("all hosts", true) } else { ("the host", false) };
            knobs.extend(self.rules(&HOST, "host", None, whom, wide));
            knobs.extend(self.rules(&ALL_HOSTS, "host", None, whom, false));
        }
        for name in &hosts {
            knobs.extend(self.rules(&HOST, &format!("node.{name}.host"), Some("host"), name, false));
        }
        let joined = |name: &String| self.value(&format!("network.{name}.joins")).is_some();
        let networks: Vec<String> = self.names("network").into_iter().filter(joined).collect();
        let (whom, wide) = if networks.len() > 1 { ("all links", true) } else { ("the network", false) };
        knobs.extend(self.rules(&NETWORK, "network", None, whom, wide));
        for name in &networks {
            knobs.extend(self.rules(&NETWORK, &format!("network.{name}"), Some("network"), name, false));
        }
        for (section, rules) in [("interface", &INTERFACE[..]), ("program", &PROGRAM[..])] {
            for name in self.names(section) {
                knobs.extend(self.rules(rules, &format!("{section}.{name}"), None, &name, false));
            }
        }
        knobs
    }

    /// The knobs by `rules` at the table `at`, which may have a key in common with others in the
    /// table `beneath`.
    pub(super) fn rules(
        &self,
        rules: &[Rule],
        at: &str,
        beneath: Option<&str>,
        whom: &str,
        wide: bool,
    ) -> Vec<Knob> {
        let mut knobs = Vec::new();
        for rule in rules {
            let (key, what, towards, _) = rule;
            let path = format!("{at}.{key}");
            let common = beneath.map(|table| format!("{table}.{key}"));
            let Some(now) = self.present(rule, &path, common.as_deref()) else { continue };
            let now = if *key == "rate" && self.is_ethernet(at, beneath) { line(now) } else { now };
            let what = format!("{what} {whom}");
            knobs.extend(towards.knobs(what.trim(), wide, &path, now));
        }
        knobs
    }

    /// The value under `path`, else under `common`, else the default of the rule.
    pub(super) fn present(&self, rule: &Rule, path: &str, common: Option<&str>) -> Option<Quantity> {
        let (.., default) = rule;
        let now = match self.value(path).or_else(|| self.value(common?)) {
            Some(value) => Quantity::of(value),
            None => *default,
        };
        // A factor may be written as a whole number.
        match (default, now?) {
            (Some(Quantity::Factor(_)), Quantity::Count(count)) => Some(Quantity::Factor(count as f64)),
            (_, now) => Some(now),
        }
    }

    /// The place of the node called `name`, or of its first copy.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        let is = |own: &str| self.is_of(own, name);
        self.experiment.nodes.iter().position(|node| node.name.as_deref().is_some_and(is))
    }

    /// Whether the node `own` is that of the table `name`, or one of its copies.
    pub(super) fn is_of(&self, own: &str, name: &str) -> bool {
        let copies = self.value(&format!("node.{name}.count")).is_some();
        own == name || (copies && own.strip_prefix(name).is_some_and(is_number))
    }

    fn is_ethernet(&self, at: &str, beneath: Option<&str>) -> bool {
        let framing = |table: &str| self.text(&format!("{table}.framing"));
        framing(at).or_else(|| framing(beneath?)).is_some_and(|framing| framing.starts_with("ethernet"))
    }
}

impl Towards {
    /// Whether a value becomes more, for each of the ways in which it is changed.
    pub(super) fn ways(self) -> impl Iterator<Item = bool> {
        let up = [(true, [More, Either]), (false, [Less, Either])];
        up.into_iter().filter(move |(_, of)| of.contains(&self)).map(|(up, _)| up)
    }

    /// The knobs that change the value under `key` in these ways.
    pub(super) fn knobs(self, what: &str, wide: bool, key: &str, now: Quantity) -> Vec<Knob> {
        self.ways()
            .flat_map(|up| scale(what.into(), wide, vec![Scaled { key: key.into(), now, up }]))
            .collect()
    }
}

/// A knob that scales `parts`; `None` if one of them is zero.
fn scale(what: String, wide: bool, parts: Vec<Scaled>) -> Option<Knob> {
    let some = parts.iter().all(|part| part.now.number() > 0.0);
    some.then_some(Knob { what, wide, turn: Turn::Scale(parts) })
}

fn line(now: Quantity) -> Quantity {
    if let Quantity::Rate(rate) = now { Quantity::LineRate(rate) } else { now }
}

/// A value as a person reads it.
pub(super) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().into(),
        DeValue::Float(number) => number.as_str().into(),
        DeValue::Boolean(value) => value.to_string(),
        _ => "a table".into(),
    }
}

fn name_of<'a>(item: &'a DeValue<'_>) -> Option<&'a str> {
    item.get("name")?.get_ref().as_str()
}

/// Whether the channel `name` is the file's channel `written`, or a copy of it.
fn is_copy(name: &str, written: &str) -> bool {
    name == written || name.strip_prefix(written).is_some_and(is_number)
}

/// Whether `rest` is that of a copy's name behind the written name: `-3`.
fn is_number(rest: &str) -> bool {
    rest.strip_prefix('-').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Keys of `[admission]` that choose how admission is done, and their words, as the format has them.
fn admission_words() -> Vec<(String, Vec<String>)> {
    let schema = schema();
    let keys = schema.pointer("/$defs/RawAdmission/properties").and_then(Value::as_object);
    // The first is in `SETTINGS`, because the papers' formulas are no proof; the others do not
    // choose a method of admission.
    let other = |key: &str| !["formula", "fill", "refusal"].contains(&key);
    let words = |value: &Value| -> Option<Vec<String>> {
        let words = value.get("oneOf")?.as_array()?.iter();
        Some(words.filter_map(|word| word.get("const")?.as_str().map(String::from)).collect())
    };
    let keys = keys.into_iter().flatten().filter(|(key, _)| other(key));
    keys.filter_map(|(key, value)| Some((key.clone(), words(value)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_admission_come_from_the_format() {
        let words = admission_words();
        let of = |key: &str| words.iter().find(|(other, _)| other == key).map(|(_, words)| words.clone());
        assert!(of("test").is_some_and(|words| words.contains(&"demand".to_string())), "{words:?}");
        assert_eq!(of("formula"), None);
        assert_eq!(of("fill"), None);
    }

    #[test]
    fn copies_go_by_the_name_that_is_written() {
        for (name, written, copy) in [
            ("video", "video", true),
            ("video-3", "video", true),
            ("video-x", "video", false),
            ("videos", "video", false),
        ] {
            assert_eq!(is_copy(name, written), copy, "{name}");
        }
    }
}
