//! The regulators of ports with asynchronous traffic shaping (IEEE 802.1Qcr).
//!
//! Channels of one FIFO queue share a regulator at the next port: the queue of a level of a switch, or
//! that of the link of a host in order of arrival. A host or a switch that goes by deadlines or
//! rates, and a host without a queue of packets, is as if each channel had a class of its own there. So
//! each channel has a regulator of its own behind it.
//!
//! The bucket of a channel contains what its host sends at once. A host that holds messages until
//! their logical arrival sends one an interval, up to a horizon early; another one sends bursts. A
//! period is rounded to the picosecond, so a bucket has one more.

use std::collections::BTreeMap;

use laxity_qos::channel::{LinkId, LinkParadigm, Order};
use laxity_qos::discipline::{Class, Committed};
use laxity_units::{Bytes, Span};

use super::{ChannelSpec, Experiment, Laps};

/// The numbers of the regulators at each port, by what shares them.
#[derive(Debug, Default)]
pub(crate) struct Regulators {
    known: BTreeMap<usize, BTreeMap<Shares, u32>>,
}

/// The channels that share a regulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shares {
    /// The station before and its link, and the level.
    Queue(usize, LinkId, u8),
    /// A channel alone, by its number.
    Alone(u32),
}

impl Regulators {
    /// The contract of channel `i` for its regulator at hop `hop`; `None` without a regulator there.
    pub(crate) fn committed(
        &mut self,
        experiment: &Experiment,
        laps: &Laps,
        (i, hop): (usize, usize),
    ) -> Option<Committed> {
        let channel = &experiment.channels[i];
        let station = channel.route[hop];
        if !experiment.regulates(station, channel) {
            return None;
        }
        let shares =
            match hop.checked_sub(1).filter(|before| experiment.keeps_arrivals(channel.route[*before])) {
                Some(before) => {
                    let link = experiment.link_out(channel, before);
                    Shares::Queue(channel.route[before], link, channel.level.unwrap_or(0))
                }
                None => Shares::Alone(laps.at(i, hop).0),
            };
        let known = self.known.entry(station).or_default();
        let next = known.len() as u32;
        let regulator = *known.entry(shares).or_insert(next);
        let (burst, tolerance) = experiment.commitment(channel);
        let (message, interval) = (experiment.message_on_link(station, channel), channel.spec.min_interval);
        Some(Committed { regulator, message, burst, interval, tolerance })
    }
}

impl Experiment {
    /// Whether frames of `channel` pass a regulator at `station`.
    pub fn regulates(&self, station: usize, channel: &ChannelSpec) -> bool {
        let level = channel.level.unwrap_or(0);
        channel.class == Class::RealTime
            && self.outlet(station).is_some_and(|outlet| {
                let selection = outlet.config.selection.as_deref();
                selection.is_some_and(|selection| selection.regulates(level))
            })
    }

    /// Whether frames of a level leave `station` in the order in which they came.
    pub(crate) fn keeps_arrivals(&self, station: usize) -> bool {
        match self.outlet(station) {
            Some(outlet) => outlet.config.order.keeps_arrivals(),
            None => {
                let link = &self.host(station).subsystem.link;
                link.order == Order::Fifo && link.paradigm != LinkParadigm::Adapter
            }
        }
    }

    /// Messages that regulators let pass at once of `channel`, one an interval, and how far these can
    /// be shifted against each other.
    pub(crate) fn commitment(&self, channel: &ChannelSpec) -> (u32, Span) {
        let source = channel.route[0];
        let subsystem = &self.host(source).subsystem;
        match self.holds(source) && subsystem.early.horizon < Span::MAX {
            true if self.keeps_arrivals(source) => (1, subsystem.early.horizon),
            true => (1, Span::ZERO),
            false => (channel.spec.burst, Span::from_ps(1)),
        }
    }

    /// Bytes of the largest message of `channel` on the link of `station`, which is a null adapter or a
    /// port.
    pub(crate) fn message_on_link(&self, station: usize, channel: &ChannelSpec) -> Bytes {
        let link = self.link(station, LinkId::FIRST).unwrap_or_default();
        let fragments = channel.spec.fragmentation(self.packet());
        let full = link.on_link(self.packet()).get().saturating_mul(fragments.packets().saturating_sub(1));
        Bytes::new(full.saturating_add(link.on_link(fragments.last()).get()))
    }
}
