//! The number of packets of a channel that may be at a station: with that many buffer slots none is
//! lost.
//!
//! Where a channel starts its buffers are its own, and admission counts them
//! (`laxity_admission::Buffers`). At later stations a message may arrive early by the sum of four
//! parts: the earliness at the station before, its local deadline, the link's horizon, and the
//! variation of the path delay and the host's notice. It stays until its deadline here. Messages
//! are `I_min` apart, except those that were early at the station before and were released
//! (`traffic/ahead.rs`; Kandlur, Shin and Ferrari 1994 count buffers alike). A port before that
//! does not hold packets passes their earliness on.

use laxity_qos::channel::Role;
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::answer::Hop;
use crate::experiment::Experiment;
use crate::traffic::ahead;

/// Says at each of the `hops` of channel `i` how many of its packets there may be; `queues` are its other
/// hops.
pub(super) fn backlogs(
    experiment: &Experiment,
    i: usize,
    notices: &[Span],
    hops: &mut [Hop],
    queues: &[Hop],
) {
    let channel = &experiment.channels[i];
    let known: Vec<(usize, Span)> = hops.iter().chain(queues).map(|hop| (hop.hop, hop.kept)).collect();
    let local = |hop: usize| {
        let own = known.iter().find(|(of, _)| *of == hop).map(|(_, local)| *local);
        own.or(channel.deadline).unwrap_or(Span::MAX)
    };
    for hop in hops {
        hop.backlog = match hop.role {
            // Every packet that is made waits for one of these.
            Role::Send => channel.packet_slots,
            Role::Relay | Role::Receive => held(experiment, i, hop.hop, notices[hop.node], local),
        };
    }
}

/// Packets of channel `i` that the station of hop `at` of its path, past the first, may have to
/// hold. The station notices them up to `notice` late; `local` gives the local deadlines of the
/// hops up to this.
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
