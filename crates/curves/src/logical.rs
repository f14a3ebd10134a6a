//! Total flow analysis from the logical arrivals of one flow.
//!
//! A message `k` of a flow with one each `I`, by its first limit, arrives at `a_k`, and its
//! deadline counts from its logical arrival `ℓ_k = max(a_k, ℓ_{k−1} + I)`. So what the flow itself
//! sends ahead is no delay to it.
//!
//! *At a server.* Let `ℓ_k ≥ b_k` for all arrivals `b_k` of frames of message `k` at a FIFO queue, the
//! `ℓ_k` being `I` apart at least. A frame of message `k` that arrives at `b ≤ ℓ_k` leaves as soon as all is
//! served that arrived in `[s, b]`, for some `s ≤ b` from which the service curve `β` counts. Let
//! `Δ = ℓ_k − s`. Others sent at most `α(b − s) ≤ α(Δ)`, and a link before the queue no more than it carries
//! in `Δ`. The flow's own messages in `[s, b]` have logical arrivals in `[s, ℓ_k]`, because messages keep
//! their order. They are `1 + ⌊Δ/I⌋` at most, whatever the burst and the jitter. So the frame has left by
//! `s + β⁻¹(A(Δ))`, with `A` the arrivals of all where this flow has one message at once and no jitter. After
//! `ℓ_k` that is the horizontal deviation of `A` and `β`.
//!
//! *On a path.* If `D_1` is this deviation at the first server, message `k` is at the next by `ℓ_k + D_1`,
//! and these instants are `I` apart as well. So the deviations add up. The arrivals of the other flows
//! are those of the network as it is, with all bursts of this flow.
//!
//! Further limits of the flow itself are left out here. A shorter distance than `I` allows no fewer logical
//! arrivals, and with a longer one the other analyses compete.

use laxity_units::Span;

use crate::arrival::Bucket;
use crate::network::QueueNetwork;
use crate::total::Total;

/// Bounds by hop of `flow`, which passes no regulator, from its logical arrival at the server. `None` if it
/// has no contract of messages or is of a cyclic level, or if they are those of `total`.
pub(crate) fn delays(network: &QueueNetwork, total: &Total, flow: usize) -> Option<Vec<Span>> {
    let own = &network.flows[flow];
    let [Bucket::Frames { size, burst, interval }, ..] = own.source[..] else { return None };
    let jittered = total.jitter[flow].iter().any(|jitter| !jitter.is_zero());
    let cyclic = |&server: &usize| {
        let server = &network.servers[server];
        !server.fifo && server.cycle(own.level).is_some()
    };
    if burst == 1 && !jittered || own.path.iter().any(cyclic) {
        return None;
    }
    let (mut network, mut total) = (network.clone(), total.clone());
    network.flows[flow].source = vec![Bucket::Frames { size, burst: 1, interval }];
    total.jitter[flow].fill(Span::ZERO);
    let own = &network.flows[flow];
    let delay = |(hop, &server): (usize, &usize)| {
        let visits = &network.visits[server];
        let place = visits.iter().position(|visit| (visit.flow, visit.hop) == (flow, hop))?;
        let shares = total.shares(&network, server);
        let share = shares.iter().find(|share| share.visits.contains(&place))?;
        let start = share.start(own.shortest, own.longest)?;
        Some(start.saturating_add(network.servers[server].rate.time_for_ceil(own.shortest)))
    };
    own.path.iter().enumerate().map(delay).collect()
}
