//! Messages under way on one side of an adapter. Each lies in one place until the processor has put
//! it away; units and queues hold where.

use laxity_units::Time;

use super::ViMessage;
use super::apart::{By, InTurn};

/// A message under way, on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) message: ViMessage,
    pub(super) stamp: Time,
    /// From when Table 1 counts: the doorbell, or the arrival.
    pub(super) base: Time,
    /// When it was rung for, or its first bit came.
    pub(super) came: Time,
    /// The queue from which it was admitted in turn, where processes are separated.
    pub(super) turn: Option<Turn>,
}

/// A separated queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Of doorbells.
    Rung(InTurn),
    /// Of received messages.
    Came(InTurn),
}

impl Turn {
    /// Whether it may be given a stamp.
    pub(super) fn wants_stamp(self) -> bool {
        let (Turn::Rung(turn) | Turn::Came(turn)) = self;
        turn.by == By::Turn
    }

    /// Of which of the queues it is.
    pub(super) fn lane(self) -> u32 {
        let (Turn::Rung(turn) | Turn::Came(turn)) = self;
        turn.lane
    }

    /// The same, once it goes by that.
    pub(super) fn going_by(self, turn: InTurn) -> Self {
        match self {
            Turn::Rung(_) => Turn::Rung(turn),
            Turn::Came(_) => Turn::Came(turn),
        }
    }
}

/// Where one lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobId(u32);

/// All of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Jobs {
    places: Vec<Job>,
    free: Vec<JobId>,
}

impl Jobs {
    /// A place for `message`, without a stamp.
    pub(super) fn put(&mut self, message: ViMessage, base: Time) -> JobId {
        let job = Job { message, stamp: Time::ZERO, base, came: base, turn: None };
        match self.free.pop() {
            Some(place) => {
                self.places[place.0 as usize] = job;
                place
            }
            None => {
                self.places.push(job);
                JobId(self.places.len() as u32 - 1)
            }
        }
    }

    #[inline]
    pub(super) fn of(&self, place: JobId) -> &Job {
        &self.places[place.0 as usize]
    }

    pub(super) fn of_mut(&mut self, place: JobId) -> &mut Job {
        &mut self.places[place.0 as usize]
    }

    /// Frees this slot.
    pub(super) fn end(&mut self, place: JobId) {
        self.free.push(place);
    }
}
