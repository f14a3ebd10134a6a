//! A core of the host: who waits for it, who has it, and the lock of what all cores share.
//!
//! Scheduling is *partitioned*, as real-time systems mostly have it: each handler, application and program has one core, where it waits
//! in a queue of that core's own, all of one discipline. Nobody migrates, so a core by itself is the one CPU that it always was.
//!
//! What cores share is the way out. Packets lie in the queues of the links, whoever made them, and the link scheduler is a critical
//! section: from when a packet is chosen until it is handed to its adapter one core is in it at a time. A core that finds somebody else in
//! there and a packet to start *spins*: it does nothing else and takes no interrupt, or the interrupt's routine could wait behind the thread
//! that it stopped, for ever. They are let in first come, first served, as by a ticket lock (Mellor-Crummey and Scott 1991), so that
//! nobody waits for more than one critical section of each other core (Gai, Lipari and Di Natale 2001: MSRP). Whoever finds nothing to
//! start, because adapters are full, sees that without the lock and goes on.
//!
//! Putting a packet into a link's queue is part of making it, and needs no lock.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use laxity_units::Time;

use super::handler::Running;
use super::policy::Config;
use crate::discipline::{Discipline, Groups, Server};
use crate::few::Few;
use crate::names::{ChannelId, CoreId, LinkId};

/// Who waits for the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    /// A handler.
    Handler(u32),
    /// An application that computes.
    Application(u32),
    /// The program of a lane that has a message for it.
    Reader(u32),
}

/// A core.
#[derive(Debug)]
pub(super) struct Core {
    /// Handlers, applications that compute and programs that wait for it.
    pub(super) cpu: Discipline<Ready>,
    /// Applications that wait for it to send, those of real-time channels first.
    pub(super) applications: [VecDeque<ChannelId>; 2],
    /// Threads of option O3 that wait for it, each by the link that it was created for.
    pub(super) link_threads: VecDeque<LinkId>,
    /// The handler that has it.
    pub(super) running: Option<Running>,
    /// The application that computes on it.
    pub(super) computing: Option<usize>,
    /// The lane whose program has it.
    pub(super) reading: Option<usize>,
    /// When an application of its that has nothing to do is next given something; [`Time::MAX`] if none will be.
    pub(super) next_budget: Time,
    /// The wake-up that was asked for last and has not come; [`Time::MAX`] if none was.
    pub(super) awaited: Time,
    /// Somebody has been put in line for it since it was last asked whether.
    pub(super) called: bool,
}

impl Core {
    /// Whether an application waits for it to send.
    #[inline]
    pub(super) fn has_applications(&self) -> bool {
        self.applications.iter().any(|queue| !queue.is_empty())
    }
}

/// The cores of a host, at least one.
#[derive(Debug)]
pub(super) struct Cores(Few<Core>);

impl Cores {
    pub(super) fn new(config: &Config) -> Self {
        let core = |_| Core {
            cpu: config.order.discipline(&Server::with(config.early)),
            applications: [VecDeque::new(), VecDeque::new()],
            link_threads: VecDeque::new(),
            running: None,
            computing: None,
            reading: None,
            next_budget: Time::MAX,
            awaited: Time::MAX,
            called: false,
        };
        Self(Few::new(config.cores.into(), core))
    }

    pub(super) fn group(&mut self, groups: &Groups) {
        self.0.each(|core| core.cpu.group(groups));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Core> {
        self.0.iter()
    }

    /// Whether a thread waits for one of them that was created for `link`.
    pub(super) fn have_thread_for(&self, link: LinkId) -> bool {
        self.0.iter().any(|core| core.link_threads.contains(&link))
    }
}

impl Index<CoreId> for Cores {
    type Output = Core;

    #[inline]
    fn index(&self, core: CoreId) -> &Core {
        &self.0[usize::from(core.0)]
    }
}

impl IndexMut<CoreId> for Cores {
    #[inline]
    fn index_mut(&mut self, core: CoreId) -> &mut Core {
        &mut self.0[usize::from(core.0)]
    }
}

/// What calling the link scheduler came to; `P` is by what a packet is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken<P> {
    /// The packet that is next, and the lock with it.
    Packet(P),
    /// There is none, or no adapter has a place.
    Nothing,
    /// There is one, and another core has the lock: this one waits for it, and is to call again when
    /// [it has it](super::Subsystem::is_let_in).
    Held,
}

/// Who is in the link scheduler, and who is next. It is not asked for by a core that has it: until the packet is handed over that does nothing else.
#[derive(Debug, Default)]
pub(super) struct Lock {
    holder: Option<CoreId>,
    waiting: VecDeque<CoreId>,
}

impl Lock {
    /// Whether `core` has the lock, or it is free.
    #[inline]
    pub(super) fn lets_in(&self, core: CoreId) -> bool {
        self.holder.is_none_or(|holder| holder == core)
    }

    /// Whether `core` has it.
    #[inline]
    pub(super) fn is_held_by(&self, core: CoreId) -> bool {
        self.holder == Some(core)
    }

    /// `core`, which may, takes it.
    #[inline]
    pub(super) fn enter(&mut self, core: CoreId) {
        self.holder = Some(core);
    }

    /// `core` gets in line.
    pub(super) fn wait(&mut self, core: CoreId) {
        debug_assert!(!self.waiting.contains(&core), "who spins asks once");
        self.waiting.push_back(core);
    }

    /// `core` gives it to whoever has waited longest, if it has it.
    #[inline]
    pub(super) fn leave(&mut self, core: CoreId) {
        if self.is_held_by(core) {
            self.holder = self.waiting.pop_front();
        }
    }
}
