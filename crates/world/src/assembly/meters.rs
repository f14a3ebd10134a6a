//! Counts of stages, and the state while a run goes on.

use laxity_engine::trace::TraceSink;
use laxity_model::adapter::{Adapter, PacketDirection, Passage};
use laxity_model::network::{ImpairmentCounts, Medium};
use laxity_model::node::HostNode;
use laxity_qos::channel::LinkId;
use laxity_units::Time;

use super::live::{Live, LiveChannel};
use super::surroundings::Surroundings;
use super::{Assembly, Outside};
use crate::sketch::picoseconds;

impl<T: TraceSink, O: Outside> Surroundings<'_, '_, T, O> {
    pub(super) fn pass(&mut self, node: usize, link: LinkId, passage: &Passage) {
        // The one stage of an adapter without a description is in no result.
        let described =
            matches!(self.experiment.adapter_of(node, link), crate::experiment::AdapterSpec::Described(_));
        if !described || !self.window.counts_at(passage.ended) {
            return;
        }
        let transmitting = match passage.direction {
            PacketDirection::Transmit => 0,
            PacketDirection::Receive => self.transmitting_stages(node, link),
        };
        let meter = &mut self.stages[node][usize::from(link.0)][transmitting + passage.stage];
        let waited = picoseconds(passage.joined, passage.began);
        meter.passages.push([waited, picoseconds(passage.began, passage.ended)]);
    }

    fn transmitting_stages(&self, node: usize, link: LinkId) -> usize {
        match self.experiment.adapter_of(node, link) {
            crate::experiment::AdapterSpec::Null(_) => 1,
            crate::experiment::AdapterSpec::Described(description) => description.transmit.len(),
        }
    }
}

impl<T: TraceSink, O: Outside> Assembly<'_, '_, T, O> {
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
        self.nodes.iter().flat_map(HostNode::adapters).map(Adapter::held).sum()
    }

    /// A digest of which packet departed from which node when: equal for equal runs.
    pub fn departures(&self) -> u64 {
        self.around.observer.departures()
    }

    /// The nodes.
    pub fn nodes(&self) -> &[HostNode] {
        &self.nodes
    }

    /// The media that they share, with the nodes at each.
    pub fn media(&self) -> impl Iterator<Item = (&Medium, &[usize])> {
        self.around.networks.media()
    }

    /// Impairments of frames on their path; zeros without impairments.
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
