//! Several servers by rates in a row that one host has: the stages of its adapter
//! ([`crate::station::Rated`] has the argument).
//!
//! Each has a speed of its own and all have the same flows, which fit if they fit at each. A burst
//! is paid for at the first, and behind it what a clock there adds
//! ([`Latency::of_next`](laxity_qos::discipline::Latency::of_next)), with the way between.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use laxity_units::{Bytes, Span};

use super::{Behind, ROUNDING, RateTable};
use crate::station::{Rated, RatedServer};
use laxity_qos::discipline::{Latency, Order, Sharing};

/// How late a flow is at a row of servers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Late {
    /// At the first, behind its clock.
    pub(super) latency: Latency,
    /// At those after it, and on the ways.
    pub(super) more: Span,
}

impl RateTable {
    /// The same for a row of stages; `sharing` gives the flows that share them and not their speed.
    pub(crate) fn of_stages(rated: Arc<Rated>, packet: Bytes, sharing: Sharing) -> Option<Self> {
        let RatedServer { order, speed, once } = *rated.servers().first()?;
        let table = Self::new(order, packet, Sharing { speed, ..sharing })?;
        Some(Self { row: Some(rated), ..table.before(Behind { depth: 1, once }) })
    }

    /// The servers after the first, each with the one before.
    fn further(&self) -> impl Iterator<Item = (&RatedServer, &RatedServer)> {
        let servers = self.row.iter().flat_map(|row| row.servers());
        servers.clone().zip(servers.skip(1))
    }

    /// The discipline with the last clock.
    pub(super) fn last(&self) -> Order {
        self.further().last().map_or(self.order, |(_, last)| last.order)
    }

    /// How late each flow is of `sharing`; `None` where that is not known.
    pub(super) fn latencies(&self, sharing: &Sharing) -> Vec<Option<Late>> {
        let way = self.row.as_ref().map_or(Span::ZERO, |row| row.way());
        let behind = self.behind(sharing);
        let first = |latency: Latency| Late { latency: latency.later_by(behind), more: way };
        let mut all: Vec<Option<Late>> =
            self.order.latencies(sharing).into_iter().map(|latency| latency.map(first)).collect();
        for (before, server) in self.further() {
            let latencies = server.order.latencies(&at(server, sharing));
            for ((late, latency), share) in all.iter_mut().zip(latencies).zip(&sharing.flows) {
                let next = |latency: Latency| {
                    let latency = latency.later_by(server.once);
                    latency.of_next(before.order.handed_on(share), share).saturating_add(ROUNDING)
                };
                *late = late
                    .zip(latency)
                    .map(|(late, latency)| Late { more: late.more.saturating_add(next(latency)), ..late });
            }
        }
        all
    }

    /// `sharing` at the first server that is not fast enough for it, if there is one.
    pub(super) fn overloaded(&self, sharing: &Sharing) -> Option<Sharing> {
        if !self.order.fits(sharing) {
            return Some(sharing.clone());
        }
        let all = self.further().map(|(_, server)| (server.order, at(server, sharing)));
        all.into_iter().find(|(order, sharing)| !order.fits(sharing)).map(|(_, sharing)| sharing)
    }

    /// Time of a packet where all that have a rate are counted together.
    pub(super) fn takes(&self, size: Bytes) -> Span {
        match self.row.as_ref().and_then(|row| row.alike()) {
            Some(open) => Span::from_ps(u64::try_from(open.charge(size)).unwrap_or(u64::MAX)),
            None => self.sharing.speed.transmit(size),
        }
    }
}

/// The same flows at `server`.
fn at(server: &RatedServer, sharing: &Sharing) -> Sharing {
    Sharing { speed: server.speed, ..sharing.clone() }
}
