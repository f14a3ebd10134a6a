//! Self-clocked fair queueing: the clock is the tag of the item in service.
//!
//! Weighted fair queueing reads its clock from a fluid server that has to be simulated. Golestani
//! ("A self-clocked fair queueing scheme for broadband applications", INFOCOM 1994) takes the tag
//! of the item in service instead,
//!
//! ```text
//! F ← max(F of the flow's last, v) + L / r          v = F of the item in service
//! ```
//!
//! and serves by `F`. Tags leave in order, so when all items are served the clock shows the last
//! tag and every flow begins there: earlier use of spare capacity does not count against a flow.
//!
//! **Fairness.** While two flows both have items waiting, their services differ by at most an item
//! of each,
//!
//! ```text
//! | W_i / r_i − W_j / r_j | ≤ L_i / r_i + L_j / r_j
//! ```
//!
//! for any rates and any server speed: a tag within the interval is less than an item ahead of the
//! clock.
//!
//! **Delay.** An item that arrives at an idle flow may find one item of every other flow with an
//! earlier tag, however large its own rate. The clock is the tag of the item in service, so an item
//! with tag `v` may have arrived later. So a token bucket `(σ, r)` waits for
//!
//! ```text
//! D_i ≤ σ_i / r_i + Σ_{j ≠ i} L_j / C
//! ```
//!
//! (Golestani, "Network delay analysis of a class of fair queueing algorithms", JSAC 13(6), 1995),
//! where items without a rate add the one that was begun before. The sum makes the discipline a
//! poor choice for many flows, compared with WFQ's `L_max / C` (Stiliadis and Varma, "Latency-rate
//! servers", IEEE/ACM ToN 6(5), 1998, have `(V − 1) L_max / C`). The bound grows with the number of
//! flows and not with the sum of rates. Work-conserving, `O(log n)` an item, without a separate
//! clock.

use laxity_units::Time;

use super::sharing::{Latency, Sharing};
use super::stamped::{Item, ServiceStamp, Stamped, Stamps};
use super::virtual_time::Virtual;
use crate::by_channel::ByChannel;
use crate::names::ChannelId;

/// A queue served by finish tags, equal tags in order of arrival.
pub type SelfClocked<T> = Stamped<FinishTags, T>;

/// A clock that is the finish tag in service.
#[derive(Debug, Clone, Default)]
pub struct FinishTags {
    now: Virtual,
    flows: ByChannel<Virtual>,
}

impl Stamps for FinishTags {
    #[inline]
    fn stamp(&mut self, _now: Time, flow: ChannelId, item: Item) -> ServiceStamp {
        let place = self.flows.place(flow);
        let last = &mut self.flows.all_mut()[place];
        *last = (*last).max(self.now) + item.tick;
        ServiceStamp(*last)
    }

    #[inline]
    fn begun(&mut self, stamp: ServiceStamp) {
        self.now = stamp.0;
    }
}

/// `Σ_{j ≠ i} L_j / C`, plus an item without a rate that was begun before.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Latency> {
    let all = sharing.one_of_each();
    (0..sharing.flows.len()).map(|of| Latency::behind_end(all.saturating_sub(sharing.item(of)))).collect()
}
