//! What comes from a station over a network, told apart by who sent it.
//!
//! *What has a guarantee* keeps to its contract at every hop. Message `k` of a channel is at this host by its logical arrival `ℓ_k` here, and, but for `a` messages that went ahead
//! (within a horizon, of those that came ahead themselves: `ahead.rs`), not before `ℓ_k − E`: the stations before hold what is early, and from there it is their local deadlines and what the way may be
//! shorter. Logical arrivals are `I_min` apart, so with `N` packets in a message there come in `Δ` at most
//!
//! ```text
//! N (⌈(Δ + E)/I⌉ + 1 + a) ≤ ⌈Δ N/I⌉ + N (⌈E/I⌉ + 2 + a)                      (1)
//! ```
//!
//! Local deadlines are not known before all are admitted, but none is longer than what is asked for.
//!
//! *What has none* was made and started by a host, which bounds it by (1) of `departures.rs`, and waited in ports. Those hand on what came to them and what they had, and have no
//! more than fits their memory. With `Q_p` frames for each port `p` on a way of best effort to this host, and `J` for what its ways push together,
//!
//! ```text
//! frames ≤ Σ_p Q_p + Σ_hosts departures(Δ + J).                             (2)
//! ```

use std::collections::{BTreeMap, BTreeSet};

use laxity_admission::station::Senders;
use laxity_qos::channel::MessageOverflow;
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span};

use super::ahead;
use super::departures::{Departures, comes_by};
use crate::experiment::{ChannelSpec, Experiment, Task};

/// What comes from a station over a network, by who sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BySender {
    /// By (1).
    pub(crate) guaranteed: Vec<Departures>,
    /// By (2).
    pub(crate) others: Vec<Departures>,
    /// The smallest and the largest of the others' frames.
    pub(crate) sizes: (Bytes, Bytes),
}

impl BySender {
    /// The same after a way on which frames are pushed together by so much.
    pub(crate) fn pushed(self, by: Span) -> Senders {
        let of = |all: Vec<Departures>| all.into_iter().map(|one| one.pushed(by).into()).collect();
        Senders { guaranteed: of(self.guaranteed), others: of(self.others), sizes: self.sizes }
    }
}

/// By (1) and (2); nothing where somebody's frames are not bounded so.
pub(crate) fn by_sender(experiment: &Experiment, node: usize, from: (usize, usize)) -> Option<BySender> {
    // Of copies nobody knows yet how many there will be.
    if matches!(experiment.task, Task::Fill(_)) {
        return None;
    }
    let mut guaranteed = Vec::new();
    // What has no guarantee: who sends it, how far it is pushed together on its way, and through which ports, with its smallest and largest frames.
    let mut hosts: BTreeMap<usize, Span> = BTreeMap::new();
    let (mut ports, mut sizes) = (BTreeSet::new(), (Bytes::new(u64::MAX), Bytes::ZERO));
    let comes = experiment
        .channels
        .iter()
        .flat_map(|channel| comes_by(channel, node, from).map(move |at| (channel, at)));
    for (channel, at) in comes {
        let (sender, before) = channel.route[..at].split_first()?;
        // Without traffic enforcement nothing is as it is declared.
        if !experiment.host(*sender).subsystem.enforcement {
            return None;
        }
        if channel.class == Class::RealTime {
            guaranteed.push(by_contract(experiment, channel, at)?);
        }
        if unguaranteed(channel) {
            if before.iter().any(|station| experiment.outlet(*station).is_none()) {
                return None;
            }
            let jitter =
                channel.ways[..at - 1].iter().map(|way| experiment.networks[*way].impairments.jitter);
            let pushed = jitter.fold(Span::ZERO, Span::saturating_add);
            let most = hosts.entry(*sender).or_default();
            *most = (*most).max(pushed);
            ports.extend(before.iter().copied());
            let largest = channel.spec.max_message.min(experiment.packet());
            sizes.0 = sizes.0.min(channel.spec.smallest_packet(experiment.packet()));
            sizes.1 = sizes.1.max(largest);
        }
    }
    let mut waiting = 0u64;
    for port in ports {
        let outlet = experiment.outlet(port)?;
        let room = outlet.config.memory.get().saturating_add(experiment.switches[outlet.switch].shared.get());
        waiting = waiting.saturating_add(room / sizes.0.get().max(1));
    }
    let mut others = Vec::new();
    for (host, pushed) in hosts {
        let counts = |channel: &ChannelSpec| {
            unguaranteed(channel)
                && channel.route[0] == host
                && comes_by(channel, node, from).next().is_some()
        };
        let departures = Departures::by_host(experiment, host, counts)?.pushed(pushed);
        others.push(Departures {
            burst: departures.burst.saturating_add(std::mem::take(&mut waiting)),
            ..departures
        });
    }
    let bounded = guaranteed.iter().chain(&others).all(|one| !one.interval.is_zero());
    bounded.then_some(BySender { guaranteed, others, sizes })
}

/// Frames of it, or of what exceeds its contract, have no guarantee.
fn unguaranteed(channel: &ChannelSpec) -> bool {
    channel.class == Class::BestEffort || channel.message_overflow == MessageOverflow::BestEffort
}

/// By (1), of `channel` at hop `at`.
pub(crate) fn by_contract(experiment: &Experiment, channel: &ChannelSpec, at: usize) -> Option<Departures> {
    // No local deadline is longer than the whole.
    let local = channel.deadline?;
    let interval = channel.spec.min_interval;
    let early = ahead::early(experiment, channel, at, |_| local);
    let packets = channel.spec.fragmentation(experiment.packet()).packets();
    let messages = early.by.div_ceil(interval).saturating_add(2).saturating_add(early.ahead);
    Some(Departures { burst: messages.saturating_mul(packets), interval: interval / packets.max(1) })
}
