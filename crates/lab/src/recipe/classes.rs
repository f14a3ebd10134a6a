//! Priorities of channels as Linux and switches know them: a number from 0 to 7, which is
//! `SO_PRIORITY` at a host and PCP in the tag of a VLAN.

use std::collections::BTreeSet;

use laxity_qos::channel::Order;
use laxity_qos::discipline::{Class, LOWEST};
use laxity_world::experiment::{ChannelSpec, Experiment};

/// Priorities above that of best effort.
const ABOVE: usize = 7;

/// The priority of each channel.
#[derive(Debug)]
pub(super) struct Classes {
    priorities: Vec<u8>,
    /// Whether levels decide; else deadlines do.
    pub(super) by_level: bool,
    /// Whether channels of different levels or deadlines share a priority.
    pub(super) merged: bool,
}

impl Classes {
    /// By level where the scenario has levels, else by deadline, the shortest first. Best effort has
    /// priority 0.
    pub(super) fn new(experiment: &Experiment) -> Self {
        let channels = &experiment.channels;
        let strict = (0..experiment.stations()).any(|at| experiment.order(at) == Order::StrictPriority)
            || links(experiment).any(|order| order == Order::StrictPriority)
            || experiment.hosts.iter().any(|host| !host.shapers.is_empty());
        let by_level = strict || channels.iter().any(|channel| channel.level.is_some());
        let key = |channel: &ChannelSpec| match (channel.level, channel.class) {
            (_, Class::BestEffort) => None,
            (Some(level), _) if by_level => Some(level).filter(|level| *level < LOWEST).map(u64::from),
            (_, Class::RealTime) if by_level => Some(0),
            (_, Class::RealTime) => Some(channel.deadline.map_or(u64::MAX, |deadline| deadline.as_ps())),
        };
        let keys: BTreeSet<u64> = channels.iter().filter_map(key).collect();
        let merged = keys.len() > ABOVE;
        let priority = |rank: usize| match merged {
            true => ABOVE - rank * ABOVE / keys.len(),
            false => ABOVE - rank,
        } as u8;
        let of = |channel| key(channel).map_or(0, |key| priority(keys.range(..key).count()));
        Self { priorities: channels.iter().map(of).collect(), by_level, merged }
    }

    /// The priority of channel `i`, 7 the most urgent.
    pub(super) fn priority(&self, i: usize) -> u8 {
        self.priorities[i]
    }

    /// The priorities of `channels` and of other traffic, the most urgent first.
    pub(super) fn present(&self, channels: &[usize]) -> Vec<u8> {
        let all: BTreeSet<u8> = channels.iter().map(|i| self.priorities[*i]).chain([0]).collect();
        all.into_iter().rev().collect()
    }
}

/// The orders of the links of hosts.
fn links(experiment: &Experiment) -> impl Iterator<Item = Order> {
    experiment.hosts.iter().map(|host| host.subsystem.link.order)
}

/// For each value of `SO_PRIORITY`, 0 to 15, the place of its class among `present`; others have
/// the last. `turned` counts the places from the last class.
pub(super) fn map(present: &[u8], turned: bool) -> String {
    let last = present.len() - 1;
    let place = |priority: u8| present.iter().position(|known| *known == priority).unwrap_or(last);
    let each = (0..16).map(|priority| if turned { last - place(priority) } else { place(priority) });
    each.map(|place| place.to_string()).collect::<Vec<_>>().join(" ")
}
