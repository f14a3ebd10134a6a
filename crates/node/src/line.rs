//! The resources of a node: an admission table for each link.
//!
//! A link is a paced serial line, and the time that a packet waits for the processor is part of the
//! stated delay of the hosts. The table of the ideal host fits: its CPU takes no time, and one packet
//! in transmission is waited for. A frame of best effort, the longest that there is, may be this
//! packet. Beside the tables channels take parts of the processor and of the memory.

use std::collections::BTreeMap;

use laxity_admission::{BestEffort, Environment, ResourceModel};
use laxity_clock::Tolerance;
use laxity_qos::channel::Role;
use laxity_qos::costs::HostCosts;
use laxity_signalling::codec;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::identity::{NodeId, Port};
use laxity_signalling::refusal::Shortage;
use laxity_signalling::resources::{ChannelPlace, NodeRequest, Offer, ReservationId, Resources};
use laxity_signalling::tables::Tables;
use laxity_units::{Bytes, Span};

use crate::config::{NodeConfig, NodeLinkConfig, NotANode, regulated};
use crate::memory::{Memory, needs};
use crate::processor::Processor;

/// The admission tables of a node, with the signalling channel of each link reserved.
#[derive(Debug, Clone)]
pub struct Lines {
    tables: Tables,
    drift: Tolerance,
    packet: u32,
    memory: Memory,
    processor: Processor,
    /// The longest time that the host takes of a channel within the node.
    host: Span,
    /// Reservations that the manager released and the node has not freed.
    pub(crate) ended: Vec<ReservationId>,
}

fn environment(link: &NodeLinkConfig, packet: Bytes) -> Environment {
    let any = BestEffort {
        max_message: packet,
        min_message: Bytes::ZERO,
        role: Role::Send,
        elsewhere: false,
        program: Span::ZERO,
    };
    Environment {
        best_effort: vec![any],
        ..Environment::new(HostCosts::default(), link.costs(), packet, ResourceModel::Ideal)
    }
}

impl Lines {
    /// The tables of `config`.
    ///
    /// # Errors
    /// The description is no node.
    pub fn new(config: &NodeConfig) -> Result<Self, NotANode> {
        if config.links.is_empty() || (config.packet as usize) < codec::LONGEST {
            return Err(NotANode::Packet);
        }
        let packet = Bytes::new(config.packet.into());
        let links: BTreeMap<_, _> = config
            .links
            .iter()
            .map(|(to, link)| (*to, (environment(link, packet), link.way.saturating_add(link.hosts))))
            .collect();
        let mut tables = Tables::new(links, config.places).map_err(NotANode::Link)?;
        for to in config.links.keys() {
            let asked = signalling(*to, config.signalling);
            let offer = tables.reserve(&asked).map_err(NotANode::Signalling)?;
            tables.commit(offer.id, config.signalling).map_err(NotANode::Signalling)?;
        }
        let (memory, processor) = (Memory::new(config.memory.get()), Processor::new(config));
        processor.check(0, config.signalling).map_err(|_| NotANode::Processor)?;
        let (drift, packet, host) = (config.drift, config.packet, config.host());
        Ok(Self { tables, drift, packet, memory, processor, host, ended: Vec::new() })
    }

    /// Frees the link time, the receive places and the part of the processor of a released
    /// reservation.
    pub(crate) fn free(&mut self, id: ReservationId) {
        self.tables.release(id);
        self.processor.give_back(id);
    }

    /// The part of the processor that is taken, in millionths.
    pub(crate) fn processor(&self) -> u64 {
        self.processor.used()
    }

    /// Frees the memory of a released reservation.
    pub(crate) fn free_memory(&mut self, id: ReservationId) {
        self.memory.give_back(id);
    }
}

fn signalling(to: NodeId, interval: Span) -> NodeRequest {
    let contract = ChannelContract {
        max_message: Bytes::new(codec::LONGEST as u64),
        min_message: Bytes::new(1),
        min_interval: interval,
        burst: 1,
        deadline: interval,
    };
    let place = ChannelPlace { from: None, to: Some(to), port: Port(0) };
    NodeRequest { contract, place, balance: interval, drain: Span::ZERO }
}

impl Resources for Lines {
    /// The tables, the bytes of memory by neighbour, and the part of the processor.
    type Snapshot = (<Tables as Resources>::Snapshot, BTreeMap<Option<NodeId>, u64>, u64);

    fn reserve(&mut self, asked: &NodeRequest) -> Result<Offer, Shortage> {
        let mut asked = *asked;
        let interval = asked.contract.min_interval;
        if asked.place.from.is_some() {
            asked.contract.min_interval = regulated(self.drift, asked.contract.min_interval);
        }
        let (from, bytes) = (asked.place.from, needs(&asked, self.packet, self.drift)?);
        self.memory.check(from, bytes, self.packet.into())?;
        let part = self.processor.needs(&asked, self.packet);
        self.processor.check(part, interval)?;
        let mut offer = match asked.place.is_within() {
            true => Offer { way: self.host, ..self.tables.reserve_places(&asked)? },
            false => self.tables.reserve(&asked)?,
        };
        self.memory.take(offer.id, from, bytes);
        self.processor.take(offer.id, part);
        offer.claim.cpu = part;
        Ok(offer)
    }

    fn commit(&mut self, id: ReservationId, deadline: Span) -> Result<(), Shortage> {
        self.tables.commit(id, deadline)
    }

    /// The link time that the channel used is not free yet: see the documentation of the crate.
    fn release(&mut self, id: ReservationId) {
        self.ended.push(id);
    }

    fn withdraw(&mut self, id: ReservationId) {
        self.free(id);
        self.free_memory(id);
    }

    fn snapshot(&self) -> Self::Snapshot {
        (self.tables.snapshot(), self.memory.used().clone(), self.processor.used())
    }
}
