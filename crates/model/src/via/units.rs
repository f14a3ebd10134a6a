//! The engines: HDMA with a hardware queue, NSDMA and NRDMA, and the completions that the processor
//! has not noticed.
//!
//! Each stores the one time at which its current work ends, [`Time::MAX`] for never: finding the
//! earliest takes four loads.

use std::collections::VecDeque;

use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Rate, Time};

use super::apart::{Apart, InTurn, Taken};
use super::jobs::{JobId, Jobs, Turn};
use super::queue::LiveQueue;
use super::{Engine, Engines, ViDirection, ViMessage};

/// A transfer by HDMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transfer {
    Descriptor(ViDirection),
    Data(ViDirection),
    Status(ViDirection),
}

impl Transfer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Transfer::Descriptor(ViDirection::Send) => "descriptor down",
            Transfer::Descriptor(ViDirection::Receive) => "receive descriptor down",
            Transfer::Data(ViDirection::Send) => "data down",
            Transfer::Data(ViDirection::Receive) => "data up",
            Transfer::Status(ViDirection::Send) => "send status",
            Transfer::Status(ViDirection::Receive) => "receive status",
        }
    }
}

/// A request to HDMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) transfer: Transfer,
    pub(super) job: JobId,
}

impl Engines {
    fn of(&self, request: Request, jobs: &Jobs) -> laxity_units::Span {
        match request.transfer {
            Transfer::Descriptor(_) => self.descriptor,
            Transfer::Status(_) => self.status,
            Transfer::Data(ViDirection::Send) => self.down.takes(jobs.of(request.job).message.size),
            Transfer::Data(ViDirection::Receive) => self.up.takes(jobs.of(request.job).message.size),
        }
    }
}

/// Events that the processor has not noticed, oldest first.
#[derive(Debug, Clone)]
pub(super) struct Unnoticed<T> {
    queue: VecDeque<(T, Time)>,
    since: Time,
}

impl<T> Unnoticed<T> {
    pub(super) fn new() -> Self {
        Self { queue: VecDeque::new(), since: Time::MAX }
    }

    #[inline]
    pub(super) fn push(&mut self, item: T, at: Time) {
        if self.queue.is_empty() {
            self.since = at;
        }
        self.queue.push_back((item, at));
    }

    /// The oldest, with its time.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(T, Time)> {
        let oldest = self.queue.pop_front();
        self.since = self.queue.front().map_or(Time::MAX, |(_, at)| *at);
        oldest
    }

    /// Removes the first item of the least `rank`.
    pub(super) fn pop_least(&mut self, rank: impl Fn(&T) -> Time) -> Option<T> {
        let place = (0..self.queue.len()).min_by_key(|place| rank(&self.queue[*place].0))?;
        let (least, _) = self.queue.remove(place)?;
        self.since = self.queue.front().map_or(Time::MAX, |(_, at)| *at);
        Some(least)
    }

    /// The least rank.
    pub(super) fn least(&self, rank: impl Fn(&T) -> Time) -> Option<Time> {
        self.queue.iter().map(|(item, _)| rank(item)).min()
    }

    /// Time of the oldest; [`Time::MAX`] if there is none.
    #[inline]
    pub(super) fn since(&self) -> Time {
        self.since
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}

/// Current work of an engine, with its start and end.
#[derive(Debug, Clone)]
pub(super) struct InHand<T> {
    item: Option<(T, Time)>,
    until: Time,
}

impl<T> InHand<T> {
    const NOTHING: Self = Self { item: None, until: Time::MAX };

    fn begin(&mut self, item: T, since: Time, takes: laxity_units::Span) {
        (self.item, self.until) = (Some((item, since)), since.saturating_add(takes));
    }

    fn end(&mut self) -> (T, Time) {
        self.until = Time::MAX;
        self.item.take().expect("it was due to be done with something")
    }

    fn is_idle(&self) -> bool {
        self.item.is_none()
    }

    /// End of the current work; [`Time::MAX`] if there is none.
    #[inline]
    pub(super) fn until(&self) -> Time {
        self.until
    }
}

/// The engine between host memory and adapter memory.
#[derive(Debug, Clone)]
pub(super) struct Hdma {
    pub(super) queue: LiveQueue<Request>,
    pub(super) in_hand: InHand<Request>,
    pub(super) done: Unnoticed<Request>,
    /// Since when it is idle, if it is.
    idle: Option<Time>,
}

impl Hdma {
    pub(super) fn new(guard: u32) -> Self {
        let (queue, in_hand) = (LiveQueue::new(guard), InHand::NOTHING);
        Self { queue, in_hand, done: Unnoticed::new(), idle: Some(Time::ZERO) }
    }

    pub(super) fn push(&mut self, now: Time, request: Request, engines: &Engines, jobs: &Jobs) {
        if self.in_hand.is_idle() && self.queue.len() == 0 {
            self.queue.pass();
            self.in_hand.begin(request, now, engines.of(request, jobs));
            self.idle = None;
        } else {
            self.queue.insert(jobs.of(request.job).stamp, request);
        }
    }

    pub(super) fn idle_since(&self) -> Option<Time> {
        self.idle
    }

    /// Ends the current transfer and begins the next.
    pub(super) fn end(&mut self, now: Time, engines: &Engines, jobs: &Jobs) -> (Request, Time) {
        let (request, since) = self.in_hand.end();
        self.done.push(request, now);
        match self.queue.pop() {
            Some(next) => self.in_hand.begin(next, now, engines.of(next, jobs)),
            None => self.idle = Some(now),
        }
        (request, since)
    }

    pub(super) fn load(&self) -> usize {
        self.queue.len() + usize::from(!self.in_hand.is_idle()) + self.done.len()
    }
}

/// The engine from adapter memory to the network.
#[derive(Debug, Clone)]
pub(super) struct Nsdma {
    /// Messages that wait for it, in software or in hardware.
    pub(super) queue: LiveQueue<JobId>,
    in_hardware: bool,
    pub(super) in_hand: InHand<JobId>,
    pub(super) done: Unnoticed<JobId>,
}

impl Nsdma {
    /// `guard` requests at the head of the hardware queue are not reordered; `None` for no hardware
    /// queue.
    pub(super) fn new(guard: Option<u32>) -> Self {
        let (queue, in_hardware) = (LiveQueue::new(guard.unwrap_or(0)), guard.is_some());
        Self { queue, in_hardware, in_hand: InHand::NOTHING, done: Unnoticed::new() }
    }

    /// Whether the processor, as far as it has noticed, may program it.
    pub(super) fn seems_free(&self) -> bool {
        self.in_hardware || (self.in_hand.is_idle() && self.done.len() == 0)
    }

    /// Begins the next message, if idle.
    pub(super) fn start(&mut self, now: Time, engine: Engine, jobs: &Jobs) -> Option<JobId> {
        if !self.in_hand.is_idle() {
            return None;
        }
        let job = self.queue.pop()?;
        self.in_hand.begin(job, now, engine.takes(jobs.of(job).message.size));
        Some(job)
    }

    pub(super) fn end(&mut self, now: Time) -> (JobId, Time) {
        let (job, since) = self.in_hand.end();
        self.done.push(job, now);
        (job, since)
    }

    pub(super) fn load(&self) -> usize {
        self.queue.len() + usize::from(!self.in_hand.is_idle()) + self.done.len()
    }
}

/// Messages that wait in the network.
#[derive(Debug, Clone)]
enum InNetwork {
    /// In order of arrival.
    Line(VecDeque<JobId>),
    /// In a lane for each virtual interface.
    Lanes(Box<Apart<JobId>>),
}

/// The engine from the network to adapter memory. Messages without a buffer wait in the network.
#[derive(Debug, Clone)]
pub(super) struct Nrdma {
    waiting: InNetwork,
    pub(super) in_hand: InHand<JobId>,
    pub(super) done: Unnoticed<JobId>,
    room: Option<u32>,
    /// Next time at which a waiting message of a lane becomes eligible; [`Time::MAX`] for never.
    wakes: Time,
}

impl Nrdma {
    /// With `room` buffers (`None`: unlimited); in lanes if `ahead` limits the messages taken in
    /// turn, which have the rate `share` together.
    pub(super) fn new(room: Option<u32>, ahead: Option<u32>, share: Option<Rate>) -> Self {
        let waiting = match ahead {
            Some(ahead) => InNetwork::Lanes(Box::new(Apart::new(ahead, false, share))),
            None => InNetwork::Line(VecDeque::new()),
        };
        Self { waiting, in_hand: InHand::NOTHING, done: Unnoticed::new(), room, wakes: Time::MAX }
    }

    /// Opens a virtual interface.
    pub(super) fn open(&mut self, vi: u32, process: u32, vtick: Option<Vtick>) {
        if let InNetwork::Lanes(lanes) = &mut self.waiting {
            lanes.open(vi, process, vtick);
        }
    }

    /// Changes its bandwidth.
    pub(super) fn renegotiate(&mut self, vi: u32, vtick: Option<Vtick>) {
        if let InNetwork::Lanes(lanes) = &mut self.waiting {
            lanes.renegotiate(vi, vtick);
        }
    }

    /// A message arrives and is taken at once, since none waits.
    pub(super) fn pass(&mut self, message: &ViMessage, now: Time) {
        if let InNetwork::Lanes(lanes) = &mut self.waiting {
            lanes.pass(message.vi, Some(message.size), now, message.in_turn);
        }
    }

    pub(super) fn reach(&mut self, now: Time, job: JobId, engine: Engine, jobs: &mut Jobs) {
        match &mut self.waiting {
            InNetwork::Line(line) => line.push_back(job),
            InNetwork::Lanes(lanes) => {
                let message = jobs.of(job).message;
                lanes.push(message.vi, job, Some(message.size), now, message.in_turn);
            }
        }
        self.start(now, engine, jobs);
    }

    /// A message that was taken from a lane in turn is done.
    pub(super) fn done_with(&mut self, now: Time, turn: InTurn, engine: Engine, jobs: &mut Jobs) {
        if let InNetwork::Lanes(lanes) = &mut self.waiting {
            lanes.done(turn);
        }
        self.start(now, engine, jobs);
    }

    /// The lanes, if there are any.
    pub(super) fn lanes(&self) -> Option<&Apart<JobId>> {
        match &self.waiting {
            InNetwork::Line(_) => None,
            InNetwork::Lanes(lanes) => Some(lanes),
        }
    }

    /// Gives a stamp to a message inside of that size and arrival time, which frees its slot among
    /// the `ahead`; also returns its new order, if that is not its own bandwidth.
    pub(super) fn give(&mut self, lane: u32, what: (Option<Bytes>, Time)) -> Option<(Time, Option<InTurn>)> {
        match &mut self.waiting {
            InNetwork::Line(_) => None,
            InNetwork::Lanes(lanes) => Some(lanes.give(lane, what)),
        }
    }

    /// The next message.
    fn next(&mut self, now: Time, jobs: &mut Jobs) -> Option<JobId> {
        match &mut self.waiting {
            InNetwork::Line(line) => line.pop_front(),
            InNetwork::Lanes(lanes) => {
                let Taken { item, came: _, stamp, in_turn } = lanes.take(now)?;
                let job = jobs.of_mut(item);
                (job.stamp, job.turn) = (stamp, in_turn.map(Turn::Came));
                Some(item)
            }
        }
    }

    /// Begins the next message, if idle.
    pub(super) fn start(&mut self, now: Time, engine: Engine, jobs: &mut Jobs) {
        self.wakes = Time::MAX;
        if !self.in_hand.is_idle() || self.room == Some(0) {
            return;
        }
        let Some(job) = self.next(now, jobs) else {
            self.wakes = self.lanes().map_or(Time::MAX, Apart::since);
            return;
        };
        if let Some(room) = &mut self.room {
            *room -= 1;
        }
        self.in_hand.begin(job, now, engine.takes(jobs.of(job).message.size));
    }

    /// Next time to poll for an eligible message; [`Time::MAX`] for never.
    #[inline]
    pub(super) fn wakes(&self) -> Time {
        self.wakes
    }

    /// A message has released its buffer.
    pub(super) fn free(&mut self, now: Time, engine: Engine, jobs: &mut Jobs) {
        if let Some(room) = &mut self.room {
            *room += 1;
        }
        self.start(now, engine, jobs);
    }

    pub(super) fn end(&mut self, now: Time, engine: Engine, jobs: &mut Jobs) -> (JobId, Time) {
        let (job, since) = self.in_hand.end();
        self.done.push(job, now);
        self.start(now, engine, jobs);
        (job, since)
    }

    pub(super) fn load(&self) -> usize {
        let waiting = match &self.waiting {
            InNetwork::Line(line) => line.len(),
            InNetwork::Lanes(lanes) => lanes.len(),
        };
        waiting + usize::from(!self.in_hand.is_idle()) + self.done.len()
    }
}
