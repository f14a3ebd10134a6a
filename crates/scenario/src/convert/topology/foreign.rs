//! Keys of a node that nodes of its kind do not have.

use std::ops::Range;

use crate::raw::RawNode;

/// The place of the first key that only switches have.
pub(super) fn of_switch(node: &RawNode) -> Option<Range<usize>> {
    let RawNode {
        kind: _,
        count: _,
        clock: _,
        host: _,
        adapter: _,
        forwarding,
        latency,
        order,
        frame,
        shapers,
        gates,
        gate_offset,
        cyclic,
        ats,
        preemptable_from,
        policing,
        horizon,
        early_above_best_effort,
        memory,
        shared_memory,
    } = node;
    let spans = [
        forwarding.as_ref().map(|key| &key.span),
        latency.as_ref().map(|key| &key.span),
        order.as_ref().map(|key| &key.span),
        frame.as_ref().map(|key| &key.span),
        gate_offset.as_ref().map(|key| &key.span),
        shapers.as_ref().map(|key| &key.span),
        gates.as_ref().map(|key| &key.span),
        cyclic.as_ref().map(|key| &key.span),
        ats.as_ref().map(|key| &key.span),
        preemptable_from.as_ref().map(|key| &key.span),
        policing.as_ref().map(|key| &key.span),
        horizon.as_ref().map(|key| &key.span),
        early_above_best_effort.as_ref().map(|key| &key.span),
        memory.as_ref().map(|key| &key.span),
        shared_memory.as_ref().map(|key| &key.span),
    ];
    spans.into_iter().flatten().next().cloned()
}
