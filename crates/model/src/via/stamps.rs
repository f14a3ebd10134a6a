//! Stamps for unstamped items inside, where processes are [separated](super::apart).
//!
//! An item admitted in turn has the stamp ∞. Beside bandwidths that fill the adapter's capacity it
//! would stay inside for ever, with all items that wait for its slot, and all of its virtual
//! interface, which keeps its order. Therefore it is given a stamp (`Task::Stamp`) when a clock
//! permits, the oldest first, in both directions: it moves to its position in the queue in which it
//! waits, and from then on goes by its stamp. This takes the processor's time like any other task,
//! and is ordered by its stamp. The clocks are
//!
//! * **for the excess over a bandwidth** that of its virtual interface, `clock ← max(clock, came) +
//!   L / rate`, once it has reached the present. So a sender that exceeds its bandwidth still gets
//!   it, and its excess is treated as best effort.
//! * **for best effort** one for all of it, if a rate is reserved. A waiting item with no unstamped
//!   item before it is admitted by that rate, too ([`Apart::take`](super::apart::Apart::take)).
//!
//! For flows with a bandwidth, best effort is therefore one more flow, with messages `L / rate`
//! apart, and a sender that exceeds its bandwidth interferes like one that does not: a clock behind
//! the present has been used, so two stamps are at least `L / rate` apart. Traffic beyond that
//! delays others only while it is in service. A clock that counts from the arrival and not from the
//! processor's service loses none of the rate.

use std::collections::VecDeque;

use laxity_units::{Bytes, Time};

use super::Via;
use super::apart::Apart;
use super::jobs::{Job, JobId, Turn};
use super::told::is_room;

/// Unstamped items inside, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Behind {
    /// Items of doorbells.
    rung: VecDeque<JobId>,
    /// Messages from the network.
    came: VecDeque<JobId>,
}

impl Behind {
    fn of(&mut self, turn: Turn) -> &mut VecDeque<JobId> {
        match turn {
            Turn::Rung(_) => &mut self.rung,
            Turn::Came(_) => &mut self.came,
        }
    }
}

impl Via {
    /// Earliest time at which an item inside may be given a stamp; [`Time::MAX`] for never.
    #[inline]
    pub(super) fn gives_stamp_at(&self) -> Time {
        let Some(behind) = &self.behind else { return Time::MAX };
        let first = |queue: &VecDeque<JobId>| {
            queue.iter().map(|place| self.given_from(*place)).min().unwrap_or(Time::MAX)
        };
        first(&behind.rung).min(first(&behind.came))
    }

    fn given_from(&self, place: JobId) -> Time {
        match self.jobs.of(place).turn {
            Some(Turn::Rung(turn)) => self.apart.as_ref().map(|apart| apart.gives_stamp_at(turn.lane)),
            Some(Turn::Came(turn)) => self.nrdma.lanes().map(|lanes| lanes.gives_stamp_at(turn.lane)),
            None => None,
        }
        .unwrap_or(Time::MAX)
    }

    /// Size that a message inside is charged for, and its arrival time.
    fn counts(&self, place: JobId) -> (Option<Bytes>, Time) {
        let Job { message, came, turn, .. } = *self.jobs.of(place);
        let room = matches!(turn, Some(Turn::Rung(turn)) if is_room(turn.lane));
        ((!room).then_some(message.size), came)
    }

    /// The next item to be given a stamp at `at`, with the stamp: only the oldest item of each
    /// clock is considered.
    pub(super) fn to_be_given(&self, at: Time) -> Option<(Time, JobId)> {
        let behind = self.behind.as_ref()?;
        let rung = self.apart.as_ref().and_then(|apart| self.first_given(&behind.rung, apart, at));
        let came = self.nrdma.lanes().and_then(|lanes| self.first_given(&behind.came, lanes, at));
        rung.into_iter().chain(came).min_by_key(|(stamp, _)| *stamp)
    }

    fn first_given<T: Copy>(
        &self,
        queue: &VecDeque<JobId>,
        apart: &Apart<T>,
        at: Time,
    ) -> Option<(Time, JobId)> {
        let lane = |place: &JobId| self.jobs.of(*place).turn.map(Turn::lane);
        let clock = |place: &JobId| lane(place).map(|lane| apart.own_clock(lane));
        let oldest = |(k, place): &(usize, &JobId)| {
            let own = clock(place);
            queue.iter().take(*k).all(|before| clock(before) != own)
        };
        let stamped = queue.iter().enumerate().filter(oldest).filter_map(|(_, place)| {
            let stamp = apart.given(lane(place)?, self.counts(*place), at)?;
            Some((stamp, *place))
        });
        stamped.min_by_key(|(stamp, _)| *stamp)
    }

    /// Gives the item its stamp, and reorders it by that.
    pub(super) fn give_stamp(&mut self, at: Time, place: JobId) {
        let counts = self.counts(place);
        let Some(turn) = self.jobs.of(place).turn else { return };
        let given = match turn {
            Turn::Rung(turn) => self.apart.as_mut().map(|apart| apart.give(turn.lane, counts)),
            Turn::Came(turn) => self.nrdma.give(turn.lane, counts),
        };
        let Some((stamp, goes_by)) = given else { return };
        self.is_behind_no_more(place, turn);
        let job = self.jobs.of_mut(place);
        job.stamp = stamp;
        job.turn = goes_by.map(|by| turn.going_by(by));
        self.hdma.queue.advance(stamp, |request| request.job == place);
        self.nsdma.queue.advance(stamp, |job| *job == place);
        self.without_buffer.advance(stamp, |job| *job == place);
        self.nrdma.start(at, self.config.engines.network, &mut self.jobs);
    }

    /// Records an item admitted in turn that the processor may find.
    pub(super) fn is_inside(&mut self, place: JobId) {
        if let Some(behind) = &mut self.behind
            && let Some(turn) = self.jobs.of(place).turn.filter(|turn| turn.wants_stamp())
        {
            behind.of(turn).push_back(place);
        }
    }

    /// Forgets an item that has a stamp, or is done.
    pub(super) fn is_behind_no_more(&mut self, place: JobId, turn: Turn) {
        if let Some(behind) = &mut self.behind {
            behind.of(turn).retain(|other| *other != place);
        }
    }
}
