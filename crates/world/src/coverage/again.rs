//! A station that a channel visits more than once.
//!
//! A table counts each visit as a request of its own. A message that returns belongs to a channel
//! of which the logical arrivals here are those of the first visit, later by the local deadlines
//! and the longest path delays between the two, and as far apart as its contract says. The two
//! visits wait for each other like any two channels. So sums over requests hold unchanged: the host
//! with one null adapter, under O1, O2 and O3 and by deadlines or levels, and the port of a switch.
//! Arrivals are counted hop by hop (`traffic/senders.rs`), and so are best effort and timers.
//! Analyses that count by channel (flows that share a rate, frames in an adapter of stages, cores,
//! several links) have not been checked for a channel that counts twice.

use std::collections::BTreeSet;

use laxity_admission::ResourceModel;

use super::covered::Covered;
use super::reason::Uncovered;
use crate::experiment::{AdapterSpec, ChannelSpec, Experiment};

/// The stations that some channel visits more than once.
pub(super) fn stations(experiment: &Experiment) -> BTreeSet<usize> {
    let again = |channel: &ChannelSpec| {
        let mut passed = BTreeSet::new();
        channel.route.iter().copied().filter(move |station| !passed.insert(*station)).collect::<Vec<_>>()
    };
    experiment.channels.iter().flat_map(again).collect()
}

/// Refuses `station`, which a channel visits more than once, if its analysis does not count the
/// channel twice.
pub(super) fn counted(experiment: &Experiment, station: usize, covered: &Covered) -> Result<(), Uncovered> {
    let one_null_adapter = experiment.nodes.get(station).is_none_or(|node| match &node.adapters[..] {
        [attached] => matches!(experiment.adapters[attached.adapter], AdapterSpec::Null(_)),
        _ => false,
    });
    let by_requests = matches!(
        covered.model,
        ResourceModel::O1 | ResourceModel::O2 | ResourceModel::O3 | ResourceModel::Ideal
    );
    let plain = covered.rates.is_none() && covered.row.is_none() && !covered.is_levelled();
    match one_null_adapter && by_requests && plain && experiment.cores(station) == 1 {
        true => Ok(()),
        false => Err(Uncovered::Passes),
    }
}
