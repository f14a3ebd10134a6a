//! Limits of what leaves a FIFO queue, which the burst of the same traffic does not raise.
//!
//! Jitter alone raises the burst of a flow by its rate times its longest delay. This delay contains the
//! wait behind earlier frames of the same flow, which brings no frames closer together. So a further limit
//! holds behind the queue (Le Boudec and Thiran 2001, theorem 6.2.2, here with frames).
//!
//! Some flows `G` of a queue keep a line `(b, r)` when they arrive, and the other flows of the queue keep a
//! curve `α`. The queue has a service of `R t − d`. In long windows `G` and the others have no higher rate
//! than `R`. Let `ℓ` be the longest frame of `G`. Behind the queue `G` keeps the line
//!
//! ```text
//! (b + r θ, r)  with  θ = (d + ℓ + β) / R  and  β = max_t (α(t) − (R − r) t).
//! ```
//!
//! *Proof.* Take an instant `s`, and a window of `w` behind it. The queue sent `R v − d` bits at least since
//! an instant `u = s − v`, of which all earlier arrivals have left by `s`. Let `a` be the last instant up to
//! which all arrivals have left by `s`. A frame on the link that is not of `G` counts as one that has left.
//! Let `y = a − u`, which is not negative. No more than `ℓ` bits are sent of a frame that counts as waiting,
//! and the other flows sent no more than `α(y) ≤ β + (R − r) y` since `u`. So `G` sent
//!
//! ```text
//! from u to s    N ≥ R v − d − ℓ − β − (R − r) y = R v − R θ − (R − r) y,
//! in the window  B ≤ b + r (w + v) − N,  as all of it arrived behind u,
//! and            B ≤ b + r (w + v − y),  as what is sent in the window arrived behind a.
//! ```
//!
//! Let `v = θ + (R − r) y / R + e`. If `e ≤ r y / R`, the last row gives `B ≤ b + r (w + θ)`. Otherwise the
//! row before it gives `B ≤ b + r (w + θ) − (R − r) (e − r y / R)`, which is no more.
//!
//! The limit holds for each flow, and for all flows together that go on to the same server. On and behind
//! a ring no server has it, because arrivals at a server depend there on what it sends.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::arrival::{Arrival, Line, picobits};
use crate::network::{QueueNetwork, Visit};
use crate::service::Service;
use crate::total::{Share, Total, longest};

/// Flows up to which a network has limits of each flow, and not only of flows together.
const FLOWS: usize = 200;

/// Next servers up to which a server of a larger network has limits.
const NEXT: usize = 8;

/// Limits of the output of servers.
#[derive(Debug, Clone)]
pub(crate) struct Outputs {
    /// By server, the next server and the level at the first: limits of all flows of the level.
    groups: BTreeMap<(usize, usize, u8), Vec<Line>>,
    /// By flow and hop: a limit of the flow when it arrives there, for each limit of its source. Empty in a
    /// network of too many flows.
    flows: Vec<Vec<Vec<Option<Line>>>>,
}

/// Traffic beside other traffic: what arrives in windows of some lengths, between which its curve is
/// straight, and its rate in long windows.
struct Others {
    /// The length, rounded down, and the amount, rounded up.
    turns: Vec<(u128, u128)>,
    rate: u128,
}

impl Others {
    fn of(curve: &Arrival) -> Self {
        let turns = std::iter::once((0, 0)).chain(curve.turns());
        Self { turns: turns.map(|(early, late)| (early, curve.at(late))).collect(), rate: curve.last().rate }
    }

    /// Most that arrives in a window beyond `rate` times its length, for a rate that is not lower than that
    /// of long windows.
    fn beyond(&self, rate: u128) -> u128 {
        let beyond = |(at, amount): &(u128, u128)| amount.saturating_sub(rate.saturating_mul(*at));
        self.turns.iter().map(beyond).max().unwrap_or(0)
    }
}

impl Outputs {
    /// No limits yet, of the flows of `network`.
    pub(crate) fn of(network: &QueueNetwork) -> Self {
        let flows = if network.flows.len() <= FLOWS { &network.flows[..] } else { &[] };
        let flows = flows.iter().map(|flow| vec![Vec::new(); flow.path.len()]).collect();
        Self { groups: BTreeMap::new(), flows }
    }

    /// Limits of the flow of `visit` by what the server before lets out.
    pub(crate) fn flow(&self, network: &QueueNetwork, visit: &Visit) -> impl Iterator<Item = Line> {
        self.each(network, visit).iter().flatten().copied()
    }

    /// The same by limit of the source; empty if there are none.
    fn each(&self, network: &QueueNetwork, visit: &Visit) -> &[Option<Line>] {
        match self.flows.get(visit.flow) {
            Some(hops) if !network.regulates(visit.flow, visit.hop) => &hops[visit.hop],
            _ => &[],
        }
    }

    /// Limits of the traffic of `visits`, all from server `from`, if they waited in one queue there. A
    /// copy that is made behind `from` is no part of the traffic of that queue.
    pub(crate) fn together(&self, network: &QueueNetwork, from: usize, visits: &[Visit]) -> &[Line] {
        let fifo = network.servers[from].fifo;
        let level = |visit: &Visit| if fifo { 0 } else { network.flows[visit.flow].level };
        let Some(first) = visits.first() else { return &[] };
        let waited = |visit: &Visit| visit.hop > network.flows[visit.flow].copy.map_or(0, |copy| copy.hops);
        if !visits.iter().all(|visit| waited(visit) && level(visit) == level(first)) {
            return &[];
        }
        let to = network.flows[first.flow].path[first.hop];
        self.groups.get(&(from, to, level(first))).map_or(&[], Vec::as_slice)
    }
}

impl Total {
    /// Notes the limits of what `server` lets out of the level of `share`.
    pub(crate) fn lets_out(&mut self, network: &QueueNetwork, server: usize, share: &Share) {
        let Some(service) = &share.service else { return };
        let visits = network.visits[server][share.visits.clone()].iter();
        let visits: Vec<Visit> = visits.filter(|v| network.counts(v.flow, v.hop)).copied().collect();
        if network.flows.len() <= FLOWS {
            self.lets_out_each(network, service, &visits);
        }
        let next = |visit: &Visit| network.flows[visit.flow].path.get(visit.hop + 1).copied();
        let mut groups: BTreeMap<usize, Vec<Visit>> = BTreeMap::new();
        for visit in &visits {
            if let Some(next) = next(visit) {
                groups.entry(next).or_default().push(*visit);
            }
        }
        if network.flows.len() > FLOWS && groups.len() > NEXT {
            return;
        }
        for (to, group) in groups {
            let others = visits.iter().filter(|visit| next(visit) != Some(to));
            let others = Others::of(&self.arrivals(network, &others.copied().collect::<Vec<_>>()));
            let frame = picobits(longest(network, &group));
            let own = self.arrivals(network, &group);
            let limits = own.lines().iter().filter_map(|line| behind(service, *line, &others, frame));
            let limits: Vec<Line> = limits.collect();
            if !limits.is_empty() {
                Rc::make_mut(&mut self.outputs).groups.insert((server, to, group[0].level), limits);
            }
        }
    }

    /// Notes the limits of each flow of `visits`, which are all that share `service`.
    fn lets_out_each(&mut self, network: &QueueNetwork, service: &Service, visits: &[Visit]) {
        let curves: Vec<Arrival> = visits.iter().map(|visit| self.arrival(network, visit)).collect();
        let all = Arrival::sum(&curves);
        let turns: Vec<(u128, u128)> = std::iter::once((0, 0)).chain(all.turns()).collect();
        let amounts: Vec<u128> = turns.iter().map(|turn| all.at(turn.1)).collect();
        for (visit, curve) in visits.iter().zip(&curves) {
            let beside =
                |(turn, amount): (&(u128, u128), &u128)| (turn.0, amount.saturating_sub(curve.at(turn.1)));
            let turns = turns.iter().zip(&amounts).map(beside).collect();
            let others = Others { turns, rate: all.last().rate.saturating_sub(curve.last().rate) };
            let frame = picobits(network.flows[visit.flow].longest);
            let before = self.outputs.each(network, visit);
            let jitter = self.jitter[visit.flow][visit.hop];
            let limits = network.limits(visit.flow, visit.hop).iter().enumerate().map(|(place, limit)| {
                let own = Arrival::of(&[*limit], jitter).last();
                let before = before.get(place).copied().flatten();
                let own = before.filter(|before| before.burst < own.burst).unwrap_or(own);
                behind(service, own, &others, frame)
            });
            let limits = limits.collect();
            if let Some(arrives) = Rc::make_mut(&mut self.outputs).flows[visit.flow].get_mut(visit.hop + 1) {
                *arrives = limits;
            }
        }
    }
}

/// The limit behind a queue with `service` of traffic within `own`, beside `others`.
fn behind(service: &Service, own: Line, others: &Others, frame: u128) -> Option<Line> {
    let stable = service.pieces().iter().filter(|piece| own.rate + others.rate <= piece.rate);
    let raised = stable.filter_map(|piece| {
        let others = others.beyond(piece.rate - own.rate);
        let amount = piece.debt.checked_add(frame)?.checked_add(others)?;
        own.burst.checked_add(own.rate.checked_mul(amount)?.div_ceil(piece.rate))
    });
    raised.min().map(|burst| Line { burst, rate: own.rate })
}
