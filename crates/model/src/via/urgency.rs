//! What a processor handles next that tells processes [apart](super::apart).
//!
//! With one look at a time a message that is urgent would wait for one thing of each other unit whenever it comes back to the processor. So here a round of looks comes before each thing that is
//! handled, which costs three looks more, and of all that has been found the first by its stamp is next: whoever it is waits for what is in hand, which cannot be put aside, and for a round.
//! What has no stamp is handled at one unit after the other.

use laxity_units::Time;

use super::apart::Taken;
use super::jobs::{JobId, Turn};
use super::processor::Place;
use super::task::Task;
use super::{Doorbell, Message, Via};

impl Via {
    /// Where that has happened that is to be handled next, where processes are told apart: by stamps, and else at one place after the other.
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

    /// The stamp of what would be handled at `place`; none if nothing.
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
                // It stands still until this is noticed, so for whom it waits that comes first.
                let waits = !self.config.limits.nsdma_queue
                    && self.nsdma.queue.first_stamp().is_some_and(|first| first < Time::MAX);
                Some(if waits { Time::ZERO } else { done })
            }
            Place::Nrdma => self.nrdma.done.least(stamp),
        }
    }

    /// The stamp of the first that waits for room in the adapter's memory, if there is some.
    pub(super) fn with_room(&self) -> Option<Time> {
        self.without_buffer.first_stamp().filter(|_| self.buffers != Some(0))
    }

    /// A doorbell of those that are told apart; or a stamp for what is inside without one.
    pub(super) fn doorbell_apart(&mut self, at: Time) -> (Task, JobId) {
        let rung = self.apart.as_ref().and_then(|apart| apart.rank(at));
        let given = self.to_be_given(at).filter(|(stamp, _)| rung.is_none_or(|rung| *stamp < rung));
        if let Some((_, place)) = given {
            return (Task::Stamp, place);
        }
        let taken = self.apart.as_mut().and_then(|apart| apart.take(at));
        let Taken { item, came, stamp, in_turn } = taken.expect("somebody has rung");
        let (task, message) = match item {
            Doorbell::Send(message) | Doorbell::Answer(message) => (Task::Fetch, message),
            Doorbell::Receive(vi) => (Task::FetchAhead, Message::room(vi)),
        };
        let place = self.jobs.put(message, came);
        let job = self.jobs.of_mut(place);
        (job.stamp, job.turn) = (stamp, in_turn.map(Turn::Rung));
        self.is_inside(place);
        (task, place)
    }
}
