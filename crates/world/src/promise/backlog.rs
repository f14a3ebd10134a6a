//! How many packets of a channel there may be at a station, so that with room for them none is lost.
//!
//! Where a channel starts its buffers are its own, and admission counts them (`laxity_admission::Buffers`). Past that a message may come ahead of its time by as much as the station before could
//! be early, its local deadline, the link's horizon and what the way and the host's notice of it may be shorter, and stays until its deadline here; messages are `I_min` apart, but for
//! those that came ahead to the station before and were let go (`traffic/ahead.rs`; Kandlur, Shin and Ferrari 1994 count buffers alike). Where a port before holds nothing, it hands on how early a message came.

use laxity_qos::channel::Role;
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::answer::Hop;
use crate::experiment::Experiment;
use crate::traffic::ahead;

/// Says at each of the `hops` of channel `i` how many of its packets there may be.
pub(super) fn backlogs(experiment: &Experiment, i: usize, notices: &[Span], hops: &mut [Hop]) {
    let channel = &experiment.channels[i];
    let known: Vec<(usize, Span)> = hops.iter().map(|hop| (hop.hop, hop.kept)).collect();
    let local = |hop: usize| {
        let own = known.iter().find(|(of, _)| *of == hop).map(|(_, local)| *local);
        own.or(channel.deadline).unwrap_or(Span::MAX)
    };
    for hop in hops {
        hop.backlog = match hop.role {
            // Whoever makes packets waits for one of these.
            Role::Send => channel.packet_slots,
            Role::Relay | Role::Receive => held(experiment, i, hop.hop, notices[hop.node], local),
        };
    }
}

/// Packets of channel `i` that the station of hop `at` of its way, past the first, may have to hold, who hears of them late by up to `notice`; `local` says the local deadlines of
/// the hops up to this.
pub(crate) fn held(
    experiment: &Experiment,
    i: usize,
    at: usize,
    notice: Span,
    local: impl Fn(usize) -> Span,
) -> u64 {
    let channel = &experiment.channels[i];
    if channel.class == Class::BestEffort || at == 0 {
        return 0;
    }
    let early = ahead::early(experiment, channel, at, &local);
    let stay = local(at).saturating_add(notice).saturating_add(early.by);
    let messages = stay.div_ceil(channel.spec.min_interval).saturating_add(early.ahead).saturating_add(2);
    messages.saturating_mul(channel.spec.fragmentation(experiment.packet()).packets())
}
