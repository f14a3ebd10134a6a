//! Counters and buffers of a subsystem, for reports and tests.

use super::counters::ChannelCounters;
use super::misuse::Misuse;
use super::subsystem::{Channel, Subsystem};
use crate::names::ChannelId;

impl Subsystem {
    /// Counters of a channel so far.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here.
    pub fn counters(&self, channel: ChannelId) -> Result<&ChannelCounters, Misuse> {
        Ok(&self.channel(channel)?.counters)
    }

    /// The counters of every open channel.
    pub fn all_counters(&self) -> impl Iterator<Item = (ChannelId, &ChannelCounters)> {
        self.channels.iter().map(|(id, channel)| (id, &channel.counters))
    }

    /// Used packet buffers of a channel, its excess included.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here.
    pub fn buffers_in_use(&self, channel: ChannelId) -> Result<u64, Misuse> {
        let &Channel { lane, excess, .. } = self.channel(channel)?;
        Ok(self.lanes[lane].used_packets + excess.map_or(0, |excess| self.lanes[excess].used_packets))
    }

    /// Maximum number of packet buffers that a channel used at a time, without those of its excess.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here.
    pub fn most_buffers(&self, channel: ChannelId) -> Result<u64, Misuse> {
        Ok(self.lanes[self.channel(channel)?.lane].most_packets)
    }

    /// Number of packets that wait for links, and the maximum that ever waited for one link.
    pub fn link_queue(&self) -> (usize, usize) {
        (self.links.len(), self.links.longest())
    }
}
