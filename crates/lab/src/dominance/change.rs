//! The changes of a file that can only help, one value each.

use std::collections::BTreeSet;

use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Rate, Span};
use laxity_world::experiment::{ChannelSpec, Experiment};

use super::anomaly;
use super::file::{File, Section};

/// A kind of change that can only help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// A channel is removed.
    Removal,
    /// A burst is lowered.
    Burst,
    /// A largest message is lowered.
    Size,
    /// A rate is lowered.
    Rate,
    /// A deadline is lengthened.
    Deadline,
    /// A host that only receives is faster.
    Receiver,
    /// A link is faster, or shorter.
    Link,
    /// A switch is faster.
    Switch,
    /// Admission is asked twice.
    Twice,
    /// The bounds in the results of a run are those of admission.
    Run,
}

impl Law {
    /// Every law.
    pub const ALL: [Law; 10] = [
        Law::Removal,
        Law::Burst,
        Law::Size,
        Law::Rate,
        Law::Deadline,
        Law::Receiver,
        Law::Link,
        Law::Switch,
        Law::Twice,
        Law::Run,
    ];
}

/// A changed file.
#[derive(Debug, Clone)]
pub struct FileChange {
    /// The kind of change.
    pub law: Law,
    /// The change in words.
    pub words: String,
    /// The changed file.
    pub text: String,
    /// The names of the channels that are changed or removed.
    pub channels: BTreeSet<String>,
}

/// All changes of the file `text`, which describes `experiment`.
pub fn changes(text: &str, experiment: &Experiment) -> Vec<FileChange> {
    let file = File::new(text);
    let within = experiment.schedules() && anomaly::by_order(experiment);
    let mut all = Changes { file: &file, experiment, within, found: Vec::new() };
    for place in file.channels() {
        all.of_channel(place);
    }
    all.of_hosts();
    all.of_links();
    all.of_switches();
    all.found
}

struct Changes<'a> {
    file: &'a File,
    experiment: &'a Experiment,
    /// A station admits no deadline beyond the interval.
    within: bool,
    found: Vec<FileChange>,
}

impl Changes<'_> {
    fn add(&mut self, law: Law, words: String, text: String, channels: BTreeSet<String>) {
        self.found.push(FileChange { law, words, text, channels });
    }

    fn of_channel(&mut self, place: usize) {
        let (experiment, section) = (self.experiment, self.file.at(place));
        let Some(name) = section.word("name") else { return };
        let channels = section.channels_of(experiment);
        let Some(first) = channels.first().map(|first| &experiment.channels[*first]) else { return };
        let names: BTreeSet<String> = channels.iter().map(|i| experiment.channels[*i].name.clone()).collect();
        let spec = &first.spec;
        let change = |all: &mut Self, law: Law, key: &str, value: String, more: &dyn Fn(&mut Section)| {
            let text = all.file.with(place, |section| {
                more(section);
                section.set(key, &value);
            });
            all.add(law, format!("{key} of `{name}` is {value}"), text, names.clone());
        };
        if self.file.channels().len() > 1 {
            let text = self.file.without(&[place]);
            self.add(Law::Removal, format!("`{name}` is removed"), text, names.clone());
        }
        if let Some(count) = section.get("count").and_then(|count| count.parse::<u32>().ok())
            && count > 2
        {
            // The last copy goes.
            let last: BTreeSet<String> = [format!("{name}-{count}")].into();
            let text = self.file.with(place, |section| section.set("count", &(count - 1).to_string()));
            self.add(Law::Removal, format!("`{name}-{count}` is removed"), text, last);
        }
        for burst in BTreeSet::from([spec.burst / 2, spec.burst - 1]).into_iter().filter(|burst| *burst > 0) {
            change(self, Law::Burst, "burst", burst.to_string(), &|_| ());
        }
        let guaranteed = first.class == Class::RealTime;
        for size in smaller(first, experiment.packet()) {
            let quoted = |bytes: Bytes| format!("\"{} B\"", bytes.get());
            change(self, Law::Size, "max_message", quoted(size), &|section| {
                section.set("min_message", &quoted(spec.min_message.min(size)));
                if section.get("rate").is_some() {
                    section.remove("rate");
                    section.set("min_interval", &span(spec.min_interval));
                }
            });
        }
        if !guaranteed {
            return;
        }
        for interval in [spec.min_interval + spec.min_interval / 4, spec.min_interval * 5] {
            change(self, Law::Rate, "min_interval", span(interval), &|section| section.remove("rate"));
        }
        let Some(deadline) = first.deadline else { return };
        let most = if self.within { spec.min_interval } else { Span::MAX };
        for longer in BTreeSet::from([deadline + deadline / 8, deadline * 4].map(|span| span.min(most))) {
            if longer > deadline {
                change(self, Law::Deadline, "deadline", span(longer), &|_| ());
            }
        }
    }

    fn of_hosts(&mut self) {
        let experiment = self.experiment;
        if experiment.lone_receiver().is_some() {
            for place in self.file.places(|heading| heading == "[host]") {
                for factor in FASTER {
                    let speed = experiment.hosts[0].speedup * factor;
                    let text = self.file.with(place, |section| section.set("speedup", &format!("{speed:?}")));
                    self.add(Law::Receiver, format!("the host is at {speed}"), text, BTreeSet::new());
                }
            }
            return;
        }
        for (number, node) in experiment.nodes.iter().enumerate() {
            let Some(name) = &node.name else { continue };
            let sends = |channel: &ChannelSpec| channel.senders().contains(&number);
            let ends = |channel: &ChannelSpec| channel.route.last() == Some(&number);
            let channels = &experiment.channels;
            if channels.iter().any(sends) || !channels.iter().any(ends) {
                continue;
            }
            for place in self.file.places(|heading| *heading == format!("[node.{name}]")) {
                for factor in FASTER {
                    let speed = experiment.host(number).speedup * factor;
                    let text = self.file.with(place, |section| faster(section, speed));
                    self.add(Law::Receiver, format!("`{name}` is at {speed}"), text, BTreeSet::new());
                }
            }
        }
    }

    fn of_links(&mut self) {
        let networks = |heading: &str| heading.starts_with("[network") || heading == "[path]";
        for place in self.file.places(networks) {
            let section = self.file.at(place);
            let heading = &section.heading;
            if let Some(rate) = section.word("rate").and_then(|rate| rate.parse::<Rate>().ok()) {
                for factor in [2, 10] {
                    let faster = Rate::from_bits_per_sec(rate.bits_per_sec().saturating_mul(factor));
                    let text = self.file.with(place, |section| section.set("rate", &format!("\"{faster}\"")));
                    self.add(Law::Link, format!("{heading} has {faster}"), text, BTreeSet::new());
                }
            }
            if let Some(way) = section.word("propagation").and_then(|way| way.parse::<Span>().ok())
                && !way.is_zero()
            {
                let text = self.file.with(place, |section| section.set("propagation", &span(way / 2)));
                let words = format!("{heading} has a propagation delay of {}", way / 2);
                self.add(Law::Link, words, text, BTreeSet::new());
            }
        }
    }

    fn of_switches(&mut self) {
        for place in self.file.places(|heading| heading.starts_with("[node.")) {
            let section = self.file.at(place);
            let latency = section.word("latency").and_then(|latency| latency.parse::<Span>().ok());
            let Some(latency) = latency.filter(|latency| !latency.is_zero()) else { continue };
            for less in [latency / 2, Span::ZERO] {
                let text = self.file.with(place, |section| section.set("latency", &span(less)));
                let words = format!("{} has a latency of {less}", section.heading);
                self.add(Law::Switch, words, text, BTreeSet::new());
            }
        }
    }
}

/// How many times as fast a host is made.
const FASTER: [f64; 3] = [1.1, 2.0, 20.0];

/// Largest messages below that of `channel`: half as large, and a whole packet less.
fn smaller(channel: &ChannelSpec, packet: Bytes) -> BTreeSet<Bytes> {
    let most = channel.spec.max_message.get();
    let sizes = [most / 2, most.saturating_sub(packet.get())];
    sizes.into_iter().filter(|size| *size > 0).map(Bytes::new).collect()
}

/// Makes the host of a node `speed` times as fast as its profile.
fn faster(section: &mut Section, speed: f64) {
    const KEY: &str = "speedup = ";
    let host = match section.get("host") {
        None => format!("{{ {KEY}{speed:?} }}"),
        Some(host) => match host.split_once(KEY) {
            Some((before, after)) => {
                let rest = after.find([',', ' ']).map_or("", |end| &after[end..]);
                format!("{before}{KEY}{speed:?}{rest}")
            }
            None => host.replacen('{', &format!("{{ {KEY}{speed:?},"), 1),
        },
    };
    section.set("host", &host);
}

fn span(span: Span) -> String {
    format!("\"{span}\"")
}
