//! VirtualClock: everybody gets the rate of his contract, whatever the others send.
//!
//! An item is served in the order of its flow's [`auxVC`](crate::virtual_clock) when it came, `auxVC ← max(t, auxVC) + L / r` (L. Zhang, ACM
//! TOCS 9(2), 1991). That clock is here already, message by message: the logical arrival time of one, `ℓ ← max(t, ℓ + I_min)`, is a
//! tick of the contract behind it,
//!
//! ```text
//! auxVC = ℓ + I_min        since        max(t, ℓ + I_min) + I_min = max(t, auxVC) + I_min
//! ```
//!
//! but a queue sees packets, from hosts that enforce contracts and others that do not, so it keeps a clock for each flow.
//!
//! **Guarantee.** Of flows whose rates sum up to no more than the server's `C`, each item leaves by its stamp and one largest item more,
//!
//! ```text
//! departure ≤ auxVC + L_max / C
//! ```
//!
//! whatever other flows do (Figueira and Pasquale, "An upper bound on delay for the VirtualClock service discipline", IEEE/ACM
//! ToN 3(4), 1995). Let the item leave at `f` with stamp `s`, and let `t0` be the last instant before at which something was begun
//! that has a later stamp than `s`, or at which nothing waited. All that is served from then until `f`, but for that one, has a stamp up to
//! `s` and came after `t0`; what flow `i` sent after `t0` with stamps up to `s` takes its rate no longer than `s − t0`, so it is at most
//! `r_i (s − t0)`; together that is at most `C (s − t0)`. So `f ≤ t0 + L_max / C + (s − t0)`. For a flow
//! that keeps a token bucket `(σ, r)` the delay is at most `σ / r + L_max / C`, that of weighted fair queueing.
//!
//! **What it does not do.** It is not fair: whoever has used capacity that nobody wanted has run his clock ahead, and waits behind all
//! others when they come back. Work-conserving; what is early is served like anything else, later by its stamp. `O(log n)` an item.

use laxity_units::Time;

use super::sharing::{Latency, Sharing};
use super::stamped::{Item, Stamp, Stamped, Stamps};
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
    fn stamp(&mut self, now: Time, flow: ChannelId, item: Item) -> Stamp {
        let place = self.flows.place(flow);
        let clock = &mut self.flows.all_mut()[place];
        *clock = (*clock).max(Virtual::at(now)) + item.tick;
        Stamp(*clock)
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
        /// The logical clock of a contract is `auxVC`, one tick behind.
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
