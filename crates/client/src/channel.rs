//! The sending end of a channel.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use laxity_vi::provider::sleep;
use nix::time::{ClockId, clock_gettime};

use crate::client::Inner;
use crate::error::Error;
use crate::outbox::{MESSAGE, OutboxSlot, SlotState};
use crate::protocol::{ChannelName, Contract, ProgramRequest, Reply};
use crate::ring::RingRecord;

/// A sleep is at most so long, so that the end of the daemon is noticed.
const LOOK: Duration = Duration::from_millis(50);
/// Checks before the first sleep, some 3 us: a daemon that is awake on another processor answers
/// within that time.
const SPINS: u32 = 100;
/// The same if the daemon shares the processor: it runs when this thread yields.
const YIELDS: u32 = 3;

/// The sending end of an established channel. Dropping it closes the channel.
#[derive(Debug)]
pub struct Channel {
    inner: Arc<Inner>,
    slot: OutboxSlot,
    number: u32,
    name: ChannelName,
    route: Vec<String>,
    /// As far as `changes` are known.
    contract: Contract,
    changes: u32,
    /// Messages put into the outbox.
    sent: u64,
    /// The daemon slept when the last one was put there.
    slept: bool,
    closed: bool,
}

/// Nanoseconds of `CLOCK_MONOTONIC`, the clock of the daemon.
fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Channel {
    pub(crate) fn new(
        inner: &Arc<Inner>,
        number: u32,
        name: ChannelName,
        route: Vec<String>,
        contract: Contract,
    ) -> Result<Self, Error> {
        Ok(Self {
            inner: inner.clone(),
            slot: inner.slot(number)?,
            number,
            name,
            route,
            contract,
            changes: 0,
            sent: 0,
            slept: false,
            closed: false,
        })
    }

    /// The channel.
    pub fn name(&self) -> ChannelName {
        self.name
    }

    /// The names of the nodes on the route, the ends included.
    pub fn route(&self) -> &[String] {
        &self.route
    }

    /// The contract in force. An administrator may change it ([`Event::Changed`](crate::Event)).
    pub fn contract(&self) -> Contract {
        match self.inner.changes() == self.changes {
            true => self.contract,
            false => self.inner.contract(self.number).unwrap_or(self.contract),
        }
    }

    /// Takes over a contract that changed.
    fn follow(&mut self) {
        let changes = self.inner.changes();
        if changes != self.changes {
            (self.contract, self.changes) = (self.contract(), changes);
        }
    }

    /// Sends a message, and returns when the daemon has accepted it. It waits until the message is
    /// within the contract.
    ///
    /// # Errors
    /// [`Error::Length`], or [`Error::Lost`] or [`Error::Ended`] if the channel is over;
    /// [`Error::Forked`].
    pub fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        self.wait(|channel| channel.answered() >= channel.sent)?;
        loop {
            let at = self.slot.room_at().load(Ordering::Acquire);
            let left = Duration::from_nanos(at.saturating_sub(now()));
            if !left.is_zero() {
                self.check()?;
                std::thread::park_timeout(left.min(LOOK));
                continue;
            }
            match self.try_send(message) {
                // A full outbox, which the daemon reads within microseconds, or one that was full
                // for longer than the contract's burst.
                Err(Error::Excess) => std::thread::park_timeout(Duration::from_micros(20)),
                outcome => return outcome,
            }
        }
    }

    /// Sends a message if it is within the contract now, and returns when the daemon has accepted
    /// it.
    ///
    /// # Errors
    /// [`Error::Excess`] if the message is beyond the contract, which the message then has not
    /// used; [`Error::Length`]; [`Error::Lost`]; [`Error::Ended`]; [`Error::Forked`].
    pub fn try_send(&mut self, message: &[u8]) -> Result<(), Error> {
        self.wait(|channel| channel.answered() >= channel.sent)?;
        let refused = self.slot.refused().load(Ordering::Acquire);
        self.post(message)?;
        self.wait(|channel| channel.answered() >= channel.sent)?;
        if self.slot.refused().load(Ordering::Acquire) == refused { Ok(()) } else { Err(Error::Excess) }
    }

    /// Hands a message to the daemon without waiting for its decision, which
    /// [`excess`](Self::excess) counts.
    ///
    /// # Errors
    /// [`Error::Excess`] if the outbox is full; [`Error::Length`]; [`Error::Lost`]; [`Error::Ended`];
    /// [`Error::Forked`].
    pub fn post(&mut self, message: &[u8]) -> Result<(), Error> {
        self.inner.check_owner()?;
        self.follow();
        let Contract { min_message, max_message, .. } = self.contract;
        if !(min_message as usize..=max_message as usize).contains(&message.len()) {
            return Err(Error::Length);
        }
        self.check()?;
        let record = RingRecord { kind: MESSAGE, words: [self.number.into(), self.sent, 0] };
        self.slept = self.inner.push(record, message).ok_or(Error::Excess)?;
        self.sent += 1;
        Ok(())
    }

    /// Waits until this node has transmitted all accepted messages. With [`send`](Self::send) it is
    /// the blocking call of the papers (thesis 3.2).
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Ended`], [`Error::Forked`].
    pub fn drain(&mut self) -> Result<(), Error> {
        self.inner.check_owner()?;
        self.wait(|channel| channel.answered() >= channel.sent)?;
        self.wait(|channel| {
            let packets = channel.slot.packets().load(Ordering::Acquire);
            channel.slot.transmitted().load(Ordering::Acquire) >= packets
        })
    }

    /// Asks for another contract, and waits for the outcome. The old one stays if it is refused.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Forked`].
    pub fn renegotiate(&mut self, contract: Contract) -> Result<(), Error> {
        self.inner.check_owner()?;
        self.wait(|channel| channel.answered() >= channel.sent)?;
        // A change by an administrator from here on, before or behind this one, is in the list again.
        self.follow();
        self.inner.forget_contract(self.number);
        match self.inner.ask(ProgramRequest::Change(self.number, contract))?.0 {
            Reply::Done => {
                self.contract = contract;
                Ok(())
            }
            other => Err(self.inner.unexpected(other)),
        }
    }

    /// Closes the channel: waits until the last message is due at the receiver, then until what the
    /// channel held is released. A channel that is dropped does not wait, and may lose its last messages.
    ///
    /// # Errors
    /// [`Error::Lost`] if the channel broke before: its last messages may not have arrived. The daemon
    /// ended. [`Error::Forked`].
    pub fn close(mut self) -> Result<(), Error> {
        self.inner.check_owner()?;
        self.follow();
        let passed = match self.drain().and_then(|()| self.wait_for_last()) {
            // The receiver wants no more.
            Err(Error::Ended) => Ok(()),
            passed => passed,
        };
        self.closed = true;
        self.end().and(passed)
    }

    /// Waits until the last message is due at the receiver.
    fn wait_for_last(&self) -> Result<(), Error> {
        if self.accepted() == 0 {
            return Ok(());
        }
        // The next message would be within the contract at `room_at`, at most a burst before its
        // logical arrival; the last one is due a deadline after its own.
        let Contract { interval_ns, burst, deadline_ns, .. } = self.contract;
        let ahead = interval_ns.saturating_mul(u64::from(burst.saturating_sub(1)));
        let due =
            self.slot.room_at().load(Ordering::Acquire).saturating_add(ahead).saturating_add(deadline_ns);
        loop {
            self.check()?;
            let left = due.saturating_sub(now());
            if left == 0 {
                return Ok(());
            }
            std::thread::park_timeout(Duration::from_nanos(left).min(LOOK));
        }
    }

    fn end(&self) -> Result<(), Error> {
        match self.inner.ask(ProgramRequest::Close(self.number))?.0 {
            Reply::Done => Ok(()),
            other => Err(self.inner.unexpected(other)),
        }
    }

    /// Messages that the daemon accepted.
    pub fn accepted(&self) -> u64 {
        self.slot.accepted().load(Ordering::Acquire)
    }

    /// Messages beyond the contract, which the daemon refused.
    pub fn excess(&self) -> u64 {
        self.slot.refused().load(Ordering::Acquire)
    }

    fn answered(&self) -> u64 {
        self.accepted() + self.excess()
    }

    fn check(&self) -> Result<(), Error> {
        self.inner.check_owner()?;
        if self.inner.is_lost() {
            return Err(Error::Disconnected);
        }
        match self.slot.state() {
            SlotState::Open => Ok(()),
            SlotState::Ended => Err(Error::Ended),
            SlotState::Free | SlotState::Broken => Err(Error::Lost),
        }
    }

    fn wait(&self, done: impl Fn(&Self) -> bool) -> Result<(), Error> {
        let shared = self.slot.is_decided_here();
        let checks = match (self.slept, shared) {
            (true, _) => 1,
            (false, true) => YIELDS,
            (false, false) => SPINS,
        };
        for _ in 0..checks {
            if done(self) {
                return Ok(());
            }
            if shared { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        loop {
            let seen = self.slot.changes().load(Ordering::Acquire);
            if done(self) {
                return Ok(());
            }
            self.check()?;
            sleep(self.slot.changes(), seen, self.slot.awaited(), LOOK);
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // The slot of a channel that is over is this handle's until then.
        if !self.inner.is_lost() && !self.closed {
            let _ = self.end();
        }
    }
}
