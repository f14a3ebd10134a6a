//! What was dropped, by cause.

use laxity_qos::channel::Dropped;

use crate::causes;

/// How many messages were dropped for each cause: a number at the place of each, since under overload every other packet is counted here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops([u64; causes::ALL.len()]);

impl Drops {
    /// So many more were dropped for that cause.
    #[inline]
    pub(crate) fn add(&mut self, cause: Dropped, count: u64) {
        self.0[cause as usize] += count;
    }

    /// What was dropped since `earlier`.
    pub(crate) fn since(&self, earlier: &Drops) -> Drops {
        let mut since = *self;
        since.0.iter_mut().zip(earlier.0).for_each(|(count, before)| *count = count.saturating_sub(before));
        since
    }

    /// Each cause that anything was dropped for, by its name in results, and how many.
    pub fn named(&self) -> impl Iterator<Item = (String, u64)> {
        let counts =
            causes::ALL.iter().map(|(cause, name, _)| (String::from(*name), self.0[*cause as usize]));
        counts.filter(|(_, count)| *count > 0)
    }
}
