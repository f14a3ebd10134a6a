//! Thousands of copies of one channel, for a fill: together where every host on their path can
//! compute how many.

use super::super::analyses::Analyses;
use super::{Reservation, Reserved, Tables};
use crate::experiment::ChannelSpec;

impl Tables {
    /// Admits as many further copies of the channel that was admitted `last` as its only hop has
    /// room for, of `most` that are asked for; answers how many.
    ///
    /// A copy asks of the hop what the last one asked, unless the hop shares its link by rates.
    pub(in super::super) fn admit_alike(&mut self, last: &Reservation, most: u64) -> u64 {
        // Over several hops each copy divides its deadline anew.
        let [Reserved { node, asked, .. }] = last.reserved.as_slice() else { return 0 };
        if !self.is_ordered(*node) {
            return 0;
        }
        let number = self.hosts[*node].as_ref().map_or(0, |host| host.alike(asked, most));
        if number > 0 {
            self.table(*node).request_alike(asked, number);
        }
        number
    }

    /// Whether a request at a host on the path of `channel` checks all pairs of channels.
    pub(in super::super) fn looks_at_pairs(&self, channel: &ChannelSpec) -> bool {
        channel.route.iter().any(|node| self.hosts[*node].as_ref().is_ok_and(Analyses::looks_at_pairs))
    }
}
