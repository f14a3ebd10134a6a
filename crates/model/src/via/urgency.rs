//! Order of the processor's tasks where processes are [separated](super::apart).
//!
//! With one poll at a time an urgent message would wait for one task of each other unit at each of
//! its steps. So a round of polls precedes each task here, which costs three more polls, and the
//! event with the first stamp is next: it waits for the current task, which is non-preemptive, and
//! for a round. Events without a stamp are handled by unit in turn.

use laxity_units::Time;

use super::apart::Taken;
use super::jobs::{JobId, Turn};
use super::processor::Place;
use super::task::Task;
use super::{ViDoorbell, ViMessage, Via};

impl Via {
    /// The unit of the next event to handle, where processes are separated: by stamps, else by unit
    /// in turn.
    pub(super) fn most_urgent(&self, at: Time) -> Place {
        let (mut place, mut best) = (self.processor.place, None);
        let mut found = place;
        for _ in 0..self.config.firmware.places() {
            let rank = self.rank(place, at);
            if rank.is_some() && best.is_none_or(|best| rank < Some(best)) {
                (best, found) = (rank, place);
            }
            place = self.config.firmware.after(place);
        }
        debug_assert!(best.is_some(), "something is to be found");
        found
    }

    /// Stamp of the event that would be handled at `place`; none without an event.
    fn rank(&self, place: Place, at: Time) -> Option<Time> {
        let stamp = |job: &JobId| self.jobs.of(*job).stamp;
        match place {
            Place::Doorbells => {
                let rung = self.apart.as_ref()?.rank(at);
                rung.into_iter().chain(self.to_be_given(at).map(|(stamp, _)| stamp)).min()
            }
            Place::Hdma => {
                let done = self.hdma.done.least(|request| stamp(&request.job));
                done.into_iter().chain(self.with_room()).min()
            }
            Place::Nsdma => {
                let done = self.nsdma.done.least(stamp)?;
                // NSDMA is idle until this is noticed, so it goes first if a stamped message waits
                // for it.
                let waits = !self.config.limits.nsdma_queue
                    && self.nsdma.queue.first_stamp().is_some_and(|first| first < Time::MAX);
                Some(if waits { Time::ZERO } else { done })
            }
            Place::Nrdma => self.nrdma.done.least(stamp),
        }
    }

    /// Stamp of the first job that waits for a buffer, if one is free.
    pub(super) fn with_room(&self) -> Option<Time> {
        self.without_buffer.first_stamp().filter(|_| self.buffers != Some(0))
    }

    /// Takes a separated doorbell; or gives a stamp to an unstamped item inside.
    pub(super) fn doorbell_apart(&mut self, at: Time) -> (Task, JobId) {
        let rung = self.apart.as_ref().and_then(|apart| apart.rank(at));
        let given = self.to_be_given(at).filter(|(stamp, _)| rung.is_none_or(|rung| *stamp < rung));
        if let Some((_, place)) = given {
            return (Task::Stamp, place);
        }
        let taken = self.apart.as_mut().and_then(|apart| apart.take(at));
        let Taken { item, came, stamp, in_turn } = taken.expect("somebody has rung");
        let (task, message) = match item {
            ViDoorbell::Send(message) | ViDoorbell::Answer(message) => (Task::Fetch, message),
            ViDoorbell::Receive(vi) => (Task::FetchAhead, ViMessage::room(vi)),
        };
        let place = self.jobs.put(message, came);
        let job = self.jobs.of_mut(place);
        (job.stamp, job.turn) = (stamp, in_turn.map(Turn::Rung));
        self.is_inside(place);
        (task, place)
    }
}
