//! END's part of a host that receives: adapters that hold packets, post commands and interrupt.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use laxity_engine::Doorbell;
use laxity_machine::ring::{Consumer, Watcher};
use laxity_machine::signal::Raise;
use laxity_model::reception::{Arrived, Interface, InterfaceReport, Reception, ReceptionUses};
use laxity_qos::reception::{Operations, Policy};
use laxity_units::{Span, Time};
use laxity_world::receiving::ReceivingHost;

/// When an interrupt that the system would not send is tried again.
const RETRY: Span = Span::from_us(100);

/// What became of a packet, and when.
pub(super) type Outcome = (Time, Reception);

/// What the host uses its CPU for, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Signals,
    Switches,
    Announcements,
    Protocol,
    Wasted,
    Program,
    Beside,
}

/// What adapters and host have in common.
pub(super) struct Shared {
    interfaces: Vec<Mutex<Interface>>,
    /// Per interface: its interrupt is under way, and the host has not heard it.
    pub(super) raised: Vec<AtomicBool>,
    /// The host hears no interrupt: it is in a routine.
    pub(super) masked: AtomicBool,
    /// Packets that the program has before it.
    pub(super) backlog: AtomicU32,
    /// Something has changed that interrupts depend on.
    pub(super) changed: AtomicBool,
    /// The run is over.
    pub(super) over: AtomicBool,
    /// Picoseconds by use.
    uses: [AtomicU64; 7],
    pub(super) spins: bool,
}

impl Shared {
    pub(super) fn new(interfaces: Vec<Interface>) -> Self {
        Self {
            raised: interfaces.iter().map(|_| AtomicBool::new(false)).collect(),
            spins: interfaces.iter().any(|interface| interface.policy.spins()),
            interfaces: interfaces.into_iter().map(Mutex::new).collect(),
            masked: AtomicBool::new(false),
            backlog: AtomicU32::new(0),
            changed: AtomicBool::new(false),
            over: AtomicBool::new(false),
            uses: [const { AtomicU64::new(0) }; 7],
        }
    }

    pub(super) fn count(&self) -> usize {
        self.interfaces.len()
    }

    pub(super) fn interface(&self, interface: usize) -> MutexGuard<'_, Interface> {
        self.interfaces[interface].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells END that what interrupts depend on has changed.
    pub(super) fn change(&self) {
        self.changed.store(true, Ordering::Release);
    }

    pub(super) fn account(&self, used: Use, span: Span) {
        self.uses[used as usize].fetch_add(span.as_ps(), Ordering::Relaxed);
    }

    /// Moves `span` of the protocol to what was wasted.
    pub(super) fn waste(&self, span: Span) {
        self.uses[Use::Protocol as usize].fetch_sub(span.as_ps(), Ordering::Relaxed);
        self.account(Use::Wasted, span);
    }

    fn used(&self, of: Use) -> Span {
        Span::from_ps(self.uses[of as usize].load(Ordering::Relaxed))
    }
}

/// Rings when the host has something to say.
pub(super) struct Bell {
    shared: Arc<Shared>,
    outcomes: Watcher<Outcome>,
}

impl Doorbell for Bell {
    #[inline]
    fn is_rung(&mut self) -> bool {
        self.shared.changed.load(Ordering::Acquire) || !self.outcomes.is_empty()
    }
}

/// The adapters of a host in a thread: the world's host that receives.
pub(super) struct Adapters {
    shared: Arc<Shared>,
    raise: Raise,
    outcomes: Consumer<Outcome>,
    /// A packet that found no slot, until the world has heard.
    lost: Option<Outcome>,
    /// What the world was told last.
    told: Option<Outcome>,
    /// When there is something to do without being told.
    deadline: Option<Time>,
    account: Account,
}

/// Packets over a whole run, as END counts them by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// That came in.
    pub offered: u64,
    /// That the program, or the protocol where there is none, has done with.
    pub delivered: u64,
    /// That were dropped, wherever.
    pub dropped: u64,
}

impl Adapters {
    pub(super) fn new(shared: Arc<Shared>, raise: Raise, outcomes: Consumer<Outcome>) -> Self {
        Self { shared, raise, outcomes, lost: None, told: None, deadline: None, account: Account::default() }
    }

    pub(super) fn doorbell(&self) -> Bell {
        Bell { shared: self.shared.clone(), outcomes: self.outcomes.watcher() }
    }

    pub(super) fn account(&self) -> Account {
        self.account
    }

    /// Ends the run for the host; when that has ended, what it gives counts the outcomes that nobody heard.
    pub(super) fn close(mut self) -> impl FnOnce() -> u64 {
        self.shared.over.store(true, Ordering::Release);
        move || std::iter::from_fn(|| self.outcomes.pop()).count() as u64
    }

    /// Interrupts where a policy says that it is time, and notes when the next time will be.
    fn look(&mut self, now: Time) {
        self.deadline = None;
        let masked = self.shared.masked.load(Ordering::Acquire);
        let backlog = self.shared.backlog.load(Ordering::Acquire);
        let mut raise = false;
        for i in 0..self.shared.count() {
            let mut interface = self.shared.interface(i);
            interface.transferred(now);
            self.deadline = Time::earlier(self.deadline, interface.transfer_ends());
            // While one is under way, or none is heard, the host says when that is over.
            if masked || self.shared.raised[i].load(Ordering::Acquire) {
                continue;
            }
            match interface.interrupt_at(backlog) {
                Some(at) if at <= now => {
                    self.shared.raised[i].store(true, Ordering::Release);
                    raise = true;
                }
                at => self.deadline = Time::earlier(self.deadline, at),
            }
        }
        if raise && self.raise.raise().is_err() {
            // The system's queue of signals is full, or the host has ended, as it does when the run is over: try again.
            self.shared.raised.iter().for_each(|raised| raised.store(false, Ordering::Release));
            self.deadline = Time::earlier(self.deadline, Some(now + RETRY));
        }
    }

    /// What has become of a packet, and when.
    pub(super) fn next_outcome(&mut self) -> Option<Outcome> {
        let outcome = self.lost.take().or_else(|| self.outcomes.take())?;
        match outcome.1.lost {
            None => self.account.delivered += 1,
            Some(_) => self.account.dropped += 1,
        }
        Some(outcome)
    }
}

impl ReceivingHost for Adapters {
    fn arrive(&mut self, now: Time, interface: usize, packet: Arrived) -> bool {
        self.account.offered += 1;
        let lost = &mut self.lost;
        let mut lose = |packet, cause| *lost = Some((now, Reception::dropped(packet, cause)));
        self.shared.interface(interface).accept(now, packet, &mut lose);
        self.look(now);
        true
    }

    fn timer(&mut self, now: Time) {
        // Before the look: what changes during it is looked at again. A plain store could pass the loads of the look, and take
        // back what the host has said meanwhile.
        self.shared.changed.swap(false, Ordering::AcqRel);
        self.look(now);
    }

    fn next_deadline(&self) -> Option<Time> {
        self.deadline
    }

    fn next_output(&mut self) -> Option<&(Time, Reception)> {
        self.told = self.next_outcome();
        self.told.as_ref()
    }

    fn uses(&self, _now: Time) -> ReceptionUses {
        ReceptionUses {
            signals: self.shared.used(Use::Signals),
            switches: self.shared.used(Use::Switches),
            announcements: self.shared.used(Use::Announcements),
            protocol: self.shared.used(Use::Protocol),
            wasted: self.shared.used(Use::Wasted),
            program: self.shared.used(Use::Program),
        }
    }

    fn beside(&self) -> Option<Span> {
        Some(self.shared.used(Use::Beside))
    }

    fn spins(&self) -> bool {
        self.shared.spins
    }

    fn report(&self, interface: usize) -> InterfaceReport {
        self.shared.interface(interface).report
    }

    fn change_policy(&mut self, _: Time, _: usize, _: Policy, _: Option<Span>) {
        unreachable!("a scenario in real time has no commands");
    }
}
