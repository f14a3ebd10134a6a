//! Copies of one channel by the thousand, as a fill asks for them: together where every host on their way can tell how many.

use laxity_qos::admission::Request;
use laxity_qos::channel::Role;

use super::super::leg::Leg;
use super::super::station::{Asked, GoesBy, Station};
use super::Tables;
use crate::experiment::{ChannelSpec, Division, Experiment};

impl Tables {
    /// Admits as many further copies of `channel`, which was admitted last, as every station of its way can tell at once that it has room for, and of `most`; answers how many.
    ///
    /// What a copy asks of a station is the same each time where each has the same deadline and no link is shared by rates.
    pub(in super::super) fn admit_alike(
        &mut self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
        most: u64,
    ) -> u64 {
        let way: Vec<(usize, Role)> = self.hosts_of(experiment, channel).collect();
        let ordered = |&(node, _): &(usize, Role)| self.goes_by(node) == GoesBy::Either;
        if experiment.admission.division == Division::Shared || !way.iter().all(ordered) {
            return 0;
        }
        let mut leg = Leg::first((experiment, &self.placement), channel, false);
        let mut asked = Vec::new();
        for (node, role) in way {
            let Ok(host) = &self.hosts[node] else { break };
            let here = leg.asked((node, role), request);
            leg.leaves(host.handed_on(&here), request.deadline());
            asked.push((node, here));
        }
        let room = |(node, here): &(usize, Asked)| {
            self.hosts[*node].as_ref().map_or(0, |host| host.alike(here, most))
        };
        let number = asked.iter().map(room).min().unwrap_or(0);
        if number > 0 {
            asked.iter().for_each(|(node, here)| self.table(*node).request_alike(here, number));
        }
        number
    }

    /// Whether a request at a host on the way of `channel` looks at all pairs of those who are there.
    pub(in super::super) fn looks_at_pairs(&self, channel: &ChannelSpec) -> bool {
        channel.route.iter().any(|node| matches!(self.hosts[*node], Ok(Station::Host(_))))
    }
}
