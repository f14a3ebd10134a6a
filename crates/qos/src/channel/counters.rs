//! What a subsystem counts, and how much of its room is taken.

use std::collections::BTreeMap;

use super::names::ChannelId;
use super::step::Dropped;
use super::subsystem::{Channel, Subsystem};

/// What became of a channel's messages at this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
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
    /// Packets whose transmission completed.
    pub transmitted: u64,
    /// Messages handed to the receiving application.
    pub delivered: u64,
}

impl Subsystem {
    /// What became of a channel's messages so far.
    pub fn counters(&self, channel: ChannelId) -> &Counters {
        &self.channels[channel].counters
    }

    /// The same of every channel that is open here.
    pub fn all_counters(&self) -> impl Iterator<Item = (ChannelId, &Counters)> {
        self.channels.iter().map(|(id, channel)| (id, &channel.counters))
    }

    /// Packet buffers of a channel that packets have, those of its excess included.
    pub fn buffers_in_use(&self, channel: ChannelId) -> u64 {
        let Channel { lane, excess, .. } = self.channels[channel];
        self.lanes[lane].used_packets + excess.map_or(0, |excess| self.lanes[excess].used_packets)
    }

    /// The most packet buffers of a channel that packets ever had at a time, those of its excess left out.
    pub fn most_buffers(&self, channel: ChannelId) -> u64 {
        self.lanes[self.channels[channel].lane].most_packets
    }

    /// Packets waiting for links, and the most that ever did for one.
    pub fn link_queue(&self) -> (usize, usize) {
        (self.links.len(), self.links.longest())
    }
}
