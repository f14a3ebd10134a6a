//! A host: cores that pay for the steps of a communication subsystem.
//!
//! The subsystem ([`laxity_qos::channel`]) decides what to do and the cores here spend the time for it, as
//! the cost profile says. Everything that competes for a core meets in `host/steps.rs`: handlers, the link
//! scheduler, applications that share the processor, and interrupts, which take it from any of them.
//!
//! Most hosts have one core. Of several each is a CPU by itself, with what is placed on it and the interrupts that are steered to it; what is shared is the subsystem,
//! whose link scheduler one core is in at a time (see there). Whatever changes, all of them are looked at, in the order of their numbers, until
//! none has anything to do at that instant.
//!
//! What costs what:
//!
//! * running another thread than the last one costs `C_sw + C_cm` first;
//! * an interrupt costs its entry, a look at the adapter that nobody asked for what a look costs, and each response so found what
//!   taking it costs; then whatever link scheduling is done inside it (`C_l`), and then the interrupted work goes on where it was;
//! * the link scheduler is a critical section, so an interrupt that comes meanwhile waits for its end;
//! * a timer costs `timer`, which is nothing where the papers' numbers have it in `C_p^1st`;
//! * a core that has gone to sleep for want of work, and is given some by what another core does, is called by an inter-processor interrupt and
//!   pays `ipi`; who is busy looks at its queues anyway, and what comes from outside the host costs no call.

mod account;
mod activity;
mod applications;
mod core;
mod steps;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use laxity_qos::channel::{
    ChannelConfig, ChannelId, Computed, Computing, Config, CoreId, Delivery, Label, LinkId, LinkParadigm,
    Packet, Sent, Slot, Subsystem, Thread,
};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::few::Few;
use laxity_units::{Bytes, Span, Time};

use self::core::{Core, Pending};
use crate::around::Around;
use account::Account;
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
    /// The way into a timer's routine.
    Timer,
    /// That of another core's call.
    Call,
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
    /// The host has taken a response of an adapter out of the queue of that number.
    Read(LinkId, u32),
    /// The CPU begins to copy, and has the memory bus for so long.
    Copies(Span),
}

/// A hash of fixed keys: iteration order never matters here, yet no run may depend on the machine's.
type Fixed = BuildHasherDefault<std::hash::DefaultHasher>;

/// A host and its cores.
#[derive(Debug)]
pub struct Host {
    /// Those of all hosts that are alike.
    costs: Arc<HostCosts>,
    paradigm: LinkParadigm,
    /// A packet in progress gives way in its middle.
    preemptive: bool,
    subsystem: Subsystem,
    senders: Senders,
    cores: Few<Core>,
    /// By link, the cores that its adapter's response queues interrupt, in turn; all the first where nothing else was said.
    steering: Vec<Vec<CoreId>>,
    /// The packet that the link is scheduled for, while it is; a critical section, so there is one at a time.
    handing: Option<Slot>,
    /// What is left of packets that were preempted in the middle.
    left: HashMap<Thread, Span, Fixed>,
    account: Account,
    /// When it next wants to be called, since it was last; `Time::MAX` for never.
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

    /// The response queues of the adapter of `link` interrupt these cores, in turn; before the run. Panics if there is none.
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

    /// Also puts out what the CPU does, for a trace.
    pub fn record(&mut self) {
        self.account.recording = true;
    }

    /// The subsystem, to look at.
    pub fn subsystem(&self) -> &Subsystem {
        &self.subsystem
    }

    /// A message comes for a channel, which is kept there.
    #[inline]
    pub(crate) fn fetch_sender(&self, channel: ChannelId, label: Label) {
        self.senders.fetch(channel, label);
        self.account.fetch();
        self.subsystem.fetch_sender(channel, label);
    }

    /// Says which groups of channels have a rate together, before the run.
    pub fn group(&mut self, groups: &laxity_qos::discipline::Groups) {
        self.subsystem.group(groups);
    }

    /// The subsystem, to open channels in before the run.
    pub fn open(&mut self, config: ChannelConfig) -> ChannelId {
        let id = self.subsystem.open(config).expect("fewer channels than numbers");
        self.senders.open(id, config.application);
        id
    }

    /// Opens a channel by a number of its own, which it has at every host of its path.
    ///
    /// # Panics
    ///
    /// If a channel of this host has the number.
    pub fn open_as(&mut self, id: ChannelId, config: ChannelConfig) {
        self.subsystem.open_as(id, config).expect("each channel has a number of its own");
        self.senders.open(id, config.application);
    }

    /// Adds a link that leads through another adapter, on which a packet takes what `speed` says; before the run.
    pub(crate) fn add_link(&mut self, speed: LinkCosts) -> LinkId {
        self.subsystem.add_link(speed)
    }

    /// Adds an application that computes, before the run; answers its number.
    pub fn compute(&mut self, config: Computing) -> u32 {
        let number = self.subsystem.compute(config);
        self.account.computed.push(Span::ZERO);
        let core = &mut self.cores[usize::from(config.core.0)];
        core.wakeup = core.wakeup.min(self.subsystem.next_awaited(config.core, Time::ZERO));
        self.due = self.due.min(core.wakeup);
        number
    }

    /// CPU time in which each application that computes did, since the start, in what is over.
    pub fn computed(&self) -> &[Span] {
        &self.account.computed
    }

    /// CPU time by use since the start, of each core, in what is over.
    pub fn uses(&self) -> &[Uses] {
        &self.account.uses
    }

    /// Both with what is under way at `now`: by core, and by application.
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
        self.came_from_outside();
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
        let entry = if interrupt == Interrupt::Timer { Entry::Timer } else { Entry::Interrupt };
        self.notice(now, (LinkId::FIRST, 0), interrupt, entry, around);
    }

    /// A response queue of the adapter of a link has something to say, by an interrupt of its own or not.
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
        // Who is looking already need not begin again.
        if interrupt != Interrupt::Nothing || !core.looks(entry, (link, queue)) {
            core.pending.push_back(Pending { interrupt, entry, link, queue });
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
        self.due
    }
}

/// Tells how sends were answered.
fn answers(around: &mut impl Around<Output<Slot>>) -> impl FnMut(ChannelId, Bytes, Sent) {
    |channel, size, answer| around.tell(Output::Answered { channel, size, answer })
}
