//! The sources of frames to a node, and its largest sent frame.

use std::collections::BTreeMap;

use laxity_qos::channel::LinkId;
use laxity_units::Bytes;

use crate::experiment::{ChannelSpec, Experiment};

/// By a node or port and the network between, the smallest and the largest frame from there.
pub(crate) type Sources = BTreeMap<(usize, usize), (Bytes, Bytes)>;

/// The sources of frames to any adapter of `node`, by node or port and the network between: the
/// smallest and the largest frame.
pub(crate) fn sources(experiment: &Experiment, node: usize) -> Sources {
    let mut sources = BTreeMap::new();
    for channel in &experiment.channels {
        let smallest = channel.spec.smallest_packet(experiment.packet());
        let largest = channel.spec.largest_packet(experiment.packet());
        let hops = channel.route.windows(2).zip(&channel.ways);
        for (hop, way) in hops.filter(|(hop, _)| hop[1] == node) {
            let (least, most) = sources.entry((hop[0], *way)).or_insert((smallest, largest));
            (*least, *most) = ((*least).min(smallest), (*most).max(largest));
        }
    }
    sources
}

/// Those of the adapter of one link.
pub(super) fn sources_by(experiment: &Experiment, node: usize, link: LinkId) -> Sources {
    let mut sources = sources(experiment, node);
    sources.retain(|(_, network), _| experiment.link_to(node, *network) == link);
    sources
}

/// Whether `channel` leaves `node` by that link.
pub(super) fn leaves_by(
    experiment: &Experiment,
    channel: &ChannelSpec,
    (node, link): (usize, LinkId),
) -> bool {
    channel.passages_from(node).any(|hop| experiment.link_out(channel, hop) == link)
}

/// The largest packet that `node` sends.
pub(super) fn largest(experiment: &Experiment, node: usize) -> Bytes {
    let sent = experiment.channels.iter().filter(|channel| channel.leaves(node));
    sent.map(|channel| channel.spec.max_message).max().unwrap_or(Bytes::ZERO).min(experiment.packet())
}
