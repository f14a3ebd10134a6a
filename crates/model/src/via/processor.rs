//! What the adapter's processor does, and when: the firmware.
//!
//! A parallel firmware is a round of looks, one at each unit. A look costs `poll` and finds what has been done there by the time it
//! begins, one thing at a time; handling that costs what it costs, and then the next unit is looked at. Nothing interrupts it. An
//! idle firmware spins, so when something will be found is arithmetic and no event: the first look at that unit that begins
//! no earlier than the thing happened.
//!
//! A sequential firmware looks for a doorbell or an arrival in the same way, and then waits for each transfer of that one message,
//! without a look in between: it notices the end at once.

use laxity_units::{Span, Time};

use super::units::{Request, Transfer};
use super::{Direction, Doorbell, Firmware, Job, Message, Step, Unit, Via, ViaOutput};

/// Bytes that one programmed entry moves.
const FRAGMENT: laxity_units::Bytes = laxity_units::Bytes::from_kib(1);

/// Where the processor looks whether something has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Doorbells,
    Hdma,
    Nsdma,
    Nrdma,
}

/// What the processor is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// It looks at one unit after the other.
    Polling { from: Time },
    /// It waits for a transfer, and nothing else.
    Waiting { place: Place, since: Time },
    /// It handles something.
    Working { task: Task, since: Time, until: Time },
}

/// The processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Processor {
    duty: Duty,
    /// The place in the round of the look that comes next, or that found what is handled.
    place: usize,
}

impl Processor {
    pub(super) const START: Self = Self { duty: Duty::Polling { from: Time::ZERO }, place: 0 };

    pub(super) fn load(&self) -> usize {
        usize::from(matches!(self.duty, Duty::Working { .. }))
    }
}

/// What is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    /// A doorbell: the descriptor is to be fetched.
    Fetch(Job),
    /// Best effort's doorbell: it is to wait outside.
    Hold(Job),
    /// A receive doorbell, whose descriptor is fetched ahead.
    FetchAhead(Job),
    /// There is a receive descriptor more: its doorbell under SVIA, its arrival under the others.
    Note(Job),
    /// A message has come, and its descriptor is to be fetched: SVIA.
    FetchFor(Job),
    /// A message has come that nobody has room for.
    Discard(Job),
    /// The transfer of data: up to its first KiB.
    Program(Job, Direction),
    /// The rest of it.
    Fragments(Job, Direction),
    /// The data waits for room in the adapter's memory.
    Wait(Job),
    /// Data is down and goes to NSDMA, or into its queue.
    Queue(Job),
    /// NSDMA is free: the next is started, before this one's status.
    Restart(Job),
    /// The transfer of completion information.
    Status(Job, Direction),
    /// It is there.
    Finish(Job, Direction),
}

impl Task {
    fn name(&self) -> &'static str {
        match self {
            Task::Fetch(_) => "doorbell",
            Task::Hold(_) => "doorbell of best effort",
            Task::FetchAhead(_) => "receive doorbell",
            Task::Note(_) => "note a receive descriptor",
            Task::FetchFor(_) => "program receive descriptor",
            Task::Discard(_) => "discard",
            Task::Program(..) => "program data",
            Task::Fragments(..) => "program further fragments",
            Task::Wait(_) => "no room for data",
            Task::Queue(_) => "hand to network",
            Task::Restart(_) => "start next on network",
            Task::Status(..) => "program status",
            Task::Finish(..) => "finish",
        }
    }

    fn job(&self) -> &Job {
        match self {
            Task::Fetch(job)
            | Task::Hold(job)
            | Task::FetchAhead(job)
            | Task::Note(job)
            | Task::FetchFor(job)
            | Task::Discard(job)
            | Task::Program(job, _)
            | Task::Fragments(job, _)
            | Task::Wait(job)
            | Task::Queue(job)
            | Task::Restart(job)
            | Task::Status(job, _)
            | Task::Finish(job, _) => job,
        }
    }
}

impl Via {
    /// Where it looks, in that order.
    fn round(&self) -> &'static [Place] {
        match self.config.firmware {
            Firmware::Sequential { overlap: false } => &[Place::Doorbells, Place::Nrdma],
            Firmware::Sequential { overlap: true } => &[Place::Doorbells, Place::Nsdma, Place::Nrdma],
            Firmware::Parallel | Firmware::QualityOfService => {
                &[Place::Doorbells, Place::Hdma, Place::Nsdma, Place::Nrdma]
            }
        }
    }

    /// Since when there is something at `place` that the processor has not noticed, or from when there will be by itself.
    fn pending(&self, place: Place) -> Option<Time> {
        match place {
            Place::Doorbells => {
                let rung = self.doorbells.front().map(|(_, at)| *at);
                [rung, self.let_in_at()].into_iter().flatten().min()
            }
            Place::Hdma => {
                let done = self.hdma.done.front().map(|(_, at)| *at);
                let waits = self.without_buffer.len() > 0 && self.buffers != Some(0);
                done.into_iter().chain(waits.then_some(self.freed)).min()
            }
            Place::Nsdma => self.nsdma.done.front().map(|(_, at)| *at),
            Place::Nrdma => self.nrdma.done.front().map(|(_, at)| *at),
        }
    }

    /// When best effort that waits outside may come in: when its rate allows it, or HDMA has nothing to do.
    fn let_in_at(&self) -> Option<Time> {
        let first = self.outside.queue.front()?;
        let allowed = self.outside.clock.reading();
        let at = self.hdma.idle_since().map_or(allowed, |idle| idle.min(allowed));
        Some(at.max(first.base))
    }

    /// When the processor next has done or notices something.
    pub(super) fn processor_due(&self) -> Option<Time> {
        match self.processor.duty {
            Duty::Working { until, .. } => Some(until),
            Duty::Waiting { place, since } => self.pending(place).map(|at| at.max(since)),
            Duty::Polling { from } => self.notices(from).map(|(at, _)| at),
        }
    }

    /// The first look, of a round that goes on from `from`, that finds something, and its place.
    fn notices(&self, from: Time) -> Option<(Time, usize)> {
        let (round, poll) = (self.round(), self.config.costs.poll);
        let mut first: Option<(Time, usize)> = None;
        for look in 0..round.len() {
            let place = (self.processor.place + look) % round.len();
            let Some(since) = self.pending(round[place]) else { continue };
            let mut at = from.saturating_add(poll * look as u64);
            if at < since {
                let whole = poll * round.len() as u64;
                at = match whole.is_zero() {
                    true => since,
                    false => at.saturating_add(whole.saturating_mul(since.since(at).div_ceil(whole))),
                };
            }
            if first.is_none_or(|(earliest, _)| at < earliest) {
                first = Some((at, place));
            }
        }
        first
    }

    /// What [`processor_due`](Self::processor_due) named happens.
    pub(super) fn processor_turns(&mut self, at: Time) {
        match self.processor.duty {
            Duty::Working { task, since, .. } => {
                self.report.units[Unit::Processor as usize].note(since, at);
                self.worked(at, Unit::Processor, task.name(), task.job().message, since);
                self.finish(at, task);
            }
            Duty::Waiting { place, .. } => self.begin(at, place, Span::ZERO),
            Duty::Polling { from } => {
                let (_, place) = self.notices(from).expect("it was due to notice something");
                self.processor.place = place;
                self.begin(at, self.round()[place], self.config.costs.poll);
            }
        }
    }

    /// Handles what is to be found at `place`, after a `look` there.
    fn begin(&mut self, at: Time, place: Place, look: Span) {
        let task = match place {
            Place::Doorbells => self.doorbell(at),
            Place::Hdma => self.transferred(at),
            Place::Nsdma => {
                let (job, _) = self.nsdma.done.pop_front().expect("a message has left");
                self.did(at, Step::SendNetworkDone, &job);
                if let Some(buffers) = &mut self.buffers {
                    *buffers += 1;
                    self.freed = at;
                }
                match self.nsdma.queue.len() > 0 && self.nsdma.seems_free() && !self.config.limits.nsdma_queue
                {
                    true => Task::Restart(job),
                    false => Task::Status(job, Direction::Send),
                }
            }
            Place::Nrdma => self.arrived(),
        };
        self.work(at, task, look);
    }

    fn doorbell(&mut self, at: Time) -> Task {
        if self.let_in_at().is_some_and(|due| due <= at) {
            return Task::Fetch(self.let_in(at));
        }
        let (doorbell, base) = self.doorbells.pop_front().expect("somebody has rung");
        match doorbell {
            Doorbell::Send(message) => {
                let endpoint = &mut self.endpoints[message.vi as usize];
                let mut job = Job { message, stamp: Time::ZERO, base };
                if self.config.firmware == Firmware::QualityOfService {
                    if endpoint.vtick.is_none() && self.config.limits.best_effort.is_some() {
                        return Task::Hold(job);
                    }
                    let tick = endpoint.vtick.map(|vtick| vtick.of(message.size));
                    job.stamp = endpoint.sends.stamp(at, tick);
                }
                Task::Fetch(job)
            }
            Doorbell::Receive(vi) => {
                let message = Message { vi, number: 0, size: laxity_units::Bytes::new(0), directed: false };
                let reserved = self.endpoints[vi as usize].vtick.is_some();
                // Whatever comes next waits for it, so its clock has nothing to say.
                let stamp = match (self.config.firmware, reserved) {
                    (Firmware::QualityOfService, true) => at,
                    (Firmware::QualityOfService, false) => Time::MAX,
                    (Firmware::Parallel | Firmware::Sequential { .. }, _) => Time::ZERO,
                };
                let job = Job { message, stamp, base };
                if self.config.firmware.is_sequential() { Task::Note(job) } else { Task::FetchAhead(job) }
            }
        }
    }

    /// The first of best effort that waits outside, with its stamp.
    fn let_in(&mut self, at: Time) -> Job {
        let outside = &mut self.outside;
        let mut job = outside.queue.pop_front().expect("it was due");
        let rate =
            self.config.limits.best_effort.expect("best effort waits outside where a rate is set aside");
        let tick = rate.time_for_ceil(job.message.size);
        let stamp = match outside.clock.reading() <= at {
            true => outside.clock.stamp(at, Some(tick)),
            // Nobody else wants HDMA: it goes on nobody's account.
            false => at.saturating_add(tick),
        };
        // Never before what came before it.
        job.stamp = stamp.max(outside.last);
        outside.last = job.stamp;
        self.report.longest_outside = self.report.longest_outside.max(at.saturating_since(job.base));
        job
    }

    /// HDMA has done something, or there is room for what had to wait for it.
    fn transferred(&mut self, at: Time) -> Task {
        if self.without_buffer.len() > 0
            && let Some(buffers) = self.buffers.as_mut().filter(|buffers| **buffers > 0)
        {
            *buffers -= 1;
            let job = self.without_buffer.pop().expect("one waits");
            return Task::Program(job, Direction::Send);
        }
        let (Request { transfer, job }, _) = self.hdma.done.pop_front().expect("a transfer is done");
        match transfer {
            Transfer::Descriptor(Direction::Send) => {
                self.did(at, Step::SendDescriptorDown, &job);
                match &mut self.buffers {
                    Some(0) => Task::Wait(job),
                    Some(buffers) => {
                        *buffers -= 1;
                        Task::Program(job, Direction::Send)
                    }
                    None => Task::Program(job, Direction::Send),
                }
            }
            Transfer::Descriptor(Direction::Receive) if self.config.firmware.is_sequential() => {
                self.did(at, Step::ReceiveDescriptorDown, &job);
                Task::Program(job, Direction::Receive)
            }
            Transfer::Descriptor(Direction::Receive) => Task::Note(job),
            Transfer::Data(Direction::Send) => {
                self.did(at, Step::SendDataDown, &job);
                Task::Queue(job)
            }
            Transfer::Data(Direction::Receive) => {
                self.did(at, Step::ReceiveDataUp, &job);
                self.nrdma.free(at, self.config.engines.network);
                Task::Status(job, Direction::Receive)
            }
            Transfer::Status(direction) => Task::Finish(job, direction),
        }
    }

    /// A message has come.
    fn arrived(&mut self) -> Task {
        let (message, base) = self.nrdma.done.pop_front().expect("a message has come");
        let endpoint = &mut self.endpoints[message.vi as usize];
        let mut job = Job { message, stamp: Time::ZERO, base };
        match endpoint.descriptors.as_mut().filter(|_| !message.directed) {
            Some(0) => return Task::Discard(job),
            Some(descriptors) => *descriptors -= 1,
            None => {}
        }
        match self.config.firmware {
            Firmware::Sequential { .. } => Task::FetchFor(job),
            Firmware::Parallel => Task::Program(job, Direction::Receive),
            Firmware::QualityOfService => {
                let tick = endpoint.vtick.map(|vtick| vtick.of(message.size));
                job.stamp = endpoint.receives.stamp(base, tick);
                Task::Program(job, Direction::Receive)
            }
        }
    }

    /// Begins `task` at `at`, after a `look`.
    fn work(&mut self, at: Time, task: Task, look: Span) {
        let costs = &self.config.costs;
        let inserting = |stamp| costs.scan.saturating_mul(self.hdma.queue.passed(stamp));
        let takes = match &task {
            Task::Fetch(job) | Task::FetchAhead(job) | Task::FetchFor(job) => {
                costs.doorbell.saturating_add(inserting(job.stamp))
            }
            Task::Hold(_) | Task::Note(_) | Task::Discard(_) | Task::Wait(_) => costs.note,
            Task::Program(job, _) => costs.data.saturating_add(inserting(job.stamp)),
            Task::Fragments(job, _) => {
                costs.fragment.saturating_mul(job.message.size.div_ceil(FRAGMENT).saturating_sub(1))
            }
            Task::Queue(job) => {
                let there = match self.nsdma.seems_free() {
                    true => costs.start,
                    false => costs.scan.saturating_mul(self.nsdma.queue.passed(job.stamp)),
                };
                costs.queue.saturating_add(there)
            }
            Task::Restart(_) => costs.start,
            Task::Status(job, _) => costs.status.saturating_add(inserting(job.stamp)),
            Task::Finish(..) => costs.finish,
        };
        let until = at.saturating_add(look).saturating_add(takes);
        self.processor.duty = Duty::Working { task, since: at, until };
    }

    /// `task` is done: what it was for happens, and what comes next begins.
    fn finish(&mut self, at: Time, task: Task) {
        match task {
            Task::Fetch(job) => {
                self.did(at, Step::SendDescriptorProgrammed, &job);
                self.move_by_hdma(at, Transfer::Descriptor(Direction::Send), job);
                self.go_on(at, Some(Place::Hdma));
            }
            Task::FetchFor(job) => {
                self.did(at, Step::ReceiveDescriptorProgrammed, &job);
                self.move_by_hdma(at, Transfer::Descriptor(Direction::Receive), job);
                self.go_on(at, Some(Place::Hdma));
            }
            Task::FetchAhead(job) => {
                self.move_by_hdma(at, Transfer::Descriptor(Direction::Receive), job);
                self.go_on(at, None);
            }
            Task::Hold(job) => {
                self.outside.queue.push_back(job);
                self.go_on(at, None);
            }
            Task::Note(job) => {
                let descriptors = &mut self.endpoints[job.message.vi as usize].descriptors;
                *descriptors = descriptors.map(|count| count + 1);
                self.tell(at, ViaOutput::Posted(job.message.vi));
                self.go_on(at, None);
            }
            Task::Discard(job) => {
                self.nrdma.free(at, self.config.engines.network);
                self.tell(at, ViaOutput::Dropped(job.message));
                self.go_on(at, None);
            }
            Task::Program(job, direction) => {
                self.move_by_hdma(at, Transfer::Data(direction), job);
                self.work(at, Task::Fragments(job, direction), Span::ZERO);
            }
            Task::Fragments(job, direction) => {
                let step = match direction {
                    Direction::Send => Step::SendDataProgrammed,
                    Direction::Receive => Step::ReceiveDataProgrammed,
                };
                self.did(at, step, &job);
                self.go_on(at, Some(Place::Hdma));
            }
            Task::Wait(job) => {
                self.without_buffer.insert(job.stamp, job);
                self.go_on(at, None);
            }
            Task::Queue(job) => {
                let free = self.nsdma.seems_free();
                self.nsdma.queue.insert(job.stamp, job);
                if free {
                    self.start_nsdma(at);
                }
                let goes_on = free && self.config.firmware == Firmware::Sequential { overlap: true };
                self.go_on(at, (!goes_on).then_some(Place::Nsdma));
            }
            Task::Restart(job) => {
                self.start_nsdma(at);
                self.work(at, Task::Status(job, Direction::Send), Span::ZERO);
            }
            Task::Status(job, direction) => {
                let step = match direction {
                    Direction::Send => Step::SendStatusProgrammed,
                    Direction::Receive => Step::ReceiveStatusProgrammed,
                };
                self.did(at, step, &job);
                self.move_by_hdma(at, Transfer::Status(direction), job);
                self.go_on(at, Some(Place::Hdma));
            }
            Task::Finish(job, direction) => {
                let step = match direction {
                    Direction::Send => Step::SendStatusDone,
                    Direction::Receive => Step::ReceiveStatusDone,
                };
                self.did(at, step, &job);
                self.go_on(at, None);
            }
        }
    }

    fn move_by_hdma(&mut self, at: Time, transfer: Transfer, job: Job) {
        self.hdma.push(at, Request { transfer, job }, &self.config.engines);
    }

    /// The next look; or, in a sequence, the end of what was begun.
    fn go_on(&mut self, at: Time, sequence: Option<Place>) {
        self.processor.duty = match sequence.filter(|_| self.config.firmware.is_sequential()) {
            Some(place) => Duty::Waiting { place, since: at },
            None => {
                self.processor.place = (self.processor.place + 1) % self.round().len();
                Duty::Polling { from: at }
            }
        };
    }
}
