//! How far ahead of their time messages come to a station, by count.
//!
//! A channel may send a burst of `B` messages at once, whose logical arrivals are `I_min` apart: so many are ahead at the first station, and no more. Past it a message
//! is due at a station when its local deadlines at all stations before have passed, and it may have needed none of that: each adds what it was given, and what its way may be shorter. Only a station that
//! holds takes some of it back, for it lets nothing go that is further ahead than its horizon `H`. With `D_h` for the local deadline at hop `h` and what may be gained behind it,
//!
//! ```text
//! a_0 = B,    a_{h+1} = min(a_h, ⌈H_h/I⌉ if it holds) + ⌈D_h/I⌉.
//! ```
//!
//! A relay whose adapter takes its time to say what has come counts from when it is told, and how late that is hangs on what comes there, which may have passed by here: so of what comes to one nothing is
//! said but that it lets no more go than its horizon has room for.
//!
//! To say "at most a burst" of any but the first had 15 messages wait where there were places for 13 (`exceeded/23`), and two hundred interrupt a host that had counted on 103 (`exceeded/24`).

use laxity_qos::admission::Early;
use laxity_units::Span;

use crate::experiment::{Adapter, ChannelSpec, Experiment};

/// What a message of `channel` may gain between the time at which it is due at `hop` of its way and when it is at the next, beside its local deadline there.
pub(super) fn shorter(experiment: &Experiment, channel: &ChannelSpec, hop: usize) -> Span {
    let network = &experiment.networks[channel.ways[hop]];
    let head_start = experiment.head_start(channel, hop, experiment.packet());
    network.longest_way().saturating_sub(network.propagation).saturating_add(head_start)
}

/// Messages that go on from `station` ahead of their time, of so many that come to it.
pub(super) fn let_go(experiment: &Experiment, channel: &ChannelSpec, station: usize, come: u64) -> u64 {
    come.min(experiment.horizon(station).div_ceil(channel.spec.min_interval))
}

/// How early messages of `channel` come to hop `at` of its way: since the last station that holds, and but for those that it let go; `local` says the local deadlines of
/// the hops before.
pub(super) fn early(
    experiment: &Experiment,
    channel: &ChannelSpec,
    at: usize,
    local: impl Fn(usize) -> Span,
) -> Early {
    let mut early = Early::default();
    for hop in (0..at).rev() {
        let station = channel.route[hop];
        early.by = early.by.saturating_add(local(hop)).saturating_add(shorter(experiment, channel, hop));
        if hop == 0 || experiment.holds(station) {
            let come = come(experiment, channel, hop, &local);
            early.ahead = let_go(experiment, channel, station, come);
            break;
        }
    }
    early
}

/// Messages of `channel` that may come ahead of their time to hop `at` of its way; `local` says the local deadlines of the hops before.
fn come(experiment: &Experiment, channel: &ChannelSpec, at: usize, local: impl Fn(usize) -> Span) -> u64 {
    let mut ahead = u64::from(channel.spec.burst);
    for hop in 0..at {
        let station = channel.route[hop];
        if experiment.holds(station) {
            ahead = let_go(experiment, channel, station, ahead);
        }
        let gained = local(hop).saturating_add(shorter(experiment, channel, hop));
        ahead = match hears_at_once(experiment, channel, hop + 1) {
            true => ahead.saturating_add(gained.div_ceil(channel.spec.min_interval)),
            false => u64::MAX,
        };
    }
    ahead
}

/// Whether the station of hop `at` hears of a frame of `channel` with its last bit.
fn hears_at_once(experiment: &Experiment, channel: &ChannelSpec, at: usize) -> bool {
    let station = channel.route[at];
    let link = || experiment.link_to(station, channel.ways[at - 1]);
    experiment.outlet(station).is_some() || matches!(experiment.adapter_of(station, link()), Adapter::Null(_))
}
