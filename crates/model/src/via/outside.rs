//! Items that wait before the first transfer: best effort with a reserved rate, and messages of
//! groups.

use std::collections::VecDeque;

use laxity_qos::virtual_clock::FlowClock;
use laxity_units::Time;

use super::Via;
use super::jobs::JobId;

/// Best effort that waits to be let in.
#[derive(Debug, Clone, Default)]
pub(super) struct Outside {
    pub(super) queue: VecDeque<JobId>,
    clock: FlowClock,
    last: Time,
}

impl Via {
    /// When waiting best effort may be admitted: when its rate permits, or HDMA is idle.
    #[inline]
    pub(super) fn let_in_at(&self) -> Time {
        let Some(first) = self.outside.queue.front() else { return Time::MAX };
        let allowed = self.outside.clock.reading();
        let at = self.hdma.idle_since().map_or(allowed, |idle| idle.min(allowed));
        at.max(self.jobs.of(*first).base)
    }

    /// When waiting messages of groups may be admitted, likewise.
    #[inline]
    pub(super) fn group_let_in_at(&self) -> Time {
        let Some(grouped) = &self.grouped else { return Time::MAX };
        let by_rate = grouped.by_rate();
        self.hdma
            .idle_since()
            .map_or(by_rate, |idle| if by_rate < Time::MAX { idle.min(by_rate) } else { by_rate })
    }

    /// The next of groups that waits outside, with its stamp.
    pub(super) fn let_group_in(&mut self, at: Time) -> JobId {
        let place = self.grouped.as_mut().expect("there are groups").let_in(at, &mut self.jobs);
        let waited = at.saturating_since(self.jobs.of(place).base);
        self.report.longest_outside = self.report.longest_outside.max(waited);
        place
    }

    /// The first of best effort that waits outside, with its stamp.
    pub(super) fn let_in(&mut self, at: Time) -> JobId {
        let outside = &mut self.outside;
        let place = outside.queue.pop_front().expect("it was due");
        let job = self.jobs.of_mut(place);
        let rate =
            self.config.limits.best_effort.expect("best effort waits outside where a rate is set aside");
        let tick = rate.time_for_ceil(job.message.size);
        let stamp = match outside.clock.reading() <= at {
            true => outside.clock.stamp(at, Some(tick)),
            // HDMA is otherwise idle: the admission is not charged.
            false => at.saturating_add(tick),
        };
        // Never before what came before it.
        job.stamp = stamp.max(outside.last);
        outside.last = job.stamp;
        self.report.longest_outside = self.report.longest_outside.max(at.saturating_since(job.base));
        place
    }
}
