//! An experiment assembled and run: hosts in a chain, sources at one end, meters at the other.

mod observer;
mod outcome;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use laxity_engine::trace::{NoTrace, Trace};
use laxity_engine::{Calendar, Limits, Seed, Stream, VirtualClock, World};
use laxity_model::adapter::{self, Null, Pipeline};
use laxity_model::host::{Host, Output, Uses};
use laxity_model::node::{DriverConfig, Node, NodeOutput};
use laxity_model::source::Source;
use laxity_qos::admission::Formula;
use laxity_qos::channel::{ChannelConfig, ChannelId, Packet, Role};
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span, Time};

use observer::Observer;

use crate::measure::Meter;
use crate::promise::{self, Promise};
use crate::results::Run;
use crate::scenario::{Adapter, Experiment, LocalDeadline, RunLength, SourceSpec, Task};

/// Copies that a fill admits at most: far beyond any host, and an end.
const FILL_LIMIT: u64 = 100_000;

/// Takes every packet that leaves a node: the node's place in the chain, when, and the packet's bytes, header
/// first.
pub type FrameSink<'a> = dyn FnMut(usize, Time, &[u8]) + 'a;

/// Runs one point of a sweep. Its place in the sweep is the caller's to fill in.
pub fn run(experiment: &Experiment) -> Run {
    observe(experiment, &mut NoTrace, None)
}

/// Runs one point and tells `trace` what CPUs and links do, and `frames` what passes on them. The outcome is the
/// same as without.
pub fn observe<'a, T: Trace>(
    experiment: &'a Experiment,
    trace: &'a mut T,
    frames: Option<&'a mut FrameSink<'_>>,
) -> Run {
    match experiment.task {
        Task::Fill(index) => fill(experiment, index),
        Task::Simulate(length) => simulate(experiment, length, Observer::new(trace, frames)),
    }
}

fn fill(experiment: &Experiment, index: usize) -> Run {
    let mut figures = BTreeMap::new();
    if let Some(formula) = experiment.admission.formula
        && let Ok(admitted) = promise::fill(experiment, index, formula, FILL_LIMIT)
    {
        figures.insert("admitted".into(), admitted as f64);
    }
    Run {
        point: Vec::new(),
        simulated: 0.0,
        window: 0.0,
        channels: Vec::new(),
        resources: Vec::new(),
        figures,
    }
}

fn simulate<'a, T: Trace>(
    experiment: &'a Experiment,
    length: RunLength,
    observer: Observer<'a, '_, T>,
) -> Run {
    let mut lab = Lab::new(experiment, length, observer);
    let mut calendar = Calendar::new();
    lab.start(&mut calendar);
    let limits = match length {
        RunLength::Time { total, .. } => Limits::NONE.until(Time::ZERO + total),
        RunLength::Packets { .. } => Limits::NONE,
    };
    laxity_engine::run(&mut lab, &mut calendar, &mut VirtualClock, limits);
    let end = match length {
        RunLength::Time { total, .. } => Time::ZERO + total,
        RunLength::Packets { .. } => calendar.now(),
    };
    lab.into_run(end)
}

#[derive(Debug, Clone, Copy)]
enum Event {
    /// The source of a channel sends.
    Arrival { channel: usize, size: Bytes },
    /// A node asked to be called; stale if it has asked anew since.
    Node { node: usize, asked: u64 },
    /// A packet reaches a node.
    Reach { node: usize, packet: Packet },
    /// The window opens or closes.
    Window,
}

/// Which part of a run is counted.
#[derive(Debug)]
struct Window {
    length: RunLength,
    departed: u64,
    opened: Option<(Time, Vec<Uses>, Vec<Span>)>,
    closed: Option<(Time, Vec<Uses>, Vec<Span>)>,
}

impl Window {
    fn counts(&self) -> bool {
        self.opened.is_some() && self.closed.is_none()
    }
}

struct Lab<'a, 'f, T: Trace> {
    experiment: &'a Experiment,
    nodes: Vec<Node>,
    /// Per node: the deadline it is to be called at, and how often that has changed.
    asked: Vec<(Option<Time>, u64)>,
    sources: Vec<Option<Source>>,
    meters: Vec<Meter>,
    promises: Vec<Promise>,
    papers: Vec<Promise>,
    window: Window,
    observer: Observer<'a, 'f, T>,
}

impl<'a, 'f, T: Trace> Lab<'a, 'f, T> {
    fn new(experiment: &'a Experiment, length: RunLength, mut observer: Observer<'a, 'f, T>) -> Self {
        let none = || vec![Promise::BestEffort; experiment.channels.len()];
        let ask = |formula| promise::promises(experiment, formula).map_or_else(|_| none(), |p| p.channels);
        let promises = experiment.admission.formula.map_or_else(none, ask);
        let papers = experiment.admission.formula.map_or_else(none, |_| ask(Formula::Papers));
        let hops = experiment.path.relays as usize + 1;
        let mut nodes: Vec<Node> =
            (0..hops + usize::from(experiment.path.receive)).map(|_| node(experiment)).collect();
        observer.watch(&mut nodes, experiment);
        let mut lab = Self {
            experiment,
            nodes,
            asked: Vec::new(),
            sources: Vec::new(),
            meters: Vec::new(),
            promises,
            papers,
            window: Window { length, departed: 0, opened: None, closed: None },
            observer,
        };
        lab.asked = vec![(None, 0); lab.nodes.len()];
        lab.open_channels();
        lab
    }

    fn open_channels(&mut self) {
        let experiment = self.experiment;
        for (i, spec) in experiment.channels.iter().enumerate() {
            let promise = &self.promises[i];
            let bound =
                promise.bound().filter(|_| self.experiment.admission.local_deadline == LocalDeadline::Bound);
            let level = match promise {
                Promise::Admitted { level, .. } => *level,
                _ if spec.class == Class::BestEffort => laxity_qos::discipline::LEVELS as u8 - 1,
                _ => 0,
            };
            let config = ChannelConfig {
                class: spec.class,
                role: Role::Send,
                spec: spec.spec,
                deadline: bound.or(spec.deadline).unwrap_or(Span::MAX),
                level: spec.level.unwrap_or(level),
                message_slots: spec.message_slots,
                packet_slots: spec.packet_slots,
                message_overflow: spec.message_overflow,
                packet_overflow: spec.packet_overflow,
            };
            let last = self.nodes.len() - 1;
            for (hop, node) in self.nodes.iter_mut().enumerate() {
                let role = match hop {
                    0 => Role::Send,
                    hop if hop == last && self.experiment.path.receive => Role::Receive,
                    _ => Role::Relay,
                };
                let packet_slots = match role {
                    Role::Send => config.packet_slots,
                    Role::Relay | Role::Receive => config.packet_slots.max(held_packets(experiment, &config)),
                };
                node.open(ChannelConfig { role, packet_slots, ..config });
            }
            let relays = u64::from(experiment.path.relays);
            let deadline = spec
                .deadline
                .map(|deadline| deadline.saturating_mul(relays + 1) + experiment.path.propagation * relays);
            self.meters.push(Meter { deadline, ..Meter::default() });
            let source = spec.source.source(chance(experiment, i));
            self.sources.push(source.filter(|_| self.is_established(i)));
        }
    }

    /// Whether a channel may send: one that admission refused does not exist, or nobody's bound would hold.
    fn is_established(&self, channel: usize) -> bool {
        !matches!(self.promises[channel], Promise::Refused(_))
    }

    fn start(&mut self, calendar: &mut Calendar<Event>) {
        if let RunLength::Time { total, warmup, cooldown } = self.window.length {
            calendar.schedule(Time::ZERO + warmup, Event::Window);
            calendar.schedule(Time::ZERO + (total - cooldown), Event::Window);
        }
        self.look_at_window(Time::ZERO);
        for channel in 0..self.sources.len() {
            self.schedule_arrival(channel, calendar);
            if let SourceSpec::Continuous(sizes) = &self.experiment.channels[channel].source
                && self.is_established(channel)
            {
                let random = chance(self.experiment, channel);
                self.nodes[0].saturate(Time::ZERO, ChannelId(channel as u32), *sizes, random);
            }
        }
        self.settle(0, Time::ZERO, calendar);
    }

    fn schedule_arrival(&mut self, channel: usize, calendar: &mut Calendar<Event>) {
        let Some(source) = &mut self.sources[channel] else { return };
        if let Some(arrival) = source.next_arrival() {
            calendar.schedule(arrival.at, Event::Arrival { channel, size: arrival.size });
        }
    }

    /// Takes what a node put out, and asks it when it wants to be called next.
    fn settle(&mut self, node: usize, now: Time, calendar: &mut Calendar<Event>) {
        while let Some(output) = self.nodes[node].poll_output() {
            match output {
                NodeOutput::Departed(packet, _) => self.depart(node, now, packet, calendar),
                NodeOutput::Host(Output::Answered { channel, size, .. }) => {
                    let counted = self.window.counts();
                    let continuous = self.sources[channel.0 as usize].is_none();
                    if continuous {
                        self.meters[channel.0 as usize].offer(size, counted);
                    }
                }
                NodeOutput::Host(Output::Busy(busy)) => self.observer.busy(node, &busy),
                _ => {}
            }
        }
        let deadline = self.nodes[node].next_deadline();
        let (asked, times) = &mut self.asked[node];
        if *asked != deadline {
            *asked = deadline;
            *times += 1;
            if let Some(at) = deadline {
                calendar.schedule(at, Event::Node { node, asked: *times });
            }
        }
    }

    fn depart(&mut self, node: usize, now: Time, packet: Packet, calendar: &mut Calendar<Event>) {
        let path = &self.experiment.path;
        self.observer.departed(node, now, &packet, self.nodes[node].host().subsystem().link_queue().0);
        if node + 1 < self.nodes.len() {
            calendar.schedule(now + path.propagation, Event::Reach { node: node + 1, packet });
        }
        if node != path.relays as usize {
            return;
        }
        self.window.departed += 1;
        let counted = self.window.counts();
        self.meters[packet.channel.0 as usize].depart(now, &packet, counted);
        self.look_at_window(now);
    }

    fn look_at_window(&mut self, now: Time) {
        let (opens, closes) = match self.window.length {
            RunLength::Packets { total, warmup, cooldown } => {
                (self.window.departed >= warmup, self.window.departed >= total - cooldown)
            }
            RunLength::Time { total, warmup, cooldown } => {
                (now >= Time::ZERO + warmup, now >= Time::ZERO + (total - cooldown))
            }
        };
        if opens && self.window.opened.is_none() {
            self.window.opened = Some(self.snapshot(now));
        }
        if closes && self.window.closed.is_none() {
            self.window.closed = Some(self.snapshot(now));
        }
    }

    fn snapshot(&self, now: Time) -> (Time, Vec<Uses>, Vec<Span>) {
        let uses = self.nodes.iter().map(|node| *node.host().uses()).collect();
        let busy = self.nodes.iter().flat_map(|node| node.adapter().busy()).map(|(_, busy)| busy).collect();
        (now, uses, busy)
    }
}

impl<T: Trace> World for Lab<'_, '_, T> {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, calendar: &mut Calendar<Event>) {
        match event {
            Event::Arrival { channel, size } => {
                self.meters[channel].offer(size, self.window.counts());
                self.schedule_arrival(channel, calendar);
                self.nodes[0].offer(now, ChannelId(channel as u32), size);
                self.settle(0, now, calendar);
            }
            Event::Node { node, asked } if self.asked[node].1 == asked => {
                self.asked[node].0 = None;
                self.nodes[node].timer(now);
                self.settle(node, now, calendar);
            }
            Event::Node { .. } => {}
            Event::Reach { node, mut packet } => {
                // The way takes its time, so what is on time here is later by that.
                packet.tag.deadline = packet.tag.deadline.saturating_add(self.experiment.path.propagation);
                self.nodes[node].receive(now, packet);
                self.settle(node, now, calendar);
            }
            Event::Window => self.look_at_window(now),
        }
    }

    fn is_finished(&self) -> bool {
        matches!(self.window.length, RunLength::Packets { total, .. } if self.window.departed >= total)
    }
}

/// The random stream of a channel's source, from its beginning.
fn chance(experiment: &Experiment, channel: usize) -> Stream {
    Seed::new(experiment.seed).stream(&format!("source {}", experiment.channels[channel].name))
}

/// Packets of a channel that a host past the first may have to hold.
///
/// A message may come ahead of its time by as much as the host before could be early, its local deadline
/// and the link's horizon, and stays until its deadline here; messages are `I_min` apart, but for a burst that was
/// sent ahead (Kandlur, Shin and Ferrari 1994 count buffers alike).
fn held_packets(experiment: &Experiment, config: &ChannelConfig) -> u64 {
    if config.class == Class::BestEffort {
        return 0;
    }
    let subsystem = &experiment.host.subsystem;
    let stay = config.deadline.saturating_mul(2).saturating_add(subsystem.link.early.horizon);
    let messages = stay.div_ceil(config.spec.min_interval).min(u64::from(config.spec.burst) + 2) + 1;
    messages * config.spec.fragmentation(subsystem.packet).packets()
}

fn node(experiment: &Experiment) -> Node {
    let host = &experiment.host;
    let adapter = match &experiment.adapter {
        Adapter::Null(costs) => adapter::Adapter::Null(Null::new(*costs)),
        Adapter::Described(description) => {
            adapter::Adapter::Pipeline(Box::new(Pipeline::new((**description).clone())))
        }
    };
    let host = Host::new(host.costs, host.subsystem, host.applications);
    Node::new(host, DriverConfig::default(), adapter)
}
