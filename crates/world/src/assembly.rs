//! An experiment assembled and run: nodes at a network, sources at one end, meters at the other.
//!
//! The same assembly runs under every clock. Under virtual time it is a simulation; under a real one, and with an
//! [`Outside`], it is the emulated device: the thesis's END.

mod meters;
mod observer;
mod outcome;
mod outside;
mod parts;
mod state;

use std::collections::{BTreeMap, VecDeque};

use laxity_engine::trace::{NoTrace, Trace};
use laxity_engine::{Calendar, Limits, Seed, VirtualClock, World};
use laxity_model::adapter::{Loss, Response};
use laxity_model::host::{Endless, Output, Uses};
use laxity_model::network::{Impairments, Medium};
use laxity_model::node::{Node, NodeOutput};
use laxity_model::source::Source;
use laxity_qos::admission::Formula;
use laxity_qos::channel::{ChannelId, Packet, Sent};
use laxity_units::{Bytes, Time};

pub use crate::measure::Said;
use meters::StageMeter;
pub use meters::{Live, LiveChannel};
use observer::Observer;
pub use outcome::{HostReport, HostTally};
pub use outside::{Input, Nothing, Notice, Outside};
pub(crate) use parts::resource_names;
pub use parts::{channel_config, source_stream};
pub use state::Event;
use state::{Asked, Snapshot, Window};

use crate::experiment::{Experiment, Fault, RunLength, Task};
use crate::measure::{Meter, Punctuality, Tally};
use crate::promise::{self, Promise};
use crate::results::Run;

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
    Run { figures, ..Run::default() }
}

fn simulate<'a, T: Trace>(
    experiment: &'a Experiment,
    length: RunLength,
    observer: Observer<'a, '_, T>,
) -> Run {
    let mut assembly = Assembly::new(experiment, length, observer, Nothing, Elsewhere::default());
    let mut calendar = Calendar::new();
    assembly.start(&mut calendar);
    let outcome = laxity_engine::run(&mut assembly, &mut calendar, &mut VirtualClock, limits(length));
    assembly.into_run(outcome.now, &[]).0
}

/// The engine's limits for a run of `length`.
pub fn limits(length: RunLength) -> Limits {
    match length {
        RunLength::Time { total, .. } => Limits::NONE.until(Time::ZERO + total),
        RunLength::Packets { .. } => Limits::NONE,
    }
}

/// What of an experiment the outside has.
#[derive(Debug, Clone, Copy, Default)]
pub struct Elsewhere<'a> {
    /// Nodes whose hosts it is.
    pub hosts: &'a [usize],
    /// Channels whose messages it sends, in place of their sources.
    pub channels: &'a [usize],
}

/// An experiment assembled: what the engine runs.
pub struct Assembly<'a, 'f, T: Trace, O: Outside> {
    experiment: &'a Experiment,
    nodes: Vec<Node>,
    asked: Vec<Asked>,
    medium: Medium,
    medium_asked: Asked,
    impairments: Option<Impairments>,
    sources: Vec<Option<Source>>,
    /// Per channel: what its application sends without end, until the run starts.
    endless: Vec<Option<Endless>>,
    meters: Vec<Meter>,
    stages: Vec<Vec<StageMeter>>,
    promises: Vec<Promise>,
    papers: Vec<Promise>,
    window: Window,
    observer: Observer<'a, 'f, T>,
    outside: O,
    /// Per channel: the outside's names for messages that were offered and not answered.
    handles: Vec<VecDeque<u32>>,
    stopped: bool,
    /// Nodes that may have something to say; empty between events.
    restless: Vec<usize>,
}

impl<'a, O: Outside> Assembly<'a, 'static, NoTrace, O> {
    /// The assembly of `experiment` for a run of `length`, with an outside that has the parts that are `elsewhere`.
    pub fn with_outside(
        experiment: &'a Experiment,
        length: RunLength,
        trace: &'a mut NoTrace,
        outside: O,
        elsewhere: Elsewhere<'_>,
    ) -> Self {
        Self::new(experiment, length, Observer::new(trace, None), outside, elsewhere)
    }
}

impl<'a, 'f, T: Trace, O: Outside> Assembly<'a, 'f, T, O> {
    fn new(
        experiment: &'a Experiment,
        length: RunLength,
        mut observer: Observer<'a, 'f, T>,
        outside: O,
        elsewhere: Elsewhere<'_>,
    ) -> Self {
        let formula = experiment.admission.formula;
        let promises = promise::of_channels(experiment, formula);
        let papers = promise::of_channels(experiment, formula.map(|_| Formula::Papers));
        let medium = parts::medium(experiment);
        let mut nodes: Vec<Node> = (0..experiment.network.stations)
            .map(|node| parts::node(experiment, !elsewhere.hosts.contains(&node)))
            .collect();
        for node in &mut nodes {
            node.pad_frames_to(medium.shortest_frame());
            if matches!(medium, Medium::PointToPoint(_)) {
                node.own_the_link();
            }
        }
        observer.watch(&mut nodes, experiment);
        let stages = nodes.iter().map(|node| vec![StageMeter::default(); node.adapter().stages().len()]);
        let mut assembly = Self {
            experiment,
            asked: vec![Asked::default(); nodes.len()],
            stages: stages.collect(),
            nodes,
            medium,
            medium_asked: Asked::default(),
            impairments: parts::impairments(experiment),
            sources: Vec::new(),
            endless: Vec::new(),
            meters: Vec::new(),
            promises,
            papers,
            window: Window { length, departed: 0, opened: None, closed: None },
            observer,
            outside,
            handles: vec![VecDeque::new(); experiment.channels.len()],
            stopped: false,
            restless: Vec::new(),
        };
        assembly.open_channels(elsewhere);
        assembly
    }

    fn open_channels(&mut self, elsewhere: Elsewhere<'_>) {
        let experiment = self.experiment;
        for (i, spec) in experiment.channels.iter().enumerate() {
            parts::open(&mut self.nodes, experiment, i, &self.promises[i]);
            let relays = u64::from(experiment.path.relays);
            let way = experiment.longest_way();
            let deadline = spec
                .deadline
                .map(|deadline| deadline.saturating_mul(relays + 1) + way.saturating_mul(relays));
            let at_receiver = deadline.zip(spec.deadline);
            let deadline_at_receiver = at_receiver.map(|(d, own)| d + own + way);
            let from_arrival = elsewhere.channels.contains(&i);
            let whole = if experiment.is_received(spec) { deadline_at_receiver } else { deadline };
            let enforced = experiment.host.subsystem.enforcement && !from_arrival;
            let contract = enforced.then_some(spec.spec);
            let host_is_here = self.nodes[spec.route[0]].host().is_some();
            let punctuality = whole.map(|whole| Punctuality::new(whole, contract));
            let punctuality = match host_is_here {
                true => punctuality,
                false => punctuality.map(Punctuality::told_later),
            };
            let meter =
                Meter { deadline, deadline_at_receiver, from_arrival, punctuality, ..Meter::default() };
            self.meters.push(meter);
            let sends = host_is_here && !from_arrival && self.is_established(i);
            let chance = || source_stream(experiment, i);
            self.sources.push(spec.source.source(chance()).filter(|_| sends));
            self.endless.push(spec.source.endless(chance()).filter(|_| sends));
        }
    }

    /// Whether a channel may send: one that admission refused does not exist, or nobody's bound would hold.
    fn is_established(&self, channel: usize) -> bool {
        !matches!(self.promises[channel], Promise::Refused(_))
    }

    /// Schedules what begins by itself; before the run.
    pub fn start(&mut self, calendar: &mut Calendar<Event>) {
        if let RunLength::Time { total, warmup, cooldown } = self.window.length {
            calendar.schedule(Time::ZERO + warmup, Event::Window);
            calendar.schedule(Time::ZERO + (total - cooldown), Event::Window);
        }
        for (number, fault) in self.experiment.faults.iter().enumerate() {
            calendar.schedule(Time::ZERO + fault.at, Event::Fault { number, begins: true });
            if let Some(length) = fault.length {
                calendar.schedule(Time::ZERO + fault.at + length, Event::Fault { number, begins: false });
            }
        }
        self.look_at_window(Time::ZERO);
        for channel in 0..self.sources.len() {
            self.schedule_arrival(channel, calendar);
            if let Some(endless) = self.endless[channel].take() {
                let sender = self.experiment.channels[channel].route[0];
                self.nodes[sender].send_without_end(Time::ZERO, ChannelId(channel as u32), endless);
            }
        }
        self.restless.extend(0..self.nodes.len());
        self.settle(Time::ZERO, calendar);
    }

    fn schedule_arrival(&mut self, channel: usize, calendar: &mut Calendar<Event>) {
        let Some(source) = &mut self.sources[channel] else { return };
        if let Some(arrival) = source.next_arrival() {
            calendar.schedule(arrival.at, Event::Arrival { channel, size: arrival.size });
        }
    }

    fn offer(&mut self, now: Time, channel: usize, size: Bytes) {
        let sender = self.experiment.channels[channel].route[0];
        self.meters[channel].offer(size);
        if let Some(punctuality) = &mut self.meters[channel].punctuality {
            punctuality.offer(now, self.window.counts());
        }
        self.nodes[sender].offer(now, ChannelId(channel as u32), size);
        self.restless.push(sender);
    }

    /// Lets `input` happen.
    fn take(&mut self, now: Time, input: Input) {
        match input {
            Input::Message { channel, size, handle } if self.is_established(channel) => {
                self.handles[channel].push_back(handle);
                self.offer(now, channel, size);
            }
            Input::Message { channel, handle, .. } => {
                self.outside.notice(now, Notice::Refused { channel, handle, cause: None });
            }
            Input::Command { node, command } => {
                self.nodes[node].command(now, command);
                self.restless.push(node);
            }
            Input::Reset { node } => {
                self.nodes[node].reset_adapter(now);
                self.restless.push(node);
            }
            Input::Stop => self.stopped = true,
        }
    }

    /// Passes on what nodes and the medium have put out, and asks them when they want to be called next.
    fn settle(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        while let Some(node) = self.restless.pop() {
            while let Some(output) = self.nodes[node].poll_output() {
                self.pass_on(node, now, &output, calendar);
            }
            if let Some(at) = self.asked[node].change(self.nodes[node].next_deadline()) {
                calendar.schedule(at, Event::Node { node, asked: self.asked[node].times });
            }
            while let Some(output) = self.medium.poll_output() {
                let station = output.station();
                self.nodes[station].medium(now, output.into());
                self.restless.push(station);
            }
        }
        if let Some(at) = self.medium_asked.change(self.medium.next_deadline()) {
            calendar.schedule(at, Event::Medium { asked: self.medium_asked.times });
        }
    }

    fn pass_on(&mut self, node: usize, now: Time, output: &NodeOutput, calendar: &mut Calendar<Event>) {
        match *output {
            NodeOutput::Departed(packet, more) => {
                if self.nodes[node].adapter().asks_for_medium() {
                    self.medium.sent(now, node, more);
                }
                self.depart(node, now, packet, calendar);
            }
            NodeOutput::Request => self.medium.request(now, node),
            NodeOutput::Withdraw => self.medium.withdraw(now, node),
            // It has left all the same, and is counted where it goes.
            NodeOutput::Failed(_, Loss::Unconfirmed) => {}
            NodeOutput::Failed(packet, _) => self.meters[packet.channel.0 as usize].fail(&packet),
            NodeOutput::Discarded(packet, _) => {
                self.meters[packet.channel.0 as usize].tally.lost_packets += 1;
            }
            NodeOutput::Passed(passage) => self.pass(node, &passage),
            NodeOutput::Host(Output::Answered { channel, size, answer }) => {
                self.answer(now, channel, size, answer);
            }
            NodeOutput::Host(Output::Delivered(ref delivery)) => {
                let meter = &mut self.meters[delivery.channel.0 as usize];
                meter.deliver(now, delivery, self.window.counts());
                let from = if meter.from_arrival { delivery.sent } else { delivery.due_from };
                if let Some(punctuality) = &mut meter.punctuality {
                    punctuality.arrive(now, delivery.message, from);
                }
                self.tell_delivered(now, delivery.channel, delivery.message);
            }
            NodeOutput::Host(Output::Busy(ref busy)) => self.observer.busy(node, busy),
            NodeOutput::Host(Output::Transmit(_) | Output::Proceed(_)) => {
                unreachable!("a node passes these to its adapter")
            }
            NodeOutput::Response(response, announced) => {
                if let Response::Failed(packet, _) = response {
                    self.meters[packet.channel.0 as usize].fail(&packet);
                }
                self.outside.notice(now, Notice::Response { node, response, announced });
            }
        }
    }

    fn answer(&mut self, now: Time, id: ChannelId, size: Bytes, answer: Sent) {
        let channel = id.0 as usize;
        if let Some(punctuality) = &mut self.meters[channel].punctuality {
            punctuality.answer(now, size, answer, self.window.counts());
        }
        let Some(handle) = self.handles[channel].pop_front() else {
            if self.experiment.channels[channel].source.is_endless() {
                self.meters[channel].offer(size);
            }
            return;
        };
        let notice = match answer {
            Sent::Accepted { message } | Sent::Excess { message } => {
                Notice::Taken { channel, handle, message }
            }
            Sent::Dropped(cause) => Notice::Refused { channel, handle, cause: Some(cause) },
            Sent::WouldBlock => unreachable!("a blocked send is not answered"),
        };
        self.outside.notice(now, notice);
    }

    fn tell_delivered(&mut self, now: Time, channel: ChannelId, message: u64) {
        if O::TELLS {
            self.outside.notice(now, Notice::Delivered { channel: channel.0 as usize, message });
        }
    }

    fn depart(&mut self, node: usize, now: Time, packet: Packet, calendar: &mut Calendar<Event>) {
        let waiting = self.nodes[node].host().map_or(0, |host| host.subsystem().link_queue().0);
        self.observer.departed(node, now, &packet, waiting);
        let route = &self.experiment.channels[packet.channel.0 as usize].route;
        let hop = route.iter().position(|station| *station == node).expect("a packet keeps to its route");
        let last_sender = route.len() - 1 - usize::from(self.experiment.path.receive && route.len() > 1);
        if let Some(&next) = route.get(hop + 1) {
            self.send_on(next, now, packet, calendar);
        }
        if hop != last_sender {
            return;
        }
        self.window.departed += 1;
        let counted = self.window.counts();
        let meter = &mut self.meters[packet.channel.0 as usize];
        let completes = meter.depart(now, &packet, counted);
        let received = self.experiment.path.receive && route.len() > 1;
        let from = if meter.from_arrival { packet.sent } else { packet.due_from };
        if let Some(punctuality) = meter.punctuality.as_mut().filter(|_| completes && !received) {
            punctuality.arrive(now, packet.message, from);
        }
        if completes && route.len() == 1 {
            self.tell_delivered(now, packet.channel, packet.message);
        }
        self.look_at_window(now);
    }

    fn send_on(&mut self, node: usize, now: Time, packet: Packet, calendar: &mut Calendar<Event>) {
        let propagation = self.experiment.path.propagation;
        let Some(impairments) = &mut self.impairments else {
            calendar.schedule(now + propagation, Event::Reach { node, packet });
            return;
        };
        let mut arrives = false;
        // A damaged frame has a wrong checksum, and the receiving adapter drops it without a word.
        for delivery in impairments.pass(now).filter(|delivery| !delivery.corrupted) {
            arrives = true;
            calendar.schedule(delivery.at + propagation, Event::Reach { node, packet });
        }
        if !arrives {
            self.meters[packet.channel.0 as usize].tally.lost_packets += 1;
        }
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
            self.outside.notice(now, Notice::Window { opens: true });
        }
        if closes && self.window.closed.is_none() {
            self.window.closed = Some(self.snapshot(now));
            self.outside.notice(now, Notice::Window { opens: false });
        }
    }

    fn snapshot(&self, at: Time) -> Snapshot {
        let uses = self.nodes.iter().map(|node| node.host().map_or(Uses::default(), |host| *host.uses()));
        let stages = self.nodes.iter().map(|node| {
            node.adapter().stages().into_iter().map(|stage| (stage.busy, stage.passed)).collect()
        });
        Snapshot {
            at,
            uses: uses.collect(),
            stages: stages.collect(),
            tallies: (0..self.meters.len()).map(|channel| self.tally(channel)).collect(),
        }
    }

    /// What has come of a channel so far, as far as hosts are here.
    pub fn tally(&self, channel: usize) -> Tally {
        let hosts = self.nodes.iter().filter_map(|node| node.host());
        let counters = hosts.map(|host| host.subsystem().counters(ChannelId(channel as u32)));
        counters.fold(self.meters[channel].tally.clone(), Tally::with)
    }

    fn fault(&mut self, now: Time, number: usize, begins: bool) {
        let spec = self.experiment.faults[number];
        match spec.fault {
            Fault::LostInterrupts(share) => {
                let chance = Seed::new(self.experiment.seed).stream(&format!("fault {number}"));
                self.nodes[spec.node].lose_interrupts(begins.then_some((share, chance)));
            }
            Fault::Breakdown(breakdown) => self.nodes[spec.node].break_down(now, breakdown, begins),
        }
        self.restless.push(spec.node);
    }
}

impl<T: Trace, O: Outside> World for Assembly<'_, '_, T, O> {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, calendar: &mut Calendar<Event>) {
        match event {
            Event::Arrival { channel, size } => {
                self.schedule_arrival(channel, calendar);
                self.offer(now, channel, size);
            }
            Event::Node { node, asked } if self.asked[node].times == asked => {
                self.asked[node].at = None;
                self.nodes[node].timer(now);
                self.restless.push(node);
            }
            Event::Medium { asked } if self.medium_asked.times == asked => {
                self.medium_asked.at = None;
                self.medium.timer(now);
                // Whoever it is, the medium says so; any node will do to have it asked.
                self.restless.push(0);
            }
            Event::Node { .. } | Event::Medium { .. } => return,
            Event::Reach { node, mut packet } => {
                // The way takes its time, so what is on time here is later by that.
                packet.tag.deadline = packet.tag.deadline.saturating_add(self.experiment.longest_way());
                self.nodes[node].receive(now, packet);
                self.restless.push(node);
            }
            Event::Input(input) => self.take(now, input),
            Event::Fault { number, begins } => self.fault(now, number, begins),
            Event::Window => return self.look_at_window(now),
        }
        self.settle(now, calendar);
    }

    fn poll_inputs(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        while let Some(input) = self.outside.next_input(now) {
            if input == Input::Stop {
                self.stopped = true;
                continue;
            }
            let at = self.outside.read_at(now).max(calendar.now());
            // What is to happen before it happens first.
            let is_next =
                calendar.next_time().is_none_or(|due| at < due) && at <= limits(self.window.length).until;
            if is_next {
                calendar.advance(at);
                self.take(at, input);
                self.settle(at, calendar);
            } else {
                calendar.schedule(at, Event::Input(input));
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.stopped
            || matches!(self.window.length, RunLength::Packets { total, .. } if self.window.departed >= total)
    }
}
