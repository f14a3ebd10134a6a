//! The network manager of one node.

mod backward;
mod forward;
mod inspect;
mod programs;
mod proposal;
mod source;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use laxity_units::Time;

use crate::call::Call;
use crate::counters::ManagerCounters;
use crate::elapsed::Elapsed;
use crate::ended::{Ended, Ending};
use crate::event::SourceEvent;
use crate::faults::Fault;
use crate::hop::Hop;
use crate::identity::{Epoch, GlobalChannelId, NodeId, Program, Version};
use crate::message::{Body, ContractMessage};
use crate::quota::Quotas;
use crate::resources::Resources;
use crate::settings::Settings;

pub use inspect::HeldContract;
use programs::Lease;

/// Random bits from the caller's stream; they only spread retransmissions.
pub type Jitter = Box<dyn FnMut() -> u64 + Send>;

/// The network manager of one node. See the crate's documentation for the protocol.
///
/// The owner calls an input (`handle`, `handle_timeout`, `open`, `close`, `change`, `renew`) with
/// the time by the clock of the node. Then it takes all outputs:
/// [`poll_transmit`](Self::poll_transmit), [`poll_event`](Self::poll_event),
/// [`poll_changed`](Self::poll_changed), [`poll_timeout`](Self::poll_timeout).
pub struct Manager<R> {
    node: NodeId,
    epoch: Epoch,
    settings: Settings,
    resources: R,
    /// The resources without any channel: a contract that they refuse has no use for a later request.
    empty: R,
    quotas: Quotas,
    jitter: Jitter,
    elapsed: Elapsed,
    /// The channels that begin at, pass or end at this node.
    hops: BTreeMap<GlobalChannelId, Hop>,
    /// The channels that begin here, by local identity.
    calls: BTreeMap<u32, Call>,
    next_local: u32,
    programs: BTreeMap<Program, Lease>,
    leases: BTreeSet<(Time, Program)>,
    /// The last epoch of each source in the messages of each neighbour, by neighbour and source.
    epochs: BTreeMap<(NodeId, NodeId), Epoch>,
    ended: Ended,
    timers: BTreeSet<(Time, Timer)>,
    out: VecDeque<(NodeId, ContractMessage)>,
    events: VecDeque<SourceEvent>,
    /// Channels of which contracts changed here since the owner took them.
    changed: BTreeSet<GlobalChannelId>,
    counters: ManagerCounters,
    #[cfg(feature = "faults")]
    fault: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Hop(GlobalChannelId),
    Call(u32),
}

impl<R: Resources> Manager<R> {
    /// A manager that holds no channel. `epoch` is larger than in any life of the node before.
    pub fn new(node: NodeId, epoch: Epoch, settings: Settings, resources: R, jitter: Jitter) -> Self {
        Self {
            node,
            epoch,
            settings,
            empty: resources.clone(),
            resources,
            quotas: Quotas::default(),
            jitter,
            elapsed: Elapsed::default(),
            hops: BTreeMap::new(),
            calls: BTreeMap::new(),
            next_local: 0,
            programs: BTreeMap::new(),
            leases: BTreeSet::new(),
            changed: BTreeSet::new(),
            epochs: BTreeMap::new(),
            ended: Ended::default(),
            timers: BTreeSet::new(),
            out: VecDeque::new(),
            events: VecDeque::new(),
            counters: ManagerCounters::default(),
            #[cfg(feature = "faults")]
            fault: None,
        }
    }

    /// The same with quotas of owners.
    #[must_use]
    pub fn with_quotas(self, quotas: Quotas) -> Self {
        Self { quotas, ..self }
    }

    /// The same with something that the protocol does wrong, for tests of the tests.
    #[cfg(feature = "faults")]
    #[must_use]
    pub fn with_fault(self, fault: Option<Fault>) -> Self {
        Self { fault, ..self }
    }

    #[cfg(feature = "faults")]
    fn broken(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    #[cfg(not(feature = "faults"))]
    const fn broken(&self, _: Fault) -> bool {
        false
    }

    /// Handles `message` from the neighbour `from`. No message makes it panic.
    pub fn handle(&mut self, now: Time, from: NodeId, message: ContractMessage) {
        let now = self.passed(now);
        self.counters.handled += 1;
        let ContractMessage { channel, version, sequence, body } = message;
        let about = About { channel, version, sequence };
        match body {
            Body::Ask(ask) => self.on_ask(now, Some(from), about, ask),
            Body::Refresh { changing, life } => self.on_refresh(now, from, about, (changing, life)),
            Body::Release { route } => self.on_release(from, about, route),
            Body::Commit { deadlines, life } => self.on_commit(now, from, about, (deadlines, life)),
            Body::Refuse { refused, beyond } => self.on_refuse(now, from, about, refused, beyond),
            Body::Refreshed => self.on_refreshed(now, from, about),
            Body::Released { route } => self.on_released(from, about, route),
            Body::Unknown | Body::Left => self.on_unknown(now, from, about, body),
        }
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        let now = self.passed(now);
        while let Some(&(at, timer)) = self.timers.first().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, timer));
            match timer {
                Timer::Hop(channel) => self.on_lease(now, channel),
                Timer::Call(local) => self.on_call(now, local),
            }
        }
        self.bury(now);
    }

    /// The next message and the neighbour that it is for.
    pub fn poll_transmit(&mut self) -> Option<(NodeId, ContractMessage)> {
        self.out.pop_front()
    }

    /// The next notification of a program.
    pub fn poll_event(&mut self) -> Option<SourceEvent> {
        self.events.pop_front()
    }

    /// The next channel of which [`held_of`](Self::held_of) changed since it was polled last, so
    /// that a data path follows the manager without a look at every channel.
    pub fn poll_changed(&mut self) -> Option<GlobalChannelId> {
        self.changed.pop_first()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due, by the clock of the node. It may be
    /// called at any other time too.
    pub fn poll_timeout(&self) -> Option<Time> {
        let timer = self.timers.first().map(|(at, _)| *at);
        let program = self.leases.first().map(|(at, _)| *at);
        Time::earlier(timer, program).map(|passed| self.elapsed.clock_at(passed))
    }

    fn passed(&mut self, clock: Time) -> Time {
        if self.broken(Fault::ClockStepHeeded) {
            return clock;
        }
        let (now, set_back) = self.elapsed.at(clock);
        self.counters.set_back += u64::from(set_back);
        now
    }

    fn send(&mut self, to: NodeId, about: About, body: Body) {
        if self.out.len() >= self.settings.waiting {
            self.counters.overflowed += 1;
            return;
        }
        self.counters.sent += 1;
        let About { channel, version, sequence } = about;
        self.out.push_back((to, ContractMessage { channel, version, sequence, body }));
    }

    /// Ends `version` of a channel here: frees what is reserved for it, and the hop with the last
    /// version.
    fn drop_version(&mut self, channel: GlobalChannelId, version: Version) {
        let Some(hop) = self.hops.get_mut(&channel) else { return };
        let Some(at) = hop.slots.iter().position(|slot| slot.version == version) else { return };
        let slot = hop.slots.remove(at);
        self.changed.insert(channel);
        let (owner, last) = (hop.owner, hop.slots.is_empty());
        if !self.broken(Fault::ReleaseLost) {
            self.resources.release(slot.reservation);
        }
        if !self.broken(Fault::QuotaNotRefunded) {
            self.quotas.refund(owner, u64::from(last), slot.claim);
        }
        if !last {
            return;
        }
        let Some(hop) = self.hops.remove(&channel) else { return };
        self.timers.remove(&(hop.expires, Timer::Hop(channel)));
        if hop.told {
            // A late duplicate must not open the channel again.
            if let Some(prev) = hop.prev {
                self.remember_over(prev, channel);
            }
            if !self.broken(Fault::ReceiverEndNotTold) {
                self.events.push_back(SourceEvent::Ended { channel });
            }
        }
    }

    /// Ends every version of a channel here but those of `kept`.
    fn drop_all_but(&mut self, channel: GlobalChannelId, kept: [Option<Version>; 2]) {
        while let Some(version) = self.hops.get(&channel).and_then(|hop| {
            let over = |version: &Version| !kept.contains(&Some(*version));
            hop.slots.iter().map(|slot| slot.version).find(over)
        }) {
            self.drop_version(channel, version);
        }
    }

    /// Ends a channel here.
    fn drop_channel(&mut self, channel: GlobalChannelId) {
        self.drop_all_but(channel, [None, None]);
    }

    fn remember(&mut self, from: NodeId, channel: GlobalChannelId, version: Version, ending: Ending) {
        let most = self.most_remembered();
        self.ended.remember((from, channel, version), ending, most);
    }

    fn remember_over(&mut self, from: NodeId, channel: GlobalChannelId) {
        let most = self.most_remembered();
        self.ended.over(from, channel, most);
    }

    fn most_remembered(&self) -> usize {
        if self.broken(Fault::MemoryUnbounded) { usize::MAX } else { self.settings.remembered }
    }

    /// Renews the lease of a channel. Its timer is set by [`on_lease`](Self::on_lease) when it is
    /// due.
    fn renew_lease(&mut self, now: Time, channel: GlobalChannelId) {
        let expires = now.saturating_add(self.settings.lease);
        let Some(hop) = self.hops.get_mut(&channel) else { return };
        if hop.prev.is_some() {
            self.timers.remove(&(hop.expires, Timer::Hop(channel)));
            hop.expires = expires;
            self.timers.insert((expires, Timer::Hop(channel)));
        }
    }

    /// The lease of a channel is over.
    fn on_lease(&mut self, now: Time, channel: GlobalChannelId) {
        let over = self.hops.get(&channel).is_some_and(|hop| hop.expires <= now);
        if over && !self.broken(Fault::LeaseNeverEnds) {
            self.counters.expired += 1;
            self.drop_channel(channel);
        }
    }

    /// Heeds the epoch in a message of the source; answers whether the message is of a former life. An
    /// epoch counts for channels by the same neighbour: another one may say what it likes of a source
    /// that is not its own.
    fn is_former(&mut self, from: NodeId, channel: GlobalChannelId) -> bool {
        let GlobalChannelId { node, epoch, .. } = channel;
        if node == self.node {
            // No message begins another life of this node.
            return channel != self.own(channel.local);
        }
        match self.epochs.get(&(from, node)) {
            Some(known) if epoch < *known => return true,
            Some(known) if epoch == *known => return false,
            // Sources beyond the bound are served; their former lives end by the lease.
            None if self.epochs.len() >= self.settings.peers => return false,
            _ => {}
        }
        self.epochs.insert((from, node), epoch);
        if !self.broken(Fault::FormerLifeKept) {
            let first = |epoch| GlobalChannelId { node, epoch, local: 0 };
            let all = self.hops.range(first(Epoch(0))..first(epoch));
            let former = all.filter(|(_, hop)| hop.prev == Some(from)).map(|(channel, _)| *channel);
            for channel in former.collect::<Vec<_>>() {
                self.drop_channel(channel);
            }
        }
        false
    }
}

/// The subject of a message, and its number.
#[derive(Debug, Clone, Copy)]
struct About {
    channel: GlobalChannelId,
    version: Version,
    sequence: u32,
}
