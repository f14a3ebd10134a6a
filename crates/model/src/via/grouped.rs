//! Hierarchical scheduling: groups of virtual interfaces with a common rate.
//!
//! "Hierarchical schedulers" would separate classes of virtual interfaces, says the paper (Nagar et
//! al., §3.3), without details. Stamps cannot: a stamp is final when a doorbell is noticed, and
//! capacity that a group's members do not use goes to the next stamp, in the group or not. So
//! doorbells of groups wait before the first transfer, like best effort with a reserved rate, in a
//! tree of groups whose queue is [hierarchical start-time
//! fair](laxity_qos::discipline::HierarchicalFair). A doorbell is admitted
//!
//! * **by the rate of all groups together**, whatever else waits for the adapter: `clock ←
//!   max(clock, t) + L / Σ r`. This is also its stamp, so that in the queues of HDMA and NSDMA the
//!   groups are one VirtualClock flow with the rate of all of them; or
//! * **when HDMA is idle** and no doorbell waits, at no charge.
//!
//! The tree selects the next doorbell, so that each group has its share of the admissions, and each
//! member its share within the group. Admitted work goes first: a group that was idle waits for no
//! more than that, and for one item of each other child of its node.
//!
//! Only groups with members that send here count in `Σ r`; the reservations have to leave capacity for
//! others.

use laxity_qos::channel::{Carried, ChannelId};
use laxity_qos::discipline::{Discipline, EarlyPolicy, Groups, ItemRequest, Order, ServerParameters, Tag};
use laxity_qos::virtual_clock::{FlowClock, Vtick};
use laxity_units::{Rate, Time};

use super::jobs::{Job, JobId, Jobs};

/// Waiting messages of groups.
#[derive(Debug, Clone)]
pub(super) struct Grouped {
    queue: Discipline<JobId>,
    /// Rate of all groups together.
    rate: Rate,
    clock: FlowClock,
    /// The last admitted stamp.
    last: Time,
}

impl Grouped {
    pub(super) fn new(groups: &Groups, rate: Rate) -> Self {
        let mut queue = Order::HierarchicalFair.discipline(&ServerParameters::with(EarlyPolicy::CONSERVE));
        queue.group(groups);
        Self { queue, rate, clock: FlowClock::default(), last: Time::ZERO }
    }

    /// Queues a message of a virtual interface that shares its group's rate by `tick`.
    pub(super) fn hold(&mut self, now: Time, place: JobId, tick: Vtick, jobs: &Jobs) {
        let message = jobs.of(place).message;
        let (flow, tag) = (ChannelId(message.vi), Tag::sharing(now, tick));
        let request = ItemRequest { flow, size: message.size, tag, carried: Carried::NOTHING };
        self.queue.enqueue(now, &request, place);
    }

    /// When the rate admits the next; [`Time::MAX`] if none waits.
    #[inline]
    pub(super) fn by_rate(&self) -> Time {
        if self.queue.is_empty() { Time::MAX } else { self.clock.reading() }
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Admits the next message, with its stamp.
    pub(super) fn let_in(&mut self, at: Time, jobs: &mut Jobs) -> JobId {
        let (_, place) = self.queue.select(at).expect("one waits");
        let job: &mut Job = jobs.of_mut(place);
        let tick = self.rate.time_for_ceil(job.message.size);
        let stamp = match self.clock.reading() <= at {
            true => self.clock.stamp(at, Some(tick)),
            false => at.saturating_add(tick),
        };
        // Stamps never decrease.
        job.stamp = stamp.max(self.last);
        self.last = job.stamp;
        place
    }
}
