//! The timers of the data path: partial messages, messages that wait for others, reservations.

use std::collections::BTreeSet;

use laxity_signalling::identity::GlobalChannelId;
use laxity_signalling::resources::ReservationId;
use laxity_units::Time;

use crate::flow::Key;

/// The kinds of timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A partial message of a contract is given up.
    Partial(Key),
    /// A message that waits for others of its channel is delivered.
    Deliver(GlobalChannelId),
    /// A reservation that ended has no link time in use any more.
    Free(ReservationId),
    /// A reservation that ended has no packets in a queue any more.
    Memory(ReservationId),
}

/// Timers, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    queue: BTreeSet<(Time, Due)>,
}

impl Timers {
    /// Moves a timer from `armed` to `at`. A packet that changes no timer costs a comparison.
    pub(crate) fn set(&mut self, armed: &mut Option<Time>, at: Option<Time>, due: Due) {
        if *armed == at {
            return;
        }
        if let Some(before) = std::mem::replace(armed, at) {
            self.queue.remove(&(before, due));
        }
        if let Some(at) = at {
            self.queue.insert((at, due));
        }
    }

    /// The next timer.
    pub(crate) fn next(&self) -> Option<Time> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Takes a timer that is due at `now`.
    pub(crate) fn take(&mut self, now: Time) -> Option<Due> {
        let (at, due) = *self.queue.first().filter(|(at, _)| *at <= now)?;
        self.queue.remove(&(at, due));
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_moves_and_is_taken_once() {
        let at = |ps| Time::ZERO + laxity_units::Span::from_ps(ps);
        let (mut timers, due) = (Timers::default(), |id| Due::Free(ReservationId(id)));
        let (mut first, mut second) = (None, None);
        timers.set(&mut first, Some(at(10)), due(1));
        timers.set(&mut second, Some(at(20)), due(2));
        timers.set(&mut first, Some(at(30)), due(1));
        assert_eq!((first, timers.next(), timers.take(at(19))), (Some(at(30)), Some(at(20)), None));
        assert_eq!(
            (timers.take(at(30)), timers.take(at(30)), timers.take(at(30))),
            (Some(due(2)), Some(due(1)), None)
        );
        timers.set(&mut second, None, due(2));
        assert_eq!((second, timers.next()), (None, None));
    }
}
