//! The counts of a channel, and of a part of a run.
//!
//! A count is a running total, and the window has two edges: its count is the total at the one less
//! that at the other. The counting code does not depend on windows, and all columns of a row count
//! the same part.

use laxity_qos::channel::ChannelCounters;
use laxity_units::Bytes;

use super::Drops;

/// Running totals of one channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages offered.
    pub messages: u64,
    /// Their bytes.
    pub offered: Bytes,
    /// Messages transmitted whole.
    pub completed: u64,
    /// Their bytes.
    pub completed_bytes: Bytes,
    /// Packets transmitted.
    pub packets: u64,
    /// Their payload.
    pub transmitted: Bytes,
    /// Packets that left after their deadline.
    pub missed_packets: u64,
    /// Messages of which the last packet did.
    pub missed_messages: u64,
    /// Packets lost by an adapter or on the way.
    pub lost_packets: u64,
    /// Those among them that networks lost by their impairments.
    pub impaired_packets: u64,
    /// Messages received whole.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: Bytes,
    /// Those among them that were late.
    pub delivered_late: u64,
    /// Messages that hosts dropped, by cause.
    pub dropped: Drops,
    /// Their packets.
    pub dropped_packets: u64,
}

impl Tally {
    /// The same with what a host counted.
    #[must_use]
    pub(crate) fn with(mut self, host: &ChannelCounters) -> Tally {
        self.dropped_packets += host.dropped_packets;
        for (cause, count) in &host.dropped {
            self.dropped.add(*cause, *count);
        }
        self
    }

    /// A packet was lost by the impairments of a network.
    pub(crate) fn impair(&mut self) {
        self.lost_packets += 1;
        self.impaired_packets += 1;
    }

    /// The counts since `earlier`.
    pub(crate) fn since(&self, earlier: &Tally) -> Tally {
        Tally {
            messages: self.messages.saturating_sub(earlier.messages),
            offered: self.offered.saturating_sub(earlier.offered),
            completed: self.completed.saturating_sub(earlier.completed),
            completed_bytes: self.completed_bytes.saturating_sub(earlier.completed_bytes),
            packets: self.packets.saturating_sub(earlier.packets),
            transmitted: self.transmitted.saturating_sub(earlier.transmitted),
            missed_packets: self.missed_packets.saturating_sub(earlier.missed_packets),
            missed_messages: self.missed_messages.saturating_sub(earlier.missed_messages),
            lost_packets: self.lost_packets.saturating_sub(earlier.lost_packets),
            impaired_packets: self.impaired_packets.saturating_sub(earlier.impaired_packets),
            delivered: self.delivered.saturating_sub(earlier.delivered),
            delivered_bytes: self.delivered_bytes.saturating_sub(earlier.delivered_bytes),
            delivered_late: self.delivered_late.saturating_sub(earlier.delivered_late),
            dropped: self.dropped.since(&earlier.dropped),
            dropped_packets: self.dropped_packets.saturating_sub(earlier.dropped_packets),
        }
    }

    /// Messages that were past their deadline, transmitted or delivered: one that is both counts
    /// once.
    pub(crate) fn late(&self) -> u64 {
        self.missed_messages.max(self.delivered_late)
    }
}

#[cfg(test)]
mod tests {
    use laxity_qos::channel::Dropped;

    use super::*;

    #[test]
    fn a_stretch_is_the_difference_of_two_totals() {
        let drops = |queue, adapter| {
            let dropped = [(Dropped::MessageQueue, queue), (Dropped::Adapter, adapter)].into();
            ChannelCounters { dropped, dropped_packets: queue + adapter, ..ChannelCounters::default() }
        };
        let of = |messages, queue| Tally { messages, ..Tally::default() }.with(&drops(queue, 4));
        let (before, after) = (of(10, 1), of(25, 3));
        let between = after.since(&before);
        assert_eq!((between.messages, between.dropped_packets), (15, 2));
        assert!(between.dropped.named().eq([("message_queue".to_owned(), 2)]), "and nothing for the adapter");
        assert_eq!(after.since(&Tally::default()), after);
    }
}
