//! The engines: HDMA with a hardware queue, NSDMA and NRDMA, and what each has done that the processor has not noticed.

use std::collections::VecDeque;

use laxity_units::Time;

use super::queue::LiveQueue;
use super::{Direction, Engine, Engines, Job, Message};

/// What HDMA moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transfer {
    Descriptor(Direction),
    Data(Direction),
    Status(Direction),
}

impl Transfer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Transfer::Descriptor(Direction::Send) => "descriptor down",
            Transfer::Descriptor(Direction::Receive) => "receive descriptor down",
            Transfer::Data(Direction::Send) => "data down",
            Transfer::Data(Direction::Receive) => "data up",
            Transfer::Status(Direction::Send) => "send status",
            Transfer::Status(Direction::Receive) => "receive status",
        }
    }
}

/// A request to HDMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) transfer: Transfer,
    pub(super) job: Job,
}

impl Engines {
    fn of(&self, request: &Request) -> laxity_units::Span {
        match request.transfer {
            Transfer::Descriptor(_) => self.descriptor,
            Transfer::Status(_) => self.status,
            Transfer::Data(Direction::Send) => self.down.takes(request.job.message.size),
            Transfer::Data(Direction::Receive) => self.up.takes(request.job.message.size),
        }
    }
}

/// Something under way: what, since when and until when.
type Busy<T> = Option<(T, Time, Time)>;

fn end_of<T>(busy: &Busy<T>) -> Option<Time> {
    busy.as_ref().map(|(_, _, until)| *until)
}

/// The engine between host memory and adapter memory.
#[derive(Debug, Clone)]
pub(super) struct Hdma {
    pub(super) queue: LiveQueue<Request>,
    busy: Busy<Request>,
    pub(super) done: VecDeque<(Request, Time)>,
    /// Since when it has nothing to do, if it has not.
    idle: Option<Time>,
}

impl Hdma {
    pub(super) fn new(guard: u32) -> Self {
        Self { queue: LiveQueue::new(guard), busy: None, done: VecDeque::new(), idle: Some(Time::ZERO) }
    }

    pub(super) fn push(&mut self, now: Time, request: Request, engines: &Engines) {
        self.queue.insert(request.job.stamp, request);
        self.start(now, engines);
    }

    fn start(&mut self, now: Time, engines: &Engines) {
        if self.busy.is_none() {
            self.busy =
                self.queue.pop().map(|request| (request, now, now.saturating_add(engines.of(&request))));
            self.idle = self.busy.is_none().then_some(now);
        }
    }

    pub(super) fn ends(&self) -> Option<Time> {
        end_of(&self.busy)
    }

    /// The transfer in hand is done, and the next begins.
    pub(super) fn end(&mut self, now: Time, engines: &Engines) -> (Request, Time) {
        let (request, since, _) = self.busy.take().expect("a transfer is in hand");
        self.done.push_back((request, now));
        self.start(now, engines);
        (request, since)
    }

    pub(super) fn idle_since(&self) -> Option<Time> {
        self.idle
    }

    pub(super) fn load(&self) -> usize {
        self.queue.len() + usize::from(self.busy.is_some()) + self.done.len()
    }
}

/// The engine from adapter memory to the network.
#[derive(Debug, Clone)]
pub(super) struct Nsdma {
    /// What waits for it: in software, or in hardware.
    pub(super) queue: LiveQueue<Job>,
    in_hardware: bool,
    busy: Busy<Job>,
    pub(super) done: VecDeque<(Job, Time)>,
}

impl Nsdma {
    /// With a hardware queue that leaves so many at its head alone, or with none.
    pub(super) fn new(guard: Option<u32>) -> Self {
        let queue = LiveQueue::new(guard.unwrap_or(0));
        Self { queue, in_hardware: guard.is_some(), busy: None, done: VecDeque::new() }
    }

    /// Whether the processor, as far as it knows, may program it.
    pub(super) fn seems_free(&self) -> bool {
        self.in_hardware || (self.busy.is_none() && self.done.is_empty())
    }

    /// Begins what is next, if it does nothing.
    pub(super) fn start(&mut self, now: Time, engine: Engine) -> Option<Message> {
        if self.busy.is_some() {
            return None;
        }
        let job = self.queue.pop()?;
        self.busy = Some((job, now, now.saturating_add(engine.takes(job.message.size))));
        Some(job.message)
    }

    pub(super) fn ends(&self) -> Option<Time> {
        end_of(&self.busy)
    }

    pub(super) fn end(&mut self, now: Time) -> (Job, Time) {
        let (job, since, _) = self.busy.take().expect("a message is on its way out");
        self.done.push_back((job, now));
        (job, since)
    }

    pub(super) fn load(&self) -> usize {
        self.queue.len() + usize::from(self.busy.is_some()) + self.done.len()
    }
}

/// The engine from the network to adapter memory. What it has no room for waits in the network.
#[derive(Debug, Clone)]
pub(super) struct Nrdma {
    waiting: VecDeque<Message>,
    busy: Busy<Message>,
    pub(super) done: VecDeque<(Message, Time)>,
    room: Option<u32>,
}

impl Nrdma {
    pub(super) fn new(room: Option<u32>) -> Self {
        Self { waiting: VecDeque::new(), busy: None, done: VecDeque::new(), room }
    }

    pub(super) fn reach(&mut self, now: Time, message: Message, engine: Engine) {
        self.waiting.push_back(message);
        self.start(now, engine);
    }

    fn start(&mut self, now: Time, engine: Engine) {
        if self.busy.is_some() || self.room == Some(0) {
            return;
        }
        let Some(message) = self.waiting.pop_front() else { return };
        if let Some(room) = &mut self.room {
            *room -= 1;
        }
        self.busy = Some((message, now, now.saturating_add(engine.takes(message.size))));
    }

    /// A message of its room has gone.
    pub(super) fn free(&mut self, now: Time, engine: Engine) {
        if let Some(room) = &mut self.room {
            *room += 1;
        }
        self.start(now, engine);
    }

    pub(super) fn ends(&self) -> Option<Time> {
        end_of(&self.busy)
    }

    pub(super) fn end(&mut self, now: Time, engine: Engine) -> (Message, Time) {
        let (message, since, _) = self.busy.take().expect("a message is on its way in");
        self.done.push_back((message, now));
        self.start(now, engine);
        (message, since)
    }

    pub(super) fn load(&self) -> usize {
        self.waiting.len() + usize::from(self.busy.is_some()) + self.done.len()
    }
}
