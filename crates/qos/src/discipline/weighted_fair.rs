//! Weighted fair queueing: each flow has its rate, and active flows share the rates of idle ones.
//!
//! The ideal is a *fluid* server (GPS), which serves every backlogged flow all the time, in
//! proportion to its rate: each flow of the backlogged set `B` has `C r_i / Σ_B r`. A link sends
//! one item at a time. WFQ sends next the waiting item that the fluid server would finish first
//! (Demers, Keshav and Shenker 1989; as PGPS, Parekh and Gallager, "A generalized processor sharing
//! approach to flow control: the single-node case", IEEE/ACM ToN 1(3), 1993).
//!
//! The finish time in the fluid server depends on later arrivals, but the finish order does not.
//! *Virtual time* advances at the rate at which the fluid server serves a unit of rate,
//!
//! ```text
//! dV/dt = C / Σ_B r          S = max(F of the flow's last, V(t)),   F = S + L / r
//! ```
//!
//! and the order is that of `F`. The sum changes when a flow becomes backlogged and when the fluid
//! server finishes a flow's backlog. The latter events have to be tracked, by a second heap, of
//! items in the fluid server.
//!
//! **Arithmetic.** The server is measured in its own time. An item that takes the server `c`,
//! overheads included, and takes `T = L / r` at its flow's rate, has the share `c / T` of the
//! server, and `dV/dt = 1 / Σ_B c / T`. With `c = L / C` that is the formula above. Shares are
//! whole multiples of 2⁻⁴⁸, so the fluid server's error is less than `T` 2⁻⁴⁸ for an item, 4 fs for
//! one of a second, and each step of its clocks is off by less than 2⁻³² ps.
//!
//! **Guarantee.** The link finishes an item at most one item after the fluid server,
//!
//! ```text
//! departure ≤ departure from GPS + L_max / C          so          D_i ≤ σ_i / r_i + L_max / C
//! ```
//!
//! for a token bucket `(σ_i, r_i)` if rates sum up to at most `C` (ibid., Theorem 1). The bound
//! also holds for a server faster than its stated speed. But the link may be far *ahead* of the
//! fluid server. It may send a flow's items back to back if the fluid server would finish them
//! first, and then not serve the flow for as long (Bennett and Zhang 1996; `tests` has their
//! example). [`WorstCaseFair`](super::WorstCaseFair) avoids this. Work-conserving, `O(log n)` an
//! item. Items without a rate are not in the fluid server and are served when no other item waits.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use laxity_units::Time;

use super::ServerParameters;
use super::sharing::{Latency, Sharing};
use super::stamped::{Item, ServiceStamp, Stamped, Stamps};
use super::virtual_time::Virtual;
use crate::by_channel::ByChannel;
use crate::costs::LinkCosts;
use crate::names::ChannelId;

/// A queue served in the fluid server's finish order, ties in order of arrival.
pub type WeightedFair<T> = Stamped<Fluid, T>;

impl<T> WeightedFair<T> {
    /// An empty queue in front of `server`; the fluid server has the same speed.
    pub fn of(server: &ServerParameters) -> Self {
        Self::by(Fluid { speed: server.speed, ..Fluid::default() })
    }
}

/// Fraction bits of a share of the server.
const SHARE: u32 = 48;

/// The fluid server.
#[derive(Debug, Clone, Default)]
pub struct Fluid {
    speed: LinkCosts,
    /// Real time up to which the fluid server was simulated.
    at: Virtual,
    /// `V` at that time.
    now: Virtual,
    /// The sum of the shares in service, in 2⁻⁴⁸.
    shares: u128,
    flows: ByChannel<FluidFlow>,
    /// Finish times: the first item of each flow in the fluid server.
    served: BinaryHeap<Reverse<(Virtual, usize)>>,
}

#[derive(Debug, Clone, Default)]
struct FluidFlow {
    /// `F` of its last item.
    finish: Virtual,
    /// Its items in the fluid server, each with its finish time and its share until then.
    items: VecDeque<(Virtual, u128)>,
}

impl Stamps for Fluid {
    fn stamp(&mut self, now: Time, flow: ChannelId, item: Item) -> ServiceStamp {
        self.follow(Virtual::at(now));
        let place = self.flows.place(flow);
        let share = self.share(item);
        let flow = &mut self.flows.all_mut()[place];
        flow.finish = flow.finish.max(self.now) + item.tick;
        flow.items.push_back((flow.finish, share));
        if flow.items.len() == 1 {
            self.shares += share;
            self.served.push(Reverse((flow.finish, place)));
        }
        ServiceStamp(flow.finish)
    }
}

impl Fluid {
    /// `c / T` of an item; zero for an item that takes no time at its flow's rate.
    fn share(&self, item: Item) -> u128 {
        let takes = Virtual::of(self.speed.transmit(item.size)).raw();
        let takes = takes.checked_shl(SHARE).filter(|shifted| shifted >> SHARE == takes).unwrap_or(u128::MAX);
        takes.checked_div(item.tick.raw()).unwrap_or(0)
    }

    /// Simulates the fluid server until `to`.
    fn follow(&mut self, to: Virtual) {
        while let Some(&Reverse((finish, place))) = self.served.peek() {
            let takes = finish.since(self.now).raw().saturating_mul(self.shares) >> SHARE;
            let left = to.since(self.at).raw();
            if takes > left {
                let gained = left.checked_shl(SHARE).filter(|shifted| shifted >> SHARE == left);
                let gained = gained.unwrap_or(u128::MAX) / self.shares;
                self.now = (self.now + Virtual::from_raw(gained)).min(finish);
                break;
            }
            self.at = self.at + Virtual::from_raw(takes);
            self.now = finish;
            self.served.pop();
            let flow = &mut self.flows.all_mut()[place];
            let (_, share) = flow.items.pop_front().expect("it was served");
            self.shares -= share;
            if let Some(&(finish, share)) = flow.items.front() {
                self.shares += share;
                self.served.push(Reverse((finish, place)));
            }
        }
        self.at = to;
    }
}

/// `L_max / C` behind the fluid server, in which no item is later than at its flow's own rate.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Latency> {
    sharing.all_alike(Latency::behind_end(sharing.longest()))
}
