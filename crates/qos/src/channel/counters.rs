//! Counters of a channel.

use std::collections::BTreeMap;

use super::step::Dropped;

/// Counters of a channel's messages and packets at this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelCounters {
    /// Messages queued, the excess included.
    pub accepted: u64,
    /// Messages carried as best effort because they exceeded the contract.
    pub excess: u64,
    /// Messages dropped, by cause.
    pub dropped: BTreeMap<Dropped, u64>,
    /// Packets of dropped messages that were not transmitted.
    pub dropped_packets: u64,
    /// Packets created.
    pub created: u64,
    /// Completed transmissions of packets.
    pub transmitted: u64,
    /// Messages handed to the receiving application.
    pub delivered: u64,
}
