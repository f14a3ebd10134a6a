//! A virtual-interface adapter: doorbells in, messages out, and a processor between that has to be everywhere.
//!
//! ```text
//!            doorbells          descriptors, data, completion
//!  host ──▶ ▭▭▭▭ (merged) ──┐   ┌──────── HDMA ◀─▶ host memory
//!                           ▼   ▼
//!                        processor ──▶ adapter memory ──▶ NSDMA ──▶ network
//!                           ▲                ▲
//!                           └──── NRDMA ─────┴───────────────────── network
//! ```
//!
//! After Nagar, Liu, Sivasubramaniam, Kandiraju and Gautam, "Incorporating Quality-of-Service in the Virtual Interface
//! Architecture". A program rings a doorbell for each message that it sends or has room for. The processor (a LANai) finds the
//! doorbell, fetches the descriptor from host memory by HDMA, then the data, hands it to NSDMA, and writes completion
//! information back; what comes in by NRDMA goes up the same way. HDMA has a hardware queue, NSDMA and NRDMA have none. How the
//! processor goes about it is the [`Firmware`]:
//!
//! * **SVIA** does one thing at a time, and waits for each transfer. With `overlap` it does not wait for NSDMA, so that one message
//!   is on its way out while the next is fetched (Trapeze).
//! * **PVIA** looks at one unit after the other and does what there is to do, so that all are busy. Queues are in order of
//!   arrival.
//! * **QoSVIA** does so too, and stamps each doorbell by [VirtualClock](laxity_qos::virtual_clock); the queues of HDMA and NSDMA are in
//!   the order of the stamps, as far as an engine at work lets them ([`queue`]).
//!
//! *Best effort* has a tick without end, and with VirtualClock alone may never be served. With a rate set aside
//! ([`Limits::best_effort`]) it waits in a queue of its own before the first transfer, and is let in by a clock of that rate, for all of
//! it together, or when HDMA has nothing to do. So it gets its rate under any load; what it gets beyond takes nothing
//! from others but what is inside when they come. Virtual interfaces in [groups](Via::group) that have a rate together wait likewise ([`grouped`]).
//!
//! *Who does not trust others* needs more than stamps: doorbells that wait in one queue are served in the order in which they were rung, whosoever they are. Under QoSVIA they may be
//! [told apart](Doorbells::Apart), and with them all that waits for the processor ([`apart`]).
//!
//! **A state machine without a clock.** All that happens is told with its time: [`Via::ring`], [`Via::reach`], [`Via::timer`]; what it does
//! in turn, down to each step of Table 1, comes out of [`Via::next_output`]. Under virtual time that is a simulation. Whoever has
//! real memory moves it when told that a transfer is done, and calls when [`Via::next_deadline`] has come.

mod apart;
mod at_once;
mod config;
mod costs;
mod grouped;
mod jobs;
mod outside;
mod processor;
mod queue;
mod report;
mod stamps;
mod task;
#[cfg(test)]
mod tests;
mod told;
mod units;
mod urgency;

use std::collections::VecDeque;

use laxity_qos::discipline::Groups;
use laxity_qos::virtual_clock::{FlowClock, Vtick};
use laxity_units::{Rate, Time};

use apart::Apart;
pub use config::{Doorbells, Firmware, Limits, ViaConfig};
pub use costs::{Engine, Engines, FirmwareCosts};
use grouped::Grouped;
use jobs::{Job, JobId, Jobs};
use outside::Outside;
use processor::Processor;
pub use report::{Direction, Step, StepTimes, UnitReport, ViaReport};
use stamps::Behind;
use told::{ANSWERS, RECEIVES, SENDS, lane_of};
pub use told::{Doorbell, Message, Unit, ViaOutput};
use units::{Hdma, Nrdma, Nsdma, Unnoticed};

/// A virtual interface, as the adapter knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vi {
    /// `Vtick`: the rate reserved; `None` for best effort.
    pub vtick: Option<Vtick>,
    /// Receive descriptors posted at the start, and fetched if the firmware fetches ahead; `None` if there are always some.
    pub receives: Option<u32>,
    /// By which rate it shares that of its [group](Via::group), if it is in one. Of QoSVIA only.
    pub share: Option<Vtick>,
    /// The process that has it, for an adapter that tells them [apart](Doorbells::Apart). Less than 2³¹.
    pub process: u32,
}

/// What the adapter keeps of a virtual interface.
#[derive(Debug, Clone, Copy)]
struct Endpoint {
    vtick: Option<Vtick>,
    sends: FlowClock,
    receives: FlowClock,
    /// Descriptors for what may come; `None` if there are always some.
    descriptors: Option<u32>,
    share: Option<Vtick>,
}

impl Endpoint {
    fn new(vi: Vi) -> Self {
        let clock = FlowClock::default();
        Self { vtick: vi.vtick, sends: clock, receives: clock, descriptors: vi.receives, share: vi.share }
    }
}

/// An adapter at work.
#[derive(Debug, Clone)]
pub struct Via {
    config: ViaConfig,
    endpoints: Vec<Endpoint>,
    jobs: Jobs,
    doorbells: Unnoticed<Doorbell>,
    hdma: Hdma,
    nsdma: Nsdma,
    nrdma: Nrdma,
    /// Descriptors whose data waits for room in the adapter's memory.
    without_buffer: queue::LiveQueue<JobId>,
    /// Room in the adapter's memory for what goes out.
    buffers: Option<u32>,
    /// Since when some of it is free again.
    freed: Time,
    outside: Outside,
    /// What waits of groups, if there are any.
    grouped: Option<Box<Grouped>>,
    /// What waits of processes, in place of `doorbells`, if they are told apart.
    apart: Option<Box<Apart<Doorbell>>>,
    /// What of them is inside in turn, and may be given a stamp.
    behind: Option<Box<Behind>>,
    processor: Processor,
    outputs: VecDeque<(Time, ViaOutput)>,
    watched: bool,
    /// Whether what it is told is over when it is told, and nobody watches.
    at_once: bool,
    report: ViaReport,
}

impl Via {
    /// The adapter `config` with these virtual interfaces, by whose places messages name them.
    pub fn new(config: ViaConfig, vis: impl IntoIterator<Item = Vi>) -> Self {
        let Limits { send_buffers, receive_buffers, nsdma_queue, guard, best_effort, doorbells: _ } =
            config.limits;
        let mut via = Self {
            endpoints: Vec::new(),
            jobs: Jobs::default(),
            doorbells: Unnoticed::new(),
            hdma: Hdma::new(guard),
            nsdma: Nsdma::new(if nsdma_queue { Some(guard) } else { None }),
            nrdma: Nrdma::new(receive_buffers, config.ahead(), best_effort),
            without_buffer: queue::LiveQueue::new(0),
            buffers: send_buffers.filter(|_| !config.firmware.is_sequential()),
            freed: Time::ZERO,
            outside: Outside::default(),
            grouped: None,
            apart: config.ahead().map(|ahead| Box::new(Apart::new(ahead, true, best_effort))),
            behind: config.ahead().map(|_| Box::default()),
            processor: Processor::START,
            outputs: VecDeque::new(),
            watched: false,
            at_once: config.is_at_once(),
            report: ViaReport::default(),
            config,
        };
        vis.into_iter().for_each(|vi| {
            via.open(Time::ZERO, None, vi);
        });
        via
    }

    /// Which groups there are of its virtual interfaces, and the rate of all whose members send here together. Of QoSVIA only, before anything comes.
    pub fn group(&mut self, groups: &Groups, rate: Rate) {
        self.grouped = Some(Box::new(Grouped::new(groups, rate)));
        self.at_once = false;
    }

    /// Whether it is done with whatever it is told before it is told anything else, so that nothing ever waits here.
    pub fn is_at_once(&self) -> bool {
        self.at_once
    }

    /// Tells each step and what each unit does from now on.
    pub fn watch(&mut self) {
        self.watched = true;
        self.at_once = false;
    }

    /// A program rings a doorbell.
    pub fn ring(&mut self, now: Time, doorbell: Doorbell) {
        if self.at_once {
            return self.ring_at_once(now, doorbell);
        }
        self.settle(now);
        let waiting = match &mut self.apart {
            Some(apart) => {
                let (lane, size) = lane_of(doorbell, &self.endpoints);
                apart.push(lane, doorbell, size, now, false);
                apart.len()
            }
            None => {
                self.doorbells.push(doorbell, now);
                self.doorbells.len()
            }
        };
        self.report.longest_doorbells = self.report.longest_doorbells.max(waiting);
        self.look_again();
        self.settle(now);
    }

    /// The first bit of a message is there, and the rest comes as fast as the link allows.
    pub fn reach(&mut self, now: Time, message: Message) {
        if self.at_once {
            return self.reach_at_once(now, message);
        }
        self.settle(now);
        let job = self.jobs.put(message, now);
        self.nrdma.reach(now, job, self.config.engines.network, &mut self.jobs);
        self.settle(now);
    }

    /// A virtual interface is opened, whose place is the answer: `at` if it is in place of one that is closed, of which nothing may be
    /// left, and else the next.
    pub fn open(&mut self, now: Time, at: Option<u32>, vi: Vi) -> u32 {
        self.settle(now);
        let place = match at {
            Some(place) => {
                self.endpoints[place as usize] = Endpoint::new(vi);
                place
            }
            None => {
                self.endpoints.push(Endpoint::new(vi));
                self.endpoints.len() as u32 - 1
            }
        };
        if let Some(apart) = &mut self.apart {
            apart.open(SENDS.of(place), vi.process, vi.vtick);
            apart.open(RECEIVES.of(place), vi.process, vi.vtick);
            apart.open(ANSWERS.of(place), !vi.process, None);
            self.nrdma.open(place, vi.process, vi.vtick);
        }
        place
    }

    /// The receive descriptors of a virtual interface that the adapter knows of are no more.
    pub fn flush(&mut self, now: Time, vi: u32) {
        self.settle(now);
        let descriptors = &mut self.endpoints[vi as usize].descriptors;
        *descriptors = descriptors.map(|_| 0);
    }

    /// A virtual interface has another rate from now on. What it has used up of the old one stays used up.
    pub fn renegotiate(&mut self, now: Time, vi: u32, vtick: Option<Vtick>) {
        self.settle(now);
        let endpoint = &mut self.endpoints[vi as usize];
        endpoint.vtick = vtick;
        endpoint.share = endpoint.share.map(|share| vtick.unwrap_or(share));
        if let Some(apart) = &mut self.apart {
            apart.renegotiate(SENDS.of(vi), vtick);
            apart.renegotiate(RECEIVES.of(vi), vtick);
            self.nrdma.renegotiate(vi, vtick);
            self.nrdma.start(now, self.config.engines.network, &mut self.jobs);
        }
        self.look_again();
    }

    /// What comes for a virtual interface has another bandwidth than what it sends itself: its other side's. It matters where processes are
    /// told [apart](Doorbells::Apart), for what comes and for room that is posted for it.
    pub fn expect(&mut self, now: Time, vi: u32, vtick: Option<Vtick>) {
        self.settle(now);
        if let Some(apart) = &mut self.apart {
            apart.renegotiate(RECEIVES.of(vi), vtick);
            self.nrdma.renegotiate(vi, vtick);
            self.nrdma.start(now, self.config.engines.network, &mut self.jobs);
            self.look_again();
        }
    }

    /// The time that [`next_deadline`](Self::next_deadline) named has come.
    pub fn timer(&mut self, now: Time) {
        self.settle(now);
    }

    /// When something next happens by itself.
    pub fn next_deadline(&self) -> Option<Time> {
        let first = self.first();
        (first < Time::MAX).then_some(first)
    }

    /// What was done and not told yet, with its time.
    pub fn next_output(&mut self) -> Option<(Time, ViaOutput)> {
        self.outputs.pop_front()
    }

    /// What it has been through.
    pub fn report(&self) -> ViaReport {
        ViaReport {
            longest_hdma: self.hdma.queue.longest(),
            longest_nsdma: self.nsdma.queue.longest(),
            displaced: self.hdma.queue.displaced() + self.nsdma.queue.displaced(),
            backlog: self.backlog(),
            ..self.report.clone()
        }
    }

    /// What waits or is worked on, both ways, doorbells included.
    pub fn backlog(&self) -> usize {
        self.doorbells.len()
            + self.apart.as_ref().map_or(0, |apart| apart.len())
            + self.outside.queue.len()
            + self.grouped.as_ref().map_or(0, |grouped| grouped.len())
            + self.without_buffer.len()
            + self.hdma.load()
            + self.nsdma.load()
            + self.nrdma.load()
            + self.processor.load()
    }

    /// Lets everything happen that is due by `now`, each at its own time; of what happens at one time the engines come first, so
    /// that a processor that looks sees it.
    fn settle(&mut self, now: Time) {
        loop {
            let at = self.first();
            if at > now || at == Time::MAX {
                break;
            }
            if at == self.hdma.in_hand.until() {
                self.hdma_ends(at);
            } else if at == self.nsdma.in_hand.until() {
                self.nsdma_ends(at);
            } else if at == self.nrdma.in_hand.until() {
                self.nrdma_ends(at);
            } else if at == self.nrdma.wakes() {
                self.nrdma.start(at, self.config.engines.network, &mut self.jobs);
            } else {
                self.processor_turns(at);
            }
        }
    }

    /// When something next happens by itself; [`Time::MAX`] for never.
    #[inline]
    fn first(&self) -> Time {
        let engines = self.hdma.in_hand.until().min(self.nsdma.in_hand.until());
        engines.min(self.nrdma.in_hand.until()).min(self.nrdma.wakes()).min(self.processor.due())
    }

    fn tell(&mut self, at: Time, output: ViaOutput) {
        self.outputs.push_back((at, output));
    }

    #[inline]
    fn worked(&mut self, at: Time, unit: Unit, what: &'static str, message: Message, since: Time) {
        if self.watched {
            self.tell(at, ViaOutput::Worked(unit, what, message, since));
        }
    }

    fn did(&mut self, at: Time, step: Step, job: JobId) {
        let Job { message, base, .. } = *self.jobs.of(job);
        self.report.steps.note(step, at.saturating_since(base));
        if self.watched {
            self.tell(at, ViaOutput::Did(step, message, base));
        }
    }

    fn hdma_ends(&mut self, at: Time) {
        let (request, since) = self.hdma.end(at, &self.config.engines, &self.jobs);
        let message = self.jobs.of(request.job).message;
        self.report.units[Unit::Hdma as usize].note(since, at);
        self.worked(at, Unit::Hdma, request.transfer.name(), message, since);
        match request.transfer {
            units::Transfer::Status(Direction::Send) => self.tell(at, ViaOutput::Sent(message)),
            units::Transfer::Status(Direction::Receive) => self.tell(at, ViaOutput::Received(message)),
            units::Transfer::Data(direction) => self.tell(at, ViaOutput::Moved(direction, message)),
            units::Transfer::Descriptor(_) => {}
        }
        self.look_again();
    }

    fn nsdma_ends(&mut self, at: Time) {
        let (job, since) = self.nsdma.end(at);
        self.report.units[Unit::Nsdma as usize].note(since, at);
        self.worked(at, Unit::Nsdma, "message out", self.jobs.of(job).message, since);
        // With a queue of its own it goes on by itself.
        if self.config.limits.nsdma_queue {
            self.start_nsdma(at);
        }
        self.look_again();
    }

    /// NSDMA begins what is next, if anything is.
    fn start_nsdma(&mut self, at: Time) {
        if let Some(job) = self.nsdma.start(at, self.config.engines.network, &self.jobs) {
            let Job { message, turn, .. } = *self.jobs.of(job);
            self.tell(at, ViaOutput::Departs(Message { in_turn: turn.is_some(), ..message }));
        }
    }

    fn nrdma_ends(&mut self, at: Time) {
        let (job, since) = self.nrdma.end(at, self.config.engines.network, &mut self.jobs);
        // The steps of Table 1 count from when it is there.
        self.jobs.of_mut(job).base = at;
        self.is_inside(job);
        self.report.units[Unit::Nrdma as usize].note(since, at);
        self.worked(at, Unit::Nrdma, "message in", self.jobs.of(job).message, since);
        self.look_again();
    }
}
