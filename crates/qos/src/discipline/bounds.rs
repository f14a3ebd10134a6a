//! What is known of each discipline that shares by rates: how late it may be behind a flow's own clock, and for how long an item is there.

use laxity_units::Span;

use super::Order;
use super::sharing::{Latency, Share, Sharing};

impl Order {
    /// Whether something is known of how late flows may be behind their own clocks.
    pub fn has_latency(self) -> bool {
        match self {
            Order::VirtualClock
            | Order::WeightedFair
            | Order::WorstCaseFair
            | Order::SelfClocked
            | Order::StartTimeFair
            | Order::HierarchicalFair
            | Order::DeficitRoundRobin
            | Order::HierarchicalRoundRobin
            | Order::RateControlled => true,
            Order::MultiClassEdf
            | Order::FixedPriority
            | Order::Edf
            | Order::Fifo
            | Order::StopAndGo
            | Order::FifoPlus
            | Order::HopLaxity => false,
        }
    }

    /// Whether, as long as anything waits that has a rate, only such is served, and served at once.
    pub fn serves_rates_first(self) -> bool {
        match self {
            Order::VirtualClock
            | Order::WeightedFair
            | Order::WorstCaseFair
            | Order::SelfClocked
            | Order::StartTimeFair
            | Order::HierarchicalFair
            | Order::DeficitRoundRobin => true,
            // They hold what could go.
            Order::HierarchicalRoundRobin | Order::RateControlled | Order::StopAndGo => false,
            Order::MultiClassEdf
            | Order::FixedPriority
            | Order::Edf
            | Order::Fifo
            | Order::FifoPlus
            | Order::HopLaxity => false,
        }
    }

    /// Whether its clocks go by what is served, or by the flows' own rates, and by no speed of the link nor time: then a link that is not always there is only slower.
    pub fn goes_by_what_is_served(self) -> bool {
        match self {
            Order::VirtualClock
            | Order::SelfClocked
            | Order::StartTimeFair
            | Order::HierarchicalFair
            | Order::DeficitRoundRobin => true,
            Order::WeightedFair
            | Order::WorstCaseFair
            | Order::HierarchicalRoundRobin
            | Order::RateControlled
            | Order::StopAndGo
            | Order::MultiClassEdf
            | Order::FixedPriority
            | Order::Edf
            | Order::Fifo
            | Order::FifoPlus
            | Order::HopLaxity => false,
        }
    }

    /// What the next server has to add for items that come from one in this order: the largest at its rate, or where beginnings count the smallest.
    pub fn handed_on(self, share: &Share) -> Span {
        let begins = matches!(self, Order::StartTimeFair | Order::HierarchicalFair | Order::RateControlled);
        share.tick.of(if begins { share.smallest } else { share.largest })
    }

    /// Whether the server is fast enough for all flows together, where that is asked. Of a tree it is asked at each node, and who is in a group that reserves too
    /// much takes nothing from others.
    pub fn fits(self, sharing: &Sharing) -> bool {
        self == Order::HierarchicalFair || sharing.fits()
    }

    /// How late each flow is at most behind its own clock; nothing where that is not known, or its conditions are not met.
    pub fn latencies(self, sharing: &Sharing) -> Vec<Option<Latency>> {
        let all = |latencies: Vec<Latency>| latencies.into_iter().map(Some).collect();
        if !self.fits(sharing) {
            return vec![None; sharing.flows.len()];
        }
        match self {
            Order::VirtualClock => all(super::virtual_clock::latencies(sharing)),
            Order::WeightedFair => all(super::weighted_fair::latencies(sharing)),
            Order::WorstCaseFair => all(super::worst_case_fair::latencies(sharing)),
            Order::SelfClocked => all(super::self_clocked::latencies(sharing)),
            Order::StartTimeFair => all(super::start_time::latencies(sharing)),
            Order::HierarchicalFair => super::hierarchical_fair::latencies(sharing),
            Order::DeficitRoundRobin => all(super::deficit_round_robin::latencies(sharing)),
            Order::HierarchicalRoundRobin => super::hierarchical_round_robin::latencies(sharing),
            Order::RateControlled => super::rate_controlled::latencies(sharing),
            Order::MultiClassEdf
            | Order::FixedPriority
            | Order::Edf
            | Order::Fifo
            | Order::StopAndGo
            | Order::FifoPlus
            | Order::HopLaxity => vec![None; sharing.flows.len()],
        }
    }

    /// How long an item of flow `of` is there, at most, if it keeps its token bucket; nothing where none is known, or its conditions are not met.
    ///
    /// Most hold whatever others send. Those of [`StopAndGo`](super::StopAndGo) and [`FifoPlus`](super::FifoPlus) take all to keep their buckets, as neither enforces
    /// anything ([`isolates`](Self::isolates)). Those of real-time channels are admission's: they are of contracts, and of a host around the queue.
    pub fn bound(self, sharing: &Sharing, of: usize) -> Option<Span> {
        if !self.fits(sharing) {
            return None;
        }
        match self {
            Order::StopAndGo => super::stop_and_go::bound(sharing, of, sharing.frame),
            Order::FifoPlus => Some(super::fifo_plus::bound(sharing)),
            _ => self.latencies(sharing)[of].map(|latency| latency.of_bucket(&sharing.flows[of])),
        }
    }

    /// Whether its bound holds whatever other flows send.
    pub fn isolates(self) -> bool {
        !matches!(self, Order::StopAndGo | Order::FifoPlus)
    }
}
