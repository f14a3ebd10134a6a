//! The firmware: tasks of the adapter's processor, and their times.
//!
//! A parallel firmware polls the units in rounds. A poll costs `poll` and finds one event that has
//! happened at its unit by the time it begins; the task for it takes its own time, and then the
//! next unit is polled. Tasks are non-preemptive. An idle firmware spins, so the time of discovery
//! needs no event: it is the first poll of that unit that begins no earlier than the event.
//!
//! A sequential firmware polls for a doorbell or an arrival likewise, and then waits for each
//! transfer of that one message without polls in between: it notices the end at once.

use laxity_units::{Span, Time};

use super::jobs::{JobId, Turn};
use super::task::Task;
use super::units::{Request, Transfer};
use super::{Firmware, Unit, ViDirection, ViDoorbell, ViMessage, ViStep, Via, ViaOutput};

/// A unit that the processor polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Doorbells = 0,
    Hdma,
    Nsdma,
    Nrdma,
}

/// Current activity of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// It polls the units in turn.
    Polling { from: Time },
    /// It waits for one transfer.
    Waiting { place: Place, since: Time },
    /// It executes a task.
    Working { task: Task, job: JobId, since: Time },
}

/// The processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Processor {
    duty: Duty,
    /// The unit to poll next, or the one with the event being handled.
    pub(super) place: Place,
    /// Its next completion or discovery; [`Time::MAX`] for none.
    due: Time,
    /// The unit of that discovery.
    finds: Place,
}

impl Processor {
    pub(super) const START: Self = Self {
        duty: Duty::Polling { from: Time::ZERO },
        place: Place::Doorbells,
        due: Time::MAX,
        finds: Place::Doorbells,
    };

    pub(super) fn load(&self) -> usize {
        usize::from(matches!(self.duty, Duty::Working { .. }))
    }

    #[inline]
    pub(super) fn due(&self) -> Time {
        self.due
    }
}

impl Firmware {
    /// The unit polled after `place`.
    #[inline(always)]
    pub(super) fn after(self, place: Place) -> Place {
        match (self, place) {
            (Firmware::Sequential { overlap: false }, Place::Doorbells) | (_, Place::Nsdma) => Place::Nrdma,
            (Firmware::Parallel | Firmware::QualityOfService, Place::Doorbells) => Place::Hdma,
            (Firmware::Sequential { overlap: true }, Place::Doorbells) | (_, Place::Hdma) => Place::Nsdma,
            (_, Place::Nrdma) => Place::Doorbells,
        }
    }

    /// Number of units in a round.
    pub(super) fn places(self) -> u64 {
        match self {
            Firmware::Sequential { overlap: false } => 2,
            Firmware::Sequential { overlap: true } => 3,
            Firmware::Parallel | Firmware::QualityOfService => 4,
        }
    }
}

impl Via {
    /// Time of the oldest unnoticed event of each unit, or of its next event by itself;
    /// [`Time::MAX`] for none.
    #[inline(always)]
    fn pending(&self) -> [Time; 4] {
        let waits = self.without_buffer.len() > 0 && self.buffers != Some(0);
        let room = if waits { self.freed } else { Time::MAX };
        [
            self.rung_since().min(self.let_in_at()).min(self.group_let_in_at()).min(self.gives_stamp_at()),
            self.hdma.done.since().min(room),
            self.nsdma.done.since(),
            self.nrdma.done.since(),
        ]
    }

    /// Since or from when an admissible doorbell waits.
    #[inline]
    fn rung_since(&self) -> Time {
        match &self.apart {
            Some(apart) => apart.since(),
            None => self.doorbells.since(),
        }
    }

    /// Recomputes the next discovery after an event, unless a task runs.
    #[inline]
    pub(super) fn look_again(&mut self) {
        match self.processor.duty {
            Duty::Working { .. } => {}
            Duty::Waiting { place, since } => self.processor.due = self.pending()[place as usize].max(since),
            Duty::Polling { from } => self.poll(from),
        }
    }

    /// Computes the first poll, in rounds from `from` on, that finds an event.
    fn poll(&mut self, from: Time) {
        let (pending, places) = (self.pending(), self.config.firmware.places());
        let next = self.config.costs.poll;
        if self.apart.is_some() {
            // It polls all units before it begins a task.
            let since = pending.into_iter().min().unwrap_or(Time::MAX);
            self.processor.due = match since {
                Time::MAX => Time::MAX,
                since if since <= from => from,
                since => round_from(from, since, next * places),
            };
            return;
        }
        let mut place = self.processor.place;
        let (mut first, mut finds, mut begins) = (Time::MAX, place, from);
        for _ in 0..places {
            let since = pending[place as usize];
            if since <= begins {
                // Later polls begin no earlier.
                if begins < first {
                    (first, finds) = (begins, place);
                }
                break;
            }
            if since < Time::MAX {
                let at = round_from(begins, since, next * places);
                if at < first {
                    (first, finds) = (at, place);
                }
            }
            begins = begins.saturating_add(next);
            place = self.config.firmware.after(place);
        }
        (self.processor.due, self.processor.finds) = (first, finds);
    }

    /// Handles the processor's due completion or discovery.
    pub(super) fn processor_turns(&mut self, at: Time) {
        match self.processor.duty {
            Duty::Working { task, job, since } => {
                self.report.units[Unit::Processor as usize].note(since, at);
                self.worked(at, Unit::Processor, task.name(), self.jobs.of(job).message, since);
                self.finish(at, task, job);
            }
            Duty::Waiting { place, .. } => self.begin(at, place, Span::ZERO),
            Duty::Polling { .. } if self.apart.is_some() => {
                self.processor.place = self.most_urgent(at);
                let round = self.config.costs.poll * self.config.firmware.places();
                self.begin(at, self.processor.place, round);
            }
            Duty::Polling { .. } => {
                self.processor.place = self.processor.finds;
                self.begin(at, self.processor.finds, self.config.costs.poll);
            }
        }
    }

    /// Begins the task for an event at `place`, after a poll of duration `look`.
    fn begin(&mut self, at: Time, place: Place, look: Span) {
        let (task, job) = match place {
            Place::Doorbells => self.doorbell(at),
            Place::Hdma => self.transferred(at),
            Place::Nsdma => {
                let job = match self.apart {
                    None => self.nsdma.done.pop().map(|(job, _)| job),
                    Some(_) => self.nsdma.done.pop_least(|job| self.jobs.of(*job).stamp),
                };
                let job = job.expect("a message has left");
                self.did(at, ViStep::SendNetworkDone, job);
                if let Some(buffers) = &mut self.buffers {
                    *buffers += 1;
                    self.freed = at;
                }
                let restarts =
                    self.nsdma.queue.len() > 0 && self.nsdma.seems_free() && !self.config.limits.nsdma_queue;
                (if restarts { Task::Restart } else { Task::Status(ViDirection::Send) }, job)
            }
            Place::Nrdma => self.arrived(),
        };
        self.work(at, task, job, look);
    }

    fn doorbell(&mut self, at: Time) -> (Task, JobId) {
        if self.apart.is_some() {
            return self.doorbell_apart(at);
        }
        if let Some(grouped) = &mut self.grouped {
            let rings = self.doorbells.since() <= at;
            // A message admitted while HDMA is idle leaves the turn to doorbells.
            if grouped.by_rate() <= at || (!rings && self.let_in_at() > at) {
                return (Task::Fetch, self.let_group_in(at));
            }
        }
        if self.let_in_at() <= at {
            return (Task::Fetch, self.let_in(at));
        }
        let (doorbell, base) = self.doorbells.pop().expect("somebody has rung");
        match doorbell {
            ViDoorbell::Send(message) | ViDoorbell::Answer(message) => {
                let job = self.jobs.put(message, base);
                let endpoint = &mut self.endpoints[message.vi as usize];
                if self.config.firmware == Firmware::QualityOfService {
                    if endpoint.share.is_some() && self.grouped.is_some() {
                        return (Task::Hold, job);
                    }
                    if endpoint.vtick.is_none() && self.config.limits.best_effort.is_some() {
                        return (Task::Hold, job);
                    }
                    let tick = endpoint.vtick.map(|vtick| vtick.of(message.size));
                    self.jobs.of_mut(job).stamp = endpoint.sends.stamp(at, tick);
                }
                (Task::Fetch, job)
            }
            ViDoorbell::Receive(vi) => {
                let message = ViMessage::room(vi);
                let reserved = self.endpoints[vi as usize].vtick.is_some();
                let job = self.jobs.put(message, base);
                // Later messages wait for this one, so its clock does not matter.
                self.jobs.of_mut(job).stamp = match (self.config.firmware, reserved) {
                    (Firmware::QualityOfService, true) => at,
                    (Firmware::QualityOfService, false) => Time::MAX,
                    (Firmware::Parallel | Firmware::Sequential { .. }, _) => Time::ZERO,
                };
                (if self.config.firmware.is_sequential() { Task::Note } else { Task::FetchAhead }, job)
            }
        }
    }

    /// Handles a transfer by HDMA, or a buffer for a job that waited for one.
    fn transferred(&mut self, at: Time) -> (Task, JobId) {
        let done = |via: &Self| via.hdma.done.least(|request| via.jobs.of(request.job).stamp);
        let roomy = self
            .with_room()
            .is_some_and(|waits| self.apart.is_none() || done(self).is_none_or(|done| waits <= done));
        if roomy && let Some(buffers) = self.buffers.as_mut().filter(|buffers| **buffers > 0) {
            *buffers -= 1;
            return (Task::Program(ViDirection::Send), self.without_buffer.pop().expect("one waits"));
        }
        let request = match self.apart {
            None => self.hdma.done.pop().map(|(request, _)| request),
            Some(_) => self.hdma.done.pop_least(|request| self.jobs.of(request.job).stamp),
        };
        let Request { transfer, job } = request.expect("a transfer is done");
        let task = match transfer {
            Transfer::Descriptor(ViDirection::Send) => {
                self.did(at, ViStep::SendDescriptorDown, job);
                match &mut self.buffers {
                    Some(0) => Task::Wait,
                    Some(buffers) => {
                        *buffers -= 1;
                        Task::Program(ViDirection::Send)
                    }
                    None => Task::Program(ViDirection::Send),
                }
            }
            Transfer::Descriptor(ViDirection::Receive) if self.config.firmware.is_sequential() => {
                self.did(at, ViStep::ReceiveDescriptorDown, job);
                Task::Program(ViDirection::Receive)
            }
            Transfer::Descriptor(ViDirection::Receive) => Task::Note,
            Transfer::Data(ViDirection::Send) => {
                self.did(at, ViStep::SendDataDown, job);
                Task::Queue
            }
            Transfer::Data(ViDirection::Receive) => {
                self.did(at, ViStep::ReceiveDataUp, job);
                self.nrdma.free(at, self.config.engines.network, &mut self.jobs);
                Task::Status(ViDirection::Receive)
            }
            Transfer::Status(direction) => Task::Finish(direction),
        };
        (task, job)
    }

    /// Handles a received message.
    fn arrived(&mut self) -> (Task, JobId) {
        let oldest = match self.apart {
            None => self.nrdma.done.pop(),
            Some(_) => {
                let least = self.nrdma.done.pop_least(|job| self.jobs.of(*job).stamp);
                least.map(|place| (place, self.jobs.of(place).base))
            }
        };
        let (place, base) = oldest.expect("a message has come");
        let job = self.jobs.of_mut(place);
        let endpoint = &mut self.endpoints[job.message.vi as usize];
        match endpoint.descriptors.as_mut().filter(|_| !job.message.directed) {
            Some(0) => return (Task::Discard, place),
            Some(descriptors) => *descriptors -= 1,
            None => {}
        }
        let task = match self.config.firmware {
            Firmware::Sequential { .. } => Task::FetchFor,
            Firmware::Parallel => Task::Program(ViDirection::Receive),
            // It was stamped where it waited.
            Firmware::QualityOfService if self.apart.is_some() => Task::Program(ViDirection::Receive),
            Firmware::QualityOfService => {
                let tick = endpoint.vtick.map(|vtick| vtick.of(job.message.size));
                job.stamp = endpoint.receives.stamp(base, tick);
                Task::Program(ViDirection::Receive)
            }
        };
        (task, place)
    }

    /// Begins `task` at `at`, after a poll of duration `look`.
    fn work(&mut self, at: Time, task: Task, place: JobId, look: Span) {
        let (costs, job) = (&self.config.costs, self.jobs.of(place));
        let inserting = || costs.scan.saturating_mul(self.hdma.queue.passed(job.stamp));
        let takes = match task {
            Task::Fetch | Task::FetchAhead | Task::FetchFor => costs.doorbell.saturating_add(inserting()),
            Task::Hold | Task::Note | Task::Discard | Task::Wait | Task::Stamp => costs.note,
            Task::Program(_) => costs.data.saturating_add(inserting()),
            Task::Fragments(_) => costs.further(job.message.size),
            Task::Queue => {
                let there = match self.nsdma.seems_free() {
                    true => costs.start,
                    false => costs.scan.saturating_mul(self.nsdma.queue.passed(job.stamp)),
                };
                costs.queue.saturating_add(there)
            }
            Task::Restart => costs.start,
            Task::Status(_) => costs.status.saturating_add(inserting()),
            Task::Finish(_) => costs.finish,
        };
        self.processor.due = at.saturating_add(look).saturating_add(takes);
        self.processor.duty = Duty::Working { task, job: place, since: at };
    }

    /// Completes `task`, and begins the next activity.
    fn finish(&mut self, at: Time, task: Task, job: JobId) {
        let goes_on = match task {
            Task::Fetch => {
                self.did(at, ViStep::SendDescriptorProgrammed, job);
                self.move_by_hdma(at, Transfer::Descriptor(ViDirection::Send), job);
                Some(Place::Hdma)
            }
            Task::FetchFor => {
                self.did(at, ViStep::ReceiveDescriptorProgrammed, job);
                self.move_by_hdma(at, Transfer::Descriptor(ViDirection::Receive), job);
                Some(Place::Hdma)
            }
            Task::FetchAhead => {
                self.move_by_hdma(at, Transfer::Descriptor(ViDirection::Receive), job);
                None
            }
            Task::Hold => {
                let vi = self.jobs.of(job).message.vi;
                match (self.endpoints[vi as usize].share, &mut self.grouped) {
                    (Some(tick), Some(grouped)) => grouped.hold(at, job, tick, &self.jobs),
                    _ => self.outside.queue.push_back(job),
                }
                None
            }
            Task::Note => {
                let vi = self.jobs.of(job).message.vi;
                let descriptors = &mut self.endpoints[vi as usize].descriptors;
                *descriptors = descriptors.map(|count| count + 1);
                self.tell(at, ViaOutput::Posted(vi));
                self.end(at, job);
                None
            }
            Task::Discard => {
                self.nrdma.free(at, self.config.engines.network, &mut self.jobs);
                self.tell(at, ViaOutput::Dropped(self.jobs.of(job).message));
                self.end(at, job);
                None
            }
            Task::Stamp => {
                self.give_stamp(at, job);
                None
            }
            Task::Program(direction) => {
                self.move_by_hdma(at, Transfer::Data(direction), job);
                return self.work(at, Task::Fragments(direction), job, Span::ZERO);
            }
            Task::Fragments(direction) => {
                let step = match direction {
                    ViDirection::Send => ViStep::SendDataProgrammed,
                    ViDirection::Receive => ViStep::ReceiveDataProgrammed,
                };
                self.did(at, step, job);
                Some(Place::Hdma)
            }
            Task::Wait => {
                self.without_buffer.insert(self.jobs.of(job).stamp, job);
                None
            }
            Task::Queue => {
                let free = self.nsdma.seems_free();
                self.nsdma.queue.insert(self.jobs.of(job).stamp, job);
                if free {
                    self.start_nsdma(at);
                }
                let overlaps = free && self.config.firmware == Firmware::Sequential { overlap: true };
                (!overlaps).then_some(Place::Nsdma)
            }
            Task::Restart => {
                self.start_nsdma(at);
                return self.work(at, Task::Status(ViDirection::Send), job, Span::ZERO);
            }
            Task::Status(direction) => {
                let step = match direction {
                    ViDirection::Send => ViStep::SendStatusProgrammed,
                    ViDirection::Receive => ViStep::ReceiveStatusProgrammed,
                };
                self.did(at, step, job);
                self.move_by_hdma(at, Transfer::Status(direction), job);
                Some(Place::Hdma)
            }
            Task::Finish(direction) => {
                let step = match direction {
                    ViDirection::Send => ViStep::SendStatusDone,
                    ViDirection::Receive => ViStep::ReceiveStatusDone,
                };
                self.did(at, step, job);
                self.end(at, job);
                None
            }
        };
        // The next poll; or, in a sequence, the end of the transfer.
        self.processor.duty = match goes_on.filter(|_| self.config.firmware.is_sequential()) {
            Some(place) => Duty::Waiting { place, since: at },
            None => {
                self.processor.place = self.config.firmware.after(self.processor.place);
                Duty::Polling { from: at }
            }
        };
        self.look_again();
    }

    /// The processor has completed a message.
    fn end(&mut self, at: Time, place: JobId) {
        let turn = self.jobs.of(place).turn;
        if let Some(turn) = turn {
            self.is_behind_no_more(place, turn);
        }
        self.jobs.end(place);
        match (turn, &mut self.apart) {
            (Some(Turn::Rung(turn)), Some(apart)) => apart.done(turn),
            (Some(Turn::Came(turn)), _) => {
                self.nrdma.done_with(at, turn, self.config.engines.network, &mut self.jobs);
            }
            _ => {}
        }
    }

    fn move_by_hdma(&mut self, at: Time, transfer: Transfer, job: JobId) {
        self.hdma.push(at, Request { transfer, job }, &self.config.engines, &self.jobs);
        // HDMA goes first among events at one time, so transfers of zero time can end here.
        while self.hdma.in_hand.until() <= at {
            self.hdma_ends(at);
        }
    }
}

/// The first poll no earlier than `since`, of a unit polled at `begins` and once in each `round`
/// after it.
fn round_from(begins: Time, since: Time, round: Span) -> Time {
    match round.is_zero() {
        true => since,
        false => begins.saturating_add(round.saturating_mul(since.since(begins).div_ceil(round))),
    }
}
