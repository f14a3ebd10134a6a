//! The trace of a host that receives.

use laxity_engine::trace::{TraceSink, Track};
use laxity_units::Time;

use crate::experiment::Experiment;

/// The trace of a run.
pub(super) struct Traced<'a> {
    pub(super) trace: &'a mut dyn TraceSink,
    cpu: Track,
    pub(super) channels: Vec<Track>,
    /// The CPU's current work and its start.
    at_work: Option<(&'static str, Time)>,
}

impl<'a> Traced<'a> {
    pub(super) fn new(experiment: &Experiment, trace: &'a mut dyn TraceSink) -> Self {
        let channels = experiment.channels.iter();
        Self {
            cpu: trace.track("cpu"),
            channels: channels.map(|channel| trace.track(&format!("channel {}", channel.name))).collect(),
            at_work: None,
            trace,
        }
    }

    /// Traces what the CPU was at, if it is at something else now.
    pub(super) fn look_at(&mut self, now: Time, work: Option<(&'static str, Time)>) {
        if self.at_work != work {
            if let Some((name, since)) = self.at_work.filter(|(_, since)| *since < now) {
                self.trace.span(self.cpu, name, since, now, &[]);
            }
            self.at_work = work;
        }
    }
}
