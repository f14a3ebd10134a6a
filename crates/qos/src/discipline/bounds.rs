//! Bounds of the rate-based disciplines: the lateness of a flow behind its own clock, and the delay
//! of an item.

use laxity_units::Span;

use super::Order;
use super::sharing::{Latency, Share, Sharing};

impl Order {
    /// Whether items of a level are served in the order in which they came, without holding any.
    pub fn keeps_arrivals(self) -> bool {
        matches!(self, Order::Fifo | Order::StrictPriority)
    }

    /// Whether a bound on the lateness of flows behind their own clocks is known.
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
            | Order::StrictPriority
            | Order::Edf
            | Order::Fifo
            | Order::StopAndGo
            | Order::FifoPlus
            | Order::HopLaxity => false,
        }
    }

    /// Whether only items with a rate are served while one waits, and without idling.
    pub fn serves_rates_first(self) -> bool {
        match self {
            Order::VirtualClock
            | Order::WeightedFair
            | Order::WorstCaseFair
            | Order::SelfClocked
            | Order::StartTimeFair
            | Order::HierarchicalFair
            | Order::DeficitRoundRobin => true,
            // They hold items that could be sent.
            Order::HierarchicalRoundRobin | Order::RateControlled | Order::StopAndGo => false,
            Order::MultiClassEdf
            | Order::FixedPriority
            | Order::StrictPriority
            | Order::Edf
            | Order::Fifo
            | Order::FifoPlus
            | Order::HopLaxity => false,
        }
    }

    /// Whether no best effort is served while real time waits, and without idling. Real time has rates.
    pub fn serves_real_time_first(self) -> bool {
        let classes = matches!(
            self,
            Order::MultiClassEdf
                | Order::FixedPriority
                | Order::StrictPriority
                | Order::Edf
                | Order::FifoPlus
                | Order::HopLaxity
        );
        classes || self.serves_rates_first()
    }

    /// Whether the discipline's clocks depend only on the service given or the flows' own rates,
    /// and not on the speed of the link or on time. Then a link with interruptions is only a slower
    /// link.
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
            | Order::StrictPriority
            | Order::Edf
            | Order::Fifo
            | Order::FifoPlus
            | Order::HopLaxity => false,
        }
    }

    /// The term that the next server adds for items that arrive in this order: the largest item at
    /// its flow's rate; for disciplines that order by start tags, the smallest.
    pub fn handed_on(self, share: &Share) -> Span {
        let begins = matches!(self, Order::StartTimeFair | Order::HierarchicalFair | Order::RateControlled);
        share.tick.of(if begins { share.smallest } else { share.largest })
    }

    /// Whether the server is fast enough for all flows together, where this condition applies. In a
    /// tree it applies at each node, and a group that reserves too much takes no rate from other
    /// groups.
    pub fn fits(self, sharing: &Sharing) -> bool {
        self == Order::HierarchicalFair || sharing.fits()
    }

    /// Maximum lateness of each flow behind its own clock; `None` where no bound is known, or its
    /// conditions are not met.
    pub fn latencies(self, sharing: &Sharing) -> Vec<Option<Latency>> {
        if !sharing.has_ends() {
            return self.latencies_of(sharing);
        }
        // Of both ways to count overhead the better.
        let items = self.latencies_of(&sharing.by_items());
        let least = |(a, b): (Option<Latency>, Option<Latency>)| match (a, b) {
            (Some(a), Some(b)) => Some(if a.after() <= b.after() { a } else { b }),
            (one, other) => one.or(other),
        };
        items.into_iter().zip(self.latencies_of(sharing)).map(least).collect()
    }

    fn latencies_of(self, sharing: &Sharing) -> Vec<Option<Latency>> {
        let all = |latencies: Vec<Latency>| {
            let ends = sharing.ends();
            latencies.into_iter().map(|latency| Some(latency.later_by(ends))).collect()
        };
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
            | Order::StrictPriority
            | Order::Edf
            | Order::Fifo
            | Order::StopAndGo
            | Order::FifoPlus
            | Order::HopLaxity => vec![None; sharing.flows.len()],
        }
    }

    /// Maximum delay of an item of flow `of`, if the flow keeps its token bucket; `None` where no
    /// bound is known, or its conditions are not met.
    ///
    /// Most bounds hold whatever other flows send. Those of [`StopAndGo`](super::StopAndGo) and
    /// [`FifoPlus`](super::FifoPlus) hold only if all flows keep their buckets, because neither
    /// enforces them ([`isolates`](Self::isolates)). Bounds of real-time channels are in admission:
    /// they depend on contracts, and on the host around the queue.
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

    /// Whether the bound holds whatever other flows send.
    pub fn isolates(self) -> bool {
        !matches!(self, Order::StopAndGo | Order::FifoPlus)
    }
}
