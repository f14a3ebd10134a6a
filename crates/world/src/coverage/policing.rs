//! Adapters that police contracts, and drop late packets.
//!
//! *Policing.* Let the messages of a channel, or the pieces of it that are messages of its
//! contract, count as arrived at its first host at `ℓ_0 ≤ ℓ_1 ≤ …`, `I_min` apart. That host works
//! ahead of them by `H` at most. A packet with a bound leaves each station no later than its
//! end-to-end deadline `D`, or arrives at its receiver a link later. So the packets that an adapter
//! there sees in an interval `δ` are of messages with `ℓ` in an interval of `δ + H + D`, of which
//! there are at most `(δ + H + D) / I_min + 1`, each of `M_max` bytes or fewer. A bucket of `B_max`
//! messages with a tolerance `τ` passes that if
//!
//! ```text
//! H + D ≤ (B_max − 1) I_min + τ,
//! ```
//!
//! so no channel with a bound exceeds its contract there. Otherwise a channel that keeps its
//! contract may lose packets.
//!
//! *Late* is a packet that is due at the end of its path before now. A packet with a bound is
//! through with each station of its path before that, and a packet without one is never due.
//! Suppose that a packet with a bound were dropped for lateness. The first such packet would be
//! late although no packet had been dropped before, which its bound excludes. A *margin* also drops
//! packets that may be in time, so there is no bound with a margin.

use laxity_model::adapter::{Description, LatePolicy, Policing};
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::reason::Uncovered;
use crate::experiment::{ChannelSpec, Experiment};

/// Refuses `node` if its adapter may take what keeps a contract for what exceeds it.
pub(super) fn lenient(
    experiment: &Experiment,
    node: usize,
    description: &Description,
) -> Result<(), Uncovered> {
    let Description { transmit, receive, transmit_policing, receive_policing, .. } = description;
    let mut queues = transmit.iter().chain(receive).flat_map(|stage| &stage.queues);
    if queues.any(|queue| queue.late == LatePolicy::Drop && !queue.margin.is_zero()) {
        return Err(Uncovered::DropsInTime);
    }
    let guaranteed = experiment.channels.iter().filter(|channel| channel.class == Class::RealTime);
    for (channel, hop) in guaranteed.flat_map(|channel| channel.passages(node).map(move |hop| (channel, hop)))
    {
        let sends = channel.goes_on_from(hop);
        let sees = |policing: &Option<Policing>, so: bool| policing.filter(|_| so);
        let policing = [sees(transmit_policing, sends), sees(receive_policing, hop > 0)];
        if policing.into_iter().flatten().any(|policing| !lets_through(experiment, channel, hop, policing)) {
            return Err(Uncovered::LittleTolerance);
        }
    }
    Ok(())
}

fn lets_through(experiment: &Experiment, channel: &ChannelSpec, hop: usize, policing: Policing) -> bool {
    let config = &experiment.host(channel.route[0]).subsystem;
    let ahead = config.early.horizon.max(config.link.early.horizon);
    let Some(deadline) = channel.deadline else { return false };
    // The deadline may end with the last transmission, where no analysis covers the receiver.
    let way = if channel.goes_on_from(hop) { Span::ZERO } else { experiment.longest_way(channel, hop - 1) };
    let late = deadline.saturating_add(way);
    let burst = channel.spec.min_interval.saturating_mul(u64::from(channel.spec.burst) - 1);
    ahead < Span::MAX && ahead.saturating_add(late) <= burst.saturating_add(policing.tolerance)
}
