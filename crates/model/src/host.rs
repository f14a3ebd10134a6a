//! A host: one CPU that pays for the steps of a communication subsystem.
//!
//! The subsystem ([`laxity_qos::channel`]) decides what to do and the CPU here spends the time for it, as
//! the cost profile says. Everything that competes for the CPU meets in this file: handlers, the link
//! scheduler, applications that share the processor, and interrupts, which take it from any of them.
//!
//! What costs what:
//!
//! * running another thread than the last one costs `C_sw + C_cm` first;
//! * an interrupt costs its entry, then whatever link scheduling is done inside it (`C_l`), and then the
//!   interrupted work goes on where it was;
//! * the link scheduler is a critical section, so an interrupt that comes meanwhile waits for its end;
//! * timers cost nothing: the papers' numbers have them in `C_p^1st`.

mod activity;

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use laxity_engine::Stream;
use laxity_qos::channel::{ChannelId, Config, Delivery, LinkParadigm, Packet, Sent, Step, Subsystem, Thread};
use laxity_qos::costs::HostCosts;
use laxity_units::{Bytes, Span, Time};

use activity::{Activity, Kind};

use crate::source::Sizes;
pub use activity::{Busy, Use, Uses, cost_of, use_of};

/// Where a channel's sending application runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applications {
    /// On this CPU, as a thread above all handlers: a send waits for a preemption point and costs time.
    Shared,
    /// On other processors: a send happens when it is due and costs this CPU nothing.
    Separate,
}

/// What an interrupt announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interrupt {
    /// The adapter completed the transmission of a packet.
    Transmitted(Packet),
    /// The adapter lost a packet.
    Failed(Packet),
    /// The adapter is done with a part of its work, and the host has nothing to do.
    Progress(Packet),
    /// The same, and the adapter waits for a command to go on.
    Handshake(Packet),
    /// The adapter received a packet of a channel of this host.
    Received(ChannelId, Packet),
    /// A timer that the subsystem asked for.
    Timer,
}

impl Interrupt {
    /// The channel it is about.
    fn channel(&self) -> Option<ChannelId> {
        match self {
            Interrupt::Received(channel, _) => Some(*channel),
            Interrupt::Transmitted(packet)
            | Interrupt::Failed(packet)
            | Interrupt::Progress(packet)
            | Interrupt::Handshake(packet) => Some(packet.channel),
            Interrupt::Timer => None,
        }
    }
}

/// What the host does to the world around it.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Hands a packet to the adapter.
    Transmit(Packet),
    /// Tells the adapter to go on with a packet.
    Proceed(Packet),
    /// An application's send was answered.
    Answered {
        /// On which channel.
        channel: ChannelId,
        /// Size of the message.
        size: Bytes,
        /// How.
        answer: Sent,
    },
    /// A message reached its application.
    Delivered(Delivery),
    /// The CPU was busy; only while recording is on.
    Busy(Busy),
}

/// A hash of fixed keys: iteration order never matters here, yet no run may depend on the machine's.
type Fixed = BuildHasherDefault<std::hash::DefaultHasher>;

/// An application that sends on one channel.
#[derive(Debug, Default)]
struct Application {
    /// Messages it has produced and not sent: waiting for the CPU, or for room in the message queue.
    pending: VecDeque<Bytes>,
    /// It waits for the CPU.
    ready: bool,
    /// It always has another message.
    endless: Option<Endless>,
}

/// Messages without end: there is always another, as soon as it may be sent.
#[derive(Debug)]
pub struct Endless {
    sizes: Sizes,
    random: Stream,
    most: Option<u32>,
    outstanding: u32,
}

impl Endless {
    /// Messages of sizes drawn from `random`, of which at most `most` are sent and not yet transmitted or lost, as far
    /// as the host knows; `None` for as many as there is room for.
    pub fn new(sizes: Sizes, random: Stream, most: Option<u32>) -> Self {
        Self { sizes, random, most, outstanding: 0 }
    }

    /// The size of the next message, if it may be sent.
    pub fn draw(&mut self) -> Option<Bytes> {
        let more = self.most.is_none_or(|most| self.outstanding < most);
        more.then(|| self.sizes.draw(&mut self.random))
    }

    /// A message was sent, and answered so.
    pub fn answered(&mut self, answer: Sent) {
        self.outstanding += u32::from(matches!(answer, Sent::Accepted { .. } | Sent::Excess { .. }));
    }

    /// A packet is out of the adapter.
    pub fn returned(&mut self, packet: &Packet) {
        if packet.is_last() {
            self.outstanding = self.outstanding.saturating_sub(1);
        }
    }
}

/// A host and its CPU.
#[derive(Debug)]
pub struct Host {
    costs: HostCosts,
    placement: Applications,
    paradigm: LinkParadigm,
    subsystem: Subsystem,
    applications: Vec<Application>,
    /// Channels whose applications have something to send but found no room.
    waiting: Vec<ChannelId>,
    /// Now: at most one of a thread's work and, above it, an interrupt's.
    running: Option<Activity>,
    interrupted: Option<(Activity, Span)>,
    interrupt: Option<Activity>,
    pending: VecDeque<Interrupt>,
    last_thread: Option<Thread>,
    /// What is left of packets that were preempted in the middle.
    left: HashMap<Thread, Span, Fixed>,
    wakeup: Option<Time>,
    uses: Uses,
    recording: bool,
    output: VecDeque<Output>,
}

impl Host {
    /// An idle host.
    pub fn new(costs: HostCosts, config: Config, placement: Applications) -> Self {
        Self {
            costs,
            placement,
            paradigm: config.link.paradigm,
            subsystem: Subsystem::new(config),
            applications: Vec::new(),
            waiting: Vec::new(),
            running: None,
            interrupted: None,
            interrupt: None,
            pending: VecDeque::new(),
            last_thread: None,
            left: HashMap::default(),
            wakeup: None,
            uses: Uses::default(),
            recording: false,
            output: VecDeque::new(),
        }
    }

    /// Also puts out what the CPU does, for a trace.
    pub fn record(&mut self) {
        self.recording = true;
    }

    /// The subsystem, to look at.
    pub fn subsystem(&self) -> &Subsystem {
        &self.subsystem
    }

    /// The subsystem, to open channels in before the run.
    pub fn open(&mut self, config: laxity_qos::channel::ChannelConfig) -> ChannelId {
        self.applications.push(Application::default());
        self.subsystem.open(config)
    }

    /// CPU time by use since the start.
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// The application of `channel` has a message to send.
    pub fn offer(&mut self, now: Time, channel: ChannelId, size: Bytes) {
        self.applications[channel.0 as usize].pending.push_back(size);
        self.schedule_send(now, channel);
        self.settle(now);
    }

    /// The application of `channel` from now on always has another message.
    pub fn send_without_end(&mut self, now: Time, channel: ChannelId, endless: Endless) {
        self.applications[channel.0 as usize].endless = Some(endless);
        self.waiting.push(channel);
        self.settle(now);
    }

    /// A packet is out of the adapter; its application may wait for that.
    fn returned(&mut self, packet: &Packet) {
        if let Some(endless) = &mut self.applications[packet.channel.0 as usize].endless {
            endless.returned(packet);
        }
    }

    /// The adapter or a timer interrupts.
    pub fn interrupt(&mut self, now: Time, interrupt: Interrupt) {
        self.pending.push_back(interrupt);
        self.settle(now);
    }

    /// The time that [`next_deadline`](Self::next_deadline) named has come.
    pub fn timer(&mut self, now: Time) {
        self.settle(now);
    }

    /// When the host next wants [`timer`](Self::timer) to be called, if nothing happens before.
    pub fn next_deadline(&self) -> Option<Time> {
        let top = self.interrupt.as_ref().or(self.running.as_ref()).map(|activity| activity.ends);
        [top, self.wakeup].into_iter().flatten().min()
    }

    /// What the host did, oldest first.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.output.pop_front()
    }

    /// Carries on as far as `now` allows.
    ///
    /// A timer that is due goes first, whatever it was that came at the same instant: the queues have to be looked at
    /// for what has become current before anybody is served from them.
    fn settle(&mut self, now: Time) {
        loop {
            if self.wakeup.is_some_and(|at| at <= now) {
                self.wakeup = None;
                self.pending.push_back(Interrupt::Timer);
            }
            while self.advance(now) {}
            let announced = self.pending.contains(&Interrupt::Timer);
            self.wakeup = self.subsystem.next_wakeup(now).filter(|at| *at > now || !announced);
            if self.wakeup.is_none_or(|at| at > now) {
                return;
            }
        }
    }

    /// Does one thing that is due at `now`; answers whether there was one.
    fn advance(&mut self, now: Time) -> bool {
        if let Some(interrupt) = self.interrupt.take_if(|activity| activity.ends <= now) {
            self.finish_interrupt(now, interrupt);
            return true;
        }
        if self.interrupt.is_some() {
            return false;
        }
        let masked =
            self.running.as_ref().is_some_and(|activity| activity.masks_interrupts() && activity.ends > now);
        if !masked && let Some(interrupt) = self.pending.pop_front() {
            if let Some(mut activity) = self.running.take() {
                self.log(&mut activity, now);
                let left = activity.ends.saturating_since(now);
                self.interrupted = Some((activity, left));
            }
            let cost = match interrupt {
                Interrupt::Timer => Span::ZERO,
                _ => self.costs.interrupt,
            };
            self.interrupt = Some(Activity::new(now, cost, Use::Interrupt, Kind::Interrupt(interrupt)));
            return true;
        }
        if let Some((mut activity, left)) = self.interrupted.take() {
            activity.began = now;
            activity.ends = now + left;
            self.running = Some(activity);
            return true;
        }
        if let Some(activity) = self.running.take_if(|activity| activity.ends <= now) {
            self.finish(now, activity);
            return true;
        }
        if self.running.is_some() {
            return self.preempt(now);
        }
        self.retry_sends(now);
        self.start(now)
    }

    fn start(&mut self, now: Time) -> bool {
        let costs = self.costs;
        let step = self.subsystem.next_step(now);
        let (thread, work, used, kind) = match step {
            Step::Idle => return false,
            Step::Process { thread, channel, work, resumed } => {
                let kind = Kind::Process { channel };
                let cost = if resumed { self.left.remove(&thread) } else { None };
                (thread, cost.unwrap_or_else(|| cost_of(&costs, work)), use_of(work), kind)
            }
            Step::Transmit { thread, packet, new_thread } => {
                let creation = if new_thread { costs.thread_creation } else { Span::ZERO };
                (
                    thread,
                    creation + self.costs.transmit(self.paradigm),
                    Use::LinkScheduling,
                    Kind::Transmit(packet),
                )
            }
            Step::Application { channel } => {
                let application = &mut self.applications[channel.0 as usize];
                application.ready = false;
                let messages = application.pending.len() as u64;
                let kind = Kind::Send { channel, messages };
                (Thread::Application(channel), costs.send_call * messages, Use::Application, kind)
            }
        };
        let switches = self.last_thread.is_some_and(|last| last != thread);
        let switch = if switches { costs.switch() } else { Span::ZERO };
        self.last_thread = Some(thread);
        self.running = Some(Activity::new(now, work, used, kind).of(thread, switch));
        true
    }

    fn finish(&mut self, now: Time, mut activity: Activity) {
        self.log(&mut activity, now);
        let Activity { kind, .. } = activity;
        match kind {
            Kind::Process { .. } => {
                let finished = self.subsystem.finish(now);
                self.output.extend(finished.delivered.map(Output::Delivered));
            }
            Kind::Transmit(packet) => self.output.push_back(Output::Transmit(packet)),
            Kind::Send { channel, messages } => {
                for _ in 0..messages {
                    self.send_first(now, channel);
                }
            }
            Kind::Interrupt(_) => unreachable!("interrupts have their own place"),
        }
    }

    fn finish_interrupt(&mut self, now: Time, mut activity: Activity) {
        self.log(&mut activity, now);
        let Activity { kind, .. } = activity;
        match kind {
            Kind::Transmit(packet) => {
                self.output.push_back(Output::Transmit(packet));
                return;
            }
            Kind::Interrupt(Interrupt::Transmitted(packet)) => {
                self.subsystem.transmitted(now, &packet);
                self.returned(&packet);
            }
            Kind::Interrupt(Interrupt::Failed(packet)) => {
                self.subsystem.failed(now, &packet);
                self.returned(&packet);
            }
            Kind::Interrupt(Interrupt::Progress(_)) => {}
            Kind::Interrupt(Interrupt::Handshake(packet)) => self.output.push_back(Output::Proceed(packet)),
            Kind::Interrupt(Interrupt::Received(channel, packet)) => {
                // A packet that finds no buffer is in the subsystem's counters.
                let _ = self.subsystem.receive(now, channel, packet);
            }
            Kind::Interrupt(Interrupt::Timer) => self.subsystem.wakeup(now),
            Kind::Process { .. } | Kind::Send { .. } => unreachable!("threads have their own place"),
        }
        if let Some(packet) = self.subsystem.interrupt_transmit(now) {
            let cost = self.costs.transmit(self.paradigm);
            self.interrupt = Some(Activity::new(now, cost, Use::LinkScheduling, Kind::Transmit(packet)));
        }
    }

    /// Takes the CPU from the packet in progress if something more urgent waits and policy allows.
    fn preempt(&mut self, now: Time) -> bool {
        let processing = self.running.as_ref().is_some_and(|a| matches!(a.kind, Kind::Process { .. }));
        if !processing || !self.subsystem.wants_preemption(now) {
            return false;
        }
        let mut activity = self.running.take().expect("a packet is in progress");
        self.log(&mut activity, now);
        let thread = activity.thread.expect("a thread processes packets");
        // What is left of a switch is lost: whoever comes back is switched to again.
        let left = activity.ends.saturating_since(now).saturating_sub(activity.switch);
        self.left.insert(thread, left);
        self.subsystem.preempt();
        true
    }

    /// An application has something to send: at once, or when it gets the CPU.
    fn schedule_send(&mut self, now: Time, channel: ChannelId) {
        let application = &mut self.applications[channel.0 as usize];
        match self.placement {
            Applications::Separate => self.send_first(now, channel),
            Applications::Shared if application.ready => {}
            Applications::Shared => {
                application.ready = true;
                self.subsystem.application_ready(channel);
            }
        }
    }

    fn send_first(&mut self, now: Time, channel: ChannelId) {
        let application = &mut self.applications[channel.0 as usize];
        let Some(&size) = application.pending.front() else { return };
        if self.waiting.contains(&channel) {
            // What came before still waits, and a channel delivers in sequence.
            return;
        }
        let answer = self.subsystem.send(now, channel, size);
        if answer == Sent::WouldBlock {
            self.waiting.push(channel);
            return;
        }
        self.applications[channel.0 as usize].pending.pop_front();
        self.output.push_back(Output::Answered { channel, size, answer });
    }

    /// Lets applications that found no room try again.
    fn retry_sends(&mut self, now: Time) {
        for i in (0..self.waiting.len()).rev() {
            let channel = self.waiting[i];
            while self.subsystem.has_room(channel) {
                let application = &mut self.applications[channel.0 as usize];
                let drawn = || application.endless.as_mut().and_then(Endless::draw);
                let Some(size) = application.pending.pop_front().or_else(drawn) else { break };
                let answer = self.subsystem.send(now, channel, size);
                if let Some(endless) = &mut application.endless {
                    endless.answered(answer);
                }
                self.output.push_back(Output::Answered { channel, size, answer });
            }
            let application = &self.applications[channel.0 as usize];
            if application.pending.is_empty() && application.endless.is_none() {
                self.waiting.swap_remove(i);
            }
        }
    }

    /// Accounts for what `activity` has done since it began or resumed.
    fn log(&mut self, activity: &mut Activity, now: Time) {
        for busy in activity.spend(now).into_iter().filter(|busy| busy.ended > busy.began) {
            self.uses.add(busy.used, busy.ended.since(busy.began));
            if self.recording {
                self.output.push_back(Output::Busy(busy));
            }
        }
    }
}
