//! Stamps for what is inside without one, where processes are told [apart](super::apart).
//!
//! What is let in in turn has the stamp ∞, and beside bandwidths of all that an adapter can do it would stay inside for ever: with it all that waits for its place, and all of its virtual interface, which keeps
//! its order. So it is given a stamp (`Task::Stamp`) when a clock allows it, the oldest first, on either way of a message: it is moved to where that belongs in the queue in which it waits, and from then
//! on goes first wherever it comes. That takes the processor's time like anything else, and comes among the rest by its stamp. The clocks are
//!
//! * **of what exceeds a bandwidth** that of its virtual interface, `clock ← max(clock, came) + L / rate`, once that has come to the present. So who posts more than its bandwidth has it all the same, and what it
//!   posts beyond that is as best effort is.
//! * **of best effort** one for all of it, if a rate is set aside. What waits and finds nothing before it is let in by that rate, too ([`Apart::take`](super::apart::Apart::take)).
//!
//! To everybody with a bandwidth best effort is therefore one flow more, whose messages come `L / rate` apart, and who posts too much is in the way as who does not: it has been used when a clock is behind the
//! present, so no two stamps are given closer than `L / rate`. What is beyond that is in nobody's way but where it is in hand. A clock that counts from when something came and not from when the processor got to it
//! loses nothing of the rate.

use std::collections::VecDeque;

use laxity_units::{Bytes, Time};

use super::Via;
use super::apart::Apart;
use super::jobs::{Job, JobId, Turn};
use super::told::is_room;

/// What is inside without a stamp, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Behind {
    /// What was rung for.
    rung: VecDeque<JobId>,
    /// What came.
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
    /// From when on something that is inside may be given a stamp; [`Time::MAX`] for never.
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

    /// What a message that is inside counts for, and from when on.
    fn counts(&self, place: JobId) -> (Option<Bytes>, Time) {
        let Job { message, came, turn, .. } = *self.jobs.of(place);
        let room = matches!(turn, Some(Turn::Rung(turn)) if is_room(turn.lane));
        ((!room).then_some(message.size), came)
    }

    /// What is next to be given a stamp at `at`, and which: of those that go by one clock the oldest.
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

    /// It is given its stamp, and goes by that.
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

    /// The processor may find something that was let in in turn.
    pub(super) fn is_inside(&mut self, place: JobId) {
        if let Some(behind) = &mut self.behind
            && let Some(turn) = self.jobs.of(place).turn.filter(|turn| turn.wants_stamp())
        {
            behind.of(turn).push_back(place);
        }
    }

    /// It has a stamp, or is done with.
    pub(super) fn is_behind_no_more(&mut self, place: JobId, turn: Turn) {
        if let Some(behind) = &mut self.behind {
            behind.of(turn).retain(|other| *other != place);
        }
    }
}
