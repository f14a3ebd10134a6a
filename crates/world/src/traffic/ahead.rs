//! How many early messages may be at a station.
//!
//! At most `a_0` messages of a channel are ahead of their logical arrival at the first station.
//! Logical arrivals are `I_min` apart.
//!
//! * A source that keeps its contract has `a_0 = B − 1`: from the last message on that arrived at its
//!   logical arrival, `B + ⌊t/I⌋` arrive within `t`, and `1 + ⌊t/I⌋` of them are due. A period that is
//!   rounded puts a message a picosecond before.
//! * With `message_overflow = "best_effort"`, `a_0 = B`: the host gives a guarantee only to
//!   messages that the contract covers (`laxity_qos::traffic`), and a message without a guarantee
//!   has no logical arrival.
//! * With `drop` and `block`, `a_0 = ∞`: the host queues a message beyond the contract whenever a
//!   slot is free, with a logical arrival that is further ahead each time. A host that works ahead
//!   has a free slot soon, and only a horizon limits the messages that leave the host: a channel
//!   with thirty times its rate and a horizon of one second was five hundred messages ahead
//!   (`exceeded/28`).
//!
//! Until the host gave guarantees by that rule, `best_effort` had the same effect (`exceeded/30`
//! and `31`).
//!
//! Past a horizon a message is due at a station when its local deadlines at all stations before
//! have passed. It may have needed none of that: each station adds its local deadline and the
//! variation of its path delay. Only a station that holds packets takes some of it back, for it
//! releases no message that is further ahead than its horizon `H`. With `D_h` for the local
//! deadline at hop `h` and the possible gain behind it,
//!
//! ```text
//! a_0 = B or ∞,    b_h = min(a_h, ⌈H_h/I⌉) if it holds, else a_h,    a_{h+1} = b_h + ⌈D_h/I⌉.
//! ```
//!
//! At a station behind one that holds packets, messages are ahead by `D_h` except for `b_h`; where
//! no station has held since, by the sum of the `D_h` since.
//!
//! A relay of which the adapter notifies it late counts from the notification. That lateness
//! depends on the arrivals there, which may include messages that have passed here. So for messages
//! at such a relay only its horizon limits the number that it releases. Messages of one late
//! notification are noticed at once: where interrupts are 100 ms apart fifty messages with 2 ms
//! between them go on together, and a rate-based port behind the relay had counted five of them
//! (`exceeded/26`).
//!
//! The horizon is that of the station that holds. A link that hands packets over as they are made
//! has none of its own, and releases as many as the CPU makes ahead: of a burst of fifty none was
//! counted (`exceeded/27`).
//!
//! With "at most a burst" for any station but the first, 15 messages waited where there were slots
//! for 13 (`exceeded/23`), and two hundred interrupted a host that had counted on 103
//! (`exceeded/24`).

use laxity_admission::Early;
use laxity_qos::channel::MessageOverflow;
use laxity_units::Span;

use super::conformance::keeps_contract;
use crate::experiment::{AdapterSpec, ChannelSpec, Experiment};

/// How far ahead of their time messages of a channel arrive at a station of its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ahead {
    /// Before their logical arrival by a time, since the last station that holds, and but for those
    /// that it let go.
    early: Early,
    /// `a_h`: at all.
    come: u64,
}

impl Ahead {
    /// Where `channel` starts.
    pub(crate) fn first(experiment: &Experiment, channel: &ChannelSpec) -> Self {
        let burst = u64::from(channel.spec.burst);
        let come = match channel.message_overflow {
            _ if keeps_contract(experiment, channel) => burst - 1,
            MessageOverflow::BestEffort => burst,
            MessageOverflow::Drop | MessageOverflow::Block => u64::MAX,
        };
        Self { early: Early::default(), come }
    }

    /// How early they arrive.
    pub(crate) fn early(self) -> Early {
        self.early
    }

    /// How early they are sent, where the channel starts.
    pub(crate) fn sent(self) -> Early {
        Early { by: Span::ZERO, ahead: self.come }
    }

    /// Behind the station of hop `at`, where they are now, of which the local deadline is no more
    /// than `local`.
    pub(crate) fn past(self, experiment: &Experiment, channel: &ChannelSpec, at: usize, local: Span) -> Self {
        let (station, interval) = (channel.route[at], channel.spec.min_interval);
        let gained = local.saturating_add(shorter(experiment, channel, at));
        let (early, let_go) = match experiment.holds(station) {
            true => {
                let go = self.come.min(experiment.horizon(station).div_ceil(interval));
                (Early { by: gained, ahead: go }, go)
            }
            // For messages that start here, and for late notices, only their number is known.
            false if at == 0 || !hears_at_once(experiment, channel, at) => {
                let rounded = gained.saturating_add(Span::from_ps(1));
                (Early { by: rounded, ahead: self.come }, self.come)
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

/// How early messages of `channel` arrive at hop `at` of its path; `local` gives the local
/// deadlines of the hops before.
pub(crate) fn early(
    experiment: &Experiment,
    channel: &ChannelSpec,
    at: usize,
    local: impl Fn(usize) -> Span,
) -> Early {
    let behind = |ahead: Ahead, hop| ahead.past(experiment, channel, hop, local(hop));
    (0..at).fold(Ahead::first(experiment, channel), behind).early()
}

/// The possible gain of a message of `channel` between its due time at `hop` of its path and its
/// arrival at the next, beside its local deadline there.
fn shorter(experiment: &Experiment, channel: &ChannelSpec, hop: usize) -> Span {
    let network = &experiment.networks[channel.ways[hop]];
    let head_start = experiment.head_start(channel, hop, experiment.packet());
    let (_, before) = experiment.shortest_way(channel, hop);
    network.longest_way().saturating_sub(network.propagation).saturating_add(head_start + before)
}

/// Whether the station of hop `at` hears of a frame of `channel` with its last bit.
fn hears_at_once(experiment: &Experiment, channel: &ChannelSpec, at: usize) -> bool {
    let station = channel.route[at];
    let is_null = |link| matches!(experiment.adapter_of(station, link), AdapterSpec::Null(_));
    experiment.outlet(station).is_some() || experiment.link_in(channel, at).is_some_and(is_null)
}
