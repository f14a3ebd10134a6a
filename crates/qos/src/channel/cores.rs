//! A core of the host: its queues, its running thread, and the lock of the link scheduler.
//!
//! Scheduling is *partitioned*, as in most real-time systems: each handler, application and program
//! has one core and waits in that core's queue. Threads do not migrate, so each core by itself is a
//! single CPU.
//!
//! Cores share the path to the links. Any core may queue packets for any link, and the link
//! scheduler is a critical section: one core at a time chooses a packet and hands it to the
//! adapter. A core that has a packet to start and finds the section occupied *spins*. A spinning
//! core takes no interrupt, because the interrupt's routine could wait for ever behind the thread
//! that it stopped. Cores enter first come, first served, as by a ticket lock (Mellor-Crummey and
//! Scott 1991), so that a core waits for at most one critical section of each other core (Gai,
//! Lipari and Di Natale 2001: MSRP). A core that can start no packet, because adapters are full,
//! finds this out without the lock.
//!
//! Putting a packet into a link's queue is part of making the packet, and needs no lock.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use laxity_units::Time;

use super::handler::Running;
use super::policy::Config;
use crate::discipline::{Discipline, Groups, ServerParameters};
use crate::few::Few;
use crate::names::{ChannelId, CoreId, LinkId};

/// An item that waits for the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    Handler(u32),
    Application(u32),
    /// The program of a lane that has a message for it.
    Reader(u32),
}

#[derive(Debug)]
pub(super) struct Core {
    /// Handlers, computing applications and programs that wait.
    pub(super) cpu: Discipline<Ready>,
    /// Applications that wait to send, those of real-time channels first.
    pub(super) applications: [VecDeque<ChannelId>; 2],
    /// Waiting threads of option O3, each by the link that it was created for.
    pub(super) link_threads: VecDeque<LinkId>,
    pub(super) running: Option<Running>,
    /// The running application that computes.
    pub(super) computing: Option<usize>,
    /// The lane of the running program.
    pub(super) reading: Option<usize>,
    /// Beginning of the next budget of an application that has no work; [`Time::MAX`] if there is
    /// none.
    pub(super) next_budget: Time,
    /// The pending wake-up; [`Time::MAX`] if there is none.
    pub(super) awaited: Time,
    /// An item was queued since the flag was last read.
    pub(super) called: bool,
}

impl Core {
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
            cpu: config.order.discipline(&ServerParameters::with(config.early)),
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

    /// Whether a thread that was created for `link` waits for a core.
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

/// The result of a call of the link scheduler; `P` names a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenPacket<P> {
    /// The next packet; the caller now holds the lock.
    Packet(P),
    /// No packet is eligible, or no adapter has a free place.
    Nothing,
    /// A packet is queued and another core has the lock. The caller waits, and calls again when [it
    /// has the lock](super::Subsystem::is_let_in).
    Held,
}

/// The core in the link scheduler, and the cores that wait. A core that has the lock does not call
/// the scheduler before it has handed its packet over.
#[derive(Debug, Default)]
pub(super) struct Lock {
    holder: Option<CoreId>,
    waiting: VecDeque<CoreId>,
}

impl Lock {
    /// Whether `core` has the lock, or the lock is free.
    #[inline]
    pub(super) fn lets_in(&self, core: CoreId) -> bool {
        self.holder.is_none_or(|holder| holder == core)
    }

    #[inline]
    pub(super) fn is_held_by(&self, core: CoreId) -> bool {
        self.holder == Some(core)
    }

    /// `core` takes the lock, which it may.
    #[inline]
    pub(super) fn enter(&mut self, core: CoreId) {
        self.holder = Some(core);
    }

    pub(super) fn wait(&mut self, core: CoreId) {
        debug_assert!(!self.waiting.contains(&core), "who spins asks once");
        self.waiting.push_back(core);
    }

    /// `core` passes the lock to the core that has waited longest, if `core` holds the lock.
    #[inline]
    pub(super) fn leave(&mut self, core: CoreId) {
        if self.is_held_by(core) {
            self.holder = self.waiting.pop_front();
        }
    }
}
