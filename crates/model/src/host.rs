//! A host: cores that spend the CPU time of a communication subsystem.
//!
//! The subsystem ([`laxity_qos::channel`]) makes the decisions and the cores here spend the time
//! for them, as the cost profile says. `host/steps.rs` arbitrates between all users of a core:
//! handlers, the link scheduler, applications that share the processor, and interrupts, which
//! preempt any of them.
//!
//! Most hosts have one core. Each of several cores is a CPU by itself, with the threads placed on
//! it and the interrupts steered to it. They share the subsystem, whose link scheduler runs on one
//! core at a time. After each change all cores are polled, in the order of their numbers, until
//! none has work at that instant.
//!
//! Costs:
//!
//! * switching to another thread costs `C_sw + C_cm` first;
//! * an interrupt costs its entry, an unsolicited poll of the adapter costs a poll, and each
//!   response found costs its removal; then any link scheduling inside the interrupt (`C_l`); then
//!   the interrupted work resumes;
//! * the link scheduler is a critical section, so an interrupt that arrives meanwhile waits for its
//!   end;
//! * a timer costs `timer`, which is zero where the papers' numbers include it in `C_p^1st`;
//! * an idle core that gets work from another core is called by an inter-processor interrupt and
//!   pays `ipi`; a busy core polls its queues anyway, and an event from outside the host costs no
//!   call.

mod account;
mod activity;
mod applications;
mod core;
mod steps;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use laxity_qos::channel::{
    ChannelConfig, ChannelId, Computed, Computing, Config, CoreId, Delivery, Dropped, Label, LinkId,
    LinkParadigm, Packet, Sent, Slot, Subsystem, Thread,
};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::few::Few;
use laxity_units::{Bytes, Span, Time};

use self::core::{Core, Pending};
use crate::around::Around;
use account::Account;
pub use activity::{Busy, Use, Uses, cost_of, cost_of_transmit, use_of};
pub use applications::{Applications, Endless, Senders};

/// Event that an interrupt announces; `P` names a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt<P = Packet> {
    /// The adapter completed the transmission of a packet.
    Transmitted(P),
    /// The adapter lost a packet, by that cause.
    Failed(P, Dropped),
    /// The adapter finished a part of its work; the host has no work to do.
    Progress(P),
    /// As `Progress`, and the adapter waits for a command to proceed.
    Handshake(P),
    /// The adapter received a packet of the named channel of this host.
    Received(P),
    /// A timer that the subsystem set.
    Timer,
    /// The driver polled for responses and found none.
    Nothing,
}

/// First cost of serving an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Entry of the interrupt handler.
    Interrupt,
    /// An unsolicited poll.
    Look,
    /// Entry of the timer handler.
    Timer,
    /// Entry of the handler of another core's call.
    Call,
    /// None: it was found with the one before.
    Further,
}

impl<P> Interrupt<P> {
    /// The packet concerned.
    fn packet(&self) -> Option<&P> {
        match self {
            Interrupt::Transmitted(packet)
            | Interrupt::Failed(packet, _)
            | Interrupt::Progress(packet)
            | Interrupt::Handshake(packet)
            | Interrupt::Received(packet) => Some(packet),
            Interrupt::Timer | Interrupt::Nothing => None,
        }
    }
}

/// An output of the host; `P` names a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Output<P = Packet> {
    /// Hands a packet to the adapter of a link.
    Transmit(LinkId, P),
    /// Commands an adapter to proceed with a packet.
    Proceed(LinkId, P),
    /// Result of an application's send.
    Answered {
        /// The channel.
        channel: ChannelId,
        /// Size of the message.
        size: Bytes,
        /// The result.
        answer: Sent,
    },
    /// A message reached its application.
    Delivered(Delivery),
    /// A message that had been accepted here or elsewhere lost packets here, or all of it.
    Lost {
        /// The channel.
        channel: ChannelId,
        /// The number of the message.
        message: u64,
    },
    /// An application finished a computation budget.
    Computed(Computed),
    /// The CPU was busy; only while recording is on.
    Busy(Busy),
    /// The host has removed a response from the adapter's queue of that number.
    Read(LinkId, u32),
    /// The CPU begins to copy, and occupies the memory bus for this time.
    Copies(Span),
}

/// A hash with fixed keys: iteration order never matters here, and no run may depend on the
/// machine's keys.
type Fixed = BuildHasherDefault<std::hash::DefaultHasher>;

/// A host and its cores.
#[derive(Debug)]
pub struct Host {
    /// Shared by all hosts of the same kind.
    costs: Arc<HostCosts>,
    paradigm: LinkParadigm,
    /// A packet can be preempted before its end.
    preemptive: bool,
    subsystem: Subsystem,
    senders: Senders,
    cores: Few<Core>,
    /// By link, the cores that its adapter's response queues interrupt, in turn; the first core by
    /// default.
    steering: Vec<Vec<CoreId>>,
    /// The packet that link scheduling is running for; at most one, since it is a critical section.
    handing: Option<Slot>,
    /// Remaining time of preempted packets.
    left: HashMap<Thread, Span, Fixed>,
    account: Account,
    /// Time of the next due call; `Time::MAX` for never.
    due: Time,
}

impl Host {
    /// An idle host.
    pub fn new(
        costs: impl Into<Arc<HostCosts>>,
        config: impl Into<Arc<Config>>,
        placement: Applications,
    ) -> Self {
        let config = config.into();
        Self {
            costs: costs.into(),
            paradigm: config.link.paradigm,
            preemptive: config.preemption.immediate,
            senders: Senders::new(placement),
            cores: Few::new(config.cores.into(), |_| Core::default()),
            steering: Vec::new(),
            handing: None,
            left: HashMap::default(),
            account: Account::new(usize::from(config.cores)),
            subsystem: Subsystem::new(config),
            due: Time::MAX,
        }
    }

    /// Sets the cores that the response queues of the adapter of `link` interrupt, in turn; before
    /// the run. Panics if `cores` is empty or has an unknown core.
    pub fn steer(&mut self, link: LinkId, cores: &[CoreId]) {
        assert!(cores.iter().all(|core| usize::from(core.0) < self.cores.len()), "interrupts go to cores");
        let links = self.steering.len().max(usize::from(link.0) + 1);
        self.steering.resize(links, vec![CoreId::FIRST]);
        assert!(!cores.is_empty(), "interrupts go somewhere");
        self.steering[usize::from(link.0)] = cores.to_vec();
    }

    /// The core that response queue `queue` of the adapter of `link` interrupts.
    #[inline]
    pub(crate) fn steered(&self, link: LinkId, queue: u32) -> CoreId {
        if self.cores.is_one() {
            return CoreId::FIRST;
        }
        match self.steering.get(usize::from(link.0)) {
            Some(cores) => cores[queue as usize % cores.len()],
            None => CoreId::FIRST,
        }
    }

    /// Also outputs the CPU's activity, for a trace.
    pub fn record(&mut self) {
        self.account.recording = true;
    }

    /// The subsystem, read-only.
    pub fn subsystem(&self) -> &Subsystem {
        &self.subsystem
    }

    /// Prefetches the sender state of a channel for a message that is about to arrive.
    #[inline]
    pub(crate) fn fetch_sender(&self, channel: ChannelId, label: Label) {
        self.senders.fetch(channel, label);
        self.account.fetch();
        self.subsystem.fetch_sender(channel, label);
    }

    /// Sets the groups of channels that have a common rate, before the run.
    pub fn group(&mut self, groups: &laxity_qos::discipline::Groups) {
        self.subsystem.group(groups);
    }

    /// Opens a channel, before the run.
    pub fn open(&mut self, config: ChannelConfig) -> ChannelId {
        let id = self.subsystem.open(config).expect("fewer channels than numbers");
        self.senders.open(id, config.application);
        id
    }

    /// Opens a channel by a number that is the same at every host of its path.
    ///
    /// # Panics
    ///
    /// If a channel of this host has the number.
    pub fn open_as(&mut self, id: ChannelId, config: ChannelConfig) {
        self.subsystem.open_as(id, config).expect("each channel has a number of its own");
        self.senders.open(id, config.application);
    }

    /// Adds a link through another adapter, with transmission times by `speed`; before the run.
    pub(crate) fn add_link(&mut self, speed: LinkCosts) -> LinkId {
        self.subsystem.add_link(speed)
    }

    /// Adds a computing application, before the run; returns its number.
    pub fn compute(&mut self, config: Computing) -> u32 {
        let number = self.subsystem.compute(config);
        self.account.computed.push(Span::ZERO);
        let core = &mut self.cores[usize::from(config.core.0)];
        core.wakeup = core.wakeup.min(self.subsystem.next_awaited(config.core, Time::ZERO));
        self.due = self.due.min(core.wakeup);
        number
    }

    /// CPU time of each computing application since the start, in finished activities.
    pub fn computed(&self) -> &[Span] {
        &self.account.computed
    }

    /// CPU time of each core by use since the start, in finished activities.
    pub fn uses(&self) -> &[Uses] {
        &self.account.uses
    }

    /// CPU time by core and by application, including activities in progress at `now`.
    pub fn uses_until(&self, now: Time) -> (Vec<Uses>, Vec<Span>) {
        let (mut uses, mut computed) = (self.account.uses.clone(), self.account.computed.clone());
        for (uses, core) in uses.iter_mut().zip(self.cores.iter()) {
            let Some(activity) = core.under_way() else { continue };
            let (switching, working) = activity.spent(now);
            uses.add(Use::Switch, switching);
            uses.add(activity.used, working);
            if let activity::Kind::Compute(application) = activity.kind {
                computed[application as usize] += working;
            }
        }
        (uses, computed)
    }

    /// The application of `channel` has a message to send. Here and below, `around` holds the
    /// packets and receives the outputs.
    pub fn offer(
        &mut self,
        now: Time,
        channel: ChannelId,
        size: Bytes,
        around: &mut impl Around<Output<Slot>>,
    ) {
        self.senders.offer(now, channel, size, &mut self.subsystem, &mut answers(around));
        self.came_from_outside();
        self.settle(now, around);
    }

    /// From now on the application of `channel` always has another message.
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
        let entry = if interrupt == Interrupt::Timer { Entry::Timer } else { Entry::Interrupt };
        self.notice(now, (LinkId::FIRST, 0), interrupt, entry, around);
    }

    /// A response queue of a link's adapter has a response, with or without an interrupt.
    pub(crate) fn notice(
        &mut self,
        now: Time,
        (link, queue): (LinkId, u32),
        interrupt: Interrupt<Slot>,
        entry: Entry,
        around: &mut impl Around<Output<Slot>>,
    ) {
        let core = self.steered(link, queue);
        let core = &mut self.cores[usize::from(core.0)];
        // A core that polls already need not begin again.
        if interrupt != Interrupt::Nothing || !core.looks(entry, (link, queue)) {
            core.pending.push_back(Pending { interrupt, entry, link, queue });
            self.settle(now, around);
        }
    }

    /// Whether polling for responses takes time.
    pub(crate) fn pays_for_looks(&self) -> bool {
        !self.costs.poll.is_zero()
    }

    /// Advances to the time that [`next_deadline`](Self::next_deadline) named.
    pub fn timer(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) {
        self.settle(now, around);
    }

    /// Time at which [`timer`](Self::timer) is next due, unless an input arrives before.
    pub fn next_deadline(&self) -> Option<Time> {
        self.due().named()
    }

    /// As `next_deadline`; `Time::MAX` for never.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        self.due
    }
}

/// Outputs the results of sends.
fn answers(around: &mut impl Around<Output<Slot>>) -> impl FnMut(ChannelId, Bytes, Sent) {
    |channel, size, answer| around.tell(Output::Answered { channel, size, answer })
}
