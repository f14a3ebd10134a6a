//! Real host: the communication subsystem under its real driver, on its own processor.
//!
//! Decisions are made by the code that a simulation runs and admission analyses. The difference is
//! that each step is executed, and takes the time that it takes. A step copies the packet, computes
//! its checksum, writes its header, and writes a command into a ring that the emulated adapter
//! reads; the adapter writes responses to another ring and, if configured, interrupts by a signal.
//!
//! The processors of the papers no longer exist. A step may therefore be padded
//! ([`Pace::Profile`]): after its work the thread spins until the cost in the profile has passed,
//! and takes interrupts meanwhile. Adapter, driver and scheduling then interact as on an MC68040,
//! and deadlines are met or missed on a real clock.

mod applications;
mod handling;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use laxity_engine::TickEpoch;
use laxity_machine::ring::{Consumer, Producer};
use laxity_machine::signal::InterruptLine;
use laxity_model::adapter::{AdapterResponse, Directive};
use laxity_model::host::{Use, Uses, cost_of, use_of};
use laxity_model::node::Watchdog;
use laxity_qos::channel::{ChannelId, CoreId, Packet, Slot, Slots, Step, Subsystem, Thread};
use laxity_qos::costs::HostCosts;
use laxity_units::{Span, Time};
use laxity_world::experiment::{ChannelSpec, Experiment, Pace};
use laxity_world::promise::Promise;
use laxity_world::{HostReport, HostTally, Input, channel_config, groups};

use applications::Applications;
pub use work::Workshop;

/// Connection of a host to its adapter.
pub struct Wires {
    /// Commands to the adapter.
    pub commands: Producer<Input>,
    /// Responses of the adapter.
    pub responses: Consumer<AdapterResponse>,
    /// Interrupts of the adapter, unless it is polled.
    pub interrupts: Option<InterruptLine>,
    /// Set at the end of the run.
    pub over: Arc<AtomicBool>,
    /// Number of edges of the window that have passed: 0, 1 after its start, 2 after its end.
    pub edges: Arc<AtomicU8>,
}

/// Running host.
pub struct EmulatedHost<'a> {
    experiment: &'a Experiment,
    epoch: TickEpoch,
    costs: HostCosts,
    pace: Pace,
    subsystem: Subsystem,
    /// Packets that the adapter does not have yet.
    packets: Slots,
    applications: Applications,
    workshop: Workshop,
    wires: Wires,
    last_thread: Option<Thread>,
    /// Release time of the next held packet or message.
    wakeup: Option<Time>,
    /// Time of the next unsolicited check of the response queue: by polling, or by the watchdog.
    look: Option<Time>,
    /// Detects failures of the adapter; packets are identified by their names.
    watchdog: Watchdog<(ChannelId, u64, u32)>,
    uses: Uses,
    /// Last reading of the clock.
    seen: Time,
    /// Time lost to stalls of the platform: total and longest.
    stalls: Span,
    longest_stall: Span,
    /// Tallies at the window's start and end, as far as these have passed.
    at_edges: Vec<HostTally>,
}

impl<'a> EmulatedHost<'a> {
    /// Host of node 0 of `experiment`, with its channels open.
    pub fn new(experiment: &'a Experiment, promises: &[Promise], epoch: TickEpoch, wires: Wires) -> Self {
        let host = experiment.host(0);
        let mut subsystem = Subsystem::new(experiment.subsystem(0));
        subsystem.group(&groups(experiment));
        for (i, promise) in promises.iter().enumerate() {
            subsystem.open(channel_config(experiment, i, promise)).expect("fewer channels than numbers");
        }
        Self {
            experiment,
            epoch,
            costs: host.costs,
            pace: experiment.emulation.pace,
            subsystem,
            packets: Slots::default(),
            applications: Applications::new(experiment, promises),
            workshop: Workshop::new(experiment.emulation.transfer, host.subsystem.packet),
            wires,
            last_thread: None,
            wakeup: None,
            look: None,
            watchdog: Watchdog::new(host.driver, experiment.adapter(0).notification()),
            uses: Uses::default(),
            seen: Time::ZERO,
            stalls: Span::ZERO,
            longest_stall: Span::ZERO,
            at_edges: Vec::with_capacity(2),
        }
    }

    /// Works until the end of the run.
    pub fn run(mut self) -> HostReport {
        while !self.is_over() {
            let now = self.look();
            self.note_edges();
            self.attend(now);
            self.applications.retry(now, &mut self.subsystem);
            match self.subsystem.next_step(CoreId::FIRST, now) {
                Step::Idle => {
                    self.wakeup = self.subsystem.next_wakeup(CoreId::FIRST, now);
                    self.applications.start(now, &mut self.subsystem);
                }
                Step::Process { thread, channel, work, bytes, .. } => {
                    self.switch_to(now, thread);
                    let began = self.epoch.now();
                    self.workshop
                        .process(work, self.experiment.channels[channel.0 as usize].spec.max_message);
                    let real_time = self.subsystem.is_real_time(channel);
                    let cost = cost_of(&self.costs, work, bytes, real_time);
                    self.spend(began, cost, use_of(work), true);
                    self.subsystem.finish(CoreId::FIRST, self.epoch.now(), &mut self.packets);
                }
                Step::Transmit { thread, packet, new_thread } => {
                    self.switch_to(now, thread);
                    let creation = if new_thread { self.costs.thread_creation } else { Span::ZERO };
                    // The link scheduler's queues are shared with the interrupt, so interrupts are
                    // masked.
                    let began = self.epoch.now();
                    let cost = creation + self.cost_of_transmit(packet);
                    self.spend(began, cost, Use::LinkScheduling, false);
                    self.hand_over(packet);
                }
                Step::Compute { .. } | Step::Read { .. } | Step::Spin { .. } => {
                    unreachable!("a host in a thread does nothing but send")
                }
                Step::Application { channel } => {
                    self.switch_to(now, Thread::Application(channel));
                    let messages = self.applications.dispatch(channel, &self.subsystem);
                    let began = self.epoch.now();
                    self.spend(began, self.costs.send_call * messages, Use::Application, true);
                    self.applications.send(self.epoch.now(), channel, &mut self.subsystem);
                }
            }
        }
        self.report()
    }

    /// Records the tally at each edge of the window, to within a step.
    fn note_edges(&mut self) {
        let passed = usize::from(self.wires.edges.load(Ordering::Acquire)).min(2);
        while self.at_edges.len() < passed {
            self.at_edges.push(self.tally());
        }
    }

    fn tally(&self) -> HostTally {
        let channels = 0..self.experiment.channels.len() as u32;
        let counters =
            channels.map(|i| self.subsystem.counters(ChannelId(i)).expect("all channels are open").clone());
        HostTally { uses: self.uses, counters: counters.collect(), offered: self.applications.offered() }
    }

    fn is_over(&self) -> bool {
        self.wires.over.load(Ordering::Acquire)
    }

    /// Reads the clock. A long gap since the last reading is a stall, since no step takes as long.
    fn look(&mut self) -> Time {
        let now = self.epoch.now();
        let gap = now.saturating_since(self.seen);
        if gap >= STALL && self.seen > Time::ZERO {
            self.stalls += gap;
            self.longest_stall = self.longest_stall.max(gap);
        }
        self.seen = now;
        now
    }

    fn switch_to(&mut self, now: Time, thread: Thread) {
        if self.last_thread.is_some_and(|last| last != thread) {
            self.spend(now, self.costs.switch(), Use::Switch, true);
        }
        self.last_thread = Some(thread);
    }

    /// Spends the time of a step that began at `began`; takes interrupts meanwhile unless masked.
    fn spend(&mut self, began: Time, cost: Span, used: Use, interruptible: bool) {
        if self.pace == Pace::Native {
            let counted = self.uses.total();
            if interruptible {
                self.attend(self.epoch.now());
            }
            // Interrupt time is accounted separately.
            let interrupts = self.uses.total() - counted;
            let spent = self.epoch.now().saturating_since(began);
            self.uses.add(used, spent.saturating_sub(interrupts));
            return;
        }
        let mut ends = began + cost;
        self.uses.add(used, cost);
        loop {
            let now = self.look();
            if now >= ends {
                return;
            }
            if interruptible {
                let counted = self.uses.total();
                self.attend(now);
                let interrupts = self.uses.total() - counted;
                // The step is extended by the time of the interrupts.
                let took = self.epoch.now().saturating_since(now).saturating_sub(LOOK).max(interrupts);
                ends = ends.saturating_add(took);
            } else {
                self.applications.start(now, &mut self.subsystem);
            }
        }
    }

    fn hand_over(&mut self, packet: Slot) {
        let now = self.epoch.now();
        let packet = Packet { handed: now, ..self.packets.take(packet) };
        self.workshop.write(&packet);
        self.watchdog.handed(now, packet.name());
        self.write(Directive::Transmit(packet));
    }

    fn report(mut self) -> HostReport {
        self.note_edges();
        let ended = self.tally();
        let mut edges = std::mem::take(&mut self.at_edges).into_iter();
        HostReport {
            node: 0,
            opened: edges.next().unwrap_or_else(|| ended.clone()),
            closed: edges.next().unwrap_or_else(|| ended.clone()),
            ended,
            said: self.applications.into_said(),
            longest_queue: self.subsystem.link_queue().1,
            stalls: self.stalls,
            longest_stall: self.longest_stall,
        }
    }
}

/// Time to check the flags without an event, which counts as the step's own work.
const LOOK: Span = Span::from_ns(200);

/// Gap that is longer than any work between two readings of the clock.
pub(crate) const STALL: Span = Span::from_us(50);

/// Whether `experiment` can have its host in a thread; the error is the reason against.
pub fn check(experiment: &Experiment) -> Result<(), &'static str> {
    if experiment.host(0).ideal || experiment.host(0).subsystem.preemption.immediate {
        return Err("immediate preemption is an ideal that no real host has");
    }
    if experiment.host(0).subsystem.cores > 1 {
        return Err("a host in a thread has the core of that thread; several cores are modelled");
    }
    if !experiment.host(0).computing.is_empty() {
        return Err("a host in a thread does nothing but send; applications that compute are modelled");
    }
    if experiment.channels.iter().any(|channel| channel.copy.is_some()) {
        return Err("a host in a thread sends to one receiver of each channel; multicasts are modelled");
    }
    let sends_only = |channel: &ChannelSpec| channel.route[0] == 0 && channel.senders().len() == 1;
    if !experiment.channels.iter().all(sends_only) {
        return Err("a host in a thread sends only; relays and other senders are modelled");
    }
    Ok(())
}
