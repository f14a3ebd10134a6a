//! The description of a node.

use std::collections::BTreeMap;
use std::fmt;

use laxity_admission::EnvironmentError;
use laxity_clock::Tolerance;
use laxity_qos::costs::LinkCosts;
use laxity_signalling::identity::{Epoch, NodeId};
use laxity_signalling::quota::Quotas;
use laxity_signalling::refusal::Shortage;
use laxity_signalling::settings::Settings;
use laxity_transport::HEADER_LEN;
use laxity_units::{ByteTime, Bytes, Span};

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeLinkConfig {
    /// Time of a byte on the link.
    pub per_byte: ByteTime,
    /// The longest propagation delay.
    pub way: Span,
    /// The longest time that the hosts at both ends take: from the instant of a clock until the frame
    /// is on the link, and from its arrival until the node handles it.
    pub hosts: Span,
    /// Bytes on the link around each frame: headers below, seal, preamble and gap.
    pub around: u32,
}

impl NodeLinkConfig {
    /// Transmission time of a frame of `length` bytes, header included.
    pub fn transmission(&self, length: usize) -> Span {
        self.per_byte.time(Bytes::new(length as u64 + u64::from(self.around)))
    }

    /// The costs of a packet with its header and what is around the frame.
    pub(crate) fn costs(&self) -> LinkCosts {
        let around = Bytes::new(HEADER_LEN as u64 + u64::from(self.around));
        let per_byte = self.per_byte;
        LinkCosts { startup: Span::ZERO, per_byte, shortest: Bytes::ZERO, around, gap: Span::ZERO }
    }
}

/// The description of a node.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// The node.
    pub node: NodeId,
    /// Larger than in any life of the node before.
    pub epoch: Epoch,
    /// The links by neighbour; at least one.
    pub links: BTreeMap<NodeId, NodeLinkConfig>,
    /// The neighbour for datagrams to each destination.
    pub routes: BTreeMap<NodeId, NodeId>,
    /// `S`: largest payload of a packet, equal at all nodes; at least that of a signalling message.
    pub packet: u32,
    /// ρ: the greatest rate error of any clock in the network, equal at all nodes.
    pub drift: Tolerance,
    /// The spacing of signalling messages on a link, which is their local deadline too.
    pub signalling: Span,
    /// Datagrams that may wait for a link, and in the queue of a program.
    pub datagrams: usize,
    /// Messages of channels that may wait in the queue of a program.
    pub places: u64,
    /// Memory for the packets, messages and state of channels from one neighbour, or from the
    /// programs of the node together. Queues of programs have `places` messages beside.
    pub memory: Bytes,
    /// Time of the processor for each packet that the node sends, and for each that it receives;
    /// zero if the processor is not counted.
    pub packet_time: Span,
    /// The settings of the manager.
    pub settings: Settings,
    /// The quotas of owners.
    pub quotas: Quotas,
}

impl NodeConfig {
    /// The longest time that the host takes of a message that stays in the node: that of the link
    /// with the least, since a link may count packets of others beside.
    pub(crate) fn host(&self) -> Span {
        self.links.values().map(|link| link.hosts).min().unwrap_or_default()
    }

    /// The same with all times of links as the fastest clock counts them.
    pub(crate) fn by_clock(mut self) -> Self {
        const BILLION: u64 = 1_000_000_000;
        for link in self.links.values_mut() {
            link.per_byte = link.per_byte.scaled(BILLION + u64::from(self.drift.ppb()), BILLION);
            link.way = self.drift.longest_shown(link.way);
            link.hosts = self.drift.longest_shown(link.hosts);
        }
        self
    }
}

/// `I' = (1 − ρ') I`: the interval by which nodes after the source regulate and reserve.
pub(crate) fn regulated(drift: Tolerance, interval: Span) -> Span {
    drift.seen_by(drift).shortest_shown(interval).max(Span::from_ps(1))
}

/// Why a description is no node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotANode {
    /// A link is out of range.
    Link(EnvironmentError),
    /// A packet is shorter than a signalling message, or a link is missing.
    Packet,
    /// A link is too slow for its signalling channel.
    Signalling(Shortage),
    /// The processor is too slow for signalling.
    Processor,
}

impl fmt::Display for NotANode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => write!(f, "a link is out of range: {error}"),
            Self::Packet => f.write_str("no link, or a packet shorter than a signalling message"),
            Self::Processor => {
                f.write_str("packets of signalling alone take more of the processor than channels may")
            }
            Self::Signalling(_) => {
                f.write_str("a link is too slow for signalling messages so close together")
            }
        }
    }
}

impl std::error::Error for NotANode {}

#[cfg(test)]
mod tests {
    use laxity_clock::Drift;
    use laxity_units::Rate;

    use super::*;

    /// ρ = 1 %: ρ' = 2/99, rounded up.
    #[test]
    fn the_fastest_clock_counts_links_and_the_interval_is_shorter_by_two_clocks() {
        let drift = Tolerance::of(Drift::from_ppb(10_000_000).unwrap());
        let rate = Rate::of(Bytes::new(10_000_000), Span::from_secs(1));
        let [way, hosts] = [10, 20].map(Span::from_us);
        let link = NodeLinkConfig { per_byte: ByteTime::at(rate), way, hosts, around: 3 };
        let config = NodeConfig {
            node: NodeId(1),
            epoch: Epoch(1),
            links: [(NodeId(2), link)].into(),
            routes: BTreeMap::new(),
            packet: 1000,
            drift,
            signalling: Span::from_ms(1),
            datagrams: 1,
            places: 1,
            memory: Bytes::new(1),
            packet_time: Span::ZERO,
            settings: Settings::default(),
            quotas: Quotas::default(),
        };
        let seen = config.by_clock().links[&NodeId(2)];
        assert_eq!(seen.transmission(997), Span::from_us(101));
        assert_eq!((seen.way, seen.hosts, seen.around), (Span::from_ns(10_100), Span::from_ns(20_200), 3));
        assert_eq!(regulated(drift, Span::from_ms(10)), Span::from_ps(9_797_979_790));
        assert_eq!(regulated(Tolerance::NONE, Span::from_ms(10)), Span::from_ms(10));
    }
}
