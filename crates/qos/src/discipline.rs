//! Scheduling disciplines: who is next.
//!
//! A discipline owns no time and no resource. It is handed items with a [`Tag`], and asked, at some
//! `now`, which one to serve. The resource that asks (CPU, link, adapter stage) knows when it is free
//! and what service costs. That split keeps each discipline to a page and lets the same five order
//! handlers on a CPU, packets on a link and descriptors on an adapter.
//!
//! | discipline | orders by | holds early items |
//! |---|---|---|
//! | [`Fifo`] | arrival | no |
//! | [`FixedPriority`] | level, then arrival | yes |
//! | [`Edf`] | deadline | no |
//! | [`VirtualClock`] | stamp: one interval of the contract after `ℓ` | no |
//! | [`MultiClassEdf`] | current real time by deadline, best effort by arrival, early by `ℓ` | yes |

mod early;
mod edf;
mod fifo;
mod fixed_priority;
mod keyed;
mod multiclass_edf;
mod virtual_clock;

pub use early::EarlyPolicy;
pub use edf::Edf;
pub use fifo::Fifo;
pub use fixed_priority::{FixedPriority, LEVELS};
pub use multiclass_edf::MultiClassEdf;
pub use virtual_clock::VirtualClock;

use laxity_units::{Span, Time};

/// Whether an item has a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Admitted with a bound.
    RealTime,
    /// Served with what is left.
    BestEffort,
}

/// What a discipline may know of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Class of service.
    pub class: Class,
    /// `ℓ`: when the item is current; the arrival time for best effort.
    pub logical_arrival: Time,
    /// Absolute deadline; [`Time::MAX`] for best effort.
    pub deadline: Time,
    /// `Vtick`: the interval of its contract; [`Span::MAX`] for best effort.
    pub tick: Span,
    /// Fixed priority, 0 the most urgent, below [`LEVELS`].
    pub level: u8,
}

impl Tag {
    /// What has a guarantee, one in every `tick`, and counts as come at `at`; its deadline is `within` of that.
    pub fn real_time(at: Time, within: Span, tick: Span, level: u8) -> Self {
        let deadline = at.saturating_add(within);
        Self { class: Class::RealTime, logical_arrival: at, deadline, tick, level }
    }

    /// What has none, and came `now`.
    pub fn best_effort(now: Time) -> Self {
        let level = LEVELS as u8 - 1;
        Self { class: Class::BestEffort, logical_arrival: now, deadline: Time::MAX, tick: Span::MAX, level }
    }
}

/// How urgent an item is; the smaller is served first. Comparable within one discipline at one `now`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub(crate) u8, pub(crate) Time);

/// Declares every discipline once: its type and name, how the field abbreviates it, and an empty queue of it.
macro_rules! disciplines {
    ($($discipline:ident $short:literal $empty:expr;)*) => {
        /// A discipline by name; [`Order::discipline`] makes one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Order {
            $(#[doc = concat!("See [`", stringify!($discipline), "`].")] $discipline,)*
        }

        impl Order {
            /// Every one.
            pub const ALL: &'static [Order] = &[$(Order::$discipline),*];

            /// An empty queue of this discipline.
            pub fn discipline<T>(self, early: EarlyPolicy) -> Discipline<T> {
                match self {
                    $(Order::$discipline => Discipline::$discipline($empty(early)),)*
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
            $(#[doc = concat!("See [`", stringify!($discipline), "`].")] $discipline($discipline<T>),)*
        }

        impl<T> Discipline<T> {
            /// Adds an item.
            #[inline]
            pub fn enqueue(&mut self, tag: Tag, item: T) {
                match self {
                    $(Discipline::$discipline(queue) => queue.enqueue(tag, item),)*
                }
            }

            /// Removes and returns the item to serve at `now`, if any is eligible.
            #[inline]
            pub fn select(&mut self, now: Time) -> Option<(Tag, T)> {
                match self {
                    $(Discipline::$discipline(queue) => queue.select(now),)*
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

            /// When an early item next becomes eligible or current, always after `now`; `None` if there is none.
            #[inline]
            pub fn next_eligible(&mut self, now: Time) -> Option<Time> {
                match self {
                    $(Discipline::$discipline(queue) => queue.next_eligible(now),)*
                }
            }

            /// How many items wait, eligible or not.
            #[inline]
            pub fn len(&self) -> usize {
                match self {
                    $(Discipline::$discipline(queue) => queue.len(),)*
                }
            }

            /// Whether nothing waits.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}

disciplines! {
    MultiClassEdf "multi-class EDF" MultiClassEdf::new;
    FixedPriority "FP" FixedPriority::new;
    Edf "EDF" |_| Edf::default();
    VirtualClock "VC" |_| VirtualClock::default();
    Fifo "FIFO" |_| Fifo::default();
}

#[cfg(test)]
mod tests;
