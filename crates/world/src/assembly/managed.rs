//! Nodes that establish, change and close channels while traffic runs, with their programs, clocks
//! and links.
//!
//! The nodes are those of a daemon ([`laxity_node`]). This module has what is around them: programs
//! that ask and send by the scenario, links that take time and impair frames, clocks, and what
//! fails. The run judges every accepted message by the bound of its contract, and the rules of the
//! [`rules`] module.

mod answers;
mod calls;
mod clocks;
mod faults;
mod links;
mod messages;
mod outcome;
mod routes;
mod rules;
mod stations;
mod traced;

use std::collections::{BTreeMap, BTreeSet};

use laxity_clock::{Quality, Responder};
use laxity_engine::trace::TraceSink;
use laxity_engine::{Calendar, Stream, World};
use laxity_model::source::Source;
use laxity_node::Command;
use laxity_signalling::identity::{GlobalChannelId, NodeId, Port, Program};
use laxity_signalling::settings::Settings;
use laxity_units::{Bytes, Span, Time};

use super::live::{Live, LiveChannel};
use super::measured::Measured;
use super::window::Window;
use super::{Along, Departed, FrameSink};
use crate::experiment::{AskedTimes, Chance, Experiment, RunLength, SignallingSpec, SourceSpec};
use crate::measure::{Meter, Samples, Tally};
use crate::results::Run;
use calls::{Asks, Call, Closest};
use links::{Busy, Directed};
use stations::Station;
use traced::Traced;

/// The program of each node.
const PROGRAM: Program = Program(1);
/// The queue of channels at each node.
const CHANNELS: Port = Port(1);
/// The queue of the first best-effort channel; each has its own.
const BEST_EFFORT: u32 = 1000;
/// Datagrams that may wait for a link.
const DATAGRAMS: usize = 256;
/// Datagrams that a source without end has waiting at its node.
const FLOOD: u32 = 8;
/// The answers of a run that are listed, at most.
const ANSWERS: usize = 1000;
/// Kinds of frames on a link.
pub(crate) const KINDS: [&str; 3] = ["signalling", "channels", "best_effort"];
/// Parts of the window by which the interval of a blocking probability is found.
const PARTS: usize = 20;

/// Takes the frames of all links.
pub(crate) type Captured<'a> = Box<FrameSink<'a>>;

/// The network of `experiment` for a run of `length`, of which `trace` records what happens, and
/// `captured` the frames.
pub(crate) fn of<'a>(
    experiment: &'a Experiment,
    spec: &'a SignallingSpec,
    length: RunLength,
    trace: Option<&'a mut dyn TraceSink>,
    captured: Option<Captured<'a>>,
) -> Managed<'a> {
    let managed = Managed::new(experiment, spec, length);
    let traced = trace.map(|trace| Traced::new(experiment, &managed.links, trace));
    Managed { traced, captured, ..managed }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// A frame reaches the end of a link.
    Arrive {
        link: u32,
        frame: u32,
    },
    /// A link has transmitted a frame of a life of its node.
    Transmitted {
        link: u32,
        life: u32,
    },
    /// A node asked to be called; stale if it has asked anew since.
    Wake {
        node: u32,
    },
    /// An outage begins, or is over.
    Outage {
        number: u32,
        begins: bool,
    },
    /// A step of a clock.
    Step {
        node: u32,
        step: u32,
    },
    /// A program asks for a channel.
    Ask {
        channel: u32,
    },
    /// A program asks for another contract.
    Change {
        channel: u32,
        number: u32,
    },
    /// A program closes a call, or the channel.
    Close {
        call: u64,
    },
    CloseChannel {
        channel: u32,
    },
    /// The source of a call has a message.
    Send {
        call: u64,
    },
    /// Best effort has a datagram.
    Offer {
        channel: u32,
    },
    /// A node asked to be called for its synchronisation; stale if it has asked anew since.
    Synchronise {
        node: u32,
    },
    /// Programs renew their leases.
    Renew,
    /// The window opens or closes.
    Window,
}

/// How things stood at an edge of the window.
#[derive(Debug, Clone)]
struct Snapshot {
    at: Time,
    tallies: Vec<Tally>,
    asks: Vec<Asks>,
    busy: Vec<Busy>,
}

/// The counts of a channel.
#[derive(Debug, Default)]
struct Counted {
    meter: Meter,
    asks: Asks,
    /// Times of establishment, of requests in the window.
    establishment: Samples,
    /// The longest time to an answer of a request that no fault touched.
    slowest: Option<Span>,
    /// Requests and refusals by the part of the window in which they were asked.
    parts: [(u64, u64); PARTS],
    /// The worst delay beside the bound on it, of the contract that came closest to its bound.
    closest: Closest,
    /// Messages that were due, and those in time.
    due: (u64, u64),
    /// The refusal of a channel that is asked for once.
    refused: Option<crate::results::RefusedChannel>,
    /// The routes over which it was asked for.
    routes: BTreeSet<Vec<usize>>,
}

/// The traffic of a best-effort channel.
#[derive(Debug, Default)]
struct BestEffort {
    source: Option<Source>,
    /// The size of the next datagram of a source with times of its own.
    size: Bytes,
    /// Datagrams that wait at their node, of sources without end.
    outstanding: u32,
}

/// Nodes, links, programs and what is counted.
pub(crate) struct Managed<'a> {
    experiment: &'a Experiment,
    spec: &'a SignallingSpec,
    settings: Settings,
    quality: Quality,
    now: Time,
    stations: Vec<Station>,
    links: Vec<Directed>,
    /// The links that leave each node.
    out: Vec<Vec<usize>>,
    /// Frames on links, and free places among them.
    frames: Vec<Vec<u8>>,
    free: Vec<u32>,
    calls: BTreeMap<u64, Call>,
    ids: BTreeMap<GlobalChannelId, u64>,
    /// Calls so far.
    asked: u64,
    best: Vec<BestEffort>,
    counted: Vec<Counted>,
    /// Random sizes, and requests with their holding times.
    random: Vec<Stream>,
    requests: Vec<Stream>,
    window: Window<Snapshot>,
    answers: Vec<crate::results::NodeAnswer>,
    broken: BTreeMap<&'static str, u64>,
    /// When the last channel ended, or a fault was over.
    quiet: Time,
    traced: Option<Traced<'a>>,
    captured: Option<Captured<'a>>,
    /// The reference of synchronised clocks.
    responder: Option<Responder<NodeId>>,
}

impl<'a> Managed<'a> {
    fn new(experiment: &'a Experiment, spec: &'a SignallingSpec, length: RunLength) -> Self {
        let channels = 0..experiment.channels.len();
        let links = links::of(experiment, spec);
        let nodes = 0..experiment.nodes.len();
        let of = |node| (0..links.len()).filter(|link| links[*link].from == node).collect();
        let meter = |i: usize| Meter {
            deadline: experiment.channels[i].deadline,
            received: true,
            ..Meter::default()
        };
        Self {
            settings: spec.settings(experiment),
            quality: spec.quality(),
            now: Time::ZERO,
            stations: nodes.clone().map(|node| Station::new(&spec.clocks[node])).collect(),
            out: nodes.map(of).collect(),
            links,
            frames: Vec::new(),
            free: Vec::new(),
            calls: BTreeMap::new(),
            ids: BTreeMap::new(),
            asked: 0,
            best: channels.clone().map(|_| BestEffort::default()).collect(),
            counted: channels.clone().map(|i| Counted { meter: meter(i), ..Counted::default() }).collect(),
            random: channels.clone().map(|i| experiment.chance(Chance::Source(i))).collect(),
            requests: channels.map(|i| experiment.chance(Chance::Requests(i))).collect(),
            window: Window::of(length),
            answers: Vec::new(),
            broken: BTreeMap::new(),
            quiet: Time::ZERO,
            traced: None,
            captured: None,
            responder: Self::responder(spec),
            experiment,
            spec,
        }
    }

    /// The time that the clock of a node shows now.
    fn shown(&self, node: usize) -> Time {
        self.stations[node].clock.shown(self.now)
    }

    /// Whether a node is up and its programs are alive.
    fn has_program(&self, node: usize) -> bool {
        self.stations[node].node.is_some() && self.stations[node].programs
    }

    fn look_at_window(&mut self, now: Time) {
        let Self { window, counted, links, .. } = self;
        window.look(now, |_| Snapshot {
            at: now,
            tallies: counted.iter().map(|channel| channel.meter.tally.clone()).collect(),
            asks: counted.iter().map(|channel| channel.asks.clone()).collect(),
            busy: links.iter().map(|link| link.busy).collect(),
        });
    }

    /// Programs renew their leases, several times a lease.
    fn renew(&mut self, calendar: &mut Calendar<Event>) {
        for node in 0..self.stations.len() {
            if self.has_program(node) {
                self.command(node, Command::Renew, calendar).expect("a renewal is never refused");
            }
        }
        calendar.schedule_after(self.settings.program_lease / 4, Event::Renew);
    }
}

impl World for Managed<'_> {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, calendar: &mut Calendar<Event>) {
        self.now = now;
        match event {
            Event::Arrive { link, frame } => self.arrive(link as usize, frame, calendar),
            Event::Transmitted { link, life } => self.transmitted(link as usize, life, calendar),
            Event::Wake { node } => self.wake(node as usize, calendar),
            Event::Outage { number, begins } => self.outage(number as usize, begins, calendar),
            Event::Step { node, step } => self.step(node as usize, step as usize, calendar),
            Event::Ask { channel } => self.ask(channel as usize, calendar),
            Event::Change { channel, number } => self.change(channel as usize, number as usize, calendar),
            Event::Close { call } => self.close(call, calendar),
            Event::CloseChannel { channel } => self.close_channel(channel as usize, calendar),
            Event::Send { call } => self.send(call, calendar),
            Event::Offer { channel } => self.offer(channel as usize, calendar),
            Event::Synchronise { node } => self.wake_synchronisation(node as usize, calendar),
            Event::Renew => self.renew(calendar),
            Event::Window => self.look_at_window(now),
        }
    }
}

impl Measured for Managed<'_> {
    fn start(&mut self, calendar: &mut Calendar<Event>) {
        for edge in self.window.edges() {
            calendar.schedule(edge, Event::Window);
        }
        self.look_at_window(Time::ZERO);
        for (number, outage) in (0..).zip(&self.spec.outages) {
            calendar.schedule(Time::ZERO + outage.at, Event::Outage { number, begins: true });
            if let Some(length) = outage.length {
                let over = Time::ZERO.saturating_add(outage.at).saturating_add(length);
                calendar.schedule(over, Event::Outage { number, begins: false });
            }
        }
        for (node, clock) in (0..).zip(&self.spec.clocks) {
            for (step, (at, _)) in (0..).zip(&clock.steps) {
                calendar.schedule(Time::ZERO + *at, Event::Step { node, step });
            }
        }
        for node in 0..self.stations.len() {
            self.restart(node, calendar);
        }
        self.renew(calendar);
        let experiment = self.experiment;
        for (number, spec) in experiment.channels.iter().enumerate() {
            let channel = number as u32;
            match (&spec.asked, spec.deadline) {
                (_, None) => self.begin_best_effort(number, calendar),
                (AskedTimes::Once { at, until, changes }, Some(_)) => {
                    calendar.schedule(Time::ZERO + *at, Event::Ask { channel });
                    for (number, (at, _)) in (0..).zip(changes) {
                        calendar.schedule(Time::ZERO + *at, Event::Change { channel, number });
                    }
                    if let Some(until) = until {
                        calendar.schedule(Time::ZERO + *until, Event::CloseChannel { channel });
                    }
                }
                (AskedTimes::Calls { every, .. }, Some(_)) => {
                    let first = self.requests[number].exponential(*every);
                    calendar.schedule(Time::ZERO + first, Event::Ask { channel });
                }
            }
        }
    }

    fn through(&self) -> u64 {
        self.window.through
    }

    fn live(&self, now: Time) -> Live {
        let waiting = |link: &Directed| {
            let node = self.stations[link.from].node.as_ref();
            let waiting = node.map_or(0, |node| node.waiting(NodeId(link.to as u32)));
            (link.name(self.experiment), waiting)
        };
        let channels = self.counted.iter().map(|channel| LiveChannel {
            worst: channel.meter.delivery_worst.map(Span::as_secs_f64),
            ..LiveChannel::of(&channel.meter)
        });
        Live { now, channels: channels.collect(), stages: self.links.iter().map(waiting).collect() }
    }

    fn into_run(self, end: Time) -> Run {
        self.closed(end)
    }
}

pub(crate) use stations::impossible;

/// The names of the links, each in both directions.
pub(crate) fn resource_names(experiment: &Experiment, spec: &SignallingSpec) -> Vec<String> {
    links::of(experiment, spec).iter().map(|link| link.name(experiment)).collect()
}

/// Deliberate faults of the nodes of this thread, for tests of the rules.
#[cfg(feature = "faults")]
pub mod broken {
    use std::cell::Cell;

    pub use laxity_node::faults::NodeFault;

    thread_local! {
        /// The fault of all nodes of the runs that follow.
        pub static FAULT: Cell<Option<NodeFault>> = const { Cell::new(None) };
    }
}
