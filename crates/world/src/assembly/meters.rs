//! What is counted beside channels: stages of adapters, and how things stand while a run goes on.

use laxity_engine::trace::Trace;
use laxity_model::adapter::{Adapter, Direction, Passage};
use laxity_model::network::{ImpairmentCounts, Medium};
use laxity_model::node::Node;
use laxity_qos::channel::{Computed, LinkId};
use laxity_units::{Span, Time};

use super::live::{Live, LiveChannel};
use super::surroundings::Surroundings;
use super::{Assembly, Outside};
use crate::experiment::Experiment;
use crate::measure::{Rows, Samples, seconds};

/// What is counted of a stage.
#[derive(Debug, Clone, Default)]
pub(super) struct StageMeter {
    /// Of each packet for how long it waited, and was served.
    pub(super) passages: Rows<2>,
}

/// What is counted of an application that computes.
#[derive(Debug, Clone, Default)]
pub(super) struct ComputingMeter {
    /// Budgets done in the window.
    pub(super) budgets: u64,
    /// Those among them that were done late.
    pub(super) late: u64,
    /// The longest from the beginning of a period until its budget was done, of the whole run.
    pub(super) worst: Option<Span>,
    pub(super) response: Samples,
}

impl StageMeter {
    /// Those of an adapter, by its stages.
    pub(super) fn of(adapter: &Adapter) -> Vec<Self> {
        vec![Self::default(); adapter.stages(Time::ZERO).len()]
    }
}

impl ComputingMeter {
    /// A budget was done at `now`; `counted` if within the window.
    pub(super) fn done(&mut self, now: Time, done: &Computed, counted: bool) {
        self.worst = self.worst.max(Some(now.saturating_since(done.from)));
        if counted {
            self.budgets += 1;
            self.late += u64::from(now > done.due);
            self.response.push([seconds(done.from, now)]);
        }
    }
}

/// Meters of all applications, by node.
pub(super) fn of_computing(experiment: &Experiment) -> Vec<Vec<ComputingMeter>> {
    let of = |node| vec![ComputingMeter::default(); experiment.host(node).computing.len()];
    (0..experiment.nodes.len()).map(of).collect()
}

impl<T: Trace, O: Outside> Surroundings<'_, '_, T, O> {
    pub(super) fn pass(&mut self, node: usize, link: LinkId, passage: &Passage) {
        if !self.window.counts_at(passage.ended) {
            return;
        }
        let transmitting = match passage.direction {
            Direction::Transmit => 0,
            Direction::Receive => self.transmitting_stages(node, link),
        };
        let meter = &mut self.stages[node][usize::from(link.0)][transmitting + passage.stage];
        let waited = seconds(passage.joined, passage.began);
        meter.passages.push([waited, seconds(passage.began, passage.ended)]);
    }

    fn transmitting_stages(&self, node: usize, link: LinkId) -> usize {
        match self.experiment.adapter_of(node, link) {
            crate::experiment::Adapter::Null(_) => 1,
            crate::experiment::Adapter::Described(description) => description.transmit.len(),
        }
    }
}

impl<T: Trace, O: Outside> Assembly<'_, '_, T, O> {
    /// How things stand at `now`.
    pub fn live(&self, now: Time) -> Live {
        let channels = self.around.meters.iter().map(LiveChannel::of);
        let adapters = self.nodes.iter().enumerate().flat_map(|(i, node)| {
            (0..).map(LinkId).zip(node.adapters()).map(move |(link, adapter)| (i, link, adapter))
        });
        let stages = adapters.flat_map(|(node, link, adapter)| {
            let suffix = self.experiment.suffix_of(node, link);
            adapter.stages(now).into_iter().map(move |s| (format!("{}{suffix}", s.name), s.waiting))
        });
        Live { now, channels: channels.collect(), stages: stages.collect() }
    }

    /// Packets that the nodes hold, in adapters of both ways.
    pub fn held(&self) -> usize {
        self.nodes.iter().flat_map(Node::adapters).map(Adapter::held).sum()
    }

    /// A digest of which packet departed from which node when: equal for equal runs.
    pub fn departures(&self) -> u64 {
        self.around.observer.departures()
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The media that they share, with the nodes at each.
    pub fn media(&self) -> impl Iterator<Item = (&Medium, &[usize])> {
        self.around.networks.media()
    }

    /// What happened to frames on their way; all zeros where nothing can.
    pub fn impairments(&self) -> ImpairmentCounts {
        self.around.networks.counts()
    }

    /// From now on no source begins a message; what is under way goes on.
    pub fn silence(&mut self) {
        self.sources.iter_mut().for_each(|source| *source = None);
    }

    /// The outside, to look at.
    pub fn outside(&mut self) -> &mut O {
        &mut self.around.outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_is_done_when_it_is_due_is_not_late() {
        let ms = |ms: u64| Time::ZERO + Span::from_ms(ms);
        let done = Computed { application: 0, from: ms(10), due: ms(15) };
        let mut meter = ComputingMeter::default();
        meter.done(ms(15), &done, true);
        assert_eq!((meter.budgets, meter.late, meter.worst), (1, 0, Some(Span::from_ms(5))));
        meter.done(ms(15) + Span::from_ps(1), &done, true);
        assert_eq!((meter.budgets, meter.late), (2, 1));
        // The worst is of the whole run.
        meter.done(ms(30), &done, false);
        assert_eq!((meter.budgets, meter.late, meter.worst), (2, 1, Some(Span::from_ms(20))));
    }
}
