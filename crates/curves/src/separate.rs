//! Separate flow analysis: the service that all servers of a path leave to one flow.
//!
//! At a FIFO server with a rate-latency service `(R, T)` and other traffic within a token bucket
//! `(b, r)`, a flow has the rate-latency service `(R − r, T + b / R)` (Le Boudec and Thiran 2001,
//! proposition 6.2.1 and the example after it). The services of a path in a row are again one such
//! service, with the sum of latencies and the least rate (theorem 1.4.6), so the burst of the flow
//! is paid once. Each server but the last makes frames whole, which costs one frame at the rate
//! left (theorem 1.7.1).
//!
//! Each line of the other traffic is such a bucket. That of long windows leaves the most. Where
//! flows have several limits, it can have a far larger burst than another line, so a second choice
//! takes the best line of each server for one burst of the flow.

use laxity_units::{Bytes, Span};

use crate::arrival::{Line, picobits};
use crate::network::Visit;
use crate::service::{Piece, Service};
use crate::tree::Shares;

/// Bound of the whole path of `flow`, without propagation; `None` if this analysis has none.
pub(crate) fn bound(shares: &mut Shares<'_>, flow: usize) -> Option<Span> {
    let (network, total) = (shares.network, shares.total);
    let spec = &network.flows[flow];
    let first = Visit { flow, hop: 0, level: spec.level, from: spec.entry };
    let own = total.link(network, spec.entry, &[first]);
    let frame = picobits(spec.longest);
    let mut others = Vec::new();
    for &server in &spec.path {
        let visits = &network.visits[server][shares.at(server, spec.level)?.visits.clone()];
        let visits: Vec<Visit> = visits.iter().filter(|visit| visit.flow != flow).copied().collect();
        others.push(total.arrivals(network, &visits));
    }
    let mut least = |all: bool| {
        let (mut latency, mut rate) = (0_u128, u128::MAX);
        for (hop, (&server, others)) in spec.path.iter().zip(&others).enumerate() {
            let share = shares.at(server, spec.level)?;
            let left = |(line, piece): (&Line, &Piece)| {
                let left = piece.rate.checked_sub(line.rate);
                let left = left.filter(|&left| left > 0 && left >= own.last().rate)?;
                let behind = if hop + 1 < spec.path.len() { frame.div_ceil(left) } else { 0 };
                let late = line.burst.saturating_add(piece.debt).div_ceil(piece.rate);
                Some((late.saturating_add(behind), left))
            };
            let lines = if all { others.lines() } else { &[others.last()][..] };
            let pieces = share.service.as_ref()?.pieces();
            let pairs = lines.iter().flat_map(|line| pieces.iter().map(move |piece| (line, piece)));
            let (late, left) = pairs
                .filter_map(left)
                .min_by_key(|(late, left)| late.saturating_add(own.at(0).div_ceil(*left)))?;
            latency = latency.saturating_add(late);
            rate = rate.min(left);
        }
        Service::rate_latency(rate, latency).start(&own, Bytes::ZERO)
    };
    let several = network.flows.iter().any(|flow| flow.source.len() > 1);
    [least(false), several.then(|| least(true)).flatten()].into_iter().flatten().min()
}
