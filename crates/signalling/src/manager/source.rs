//! The source of a channel: commands of programs, retransmission, refresh, and the end.

use laxity_units::{Span, Time};

use super::{About, Manager, Timer};
use crate::call::{Attempts, Call, Established, State, retry_at};
use crate::contract::ChannelContract;
use crate::event::{OpenRequest, SourceEvent, Unfit};
use crate::faults::Fault;
use crate::identity::{Epoch, GlobalChannelId, Version};
use crate::message::{Ask, Body, is_route};
use crate::refusal::{Alternative, Denial, NodeResource, Shortage};
use crate::resources::Resources;

impl<R: Resources> Manager<R> {
    /// Asks for a channel. The outcome is a [`SourceEvent`].
    pub fn open(&mut self, now: Time, open: OpenRequest) -> GlobalChannelId {
        let now = self.passed(now);
        let local = self.next_local;
        self.next_local += 1;
        let channel = self.own(local);
        let OpenRequest { program, owner, port, contract, route } = open;
        if !contract.is_valid() || !is_route(&route) || route[0] != self.node {
            self.refused_event(channel, Shortage::of(NodeResource::Valid, 0));
            return channel;
        }
        if self.calls.len() >= self.settings.entries {
            self.refused_event(channel, Shortage::of(NodeResource::Entries, 1).but(Alternative::Later));
            return channel;
        }
        self.renewed(now, program, 1);
        let attempts = self.attempts(now);
        let route = route.into_boxed_slice();
        let state = State::Opening { contract, attempts };
        let last = Version::FIRST;
        self.calls
            .insert(local, Call { program, owner, port, route, sequence: 0, last, state, timer: Time::MAX });
        self.ask(now, local, last, contract, None);
        self.rearm(local);
        channel
    }

    /// Asks for another contract of an established channel. The outcome is a [`SourceEvent`]. Messages
    /// under the contract in use may be due `waits` later than by that contract, since they wait for
    /// those of an earlier one.
    ///
    /// # Errors
    /// The channel does not begin here or is not established, another change is under way, or the
    /// contract is out of range.
    pub fn change(
        &mut self,
        now: Time,
        channel: GlobalChannelId,
        contract: ChannelContract,
        waits: Span,
    ) -> Result<Version, Unfit> {
        let now = self.passed(now);
        let local = self.local(channel).ok_or(Unfit::NotHeld)?;
        let attempts = self.attempts(now);
        let call = self.calls.get_mut(&local).ok_or(Unfit::NotHeld)?;
        let State::Established(established) = &mut call.state else { return Err(Unfit::NotHeld) };
        if established.change.is_some() || established.retiring.is_some() {
            return Err(Unfit::Busy);
        }
        if !contract.is_valid() {
            return Err(Unfit::Contract);
        }
        let version = call.last.next();
        call.last = version;
        established.change = Some((version, contract, attempts));
        let current = established.version;
        if let Some(hop) = self.hops.get_mut(&channel) {
            hop.waits = waits;
        }
        self.ask(now, local, version, contract, Some(current));
        self.rearm(local);
        Ok(version)
    }

    /// Closes a channel that ends here, for its receiver: the source finds the path broken.
    ///
    /// # Errors
    /// The receiver was not notified of the channel, or the channel is over.
    pub fn leave(&mut self, now: Time, channel: GlobalChannelId) -> Result<(), Unfit> {
        let now = self.passed(now);
        let hop = self.hops.get(&channel).filter(|hop| hop.told).ok_or(Unfit::NotHeld)?;
        let (prev, sequence) = (hop.prev, hop.sequence);
        let version = hop.slots.iter().find(|slot| slot.deadline.is_some()).map(|slot| slot.version);
        let Some(prev) = prev else {
            self.lost(now, channel.local, true);
            return Ok(());
        };
        self.drop_channel(channel);
        if let Some(version) = version {
            self.send(prev, About { channel, version, sequence }, Body::Left);
        }
        Ok(())
    }

    /// Closes a channel that begins here. Its program is notified of the end by a [`SourceEvent`].
    ///
    /// # Errors
    /// The channel does not begin here, or is being closed.
    pub fn close(&mut self, now: Time, channel: GlobalChannelId) -> Result<(), Unfit> {
        let now = self.passed(now);
        let local = self.local(channel).ok_or(Unfit::NotHeld)?;
        match self.calls.get(&local).map(|call| &call.state) {
            None | Some(State::Closing { .. }) => Err(Unfit::NotHeld),
            Some(_) => {
                self.begin_release(now, local, true);
                Ok(())
            }
        }
    }

    /// The identity of a channel that begins here.
    pub(super) fn own(&self, local: u32) -> GlobalChannelId {
        let epoch = if self.broken(Fault::EpochIgnored) { Epoch(1) } else { self.epoch };
        GlobalChannelId { node: self.node, epoch, local }
    }

    fn local(&self, channel: GlobalChannelId) -> Option<u32> {
        (channel == self.own(channel.local) && self.calls.contains_key(&channel.local))
            .then_some(channel.local)
    }

    fn attempts(&mut self, now: Time) -> Attempts {
        let jitter = (self.jitter)();
        let attempts = Attempts::begin(now, &self.settings, jitter);
        if self.broken(Fault::PatienceMissing) { Attempts { until: Time::MAX, ..attempts } } else { attempts }
    }

    /// Queues the timer of a call anew.
    pub(super) fn rearm(&mut self, local: u32) {
        let Some(call) = self.calls.get_mut(&local) else { return };
        let due = call.due(&self.settings);
        if due != call.timer {
            self.timers.remove(&(call.timer, Timer::Call(local)));
            call.timer = due;
            self.timers.insert((due, Timer::Call(local)));
        }
    }

    fn forget(&mut self, local: u32) {
        let Some(call) = self.calls.remove(&local) else { return };
        self.timers.remove(&(call.timer, Timer::Call(local)));
        self.forget_call_of(call.program);
    }

    fn next_about(&mut self, local: u32, version: Version) -> Option<About> {
        let channel = self.own(local);
        let call = self.calls.get_mut(&local)?;
        call.sequence = call.sequence.wrapping_add(1);
        Some(About { channel, version, sequence: call.sequence })
    }

    /// Sends a request, or sends it again.
    fn ask(
        &mut self,
        now: Time,
        local: u32,
        version: Version,
        contract: ChannelContract,
        current: Option<Version>,
    ) {
        let Some(about) = self.next_about(local, version) else { return };
        let Some(call) = self.calls.get(&local) else { return };
        let ask = Ask {
            contract,
            owner: call.owner,
            port: call.port,
            division: self.settings.division,
            current,
            balance: contract.deadline,
            between: Span::ZERO,
            route: call.route.to_vec(),
            hops: Vec::new(),
        };
        self.on_ask(now, None, about, ask);
    }

    /// Sends a refresh: what of the channel is in use, and what stays beside. Within a node the
    /// destination has it at once, and no lease has to be renewed.
    fn refresh(&mut self, now: Time, local: u32) {
        let jitter = (self.jitter)();
        let settings = self.settings;
        let silent = self.broken(Fault::RefreshNotSent);
        let Some(call) = self.calls.get_mut(&local) else { return };
        let to = call.route.get(1).copied();
        let State::Established(established) = &mut call.state else { return };
        let Some(to) = to else {
            established.confirmed = true;
            (established.heard, established.refresh) = (Time::MAX, Time::MAX);
            return self.confirm(self.own(local));
        };
        let unheard = !established.confirmed || established.unheard > 0;
        let retry = retry_at(now, &settings, established.unheard, jitter);
        let calm = now.saturating_add(settings.refresh);
        established.refresh = if unheard { retry.min(calm) } else { calm };
        established.unheard = established.unheard.saturating_add(1);
        established.sent = now;
        let (version, life) = (established.version, established.life);
        let changing = established.change.map(|(version, ..)| version);
        let changing = changing.or(established.retiring.map(|(version, _)| version));
        if silent && established.confirmed {
            return;
        }
        let Some(about) = self.next_about(local, version) else { return };
        self.send(to, about, Body::Refresh { changing, life });
    }

    pub(super) fn committed_at_source(&mut self, now: Time, about: About, deadline: Span, life: Epoch) {
        let About { channel, version, .. } = about;
        let swaps_at_once = self.broken(Fault::ChangeSwapsAtOnce);
        let told_again = self.broken(Fault::EstablishedTwice);
        let unnoticed = self.broken(Fault::DestinationRebornUnnoticed);
        let waits = self.hops.get(&channel).map_or(Span::ZERO, |hop| hop.waits);
        let Some(call) = self.calls.get_mut(&channel.local) else { return };
        match &mut call.state {
            State::Opening { contract, .. } => {
                let contract = *contract;
                let (change, retiring) = (None, None);
                let (confirmed, unheard, refresh) = (false, 0, now);
                let heard = now;
                call.state = State::Established(Established {
                    version,
                    life,
                    answered: 0,
                    sent: now,
                    contract,
                    heard,
                    confirmed,
                    unheard,
                    refresh,
                    change,
                    retiring,
                });
                self.events.push_back(SourceEvent::Established { channel, deadline });
                self.refresh(now, channel.local);
            }
            State::Established(established) => match established.change {
                Some((changing, contract, _)) if changing == version => {
                    if established.life != life && !unnoticed {
                        // The destination lost the contract in use, whatever late duplicates made
                        // of it since.
                        return self.lost(now, channel.local, false);
                    }
                    // Messages under the old contract may be ahead of their time by the burst, wait
                    // for those before, and have its deadline.
                    let drain = established.contract.drain().saturating_add(waits);
                    let last = if swaps_at_once { Span::ZERO } else { drain };
                    established.retiring = Some((established.version, now.saturating_add(last)));
                    let retired = established.version;
                    established.version = version;
                    established.contract = contract;
                    established.change = None;
                    established.confirmed = false;
                    established.unheard = 0;
                    if swaps_at_once {
                        self.drop_version(channel, retired);
                    }
                    self.events.push_back(SourceEvent::Changed { channel, version, deadline });
                    self.refresh(now, channel.local);
                }
                _ => {
                    self.counters.stale += 1;
                    if told_again {
                        self.events.push_back(SourceEvent::Established { channel, deadline });
                    }
                }
            },
            State::Closing { .. } => self.counters.stale += 1,
        }
        self.rearm(channel.local);
    }

    pub(super) fn refused_at_source(&mut self, now: Time, about: About, refused: Denial, beyond: bool) {
        let About { channel, version, .. } = about;
        let local = channel.local;
        let Some(call) = self.calls.get_mut(&local) else { return };
        match &mut call.state {
            State::Opening { .. } => {
                self.events.push_back(SourceEvent::Refused { channel, refused });
                if beyond {
                    self.begin_release(now, local, false);
                } else {
                    self.drop_channel(channel);
                    self.forget(local);
                }
            }
            State::Established(established) => {
                if established.change.is_some_and(|(changing, ..)| changing == version) {
                    established.change = None;
                    self.events.push_back(SourceEvent::ChangeRefused { channel, version, refused });
                    if !self.broken(Fault::ChangeRefusalKeepsNew) {
                        self.drop_version(channel, version);
                    }
                    // The refresh frees what a node beyond the refusing one may hold.
                    self.refresh(now, local);
                } else if established.version == version {
                    return self.lost(now, local, false);
                }
            }
            State::Closing { .. } => {}
        }
        self.rearm(local);
    }

    pub(super) fn refreshed_at_source(&mut self, now: Time, about: About) {
        if self.broken(Fault::RefreshUnheeded) {
            return;
        }
        let interval = self.settings.refresh;
        let late = self.broken(Fault::LateAnswerHeeded);
        let Some(call) = self.calls.get_mut(&about.channel.local) else { return };
        if let State::Established(established) = &mut call.state {
            let newer = about.sequence > established.answered && about.sequence <= call.sequence;
            if established.version == about.version && (newer || late) {
                established.heard = now;
                established.answered = about.sequence;
                established.confirmed = true;
                established.unheard = 0;
                established.refresh = if late { now } else { established.sent }.saturating_add(interval);
            } else {
                self.counters.stale += 1;
            }
        }
        self.rearm(about.channel.local);
    }

    pub(super) fn released_at_source(&mut self, about: About) {
        let channel = about.channel;
        if channel != self.own(channel.local) {
            self.counters.unknown += 1;
            return;
        }
        match self.calls.get(&channel.local).map(|call| &call.state) {
            Some(State::Closing { told, .. }) => {
                if *told {
                    self.events.push_back(SourceEvent::Closed { channel, everywhere: true });
                }
                self.forget(channel.local);
            }
            _ => self.counters.unknown += 1,
        }
    }

    /// A node on the route does not hold a version that this source asked for or uses; `left` if the receiver
    /// has left.
    pub(super) fn broken_at_source(&mut self, now: Time, about: About, left: bool) {
        let About { channel, version, .. } = about;
        let Some(call) = self.calls.get(&channel.local) else { return };
        match &call.state {
            State::Established(established) if established.version == version => {
                self.lost(now, channel.local, left);
            }
            State::Established(established)
                if established.change.is_some_and(|(changing, ..)| changing == version) =>
            {
                let shortage = Shortage::of(NodeResource::Agreement, 0).but(Alternative::Later);
                self.refused_at_source(now, about, Denial { node: self.node, shortage }, true);
            }
            // The request is on its way again, or the channel is over anyway.
            _ => self.counters.stale += 1,
        }
    }

    /// The channel broke, or the receiver has `left` it.
    pub(super) fn lost(&mut self, now: Time, local: u32, left: bool) {
        let channel = self.own(local);
        if !self.broken(Fault::LossNotTold) {
            self.events.push_back(SourceEvent::Lost { channel, left });
        }
        if self.broken(Fault::LossToldTwice) {
            self.events.push_back(SourceEvent::Lost { channel, left });
        }
        self.begin_release(now, local, false);
    }

    /// Frees the channel here and releases it along the route; the program awaits the end if
    /// `told`.
    pub(super) fn begin_release(&mut self, now: Time, local: u32, told: bool) {
        self.drop_channel(self.own(local));
        let attempts = self.attempts(now);
        let Some(call) = self.calls.get_mut(&local) else { return };
        call.state = State::Closing { attempts, told };
        self.release(local);
        self.rearm(local);
    }

    fn release(&mut self, local: u32) {
        let Some(call) = self.calls.get(&local) else { return };
        let (to, route, last) = (call.route.get(1).copied(), call.route.to_vec(), call.last);
        let Some(to) = to else {
            let about = About { channel: self.own(local), version: last, sequence: call.sequence };
            return self.released_at_source(about);
        };
        let Some(about) = self.next_about(local, last) else { return };
        self.send(to, about, Body::Release { route });
    }

    fn refused_event(&mut self, channel: GlobalChannelId, shortage: Shortage) {
        self.events
            .push_back(SourceEvent::Refused { channel, refused: Denial { node: self.node, shortage } });
    }

    /// The timer of a call is due.
    pub(super) fn on_call(&mut self, now: Time, local: u32) {
        let jitter = (self.jitter)();
        let settings = self.settings;
        let retransmits = !self.broken(Fault::NoRetransmission);
        let flat = self.broken(Fault::BackoffMissing);
        let again = |attempts: &mut Attempts| {
            attempts.made(now, &settings, jitter);
            if flat {
                attempts.next = now.saturating_add(settings.retry);
            }
            if !retransmits {
                attempts.next = Time::MAX;
            }
        };
        let Some(call) = self.calls.get_mut(&local) else { return };
        call.timer = Time::MAX;
        let channel = self.own(local);
        let Some(call) = self.calls.get_mut(&local) else { return };
        match &mut call.state {
            State::Opening { contract, attempts } => {
                if attempts.until <= now {
                    self.refused_event(
                        channel,
                        Shortage::of(NodeResource::Answer, 0).but(Alternative::Later),
                    );
                    return self.begin_release(now, local, false);
                }
                if attempts.next <= now {
                    let contract = *contract;
                    again(attempts);
                    if retransmits {
                        self.ask(now, local, Version::FIRST, contract, None);
                    }
                }
            }
            State::Closing { attempts, told } => {
                if attempts.until <= now {
                    if *told {
                        self.events.push_back(SourceEvent::Closed { channel, everywhere: false });
                    }
                    return self.forget(local);
                }
                if attempts.next <= now {
                    again(attempts);
                    self.release(local);
                }
            }
            State::Established(established) => {
                if established.heard.saturating_add(settings.lease) <= now {
                    return self.lost(now, local, false);
                }
                let current = established.version;
                if let Some((version, contract, attempts)) = &mut established.change {
                    let (version, contract) = (*version, *contract);
                    if attempts.until <= now {
                        let shortage = Shortage::of(NodeResource::Answer, 0).but(Alternative::Later);
                        let refused = Denial { node: self.node, shortage };
                        let about = About { channel, version, sequence: 0 };
                        self.refused_at_source(now, about, refused, true);
                    } else if attempts.next <= now {
                        again(attempts);
                        self.ask(now, local, version, contract, Some(current));
                    }
                }
                self.retire(now, local);
                if self.established_at(local).is_some_and(|established| established.refresh <= now) {
                    self.refresh(now, local);
                }
            }
        }
        self.rearm(local);
    }

    fn established_at(&mut self, local: u32) -> Option<&mut Established> {
        match &mut self.calls.get_mut(&local)?.state {
            State::Established(established) => Some(established),
            State::Opening { .. } | State::Closing { .. } => None,
        }
    }

    /// The last message under the contract before is delivered: the contract is over everywhere.
    fn retire(&mut self, now: Time, local: u32) {
        let keeps = self.broken(Fault::ChangeKeepsOld);
        let Some(established) = self.established_at(local) else { return };
        let Some((old, _)) = established.retiring.filter(|(_, at)| *at <= now) else { return };
        established.retiring = None;
        if !keeps {
            self.drop_version(self.own(local), old);
        }
        self.refresh(now, local);
    }
}
