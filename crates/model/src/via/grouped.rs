//! Hierarchical scheduling: virtual interfaces in groups that have a rate together.
//!
//! "Hierarchical schedulers" would keep classes of virtual interfaces apart, says the paper (Nagar et al., §3.3), and leaves it at that. Stamps cannot: a stamp is given when a doorbell is noticed, once and for
//! all, and what a group's other members do not use goes to whoever has the next stamp, of the group or not. So doorbells of groups wait before the first transfer, as best effort does for which a
//! rate is set aside, in a tree of groups whose queue is [hierarchical start-time fair](laxity_qos::discipline::HierarchicalFair). One is let in
//!
//! * **by the rate of all groups together**, whatever else waits for the adapter: `clock ← max(clock, t) + L / Σ r`, and its stamp is that, so that in the queues of HDMA and NSDMA groups
//!   are to others one flow of VirtualClock with the rate of all of them; or
//! * **when HDMA has nothing to do** and no doorbell waits, on nobody's account.
//!
//! Which is next is the tree's choice, so that of what is let in each group has its part, and within it each member has its own. What is inside already comes first: a group that
//! was silent waits for no more than that, and for an item of each other part of its node.
//!
//! Only groups whose members send here count in `Σ r`, and it is up to whoever reserves rates that they leave room for others.

use laxity_qos::channel::{Carried, ChannelId};
use laxity_qos::discipline::{Discipline, EarlyPolicy, Groups, Order, Request, Server, Tag};
use laxity_qos::virtual_clock::{FlowClock, Vtick};
use laxity_units::{Rate, Time};

use super::jobs::{Job, JobId, Jobs};

/// What waits of groups to be let in.
#[derive(Debug, Clone)]
pub(super) struct Grouped {
    queue: Discipline<JobId>,
    /// Of all groups together.
    rate: Rate,
    clock: FlowClock,
    /// The stamp of the last that was let in.
    last: Time,
}

impl Grouped {
    pub(super) fn new(groups: &Groups, rate: Rate) -> Self {
        let mut queue = Order::HierarchicalFair.discipline(&Server::with(EarlyPolicy::CONSERVE));
        queue.group(groups);
        Self { queue, rate, clock: FlowClock::default(), last: Time::ZERO }
    }

    /// A message waits, of a virtual interface that shares its group's rate by `tick`.
    pub(super) fn hold(&mut self, now: Time, place: JobId, tick: Vtick, jobs: &Jobs) {
        let message = jobs.of(place).message;
        let (flow, tag) = (ChannelId(message.vi), Tag::sharing(now, tick));
        let request = Request { flow, size: message.size, tag, carried: Carried::NOTHING };
        self.queue.enqueue(now, &request, place);
    }

    /// When the next may come in by the rate; [`Time::MAX`] if nothing waits.
    #[inline]
    pub(super) fn by_rate(&self) -> Time {
        if self.queue.is_empty() { Time::MAX } else { self.clock.reading() }
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// The next, with its stamp.
    pub(super) fn let_in(&mut self, at: Time, jobs: &mut Jobs) -> JobId {
        let (_, place) = self.queue.select(at).expect("one waits");
        let job: &mut Job = jobs.of_mut(place);
        let tick = self.rate.time_for_ceil(job.message.size);
        let stamp = match self.clock.reading() <= at {
            true => self.clock.stamp(at, Some(tick)),
            false => at.saturating_add(tick),
        };
        // Never before what came before it.
        job.stamp = stamp.max(self.last);
        self.last = job.stamp;
        place
    }
}
