//! Best effort with a rate reserved for all of it at an adapter, where processes are told apart.

use laxity_admission::holistic::{ArrivalSlots, FlowStage, HolisticFlow};
use laxity_model::via::FirmwareCosts;
use laxity_qos::discipline::Class;
use laxity_units::{Rate, Span};

use super::unit::{OF_NODE, P, Taken};
use super::way::{Way, way};
use crate::experiment::{Experiment, SourceSpec, ViaSpec};

/// Best effort at `node` with stamps by the reserved `rate`: doorbells and arrived messages.
pub(super) fn at(
    experiment: &Experiment,
    spec: &ViaSpec,
    node: usize,
    rate: Rate,
) -> impl Iterator<Item = HolisticFlow> + use<> {
    let units = node * OF_NODE..(node + 1) * OF_NODE;
    let costs = &spec.adapter.costs;
    let given = FlowStage {
        server: node * OF_NODE + P,
        least: Span::ZERO,
        most: costs.note.saturating_add(costs.poll * 4),
        parent: None,
        scans: Vec::new(),
    };
    let flow = |end: usize| {
        let here = |i: &usize| {
            let channel = &experiment.channels[*i];
            let sends = channel.class == Class::BestEffort && !matches!(channel.source, SourceSpec::None);
            sends && channel.route[end] == node
        };
        let channels: Vec<usize> = (0..experiment.channels.len()).filter(here).collect();
        // The longest of all, as often as the shortest.
        let largest = channels.iter().max_by_key(|i| experiment.channels[**i].spec.max_message)?;
        let least = channels.iter().map(|i| experiment.channels[*i].smallest_piece()).min()?;
        let Way { stages, sending, .. } = way(experiment, spec, *largest, Taken::Apart);
        let range = if end == 0 { 0..sending } else { sending..stages.len() };
        let mut kept: Vec<FlowStage> = Vec::new();
        // A doorbell has its stamp when it is rung or later, an arrived message behind NRDMA at the
        // latest.
        let mut places = vec![None; stages.len()];
        if end == 0 {
            kept.push(given.clone());
        }
        for k in range.filter(|k| units.contains(&stages[*k].server)) {
            let before = stages[k].parent.and_then(|parent| places[parent]);
            let parent = before.or_else(|| kept.len().checked_sub(1));
            // Whenever it was stamped, it arrives at its latest time, as if it had no stamp to wait
            // for.
            kept.push(FlowStage { least: Span::ZERO, parent, ..stages[k].clone() });
            places[k] = Some(kept.len() - 1);
            if end == 1 && kept.len() == 1 {
                kept.push(FlowStage { parent: Some(0), ..given.clone() });
                places[k] = Some(1);
            }
        }
        let interval = rate.time_for_ceil(least.max(FirmwareCosts::FRAGMENT));
        Some(HolisticFlow { slots: ArrivalSlots { count: 1, interval }, urgent: true, stages: kept })
    };
    [flow(0), flow(1)].into_iter().flatten()
}
