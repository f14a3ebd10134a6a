//! Start-time fair queueing: the item with the earliest start tag goes first.
//!
//! ```text
//! S ← max(F of the flow's last, v),   F = S + L / r          v = S of the item in service
//! ```
//!
//! served by `S` (Goyal, Vin and Cheng, "Start-time fair queuing: a scheduling algorithm for
//! integrated services packet switching networks", SIGCOMM 1996). When all items with a rate are
//! served the clock advances to the latest `F`, even if the server continues with items without a
//! rate; otherwise the bound would not hold.
//!
//! **Fairness** is that of self-clocked fair queueing, `| W_i / r_i − W_j / r_j | ≤ L_i / r_i + L_j
//! / r_j`. It also holds for any server speed, constant or not: a CPU, or a link below other
//! traffic. The rank of an item does not depend on the length of *that* item, so long items are not
//! served later. That is why a flow of a small rate has less delay here:
//!
//! **Delay.** With `EAT` the time by which the flow's earlier items would be done at its own rate,
//!
//! ```text
//! departure ≤ EAT + Σ_{j ≠ i} L_j / C + L / C,   so
//! D_i ≤ (σ_i − L) / r_i + Σ_{j ≠ i} L_j / C + L / C
//! ```
//!
//! for a token bucket with last item `L` (ibid., Theorem 4): `L / r_i` less than self-clocked, `L /
//! C` more. `bound` takes the smallest item, which makes the bound larger. Work-conserving, `O(log
//! n)` an item.

use laxity_units::Time;

use super::sharing::{Latency, Sharing};
use super::stamped::{Item, ServiceStamp, Stamped, Stamps};
use super::virtual_time::Virtual;
use crate::by_channel::ByChannel;
use crate::names::ChannelId;

/// A queue served by start tags, equal tags in order of arrival.
pub type StartTimeFair<T> = Stamped<StartTags, T>;

/// A clock that is the start tag in service.
#[derive(Debug, Clone, Default)]
pub struct StartTags {
    now: Virtual,
    latest: Virtual,
    flows: ByChannel<Virtual>,
}

impl Stamps for StartTags {
    #[inline]
    fn stamp(&mut self, _now: Time, flow: ChannelId, item: Item) -> ServiceStamp {
        let place = self.flows.place(flow);
        let finish = &mut self.flows.all_mut()[place];
        let start = (*finish).max(self.now);
        *finish = start + item.tick;
        self.latest = self.latest.max(*finish);
        ServiceStamp(start)
    }

    #[inline]
    fn begun(&mut self, stamp: ServiceStamp) {
        self.now = stamp.0;
    }

    fn idle(&mut self) {
        self.now = self.latest;
    }
}

/// `Σ_{j ≠ i} L_j / C + L / C`, plus an item without a rate that was begun before.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Latency> {
    sharing.all_alike(Latency::behind_begin(sharing.one_of_each()))
}
