//! A virtual-interface adapter: doorbells in, messages out, and one processor that serves all
//! units.
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
//! After Nagar, Liu, Sivasubramaniam, Kandiraju and Gautam, "Incorporating Quality-of-Service in
//! the Virtual Interface Architecture". A program rings a doorbell for each message that it sends
//! or posts a receive buffer for. The processor (a LANai) finds the doorbell, fetches the
//! descriptor from host memory by HDMA, then the data, hands it to NSDMA, and writes completion
//! information back; messages received by NRDMA go up the same way. HDMA has a hardware queue,
//! NSDMA and NRDMA have none. The [`Firmware`] determines the processor's schedule:
//!
//! * **SVIA** does one thing at a time, and waits for each transfer. With `overlap` it does not
//!   wait for NSDMA, so one message leaves while the next is fetched (Trapeze).
//! * **PVIA** polls one unit after the other and serves each, so that all units are busy. Queues
//!   are FIFO.
//! * **QoSVIA** polls likewise, and stamps each doorbell by
//!   [VirtualClock](laxity_qos::virtual_clock); the queues of HDMA and NSDMA are in the order of
//!   the stamps, as far as a busy engine permits (`via/queue.rs`).
//!
//! *Best effort* has an infinite tick, and with VirtualClock alone may starve. With a reserved rate
//! ([`ViLimits::best_effort`]) it waits in a queue of its own before the first transfer, and is
//! admitted by one clock of that rate for all of it, or when HDMA is idle. It therefore gets its
//! rate under any load; its excess delays reserved traffic only by the excess that is inside when
//! that traffic arrives. Virtual interfaces in [groups](Via::group) with a common rate wait
//! likewise (`via/grouped.rs`).
//!
//! *Isolation of processes* needs more than stamps: doorbells in one queue are served in the order
//! in which they were rung, whichever process rang them. Under QoSVIA the queues may be
//! [separated](Doorbells::Apart), and with them all work that waits for the processor (`via/apart.rs`).
//!
//! **A state machine without a clock.** Each input carries its time: [`Via::ring`], [`Via::reach`],
//! [`Via::timer`]; [`Via::next_output`] returns the results, down to each step of Table 1. Under
//! virtual time that is a simulation. A caller with real memory moves the data when a transfer is
//! reported done, and calls at [`Via::next_deadline`].

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
pub use config::{Doorbells, Firmware, ViLimits, ViaConfig};
pub use costs::{Engine, Engines, FirmwareCosts};
use grouped::Grouped;
use jobs::{Job, JobId, Jobs};
use outside::Outside;
use processor::Processor;
pub use report::{StepTimes, UnitReport, ViDirection, ViStep, ViaReport};
use stamps::Behind;
use told::{ANSWERS, RECEIVES, SENDS, lane_of};
pub use told::{Unit, ViDoorbell, ViMessage, ViaOutput};
use units::{Hdma, Nrdma, Nsdma, Unnoticed};

/// A virtual interface, as the adapter knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdapterVi {
    /// `Vtick`: the rate reserved; `None` for best effort.
    pub vtick: Option<Vtick>,
    /// Receive descriptors posted at the start, and fetched if the firmware fetches ahead; `None`
    /// for an unlimited supply.
    pub receives: Option<u32>,
    /// Weight by which it shares the rate of its [group](Via::group), if it is in one. QoSVIA only.
    pub share: Option<Vtick>,
    /// Its process, for an adapter that [separates](Doorbells::Apart) processes. Less than 2³¹.
    pub process: u32,
}

#[derive(Debug, Clone, Copy)]
struct Endpoint {
    vtick: Option<Vtick>,
    sends: FlowClock,
    receives: FlowClock,
    /// Receive descriptors available; `None` for an unlimited supply.
    descriptors: Option<u32>,
    share: Option<Vtick>,
}

impl Endpoint {
    fn new(vi: AdapterVi) -> Self {
        let clock = FlowClock::default();
        Self { vtick: vi.vtick, sends: clock, receives: clock, descriptors: vi.receives, share: vi.share }
    }
}

/// A virtual-interface adapter.
#[derive(Debug, Clone)]
pub struct Via {
    config: ViaConfig,
    endpoints: Vec<Endpoint>,
    jobs: Jobs,
    doorbells: Unnoticed<ViDoorbell>,
    hdma: Hdma,
    nsdma: Nsdma,
    nrdma: Nrdma,
    /// Jobs with data that waits for a buffer in the adapter's memory.
    without_buffer: queue::LiveQueue<JobId>,
    /// Free send buffers in the adapter's memory.
    buffers: Option<u32>,
    /// Since when one of them is free again.
    freed: Time,
    outside: Outside,
    /// Waiting messages of groups, if there are any.
    grouped: Option<Box<Grouped>>,
    /// Waiting doorbells by process, in place of `doorbells`, if processes are separated.
    apart: Option<Box<Apart<ViDoorbell>>>,
    /// Admitted without a stamp, and may be given one.
    behind: Option<Box<Behind>>,
    processor: Processor,
    outputs: VecDeque<(Time, ViaOutput)>,
    watched: bool,
    /// Each input is complete before the next one, and no step is observed.
    at_once: bool,
    report: ViaReport,
}

impl Via {
    /// An adapter with configuration `config` and these virtual interfaces, which messages name by
    /// index.
    pub fn new(config: ViaConfig, vis: impl IntoIterator<Item = AdapterVi>) -> Self {
        let ViLimits { send_buffers, receive_buffers, nsdma_queue, guard, best_effort, doorbells: _ } =
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

    /// Sets the groups of its virtual interfaces, and the rate of all groups with members that send
    /// here. QoSVIA only, before any input.
    pub fn group(&mut self, groups: &Groups, rate: Rate) {
        self.grouped = Some(Box::new(Grouped::new(groups, rate)));
        self.at_once = false;
    }

    /// Whether each input is complete before the next one, so that no queue ever forms here.
    pub fn is_at_once(&self) -> bool {
        self.at_once
    }

    /// Reports each step and each unit's work from now on.
    pub fn watch(&mut self) {
        self.watched = true;
        self.at_once = false;
    }

    /// A program rings a doorbell.
    pub fn ring(&mut self, now: Time, doorbell: ViDoorbell) {
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

    /// The first bit of a message has arrived; the rest follows at the link's speed.
    pub fn reach(&mut self, now: Time, message: ViMessage) {
        if self.at_once {
            return self.reach_at_once(now, message);
        }
        self.settle(now);
        let job = self.jobs.put(message, now);
        self.nrdma.reach(now, job, self.config.engines.network, &mut self.jobs);
        self.settle(now);
    }

    /// Opens a virtual interface and returns its index: `at` if it replaces a closed one, of which
    /// no work may remain, else the next index.
    pub fn open(&mut self, now: Time, at: Option<u32>, vi: AdapterVi) -> u32 {
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

    /// Discards the known receive descriptors of a virtual interface.
    pub fn flush(&mut self, now: Time, vi: u32) {
        self.settle(now);
        let descriptors = &mut self.endpoints[vi as usize].descriptors;
        *descriptors = descriptors.map(|_| 0);
    }

    /// Changes the rate of a virtual interface. Its use of the old rate still counts.
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

    /// Sets the bandwidth of messages that arrive for a virtual interface, which is the peer's and
    /// may differ from its own. It matters where processes are [separated](Doorbells::Apart), for
    /// arriving messages and for receive buffers posted for them.
    pub fn expect(&mut self, now: Time, vi: u32, vtick: Option<Vtick>) {
        self.settle(now);
        if let Some(apart) = &mut self.apart {
            apart.renegotiate(RECEIVES.of(vi), vtick);
            self.nrdma.renegotiate(vi, vtick);
            self.nrdma.start(now, self.config.engines.network, &mut self.jobs);
            self.look_again();
        }
    }

    /// Advances to the time that [`next_deadline`](Self::next_deadline) named.
    pub fn timer(&mut self, now: Time) {
        self.settle(now);
    }

    /// Time of the next internal event.
    pub fn next_deadline(&self) -> Option<Time> {
        let first = self.first();
        (first < Time::MAX).then_some(first)
    }

    /// The next pending output, with its time.
    pub fn next_output(&mut self) -> Option<(Time, ViaOutput)> {
        self.outputs.pop_front()
    }

    /// Statistics so far.
    pub fn report(&self) -> ViaReport {
        ViaReport {
            longest_hdma: self.hdma.queue.longest(),
            longest_nsdma: self.nsdma.queue.longest(),
            displaced: self.hdma.queue.displaced() + self.nsdma.queue.displaced(),
            backlog: self.backlog(),
            ..self.report.clone()
        }
    }

    /// Work waiting or in progress, both directions, doorbells included.
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

    /// Processes all events due by `now`, each at its own time. Events of the engines precede the
    /// processor's at the same time, so that the processor sees them.
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

    /// Time of the next internal event; [`Time::MAX`] for never.
    #[inline]
    fn first(&self) -> Time {
        let engines = self.hdma.in_hand.until().min(self.nsdma.in_hand.until());
        engines.min(self.nrdma.in_hand.until()).min(self.nrdma.wakes()).min(self.processor.due())
    }

    fn tell(&mut self, at: Time, output: ViaOutput) {
        self.outputs.push_back((at, output));
    }

    #[inline]
    fn worked(&mut self, at: Time, unit: Unit, what: &'static str, message: ViMessage, since: Time) {
        if self.watched {
            self.tell(at, ViaOutput::Worked(unit, what, message, since));
        }
    }

    fn did(&mut self, at: Time, step: ViStep, job: JobId) {
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
            units::Transfer::Status(ViDirection::Send) => self.tell(at, ViaOutput::Sent(message)),
            units::Transfer::Status(ViDirection::Receive) => self.tell(at, ViaOutput::Received(message)),
            units::Transfer::Data(direction) => self.tell(at, ViaOutput::Moved(direction, message)),
            units::Transfer::Descriptor(_) => {}
        }
        self.look_again();
    }

    fn nsdma_ends(&mut self, at: Time) {
        let (job, since) = self.nsdma.end(at);
        self.report.units[Unit::Nsdma as usize].note(since, at);
        self.worked(at, Unit::Nsdma, "message out", self.jobs.of(job).message, since);
        // With a hardware queue NSDMA starts the next message without the processor.
        if self.config.limits.nsdma_queue {
            self.start_nsdma(at);
        }
        self.look_again();
    }

    /// NSDMA begins the next message, if one is ready.
    fn start_nsdma(&mut self, at: Time) {
        if let Some(job) = self.nsdma.start(at, self.config.engines.network, &self.jobs) {
            let Job { message, turn, .. } = *self.jobs.of(job);
            self.tell(at, ViaOutput::Departs(ViMessage { in_turn: turn.is_some(), ..message }));
        }
    }

    fn nrdma_ends(&mut self, at: Time) {
        let (job, since) = self.nrdma.end(at, self.config.engines.network, &mut self.jobs);
        // The steps of Table 1 count from the arrival.
        self.jobs.of_mut(job).base = at;
        self.is_inside(job);
        self.report.units[Unit::Nrdma as usize].note(since, at);
        self.worked(at, Unit::Nrdma, "message in", self.jobs.of(job).message, since);
        self.look_again();
    }
}
