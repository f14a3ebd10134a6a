//! Nodes with their clocks: inputs, restarts, and what follows each input.

use laxity_clock::NodeClock;
use laxity_node::{Failure, Node, NodeConfig, NotANode, Response};
use laxity_signalling::identity::Epoch;

use super::clocks::{Errors, Synchronised};
use super::*;
use crate::experiment::ClockSpec;

/// Places of the queue of a program for messages of channels.
const PLACES: u64 = 1 << 20;

/// A node and its clock.
pub(super) struct Station {
    /// `None` while the node is down.
    pub(super) node: Option<Node>,
    /// How many times the node has started.
    pub(super) life: u32,
    /// When the node is woken next.
    wake: Time,
    pub(super) clock: NodeClock,
    /// Until when a step of the clock shows in what leaves the node.
    pub(super) unsettled: Time,
    /// Whether its programs are alive.
    pub(super) programs: bool,
    /// The number of outages of the node now.
    pub(super) down: u32,
    /// The synchronisation of its clock, in this life.
    pub(super) synchronised: Option<Synchronised>,
    /// The errors of the synchronised clock, in all lives.
    pub(super) errors: Errors,
}

impl Station {
    pub(super) fn new(clock: &ClockSpec) -> Self {
        let clock = clock.clock().expect("clocks are checked when they are read");
        Self {
            node: None,
            life: 0,
            wake: Time::MAX,
            clock,
            unsettled: Time::ZERO,
            programs: true,
            down: 0,
            synchronised: None,
            errors: Errors::default(),
        }
    }
}

impl Managed<'_> {
    /// A node that holds no channel, in its life of that number.
    pub(super) fn fresh(&self, node: usize, life: u32) -> Node {
        let mut random = self.experiment.chance(Chance::Jitter(node, life));
        let config = config(self.experiment, self.spec, &self.links, (node, life));
        build(config, Box::new(move || random.next_u64())).expect("nodes are checked when they are read")
    }

    /// Starts a node.
    pub(super) fn restart(&mut self, node: usize, calendar: &mut Calendar<Event>) {
        if self.out[node].is_empty() {
            return;
        }
        let life = self.stations[node].life + 1;
        let fresh = self.fresh(node, life);
        let station = &mut self.stations[node];
        (station.life, station.node, station.wake) = (life, Some(fresh), Time::MAX);
        if station.programs {
            let best = (0..)
                .zip(&self.experiment.channels)
                .filter(|(_, channel)| channel.deadline.is_none() && channel.route.last() == Some(&node));
            let ports: Vec<Port> = best.map(|(channel, _): (u32, _)| Port(BEST_EFFORT + channel)).collect();
            for port in std::iter::once(CHANNELS).chain(ports) {
                self.command(node, Command::Listen(port), calendar).expect("a new node has queues");
            }
        }
        self.begin_again(node, calendar);
        self.synchronise(node, calendar);
    }

    /// Executes a command of the program of `node`, which is up.
    pub(super) fn command(
        &mut self,
        node: usize,
        command: Command,
        calendar: &mut Calendar<Event>,
    ) -> Result<Response, Failure> {
        let shown = self.shown(node);
        let up = self.stations[node].node.as_mut().expect("only a node that is up has programs");
        let response = up.command(shown, PROGRAM, command);
        self.pump(node, calendar);
        response
    }

    /// A node is called at the time that it asked for.
    pub(super) fn wake(&mut self, node: usize, calendar: &mut Calendar<Event>) {
        let shown = self.shown(node);
        let station = &mut self.stations[node];
        if station.wake != self.now {
            return;
        }
        station.wake = Time::MAX;
        if let Some(awake) = &mut station.node {
            awake.handle_timeout(shown);
            self.pump(node, calendar);
        }
    }

    /// After an input of a node: frames leave, programs take answers and messages, and the node says
    /// when it is called next.
    pub(super) fn pump(&mut self, node: usize, calendar: &mut Calendar<Event>) {
        self.take_clocks(node, calendar);
        let shown = self.shown(node);
        for link in 0..self.out[node].len() {
            self.transmit(self.out[node][link], calendar);
        }
        while let Some(answer) = self.stations[node].node.as_mut().and_then(Node::poll_answer) {
            self.answer(answer.event, calendar);
        }
        if self.stations[node].programs {
            self.receive(node, shown);
        }
        let Some(up) = &mut self.stations[node].node else { return };
        let Some(due) = up.poll_timeout(shown) else { return };
        let station = &mut self.stations[node];
        let next = self.now.saturating_add(Span::from_ps(1));
        let at = station.clock.first_at(due, next).unwrap_or(Time::MAX);
        if at != station.wake && at < Time::MAX {
            station.wake = at;
            calendar.schedule(at, Event::Wake { node: node as u32 });
        }
    }
}

/// The description of a node in its life of that number.
fn config(
    experiment: &Experiment,
    spec: &SignallingSpec,
    links: &[Directed],
    (node, life): (usize, u32),
) -> NodeConfig {
    let leaving = links.iter().filter(|link| link.from == node);
    // The neighbour for datagrams to each destination.
    let hop = |route: &[usize]| {
        let at = route.iter().position(|station| *station == node)?;
        let next = route.get(at + 1)?;
        Some((NodeId(*route.last()? as u32), NodeId(*next as u32)))
    };
    let best_effort = experiment.channels.iter().filter(|channel| channel.deadline.is_none());
    let mut routes: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    if spec.synchronise.is_some() {
        // Requests and answers pass any node.
        let id = |node: usize| NodeId(node as u32);
        let topology = routes::described(spec);
        for to in (0..experiment.nodes.len()).filter(|to| *to != node).map(id) {
            if let Some(next) = topology.route(id(node), to).and_then(|route| route.get(1).copied()) {
                routes.insert(to, next);
            }
        }
    }
    routes.extend(best_effort.filter_map(|channel| hop(&channel.route)));
    NodeConfig {
        node: NodeId(node as u32),
        epoch: Epoch(life),
        links: leaving.map(|link| (NodeId(link.to as u32), link.config)).collect(),
        routes,
        packet: spec.packet,
        drift: spec.quality().drift,
        signalling: spec.spacing,
        datagrams: DATAGRAMS,
        places: PLACES,
        memory: spec.memory,
        settings: spec.settings(experiment),
        packet_time: Span::ZERO,
        quotas: spec.quotas(),
    }
}

/// The first node of `experiment` that cannot be, and why: its links are too slow for its signalling.
pub(crate) fn impossible(experiment: &Experiment) -> Option<(usize, NotANode)> {
    let spec = experiment.signalling()?;
    let links = links::of(experiment, spec);
    let joined = (0..experiment.nodes.len()).filter(|node| links.iter().any(|link| link.from == *node));
    joined.into_iter().find_map(|node| {
        let config = config(experiment, spec, &links, (node, 1));
        Some((node, Node::new(config, Box::new(|| 0)).err()?))
    })
}

#[cfg(not(feature = "faults"))]
fn build(config: NodeConfig, jitter: laxity_signalling::Jitter) -> Result<Node, NotANode> {
    Node::new(config, jitter)
}

#[cfg(feature = "faults")]
fn build(config: NodeConfig, jitter: laxity_signalling::Jitter) -> Result<Node, NotANode> {
    Node::with_fault(config, jitter, super::broken::FAULT.get())
}
