//! Dropped messages, by cause.

use laxity_qos::channel::Dropped;

use crate::causes;

/// A number at the place of each cause, and of messages that are given up for want of a packet.
type Counts = [u64; causes::ALL.len() + 1];

/// The number of messages dropped for each cause, indexed by cause, since under overload every
/// other packet is counted here. Most channels drop no message and keep no numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drops(Option<Box<Counts>>);

impl Drops {
    /// Adds `count` drops for that cause.
    #[inline]
    pub(crate) fn add(&mut self, cause: Dropped, count: u64) {
        self.0.get_or_insert_default()[cause as usize] += count;
    }

    /// The drops since `earlier`.
    pub(crate) fn since(&self, earlier: &Drops) -> Drops {
        let mut since = self.clone();
        if let (Some(counts), Some(earlier)) = (&mut since.0, &earlier.0) {
            for (count, before) in counts.iter_mut().zip(**earlier) {
                *count = count.saturating_sub(before);
            }
        }
        since
    }

    /// Messages given up at their receiver for want of a packet that was lost elsewhere.
    pub fn incomplete(&self) -> u64 {
        self.0.as_ref().map_or(0, |counts| counts[Dropped::Incomplete as usize])
    }

    /// Each cause that anything was dropped for, by its name in results, and how many.
    pub fn named(&self) -> impl Iterator<Item = (String, u64)> {
        let counts = self.0.iter().flat_map(|counts| {
            causes::ALL.iter().map(|(cause, name, _)| (String::from(*name), counts[*cause as usize]))
        });
        counts.filter(|(_, count)| *count > 0)
    }
}
