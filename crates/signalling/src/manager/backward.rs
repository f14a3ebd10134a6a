//! Messages that travel from the destination to the source.

use laxity_units::{Span, Time};

use super::{About, Manager};
use crate::ended::Ending;
use crate::faults::Fault;
use crate::identity::{Epoch, NodeId};
use crate::message::{Body, is_route};
use crate::refusal::{Denial, NodeResource, Shortage};
use crate::resources::Resources;

impl<R: Resources> Manager<R> {
    /// Reverse phase: commits at the local deadline of this node, passes the answer on; at the
    /// source the contract is in place.
    pub(super) fn on_commit(
        &mut self,
        now: Time,
        from: NodeId,
        about: About,
        (deadlines, life): (Vec<Span>, Epoch),
    ) {
        let About { channel, version, .. } = about;
        let unreserved = self.broken(Fault::CommitWithoutReservation);
        let Some(hop) = self.hops.get_mut(&channel) else {
            // The nodes after this one hold what the source no longer waits for, or this node lost
            // its memory.
            self.counters.unknown += 1;
            return self.send(from, about, Body::Unknown);
        };
        if hop.next != Some(from) {
            self.counters.contradictory += 1;
            return;
        }
        let (prev, at) = (hop.prev, usize::from(hop.index));
        let Some(slot) = hop.slot_mut(version) else {
            self.counters.unknown += 1;
            return self.send(from, about, Body::Unknown);
        };
        let within = |deadline: &Span| (slot.needs.least..=slot.needs.latest).contains(deadline);
        let agrees = |deadline: &Span| slot.deadline.is_none_or(|before| before == *deadline);
        let Some(own) = deadlines.get(at).copied().filter(within).filter(agrees) else {
            self.counters.contradictory += 1;
            self.send(from, about, Body::Unknown);
            return self.refuse(now, prev, about, Shortage::of(NodeResource::Agreement, 0), true);
        };
        if slot.deadline.is_none() {
            slot.deadline = Some(own);
            self.changed.insert(channel);
            if prev.is_none() {
                slot.answer = Some(deadlines.clone().into_boxed_slice());
            }
            let reservation = slot.reservation;
            if unreserved {
                self.resources.release(reservation);
            } else if !self.broken(Fault::CommitNotMade)
                && let Err(shortage) = self.resources.commit(reservation, own)
            {
                self.send(from, about, Body::Unknown);
                return self.refuse(now, prev, about, shortage, true);
            }
        }
        match prev {
            Some(prev) if !self.broken(Fault::CommitNotPropagated) => {
                self.send(prev, about, Body::Commit { deadlines, life });
            }
            Some(_) => {}
            None => self.committed_at_source(now, about, own, life),
        }
    }

    /// Reverse phase: the version is refused; frees what is reserved for it.
    pub(super) fn on_refuse(&mut self, now: Time, from: NodeId, about: About, refused: Denial, beyond: bool) {
        let About { channel, version, .. } = about;
        let Some(hop) = self.hops.get(&channel) else {
            self.counters.unknown += 1;
            return;
        };
        if hop.next != Some(from) {
            self.counters.contradictory += 1;
            return;
        }
        let prev = hop.prev;
        let keeps = self.broken(Fault::RefusalKeepsReservation)
            || prev.is_none() && version.0 > 1 && self.broken(Fault::ChangeRefusalKeepsNew);
        if !keeps {
            self.drop_version(channel, version);
        }
        match prev {
            Some(prev) if !self.broken(Fault::RefusalNotPropagated) => {
                self.remember(prev, channel, version, Ending::Refused(refused));
                self.send(prev, about, Body::Refuse { refused, beyond });
            }
            Some(_) => {}
            None => self.refused_at_source(now, about, refused, beyond),
        }
    }

    /// The refresh came to the destination.
    pub(super) fn on_refreshed(&mut self, now: Time, from: NodeId, about: About) {
        let Some(hop) = self.hops.get(&about.channel) else {
            self.counters.unknown += 1;
            return;
        };
        match hop.prev {
            _ if hop.next != Some(from) => self.counters.contradictory += 1,
            Some(prev) => self.send(prev, about, Body::Refreshed),
            None => self.refreshed_at_source(now, about),
        }
    }

    /// The release came to the destination.
    pub(super) fn on_released(&mut self, from: NodeId, about: About, route: Vec<NodeId>) {
        let at = route.iter().position(|node| *node == self.node);
        let Some(at) = at.filter(|at| is_route(&route) && route.get(at + 1) == Some(&from)) else {
            self.counters.contradictory += 1;
            return;
        };
        match at.checked_sub(1) {
            Some(before) => self.send(route[before], about, Body::Released { route }),
            None => self.released_at_source(about),
        }
    }

    /// A neighbour does not hold the version: the path is broken there, or the receiver has left. The
    /// message goes on, away from that neighbour.
    pub(super) fn on_unknown(&mut self, now: Time, from: NodeId, about: About, body: Body) {
        let About { channel, version, sequence } = about;
        let Some(hop) = self.hops.get(&channel) else {
            self.counters.unknown += 1;
            return;
        };
        if hop.slot(version).is_none() {
            self.counters.unknown += 1;
        } else if hop.next == Some(from) {
            match hop.prev {
                Some(prev) => {
                    self.drop_version(channel, version);
                    self.send(prev, about, body);
                }
                None => self.broken_at_source(now, about, body == Body::Left),
            }
        } else if hop.prev != Some(from) {
            self.counters.contradictory += 1;
        } else if sequence < hop.sequence {
            // A newer message of the source came by that neighbour, which holds the version again.
            self.counters.stale += 1;
        } else {
            let next = hop.next;
            self.drop_version(channel, version);
            if let Some(next) = next {
                self.send(next, about, body);
            }
        }
    }
}
