//! Queue 3: items before their logical arrival time.
//!
//! Early work must not delay on-time work, so it waits here until `ℓ`. The *horizon* of a resource
//! limits how far before `ℓ` it may serve an item when it would otherwise idle. A horizon of zero
//! is non-work-conserving, an unlimited one is work-conserving (structuring §3.1, thesis §3.2.4).

use laxity_units::{Span, Time};

use super::Tag;
use super::keyed::Keyed;

/// Treatment of early items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlyPolicy {
    /// How long before `ℓ` an item may be served if no on-time item waits. Zero holds it until `ℓ`;
    /// [`Span::MAX`] serves it whenever the resource would idle.
    pub horizon: Span,
    /// Whether an early item within the horizon precedes best effort. In the papers it follows; the
    /// other order is the mistake that structuring Figure 7(b) shows.
    pub above_best_effort: bool,
}

impl EarlyPolicy {
    /// Hold until the logical arrival time.
    pub const HOLD: Self = Self { horizon: Span::ZERO, above_best_effort: false };
    /// Work-conserving below best effort.
    pub const CONSERVE: Self = Self { horizon: Span::MAX, above_best_effort: false };
}

#[derive(Debug, Clone)]
pub(super) struct EarlyQueue<T> {
    queue: Keyed<T>,
    policy: EarlyPolicy,
}

impl<T> EarlyQueue<T> {
    pub(super) fn new(policy: EarlyPolicy) -> Self {
        Self { queue: Keyed::new(), policy }
    }

    #[inline]
    pub(super) fn policy(&self) -> EarlyPolicy {
        self.policy
    }

    pub(super) fn push(&mut self, tag: Tag, item: T) {
        self.queue.push(tag.logical_arrival, tag, item);
    }

    /// The first item, if its `ℓ` is reached.
    #[inline]
    pub(super) fn pop_current(&mut self, now: Time) -> Option<(Tag, T)> {
        if self.queue.first()? <= now { self.queue.pop() } else { None }
    }

    /// The first item, if it is within the horizon.
    pub(super) fn pop_ahead(&mut self, now: Time) -> Option<(Tag, T)> {
        self.first_ahead(now)?;
        self.queue.pop()
    }

    /// `ℓ` of the first item, if it is within the horizon.
    #[inline]
    pub(super) fn first_ahead(&self, now: Time) -> Option<Time> {
        self.queue.first().filter(|at| at.saturating_sub(self.policy.horizon) <= now)
    }

    /// When the first item, early at `now`, enters the horizon, or else when it becomes current: an
    /// item that may be served already still changes rank at `ℓ`.
    #[inline]
    pub(super) fn next_eligible(&self, now: Time) -> Option<Time> {
        let at = self.queue.first()?;
        let ahead = at.saturating_sub(self.policy.horizon);
        Some(if ahead > now { ahead } else { at })
    }

    /// See [`Keyed::latest`].
    pub(super) fn latest(&self) -> Option<Time> {
        self.queue.latest()
    }

    /// See [`Keyed::remove_latest`].
    pub(super) fn remove_latest(&mut self) -> Option<T> {
        self.queue.remove_latest()
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Tag, T)> {
        self.queue.drain()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    #[inline]
    pub(super) fn has_one(&self) -> bool {
        self.queue.has_one()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}
