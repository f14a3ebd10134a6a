//! An experiment assembled and run: nodes at a network, sources at one end, meters at the other.
//!
//! The same assembly runs under every clock. Under virtual time it is a simulation; under a real
//! one, and with an [`Outside`], it is the emulated device: the thesis's END.

mod ahead;
mod alike;
mod buses;
mod computed;
mod legs;
mod live;
pub(crate) mod managed;
mod measured;
mod meters;
mod multicast;
mod networks;
mod observer;
mod opening;
mod outcome;
mod outside;
mod parts;
pub mod receiving;
mod rounds;
mod state;
mod surroundings;
mod switches;
mod terminals;
mod turns;
pub(crate) mod via;
mod window;

use std::collections::VecDeque;

use laxity_admission::Formula;
use laxity_engine::trace::{NoTrace, TraceSink};
use laxity_engine::{Asked, Calendar, World};
use laxity_model::host::Endless;
use laxity_model::node::HostNode;
use laxity_model::source::Source;
use laxity_qos::channel::{ChannelId, Label, Slots};
use laxity_units::{Bytes, Time};

pub use crate::measure::Said;
use alike::Templates;
pub(crate) use buses::{COPIES, user as user_of_bus};
use legs::Legs;
pub use live::{Live, LiveChannel};
pub(crate) use measured::Measured;
use multicast::Copies;
use networks::Networks;
use observer::Observer;
pub use observer::{Along, Departed};
pub use outcome::{HostReport, HostTally};
pub use outside::{Input, Nothing, Notice, Outside};
pub(crate) use parts::resource_names;
pub use parts::{channel_config, groups};
use rounds::Rounds;
pub use state::AssemblyEvent;
use state::{Sending, Snapshot};
use surroundings::Surroundings;
use switches::Switches;
use terminals::Terminals;
use window::Window;
pub use window::limits;

use crate::coverage::notices;
use crate::experiment::{Chance, Experiment, KindOfFault, Laps, Placement, RunLength};
use crate::measure::{StageMeter, Tally, of_computing};
use crate::promise::{self, Promise};

/// Takes every packet that leaves a station: which of them, when, and the packet's bytes, header
/// first.
pub type FrameSink<'a> = dyn FnMut(Departed<'_>) + 'a;

/// The part of an experiment that the outside provides.
#[derive(Debug, Clone, Copy, Default)]
pub struct Elsewhere<'a> {
    /// Nodes with hosts outside.
    pub hosts: &'a [usize],
    /// Channels that the outside sends on, in place of their sources.
    pub channels: &'a [usize],
}

/// A message that a source sends next.
#[derive(Debug, Clone, Copy)]
struct Coming {
    size: Bytes,
    /// That host's station.
    station: u32,
    /// Where the host that sends it keeps its channel.
    label: Label,
}

/// An experiment assembled: what the engine runs.
pub struct Assembly<'a, 'f, T: TraceSink, O: Outside> {
    experiment: &'a Experiment,
    nodes: Vec<HostNode>,
    switches: Switches,
    /// Nodes that receive at interfaces.
    terminals: Terminals,
    /// When each station is to be called.
    asked: Vec<Asked>,
    /// When each medium is to be called.
    media_asked: Vec<Asked>,
    sources: Vec<Option<Source>>,
    /// Per channel: what its source sends next.
    coming: Vec<Coming>,
    /// Per channel: what its application sends without end, until the run starts.
    endless: Vec<Option<Endless>>,
    around: Surroundings<'a, 'f, T, O>,
    promises: Vec<Promise>,
    papers: Vec<Promise>,
    /// Inputs from outside that have not been applied.
    inputs: VecDeque<Input>,
    stopped: bool,
    /// Nodes that are to be asked when they want to be called; empty between events.
    restless: Vec<usize>,
}

impl<'a, O: Outside> Assembly<'a, 'static, NoTrace, O> {
    /// The assembly of `experiment` for a run of `length`, with an outside that has the parts that
    /// are `elsewhere`.
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

impl<'a, 'f, T: TraceSink, O: Outside> Assembly<'a, 'f, T, O> {
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
        let (placement, laps) = (Placement::new(experiment), Laps::new(experiment));
        let mut alike = Templates::default();
        let mut nodes: Vec<HostNode> = (0..experiment.nodes.len())
            .map(|node| {
                let host_is_here = !elsewhere.hosts.contains(&node);
                parts::node(experiment, (&placement, &laps), node, host_is_here, &mut alike)
            })
            .collect();
        let groups = groups(experiment);
        nodes.iter_mut().for_each(|node| node.group(&groups));
        let networks = Networks::new(experiment, &mut nodes);
        for (node, link) in experiment.feeders_of_cut_through().union(&experiment.feeders_ahead()).copied() {
            nodes[node].announce_packets(link);
        }
        observer.watch(&mut nodes, experiment, &placement);
        let stages = nodes.iter().map(|node| node.adapters().map(StageMeter::of).collect());
        let notices = notices(experiment);
        let around = Surroundings {
            experiment,
            legs: Legs::new(experiment, &laps, &promises, &notices),
            laps,
            copies: Copies::new(experiment),
            rounds: Rounds::default(),
            networks,
            flying: Slots::default(),
            meters: Vec::new(),
            stages: stages.collect(),
            computing: of_computing(experiment),
            window: Window::of(length),
            unasked: false,
            observer,
            outside,
            handles: Vec::new(),
        };
        let mut assembly = Self {
            experiment,
            asked: vec![Asked::default(); experiment.stations()],
            switches: Switches::new(experiment, &around.laps, &promises),
            terminals: Terminals::new(experiment, &promises),
            nodes,
            media_asked: vec![Asked::default(); experiment.networks.len()],
            sources: Vec::new(),
            coming: experiment
                .channels
                .iter()
                .map(|channel| Coming {
                    size: Bytes::ZERO,
                    station: channel.route[0] as u32,
                    label: Label::NONE,
                })
                .collect(),
            endless: Vec::new(),
            around,
            promises,
            papers,
            inputs: VecDeque::new(),
            stopped: false,
            restless: Vec::new(),
        };
        assembly.open_channels(&placement, &notices, elsewhere);
        assembly.ask_for_labels();
        assembly
    }

    /// Packets that have left the system.
    pub(super) fn through(&self) -> u64 {
        self.around.window.through
    }

    /// Whether a channel may send: a channel that admission refused would break the bounds of the
    /// others.
    fn is_established(&self, channel: usize) -> bool {
        !self.promises[channel].is_refused()
    }

    /// Schedules what begins by itself; before the run.
    pub fn start(&mut self, calendar: &mut Calendar<AssemblyEvent>) {
        for edge in self.around.window.edges() {
            calendar.schedule(edge, AssemblyEvent::Window);
        }
        for (number, fault) in self.experiment.faults.iter().enumerate() {
            self.schedule_fault(Time::ZERO + fault.at, number, calendar);
        }
        self.look_at_window(Time::ZERO);
        self.around.rounds.start();
        self.schedule_rounds(calendar);
        for channel in 0..self.sources.len() {
            self.schedule_arrival(channel, calendar);
            if let Some(endless) = self.endless[channel].take() {
                let sender = self.experiment.channels[channel].route[0];
                let (now, id) = (Time::ZERO, ChannelId(channel as u32));
                let node = &mut self.nodes[sender];
                node.send_without_end(now, id, endless, &mut self.around.of(sender, now, calendar));
                self.look_after(sender, now);
            }
        }
        self.settle(Time::ZERO, calendar);
        self.restless.clear();
        (0..self.experiment.stations()).rev().for_each(|station| self.ask(station, calendar));
    }

    fn schedule_arrival(&mut self, channel: usize, calendar: &mut Calendar<AssemblyEvent>) {
        let Some(source) = &mut self.sources[channel] else { return self.schedule_answer(channel, calendar) };
        if let Some(arrival) = source.next_arrival() {
            self.schedule_message(channel, (arrival.at, arrival.size), calendar);
        }
    }

    fn schedule_answer(&mut self, channel: usize, calendar: &mut Calendar<AssemblyEvent>) {
        if let Some(message) = self.around.rounds.next(channel) {
            self.schedule_message(channel, message, calendar);
        }
    }

    /// Schedules the first messages of rounds that have begun.
    #[inline]
    fn schedule_rounds(&mut self, calendar: &mut Calendar<AssemblyEvent>) {
        while let Some(channel) = self.around.rounds.poll_begun() {
            self.schedule_answer(channel, calendar);
        }
    }

    fn schedule_message(
        &mut self,
        channel: usize,
        (at, size): (Time, Bytes),
        calendar: &mut Calendar<AssemblyEvent>,
    ) {
        self.coming[channel].size = size;
        calendar.schedule(at, AssemblyEvent::Arrival(Sending::new(channel, self.coming[channel].station)));
    }

    fn offer(&mut self, now: Time, channel: usize, size: Bytes, calendar: &mut Calendar<AssemblyEvent>) {
        let sender = self.coming[channel].station as usize;
        self.around.offered(now, channel, size);
        let id = ChannelId(channel as u32);
        self.nodes[sender].offer(now, id, size, &mut self.around.of(sender, now, calendar));
        self.acted(sender, now, calendar);
    }

    /// Lets `input` happen.
    fn take(&mut self, now: Time, input: &Input, calendar: &mut Calendar<AssemblyEvent>) {
        match *input {
            Input::Message { channel, size, handle } if self.is_established(channel) => {
                let channels = self.experiment.channels.len();
                self.around.handles.resize_with(channels, VecDeque::new);
                self.around.handles[channel].push_back(handle);
                self.offer(now, channel, size, calendar);
            }
            Input::Message { channel, handle, .. } => {
                self.around.outside.notice(now, Notice::Refused { channel, handle, cause: None });
            }
            Input::Command { node, ref command } => {
                self.nodes[node].command(now, command, &mut self.around.of(node, now, calendar));
                self.acted(node, now, calendar);
            }
            Input::Reset { node } => {
                self.nodes[node].reset_adapter(now, &mut self.around.of(node, now, calendar));
                self.acted(node, now, calendar);
            }
            Input::Stop => self.stopped = true,
        }
    }

    fn look_at_window(&mut self, now: Time) {
        self.around.look_at_window(now);
        if self.around.unasked {
            self.around.ask((&self.nodes, &self.switches, &self.terminals));
        }
    }

    fn snapshot(&self, at: Time) -> Snapshot {
        let numbers = (&self.around.laps, &self.around.copies);
        Snapshot::of_meters(at, &self.around.meters).with(
            self.experiment,
            (&self.nodes, &self.switches, &self.terminals),
            numbers,
        )
    }

    /// The counts of a channel so far, as far as its hosts are here.
    pub fn tally(&self, channel: usize) -> Tally {
        self.snapshot(Time::ZERO).tallies.swap_remove(channel)
    }

    /// A fault begins at `at`, and ends if it does.
    fn schedule_fault(&self, at: Time, number: usize, calendar: &mut Calendar<AssemblyEvent>) {
        calendar.schedule(at, AssemblyEvent::Breaks(number as u64));
        if let Some(length) = self.experiment.faults[number].length {
            calendar.schedule(at.saturating_add(length), AssemblyEvent::Heals(number as u64));
        }
    }

    fn fault(&mut self, now: Time, number: usize, begins: bool, calendar: &mut Calendar<AssemblyEvent>) {
        let spec = self.experiment.faults[number];
        if let Some(every) = spec.every.filter(|_| begins) {
            self.schedule_fault(now.saturating_add(every), number, calendar);
        }
        let node = &mut self.nodes[spec.node];
        match spec.fault {
            KindOfFault::LostInterrupts(share) => {
                let chance = self.experiment.chance(Chance::Fault(number));
                node.lose_interrupts(spec.link, begins.then_some((share, chance)));
            }
            KindOfFault::Breakdown(breakdown) => {
                let tell = &mut self.around.of(spec.node, now, calendar);
                node.break_down_at(now, spec.link, breakdown, begins, tell);
            }
        }
        self.acted(spec.node, now, calendar);
    }
}

impl<T: TraceSink, O: Outside> World for Assembly<'_, '_, T, O> {
    type Event = AssemblyEvent;

    fn handle(&mut self, now: Time, event: AssemblyEvent, calendar: &mut Calendar<AssemblyEvent>) {
        match event {
            AssemblyEvent::Arrival(sending) => {
                let channel = sending.channel();
                let size = self.coming[channel].size;
                self.schedule_arrival(channel, calendar);
                self.offer(now, channel, size, calendar);
            }
            AssemblyEvent::Node(call) => {
                let node = call.who();
                if !self.asked[node].comes(call.asked()) {
                    return;
                }
                self.call(now, node, calendar);
                self.acted(node, now, calendar);
            }
            AssemblyEvent::Medium(call) => {
                if self.media_asked[call.who()].comes(call.asked()) {
                    self.around.networks.timer(now, call.who());
                    self.granted(now, calendar);
                }
            }
            AssemblyEvent::Reach(arriving) => {
                let (node, link) = (arriving.node(), arriving.link());
                match self.switches.has(node) {
                    false if self.terminals.at(node).is_some() => {
                        self.arrive(now, node, arriving.frame());
                    }
                    false => {
                        // It is copied from the way into the node, and nowhere in between.
                        let packet = self.around.flying.free(arriving.frame());
                        let frame = self.nodes[node].take_in(packet);
                        let tell = &mut self.around.of(node, now, calendar);
                        self.nodes[node].receive_taken_in(now, link, frame, tell);
                    }
                    true => {
                        let (frame, around) = (arriving.frame(), &mut self.around);
                        self.switches.receive(now, node, frame, &mut around.of_port(node, now, calendar));
                        self.look_at_port(node, now);
                    }
                }
                self.acted(node, now, calendar);
            }
            AssemblyEvent::Input => {
                let input = self.inputs.pop_front().expect("an input for each of its events");
                self.take(now, &input, calendar);
            }
            AssemblyEvent::Breaks(number) => self.fault(now, number as usize, true, calendar),
            AssemblyEvent::Heals(number) => self.fault(now, number as usize, false, calendar),
            AssemblyEvent::Window => self.look_at_window(now),
        }
    }

    fn ahead<'e>(&self, events: impl Iterator<Item = &'e AssemblyEvent> + Clone) {
        self.fetch_ahead(events);
    }

    fn poll_inputs(&mut self, now: Time, calendar: &mut Calendar<AssemblyEvent>) {
        while let Some(input) = self.around.outside.next_input(now) {
            if input == Input::Stop {
                self.stopped = true;
                continue;
            }
            let at = self.around.outside.read_at(now).max(calendar.now());
            // Earlier events are handled first.
            let is_next = calendar.next_time().is_none_or(|due| at < due)
                && at <= limits(self.around.window.length).until;
            if is_next {
                calendar.advance(at);
                self.take(at, &input, calendar);
            } else {
                self.inputs.push_back(input);
                calendar.schedule(at, AssemblyEvent::Input);
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.stopped || self.around.window.is_over()
    }
}
