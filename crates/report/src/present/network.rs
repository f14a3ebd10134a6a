//! The network of an experiment as a drawing.
//!
//! ```text
//!     cam1   cam2            recorder
//!        ╲   ╱                  │
//!        switch1 ──────────── switch2
//!        ╱   ╲                  │
//!     cam3   plc             backup
//! ```
//!
//! Switches, media and hosts with several links stand in a line, each behind one that it is joined
//! to. Hosts with one link stand above and below it. A line between two places is labelled with its
//! rate, and with the share of it that guaranteed channels ask for in the busier direction.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::Class;
use laxity_units::Bytes;
use laxity_world::experiment::{AdapterSpec, Experiment, MediumSpec};

use super::svg::{Anchor, Colour, Drawing, Pen, Type};

const INK: Colour = "#222222";
const FAINT: Colour = "#666666";
const HOST: Colour = "#dbe7f3";
const HUB: Colour = "#f7e6cf";
const THIN: Pen = Pen { colour: INK, width: 1.1, dashed: false };
const LINK: Pen = Pen { colour: FAINT, width: 1.4, dashed: false };
const TEXT: Type = Type { size: 11.0, bold: false, colour: INK };
const NOTE: Type = Type { size: 9.5, bold: false, colour: FAINT };

/// Of a place.
const WIDE: f64 = 84.0;
const HIGH: f64 = 26.0;
/// From one leaf to the next.
const PITCH: f64 = 96.0;
/// From the line of hubs to the leaves.
const APART: f64 = 92.0;
const GAP: f64 = 76.0;
/// Of the two lines that a link is labelled with.
const NOTES: f64 = 26.0;
const MARGIN: f64 = 18.0;
/// Networks of more places are not legible.
const MOST: usize = 60;

/// The places of an experiment, by number, and the links between them.
#[derive(Default)]
struct Graph {
    names: Vec<String>,
    /// Whether a place is a switch or a medium.
    hubs: Vec<bool>,
    /// By their ends, the lower number first.
    links: BTreeMap<(usize, usize), Link>,
}

#[derive(Default, Clone, Copy)]
struct Link {
    /// In bit/s, where one is known.
    rate: Option<f64>,
    /// The share that guaranteed channels ask for, from the first end and from the second.
    asked: [f64; 2],
}

/// The network of `experiment` as SVG; `None` if it has one host, or more places than are legible.
pub fn svg(experiment: &Experiment) -> Option<String> {
    let places = experiment.nodes.len() + experiment.switches.len();
    if experiment.nodes.len() < 2 || places > MOST || experiment.virtual_interfaces().is_some() {
        return None;
    }
    let graph = Graph::of(experiment);
    Some(graph.drawn())
}

impl Graph {
    fn of(experiment: &Experiment) -> Self {
        let mut graph = Graph::default();
        for node in 0..experiment.nodes.len() {
            graph.place(experiment.place(node), false);
        }
        for switch in &experiment.switches {
            graph.place(switch.name.clone(), true);
        }
        let first = experiment.nodes.len();
        for outlet in &experiment.outlets {
            let Some(to) = graph.names.iter().position(|name| *name == outlet.to) else { continue };
            graph.link(first + outlet.switch, to).rate = rate(&outlet.config.link);
        }
        for link in experiment.signalling().iter().flat_map(|spec| &spec.links) {
            let costs = LinkCosts { per_byte: link.per_byte, ..LinkCosts::default() };
            graph.link(link.ends[0], link.ends[1]).rate = rate(&costs);
        }
        let switched: BTreeSet<usize> = graph.links.keys().flat_map(|(a, b)| [*a, *b]).collect();
        for network in &experiment.networks {
            match (&network.medium, &network.members[..]) {
                (MediumSpec::PointToPoint, [a, b]) => drop(graph.link(*a, *b)),
                (MediumSpec::PointToPoint, members)
                    if members.iter().all(|member| switched.contains(member)) => {}
                (medium, members) => {
                    let kind = match medium {
                        MediumSpec::PointToPoint => "links",
                        MediumSpec::TokenRing(_) => "token ring",
                        MediumSpec::Csma(_) => "CSMA/CD",
                    };
                    let hub = graph.place(network.name.clone().unwrap_or_else(|| kind.into()), true);
                    for member in members {
                        graph.link(*member, hub);
                    }
                }
            }
        }
        graph.ask(experiment);
        graph
    }

    fn place(&mut self, name: String, hub: bool) -> usize {
        self.names.push(name);
        self.hubs.push(hub);
        self.names.len() - 1
    }

    fn link(&mut self, a: usize, b: usize) -> &mut Link {
        self.links.entry((a.min(b), a.max(b))).or_default()
    }

    /// Adds what guaranteed channels ask of each link of which the rate is known.
    fn ask(&mut self, experiment: &Experiment) {
        let first = experiment.nodes.len();
        for channel in experiment.channels.iter().filter(|channel| channel.class == Class::RealTime) {
            let interval = channel.spec.min_interval.as_secs_f64();
            let share = |link: &LinkCosts| {
                let packets = channel.spec.fragmentation(experiment.packet());
                let packet = channel.spec.largest_packet(experiment.packet());
                let times = link.transmit(packet).as_secs_f64() * (packets.packets() - 1) as f64;
                (times + link.transmit(packets.last()).as_secs_f64()) / interval
            };
            // Before a copy is made its packets are those of another channel.
            for (hop, station) in channel.route.iter().enumerate().skip(channel.begins()) {
                let (from, to, link) = match experiment.outlet(*station) {
                    Some(outlet) => {
                        let to = self.names.iter().position(|name| *name == outlet.to);
                        (first + outlet.switch, to, Some(&outlet.config.link))
                    }
                    None => {
                        let next = channel.route.get(hop + 1);
                        let to = next.map(|next| match experiment.outlet(*next) {
                            Some(outlet) => first + outlet.switch,
                            None => *next,
                        });
                        let link = match experiment.adapter_of(*station, experiment.link_out(channel, hop)) {
                            AdapterSpec::Null(link) => Some(link),
                            AdapterSpec::Described(_) => None,
                        };
                        (*station, to, link)
                    }
                };
                let (Some(to), Some(link)) = (to, link) else { continue };
                if let Some(between) = self.links.get_mut(&(from.min(to), from.max(to))) {
                    between.asked[usize::from(from > to)] += share(link);
                    between.rate = between.rate.or_else(|| rate(link));
                }
            }
        }
    }

    fn neighbours(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        self.links.keys().filter_map(move |(a, b)| match place {
            place if place == *a => Some(*b),
            place if place == *b => Some(*a),
            _ => None,
        })
    }

    /// Places in a line, each but the first of a part behind one that it is joined to.
    fn line(&self) -> Vec<usize> {
        let degree = |place: usize| self.neighbours(place).count();
        let inner: Vec<usize> =
            (0..self.names.len()).filter(|place| self.hubs[*place] || degree(*place) != 1).collect();
        // Two hosts and a link.
        let inner = if inner.is_empty() { vec![0] } else { inner };
        let between = |place: usize| self.neighbours(place).filter(|other| inner.contains(other)).count();
        let mut line = Vec::new();
        while let Some(start) =
            inner.iter().copied().filter(|place| !line.contains(place)).min_by_key(|place| between(*place))
        {
            let mut next = VecDeque::from([start]);
            while let Some(place) = next.pop_front() {
                if line.contains(&place) {
                    continue;
                }
                line.push(place);
                next.extend(self.neighbours(place).filter(|other| inner.contains(other)));
            }
        }
        line
    }

    fn drawn(&self) -> String {
        let line = self.line();
        let mut at: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        let leaves =
            |hub: usize| self.neighbours(hub).filter(|leaf| !line.contains(leaf)).collect::<Vec<usize>>();
        let below = line.iter().any(|hub| leaves(*hub).len() > 1);
        let middle = MARGIN + NOTES + HIGH / 2.0 + APART;
        let mut x = MARGIN;
        for hub in &line {
            let leaves = leaves(*hub);
            let above = leaves.len().div_ceil(2);
            let width = (above as f64 * PITCH).max(WIDE);
            let centre = x + width / 2.0;
            at.insert(*hub, (centre, middle));
            for (side, y) in [(&leaves[..above], middle - APART), (&leaves[above..], middle + APART)] {
                let from = centre - (side.len() as f64 - 1.0) * PITCH / 2.0;
                at.extend((0..).zip(side).map(|(place, leaf)| (*leaf, (from + f64::from(place) * PITCH, y))));
            }
            x += width + GAP;
        }
        let right = x - GAP + MARGIN;
        let is_far = |a: usize, b: usize| {
            let place = |of: usize| line.iter().position(|place| *place == of);
            place(a).zip(place(b)).is_some_and(|(a, b)| a.abs_diff(b) > 1)
        };
        let deep = below || self.links.keys().any(|(a, b)| is_far(*a, *b));
        let height = middle + HIGH / 2.0 + MARGIN + if deep { APART + NOTES } else { 0.0 };
        let mut drawing = Drawing::default();
        for ((a, b), link) in &self.links {
            let (from, to) = (at[a], at[b]);
            let bend = ((from.0 + to.0) / 2.0, middle + APART * 0.6);
            let leaf = [from, to].into_iter().find(|(_, y)| *y != middle);
            let (points, spot) = match leaf {
                // Behind the leaf, where no other line is.
                Some((x, y)) if y < middle => (vec![from, to], (x, y - HIGH / 2.0 - NOTES + 8.0)),
                Some((x, y)) => (vec![from, to], (x, y + HIGH / 2.0 + 12.0)),
                None if is_far(*a, *b) => (vec![from, bend, to], bend),
                None => (vec![from, to], ((from.0 + to.0) / 2.0, middle - NOTES + 8.0)),
            };
            drawing.line(&points, LINK);
            for (number, text) in link.words().into_iter().enumerate() {
                let y = spot.1 + 11.0 * number as f64;
                drawing.text((spot.0, y), Anchor::Middle, NOTE, &text);
            }
        }
        for (place, (x, y)) in &at {
            let (fill, round) = if self.hubs[*place] { (HUB, 2.0) } else { (HOST, 8.0) };
            drawing.rectangle([x - WIDE / 2.0, y - HIGH / 2.0, WIDE, HIGH], fill, THIN, round);
            drawing.text((*x, y + 4.0), Anchor::Middle, TEXT, &shortened(&self.names[*place]));
        }
        drawing.finish(
            "network",
            "The network, with what guaranteed channels ask of each link",
            right,
            height,
        )
    }
}

impl Link {
    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(rate) = self.rate {
            let (unit, size) = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)]
                .into_iter()
                .find(|(_, size)| rate >= size * 0.9995)
                .unwrap_or(("bit/s", 1.0));
            let value = format!("{:.3}", rate / size);
            words.push(format!("{} {unit}", value.trim_end_matches('0').trim_end_matches('.')));
        }
        let most = self.asked[0].max(self.asked[1]);
        if most > 0.0 {
            let mut share = String::new();
            let decimals = if most < 0.1 { 1 } else { 0 };
            let _ = write!(share, "{:.decimals$} % asked", most * 100.0);
            words.push(share);
        }
        words
    }
}

/// The rate of a link; `None` if bytes take it no time.
fn rate(link: &LinkCosts) -> Option<f64> {
    let second = link.per_byte.time(Bytes::new(1_000_000)).as_secs_f64();
    (second > 0.0).then(|| 8e6 / second)
}

fn shortened(name: &str) -> String {
    const MOST: usize = 13;
    match name.chars().count() {
        ..=MOST => name.to_string(),
        _ => name.chars().take(MOST - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use laxity_scenario::Scenario;

    use super::*;

    fn of(text: &str) -> Option<String> {
        let scenario = Scenario::from_text("test.toml", text).unwrap();
        svg(&scenario.experiment(&scenario.points().next().unwrap()))
    }

    /// Of 100 Mbit/s a message of 1000 B in 1 ms asks for 8 %; its packets are not framed.
    #[test]
    fn a_link_shows_its_rate_and_what_is_asked_of_it() {
        let text = |more: &str| {
            format!(
                r#"
title = "two hosts at a switch"
[host]
profile = "mc68040"
[adapter]
kind = "null"
[node.ada]
[node.ben]
{more}
[node.sw]
kind = "switch"
[network]
rate = "100 Mbit/s"
[network.star]
joins = ["sw", "ada", "ben"]
[run]
time = "1 s"
[[channel]]
name = "loop"
class = "real_time"
from = "ada"
to = "ben"
max_message = "1000 B"
burst = 1
min_interval = "1 ms"
deadline = "1 ms"
source = {{ kind = "periodic" }}
"#
            )
        };
        let drawing = of(&text("")).unwrap();
        for place in ["ada", "ben", "sw"] {
            assert_eq!(drawing.matches(&format!(">{place}<")).count(), 1, "{drawing}");
        }
        assert_eq!(drawing.matches(">100 Mbit/s<").count(), 2, "{drawing}");
        assert_eq!(drawing.matches(">8.0 % asked<").count(), 2, "{drawing}");
        // A further receiver asks for its own link alone.
        let several = text("[node.cid]").replace("\"ben\"]", "\"ben\", \"cid\"]");
        let several = several.replace("to = \"ben\"", "to = \"ben\"\nreceivers = [{ to = \"cid\" }]");
        assert_eq!(of(&several).unwrap().matches(">8.0 % asked<").count(), 3);
        assert_eq!(drawing.matches("<polyline").count(), 2);
    }

    #[test]
    fn a_host_alone_has_no_network() {
        let alone = "title = \"alone\"\n[host]\nprofile = \"mc68040\"\n[adapter]\nkind = \"null\"\nper_byte = \"50 ns\"\n[run]\ntime = \"1 s\"\n[[channel]]\nname = \"a\"\nclass = \"best_effort\"\nmax_message = \"1 B\"\nburst = 1\nsource = { kind = \"continuous\" }\n";
        assert_eq!(of(alone), None);
    }
}
