//! Which packets a queue or phase is for.

use laxity_engine::splitmix64;
use laxity_qos::channel::ChannelId;
use laxity_qos::discipline::{Class, Tag};

/// Which packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Takes {
    /// All.
    #[default]
    All,
    /// One class.
    Only(Class),
    /// Those with a fixed priority in this range, both ends included: a VLAN's priority at a
    /// switch.
    Levels(u8, u8),
}

impl Takes {
    /// Whether a packet with this tag is among them.
    pub fn admits(self, tag: &Tag) -> bool {
        match self {
            Takes::All => true,
            Takes::Only(only) => only == tag.class,
            Takes::Levels(from, to) => (from..=to).contains(&tag.level),
        }
    }
}

/// Index of the queue in which a packet of `channel` waits: of the first list that accepts it, the
/// queue by its flow. `lists` has for each list whether it accepts the packet, and its number of
/// queues.
pub(in crate::adapter) fn spread_over(
    lists: impl Iterator<Item = (bool, u32)>,
    channel: ChannelId,
) -> Option<usize> {
    let mut before = 0;
    for (takes, count) in lists {
        if takes {
            return Some(before + if count == 1 { 0 } else { (hash(channel) % u64::from(count)) as usize });
        }
        before += count as usize;
    }
    None
}

/// An adapter's hash of a flow's addresses and ports. Channels stand for flows, and any scattering
/// function serves as well as the Toeplitz hash of real addresses.
fn hash(channel: ChannelId) -> u64 {
    splitmix64(u64::from(channel.0))
}

#[cfg(test)]
mod tests {
    use laxity_qos::virtual_clock::Vtick;
    use laxity_units::Time;

    use super::*;

    /// By class, by level at both ends, and by channel: always the same one, and of many channels
    /// as many in each, within a third.
    #[test]
    fn packets_find_their_queue() {
        let tag = |class, level| Tag {
            class,
            logical_arrival: Time::ZERO,
            deadline: Time::MAX,
            tick: Vtick::NONE,
            level,
        };
        let levels = [2, 3, 5, 6].map(|level| Takes::Levels(3, 5).admits(&tag(Class::RealTime, level)));
        assert_eq!(levels, [false, true, true, false]);
        assert!(Takes::All.admits(&tag(Class::BestEffort, 31)));
        assert!(!Takes::Only(Class::RealTime).admits(&tag(Class::BestEffort, 31)));
        let lists = || [(false, 3), (true, 8), (true, 1)].into_iter();
        let mut counts = [0; 8];
        for channel in (0..4000).map(ChannelId) {
            let queue = spread_over(lists(), channel).expect("one takes it");
            assert_eq!(spread_over(lists(), channel), Some(queue));
            counts[queue - 3] += 1;
        }
        assert!(counts.iter().all(|count| (333..=667).contains(count)), "{counts:?}");
        assert_eq!(spread_over([(false, 2), (true, 1)].into_iter(), ChannelId(7)), Some(2));
        assert_eq!(spread_over([(false, 2)].into_iter(), ChannelId(7)), None);
    }
}
