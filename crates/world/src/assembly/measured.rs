//! The common part of all worlds of an experiment.

use laxity_engine::trace::TraceSink;
use laxity_engine::{Calendar, World};
use laxity_units::Time;

use super::live::Live;
use super::observer::Observer;
use super::{Assembly, Elsewhere, FrameSink, Nothing, Outside};
use crate::experiment::{Experiment, RunLength};
use crate::results::Run;

/// A world of which a run can be taken forward, looked at and closed.
pub(crate) trait Measured: World {
    /// Schedules what begins by itself; before the run.
    fn start(&mut self, calendar: &mut Calendar<Self::Event>);

    /// Packets that have left the system.
    fn through(&self) -> u64;

    /// How things stand at `now`.
    fn live(&self, now: Time) -> Live;

    /// The results of the run that ends at `end`.
    fn into_run(self, end: Time) -> Run;
}

impl<'a, 'f, T: TraceSink> Assembly<'a, 'f, T, Nothing> {
    /// The assembly of `experiment` for a run of `length`, observed by `trace` and `frames`.
    pub(crate) fn observed(
        experiment: &'a Experiment,
        length: RunLength,
        trace: &'a mut T,
        frames: Option<&'a mut FrameSink<'f>>,
    ) -> Self {
        Self::new(experiment, length, Observer::new(trace, frames), Nothing, Elsewhere::default())
    }
}

impl<T: TraceSink, O: Outside> Measured for Assembly<'_, '_, T, O> {
    fn start(&mut self, calendar: &mut Calendar<Self::Event>) {
        Assembly::start(self, calendar);
    }

    fn through(&self) -> u64 {
        Assembly::through(self)
    }

    fn live(&self, now: Time) -> Live {
        Assembly::live(self, now)
    }

    fn into_run(self, end: Time) -> Run {
        Assembly::into_run(self, end, &[]).0
    }
}
