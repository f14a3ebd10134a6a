//! Scheduling disciplines: the order in which waiting items are served.
//!
//! A discipline owns no time and no resource. It gets items, each with an [`ItemRequest`], and selects
//! one at a given `now`. The resource (CPU, link, adapter stage, port) knows when it is free and
//! what service costs. This split keeps each discipline short. The same disciplines order handlers
//! on a CPU, packets on a link and descriptors on an adapter.
//!
//! | discipline | orders by | holds items |
//! |---|---|---|
//! | [`Fifo`] | arrival | no |
//! | [`FixedPriority`] | level, then arrival | until `ℓ` |
//! | [`StrictPriority`] | level, then arrival | no, but for levels with a shaper, gates or regulators |
//! | [`Edf`] | deadline | no |
//! | [`MultiClassEdf`] | current real time by deadline, best effort by arrival, early by `ℓ` | until `ℓ` |
//! | [`VirtualClock`] | finish time at the flow's own rate | no |
//! | [`WeightedFair`] (WFQ, PGPS) | finish time in the fluid server | no |
//! | [`WorstCaseFair`] (WF2Q+) | as WFQ, among items that the fluid server would have begun | no |
//! | [`SelfClocked`] (SCFQ) | finish tags; the clock is the tag in service | no |
//! | [`StartTimeFair`] (SFQ) | start tags; the clock is the tag in service | no |
//! | [`HierarchicalFair`] (H-SFQ) | start tags of groups, then of their members | no |
//! | [`DeficitRoundRobin`] (DRR) | turns, each worth the same time at the flow's own rate | no |
//! | [`StopAndGo`] | length of frames, then arrival | until the frame of arrival ends |
//! | [`HierarchicalRoundRobin`] (HRR) | length of frames, then turns | when the frame's quota is used up |
//! | [`RateControlled`] (RCSP) | level, then release time | until the item is due at its flow's rate |
//! | [`FifoPlus`] (FIFO+) | arrival, corrected by the excess wait at earlier hops | no |
//! | [`HopLaxity`] | remaining time per remaining link | no |
//!
//! Rate-based disciplines take a flow's rate from its [`Tag::tick`]. Items without a rate are
//! served by arrival when no item with a rate waits. These are best effort without a `share`, and
//! excess.

mod bounds;
mod deficit_round_robin;
mod early;
mod edf;
mod fifo;
mod fifo_plus;
mod fixed_priority;
mod frames;
mod groups;
mod held;
mod hierarchical_fair;
mod hierarchical_round_robin;
mod hop_laxity;
mod keyed;
mod multiclass_edf;
mod rate_controlled;
mod request;
mod selection;
mod self_clocked;
mod sharing;
mod stamped;
mod start_time;
mod stop_and_go;
mod strict_priority;
mod virtual_clock;
mod virtual_time;
mod weighted_fair;
mod worst_case_fair;

pub use crate::tag::{Class, LEVELS, LOWEST, Tag};
pub use deficit_round_robin::DeficitRoundRobin;
pub use early::EarlyPolicy;
pub use edf::Edf;
pub use fifo::Fifo;
pub use fifo_plus::FifoPlus;
pub use fixed_priority::FixedPriority;
pub use groups::{Group, Groups};
pub use hierarchical_fair::HierarchicalFair;
pub use hierarchical_round_robin::HierarchicalRoundRobin;
pub use hop_laxity::HopLaxity;
pub use multiclass_edf::MultiClassEdf;
pub use rate_controlled::RateControlled;
pub use request::{ItemRequest, Rank, ServerParameters};
pub use selection::{Committed, CyclicClass, GateList, Hold, Selection, Shaper, Window};
pub use self_clocked::SelfClocked;
pub use sharing::{Latency, Messages, Share, Sharing};
pub use start_time::StartTimeFair;
pub use stop_and_go::StopAndGo;
pub use strict_priority::StrictPriority;
pub use virtual_clock::VirtualClock;
pub use weighted_fair::WeightedFair;
pub use worst_case_fair::WorstCaseFair;

use laxity_units::{Span, Time};

use crate::names::ChannelId;

/// Declares every discipline once: its type and name, its abbreviation in the literature, its
/// storage in a [`Discipline`], and an empty queue. Disciplines larger than the papers' own are
/// boxed, because each resource of a large network has a discipline and few have these.
macro_rules! disciplines {
    ($($discipline:ident $short:literal $lies:ident $empty:expr;)*) => {
        /// A discipline by name; [`Order::discipline`] makes one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Order {
            $(#[doc = concat!("See [`", stringify!($discipline), "`].")] $discipline,)*
        }

        impl Order {
            /// All disciplines.
            pub const ALL: &'static [Order] = &[$(Order::$discipline),*];

            /// An empty queue of this discipline in front of `server`.
            pub fn discipline<T>(self, server: &ServerParameters) -> Discipline<T> {
                match self {
                    $(Order::$discipline => Discipline::$discipline($lies::from($empty(server))),)*
                }
            }

            /// The abbreviation in the literature.
            pub fn short(self) -> &'static str {
                match self {
                    $(Order::$discipline => $short,)*
                }
            }
        }

        /// One of the disciplines, chosen by a description.
        #[derive(Debug, Clone)]
        pub enum Discipline<T> {
            $(#[doc = concat!("See [`", stringify!($discipline), "`].")] $discipline($lies<$discipline<T>>),)*
        }

        impl<T> Discipline<T> {
            #[inline(never)]
            fn enqueue_by(&mut self, now: Time, request: &ItemRequest, item: T) {
                match self {
                    $(Discipline::$discipline(queue) => queue.enqueue(now, request, item),)*
                }
            }

            #[inline(never)]
            fn select_by(&mut self, now: Time) -> Option<(Tag, T)> {
                match self {
                    $(Discipline::$discipline(queue) => queue.select(now),)*
                }
            }

            #[inline(never)]
            fn next_eligible_by(&mut self, now: Time) -> Option<Time> {
                match self {
                    $(Discipline::$discipline(queue) => queue.next_eligible(now),)*
                }
            }

            #[inline(never)]
            fn len_by(&self) -> usize {
                match self {
                    $(Discipline::$discipline(queue) => queue.len(),)*
                }
            }

            /// Rank of the item that [`select`](Self::select) would return.
            pub fn best(&mut self, now: Time) -> Option<Rank> {
                match self {
                    $(Discipline::$discipline(queue) => queue.best(now),)*
                }
            }

            /// Rank of an item with `tag` at `now`.
            pub fn rank(&self, tag: &Tag, now: Time) -> Rank {
                match self {
                    $(Discipline::$discipline(queue) => queue.rank(tag, now),)*
                }
            }

            /// The last service has ended and no item waits: service taken before does not count
            /// against a flow.
            #[inline]
            pub fn idle(&mut self) {
                match self {
                    $(Discipline::$discipline(queue) => queue.idle(),)*
                }
            }

            /// Removes the best-effort item that would be served last. The items with a rate of
            /// each flow must be of one class. Linear in the number of items.
            pub fn evict(&mut self) -> Option<T> {
                match self {
                    $(Discipline::$discipline(queue) => queue.evict(),)*
                }
            }

            /// Removes every item, eligible or not.
            pub fn drain(&mut self) -> Vec<T> {
                match self {
                    $(Discipline::$discipline(queue) => queue.drain(),)*
                }
            }
        }
    };
}

/// The queue is stored inline.
type Here<T> = T;

/// Operations of each packet. The papers' own discipline is nearly always in use, so it is
/// dispatched inline. The others are out of line, to keep a packet's code path compact.
impl<T> Discipline<T> {
    /// Adds an item that arrives `now`.
    #[inline]
    pub fn enqueue(&mut self, now: Time, request: &ItemRequest, item: T) {
        match self {
            Discipline::MultiClassEdf(queue) => queue.enqueue(now, request, item),
            other => other.enqueue_by(now, request, item),
        }
    }

    /// Removes and returns the item to serve at `now`, if any is eligible.
    #[inline]
    pub fn select(&mut self, now: Time) -> Option<(Tag, T)> {
        match self {
            Discipline::MultiClassEdf(queue) => queue.select(now),
            other => other.select_by(now),
        }
    }

    /// When an early item next becomes eligible or current, always after `now`; `None` if there is
    /// none.
    #[inline]
    pub fn next_eligible(&mut self, now: Time) -> Option<Time> {
        match self {
            Discipline::MultiClassEdf(queue) => queue.next_eligible(now),
            other => other.next_eligible_by(now),
        }
    }

    /// Whether [`next_eligible`](Self::next_eligible) may return a time; without early items it
    /// returns `None`.
    #[inline]
    pub fn may_hold(&self) -> bool {
        match self {
            Discipline::MultiClassEdf(queue) => queue.has_early(),
            Discipline::Edf(_) | Discipline::Fifo(_) => false,
            Discipline::StrictPriority(queue) => queue.may_hold(),
            _ => true,
        }
    }

    /// Number of items that wait, eligible or not.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Discipline::MultiClassEdf(queue) => queue.len(),
            other => other.len_by(),
        }
    }

    /// Whether no item waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Discipline<T> {
    /// Removes the guaranteed item with the latest deadline, if that is after `deadline`. Only for
    /// orders that rank an item by its tag alone ([`Order::displaces`]). Linear in the number of
    /// items.
    pub fn displace(&mut self, deadline: Time) -> Option<T> {
        match self {
            Discipline::Fifo(queue) => queue.displace(deadline),
            Discipline::Edf(queue) => queue.displace(deadline),
            Discipline::MultiClassEdf(queue) => queue.displace(deadline),
            Discipline::FixedPriority(queue) => queue.displace(deadline),
            _ => None,
        }
    }

    /// Sets the groups of flows that share a rate, for disciplines that use groups. Call it before
    /// the first item.
    pub fn group(&mut self, groups: &Groups) {
        if let Discipline::HierarchicalFair(queue) = self {
            queue.group(groups);
        }
    }

    /// Gives `flow` a regulator, for strict priority with regulated classes. Call it before the first
    /// item, and once for a flow.
    pub fn regulate(&mut self, flow: ChannelId, committed: Committed) {
        if let Discipline::StrictPriority(queue) = self {
            queue.regulate(flow, committed);
        }
    }

    /// Usual wait of real-time items here, for the discipline that carries it from hop to hop.
    pub fn usual_wait(&self) -> Option<Span> {
        match self {
            Discipline::FifoPlus(queue) => Some(queue.usual_wait()),
            _ => None,
        }
    }
}

impl Order {
    /// Whether the discipline is non-work-conserving, whatever the policy for early items.
    pub fn holds(self) -> bool {
        self.has_frames() || self == Order::RateControlled
    }

    /// Whether an item can be removed from the middle of the queue without a trace; rate-based
    /// disciplines have counted it already.
    pub fn displaces(self) -> bool {
        matches!(self, Order::Fifo | Order::Edf | Order::MultiClassEdf | Order::FixedPriority)
    }

    /// Whether the discipline needs the length of a frame.
    pub fn has_frames(self) -> bool {
        matches!(self, Order::StopAndGo | Order::HierarchicalRoundRobin)
    }
}

disciplines! {
    MultiClassEdf "multi-class EDF" Here |server: &ServerParameters| MultiClassEdf::new(server.early);
    FixedPriority "FP" Here |server: &ServerParameters| FixedPriority::new(server.early);
    Edf "EDF" Here |_| Edf::default();
    Fifo "FIFO" Here |_| Fifo::default();
    VirtualClock "VC" Here |_| VirtualClock::default();
    WeightedFair "WFQ" Box |server: &ServerParameters| WeightedFair::of(server);
    WorstCaseFair "WF2Q+" Box |_| WorstCaseFair::default();
    SelfClocked "SCFQ" Here |_| SelfClocked::default();
    StartTimeFair "SFQ" Here |_| StartTimeFair::default();
    HierarchicalFair "H-SFQ" Here |_| HierarchicalFair::default();
    DeficitRoundRobin "DRR" Here |_| DeficitRoundRobin::default();
    StopAndGo "S&G" Here |server: &ServerParameters| StopAndGo::of(server);
    HierarchicalRoundRobin "HRR" Here |server: &ServerParameters| HierarchicalRoundRobin::of(server);
    RateControlled "RCSP" Here |_| RateControlled::default();
    FifoPlus "FIFO+" Here |_| FifoPlus::default();
    HopLaxity "HL" Here |_| HopLaxity::default();
    StrictPriority "SP" Here |server: &ServerParameters| StrictPriority::of(server);
}

#[cfg(test)]
mod ends;
#[cfg(test)]
mod fairness;
#[cfg(test)]
mod holding;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tree;
