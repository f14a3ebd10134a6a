//! Frames of a slow link behind faster ones.
//!
//! Frames leave a link one after the other. A faster link behind it brings two of them closer together by
//! no more than its queue delays the first one longer than the second. Take all flows that share the link
//! and the servers `q` from there on, and let `S` limit what they send into the first of these servers:
//! the sum of their curves, and the rate of the link with one frame. Each of their frames is at server `q`
//! for a time between `d_q`, the transmission of the shortest, and `D_q`, the longest bound on the delay.
//! Frames that leave the last server in a window of `t` arrived at the first one in a window of
//! `t + Σ (D_q − d_q)`. So they are
//!
//! ```text
//! S(t + Σ_q (D_q − d_q)) at most.
//! ```
//!
//! The slowest link of each path counts, of equal ones the last. Links before it are part of `S`. A regulator
//! between releases frames of one link together, and a multicast of which two copies part there has frames
//! that do not go on: such flows count by themselves.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use laxity_units::Span;

use crate::arrival::Arrival;
use crate::network::{Flow, QueueNetwork, Visit};
use crate::total::{Total, shortest};

/// A link, and the servers from behind it to those that send the flows of a group.
type Behind<'a> = (usize, &'a [usize]);

impl Total {
    /// The sum of the curves of `visits`, which server `from` sends, where those of a slower link together
    /// are limited by it.
    pub(crate) fn behind_slow_links(&self, network: &QueueNetwork, from: usize, visits: &[Visit]) -> Arrival {
        let mut groups: BTreeMap<Option<Behind<'_>>, Vec<Visit>> = BTreeMap::new();
        for visit in visits {
            let behind = slow_link(network, from, visit);
            let servers = |(link, first)| (link, &network.flows[visit.flow].path[first..visit.hop]);
            groups.entry(behind.map(servers)).or_default().push(*visit);
        }
        let group = |(behind, visits): (&Option<Behind<'_>>, &Vec<Visit>)| {
            let each = self.flows(network, visits);
            match behind {
                Some((link, servers)) => each.least_of(self.spaced(network, (*link, servers), visits)),
                None => each,
            }
        };
        let groups: Vec<Arrival> = groups.iter().map(group).collect();
        Arrival::sum(&groups)
    }

    /// The traffic of `visits` by what the slow link lets into the first of the servers behind it.
    fn spaced(&self, network: &QueueNetwork, (link, servers): Behind<'_>, visits: &[Visit]) -> Arrival {
        let first = |visit: &Visit| Visit { hop: visit.hop - servers.len(), from: Some(link), ..*visit };
        let before: Vec<Visit> = visits.iter().map(first).collect();
        let shortest = shortest(network, visits);
        let shift = servers.iter().enumerate().map(|(place, server)| {
            let longest = before.iter().map(|visit| self.delay[visit.flow][visit.hop + place]).max();
            let fastest = network.servers[*server].peak.time_for_ceil(shortest);
            let fastest = fastest.saturating_sub(Span::from_ps(1));
            longest.unwrap_or_default().saturating_sub(fastest)
        });
        let shift = shift.fold(Span::ZERO, Span::saturating_add);
        self.link(network, Some(link), &before).late(u128::from(shift.as_ps()))
    }
}

/// The slowest link before server `from` on the path of `visit`, if it is slower than that of `from`, and
/// the hop at which frames arrive behind it.
fn slow_link(network: &QueueNetwork, from: usize, visit: &Visit) -> Option<(usize, usize)> {
    let Flow { path, entry, .. } = &network.flows[visit.flow];
    let peak = |link: usize| network.servers[link].peak;
    let entry = entry.filter(|_| visit.hop > 0).map(|link| (link, 0));
    let links = entry.into_iter().chain((1..visit.hop).map(|hop| (path[hop - 1], hop)));
    let slower = links.filter(|(link, first)| {
        let regulated = (*first..=visit.hop).any(|hop| network.regulates(visit.flow, hop));
        peak(*link) < peak(from) && !regulated && network.counts(visit.flow, *first)
    });
    slower.min_by_key(|(link, first)| (peak(*link), Reverse(*first)))
}
