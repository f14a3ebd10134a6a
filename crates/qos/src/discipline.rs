//! Scheduling disciplines: who is next.
//!
//! A discipline owns no time and no resource. It is handed items, each with a [`Request`], and asked, at some
//! `now`, which one to serve. The resource that asks (CPU, link, adapter stage, port) knows when it is free
//! and what service costs. That split keeps each discipline to a page and lets the same ones order
//! handlers on a CPU, packets on a link and descriptors on an adapter.
//!
//! | discipline | orders by | holds items |
//! |---|---|---|
//! | [`Fifo`] | arrival | no |
//! | [`FixedPriority`] | level, then arrival | until `ℓ` |
//! | [`Edf`] | deadline | no |
//! | [`MultiClassEdf`] | current real time by deadline, best effort by arrival, early by `ℓ` | until `ℓ` |
//! | [`VirtualClock`] | when an item would be done at its flow's own rate | no |
//! | [`WeightedFair`] (WFQ, PGPS) | when the fluid server would be done with it | no |
//! | [`WorstCaseFair`] (WF2Q+) | the same, of what that server would have begun | no |
//! | [`SelfClocked`] (SCFQ) | finish tags; the clock is the tag in service | no |
//! | [`StartTimeFair`] (SFQ) | start tags; the clock is the tag in service | no |
//! | [`HierarchicalFair`] (H-SFQ) | start tags of groups, then of what is in them | no |
//! | [`DeficitRoundRobin`] (DRR) | turns, each worth the same time at one's own rate | no |
//! | [`StopAndGo`] | length of frames, then arrival | until the frame in which they came is over |
//! | [`HierarchicalRoundRobin`] (HRR) | length of frames, then turns | when a frame's worth is used up |
//! | [`RateControlled`] (RCSP) | level, then when they were let go | until they are due at their flow's rate |
//! | [`FifoPlus`] (FIFO+) | arrival, had they waited at each hop so far as is usual there | no |
//! | [`HopLaxity`] | time left for each link that is left | no |
//!
//! Those that share by rates take a flow's from its [`Tag::tick`]. What has none, best effort that says no `share` and what
//! exceeds a contract, goes by arrival when nothing else waits.

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
mod self_clocked;
mod sharing;
mod stamped;
mod start_time;
mod stop_and_go;
mod virtual_clock;
mod virtual_time;
mod weighted_fair;
mod worst_case_fair;

pub use crate::tag::{Class, LEVELS, Tag};
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
pub use request::{Rank, Request, Server};
pub use self_clocked::SelfClocked;
pub use sharing::{Latency, Share, Sharing};
pub use start_time::StartTimeFair;
pub use stop_and_go::StopAndGo;
pub use virtual_clock::VirtualClock;
pub use weighted_fair::WeightedFair;
pub use worst_case_fair::WorstCaseFair;

use laxity_units::{Span, Time};

/// Declares every discipline once: its type and name, how the field abbreviates it, how it lies in a [`Discipline`], and an empty queue of it. Those that
/// are larger than the papers' own lie elsewhere: each resource of a large network has one, and few have these.
macro_rules! disciplines {
    ($($discipline:ident $short:literal $lies:ident $empty:expr;)*) => {
        /// A discipline by name; [`Order::discipline`] makes one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Order {
            $(#[doc = concat!("See [`", stringify!($discipline), "`].")] $discipline,)*
        }

        impl Order {
            /// Every one.
            pub const ALL: &'static [Order] = &[$(Order::$discipline),*];

            /// An empty queue of this discipline before `server`.
            pub fn discipline<T>(self, server: &Server) -> Discipline<T> {
                match self {
                    $(Order::$discipline => Discipline::$discipline($lies::from($empty(server))),)*
                }
            }

            /// As the field abbreviates it.
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
            fn enqueue_by(&mut self, now: Time, request: &Request, item: T) {
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

            /// Rank that an item with `tag` has at `now`.
            pub fn rank(&self, tag: &Tag, now: Time) -> Rank {
                match self {
                    $(Discipline::$discipline(queue) => queue.rank(tag, now),)*
                }
            }

            /// Whoever was served last has been, and nobody waits: what was taken then is nobody's loss.
            #[inline]
            pub fn idle(&mut self) {
                match self {
                    $(Discipline::$discipline(queue) => queue.idle(),)*
                }
            }

            /// Removes the best-effort item that would be served last, of flows whose items with a rate are all of one class. Takes time with the
            /// number of items.
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

/// It lies in the discipline itself.
type Here<T> = T;

/// What is asked for each packet, and several times. The papers' own discipline is nearly always the one that answers: it is asked in place, and all others out
/// of the way, so that sixteen of them do not stand between one line of a packet's way and the next.
impl<T> Discipline<T> {
    /// Adds an item that comes `now`.
    #[inline]
    pub fn enqueue(&mut self, now: Time, request: &Request, item: T) {
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

    /// When an early item next becomes eligible or current, always after `now`; `None` if there is none.
    #[inline]
    pub fn next_eligible(&mut self, now: Time) -> Option<Time> {
        match self {
            Discipline::MultiClassEdf(queue) => queue.next_eligible(now),
            other => other.next_eligible_by(now),
        }
    }

    /// Whether [`next_eligible`](Self::next_eligible) may have a time to name; where nothing is early it has none.
    #[inline]
    pub fn may_hold(&self) -> bool {
        match self {
            Discipline::MultiClassEdf(queue) => queue.has_early(),
            Discipline::Edf(_) | Discipline::Fifo(_) => false,
            _ => true,
        }
    }

    /// How many items wait, eligible or not.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Discipline::MultiClassEdf(queue) => queue.len(),
            other => other.len_by(),
        }
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Discipline<T> {
    /// Removes the item with a guarantee that is due last, if that is after `deadline`: for orders that say how urgent an item is by no more
    /// than its tag ([`Order::displaces`]). Takes time with the number of items.
    pub fn displace(&mut self, deadline: Time) -> Option<T> {
        match self {
            Discipline::Fifo(queue) => queue.displace(deadline),
            Discipline::Edf(queue) => queue.displace(deadline),
            Discipline::MultiClassEdf(queue) => queue.displace(deadline),
            Discipline::FixedPriority(queue) => queue.displace(deadline),
            _ => None,
        }
    }

    /// Which groups of flows have a rate together, where that counts. Nothing may have come before.
    pub fn group(&mut self, groups: &Groups) {
        if let Discipline::HierarchicalFair(queue) = self {
            queue.group(groups);
        }
    }

    /// What real time waits here, where that is counted for what items carry on.
    pub fn usual_wait(&self) -> Option<Span> {
        match self {
            Discipline::FifoPlus(queue) => Some(queue.usual_wait()),
            _ => None,
        }
    }
}

impl Order {
    /// Whether it lets a resource idle that could serve what waits, whatever early items may do.
    pub fn holds(self) -> bool {
        self.has_frames() || self == Order::RateControlled
    }

    /// Whether an item can be taken out of the middle of what waits without a trace: those that share by rates have counted it.
    pub fn displaces(self) -> bool {
        matches!(self, Order::Fifo | Order::Edf | Order::MultiClassEdf | Order::FixedPriority)
    }

    /// Whether it needs to be told a frame.
    pub fn has_frames(self) -> bool {
        matches!(self, Order::StopAndGo | Order::HierarchicalRoundRobin)
    }
}

disciplines! {
    MultiClassEdf "multi-class EDF" Here |server: &Server| MultiClassEdf::new(server.early);
    FixedPriority "FP" Here |server: &Server| FixedPriority::new(server.early);
    Edf "EDF" Here |_| Edf::default();
    Fifo "FIFO" Here |_| Fifo::default();
    VirtualClock "VC" Here |_| VirtualClock::default();
    WeightedFair "WFQ" Box |server: &Server| WeightedFair::of(server);
    WorstCaseFair "WF2Q+" Box |_| WorstCaseFair::default();
    SelfClocked "SCFQ" Here |_| SelfClocked::default();
    StartTimeFair "SFQ" Here |_| StartTimeFair::default();
    HierarchicalFair "H-SFQ" Here |_| HierarchicalFair::default();
    DeficitRoundRobin "DRR" Here |_| DeficitRoundRobin::default();
    StopAndGo "S&G" Here |server: &Server| StopAndGo::of(server);
    HierarchicalRoundRobin "HRR" Here |server: &Server| HierarchicalRoundRobin::of(server);
    RateControlled "RCSP" Here |_| RateControlled::default();
    FifoPlus "FIFO+" Here |_| FifoPlus::default();
    HopLaxity "HL" Here |_| HopLaxity::default();
}

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
