//! Counters and buffers of a subsystem, for reports and tests.

use super::counters::Counters;
use super::subsystem::{Channel, Subsystem};
use crate::names::ChannelId;

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
