//! Numbers of a channel that follow from its contract.
//!
//! A file need not say how many buffers a channel has: the number follows from its burst, its interval and
//! its deadline. So a file with another deadline may have other buffers, and with them other costs.

use laxity_units::{Bytes, Span};

use super::ChannelSpec;

/// The largest number of message slots that follows from a contract.
pub const MOST_SLOTS: u32 = 1_000_000;

/// The numbers that the file leaves to the contract of a channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByContract {
    /// Whether messages of the channel may be under way beyond its interval.
    pub beyond: bool,
    /// Message slots.
    pub messages: bool,
    /// Packet slots.
    pub packets: bool,
    /// Slots of the program that takes its messages.
    pub program: bool,
}

/// The number of unfinished messages, of a burst and of those that become current before the deadline, if
/// several may (`beyond`).
pub fn unfinished(burst: u32, interval: Span, deadline: Option<Span>, beyond: bool) -> u32 {
    let current = deadline.filter(|_| beyond).map_or(1, |deadline| deadline.div_ceil(interval));
    (u64::from(burst) - 1).saturating_add(current).min(MOST_SLOTS.into()) as u32
}

impl ChannelSpec {
    /// The channel as its file would have it with another interval and deadline, for packets of that size.
    pub fn asking(&self, packet: Bytes, interval: Span, deadline: Option<Span>) -> Self {
        let (mut changed, follows) = (self.clone(), self.by_contract);
        let of = |interval, deadline| unfinished(self.spec.burst, interval, deadline, follows.beyond);
        let (before, after) = (of(self.spec.min_interval, self.deadline), of(interval, deadline));
        (changed.spec.min_interval, changed.deadline) = (interval, deadline);
        if follows.messages {
            // Delayed messages may have slots beside those.
            let beside = self.message_slots.saturating_sub(before);
            changed.message_slots = after.saturating_add(beside).min(MOST_SLOTS);
        }
        if follows.packets {
            changed.packet_slots = u64::from(after) * self.spec.fragmentation(packet).packets();
        }
        if let Some(reader) = changed.reader.as_mut().filter(|_| follows.program) {
            reader.slots = after;
        }
        if self.share == self.spec.tick() {
            changed.share = changed.spec.tick();
        }
        changed
    }
}
