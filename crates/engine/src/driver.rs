//! The driver: one loop for all clocks.
//!
//! ```text
//!            next event's time, or the limit
//!   calendar ------------------------------> clock
//!       ^                                      |
//!       |      Woken { at }: poll_inputs(at)   |
//!     world <----------------------------------+
//!              Reached { late }: handle(t)
//! ```
//!
//! The world gets the time for which an event was scheduled, never the lateness of the clock. With
//! the real time, lateness would enter the model and accumulate: a period measured from a late
//! start drifts. Lateness is therefore only in the outcome, and a run under a late clock has the
//! trace of a run under a punctual one.

use laxity_units::Time;

use crate::calendar::Calendar;
use crate::clock::{Clock, Wait};
use crate::lateness::Lateness;
use crate::world::World;

/// Limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Last time at which events still happen; [`Time::MAX`] is no limit.
    pub until: Time,
    /// Maximum number of events.
    pub events: u64,
}

impl Limits {
    /// No limits: the run ends when its calendar is empty or its world is finished.
    pub const NONE: Limits = Limits { until: Time::MAX, events: u64::MAX };

    /// Stops after the events at `time`.
    #[must_use]
    pub const fn until(self, time: Time) -> Self {
        Self { until: time, ..self }
    }

    /// Stops after `count` events.
    #[must_use]
    pub const fn events(self, count: u64) -> Self {
        Self { events: count, ..self }
    }
}

/// Reason for which a run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Time limit: all events up to and at the limit have happened, and now is the limit.
    Until,
    /// The world is finished.
    Finished,
    /// Event limit, with events pending or possible.
    Events,
    /// No event is pending, and no time limit keeps the run waiting for outside inputs.
    Drained,
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineOutcome {
    /// Reason for which it stopped.
    pub stop: Stop,
    /// Time at which it stopped; also the calendar's.
    pub now: Time,
    /// The same without the final wait for the time limit.
    pub idle_from: Time,
    /// Number of events.
    pub events: u64,
    /// Number of wakes by outside inputs.
    pub wakes: u64,
    /// Lateness of the events, by the clock.
    pub lateness: Lateness,
}

/// Passes near events to `world`. Not inlined in the loop, which is all that a small world needs.
#[cold]
#[inline(never)]
fn look_ahead<W: World>(world: &W, calendar: &Calendar<W::Event>) {
    world.ahead(calendar.near());
}

/// Runs `world` from the time of `calendar` until one of `limits`, the world's end or an empty
/// calendar.
///
/// A run may be split into several calls. The limit of events counts those of this call. A limit of
/// time before now stops at once and leaves now unchanged.
pub fn run<W: World, C: Clock>(
    world: &mut W,
    calendar: &mut Calendar<W::Event>,
    clock: &mut C,
    limits: Limits,
) -> EngineOutcome {
    let before = calendar.happened();
    let last = before.saturating_add(limits.events);
    let mut wakes = 0;
    let mut lateness = Lateness::default();
    let mut idle_from = None;
    if C::JUMPS {
        calendar.set_free(limits.until, last);
    }
    let stop = loop {
        if world.is_finished() {
            break Stop::Finished;
        }
        if calendar.happened() == last {
            break Stop::Events;
        }
        let next = calendar.due();
        if calendar.have_come_near() {
            look_ahead(world, calendar);
        }
        let due = next.filter(|at| *at <= limits.until);
        match clock.wait_until(due.unwrap_or(limits.until.max(calendar.now()))) {
            Wait::Reached { late } => match due {
                Some(_) => {
                    let (now, event) = calendar.take_due();
                    lateness.record(late);
                    world.handle(now, event, calendar);
                }
                None if next.is_none() && limits.until == Time::MAX => break Stop::Drained,
                None => {
                    idle_from = Some(calendar.now());
                    calendar.advance(limits.until.max(calendar.now()));
                    break Stop::Until;
                }
            },
            Wait::Woken { at } => {
                // Inputs may have been read, and have happened, shortly after the last reading of
                // the clock.
                let at = at.max(calendar.now());
                calendar.advance(at);
                wakes += 1;
                world.poll_inputs(at, calendar);
            }
        }
    };
    calendar.set_free(Time::ZERO, 0);
    let events = calendar.happened() - before;
    // The clock did not wait for events reached by a leap.
    lateness.record_on_time(events - lateness.count());
    let now = calendar.now();
    EngineOutcome { stop, now, idle_from: idle_from.unwrap_or(now), events, wakes, lateness }
}
