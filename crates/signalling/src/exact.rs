//! A node with resources that are counted exactly, for tests and as the plainest example of
//! [`Resources`].
//!
//! A link serves by earliest deadline. A channel with service time `C` and local deadline `d` takes
//! `C / d` of the link, and all deadlines are met while the sum is at most 1 (the density test, Liu
//! and Layland's bound for EDF with `d ≤ I`). Sums are in integers, each part rounded up, so the
//! order of requests leaves no trace.

use std::collections::BTreeMap;

use laxity_units::{Bytes, Span};

use crate::contract::QuotaClaim;
use crate::identity::{NodeId, Port};
use crate::refusal::{Alternative, NodeResource, Shortage};
use crate::resources::{ChannelPlace, NodeRequest, Offer, ReservationId, Resources};

/// The whole of a link or of the CPU.
pub const WHOLE: u64 = 1_000_000_000;

/// The resources of an [`Exact`] node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    /// The links by neighbour: bytes per second, and the propagation delay.
    pub links: BTreeMap<NodeId, (u64, Span)>,
    /// CPU time for each message.
    pub cpu: Span,
    /// Packet and message buffers together, in messages.
    pub buffers: u64,
    /// Places of each queue for messages that are received.
    pub places: u64,
}

/// A node of which every reservation is a few numbers.
#[derive(Debug, Clone)]
pub struct Exact {
    capacity: Capacity,
    held: BTreeMap<ReservationId, HeldResources>,
    sums: Sums,
    next: u64,
}

/// The resources of one reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldResources {
    /// The next node and so the link; `None` at the destination.
    pub to: Option<NodeId>,
    /// The queue at the destination.
    pub port: Option<Port>,
    /// `C`: what a message takes on the link.
    pub service: Span,
    /// `I_min`, beyond which no deadline is used.
    pub interval: Span,
    /// The local deadline.
    pub deadline: Span,
    /// CPU time in parts of [`WHOLE`].
    pub cpu: u64,
    /// Buffers.
    pub buffers: u64,
}

/// The sums over all reservations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums {
    /// Per link, in parts of [`WHOLE`].
    pub links: BTreeMap<NodeId, u64>,
    /// In parts of [`WHOLE`].
    pub cpu: u64,
    /// Buffers.
    pub buffers: u64,
    /// Per queue, places.
    pub places: BTreeMap<Port, u64>,
}

impl HeldResources {
    /// The part of the link that it takes at `deadline`.
    fn density(&self, deadline: Span) -> u64 {
        let parts = u128::from(self.service.as_ps()) * u128::from(WHOLE);
        u64::try_from(parts.div_ceil(u128::from(deadline.as_ps().max(1)))).unwrap_or(u64::MAX)
    }
}

impl Sums {
    /// The sums over `held` from scratch.
    pub fn of<'a>(held: impl IntoIterator<Item = &'a HeldResources>) -> Self {
        let mut sums = Self::default();
        for held in held {
            sums.add(held);
        }
        sums
    }

    fn add(&mut self, held: &HeldResources) {
        if let Some(to) = held.to {
            *self.links.entry(to).or_default() += held.density(held.deadline);
        }
        if let Some(port) = held.port {
            *self.places.entry(port).or_default() += held.buffers;
        }
        self.cpu += held.cpu;
        self.buffers += held.buffers;
    }

    fn subtract(&mut self, held: &HeldResources) {
        if let Some(to) = held.to {
            take(&mut self.links, &to, held.density(held.deadline));
        }
        if let Some(port) = held.port {
            take(&mut self.places, &port, held.buffers);
        }
        self.cpu -= held.cpu;
        self.buffers -= held.buffers;
    }

    /// Whether all of it is there at `capacity`.
    pub fn fit(&self, capacity: &Capacity) -> bool {
        self.links.values().all(|sum| *sum <= WHOLE)
            && self.cpu <= WHOLE
            && self.buffers <= capacity.buffers
            && self.places.values().all(|sum| *sum <= capacity.places)
    }
}

/// Takes `amount` off the sum of `key`; a sum of zero is as if it had never been.
fn take<K: Ord>(sums: &mut BTreeMap<K, u64>, key: &K, amount: u64) {
    if let Some(sum) = sums.get_mut(key) {
        *sum -= amount;
        if *sum == 0 {
            sums.remove(key);
        }
    }
}

impl Exact {
    /// A node of that capacity with no reservation.
    pub fn new(capacity: Capacity) -> Self {
        Self { capacity, held: BTreeMap::new(), sums: Sums::default(), next: 0 }
    }

    /// The resources of the node.
    pub fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// Every reservation.
    pub fn held(&self) -> &BTreeMap<ReservationId, HeldResources> {
        &self.held
    }

    /// The sums that it keeps.
    pub fn sums(&self) -> &Sums {
        &self.sums
    }

    fn wants(&self, asked: &NodeRequest) -> Result<(HeldResources, Span), Shortage> {
        let ChannelPlace { from, to, port } = asked.place;
        let contract = &asked.contract;
        let (service, way) = match to.map(|to| self.capacity.links.get(&to)) {
            None => (Span::ZERO, Span::ZERO),
            Some(None) => return Err(Shortage::of(NodeResource::Route, 1)),
            Some(Some((speed, way))) => (transmission(contract.max_message, *speed), *way),
        };
        let cpu = u128::from(self.capacity.cpu.as_ps()) * u128::from(WHOLE);
        let cpu = cpu.div_ceil(u128::from(contract.min_interval.as_ps().max(1)));
        // A relay holds one message of the burst more: the one that comes in.
        let relayed = u64::from(from.is_some() && to.is_some());
        let held = HeldResources {
            to,
            port: to.is_none().then_some(port),
            service,
            interval: contract.min_interval,
            deadline: Span::MAX,
            cpu: u64::try_from(cpu).unwrap_or(u64::MAX),
            buffers: u64::from(contract.burst) + relayed,
        };
        Ok((held, way))
    }

    fn check(&self, held: &HeldResources, asked: &NodeRequest) -> Result<(), Shortage> {
        let over = |sum: u64, more: u64, most: u64| sum.saturating_add(more).saturating_sub(most);
        let interval = asked.contract.min_interval;
        let cpu = over(self.sums.cpu, held.cpu, WHOLE);
        if cpu > 0 {
            let left = WHOLE - self.sums.cpu;
            let slower = (left > 0).then(|| wider(self.capacity.cpu, left));
            let acceptable = slower.map_or(Alternative::Later, Alternative::Interval);
            return Err(Shortage::of(NodeResource::Cpu, cpu.div_ceil(WHOLE / 1_000_000)).but(acceptable));
        }
        let buffers = over(self.sums.buffers, held.buffers, self.capacity.buffers);
        if buffers > 0 {
            return Err(Shortage::of(NodeResource::Packets, buffers)
                .but(Alternative::shorter(asked.contract.burst, buffers)));
        }
        if let Some(port) = held.port {
            let used = self.sums.places.get(&port).copied().unwrap_or(0);
            let places = over(used, held.buffers, self.capacity.places);
            if places > 0 {
                let acceptable = Alternative::shorter(asked.contract.burst, places);
                return Err(Shortage::of(NodeResource::ReceivePlaces, places).but(acceptable));
            }
        }
        if let Some(to) = held.to {
            let used = self.sums.links.get(&to).copied().unwrap_or(0);
            let link = over(used, held.density(interval), WHOLE);
            if link > 0 {
                let left = WHOLE - used;
                let slower = (left > 0).then(|| wider(held.service, left));
                let acceptable = slower.map_or(Alternative::Later, Alternative::Interval);
                return Err(
                    Shortage::of(NodeResource::Link, link.div_ceil(WHOLE / 1_000_000)).but(acceptable)
                );
            }
        }
        Ok(())
    }

    /// The least deadline leaves half of what is left of the link to others, as long as that is
    /// before `I_min`.
    fn least(&self, held: &HeldResources) -> Span {
        let Some(to) = held.to else { return Span::ZERO };
        let used = self.sums.links.get(&to).copied().unwrap_or(0);
        wider(held.service, (WHOLE - used).div_ceil(2)).min(held.interval)
    }
}

/// The least span of which `service` takes `parts` at most.
fn wider(service: Span, parts: u64) -> Span {
    let span = (u128::from(service.as_ps()) * u128::from(WHOLE)).div_ceil(u128::from(parts.max(1)));
    Span::from_ps(u64::try_from(span).unwrap_or(u64::MAX))
}

fn transmission(size: Bytes, speed: u64) -> Span {
    let ps = (u128::from(size.get()) * 1_000_000_000_000).div_ceil(u128::from(speed.max(1)));
    Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}

impl Resources for Exact {
    type Snapshot = (Sums, Vec<HeldResources>);

    fn reserve(&mut self, asked: &NodeRequest) -> Result<Offer, Shortage> {
        let (held, way) = self.wants(asked)?;
        self.check(&held, asked)?;
        let least = self.least(&held);
        // A destination takes no link: any deadline is one of its own.
        let latest = if held.to.is_some() { held.interval } else { Span::ZERO };
        let held = HeldResources { deadline: least, ..held };
        let id = ReservationId(self.next);
        self.next += 1;
        self.sums.add(&held);
        self.held.insert(id, held);
        let bandwidth = held.to.map_or(0, |_| asked.contract.bandwidth());
        let claim =
            QuotaClaim { bandwidth, buffers: held.buffers, cpu: held.cpu.div_ceil(WHOLE / 1_000_000) };
        Ok(Offer { id, least, latest, way, claim })
    }

    fn commit(&mut self, id: ReservationId, deadline: Span) -> Result<(), Shortage> {
        let held = self.held.get_mut(&id).ok_or(Shortage::of(NodeResource::Agreement, 0))?;
        // A promise is only ever relaxed.
        if deadline < held.deadline {
            return Err(Shortage::of(NodeResource::Deadline, (held.deadline - deadline).as_ps()));
        }
        self.sums.subtract(held);
        held.deadline = deadline;
        self.sums.add(held);
        Ok(())
    }

    fn release(&mut self, id: ReservationId) {
        if let Some(held) = self.held.remove(&id) {
            self.sums.subtract(&held);
        }
    }

    fn snapshot(&self) -> Self::Snapshot {
        let mut held: Vec<HeldResources> = self.held.values().copied().collect();
        held.sort_unstable();
        (self.sums.clone(), held)
    }
}
