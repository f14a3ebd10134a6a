//! Separate flow analysis: the service that all servers of a path leave to one flow.
//!
//! At a FIFO server with a rate-latency service `(R, T)` and other traffic within a token bucket
//! `(b, r)`, a flow has the rate-latency service `(R − r, T + b / R)` (Le Boudec and Thiran 2001,
//! proposition 6.2.1 and the example after it). The services of a path in a row are again one such
//! service, with the sum of latencies and the least rate (theorem 1.4.6), so the burst of the flow
//! is paid once. Each server but the last makes frames whole, which costs one frame at the rate
//! left (theorem 1.7.1).

use laxity_units::{Bytes, Span};

use crate::arrival::picobits;
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
    let mut latency = 0_u128;
    let mut rate = u128::MAX;
    for (hop, &server) in spec.path.iter().enumerate() {
        let mine = |visit: &Visit| visit.flow == flow;
        let share = shares.at(server, spec.level)?;
        let visits = &network.visits[server][share.visits.clone()];
        let others: Vec<Visit> = visits.iter().filter(|visit| !mine(visit)).copied().collect();
        let others = total.arrivals(network, &others).last();
        let left = |piece: &Piece| {
            let left =
                piece.rate.checked_sub(others.rate).filter(|&left| left > 0 && left >= own.last().rate)?;
            let behind = if hop + 1 < spec.path.len() { frame.div_ceil(left) } else { 0 };
            Some((others.burst.saturating_add(piece.debt).div_ceil(piece.rate).saturating_add(behind), left))
        };
        let pieces = share.service.as_ref()?.pieces();
        let (late, left) = pieces
            .iter()
            .filter_map(left)
            .min_by_key(|(late, left)| late.saturating_add(own.at(0).div_ceil(*left)))?;
        latency = latency.saturating_add(late);
        rate = rate.min(left);
    }
    Service::rate_latency(rate, latency).start(&own, Bytes::ZERO)
}
