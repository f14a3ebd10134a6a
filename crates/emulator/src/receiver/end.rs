//! END's part of a receiving host: adapters that hold packets, post commands and interrupt.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use laxity_engine::InputDoorbell;
use laxity_machine::ring::{Consumer, Watcher};
use laxity_machine::signal::Raise;
use laxity_model::reception::{Arrived, Interface, InterfaceReport, Reception, ReceptionUses};
use laxity_qos::reception::{Operations, Policy};
use laxity_units::{Span, Time};
use laxity_world::receiving::ReceivingHost;

/// Delay before a refused interrupt is retried.
const RETRY: Span = Span::from_us(100);

/// Outcome of a packet, and its time.
pub(super) type Outcome = (Time, Reception);

/// Uses of the host's CPU, for accounting.
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

pub(super) struct Shared {
    interfaces: Vec<Mutex<Interface>>,
    /// Per interface: its interrupt is in flight, not handled by the host yet.
    pub(super) raised: Vec<AtomicBool>,
    /// Interrupts are masked: the host is in a routine.
    pub(super) masked: AtomicBool,
    /// Packets queued for the program.
    pub(super) backlog: AtomicU32,
    /// State has changed on which interrupts depend.
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

    /// Notifies END of a change on which interrupts depend.
    pub(super) fn change(&self) {
        self.changed.store(true, Ordering::Release);
    }

    pub(super) fn account(&self, used: Use, span: Span) {
        self.uses[used as usize].fetch_add(span.as_ps(), Ordering::Relaxed);
    }

    /// Moves `span` from protocol to wasted time.
    pub(super) fn waste(&self, span: Span) {
        self.uses[Use::Protocol as usize].fetch_sub(span.as_ps(), Ordering::Relaxed);
        self.account(Use::Wasted, span);
    }

    fn used(&self, of: Use) -> Span {
        Span::from_ps(self.uses[of as usize].load(Ordering::Relaxed))
    }
}

/// Rings when the host has an outcome or has changed state.
pub(super) struct Bell {
    shared: Arc<Shared>,
    outcomes: Watcher<Outcome>,
}

impl InputDoorbell for Bell {
    #[inline]
    fn is_rung(&mut self) -> bool {
        self.shared.changed.load(Ordering::Acquire) || !self.outcomes.is_empty()
    }
}

/// Adapters of a host in a thread: the world's receiving host.
pub(super) struct Adapters {
    shared: Arc<Shared>,
    raise: Raise,
    outcomes: Consumer<Outcome>,
    /// Packet that found no slot, until the world has taken its outcome.
    lost: Option<Outcome>,
    /// Last outcome passed to the world.
    told: Option<Outcome>,
    /// Time of the next action without a notification.
    deadline: Option<Time>,
    account: Account,
}

/// Packet counts over a whole run, counted by END itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// Arrived packets.
    pub offered: u64,
    /// Packets completed by the program, or by the protocol if there is none.
    pub delivered: u64,
    /// Packets dropped anywhere.
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

    /// Ends the run for the host; once that has ended, the returned function counts the outcomes
    /// not taken.
    pub(super) fn close(mut self) -> impl FnOnce() -> u64 {
        self.shared.over.store(true, Ordering::Release);
        move || std::iter::from_fn(|| self.outcomes.pop()).count() as u64
    }

    /// Interrupts where a policy requires it, and sets the next deadline.
    fn look(&mut self, now: Time) {
        self.deadline = None;
        let masked = self.shared.masked.load(Ordering::Acquire);
        let backlog = self.shared.backlog.load(Ordering::Acquire);
        let mut raise = false;
        for i in 0..self.shared.count() {
            let mut interface = self.shared.interface(i);
            interface.transferred(now);
            self.deadline = Time::earlier(self.deadline, interface.transfer_ends());
            // While an interrupt is in flight or masked, the host reports the end of that state.
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
            // The system's queue of signals is full, or the host has ended, as at the end of the
            // run: retry.
            self.shared.raised.iter().for_each(|raised| raised.store(false, Ordering::Release));
            self.deadline = Time::earlier(self.deadline, Some(now + RETRY));
        }
    }

    /// Next outcome of a packet, and its time.
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
        // Cleared before the check, so that changes during it cause another one. A plain store
        // could be reordered after the loads of the check, and erase a change reported meanwhile.
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
