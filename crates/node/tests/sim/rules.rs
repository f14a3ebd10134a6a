//! The rules that the simulation judges, and what a fault excuses.

use std::fmt;

use super::*;

/// A rule that always holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// A message is delivered by its end-to-end bound.
    Bound,
    /// A packet leaves a node by its local deadline there, also if it came late.
    LocalDeadline,
    /// A packet leaves no node before its logical arrival there.
    Held,
    /// A message that no fault touched is delivered.
    Delivery,
    /// Messages are delivered in order, once, as they were sent.
    Content,
    /// A message within the contract is accepted.
    Conforming,
    /// The logical arrival is that of the contract.
    LogicalArrival,
    /// A request is answered within the bound on establishment, where no message is lost.
    Establishment,
    /// A program is notified of each outcome once.
    Notified,
    /// A channel that no fault touched is not lost.
    Kept,
    /// In the end a node holds what a new node holds.
    Free,
    /// In the end no owner uses a quota.
    Quotas,
    /// The data path of a node has the contracts that its manager holds.
    Follows,
    /// A run ends.
    Ends,
}

impl Rule {
    /// Every rule.
    pub(crate) const ALL: [Self; 14] = [
        Self::Bound,
        Self::LocalDeadline,
        Self::Held,
        Self::Delivery,
        Self::Content,
        Self::Conforming,
        Self::LogicalArrival,
        Self::Establishment,
        Self::Notified,
        Self::Kept,
        Self::Free,
        Self::Quotas,
        Self::Follows,
        Self::Ends,
    ];
}

/// A rule that is broken.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    pub(crate) rule: Rule,
    at: Time,
    what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:.6} s: {}", self.rule, self.at.as_secs_f64(), self.what)
    }
}

impl Network {
    pub(super) fn breach(&self, rule: Rule, what: String) -> Broken {
        Broken { rule, at: self.now, what }
    }

    /// Notes a broken rule; the first one counts.
    pub(super) fn fail(&mut self, rule: Rule, what: String) {
        if self.broken.is_none() {
            self.broken = Some(self.breach(rule, what));
        }
    }

    /// A packet with a promise begins to leave a node, the clock of which shows `now`. Its local
    /// deadline counts even if the packet came too late: regulators keep faults from the next link.
    pub(super) fn departed(&mut self, node: usize, now: Time, departure: &Departure) {
        let what = || format!("node {node}, clock {now}: {departure:?}");
        if departure.logical_arrival > now {
            return self.fail(Rule::Held, what());
        }
        // Timers are late by up to a grain.
        if departure.lateness() > self.quality.grain && self.unsettled[node] <= self.now {
            self.fail(Rule::LocalDeadline, what());
        }
    }
}

impl Sent {
    /// The message may be late or lost from now on.
    pub(super) fn excuse(&mut self) {
        (self.excused, self.must) = (true, false);
    }
}

impl Channel {
    /// Messages do not count from now on, until the channel has a new contract after `until`.
    pub(super) fn excuse(&mut self, until: Time) {
        self.excused = self.excused.max(Some(until));
        self.touched = true;
        self.sent.iter_mut().filter(|sent| !sent.arrived).for_each(Sent::excuse);
    }

    /// The channel is over: messages that are not due yet need not arrive.
    pub(super) fn over(&mut self, now: Time) {
        self.established = false;
        for sent in self.sent.iter_mut().filter(|sent| sent.due >= now) {
            sent.must = false;
        }
    }
}
