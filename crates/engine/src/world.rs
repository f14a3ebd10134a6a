//! The world: components with their events.
//!
//! A world is all components of one run, with one event type: usually an enum with a variant per
//! component, each containing that component's own small event enum. The world dispatches an event
//! to its component by a `match`, which the compiler can inline. Boxed events, or components behind
//! `dyn`, would cost an allocation or an unpredictable call for each of ten million events a
//! second, and would only allow to assemble a world without naming its type; the crate `world`
//! names it.

use laxity_units::Time;

use crate::calendar::Calendar;

/// Components of a run and their reaction to events.
pub trait World {
    /// Event: a plain value.
    type Event: Copy;

    /// Handles `event` at `now`, the time for which it was scheduled, whatever the clock's
    /// lateness.
    ///
    /// Events that follow go into `calendar`.
    fn handle(&mut self, now: Time, event: Self::Event, calendar: &mut Calendar<Self::Event>);

    /// Takes outside inputs: frames from a port, a command from an operator.
    ///
    /// Called only when the clock was woken. It must take all that has arrived, possibly no input.
    /// The default is for a world without inputs, as in a simulation.
    fn poll_inputs(&mut self, now: Time, calendar: &mut Calendar<Self::Event>) {
        let _ = (now, calendar);
    }

    /// Hint that `events` are near, in no order, so that their memory can be prefetched while the
    /// first of them are handled; it must change no state. Called only for worlds with more pending
    /// events than the cache holds.
    fn ahead<'e>(&self, events: impl Iterator<Item = &'e Self::Event> + Clone)
    where
        Self::Event: 'e,
    {
        let _ = events;
    }

    /// Whether the world has reached its end.
    fn is_finished(&self) -> bool {
        false
    }
}
