//! The event loop.

use std::collections::{BTreeMap, BTreeSet};

use laxity_engine::{Seed, Stream};
use laxity_units::{Bytes, Span, Time};

use super::check::Check;
use super::node::Node;
use super::{Action, Plan, Violation, settings};
use crate::contract::ChannelContract;
use crate::division::Division;
use crate::event::{OpenRequest, SourceEvent};
use crate::exact::Capacity;
use crate::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Program, Version};
use crate::message::{Ask, Body, ContractMessage};
use crate::refusal::NodeResource;

/// The counts of a run without a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SimulationOutcome {
    /// Messages that were delivered.
    pub delivered: u64,
    /// Channels that were established.
    pub established: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Contracts that were changed.
    pub changed: u64,
    /// Channels that broke.
    pub lost: u64,
}

/// The speed of every link, in bytes per second.
const SPEED: u64 = 1_250_000;
/// From one sign of life of programs to the next.
const RENEWAL: Span = Span::from_ms(500);
/// The most that a delayed message is late by.
const LATEST: Span = Span::from_ms(300);

enum Item {
    Deliver { to: NodeId, from: NodeId, message: ContractMessage },
    Wake(NodeId),
    Act(usize),
    Restart(NodeId),
    Renew,
}

/// A network in a run.
pub(super) struct Network<'a> {
    plan: &'a Plan,
    pub(super) nodes: Vec<Node>,
    pub(super) now: Time,
    calendar: BTreeMap<(Time, u64), Item>,
    number: u64,
    fates: Stream,
    pub(super) cut: BTreeSet<usize>,
    /// Faults have stopped.
    calm: bool,
    dead: BTreeSet<(NodeId, u32)>,
    pub(super) keys: BTreeMap<u32, GlobalChannelId>,
    check: Check,
    pub(super) outcome: SimulationOutcome,
}

/// Runs `plan` to its end.
///
/// # Errors
/// The first violation of an invariant.
pub fn run(plan: &Plan) -> Result<SimulationOutcome, Violation> {
    let mut network = Network::new(plan);
    match network.phases() {
        Ok(()) => Ok(network.outcome),
        Err(what) => Err(Violation { at: network.now, what }),
    }
}

impl<'a> Network<'a> {
    fn new(plan: &'a Plan) -> Self {
        let node = |id: u32| {
            let id = NodeId(id);
            let of = |(a, b, way): &(NodeId, NodeId, Span)| match id {
                _ if id == *a => Some((*b, (SPEED, *way))),
                _ if id == *b => Some((*a, (SPEED, *way))),
                _ => None,
            };
            let links = plan.links.iter().filter_map(of).collect();
            let capacity = Capacity { links, cpu: Span::from_us(50), buffers: 24, places: 12 };
            Node::new(id, capacity, plan.drifts[id.0 as usize], plan.seed, plan.fault)
        };
        let nodes: Vec<Node> = (0..plan.nodes).map(node).collect();
        let mut network = Self {
            plan,
            nodes,
            now: Time::ZERO,
            calendar: BTreeMap::new(),
            number: 0,
            fates: Seed::new(plan.seed).stream("fates of messages"),
            cut: BTreeSet::new(),
            calm: false,
            dead: BTreeSet::new(),
            keys: BTreeMap::new(),
            check: Check::new(plan),
            outcome: SimulationOutcome::default(),
        };
        for (number, (at, _)) in plan.timeline.iter().enumerate() {
            network.at(*at, Item::Act(number));
        }
        network.at(Time::ZERO + RENEWAL, Item::Renew);
        network
    }

    fn phases(&mut self) -> Result<(), String> {
        let last = self.plan.timeline.last().map_or(Time::ZERO, |(at, _)| *at);
        self.until(last + Span::from_ms(400))?;
        self.calm = true;
        self.cut.clear();
        for node in 0..self.plan.nodes {
            if self.nodes[node as usize].manager.is_none() {
                self.nodes[node as usize].restart();
            }
        }
        let transit = Span::from_ms(20) + LATEST;
        let settled = self.now + settings().all_free(transit);
        self.until(settled)?;
        let check = std::mem::take(&mut self.check);
        let agreed = check.agreement(self, &self.dead);
        self.check = check;
        agreed?;
        self.check.settled = true;
        self.until(settled + settings().refresh * 2)?;
        self.close_all()?;
        self.until(self.now + Span::from_ms(600))?;
        self.fresh()?;
        self.probe()?;
        self.until(self.now + Span::from_ms(600))?;
        self.fresh()?;
        self.check.finished(self)
    }

    fn close_all(&mut self) -> Result<(), String> {
        for node in 0..self.plan.nodes {
            let manager = self.nodes[node as usize].manager.as_ref().expect("all nodes are up");
            let open: Vec<GlobalChannelId> = manager.established().map(|(channel, _)| channel).collect();
            for channel in open {
                self.input(NodeId(node), |manager, clock| {
                    let _ = manager.close(clock, channel);
                })?;
            }
        }
        Ok(())
    }

    /// Every node is as if it had never heard of a channel.
    fn fresh(&self) -> Result<(), String> {
        self.nodes.iter().try_for_each(|node| self.check.fresh(node))
    }

    /// A small request is established in one round trip. One for which the destination has no
    /// places is refused by the destination.
    fn probe(&mut self) -> Result<(), String> {
        let routes = self.plan.timeline.iter().filter_map(|(_, action)| match action {
            Action::Open { route, .. } => Some(route.clone()),
            _ => None,
        });
        let Some(route) = routes.max_by_key(Vec::len) else { return Ok(()) };
        let contract = ChannelContract {
            max_message: Bytes::new(100),
            min_message: Bytes::new(1),
            min_interval: Span::from_ms(500),
            burst: 1,
            deadline: Span::from_ms(400),
        };
        let one_way: Span =
            route.windows(2).map(|pair| self.delay(pair[0], pair[1]).unwrap_or_default()).sum();
        let begin = self.now;
        let before = self.outcome;
        let channel = self.open(9000, &route, contract)?;
        self.until(begin + one_way * 2 + Span::from_ps(1))?;
        if self.outcome.established != before.established + 1 {
            return Err(format!("{channel} is not established in one round trip of an empty network"));
        }
        let (channel, source) =
            (self.open(9001, &route, ChannelContract { burst: 13, ..contract })?, route[0]);
        self.until(self.now + one_way * 2 + Span::from_ps(1))?;
        let destination = route[route.len() - 1];
        let refused = self.check.refusals.get(&channel).copied();
        if !refused
            .is_some_and(|r| r.node == destination && r.shortage.resource == NodeResource::ReceivePlaces)
        {
            return Err(format!("{channel} is not refused by its destination: {refused:?}"));
        }
        let first = self.keys[&9000];
        self.input(source, |manager, clock| {
            let _ = manager.close(clock, first);
        })
    }

    fn until(&mut self, end: Time) -> Result<(), String> {
        while let Some(entry) = self.calendar.first_entry().filter(|entry| entry.key().0 <= end) {
            let ((at, _), item) = entry.remove_entry();
            self.now = at;
            self.happens(item)?;
        }
        self.now = end;
        Ok(())
    }

    fn at(&mut self, at: Time, item: Item) {
        self.number += 1;
        self.calendar.insert((at, self.number), item);
    }

    fn happens(&mut self, item: Item) -> Result<(), String> {
        match item {
            Item::Deliver { to, from, message } => {
                self.outcome.delivered += 1;
                let delivered = self.outcome.delivered;
                self.input(to, |manager, clock| manager.handle(clock, from, message))?;
                if let Some((_, node)) = self.plan.crash_at.filter(|(at, _)| *at == delivered && !self.calm) {
                    self.nodes[node.0 as usize].manager = None;
                    self.at(self.now + Span::from_ms(50), Item::Restart(node));
                }
                Ok(())
            }
            Item::Wake(node) if self.nodes[node.0 as usize].wake == self.now => {
                self.nodes[node.0 as usize].wake = Time::MAX;
                self.input(node, |manager, clock| manager.handle_timeout(clock))
            }
            Item::Wake(_) => Ok(()),
            Item::Restart(node) => {
                if self.nodes[node.0 as usize].manager.is_none() {
                    self.nodes[node.0 as usize].restart();
                }
                Ok(())
            }
            Item::Act(number) => self.act(&self.plan.timeline[number].1),
            Item::Renew => {
                self.at(self.now + RENEWAL, Item::Renew);
                for node in 0..self.plan.nodes {
                    let alive: Vec<u32> =
                        (0..3).filter(|program| !self.dead.contains(&(NodeId(node), *program))).collect();
                    self.input(NodeId(node), |manager, clock| {
                        alive.iter().for_each(|program| manager.renew(clock, Program(*program)));
                    })?;
                }
                Ok(())
            }
        }
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        match action {
            Action::Open { key, program, route, contract } => {
                let source = route[0];
                if self.dead.contains(&(source, *program)) || self.nodes[source.0 as usize].manager.is_none()
                {
                    return Ok(());
                }
                self.open_as(*key, *program, route, *contract).map(drop)
            }
            Action::Change { key, contract } => {
                let Some(channel) = self.keys.get(key).copied() else { return Ok(()) };
                let node = &mut self.nodes[channel.node.0 as usize];
                let clock = node.clock(self.now);
                let Some(manager) = &mut node.manager else { return Ok(()) };
                // Within a node the outcome is there at once.
                if let Ok(version) = manager.change(clock, channel, *contract, Span::ZERO) {
                    self.check.changing(channel, version, *contract, self.now);
                }
                self.outputs(channel.node)
            }
            Action::Close { key } => {
                let Some(channel) = self.keys.get(key).copied() else { return Ok(()) };
                self.input(channel.node, |manager, clock| {
                    let _ = manager.close(clock, channel);
                })
            }
            Action::Leave { key } => {
                let Some(channel) = self.keys.get(key).copied() else { return Ok(()) };
                let Some(to) = self.check.route(channel).and_then(|route| route.last().copied()) else {
                    return Ok(());
                };
                self.check.left.insert(channel);
                self.input(to, |manager, clock| {
                    let _ = manager.leave(clock, channel);
                })
            }
            Action::Die { node, program } => {
                self.dead.insert((*node, *program));
                Ok(())
            }
            Action::Crash(node) => {
                self.nodes[node.0 as usize].manager = None;
                Ok(())
            }
            Action::Restart(node) => self.happens(Item::Restart(*node)),
            Action::Cut(link) => {
                self.cut.insert(*link);
                Ok(())
            }
            Action::Mend(link) => {
                self.cut.remove(link);
                Ok(())
            }
            Action::Step(node, forward, by) => {
                self.nodes[node.0 as usize].step(self.now, *forward, *by);
                Ok(())
            }
            Action::Forge { from, to } => self.forge(*from, *to),
        }
    }

    fn forge(&mut self, from: NodeId, to: NodeId) -> Result<(), String> {
        let channel = GlobalChannelId { node: from, epoch: Epoch(u32::MAX / 2), local: 0 };
        let contract = ChannelContract {
            max_message: Bytes::new(100),
            min_message: Bytes::new(1),
            min_interval: Span::from_ms(500),
            burst: 1,
            deadline: Span::from_ms(400),
        };
        let needs = crate::division::Needs { least: Span::ZERO, latest: Span::ZERO };
        let ask = Ask {
            contract,
            owner: Owner(1),
            port: Port(0),
            division: Division::Proportional,
            current: None,
            balance: contract.deadline,
            between: Span::ZERO,
            route: vec![from, to, from, to],
            hops: vec![needs],
        };
        let message = ContractMessage { channel, version: Version::FIRST, sequence: 1, body: Body::Ask(ask) };
        self.input(to, |manager, clock| manager.handle(clock, from, message))?;
        let manager = self.nodes[to.0 as usize].manager.as_ref();
        match manager.is_some_and(|manager| manager.held_of(channel).next().is_some()) {
            true => Err(format!("{to} reserved for a route with a loop")),
            false => Ok(()),
        }
    }

    fn open(
        &mut self,
        key: u32,
        route: &[NodeId],
        contract: ChannelContract,
    ) -> Result<GlobalChannelId, String> {
        self.open_as(key, 9, route, contract)
    }

    fn open_as(
        &mut self,
        key: u32,
        program: u32,
        route: &[NodeId],
        contract: ChannelContract,
    ) -> Result<GlobalChannelId, String> {
        let source = route[0];
        let port = Port(key % 2);
        let open =
            OpenRequest { program: Program(program), owner: Owner(1), port, contract, route: route.to_vec() };
        let lives = route.iter().map(|node| {
            let node = &self.nodes[node.0 as usize];
            (node.lives, node.steps)
        });
        let lives = lives.collect();
        let node = &mut self.nodes[source.0 as usize];
        let clock = node.clock(self.now);
        let manager = node.manager.as_mut().expect("a program runs at a node that is up");
        let channel = manager.open(clock, open);
        self.keys.insert(key, channel);
        self.check.opened(channel, program, route, contract, lives, self.now)?;
        self.outputs(source)?;
        Ok(channel)
    }

    /// Gives an input to a node that is up, and takes its outputs.
    fn input(
        &mut self,
        node: NodeId,
        input: impl FnOnce(&mut crate::Manager<crate::exact::Exact>, Time),
    ) -> Result<(), String> {
        let at = &mut self.nodes[node.0 as usize];
        let clock = at.clock(self.now);
        let Some(manager) = &mut at.manager else { return Ok(()) };
        input(manager, clock);
        self.outputs(node)
    }

    fn outputs(&mut self, id: NodeId) -> Result<(), String> {
        let index = id.0 as usize;
        self.check.node(&self.nodes[index])?;
        while let Some((to, message)) = self.nodes[index].manager.as_mut().and_then(|m| m.poll_transmit()) {
            self.check.sent(id, &message)?;
            self.transmit(id, to, &message)?;
        }
        while let Some(event) = self.nodes[index].manager.as_mut().and_then(|m| m.poll_event()) {
            match event {
                SourceEvent::Established { .. } => self.outcome.established += 1,
                SourceEvent::Refused { .. } => self.outcome.refused += 1,
                SourceEvent::Changed { .. } => self.outcome.changed += 1,
                SourceEvent::Lost { .. } => self.outcome.lost += 1,
                _ => {}
            }
            let mut check = std::mem::take(&mut self.check);
            let told = check.told(self, id, event);
            self.check = check;
            told?;
        }
        let node = &self.nodes[index];
        if let Some(shown) = node.manager.as_ref().and_then(|manager| manager.poll_timeout()) {
            let when = node.when(self.now, shown);
            if when < node.wake {
                self.nodes[index].wake = when;
                self.at(when, Item::Wake(id));
            }
        }
        Ok(())
    }

    fn delay(&self, a: NodeId, b: NodeId) -> Option<Span> {
        self.link(a, b).map(|link| self.plan.links[link].2)
    }

    fn link(&self, a: NodeId, b: NodeId) -> Option<usize> {
        self.plan.links.iter().position(|(x, y, _)| (*x, *y) == (a, b) || (*x, *y) == (b, a))
    }

    fn transmit(&mut self, from: NodeId, to: NodeId, message: &ContractMessage) -> Result<(), String> {
        let link =
            self.link(from, to).ok_or_else(|| format!("{from} sent to {to}, which is no neighbour"))?;
        if self.cut.contains(&link) {
            return Ok(());
        }
        let arrival = self.now + self.plan.links[link].2;
        let [loss, duplication, delay] = if self.calm { [0; 3] } else { self.plan.impairments };
        if self.fates.below(1000) < loss {
            return Ok(());
        }
        let twice = self.fates.below(1000) < duplication;
        for _ in 0..=usize::from(twice) {
            let late = self.fates.below(1000) < delay;
            let longest = if twice && late { LATEST } else { Span::from_ms(30) };
            let late = if late { self.fates.uniform(Span::ZERO, longest) } else { Span::ZERO };
            self.at(arrival + late, Item::Deliver { to, from, message: message.clone() });
        }
        Ok(())
    }
}
