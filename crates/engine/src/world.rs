//! What things happen to.
//!
//! A world is all components of one run, assembled, with one event type: usually an enum with a variant per
//! component, each holding that component's own small event enum. The world hands an event to its component
//! with a `match` that the compiler sees through. Boxed events, or components behind `dyn`, would cost an
//! allocation or an unpredictable call for each of ten million events a second, and would buy only that a
//! world can be assembled without naming its type; the crate `world` names it.

use laxity_units::Time;

use crate::calendar::Calendar;

/// The components of a run and what they do when something happens.
pub trait World {
    /// What can happen: a plain value.
    type Event: Copy;

    /// Lets `event` happen at `now`, which is the time it was scheduled for, however late the clock came.
    ///
    /// What follows from it goes into `calendar`.
    fn handle(&mut self, now: Time, event: Self::Event, calendar: &mut Calendar<Self::Event>);

    /// Takes in what has arrived from outside the world: frames from a port, a command from an operator.
    ///
    /// Called when the clock was woken, and only then; it must take all that has arrived, and finding
    /// nothing is no error. A world without an outside, as every simulation is, keeps this empty one.
    fn poll_inputs(&mut self, now: Time, calendar: &mut Calendar<Self::Event>) {
        let _ = (now, calendar);
    }

    /// `events` have come near, in no order: a hint to have their memory fetched while the first of them are handled, which must change nothing. Told only of a world
    /// where so many are to come that they do not all lie in the cache.
    fn ahead<'e>(&self, events: impl Iterator<Item = &'e Self::Event> + Clone)
    where
        Self::Event: 'e,
    {
        let _ = events;
    }

    /// Whether the run has reached its end by the world's own judgement.
    fn is_finished(&self) -> bool {
        false
    }
}
