//! Total flow analysis: a delay bound for each level of each server.
//!
//! All frames of a level at a server have one bound, the horizontal deviation of all their arrivals
//! from the service (Cruz 1991; Le Boudec and Thiran 2001, theorem 1.4.2). Three facts make it
//! tighter than that theorem alone:
//!
//! - Frames that share a link upstream arrive one after the other (line shaping: Mifdaoui and
//!   Leydier 2017).
//! - A frame arrives with its last bit. The packetiser that makes it whole adds no delay to its
//!   frames (Le Boudec and Thiran 2001, theorem 1.7.1), so no term is paid for it at each hop.
//! - Frames of a flow are shifted against each other by the difference of longest and shortest
//!   delay, and no frame passes a link faster than in its transmission time.
//!
//! Servers on a ring depend on each other. The least fixed point from below is a bound if it is
//! finite (Thomas, Le Boudec and Mifdaoui 2019, theorem 5).

use std::collections::BTreeMap;

use laxity_units::{Bytes, Span};

use crate::arrival::Arrival;
use crate::network::{Network, Server, Visit};
use crate::service::Service;

/// Rounds over a ring before the analysis gives up.
const ROUNDS: usize = 2000;

/// Per-hop bounds of every flow.
#[derive(Debug, Clone)]
pub(crate) struct Total {
    /// By flow and hop: how far frames can be shifted against each other when they arrive there.
    pub(crate) jitter: Vec<Vec<Span>>,
    /// By flow and hop: longest time from the arrival to the end of the transmission.
    pub(crate) delay: Vec<Vec<Span>>,
    /// By flow: hops from the source for which the bounds hold; those beyond have none.
    pub(crate) valid: Vec<usize>,
}

/// A level at a server: its traffic, what it gets, and its frames.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    /// Visits of the level, as a range of the visits of the server.
    pub(crate) visits: std::ops::Range<usize>,
    pub(crate) arrival: Arrival,
    pub(crate) service: Option<Service>,
    pub(crate) longest: Bytes,
}

impl Total {
    /// Bounds of all flows of `network`.
    pub(crate) fn of(network: &Network) -> Self {
        let per_hop = || network.flows.iter().map(|flow| vec![Span::ZERO; flow.path.len()]).collect();
        let valid = network.flows.iter().map(|flow| flow.path.len()).collect();
        let mut total = Self { jitter: per_hop(), delay: per_hop(), valid };
        for (jitter, flow) in total.jitter.iter_mut().zip(&network.flows) {
            jitter[0] = flow.jitter;
        }
        let (order, ring) = network.order();
        for server in order {
            total.visit(network, server);
        }
        for _ in 0..ROUNDS {
            let mut changed = false;
            for &server in &ring {
                changed |= total.visit(network, server);
            }
            if !changed {
                return total;
            }
        }
        for server in ring {
            total.refuse(&network.visits[server]);
        }
        total
    }

    /// Bounds at `server` from the arrivals there; whether one grew.
    fn visit(&mut self, network: &Network, server: usize) -> bool {
        let mut changed = false;
        let Server { rate, peak, .. } = network.servers[server];
        let visits = &network.visits[server];
        for share in self.shares(network, server) {
            let visits = &visits[share.visits];
            let mut starts: BTreeMap<Bytes, Option<Span>> = BTreeMap::new();
            for visit in visits {
                let own = network.flows[visit.flow].shortest;
                let start =
                    *starts.entry(own).or_insert_with(|| share.service.as_ref()?.start(&share.arrival, own));
                let Some(start) = start else {
                    changed |= self.refuse(&[*visit]);
                    continue;
                };
                let delay = start.saturating_add(rate.time_for_ceil(own));
                let (flow, hop) = (visit.flow, visit.hop);
                changed |= delay > self.delay[flow][hop];
                self.delay[flow][hop] = delay;
                if let Some(next) = self.jitter[flow].get(hop + 1).copied() {
                    let fastest = peak.time_for_ceil(own).saturating_sub(Span::from_ps(1));
                    let slower = if peak == rate { Span::ZERO } else { rate.time_for_ceil(own) - fastest };
                    let jitter = self.jitter[flow][hop].saturating_add(start).saturating_add(slower);
                    changed |= jitter > next;
                    self.jitter[flow][hop + 1] = jitter;
                }
            }
        }
        changed
    }

    /// Takes the bounds from `visits` and from all hops behind them; whether there were bounds.
    fn refuse(&mut self, visits: &[Visit]) -> bool {
        let mut changed = false;
        for visit in visits {
            changed |= self.valid[visit.flow] > visit.hop;
            self.valid[visit.flow] = self.valid[visit.flow].min(visit.hop);
        }
        changed
    }

    /// The levels at `server`, the most urgent first.
    ///
    /// A level has no service if it or a more urgent level has an arrival without a bound.
    pub(crate) fn shares(&self, network: &Network, server: usize) -> Vec<Share> {
        let Server { rate, latency, below, .. } = network.servers[server];
        let visits = &network.visits[server];
        let mut shares = Vec::new();
        let mut known = true;
        let mut end = 0;
        while let Some(first) = visits.get(end) {
            let above = self.arrivals(network, &visits[..end]);
            let start = end;
            end += visits[start..].partition_point(|visit| visit.level == first.level);
            let own = &visits[start..end];
            known &= own.iter().all(|visit| self.valid[visit.flow] >= visit.hop);
            let lower = longest(network, &visits[end..]).max(below);
            let service = known.then(|| Service::left(rate, latency, &above, lower)).flatten();
            let arrival = self.arrivals(network, own);
            shares.push(Share { visits: start..end, arrival, service, longest: longest(network, own) });
        }
        shares
    }

    /// The arrival curve of a flow at a hop.
    pub(crate) fn arrival(&self, network: &Network, visit: &Visit) -> Arrival {
        Arrival::of(&network.flows[visit.flow].source, self.jitter[visit.flow][visit.hop])
    }

    /// The traffic of all `visits`, with those from one link limited by it.
    pub(crate) fn arrivals(&self, network: &Network, visits: &[Visit]) -> Arrival {
        let mut links: BTreeMap<Option<usize>, Vec<Visit>> = BTreeMap::new();
        for visit in visits {
            links.entry(visit.from).or_default().push(*visit);
        }
        let links: Vec<Arrival> =
            links.iter().map(|(from, visits)| self.link(network, *from, visits)).collect();
        Arrival::sum(&links)
    }

    /// The traffic of `visits`, all from one link or all from their sources.
    pub(crate) fn link(&self, network: &Network, from: Option<usize>, visits: &[Visit]) -> Arrival {
        let curves: Vec<Arrival> = visits.iter().map(|visit| self.arrival(network, visit)).collect();
        let sum = Arrival::sum(&curves);
        match from {
            Some(from) => sum.shaped(network.servers[from].peak, longest(network, visits)),
            None => sum,
        }
    }
}

/// The longest frame of `visits`.
pub(crate) fn longest(network: &Network, visits: &[Visit]) -> Bytes {
    visits.iter().map(|visit| network.flows[visit.flow].longest).max().unwrap_or_default()
}
