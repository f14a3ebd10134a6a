//! The trace of virtual interfaces: the units' work, and each step of a message.

use laxity_engine::trace::{TraceSink, Track};
use laxity_model::via::{Unit, ViMessage, ViStep};
use laxity_units::Time;

use super::Cluster;
use crate::experiment::Experiment;

/// The trace of a run.
pub(super) struct Traced<'a> {
    trace: &'a mut dyn TraceSink,
    /// Per node, of each unit.
    units: Vec<[Track; 4]>,
    channels: Vec<Track>,
}

impl<'a> Traced<'a> {
    pub(super) fn new(experiment: &Experiment, trace: &'a mut dyn TraceSink) -> Self {
        let mut unit = |node: usize, name: &str| trace.track(&format!("{name}{}", experiment.suffix(node)));
        let units =
            (0..experiment.nodes.len()).map(|node| Unit::ALL.map(|of| unit(node, of.resource()))).collect();
        let channels = experiment.channels.iter();
        let channels = channels.map(|channel| trace.track(&format!("channel {}", channel.name))).collect();
        Self { trace, units, channels }
    }
}

impl Cluster<'_> {
    pub(super) fn trace_step(&mut self, now: Time, step: ViStep, message: ViMessage, base: Time) {
        let channels = self.experiment.channels.len();
        let Some(traced) = self.traced.as_mut().filter(|_| (message.vi as usize) < channels) else { return };
        let nanoseconds = now.saturating_since(base).as_ps() / 1000;
        let arguments = [("message", message.number), ("nanoseconds", nanoseconds)];
        traced.trace.instant(traced.channels[message.vi as usize], step.words(), now, &arguments);
    }

    pub(super) fn trace_work(
        &mut self,
        node: usize,
        unit: Unit,
        what: &str,
        message: ViMessage,
        (since, now): (Time, Time),
    ) {
        let Some(traced) = &mut self.traced else { return };
        let arguments = [("vi", u64::from(message.vi)), ("message", message.number)];
        traced.trace.span(traced.units[node][unit as usize], what, since, now, &arguments);
    }
}
