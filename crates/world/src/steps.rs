//! A run taken step by step: opened, run until a time, looked at, and closed.
//!
//! [`run`](crate::run) answers when all is over. Whoever watches a run, teaches by one or searches in one wants to stop on the way and
//! look, and must get the same run for it: a run in pieces is the same run, bit by bit, since what is to come stands
//! in the calendar and nowhere else.

use laxity_engine::trace::NoTrace;
use laxity_engine::{Calendar, Limits, Outcome, Stop, VirtualClock};
use laxity_units::Time;

use crate::assembly::{Assembly, Elsewhere, Event, Live, Nothing, limits};
use crate::experiment::{Experiment, RunLength, Task};
use crate::results::Run;

/// A simulation that its caller takes forward.
pub struct Steps<'a> {
    assembly: Assembly<'a, 'static, NoTrace, Nothing>,
    calendar: Calendar<Event>,
    limits: Limits,
    ended: bool,
}

impl<'a> Steps<'a> {
    /// The run of `experiment` at its beginning; `None` if it is to be filled and not run, or is of a host that receives at
    /// interfaces or of virtual interfaces, which run at once only.
    pub fn open(experiment: &'a Experiment) -> Option<Self> {
        let Task::Simulate(length) = experiment.task else { return None };
        if !experiment.interfaces.is_empty() || experiment.via.is_some() {
            return None;
        }
        Some(Self::of_length(experiment, length))
    }

    /// The same of another length than the experiment's own.
    ///
    /// # Panics
    ///
    /// If the host receives at interfaces, or channels are virtual interfaces: another world would run than the one described.
    pub fn of_length(experiment: &'a Experiment, length: RunLength) -> Self {
        assert!(experiment.interfaces.is_empty(), "what comes in at interfaces is run at once");
        assert!(experiment.via.is_none(), "virtual interfaces are run at once");
        // No trace has no size, so there is nothing that this could leak.
        let trace: &'static mut NoTrace = Box::leak(Box::new(NoTrace));
        let mut assembly = Assembly::with_outside(experiment, length, trace, Nothing, Elsewhere::default());
        let mut calendar = Calendar::new();
        assembly.start(&mut calendar);
        Self { assembly, calendar, limits: limits(length), ended: false }
    }

    /// Lets what is next happen; whether there was anything.
    pub fn step(&mut self) -> bool {
        self.go(self.limits.events(1)).events == 1
    }

    /// Lets happen what happens up to and at `time`, or to the run's end if that comes first; whether the run goes on.
    pub fn until(&mut self, time: Time) -> bool {
        self.go(self.limits.until(time.min(self.limits.until)));
        !self.ended
    }

    /// Runs to the end, or for so many `events`; whether it ended.
    pub fn finish_within(&mut self, events: u64) -> bool {
        self.go(self.limits.events(events));
        self.ended
    }

    fn go(&mut self, limits: Limits) -> Outcome {
        let outcome = laxity_engine::run(&mut self.assembly, &mut self.calendar, &mut VirtualClock, limits);
        self.ended = match outcome.stop {
            Stop::Events => false,
            Stop::Until => limits.until == self.limits.until,
            Stop::Finished | Stop::Drained => true,
        };
        outcome
    }

    /// The time to which the run has come.
    pub fn now(&self) -> Time {
        self.calendar.now()
    }

    /// How its channels and stages stand.
    pub fn live(&self) -> Live {
        self.assembly.live(self.now())
    }

    /// All that is in it: nodes, the medium, what has been counted.
    pub fn assembly(&self) -> &Assembly<'a, 'static, NoTrace, Nothing> {
        &self.assembly
    }

    /// What the run came to so far; one that ended is what [`run`](crate::run) answers.
    pub fn close(self) -> Run {
        let now = self.now();
        self.assembly.into_run(now, &[]).0
    }
}
