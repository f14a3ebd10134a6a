//! Copies of a multicast at FIFO queues.

use std::collections::{BTreeMap, BTreeSet};

use super::super::table::{Answers, on_path};
use super::{Entry, Found, Part};
use crate::coverage::Uncovered;
use crate::experiment::{CopyOf, Experiment};

/// The first hop of channel `i` without a promise to the channel that it is a copy of, and why there is none.
pub(super) fn before_copy(
    experiment: &Experiment,
    answers: &Answers,
    i: usize,
) -> Option<(usize, Uncovered)> {
    let CopyOf { channel, hops } = experiment.channels[i].copy?;
    let sent = answers[channel].as_ref()?.as_ref().ok()?;
    let (_, why) = sent.unbounded?;
    let of_queues = sent.queues.iter().map(|hop| hop.hop);
    let known: BTreeSet<usize> =
        on_path(experiment, answers, channel).map(|reserved| reserved.hop).chain(of_queues).collect();
    (0..hops).find(|hop| !known.contains(hop)).map(|hop| (hop, why))
}

impl Part<'_> {
    /// Gives copies the bounds of the channel that is copied at the queues that both pass: packets have the
    /// deadlines of that channel there.
    pub(super) fn share(&self, entries: &[Entry], found: &mut [Option<Found>]) {
        let mut begun: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (row, own) in entries.iter().enumerate() {
            let first = own.hops.start;
            begun.insert((own.channel, first), row);
            let Some(CopyOf { channel, hops }) = self.channel(own).copy else { continue };
            let Some(shared) = hops.checked_sub(first).filter(|shared| *shared > 0) else { continue };
            let sent = begun.get(&(channel, first)).map(|sent| found[*sent].clone());
            let (Some(Some(Ok(sent))), Some(Ok(own))) = (sent, &mut found[row]) else { continue };
            for (place, passed) in own.passed.iter_mut().enumerate() {
                let last = place.min(shared - 1).min(sent.passed.len() - 1);
                *passed = if place < shared { sent.passed[last] } else { sent.passed[last].max(*passed) };
            }
        }
    }
}
