//! The rules that every run of nodes keeps. A broken one fails the run.

use laxity_node::Departure;

use super::*;

/// A packet leaves a node after its local deadline there.
pub(super) const LOCAL_DEADLINE: &str = "a packet left after its local deadline";
/// A packet leaves a node before its logical arrival there.
pub(super) const HELD: &str = "a packet left before its logical arrival";
/// A message is not that of its number, or is not behind the last one.
pub(super) const CONTENT: &str = "a message arrived twice, out of order or changed";
/// A request has two answers or none, or a channel two ends.
pub(super) const ANSWERED: &str = "a request or a channel was not answered once";
/// The data path of a node does not have the contracts that its manager holds.
pub(super) const FOLLOWS: &str = "the data path differs from the contracts held";
/// A synchronised clock is farther from the reference than its node states.
pub(super) const STATED: &str = "a synchronised clock has a larger error than it states";
/// More signalling messages wait for a link than the channels of the file have there.
pub(super) const QUEUE: &str = "more signalling messages waited than the bound on an answer counts";
/// A node holds something when all channels have been over for long.
pub(super) const FREE: &str = "a node holds something of channels that are over";

impl Managed<'_> {
    /// Notes a broken rule.
    pub(super) fn fail(&mut self, rule: &'static str, channel: &str, detail: String) {
        let count = self.broken.entry(rule).or_default();
        *count += 1;
        if *count == 1 {
            self.note(channel, rule, detail, None);
        }
    }

    /// A packet with a promise begins to leave a node, the clock of which shows `shown`. Its local
    /// deadline counts even if the packet came too late: regulators keep faults from the next link.
    pub(super) fn departed(&mut self, node: usize, shown: Time, departure: &Departure) {
        let place = || format!("node {}", self.experiment.name(node));
        if departure.logical_arrival > shown {
            self.fail(HELD, "", place());
        } else if departure.lateness() > self.quality.grain && self.stations[node].unsettled <= self.now {
            // Timers are late by up to a grain.
            self.fail(LOCAL_DEADLINE, "", format!("{}, by {}", place(), departure.lateness()));
        }
    }

    /// The longest stay of a message in the network.
    fn transit(&self) -> Span {
        let crossings = self.links.iter().map(|link| {
            let queue = self.spec.spacing.saturating_mul(link.most[0] as u64 + 1);
            queue.saturating_add(link.config.way)
        });
        crossings.fold(Span::ZERO, Span::saturating_add)
    }

    /// Judges the rules of the end of a run.
    pub(super) fn judge_end(&mut self, end: Time) {
        let transit = self.transit();
        let answered = self.settings.request_ends().saturating_add(transit);
        let unanswered = |call: &&Call| call.is_unanswered() && call.asked.saturating_add(answered) < end;
        let unanswered: Vec<usize> =
            self.calls.values().filter(unanswered).map(|call| call.channel).collect();
        for channel in unanswered {
            self.fail(ANSWERED, &self.experiment.channels[channel].name, "no answer".into());
        }
        for link in 0..self.links.len() {
            let Directed { from, to, most: [most, _], .. } = self.links[link];
            if most as u64 > self.before(from, to) {
                self.fail(QUEUE, "", format!("{most} at {}", self.links[link].name(self.experiment)));
            }
        }
        for node in 0..self.stations.len() {
            if self.stations[node].node.as_ref().is_some_and(|node| !node.follows()) {
                self.fail(FOLLOWS, "", format!("node {}", self.experiment.name(node)));
            }
        }
        let up = self.stations.iter().all(|station| station.down == 0);
        let cut = self.links.iter().any(|link| link.cuts > 0);
        let over = self.calls.values().all(Call::is_orphan);
        let free = self.quiet.saturating_add(self.settings.all_free(transit));
        if up && !cut && over && free < end {
            for node in 0..self.stations.len() {
                if self.is_as_new(node) == Some(false) {
                    self.fail(FREE, "", format!("node {}", self.experiment.name(node)));
                }
            }
        }
    }

    /// Whether a node that is up holds what a new node holds.
    pub(super) fn is_as_new(&self, node: usize) -> Option<bool> {
        let up = self.stations[node].node.as_ref()?;
        let fresh = self.fresh(node, self.stations[node].life);
        Some(up.holdings() == fresh.holdings() && up.manager().quotas().is_unused())
    }
}
