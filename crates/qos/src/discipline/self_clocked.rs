//! Self-clocked fair queueing: the tag of whoever is served is what time it is.
//!
//! Weighted fair queueing reads its clock from a fluid server that has to be simulated. Golestani ("A self-clocked fair queueing scheme
//! for broadband applications", INFOCOM 1994) takes the tag of the item in service instead,
//!
//! ```text
//! F ← max(F of the flow's last, v) + L / r          v = F of the item in service
//! ```
//!
//! and serves by `F`. Tags leave in order, so when all is served the clock shows the last of them and every flow begins there: what was taken before is
//! nobody's loss.
//!
//! **Fairness.** While two flows both have items waiting, what they are given differs by no more than an item of each,
//!
//! ```text
//! | W_i / r_i − W_j / r_j | ≤ L_i / r_i + L_j / r_j
//! ```
//!
//! of any rates and whatever the server's speed: a tag within the interval is less than an item ahead of the clock.
//!
//! **Delay.** Whoever comes to an idle flow may find one item of every other with an earlier tag, however large its own rate: the clock is
//! the tag of what is served, so an item with tag `v` may have come after. So a token bucket `(σ, r)` waits for
//!
//! ```text
//! D_i ≤ σ_i / r_i + Σ_{j ≠ i} L_j / C        (Golestani, "Network delay analysis of a class of fair queueing algorithms", JSAC 13(6), 1995)
//! ```
//!
//! where what has no rate adds the one item that was begun before. The sum makes it a poor choice for many flows, beside WFQ's
//! `L_max / C` (Stiliadis and Varma, "Latency-rate servers", IEEE/ACM ToN 6(5), 1998, have `(V − 1) L_max / C`). It is not the sum of rates
//! but the number of flows that hurts. Work-conserving, `O(log n)` an item, no clock to keep.

use laxity_units::Time;

use super::sharing::{Latency, Sharing};
use super::stamped::{Item, Stamp, Stamped, Stamps};
use super::virtual_time::Virtual;
use crate::by_channel::ByChannel;
use crate::names::ChannelId;

/// A queue served by finish tags, equal tags in order of arrival.
pub type SelfClocked<T> = Stamped<FinishTags, T>;

/// The clock that is the finish tag in service.
#[derive(Debug, Clone, Default)]
pub struct FinishTags {
    now: Virtual,
    /// The last tag of each flow.
    flows: ByChannel<Virtual>,
}

impl Stamps for FinishTags {
    #[inline]
    fn stamp(&mut self, _now: Time, flow: ChannelId, item: Item) -> Stamp {
        let place = self.flows.place(flow);
        let last = &mut self.flows.all_mut()[place];
        *last = (*last).max(self.now) + item.tick;
        Stamp(*last)
    }

    #[inline]
    fn begun(&mut self, stamp: Stamp) {
        self.now = stamp.0;
    }
}

/// `Σ_{j ≠ i} L_j / C`, and an item without a rate that was begun before.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Latency> {
    let all = sharing.one_of_each();
    (0..sharing.flows.len()).map(|of| Latency::behind_end(all.saturating_sub(sharing.item(of)))).collect()
}
