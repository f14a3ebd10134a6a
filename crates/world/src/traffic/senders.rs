//! Arrivals from a station over a network, by their senders.
//!
//! *Guaranteed channels* keep their contract at every hop. Message `k` of a channel is at this host
//! by its logical arrival `ℓ_k` here, and not before `ℓ_k − E`, except for `a` messages that went
//! ahead (within a horizon, of those that were early themselves: `ahead.rs`). The stations before
//! hold early messages, and from there `E` is their local deadlines and the variation of the path
//! delay. Logical arrivals are `I_min` apart, so with `N` packets in a message at most this number
//! arrives in `Δ`:
//!
//! ```text
//! N (⌈(Δ + E)/I⌉ + 1 + a) ≤ ⌈Δ N/I⌉ + N (⌈E/I⌉ + 2 + a)                      (1)
//! ```
//!
//! Local deadlines are not known before all are admitted, but none is longer than the requested
//! one.
//!
//! *Best effort* was made and started by a host, which bounds it by (1) of `departures.rs`, and
//! waited in ports. Ports forward their arrivals and their stored frames, which fit their memory.
//! With `Q_p` frames for each port `p` on a path of best effort to this host, and `J` for the time
//! by which its paths push frames together,
//!
//! ```text
//! frames ≤ Σ_p Q_p + Σ_hosts departures(Δ + J).                             (2)
//! ```

use std::collections::{BTreeMap, BTreeSet};

use laxity_admission::station::FrameSenders;
use laxity_qos::channel::MessageOverflow;
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span};

use super::ahead;
use super::departures::{Departures, comes_by};
use crate::experiment::{ChannelSpec, Experiment, Task};

/// Arrivals from a station over a network, by sender.
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
    /// The same after a path that pushes frames together by that time.
    pub(crate) fn pushed(self, by: Span) -> FrameSenders {
        let of = |all: Vec<Departures>| all.into_iter().map(|one| one.pushed(by).into()).collect();
        FrameSenders { guaranteed: of(self.guaranteed), others: of(self.others), sizes: self.sizes }
    }
}

/// By (1) and (2); `None` where they do not bound the frames of some sender.
pub(crate) fn by_sender(experiment: &Experiment, node: usize, from: (usize, usize)) -> Option<BySender> {
    // The number of copies is not known yet.
    if matches!(experiment.task, Task::Fill(_)) {
        return None;
    }
    let mut guaranteed = Vec::new();
    // Best effort: its senders, how far its paths push frames together, and its ports, with its
    // smallest and largest frames.
    let mut hosts: BTreeMap<usize, Span> = BTreeMap::new();
    let (mut ports, mut sizes) = (BTreeSet::new(), (Bytes::new(u64::MAX), Bytes::ZERO));
    let comes = experiment
        .channels
        .iter()
        .flat_map(|channel| comes_by(channel, node, from).map(move |at| (channel, at)));
    for (channel, at) in comes {
        let (sender, before) = channel.route[..at].split_first()?;
        // Without traffic enforcement declarations need not hold.
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
            let largest = channel.spec.largest_packet(experiment.packet());
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
