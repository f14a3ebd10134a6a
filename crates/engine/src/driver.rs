//! The one loop for all clocks.
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
//! The world is told the time an event was scheduled for and never how late the clock was. Were it told
//! the real time, lateness would enter the model and repeat itself: a period measured from a late start
//! drifts. So lateness stays outside, in the outcome, and a run under a late clock has the trace of a run
//! under a punctual one.

use laxity_units::Time;

use crate::calendar::Calendar;
use crate::clock::{Clock, Wait};
use crate::lateness::Lateness;
use crate::world::World;

/// When to stop a run that would go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The last time whose events still happen; [`Time::MAX`] is no limit.
    pub until: Time,
    /// How many events may happen.
    pub events: u64,
}

impl Limits {
    /// The run goes on until its calendar is empty or its world is finished.
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

/// Why a run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Its time limit is reached: all events up to and at the limit have happened, and now is the limit.
    Until,
    /// The world is finished.
    Finished,
    /// Its event limit is used up and more is to come, or may be.
    Events,
    /// Nothing is to come, and no time limit says to wait for outside inputs.
    Drained,
}

/// What a run was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Why it stopped.
    pub stop: Stop,
    /// The time at which it stopped; also the calendar's.
    pub now: Time,
    /// The same but for what it waited in vain until its limit of time.
    pub idle_from: Time,
    /// How many events happened.
    pub events: u64,
    /// How often an outside input woke it.
    pub wakes: u64,
    /// How late the events happened, by the clock.
    pub lateness: Lateness,
}

/// Tells `world` what has come near. Not a part of the loop, which is all there is to a world of a few components.
#[cold]
#[inline(never)]
fn look_ahead<W: World>(world: &W, calendar: &Calendar<W::Event>) {
    world.ahead(calendar.near());
}

/// Runs `world` from where `calendar` is until one of `limits`, its own end or an empty calendar.
///
/// Nothing is lost between calls: a run in pieces is the same run. The limit of events counts those of this
/// call. A limit of time before now stops at once and leaves now as it is.
pub fn run<W: World, C: Clock>(
    world: &mut W,
    calendar: &mut Calendar<W::Event>,
    clock: &mut C,
    limits: Limits,
) -> Outcome {
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
                // Inputs may have been read, and have happened, a moment after the clock was last looked at.
                let at = at.max(calendar.now());
                calendar.advance(at);
                wakes += 1;
                world.poll_inputs(at, calendar);
            }
        }
    };
    calendar.set_free(Time::ZERO, 0);
    let events = calendar.happened() - before;
    // Nobody waited for those to which the world went by itself.
    lateness.record_on_time(events - lateness.count());
    let now = calendar.now();
    Outcome { stop, now, idle_from: idle_from.unwrap_or(now), events, wakes, lateness }
}
