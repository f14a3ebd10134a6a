//! VirtualClock: every flow gets the rate of its contract, whatever the others send.
//!
//! Items are served in the order of their flow's [`auxVC`](crate::virtual_clock) on arrival, `auxVC
//! ← max(t, auxVC) + L / r` (L. Zhang, ACM TOCS 9(2), 1991). The subsystem already has that clock
//! for messages: the logical arrival time, `ℓ ← max(t, ℓ + I_min)`, is a tick of the contract
//! behind it,
//!
//! ```text
//! auxVC = ℓ + I_min        since        max(t, ℓ + I_min) + I_min = max(t, auxVC) + I_min
//! ```
//!
//! A queue has packets, from hosts that enforce contracts and others that do not, so it keeps a
//! clock for each flow.
//!
//! **Guarantee.** For rates that sum up to at most the server's `C`, each item leaves by its stamp
//! plus one largest item,
//!
//! ```text
//! departure ≤ auxVC + L_max / C
//! ```
//!
//! whatever other flows do (Figueira and Pasquale, "An upper bound on delay for the VirtualClock
//! service discipline", IEEE/ACM ToN 3(4), 1995). Let the item leave at `f` with stamp `s`. Let
//! `t0` be the last instant before at which an item with a later stamp than `s` was begun, or at
//! which no item waited. All items served from then until `f`, except that one, have stamps up to
//! `s` and arrived after `t0`. The items that flow `i` sent after `t0` with stamps up to `s` take
//! at most `s − t0` at its rate, so they are at most `r_i (s − t0)`; all flows together are at most
//! `C (s − t0)`. So `f ≤ t0 + L_max / C + (s − t0)`. For a flow that keeps a token bucket `(σ, r)`
//! the delay is at most `σ / r + L_max / C`, as under weighted fair queueing.
//!
//! **Limits.** VirtualClock is not fair: a flow that used spare capacity has advanced its clock,
//! and waits behind all others when they return. Work-conserving; early items are served like
//! others, later by their stamps. `O(log n)` an item.

use laxity_units::Time;

use super::sharing::{Latency, Sharing};
use super::stamped::{Item, ServiceStamp, Stamped, Stamps};
use super::virtual_time::Virtual;
use crate::by_channel::ByChannel;
use crate::names::ChannelId;

/// A queue served by stamps, equal stamps in order of arrival.
pub type VirtualClock<T> = Stamped<Clocks, T>;

/// `auxVC` of each flow.
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    flows: ByChannel<Virtual>,
}

impl Stamps for Clocks {
    #[inline]
    fn stamp(&mut self, now: Time, flow: ChannelId, item: Item) -> ServiceStamp {
        let place = self.flows.place(flow);
        let clock = &mut self.flows.all_mut()[place];
        *clock = (*clock).max(Virtual::at(now)) + item.tick;
        ServiceStamp(*clock)
    }
}

/// `auxVC + L_max / C`.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Latency> {
    sharing.all_alike(Latency::behind_end(sharing.longest()))
}

#[cfg(test)]
mod tests {
    use laxity_units::{Bytes, Span};
    use proptest::prelude::*;

    use super::*;
    use crate::discipline::stamped::whole;
    use crate::traffic::{LogicalClock, TrafficSpec};
    use crate::virtual_clock::Vtick;

    proptest! {
        /// The logical clock of a contract is one tick behind `auxVC`.
        #[test]
        fn a_stamp_is_the_flows_clock(gaps in prop::collection::vec(0u64..5000, 1..40), interval in 1u64..4000) {
            let min_interval = Span::from_ns(interval);
            let size = Bytes::new(9);
            let spec = TrafficSpec { max_message: size, min_message: Bytes::new(1), burst: 2, min_interval };
            let (mut logical, mut clocks, mut now) = (LogicalClock::new(spec), Clocks::default(), Time::ZERO);
            let tick = Virtual::tick(Vtick::new(min_interval, size), size);
            for gap in gaps {
                now += Span::from_ns(gap);
                let at = logical.arrive(now, size).at;
                let stamp = clocks.stamp(now, ChannelId(0), Item { tick, size });
                prop_assert_eq!(Time::ZERO + whole(stamp), at + min_interval);
            }
        }
    }
}
