//! Copies of one channel by the thousand, as a fill asks for them: together where every host on their way can tell how many.

use std::collections::BTreeSet;

use super::super::analyses::Analyses;
use super::super::station::GoesBy;
use super::{Reservation, Reserved, Tables};
use crate::experiment::{ChannelSpec, Division, Experiment};

impl Tables {
    /// Admits as many further copies of the channel that was admitted `last` as every station of its way can tell at once that it has room for, and of `most`; answers how many.
    ///
    /// What a copy asks of a station is what the last one asked where each has the same deadline and no link is shared by rates.
    pub(in super::super) fn admit_alike(
        &mut self,
        experiment: &Experiment,
        last: &Reservation,
        most: u64,
    ) -> u64 {
        let ordered = |reserved: &Reserved| self.goes_by(reserved.node) == GoesBy::Either;
        // Where a copy asks twice, it has the less room the second time.
        let nodes: BTreeSet<usize> = last.reserved.iter().map(|reserved| reserved.node).collect();
        let once = nodes.len() == last.reserved.len();
        if experiment.admission.division == Division::Shared || !once || !last.reserved.iter().all(ordered) {
            return 0;
        }
        let room = |Reserved { node, asked, .. }: &Reserved| {
            self.hosts[*node].as_ref().map_or(0, |host| host.alike(asked, most))
        };
        let number = last.reserved.iter().map(room).min().unwrap_or(0);
        if number > 0 {
            for Reserved { node, asked, .. } in &last.reserved {
                self.table(*node).request_alike(asked, number);
            }
        }
        number
    }

    /// Whether a request at a host on the way of `channel` looks at all pairs of those who are there.
    pub(in super::super) fn looks_at_pairs(&self, channel: &ChannelSpec) -> bool {
        channel.route.iter().any(|node| self.hosts[*node].as_ref().is_ok_and(Analyses::looks_at_pairs))
    }
}
