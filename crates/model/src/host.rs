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
mod applications;

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use laxity_qos::channel::{ChannelId, Config, Delivery, LinkParadigm, Packet, Sent, Step, Subsystem, Thread};
use laxity_qos::costs::HostCosts;
use laxity_units::{Bytes, Span, Time};

use activity::{Activity, Kind};
pub use activity::{Busy, Use, Uses, cost_of, use_of};
pub use applications::{Applications, Endless, Senders};

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

/// A host and its CPU.
#[derive(Debug)]
pub struct Host {
    costs: HostCosts,
    paradigm: LinkParadigm,
    subsystem: Subsystem,
    senders: Senders,
    /// Now: at most one of a thread's work and, above it, an interrupt's.
    running: Option<Activity>,
    /// What is left of the thread's work, while it stands still for an interrupt.
    interrupted: Option<Span>,
    interrupt: Option<Activity>,
    pending: VecDeque<Interrupt>,
    last_thread: Option<Thread>,
    /// What is left of packets that were preempted in the middle.
    left: HashMap<Thread, Span, Fixed>,
    wakeup: Option<Time>,
    account: Account,
    output: VecDeque<Output>,
}

impl Host {
    /// An idle host.
    pub fn new(costs: HostCosts, config: Config, placement: Applications) -> Self {
        Self {
            costs,
            paradigm: config.link.paradigm,
            subsystem: Subsystem::new(config),
            senders: Senders::new(placement),
            running: None,
            interrupted: None,
            interrupt: None,
            pending: VecDeque::new(),
            last_thread: None,
            left: HashMap::default(),
            wakeup: None,
            account: Account::default(),
            output: VecDeque::new(),
        }
    }

    /// Also puts out what the CPU does, for a trace.
    pub fn record(&mut self) {
        self.account.recording = true;
    }

    /// The subsystem, to look at.
    pub fn subsystem(&self) -> &Subsystem {
        &self.subsystem
    }

    /// The subsystem, to open channels in before the run.
    pub fn open(&mut self, config: laxity_qos::channel::ChannelConfig) -> ChannelId {
        self.senders.open();
        self.subsystem.open(config)
    }

    /// CPU time by use since the start.
    pub fn uses(&self) -> &Uses {
        &self.account.uses
    }

    /// The application of `channel` has a message to send.
    pub fn offer(&mut self, now: Time, channel: ChannelId, size: Bytes) {
        let Self { senders, subsystem, output, .. } = self;
        senders.offer(now, channel, size, subsystem, &mut answers(output));
        self.settle(now);
    }

    /// The application of `channel` from now on always has another message.
    pub fn send_without_end(&mut self, now: Time, channel: ChannelId, endless: Endless) {
        self.senders.send_without_end(channel, endless);
        self.settle(now);
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
        Time::earlier(top, self.wakeup)
    }

    /// What the host did, oldest first.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.output.pop_front()
    }

    /// Whether it has put out all it had to.
    pub fn is_silent(&self) -> bool {
        self.output.is_empty()
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
        if let Some(interrupt) = &self.interrupt {
            let ended = interrupt.ends <= now;
            if ended {
                self.finish_interrupt(now);
            }
            return ended;
        }
        let masked = self.running.as_ref().is_some_and(Activity::masks_interrupts);
        if !masked && let Some(interrupt) = self.pending.pop_front() {
            if let Some(activity) = self.running.as_mut().filter(|_| self.interrupted.is_none()) {
                self.account.log(activity, now, &mut self.output);
                self.interrupted = Some(activity.ends.saturating_since(now));
            }
            let cost = match interrupt {
                Interrupt::Timer => Span::ZERO,
                _ => self.costs.interrupt,
            };
            self.interrupt = Some(Activity::new(now, cost, Use::Interrupt, Kind::Interrupt(interrupt)));
            return true;
        }
        if let Some(left) = self.interrupted.take() {
            let activity = self.running.as_mut().expect("a thread was interrupted");
            activity.began = now;
            activity.ends = now + left;
            return true;
        }
        if let Some(activity) = &self.running {
            if activity.ends > now {
                return self.preempt(now);
            }
            self.finish(now);
            return true;
        }
        let Self { senders, subsystem, output, .. } = self;
        senders.retry(now, subsystem, &mut answers(output));
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
                let messages = self.senders.dispatch(channel, &self.subsystem);
                let kind = Kind::Send { channel };
                (Thread::Application(channel), costs.send_call * messages, Use::Application, kind)
            }
        };
        let switches = self.last_thread.is_some_and(|last| last != thread);
        let switch = if switches { costs.switch() } else { Span::ZERO };
        self.last_thread = Some(thread);
        self.running = Some(Activity::new(now, work, used, kind).of(thread, switch));
        true
    }

    /// The thread's work is done. What it was is looked at where it lies: an activity has a packet in it, and is long.
    fn finish(&mut self, now: Time) {
        let Self { running, account, subsystem, senders, output, .. } = self;
        let activity = running.as_mut().expect("a thread runs");
        account.log(activity, now, output);
        match &activity.kind {
            Kind::Process { .. } => {
                let finished = subsystem.finish(now);
                output.extend(finished.delivered.map(Output::Delivered));
            }
            Kind::Transmit(packet) => output.push_back(Output::Transmit(*packet)),
            Kind::Send { channel } => senders.send(now, *channel, subsystem, &mut answers(output)),
            Kind::Interrupt(_) => unreachable!("interrupts have their own place"),
        }
        self.running = None;
    }

    fn finish_interrupt(&mut self, now: Time) {
        let Self { interrupt, account, subsystem, senders, output, .. } = self;
        let activity = interrupt.as_mut().expect("an interrupt runs");
        account.log(activity, now, output);
        let schedules = !matches!(activity.kind, Kind::Transmit(_));
        match &activity.kind {
            Kind::Transmit(packet) => output.push_back(Output::Transmit(*packet)),
            Kind::Interrupt(Interrupt::Transmitted(packet)) => {
                subsystem.transmitted(now, packet);
                senders.returned(packet);
            }
            Kind::Interrupt(Interrupt::Failed(packet)) => {
                subsystem.failed(now, packet);
                senders.returned(packet);
            }
            Kind::Interrupt(Interrupt::Progress(_)) => {}
            Kind::Interrupt(Interrupt::Handshake(packet)) => output.push_back(Output::Proceed(*packet)),
            Kind::Interrupt(Interrupt::Received(channel, packet)) => {
                // A packet that finds no buffer is in the subsystem's counters.
                let _ = subsystem.receive(now, *channel, *packet);
            }
            Kind::Interrupt(Interrupt::Timer) => subsystem.wakeup(now),
            Kind::Process { .. } | Kind::Send { .. } => unreachable!("threads have their own place"),
        }
        self.interrupt = None;
        if !schedules {
            return;
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
        self.account.log(&mut activity, now, &mut self.output);
        let thread = activity.thread.expect("a thread processes packets");
        // What is left of a switch is lost: whoever comes back is switched to again.
        let left = activity.ends.saturating_since(now).saturating_sub(activity.switch);
        self.left.insert(thread, left);
        self.subsystem.preempt();
        true
    }
}

/// Where CPU time went.
#[derive(Debug, Default)]
struct Account {
    uses: Uses,
    /// Whether each stretch of it is put out, too.
    recording: bool,
}

impl Account {
    /// Accounts for what `activity` has done since it began or resumed.
    fn log(&mut self, activity: &mut Activity, now: Time, output: &mut VecDeque<Output>) {
        for busy in activity.spend(now) {
            if busy.ended == busy.began {
                continue;
            }
            self.uses.add(busy.used, busy.ended.since(busy.began));
            if self.recording {
                output.push_back(Output::Busy(busy));
            }
        }
    }
}

/// Puts out how sends were answered.
fn answers(output: &mut VecDeque<Output>) -> impl FnMut(ChannelId, Bytes, Sent) {
    |channel, size, answer| output.push_back(Output::Answered { channel, size, answer })
}
