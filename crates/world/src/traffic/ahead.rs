//! How far ahead of their time messages come to a station, by count.
//!
//! At most `a_0` messages of a channel are ahead of their logical arrival at the first station. Logical arrivals are `I_min` apart.
//!
//! * With `message_overflow = "best_effort"`, `a_0 = B`: the host gives a guarantee only to messages that the contract covers
//!   (`laxity_qos::traffic`), and what has no guarantee has no logical arrival.
//! * With `drop` and `block`, `a_0 = ∞`: the host queues a message beyond the contract whenever a slot is free, with a logical
//!   arrival that is further ahead each time. A host that works ahead has a free slot soon, and only a horizon limits the
//!   messages that leave the host: a channel with thirty times its rate and a horizon of one second came five hundred messages
//!   ahead (`exceeded/28`).
//!
//! Until the host gave guarantees by that rule, the same came of `best_effort` (`exceeded/30` and `31`).
//!
//! Past a horizon a message
//! is due at a station when its local deadlines at all stations before have passed, and it may have needed none of that: each adds what it was given, and what its way may be shorter. Only a station that
//! holds takes some of it back, for it lets nothing go that is further ahead than its horizon `H`. With `D_h` for the local deadline at hop `h` and what may be gained behind it,
//!
//! ```text
//! a_0 = B or ∞,    b_h = min(a_h, ⌈H_h/I⌉) if it holds, else a_h,    a_{h+1} = b_h + ⌈D_h/I⌉.
//! ```
//!
//! To a station that is behind one that holds messages come ahead by `D_h` but for `b_h`; where none held since, by the sum of what has been given to those.
//!
//! A relay whose adapter takes its time to say what has come counts from when it is told, and how late that is hangs on what comes there, which may have passed by here: so of what comes to one nothing is
//! said but that it lets no more go than its horizon has room for. What it was told of late was told at once: where interrupts are 100 ms apart fifty messages with 2 ms between them go on together, and
//! a port by rates behind the relay had counted five of them (`exceeded/26`).
//!
//! The horizon is that of whoever holds. A link that hands packets over as they are made has none of its own, and lets as many go as the CPU makes ahead: of a burst of fifty none was counted (`exceeded/27`).
//!
//! To say "at most a burst" of any but the first had 15 messages wait where there were places for 13 (`exceeded/23`), and two hundred interrupt a host that had counted on 103 (`exceeded/24`).

use laxity_admission::Early;
use laxity_qos::channel::MessageOverflow;
use laxity_units::Span;

use crate::experiment::{Adapter, ChannelSpec, Experiment};

/// How far ahead of their time messages of a channel come to a station of its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ahead {
    /// Before their logical arrival by a time, since the last station that holds, and but for those that it let go.
    early: Early,
    /// `a_h`: at all.
    come: u64,
}

impl Ahead {
    /// Where `channel` starts.
    pub(crate) fn first(channel: &ChannelSpec) -> Self {
        let come = match channel.message_overflow {
            MessageOverflow::BestEffort => u64::from(channel.spec.burst),
            MessageOverflow::Drop | MessageOverflow::Block => u64::MAX,
        };
        Self { early: Early::default(), come }
    }

    /// How early they come.
    pub(crate) fn early(self) -> Early {
        self.early
    }

    /// Behind the station of hop `at`, where they have come to, whose local deadline is no more than `local`.
    pub(crate) fn past(self, experiment: &Experiment, channel: &ChannelSpec, at: usize, local: Span) -> Self {
        let (station, interval) = (channel.route[at], channel.spec.min_interval);
        let gained = local.saturating_add(shorter(experiment, channel, at));
        let (early, let_go) = match experiment.holds(station) {
            true => {
                let go = self.come.min(experiment.horizon(station).div_ceil(interval));
                (Early { by: gained, ahead: go }, go)
            }
            // Of those that start here, and of what is told late, nothing is known but how many there are.
            false if at == 0 || !hears_at_once(experiment, channel, at) => {
                (Early { by: gained, ahead: self.come }, self.come)
            }
            false => (Early { by: self.early.by.saturating_add(gained), ..self.early }, self.come),
        };
        let come = match hears_at_once(experiment, channel, at + 1) {
            true => let_go.saturating_add(gained.div_ceil(interval)),
            false => u64::MAX,
        };
        Self { early, come }
    }
}

/// How early messages of `channel` come to hop `at` of its way; `local` says the local deadlines of the hops before.
pub(crate) fn early(
    experiment: &Experiment,
    channel: &ChannelSpec,
    at: usize,
    local: impl Fn(usize) -> Span,
) -> Early {
    let behind = |ahead: Ahead, hop| ahead.past(experiment, channel, hop, local(hop));
    (0..at).fold(Ahead::first(channel), behind).early()
}

/// What a message of `channel` may gain between the time at which it is due at `hop` of its way and when it is at the next, beside its local deadline there.
fn shorter(experiment: &Experiment, channel: &ChannelSpec, hop: usize) -> Span {
    let network = &experiment.networks[channel.ways[hop]];
    let head_start = experiment.head_start(channel, hop, experiment.packet());
    let (_, before) = experiment.shortest_way(channel, hop);
    network.longest_way().saturating_sub(network.propagation).saturating_add(head_start + before)
}

/// Whether the station of hop `at` hears of a frame of `channel` with its last bit.
fn hears_at_once(experiment: &Experiment, channel: &ChannelSpec, at: usize) -> bool {
    let station = channel.route[at];
    let link = || experiment.link_to(station, channel.ways[at - 1]);
    experiment.outlet(station).is_some() || matches!(experiment.adapter_of(station, link()), Adapter::Null(_))
}
