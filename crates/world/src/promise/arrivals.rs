//! How many frames may come in at a host in a time: each is an interrupt, and may keep the adapter from what goes out.
//!
//! *By the link* they come from, they are as far apart as the shortest takes, and *by the host* at its other end they have to be made (`departures.rs`). At 25 Gbit/s
//! the first leaves nothing of a CPU, and of a port the second says nothing. There, and wherever it comes to less, they are told apart by who sent them.
//!
//! *What has a guarantee* keeps to its contract at every hop. Message `k` of a channel is at this host by its logical arrival `ℓ_k` here, and, but for `a` messages that went ahead
//! (within a horizon, at most a burst), not before `ℓ_k − E`: the stations before hold what is early, and from there it is their local deadlines and what the way may be
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

use laxity_qos::channel::MessageOverflow;
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span};

use super::departures::Departures;
use crate::coverage::{Uncovered, sources};
use crate::experiment::{ChannelSpec, Division, Experiment, Task};

/// What comes in at `node`, where each frame costs `cost`, and is pushed together with others by up to `notice` on its way through the adapter.
pub(super) fn arrivals(
    experiment: &Experiment,
    node: usize,
    cost: Span,
    notice: Span,
) -> Result<Vec<Departures>, Uncovered> {
    let mut all = Vec::new();
    for ((before, way), sizes) in sources(experiment, node) {
        let pushed = experiment.networks[way].impairments.jitter.saturating_add(notice);
        let together =
            Departures::of(experiment, (before, way), sizes, cost).map(|departures| vec![departures]);
        let apart = by_sender(experiment, node, (before, way));
        let less = match (&together, apart) {
            (Ok(together), Some(apart)) if busy(together, cost) <= busy(&apart, cost) => together.clone(),
            (_, Some(apart)) => apart,
            (_, None) => together?,
        };
        all.extend(less.into_iter().map(|departures| departures.pushed(pushed)));
    }
    Ok(all)
}

/// How long somebody is busy with all of these alone, where each takes him `cost`, in picoseconds.
fn busy(all: &[Departures], cost: Span) -> u128 {
    const PARTS: u128 = 1 << 40;
    let cost = u128::from(cost.as_ps());
    let rate: u128 =
        all.iter().map(|one| (cost * PARTS).div_ceil(u128::from(one.interval.as_ps()).max(1))).sum();
    let once: u128 = all.iter().map(|one| cost.saturating_mul(u128::from(one.burst))).sum();
    match PARTS.checked_sub(rate) {
        Some(free) if free > 0 => once.saturating_mul(PARTS) / free,
        _ => u128::MAX,
    }
}

/// By (1) and (2); nothing where somebody's frames are not bounded so.
pub(crate) fn by_sender(
    experiment: &Experiment,
    node: usize,
    from: (usize, usize),
) -> Option<Vec<Departures>> {
    // Of copies nobody knows yet how many there will be.
    if matches!(experiment.task, Task::Fill(_)) {
        return None;
    }
    let mut all = Vec::new();
    // What has no guarantee: who sends it, how far it is pushed together on its way, and through which ports, with its smallest frames.
    let mut hosts: BTreeMap<usize, Span> = BTreeMap::new();
    let (mut ports, mut smallest) = (BTreeSet::new(), Bytes::new(u64::MAX));
    for channel in &experiment.channels {
        let Some(at) = channel.hop(node).filter(|at| *at > 0) else { continue };
        if (channel.route[at - 1], channel.ways[at - 1]) != from {
            continue;
        }
        let (sender, before) = channel.route[..at].split_first()?;
        // Without traffic enforcement nothing is as it is declared.
        if !experiment.host(*sender).subsystem.enforcement {
            return None;
        }
        if channel.class == Class::RealTime {
            all.push(by_contract(experiment, channel, at)?);
        }
        if channel.class == Class::BestEffort || channel.message_overflow == MessageOverflow::BestEffort {
            if before.iter().any(|station| experiment.outlet(*station).is_none()) {
                return None;
            }
            let jitter =
                channel.ways[..at - 1].iter().map(|way| experiment.networks[*way].impairments.jitter);
            let pushed = jitter.fold(Span::ZERO, Span::saturating_add);
            let most = hosts.entry(*sender).or_default();
            *most = (*most).max(pushed);
            ports.extend(before.iter().copied());
            smallest = smallest.min(channel.spec.smallest_packet(experiment.packet()));
        }
    }
    let mut waiting = 0u64;
    for port in ports {
        let outlet = experiment.outlet(port)?;
        let room = outlet.config.memory.get().saturating_add(experiment.switches[outlet.switch].shared.get());
        waiting = waiting.saturating_add(room / smallest.get().max(1));
    }
    for (host, pushed) in hosts {
        let departures = Departures::by_host(experiment, host)?.pushed(pushed);
        all.push(Departures {
            burst: departures.burst.saturating_add(std::mem::take(&mut waiting)),
            ..departures
        });
    }
    all.iter().all(|one| !one.interval.is_zero()).then_some(all)
}

/// By (1), of `channel` at hop `at`.
fn by_contract(experiment: &Experiment, channel: &ChannelSpec, at: usize) -> Option<Departures> {
    let local = match experiment.admission.division {
        Division::Alike => channel.deadline?,
        Division::Shared => channel.deadline?.saturating_mul(channel.route.len() as u64),
    };
    let interval = channel.spec.min_interval;
    let (mut early, mut ahead) = (Span::ZERO, 0);
    for hop in (0..at).rev() {
        let station = channel.route[hop];
        let network = &experiment.networks[channel.ways[hop]];
        let head_start = experiment.head_start(channel, hop, experiment.packet());
        let shorter = network.longest_way().saturating_sub(network.propagation).saturating_add(head_start);
        early = early.saturating_add(local).saturating_add(shorter);
        ahead = experiment.horizon(station).div_ceil(interval).min(u64::from(channel.spec.burst));
        if hop == 0 || experiment.holds(station) {
            break;
        }
    }
    let packets = channel.spec.fragmentation(experiment.packet()).packets();
    let messages = early.div_ceil(interval).saturating_add(2).saturating_add(ahead);
    Some(Departures { burst: messages.saturating_mul(packets), interval: interval / packets.max(1) })
}
