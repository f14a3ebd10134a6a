//! The invariants.
//!
//! Each violation says which rule is broken. Rules about a channel at its nodes leave out nodes
//! that crashed since, as such a node holds no channel of its former life.

use std::collections::{BTreeMap, BTreeSet};

use laxity_units::{Span, Time};

use super::network::Network;
use super::node::{Node, QUOTA};
use super::{Action, Plan, settings};
use crate::contract::ChannelContract;
use crate::event::SourceEvent;
use crate::exact::{Exact, Sums};
use crate::identity::{GlobalChannelId, NodeId, Owner, Version};
use crate::message::{Body, ContractMessage};
use crate::refusal::{Denial, NodeResource};
use crate::resources::Resources;

/// The record of every channel that was requested.
#[derive(Default)]
pub(super) struct Check {
    channels: BTreeMap<GlobalChannelId, Record>,
    /// Why channels were refused.
    pub(super) refusals: BTreeMap<GlobalChannelId, Denial>,
    /// Channels that the receiving program closed.
    pub(super) left: BTreeSet<GlobalChannelId>,
    /// Faults stopped so long ago that no channel may be lost any more.
    pub(super) settled: bool,
    /// The plan has no fault but delay and duplication.
    harmless: bool,
}

struct Record {
    program: u32,
    route: Vec<NodeId>,
    contracts: BTreeMap<Version, (ChannelContract, Time)>,
    /// Per node of the route, its lives and the steps of its clock when the channel was asked for.
    lives: Vec<(u32, [u32; 2])>,
    state: State,
    version: Version,
    received: Received,
    attempts: BTreeMap<Version, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Asked,
    Established,
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Received {
    No,
    Opened,
    Ended,
}

impl Check {
    pub(super) fn new(plan: &Plan) -> Self {
        let harm = |(_, action): &(Time, Action)| {
            matches!(action, Action::Crash(_) | Action::Cut(_) | Action::Step(..) | Action::Leave { .. })
        };
        let harmless = plan.impairments[0] == 0 && plan.crash_at.is_none() && !plan.timeline.iter().any(harm);
        Self { harmless, ..Self::default() }
    }

    pub(super) fn opened(
        &mut self,
        channel: GlobalChannelId,
        program: u32,
        route: &[NodeId],
        contract: ChannelContract,
        lives: Vec<(u32, [u32; 2])>,
        now: Time,
    ) -> Result<(), String> {
        let record = Record {
            program,
            route: route.to_vec(),
            contracts: BTreeMap::from([(Version::FIRST, (contract, now))]),
            lives,
            state: State::Asked,
            version: Version::FIRST,
            received: Received::No,
            attempts: BTreeMap::new(),
        };
        match self.channels.insert(channel, record) {
            None => Ok(()),
            Some(_) => Err(format!("{channel} names two channels")),
        }
    }

    pub(super) fn changing(
        &mut self,
        channel: GlobalChannelId,
        version: Version,
        contract: ChannelContract,
        now: Time,
    ) {
        let Some(record) = self.channels.get_mut(&channel) else { return };
        record.contracts.insert(version, (contract, now));
    }

    pub(super) fn route(&self, channel: GlobalChannelId) -> Option<&[NodeId]> {
        self.channels.get(&channel).map(|record| &record.route[..])
    }

    /// The rules that hold at a node at any time.
    pub(super) fn node(&self, node: &Node) -> Result<(), String> {
        let id = node.id;
        let Some(manager) = &node.manager else { return Ok(()) };
        let resources = manager.resources();
        let mut held = 0;
        let mut channels = BTreeSet::new();
        for version in manager.held() {
            held += 1;
            channels.insert(version.channel);
            let Some(reserved) = resources.held().get(&version.reservation) else {
                return Err(format!("{id} holds {} without a reservation", version.channel));
            };
            if version.deadline.is_some_and(|deadline| deadline != reserved.deadline) {
                return Err(format!("{id} committed {} at another deadline than it says", version.channel));
            }
            let GlobalChannelId { node, epoch, .. } = version.channel;
            let known = version.place.from.and_then(|from| manager.epoch_of(from, node));
            if known.is_some_and(|known| epoch < known) {
                return Err(format!("{id} holds {} of a former life", version.channel));
            }
        }
        if held != resources.held().len() {
            return Err(format!("{id} has {} reservations for {held} contracts", resources.held().len()));
        }
        let sums = Sums::of(resources.held().values());
        if sums != *resources.sums() {
            return Err(format!("{id} has other sums than admission from scratch"));
        }
        if !sums.fit(&node.capacity) {
            return Err(format!("{id} has promised more than it has: {sums:?}"));
        }
        let (charged, _) = manager.quotas().used(Owner(1));
        if charged != channels.len() as u64 || charged > QUOTA {
            return Err(format!("{id} has charged {charged} channels, and has {}", channels.len()));
        }
        if channels.is_empty() && !manager.quotas().is_unused() {
            return Err(format!("{id} has charged for no channel"));
        }
        let [hops, calls, ended, epochs, timers, out] = manager.entries();
        let settings = settings();
        if hops > settings.entries || ended > settings.remembered || epochs > settings.peers {
            return Err(format!("{id} has {hops} channels, {ended} endings, {epochs} sources"));
        }
        if timers > hops + calls || out > settings.waiting {
            return Err(format!("{id} has {timers} timers and {out} messages for {} channels", hops + calls));
        }
        Ok(())
    }

    /// A node as if it had never heard of a channel.
    pub(super) fn fresh(&self, node: &Node) -> Result<(), String> {
        let Some(manager) = &node.manager else { return Err(format!("{} is off", node.id)) };
        let probed =
            |channel: &GlobalChannelId| self.channels.get(channel).is_some_and(|record| record.program == 9);
        let empty = Exact::new(node.capacity.clone());
        let held = manager.held().find(|held| !probed(&held.channel));
        let used = manager.resources().snapshot() != empty.snapshot() || !manager.quotas().is_unused();
        let [hops, calls, _, _, timers, out] = manager.entries();
        match held {
            Some(held) => Err(format!("{} still holds {}", node.id, held.channel)),
            None if used || [hops, calls, timers, out] != [0; 4] => {
                Err(format!("{} is not as it began: {:?}", node.id, manager.entries()))
            }
            None => Ok(()),
        }
    }

    /// A message that leaves its node.
    pub(super) fn sent(&mut self, from: NodeId, message: &ContractMessage) -> Result<(), String> {
        if let (Body::Ask(_), true) = (&message.body, from == message.channel.node)
            && let Some(record) = self.channels.get_mut(&message.channel)
        {
            let attempts = record.attempts.entry(message.version).or_default();
            *attempts += 1;
            let most = settings().most_attempts();
            if *attempts > most {
                return Err(format!(
                    "{} is asked for {attempts} times; at most {most} are due",
                    message.channel
                ));
            }
        }
        Ok(())
    }

    /// The nodes of the route that are in the life in which the channel was asked for.
    fn intact<'n>(record: &'n Record, network: &'n Network<'_>) -> impl Iterator<Item = &'n Node> {
        let nodes = record.route.iter().zip(&record.lives);
        nodes.filter_map(|(node, (lives, _))| {
            let node = &network.nodes[node.0 as usize];
            (node.lives == *lives && node.manager.is_some()).then_some(node)
        })
    }

    /// Whether every intact node has committed `version`, with its deadlines within the contract.
    fn committed(
        record: &Record,
        network: &Network<'_>,
        channel: GlobalChannelId,
        version: Version,
    ) -> Result<(), String> {
        let (contract, _) = record.contracts[&version];
        let (mut taken, mut known, mut usable) = (Span::ZERO, 0, false);
        let steady = Self::intact(record, network).filter(|node| !set_forward(record, node)).count();
        let disturbed = steady < record.route.len();
        for node in Self::intact(record, network) {
            let manager = node.manager.as_ref().expect("it is up");
            let held = manager.held_of(channel).find(|held| held.version == version);
            let Some(held) = held.filter(|held| held.contract == contract) else {
                // A node on the route lost its memory, or its clock was set forward and ended the
                // lease.
                if disturbed {
                    continue;
                }
                return Err(format!("{channel} is in place, and {} does not hold the contract", node.id));
            };
            let Some(deadline) = held.deadline else {
                // A late duplicate may have reserved again after that.
                if disturbed {
                    continue;
                }
                return Err(format!("{channel} is in place, and {} has not committed", node.id));
            };
            known += 1;
            taken += deadline + held.way;
            usable |= deadline + Span::from_us(1) < held.latest;
        }
        let whole = known == record.route.len();
        if taken > contract.deadline {
            return Err(format!("{channel} has local deadlines of {taken} for {}", contract.deadline));
        }
        if whole && usable && taken + Span::from_us(1) < contract.deadline {
            return Err(format!(
                "{channel} has local deadlines of {taken}: slack of {} is kept",
                contract.deadline
            ));
        }
        Ok(())
    }

    /// A notification of a program.
    pub(super) fn told(
        &mut self,
        network: &Network<'_>,
        at: NodeId,
        event: SourceEvent,
    ) -> Result<(), String> {
        let settled = self.settled || self.harmless;
        let (channel, now) = (channel_of(&event), network.now);
        let left = self.left.contains(&channel);
        if let SourceEvent::Refused { channel, refused } = &event {
            self.refusals.insert(*channel, *refused);
        }
        let Some(record) = self.channels.get_mut(&channel) else {
            // The source's command has not returned yet: the request was refused at once.
            return Ok(());
        };
        let wrong = Err(format!(
            "{at} was notified of {event:?} with the channel {:?}, {:?}",
            record.state, record.received
        ));
        let steps = network.nodes[at.0 as usize].steps[1];
        match event {
            SourceEvent::Established { .. } => {
                if record.state != State::Asked {
                    return wrong;
                }
                record.state = State::Established;
                in_time(record, Version::FIRST, now, steps)?;
                Self::committed(record, network, channel, Version::FIRST)
            }
            SourceEvent::Refused { refused, .. } => {
                if record.state != State::Asked {
                    return wrong;
                }
                record.state = State::Over;
                in_time(record, Version::FIRST, now, steps)?;
                attempted(record, Version::FIRST, &refused, network.nodes[at.0 as usize].steps[0])?;
                Self::released(record, network, channel, Version::FIRST, &refused)
            }
            SourceEvent::Changed { version, .. } => {
                if record.state != State::Established {
                    return wrong;
                }
                let old = std::mem::replace(&mut record.version, version);
                in_time(record, version, now, steps)?;
                if left {
                    return Ok(());
                }
                Self::committed(record, network, channel, version)?;
                Self::committed(record, network, channel, old)
            }
            SourceEvent::ChangeRefused { version, refused, .. } => {
                if record.state != State::Established {
                    return wrong;
                }
                in_time(record, version, now, steps)?;
                attempted(record, version, &refused, network.nodes[at.0 as usize].steps[0])?;
                Self::released(record, network, channel, version, &refused)
            }
            SourceEvent::Closed { everywhere, .. } => {
                if record.state == State::Over {
                    return wrong;
                }
                record.state = State::Over;
                let keeps =
                    |node: &&Node| node.manager.as_ref().is_some_and(|m| m.held_of(channel).next().is_some());
                match Self::intact(record, network).find(keeps).filter(|_| everywhere) {
                    Some(node) => Err(format!("{channel} is closed, and {} still holds it", node.id)),
                    None => Ok(()),
                }
            }
            SourceEvent::Lost { left: by_receiver, .. } => {
                if record.state != State::Established {
                    return wrong;
                }
                record.state = State::Over;
                if by_receiver && !left {
                    return Err(format!("{channel} is said to be left, and was not"));
                }
                if settled && !left {
                    return Err(format!("{channel} is lost without a fault"));
                }
                Ok(())
            }
            SourceEvent::Opened { .. } => {
                if record.received != Received::No || record.state == State::Asked {
                    return wrong;
                }
                record.received = Received::Opened;
                Ok(())
            }
            SourceEvent::Ended { .. } => {
                if record.received != Received::Opened {
                    return wrong;
                }
                record.received = Received::Ended;
                Ok(())
            }
        }
    }

    /// After a refusal no node up to the refusing one holds the version.
    fn released(
        record: &Record,
        network: &Network<'_>,
        channel: GlobalChannelId,
        version: Version,
        refused: &Denial,
    ) -> Result<(), String> {
        let resource = refused.shortage.resource;
        if matches!(resource, NodeResource::Answer | NodeResource::Agreement) {
            return Ok(());
        }
        if refused.shortage.missing == 0 {
            return Err(format!("{channel} is refused for {resource:?}, of which nothing is missing"));
        }
        let Some(last) = record.route.iter().position(|node| *node == refused.node) else {
            return Err(format!("{channel} is refused by {}, which is not on its route", refused.node));
        };
        let holds = |node: &&Node| {
            let before = record.route[..=last].contains(&node.id);
            let held = node.manager.as_ref().map(|m| m.held_of(channel).any(|held| held.version == version));
            before && held == Some(true)
        };
        match Self::intact(record, network).find(holds) {
            Some(node) => Err(format!("{channel} is refused, and {} still holds it", node.id)),
            None => Ok(()),
        }
    }

    /// Both ends agree, and no other node holds anything.
    pub(super) fn agreement(
        &self,
        network: &Network<'_>,
        dead: &BTreeSet<(NodeId, u32)>,
    ) -> Result<(), String> {
        let (mut sources, mut destinations) = (BTreeSet::new(), BTreeSet::new());
        let mut places = BTreeSet::new();
        for node in &network.nodes {
            let manager = node.manager.as_ref().expect("all nodes are up");
            if manager.pending() > 0 {
                return Err(format!("{} has a request without an answer", node.id));
            }
            destinations.extend(manager.received());
            for (channel, version) in manager.established() {
                sources.insert(channel);
                let Some(record) = self.channels.get(&channel) else {
                    return Err(format!("{channel} was never asked for"));
                };
                if dead.contains(&(node.id, record.program)) {
                    return Err(format!("{channel} is kept for a program that died"));
                }
                places.extend(record.route.iter().map(|node| (*node, channel, version)));
            }
        }
        if sources != destinations {
            return Err(format!("sources have {sources:?}, destinations {destinations:?}"));
        }
        let holds = |node: &Node| {
            let held: Vec<_> = node.manager.iter().flat_map(|m| m.held()).collect();
            let id = node.id;
            held.into_iter().map(move |held| (id, held.channel, held.version))
        };
        let held: BTreeSet<_> = network.nodes.iter().flat_map(holds).collect();
        match held.symmetric_difference(&places).next() {
            Some((node, channel, version)) => {
                Err(format!("{node} and the source differ about {version:?} of {channel}"))
            }
            None => Ok(()),
        }
    }

    /// Every program was notified of the end, but for programs that crashed with their node.
    pub(super) fn finished(&self, network: &Network<'_>) -> Result<(), String> {
        for (channel, record) in &self.channels {
            let survived = |at: usize| network.nodes[record.route[at].0 as usize].lives == record.lives[at].0;
            if record.state != State::Over && survived(0) {
                return Err(format!("{channel} ended, and its program was not notified"));
            }
            if record.received == Received::Opened && survived(record.route.len() - 1) {
                return Err(format!("{channel} ended, and its receiver was not notified"));
            }
        }
        Ok(())
    }
}

/// Whether a request ended within the stated time. A clock that is set back loses the time since
/// the input before, which is an interval of retransmission at most.
fn in_time(record: &Record, version: Version, now: Time, set_back: u32) -> Result<(), String> {
    let Some((_, asked)) = record.contracts.get(&version) else { return Ok(()) };
    let settings = settings();
    let steps = u64::from(set_back - record.lives[0].1[1]);
    let allowed = settings.request_ends() + settings.longest_retry * 2 * steps + Span::from_us(1);
    let took = now.since(*asked);
    if took > allowed {
        return Err(format!("a request of {} ended after {took}", record.route[0]));
    }
    Ok(())
}

/// Whether a request was sent several times before it was given up.
fn attempted(record: &Record, version: Version, refused: &Denial, set_forward: u32) -> Result<(), String> {
    let attempts = record.attempts.get(&version).copied().unwrap_or(0);
    let steady = set_forward == record.lives[0].1[0];
    if refused.shortage.resource == NodeResource::Answer && steady && attempts < 3 {
        return Err(format!("a request of {} was given up after {attempts} attempts", record.route[0]));
    }
    Ok(())
}

/// Whether the clock of `node` was set forward since the channel was asked for.
fn set_forward(record: &Record, node: &Node) -> bool {
    let began = record.route.iter().position(|at| *at == node.id).map(|at| record.lives[at].1[0]);
    began.is_some_and(|steps| steps != node.steps[0])
}

fn channel_of(event: &SourceEvent) -> GlobalChannelId {
    match event {
        SourceEvent::Established { channel, .. }
        | SourceEvent::Refused { channel, .. }
        | SourceEvent::Changed { channel, .. }
        | SourceEvent::ChangeRefused { channel, .. }
        | SourceEvent::Closed { channel, .. }
        | SourceEvent::Lost { channel, .. }
        | SourceEvent::Opened { channel, .. }
        | SourceEvent::Ended { channel } => *channel,
    }
}
