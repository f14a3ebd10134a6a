//! Messages that travel from the source to the destination.

use laxity_units::{Span, Time};

use super::proposal::late;
use super::{About, Manager, Timer};
use crate::division::{self, Needs};
use crate::ended::Ending;
use crate::event::SourceEvent;
use crate::faults::Fault;
use crate::hop::{Hop, Slot};
use crate::identity::{Epoch, GlobalChannelId, NodeId, Version};
use crate::message::{Ask, Body, MOST_HOPS, is_route};
use crate::refusal::{Alternative, Denial, NodeResource, Shortage};
use crate::resources::Resources;

impl<R: Resources> Manager<R> {
    /// Forward phase: reserves tentatively, passes on the balance; the destination answers. `from`
    /// is `None` at the source.
    pub(super) fn on_ask(&mut self, now: Time, from: Option<NodeId>, about: About, ask: Ask) {
        let About { channel, version, sequence } = about;
        if !self.is_sound(from, about, &ask) {
            self.counters.contradictory += 1;
            return self.refuse_to(now, from, about, Shortage::of(NodeResource::Valid, 0), false);
        }
        if from.is_some_and(|from| self.is_former(from, channel)) {
            self.counters.stale += 1;
            return self.refuse_to(now, from, about, Shortage::of(NodeResource::Agreement, 0), false);
        }
        match from.and_then(|from| self.ended.ending(from, channel, version)) {
            Some(Ending::Refused(refused)) => {
                return self.refused_to(now, from, about, refused, false);
            }
            Some(Ending::Over) => {
                self.counters.stale += 1;
                return self.refuse_to(now, from, about, Shortage::of(NodeResource::Agreement, 0), false);
            }
            None => {}
        }
        let at = ask.hops.len();
        let next = ask.route.get(at + 1).copied();
        if let Some(hop) = self.hops.get_mut(&channel) {
            if (hop.prev, hop.next, hop.owner, hop.port) != (from, next, ask.owner, ask.port) {
                self.counters.contradictory += 1;
                return self.refuse_to(now, from, about, Shortage::of(NodeResource::Valid, 0), false);
            }
            if sequence <= hop.sequence && !self.broken(Fault::SequenceIgnored) {
                self.counters.stale += 1;
                return;
            }
            self.hops.get_mut(&channel).expect("it is there").sequence = sequence;
            self.drop_all_but(channel, [Some(version), ask.current]);
            self.renew_lease(now, channel);
        }
        if let Some(current) = ask.current
            && !self.hops.get(&channel).is_some_and(|hop| hop.has_committed(current))
        {
            self.counters.unknown += 1;
            return self.deny(now, from, next, About { version: current, ..about });
        }
        if self.broken(Fault::ChangeDropsOld)
            && let Some(slot) = ask.current.and_then(|current| self.hops.get(&channel)?.slot(current))
        {
            self.resources.release(slot.reservation);
        }
        match self.slot_for(now, from, about, &ask) {
            Ok(()) => self.pass_on(now, from, about, ask),
            Err((shortage, beyond)) => self.refuse(now, from, about, shortage, beyond),
        }
    }

    /// Whether a request is one, and this node its receiver.
    fn is_sound(&self, from: Option<NodeId>, about: About, ask: &Ask) -> bool {
        let at = ask.hops.len();
        let before = at.checked_sub(1).and_then(|before| ask.route.get(before).copied());
        let looped = self.broken(Fault::LoopAccepted) && ask.route.len() <= MOST_HOPS;
        (is_route(&ask.route) || looped)
            && ask.route.get(at) == Some(&self.node)
            && before == from
            && ask.route[0] == about.channel.node
            && about.version.0 > 0
            && ask.current.is_some() == (about.version > Version::FIRST)
            && ask.current.is_none_or(|current| current < about.version)
            && ask.contract.is_valid()
            && ask.balance <= ask.contract.deadline
            && ask.between <= ask.contract.deadline
            && ask.hops.iter().all(|needs| needs.least <= needs.latest)
    }

    /// Makes sure that the version is reserved here, or says what is missing and whether nodes
    /// after this one may hold the version.
    fn slot_for(
        &mut self,
        now: Time,
        from: Option<NodeId>,
        about: About,
        ask: &Ask,
    ) -> Result<(), (Shortage, bool)> {
        let About { channel, version, sequence } = about;
        let again = self.broken(Fault::DuplicateReserves);
        if let Some(slot) = self.hops.get(&channel).and_then(|hop| hop.slot(version))
            && !again
        {
            if slot.contract != ask.contract {
                self.counters.contradictory += 1;
                return Err((Shortage::of(NodeResource::Agreement, 0), true));
            }
            let needed = slot.needs.least.saturating_add(slot.way);
            return if needed <= ask.balance {
                Ok(())
            } else {
                Err((late(ask.contract.deadline, ask.balance, needed), true))
            };
        }
        let known = self.hops.contains_key(&channel);
        if !known && self.hops.len() >= self.settings.entries {
            return Err((Shortage::of(NodeResource::Entries, 1).but(Alternative::Later), false));
        }
        let at = ask.hops.len();
        let fresh = Hop {
            prev: from,
            next: ask.route.get(at + 1).copied(),
            owner: ask.owner,
            port: ask.port,
            index: u8::try_from(at).expect("a route has few nodes"),
            sequence,
            expires: Time::MAX,
            told: false,
            waits: Span::ZERO,
            slots: Vec::new(),
        };
        let asked = self.hops.get(&channel).unwrap_or(&fresh).asked(ask.contract, ask.balance);
        let channels = u64::from(!known);
        let offer = self.grant(&asked, ask.owner, channels).map_err(|shortage| {
            let acceptable = self.acceptable(&asked, ask.owner, channels, shortage.acceptable);
            (shortage.but(acceptable), false)
        })?;
        self.changed.insert(channel);
        let hop = self.hops.entry(channel).or_insert(fresh);
        let (needs, claim) = (Needs { least: offer.least, latest: offer.latest }, offer.claim);
        let (contract, drain) = (ask.contract, asked.drain);
        let (deadline, answer) = (None, None);
        hop.slots.push(Slot {
            version,
            contract,
            reservation: offer.id,
            claim,
            needs,
            way: offer.way,
            drain,
            deadline,
            answer,
        });
        if !known && from.is_some() {
            self.timers.insert((Time::MAX, Timer::Hop(channel)));
            self.renew_lease(now, channel);
        }
        Ok(())
    }

    /// Passes a request on to the next node; the destination shares out the slack and answers.
    fn pass_on(&mut self, now: Time, from: Option<NodeId>, about: About, mut ask: Ask) {
        let About { channel, version, .. } = about;
        let Some(hop) = self.hops.get(&channel) else { return };
        let Some(slot) = hop.slot(version) else { return };
        ask.hops.push(slot.needs);
        ask.between = ask.between.saturating_add(slot.way);
        let taken = slot.needs.least.saturating_add(slot.way);
        if !self.broken(Fault::BalanceNotReduced) {
            ask.balance = ask.balance.saturating_sub(taken);
        }
        if let Some(next) = hop.next {
            return self.send(next, about, Body::Ask(ask));
        }
        let generous = self.broken(Fault::DivisionTooGenerous) || self.broken(Fault::BalanceNotReduced);
        let between = if generous { Span::ZERO } else { ask.between };
        let budget = ask.contract.deadline.saturating_sub(between);
        let divided = match self.broken(Fault::SlackKept) {
            true => Ok(ask.hops.iter().map(|needs| needs.least).collect()),
            false => division::divide(&ask.hops, budget, ask.division),
        };
        match divided {
            Ok(mut deadlines) => {
                // The destination has the part that no hop can use: messages may wait there for others.
                let used = division::total(deadlines.iter().copied());
                if let Some(own) = deadlines.last_mut() {
                    *own = own.saturating_add(budget.saturating_sub(used));
                }
                self.answer(now, from, about, deadlines);
            }
            Err(late) => {
                let least = division::least(&ask.hops, ask.division).saturating_add(ask.between);
                let acceptable = Alternative::Deadline(least);
                let shortage = Shortage::of(NodeResource::Deadline, late.missing.as_ps()).but(acceptable);
                let refused = Denial { node: ask.route[late.hop], shortage };
                self.refuse_as(now, from, about, refused, false);
            }
        }
    }

    /// The destination commits and begins the reverse phase.
    fn answer(&mut self, now: Time, from: Option<NodeId>, about: About, deadlines: Vec<Span>) {
        let Some(slot) = self.hops.get_mut(&about.channel).and_then(|hop| hop.slot_mut(about.version)) else {
            return;
        };
        let rest = *deadlines.last().expect("the destination is a hop");
        let own = rest.min(slot.needs.latest);
        match &slot.answer {
            // A node on the way lost its memory and promised something else this time: nodes would
            // disagree.
            Some(answer) if **answer != deadlines => {
                self.counters.contradictory += 1;
                return self.refuse(now, from, about, Shortage::of(NodeResource::Agreement, 0), false);
            }
            Some(_) => {}
            None => {
                slot.answer = Some(deadlines.clone().into_boxed_slice());
                slot.deadline = Some(own);
                self.changed.insert(about.channel);
                let reservation = slot.reservation;
                if !self.broken(Fault::CommitNotMade)
                    && let Err(shortage) = self.resources.commit(reservation, own)
                {
                    return self.refuse(now, from, about, shortage, false);
                }
            }
        }
        match from {
            Some(from) => self.send(from, about, Body::Commit { deadlines, life: self.epoch }),
            None => self.committed_at_source(now, about, own, self.epoch),
        }
    }

    /// Ends the version here and refuses it to the nodes before.
    pub(super) fn refuse(
        &mut self,
        now: Time,
        from: Option<NodeId>,
        about: About,
        shortage: Shortage,
        beyond: bool,
    ) {
        self.refuse_as(now, from, about, Denial { node: self.node, shortage }, beyond);
    }

    fn refuse_as(&mut self, now: Time, from: Option<NodeId>, about: About, refused: Denial, beyond: bool) {
        let About { channel, version, .. } = about;
        self.counters.refused += 1;
        self.drop_version(channel, version);
        if let Some(from) = from {
            self.remember(from, channel, version, Ending::Refused(refused));
        }
        self.refused_to(now, from, about, refused, beyond);
    }

    /// Refuses without touching what is held.
    fn refuse_to(&mut self, now: Time, from: Option<NodeId>, about: About, shortage: Shortage, beyond: bool) {
        let refused = Denial { node: self.node, shortage };
        self.refused_to(now, from, about, refused, beyond);
    }

    fn refused_to(
        &mut self,
        now: Time,
        from: Option<NodeId>,
        about: About,
        mut refused: Denial,
        beyond: bool,
    ) {
        if self.broken(Fault::RefusalMissingNothing) {
            refused.shortage.missing = 0;
        }
        match from {
            Some(from) => self.send(from, about, Body::Refuse { refused, beyond }),
            None => self.refused_at_source(now, about, refused, beyond),
        }
    }

    /// Ends a channel of which the source says more than this node holds, and lets both neighbours
    /// know.
    fn deny(&mut self, now: Time, from: Option<NodeId>, next: Option<NodeId>, about: About) {
        self.drop_channel(about.channel);
        if let Some(next) = next {
            self.send(next, about, Body::Unknown);
        }
        match from {
            Some(from) => self.send(from, about, Body::Unknown),
            None => self.lost(now, about.channel.local, false),
        }
    }

    /// The source uses `version`; all but that and `beside` is over.
    pub(super) fn on_refresh(
        &mut self,
        now: Time,
        from: NodeId,
        about: About,
        (beside, life): (Option<Version>, Epoch),
    ) {
        let About { channel, version, sequence } = about;
        if self.is_former(from, channel) {
            self.counters.stale += 1;
            return self.send(from, about, Body::Unknown);
        }
        let reborn_unnoticed = self.broken(Fault::DestinationRebornUnnoticed);
        let Some(hop) = self.hops.get_mut(&channel) else {
            self.counters.unknown += 1;
            return self.send(from, about, Body::Unknown);
        };
        if hop.prev != Some(from) {
            self.counters.contradictory += 1;
            return;
        }
        if sequence <= hop.sequence {
            self.counters.stale += 1;
            return;
        }
        let next = hop.next;
        let reborn = next.is_none() && life != self.epoch && !reborn_unnoticed;
        if reborn || !hop.has_committed(version) {
            self.counters.unknown += 1;
            return self.deny(now, Some(from), next, about);
        }
        hop.sequence = sequence;
        if !self.broken(Fault::LeaseNotRenewed) {
            self.renew_lease(now, channel);
        }
        if !self.broken(Fault::ChangeKeepsOld) {
            self.drop_all_but(channel, [Some(version), beside]);
        }
        match next {
            Some(next) => self.send(next, about, Body::Refresh { changing: beside, life }),
            None => {
                self.confirm(channel);
                self.send(from, about, Body::Refreshed);
            }
        }
    }

    /// The source uses a channel that ends here: its receiver is notified once.
    pub(super) fn confirm(&mut self, channel: GlobalChannelId) {
        let again = self.broken(Fault::ReceiverToldTwice);
        let Some(hop) = self.hops.get_mut(&channel) else { return };
        if !hop.told || again {
            hop.told = true;
            let port = hop.port;
            self.events.push_back(SourceEvent::Opened { channel, port });
        }
    }

    /// The channel is over.
    pub(super) fn on_release(&mut self, from: NodeId, about: About, route: Vec<NodeId>) {
        let at = route.iter().position(|node| *node == self.node);
        let Some(at) = at.filter(|at| is_route(&route) && *at > 0 && route[at - 1] == from) else {
            self.counters.contradictory += 1;
            return;
        };
        if self.hops.get(&about.channel).is_some_and(|hop| hop.prev != Some(from)) {
            self.counters.contradictory += 1;
            return;
        }
        self.drop_channel(about.channel);
        self.remember_over(from, about.channel);
        match route.get(at + 1).copied().filter(|_| !self.broken(Fault::ReleaseNotForwarded)) {
            Some(next) => self.send(next, about, Body::Release { route }),
            None => self.send(from, about, Body::Released { route }),
        }
    }
}
