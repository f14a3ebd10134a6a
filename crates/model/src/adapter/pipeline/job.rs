//! A packet that a server has, and how far it is.

use laxity_qos::channel::{Slot, Slots};
use laxity_units::{Span, Time};

use crate::adapter::Phase;

/// A packet that a server has.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) slot: Slot,
    pub(super) joined: Time,
    /// The rest of its batch, with arrival times.
    pub(super) others: Vec<(Slot, Time)>,
    pub(super) began: Time,
    /// The phase it is in, or was in last.
    pub(super) phase: usize,
    /// Remaining time of the phase, or of its current segment.
    pub(super) left: Span,
    /// Remaining segments of the phase, and the time of each.
    pub(super) parts: (u64, Span),
    pub(super) at: At,
}

/// Position of a job in its service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// The resources of its phase.
    Phase,
    /// The end of its phase.
    Running { since: Time, ends: Time },
    /// It continues with the first applicable phase from this one on.
    Next(usize),
    /// The medium.
    Medium,
    /// The host's next command.
    Host,
    /// A place in the response queue, to say that its phase is done.
    Telling,
    /// A place in the next stage.
    Leaving,
}

impl Job {
    /// A job for `slot` alone, with these arrival and start times, in `phase` with `left` remaining
    /// and no further segments.
    #[inline]
    pub(super) fn alone(
        slot: Slot,
        (joined, began): (Time, Time),
        (phase, left): (usize, Span),
        at: At,
    ) -> Self {
        Self { slot, joined, others: Vec::new(), began, phase, left, parts: (0, left), at }
    }

    #[inline]
    pub(super) fn ends(&self) -> Option<Time> {
        match self.at {
            At::Running { ends, .. } => Some(ends),
            _ => None,
        }
    }

    /// Whether it is done with phase `number`.
    pub(super) fn is_past(&self, number: usize) -> bool {
        match self.at {
            At::Next(next) => next > number,
            At::Leaving => true,
            At::Host | At::Telling => self.phase >= number,
            At::Phase | At::Running { .. } | At::Medium => self.phase > number,
        }
    }

    /// Time of `phase` for the whole batch.
    #[cold]
    pub(super) fn time_together(&self, phase: &Phase, packets: &Slots) -> Span {
        phase.delay.of_all(self.all().map(|(slot, _)| packets.at(slot).size))
    }

    /// All that it serves, in the order in which it leaves, and when each came.
    #[inline]
    pub(super) fn all(&self) -> impl Iterator<Item = (Slot, Time)> {
        std::iter::once((self.slot, self.joined)).chain(self.others.iter().copied())
    }

    /// Enters phase `number`, of duration `delay` in `parts` segments.
    #[inline]
    pub(super) fn enter(&mut self, number: usize, phase: &Phase, (delay, parts): (Span, u64), now: Time) {
        self.phase = number;
        // All but the first are alike.
        let after = parts - 1;
        let each = if after == 0 { delay } else { delay / parts };
        (self.parts, self.left) = ((after, each), delay - each * after);
        if phase.since_service {
            self.left = self.left.saturating_sub(now.since(self.began));
        }
        self.at = At::Phase;
    }

    /// Goes on to the next part of its phase, if there is one, for which it has to have its
    /// resources again; answers whether there was.
    #[inline]
    pub(super) fn next_part(&mut self) -> bool {
        let (after, each) = self.parts;
        let Some(after) = after.checked_sub(1) else { return false };
        (self.parts.0, self.left, self.at) = (after, each, At::Phase);
        true
    }

    /// Has its resources from now on, or not; answers for how long it had those that it gives up.
    #[inline]
    pub(super) fn go_on(&mut self, goes_on: bool, now: Time) -> Span {
        match (goes_on, self.ends()) {
            (true, None) => {
                self.at = At::Running { since: now, ends: now + self.left };
                Span::ZERO
            }
            (false, Some(_)) => self.pause(now),
            _ => Span::ZERO,
        }
    }

    /// Gives its resources up, if it has them; answers for how long it had them.
    #[inline]
    pub(super) fn pause(&mut self, now: Time) -> Span {
        let At::Running { since, ends } = self.at else { return Span::ZERO };
        self.left = ends.saturating_since(now);
        self.at = At::Phase;
        now.since(since)
    }
}
