//! A rate set aside for best effort, where processes are told [apart](super::apart).
//!
//! What is let in in turn has the stamp ∞, and beside bandwidths of all that an adapter can do it would stay inside for ever: with it all that waits for its place. So best effort has a rate together, as one flow of
//! VirtualClock, `clock ← max(clock, came) + L / rate`, on either way of a message:
//!
//! * What waits and finds nothing before it is let in by the rate, with that stamp ([`Apart::take`](super::apart::Apart::take)).
//! * What was let in beyond the rate is given a stamp (`Task::Stamp`) when the clock allows it, the oldest first: it is moved to where that belongs in the queue in which it waits, and from then on goes first
//!   wherever it comes. That takes the processor's time like anything else, and comes among the rest by its stamp.
//!
//! To everybody with a bandwidth all of it is therefore one flow more, whose messages come `L / rate` apart; what is beyond that is in nobody's way but where it is in hand. A clock that counts from
//! when something came and not from when the processor got to it loses nothing of the rate.

use std::collections::VecDeque;

use laxity_units::Time;

use super::Via;
use super::jobs::{Job, JobId, Turn};

/// Best effort that is inside without a stamp, oldest first.
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
        let rung = self.apart.as_ref().filter(|_| !behind.rung.is_empty());
        let came = self.nrdma.lanes().filter(|_| !behind.came.is_empty());
        let rung = rung.map_or(Time::MAX, |apart| apart.gives_stamp_at());
        rung.min(came.map_or(Time::MAX, |lanes| lanes.gives_stamp_at()))
    }

    /// What is next to be given a stamp at `at`, and which.
    pub(super) fn to_be_given(&self, at: Time) -> Option<(Time, JobId)> {
        let behind = self.behind.as_ref()?;
        let stamp = |place: &JobId| {
            let Job { message, base, turn, .. } = *self.jobs.of(*place);
            let what = (message.size, base);
            let stamp = match turn? {
                Turn::Rung(turn) => self.apart.as_ref()?.given(turn.lane, what, at),
                Turn::Came(turn) => self.nrdma.lanes()?.given(turn.lane, what, at),
            };
            Some((stamp?, *place))
        };
        let first = [behind.rung.front(), behind.came.front()];
        first.into_iter().flatten().filter_map(stamp).min_by_key(|(stamp, _)| *stamp)
    }

    /// It is given its stamp, and goes by that.
    pub(super) fn give_stamp(&mut self, at: Time, place: JobId) {
        let Job { message, base, turn, .. } = *self.jobs.of(place);
        let what = (message.size, base);
        let given = match turn {
            Some(Turn::Rung(turn)) => self.apart.as_mut().map(|apart| apart.give(turn.lane, what)),
            Some(Turn::Came(turn)) => self.nrdma.give(turn.lane, what),
            None => None,
        };
        let Some((stamp, turn)) = given.zip(turn) else { return };
        self.is_behind_no_more(place, turn);
        let job = self.jobs.of_mut(place);
        job.stamp = stamp;
        job.turn = Some(turn.with_stamp());
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
