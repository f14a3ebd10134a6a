//! A host: one CPU that pays for the steps of a communication subsystem.
//!
//! The subsystem ([`laxity_qos::channel`]) decides what to do and the CPU here spends the time for it, as
//! the cost profile says. Everything that competes for the CPU meets in this file: handlers, the link
//! scheduler, applications that share the processor, and interrupts, which take it from any of them.
//!
//! What costs what:
//!
//! * running another thread than the last one costs `C_sw + C_cm` first;
//! * an interrupt costs its entry, a look at the adapter that nobody asked for what a look costs, and each response so found what
//!   taking it costs; then whatever link scheduling is done inside it (`C_l`), and then the interrupted work goes on where it was;
//! * the link scheduler is a critical section, so an interrupt that comes meanwhile waits for its end;
//! * timers cost nothing: the papers' numbers have them in `C_p^1st`.

mod account;
mod activity;
mod applications;

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use laxity_qos::channel::{
    ChannelId, Computed, Computing, Config, Delivery, LinkId, LinkParadigm, Packet, Sent, Slot, Step,
    Subsystem, Thread,
};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_units::{Bytes, Span, Time};

use crate::around::Around;
use account::Account;
use activity::{Activity, Kind};
pub use activity::{Busy, Use, Uses, cost_of, cost_of_transmit, use_of};
pub use applications::{Applications, Endless, Senders};

/// What an interrupt announces; `P` is by what a packet is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt<P = Packet> {
    /// The adapter completed the transmission of a packet.
    Transmitted(P),
    /// The adapter lost a packet.
    Failed(P),
    /// The adapter is done with a part of its work, and the host has nothing to do.
    Progress(P),
    /// The same, and the adapter waits for a command to go on.
    Handshake(P),
    /// The adapter received a packet, of the channel of this host that it names.
    Received(P),
    /// A timer that the subsystem asked for.
    Timer,
    /// The driver has looked for responses and found none.
    Nothing,
}

/// What serving an interrupt begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The way into the interrupt's routine.
    Interrupt,
    /// A look that nobody asked for.
    Look,
    /// Nothing more: it was found with the one before.
    Further,
}

impl<P> Interrupt<P> {
    /// The packet it is about.
    fn packet(&self) -> Option<&P> {
        match self {
            Interrupt::Transmitted(packet)
            | Interrupt::Failed(packet)
            | Interrupt::Progress(packet)
            | Interrupt::Handshake(packet)
            | Interrupt::Received(packet) => Some(packet),
            Interrupt::Timer | Interrupt::Nothing => None,
        }
    }
}

/// What the host does to the world around it; `P` is by what a packet is named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Output<P = Packet> {
    /// Hands a packet to the adapter of a link.
    Transmit(LinkId, P),
    /// Tells an adapter to go on with a packet.
    Proceed(LinkId, P),
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
    /// An application has done a budget.
    Computed(Computed),
    /// The CPU was busy; only while recording is on.
    Busy(Busy),
    /// The host has taken a response of an adapter out of its queue.
    Read(LinkId),
    /// The CPU begins to copy, and has the memory bus for so long.
    Copies(Span),
}

/// The CPU copies for so long.
fn copies(span: Span, around: &mut impl Around<Output<Slot>>) {
    if !span.is_zero() {
        around.tell(Output::Copies(span));
    }
}

/// A hash of fixed keys: iteration order never matters here, yet no run may depend on the machine's.
type Fixed = BuildHasherDefault<std::hash::DefaultHasher>;

/// What is still to be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pending {
    interrupt: Interrupt<Slot>,
    entry: Entry,
    /// Whose adapter announced it.
    link: LinkId,
}

impl Pending {
    const TIMER: Pending =
        Pending { interrupt: Interrupt::Timer, entry: Entry::Further, link: LinkId::FIRST };
}

/// A host and its CPU.
#[derive(Debug)]
pub struct Host {
    costs: HostCosts,
    paradigm: LinkParadigm,
    /// A packet in progress gives way in its middle.
    preemptive: bool,
    subsystem: Subsystem,
    senders: Senders,
    /// Now: at most one of a thread's work and, above it, an interrupt's.
    running: Option<Activity>,
    /// What is left of the thread's work, while it stands still for an interrupt.
    interrupted: Option<Span>,
    interrupt: Option<Activity>,
    /// The packet that the link is scheduled for, while it is; a critical section, so there is one at a time.
    handing: Option<Slot>,
    /// Interrupts that have come and not been served, the one being served first.
    pending: VecDeque<Pending>,
    last_thread: Option<Thread>,
    /// What is left of packets that were preempted in the middle.
    left: HashMap<Thread, Span, Fixed>,
    /// When the subsystem wants to be woken; `Time::MAX` for never.
    wakeup: Time,
    /// The timer's interrupt is pending.
    awake: bool,
    account: Account,
}

impl Host {
    /// An idle host.
    pub fn new(costs: HostCosts, config: Config, placement: Applications) -> Self {
        Self {
            costs,
            paradigm: config.link.paradigm,
            preemptive: config.preemption.immediate,
            subsystem: Subsystem::new(config),
            senders: Senders::new(placement),
            running: None,
            interrupted: None,
            interrupt: None,
            handing: None,
            pending: VecDeque::new(),
            last_thread: None,
            left: HashMap::default(),
            wakeup: Time::MAX,
            awake: false,
            account: Account::default(),
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

    /// Says which groups of channels have a rate together, before the run.
    pub fn group(&mut self, groups: &laxity_qos::discipline::Groups) {
        self.subsystem.group(groups);
    }

    /// The subsystem, to open channels in before the run.
    pub fn open(&mut self, config: laxity_qos::channel::ChannelConfig) -> ChannelId {
        let id = self.subsystem.open(config);
        self.senders.open(id);
        id
    }

    /// The same by a number of the channel's own, which it has at every host of its way.
    pub fn open_as(&mut self, id: ChannelId, config: laxity_qos::channel::ChannelConfig) {
        self.subsystem.open_as(id, config);
        self.senders.open(id);
    }

    /// Adds a link that leads through another adapter, on which a packet takes what `speed` says; before the run.
    pub(crate) fn add_link(&mut self, speed: LinkCosts) -> LinkId {
        self.subsystem.add_link(speed)
    }

    /// Adds an application that computes, before the run; answers its number.
    pub fn compute(&mut self, config: Computing) -> u32 {
        let number = self.subsystem.compute(config);
        self.account.computed.push(Span::ZERO);
        self.wakeup = self.wakeup.min(self.subsystem.next_wakeup(Time::ZERO).unwrap_or(Time::MAX));
        number
    }

    /// CPU time in which each application that computes did, since the start.
    pub fn computed(&self) -> &[Span] {
        &self.account.computed
    }

    /// CPU time by use since the start.
    pub fn uses(&self) -> &Uses {
        &self.account.uses
    }

    /// The application of `channel` has a message to send. Here and below `around` is where
    /// packets lie, and hears what the host does.
    pub fn offer(
        &mut self,
        now: Time,
        channel: ChannelId,
        size: Bytes,
        around: &mut impl Around<Output<Slot>>,
    ) {
        self.senders.offer(now, channel, size, &mut self.subsystem, &mut answers(around));
        self.settle(now, around);
    }

    /// The application of `channel` from now on always has another message.
    pub fn send_without_end(
        &mut self,
        now: Time,
        channel: ChannelId,
        endless: Endless,
        around: &mut impl Around<Output<Slot>>,
    ) {
        self.senders.send_without_end(channel, endless);
        self.settle(now, around);
    }

    /// The first adapter or a timer interrupts.
    pub fn interrupt(
        &mut self,
        now: Time,
        interrupt: Interrupt<Slot>,
        around: &mut impl Around<Output<Slot>>,
    ) {
        let entry = if interrupt == Interrupt::Timer { Entry::Further } else { Entry::Interrupt };
        self.notice(now, LinkId::FIRST, interrupt, entry, around);
    }

    /// The adapter of `link` has something to say, by an interrupt of its own or not.
    pub(crate) fn notice(
        &mut self,
        now: Time,
        link: LinkId,
        interrupt: Interrupt<Slot>,
        entry: Entry,
        around: &mut impl Around<Output<Slot>>,
    ) {
        let pending = Pending { interrupt, entry, link };
        // Who is looking already need not begin again.
        if interrupt != Interrupt::Nothing || !self.pending.contains(&pending) {
            self.pending.push_back(pending);
            self.settle(now, around);
        }
    }

    /// Whether looking for responses takes time.
    pub(crate) fn pays_for_looks(&self) -> bool {
        !self.costs.poll.is_zero()
    }

    /// The time that [`next_deadline`](Self::next_deadline) named has come.
    pub fn timer(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) {
        self.settle(now, around);
    }

    /// When the host next wants [`timer`](Self::timer) to be called, if nothing happens before.
    pub fn next_deadline(&self) -> Option<Time> {
        self.due().named()
    }

    /// The same; `Time::MAX` for never.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        let top = self.interrupt.as_ref().or(self.running.as_ref());
        top.map_or(Time::MAX, |activity| activity.ends).min(self.wakeup)
    }

    /// Carries on as far as `now` allows.
    ///
    /// A timer that is due goes first, whatever it was that came at the same instant: the queues have to be looked at
    /// for what has become current before anybody is served from them.
    fn settle(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) {
        loop {
            if self.wakeup <= now {
                self.wakeup = Time::MAX;
                self.awake = true;
                self.pending.push_back(Pending::TIMER);
            }
            while self.advance(now, around) {}
            let wakeup = self.subsystem.next_wakeup(now).unwrap_or(Time::MAX);
            // One that is announced already is not asked for again.
            self.wakeup = if wakeup > now || !self.awake { wakeup } else { Time::MAX };
            if self.wakeup > now {
                return;
            }
        }
    }

    /// Does one thing that is due at `now`; answers whether there was one.
    fn advance(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) -> bool {
        if let Some(interrupt) = &self.interrupt {
            let ended = interrupt.ends <= now;
            if ended {
                self.finish_interrupt(now, around);
            }
            return ended;
        }
        if let Some(Pending { interrupt, entry, .. }) = self.pending.front()
            && !self.running.as_ref().is_some_and(Activity::masks_interrupts)
        {
            let packet = interrupt.packet();
            let response = if packet.is_none() { Span::ZERO } else { self.costs.response };
            let cost = response
                + match entry {
                    Entry::Interrupt => self.costs.interrupt,
                    Entry::Look => self.costs.poll,
                    Entry::Further => Span::ZERO,
                };
            let channel = packet.map(|packet| around.packets().at(*packet).channel);
            let activity = Activity::new(now, cost, Use::Interrupt, Kind::Interrupt(channel));
            if let Some(running) = self.running.as_mut().filter(|_| self.interrupted.is_none()) {
                self.account.log(running, now, around);
                self.interrupted = Some(running.ends.saturating_since(now));
            }
            self.interrupt = Some(activity);
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
                return self.preemptive && self.preempt(now, around);
            }
            self.finish(now, around);
            return true;
        }
        self.senders.retry(now, &mut self.subsystem, &mut answers(around));
        self.start(now, around)
    }

    fn start(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) -> bool {
        let step = self.subsystem.next_step(now);
        let (thread, work, used, kind) = match step {
            Step::Idle => return false,
            Step::Process { thread, channel, work, bytes, resumed } => {
                let left = if resumed { self.left.remove(&thread) } else { None };
                if left.is_none() {
                    copies(
                        cost_of(&self.costs, work, bytes) - cost_of(&self.costs, work, Bytes::ZERO),
                        around,
                    );
                }
                let cost = left.unwrap_or_else(|| cost_of(&self.costs, work, bytes));
                (thread, cost, use_of(work), Kind::Process(channel))
            }
            Step::Transmit { thread, packet, new_thread } => {
                let creation = if new_thread { self.costs.thread_creation } else { Span::ZERO };
                let of = around.packets().at(packet);
                let (size, kind) = (of.size, Kind::Transmit(of.channel));
                let cost = creation + cost_of_transmit(&self.costs, self.paradigm, size);
                copies(self.costs.transfer_byte * size.get(), around);
                self.handing = Some(packet);
                (thread, cost, Use::LinkScheduling, kind)
            }
            Step::Application { channel } => {
                let messages = self.senders.dispatch(channel, &self.subsystem);
                let cost = self.costs.send_call * messages;
                (Thread::Application(channel), cost, Use::Application, Kind::Send(channel))
            }
            Step::Compute { thread, application, work } => {
                (thread, work, Use::Computation, Kind::Compute(application))
            }
            Step::Read { thread, channel, work } => (thread, work, Use::Program, Kind::Read(channel)),
        };
        let switches = self.last_thread.is_some_and(|last| last != thread);
        let switch = if switches { self.costs.switch() } else { Span::ZERO };
        self.last_thread = Some(thread);
        self.running = Some(Activity::new(now, work, used, kind).of(thread, switch));
        true
    }

    /// The thread's work is done.
    fn finish(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) {
        let activity = self.running.as_mut().expect("a thread runs");
        self.account.log(activity, now, around);
        let kind = activity.kind;
        self.running = None;
        match kind {
            Kind::Process(_) => {
                if let Some(delivery) = self.subsystem.finish(now, around.packets()).delivered {
                    around.tell(Output::Delivered(delivery));
                }
            }
            Kind::Transmit(_) => self.hand_over(around),
            Kind::Send(channel) => {
                self.senders.send(now, channel, &mut self.subsystem, &mut answers(around));
            }
            Kind::Compute(_) => {
                if let Some(done) = self.subsystem.computed(now, Span::ZERO) {
                    around.tell(Output::Computed(done));
                }
            }
            Kind::Read(_) => {
                if let Some(delivery) = self.subsystem.read(now, Span::ZERO) {
                    around.tell(Output::Delivered(delivery));
                }
            }
            Kind::Interrupt(_) => unreachable!("interrupts have their own place"),
        }
    }

    /// The link has been scheduled, and the packet goes.
    fn hand_over(&mut self, around: &mut impl Around<Output<Slot>>) {
        let packet = self.handing.take().expect("the link was scheduled for a packet");
        let link = self.subsystem.link_of(around.packets().at(packet).channel);
        around.tell(Output::Transmit(link, packet));
    }

    /// Schedules links in an interrupt, where that is done there.
    fn schedule_links(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) {
        if let Some(packet) = self.subsystem.interrupt_transmit(now) {
            let of = around.packets().at(packet);
            let cost = cost_of_transmit(&self.costs, self.paradigm, of.size);
            self.handing = Some(packet);
            self.interrupt = Some(Activity::new(now, cost, Use::LinkScheduling, Kind::Transmit(of.channel)));
        }
    }

    fn finish_interrupt(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) {
        let activity = self.interrupt.as_mut().expect("an interrupt runs");
        self.account.log(activity, now, around);
        let schedules_link = activity.masks_interrupts();
        self.interrupt = None;
        if schedules_link {
            self.hand_over(around);
            // Of one link the next completion is another interrupt; of several each may have waited for this one.
            if self.subsystem.links() > 1 {
                self.schedule_links(now, around);
            }
            return;
        }
        let Self { subsystem, senders, .. } = self;
        let Pending { interrupt, link, .. } = self.pending.pop_front().expect("what is served is pending");
        if interrupt.packet().is_some() {
            around.tell(Output::Read(link));
        }
        match interrupt {
            Interrupt::Transmitted(packet) => {
                let packet = around.packets().free(packet);
                subsystem.transmitted(now, packet);
                senders.returned(packet);
            }
            Interrupt::Failed(packet) => {
                let packet = around.packets().free(packet);
                subsystem.failed(now, packet);
                senders.returned(packet);
            }
            Interrupt::Progress(_) | Interrupt::Nothing => {}
            Interrupt::Handshake(packet) => around.tell(Output::Proceed(link, packet)),
            Interrupt::Received(packet) => {
                let packet = around.packets().take(packet);
                // A packet that finds no buffer is in the subsystem's counters.
                let _ = subsystem.receive(now, packet.channel, packet);
            }
            Interrupt::Timer => {
                self.awake = false;
                subsystem.wakeup(now);
            }
        }
        self.schedule_links(now, around);
    }

    /// Takes the CPU from the packet or slice in progress if something more urgent waits and policy allows.
    fn preempt(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) -> bool {
        let gives_way = |a: &Activity| matches!(a.kind, Kind::Process(_) | Kind::Compute(_) | Kind::Read(_));
        if !self.running.as_ref().is_some_and(gives_way) || !self.subsystem.wants_preemption(now) {
            return false;
        }
        let mut activity = self.running.take().expect("a packet is in progress");
        self.account.log(&mut activity, now, around);
        let thread = activity.thread.expect("a thread processes packets");
        // What is left of a switch is lost: whoever comes back is switched to again.
        let left = activity.ends.saturating_since(now).saturating_sub(activity.switch);
        match activity.kind {
            Kind::Compute(_) => drop(self.subsystem.computed(now, left)),
            Kind::Read(_) => drop(self.subsystem.read(now, left)),
            _ => {
                self.left.insert(thread, left);
                self.subsystem.preempt(now);
            }
        }
        true
    }
}

/// Tells how sends were answered.
fn answers(around: &mut impl Around<Output<Slot>>) -> impl FnMut(ChannelId, Bytes, Sent) {
    |channel, size, answer| around.tell(Output::Answered { channel, size, answer })
}
