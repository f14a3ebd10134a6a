//! Weighted fair queueing: as if each flow had a link of its own, shared out again whenever somebody falls silent.
//!
//! The ideal is a *fluid* server (GPS): whoever has something waiting is served all the time, in proportion to its rate, so of those
//! flows `B` that wait at some instant each has `C r_i / Σ_B r`. A link sends one item at a time; WFQ sends next that of those waiting with
//! which the fluid server would be done first (Demers, Keshav and Shenker 1989; as PGPS, Parekh and Gallager, "A generalized
//! processor sharing approach to flow control: the single-node case", IEEE/ACM ToN 1(3), 1993).
//!
//! When that would be hangs on who comes meanwhile, but in which order does not. *Virtual time* goes at the rate at which the
//! fluid server serves a unit of rate,
//!
//! ```text
//! dV/dt = C / Σ_B r          S = max(F of the flow's last, V(t)),   F = S + L / r
//! ```
//!
//! and the order is that of `F`. The sum changes when somebody comes and when the fluid server is done with somebody, so the latter have to be
//! followed: a second heap, of items in the fluid server.
//!
//! **How it is counted.** The server is measured in its own time: an item that takes it `c`, overheads and all, and its flow `T = L / r`, has the share `c / T`
//! of it, and `dV/dt = 1 / Σ_B c / T`. With `c = L / C` that is the formula above. Shares are whole multiples of 2⁻⁴⁸, so the fluid server is less than
//! `T` 2⁻⁴⁸ off with an item, 4 fs with one of a second, and each step of its clocks less than 2⁻³² ps.
//!
//! **Guarantee.** The link is done no later than the fluid server and one item,
//!
//! ```text
//! departure ≤ departure from GPS + L_max / C          so          D_i ≤ σ_i / r_i + L_max / C
//! ```
//!
//! for a token bucket `(σ_i, r_i)` if rates sum up to no more than `C` (ibid., Theorem 1); of a server faster than is said here as well. But the
//! link may be *early* by far: with which items it is done first it may send them back to back, all of a flow's next ones at once, and then leave it
//! alone for as long (Bennett and Zhang 1996; `tests` has their example). [`WorstCaseFair`](super::WorstCaseFair) does not.
//! Work-conserving, `O(log n)` an item. What has no rate is not in the fluid server and goes when nothing else waits.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use laxity_units::Time;

use super::Server;
use super::sharing::{Latency, Sharing};
use super::stamped::{Item, Stamp, Stamped, Stamps};
use super::virtual_time::Virtual;
use crate::by_channel::ByChannel;
use crate::costs::LinkCosts;
use crate::names::ChannelId;

/// A queue served in the order in which the fluid server would be done, ties in order of arrival.
pub type WeightedFair<T> = Stamped<Fluid, T>;

impl<T> WeightedFair<T> {
    /// An empty queue before `server`, whose speed is that of the fluid one.
    pub fn of(server: &Server) -> Self {
        Self::by(Fluid { speed: server.speed, ..Fluid::default() })
    }
}

/// Bits behind one of a share of the server.
const SHARE: u32 = 48;

/// The fluid server.
#[derive(Debug, Clone, Default)]
pub struct Fluid {
    speed: LinkCosts,
    /// Until when it was followed, in real time.
    at: Virtual,
    /// `V` then.
    now: Virtual,
    /// The shares of those that it serves, in 2⁻⁴⁸.
    shares: u128,
    flows: ByChannel<FluidFlow>,
    /// With whom it will be done when: the first item of each flow in it.
    served: BinaryHeap<Reverse<(Virtual, usize)>>,
}

#[derive(Debug, Clone, Default)]
struct FluidFlow {
    /// `F` of its last item.
    finish: Virtual,
    /// Its items in the fluid server: with each, when it is done with it and what share it has until then.
    items: VecDeque<(Virtual, u128)>,
}

impl Stamps for Fluid {
    fn stamp(&mut self, now: Time, flow: ChannelId, item: Item) -> Stamp {
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
        Stamp(flow.finish)
    }
}

impl Fluid {
    /// `c / T` of an item; none of one that takes its flow no time.
    fn share(&self, item: Item) -> u128 {
        let takes = Virtual::of(self.speed.transmit(item.size)).raw();
        let takes = takes.checked_shl(SHARE).filter(|shifted| shifted >> SHARE == takes).unwrap_or(u128::MAX);
        takes.checked_div(item.tick.raw()).unwrap_or(0)
    }

    /// Serves until `to`.
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

/// `L_max / C` behind the fluid server, in which nobody is later than at its own rate.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Latency> {
    sharing.all_alike(Latency::behind_end(sharing.longest()))
}
