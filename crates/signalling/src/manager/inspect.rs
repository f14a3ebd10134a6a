//! The holdings of a manager, for reports, tests and the comparison with a node that never heard of
//! a channel.

use laxity_units::Span;

use super::Manager;
use crate::call::State;
use crate::contract::ChannelContract;
use crate::counters::ManagerCounters;
use crate::division;
use crate::hop::{Hop, Slot};
use crate::identity::{Epoch, GlobalChannelId, NodeId, Version};
use crate::quota::Quotas;
use crate::resources::{ChannelPlace, ReservationId, Resources};
use crate::settings::Settings;

/// One contract that a node holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldContract {
    /// The channel.
    pub channel: GlobalChannelId,
    /// The contract's number.
    pub version: Version,
    /// The contract.
    pub contract: ChannelContract,
    /// The nodes before and after, and the queue at the destination.
    pub place: ChannelPlace,
    /// The reservation for it among the node's resources.
    pub reservation: ReservationId,
    /// The local deadline; `None` while the reservation is tentative.
    pub deadline: Option<Span>,
    /// At the source and the destination: the local deadlines of the nodes that send, together.
    pub total: Option<Span>,
    /// At the source and the destination: what the nodes that send and their links leave of the
    /// end-to-end deadline.
    pub rest: Option<Span>,
    /// How long messages may wait for those of the contract before
    /// ([`Asked::drain`](crate::resources::NodeRequest::drain)).
    pub drain: Span,
    /// The latest local deadline that the node can use.
    pub latest: Span,
    /// The longest time from the end of a transmission here until the next node has the packet.
    pub way: Span,
}

impl<R: Resources> Manager<R> {
    /// The node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The life of the node.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The resources of the node.
    pub fn resources(&self) -> &R {
        &self.resources
    }

    /// The resources of the node, for an owner that frees what a released reservation still holds.
    pub fn resources_mut(&mut self) -> &mut R {
        &mut self.resources
    }

    /// The quotas, and the reservations of owners.
    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Gives owners other quotas. Channels stay, also those beyond a new limit.
    pub fn set_quotas(&mut self, quotas: Quotas) {
        self.quotas.set_limits(quotas);
    }

    /// The counters.
    pub fn counters(&self) -> &ManagerCounters {
        &self.counters
    }

    /// Every contract that the node holds, by channel.
    pub fn held(&self) -> impl Iterator<Item = HeldContract> + '_ {
        self.hops.iter().flat_map(|(channel, hop)| hop.slots.iter().map(|slot| held(*channel, hop, slot)))
    }

    /// Every contract that the node holds of `channel`.
    pub fn held_of(&self, channel: GlobalChannelId) -> impl Iterator<Item = HeldContract> + '_ {
        let of =
            move |hop: &'_ Hop| hop.slots.iter().map(|slot| held(channel, hop, slot)).collect::<Vec<_>>();
        self.hops.get(&channel).map(of).into_iter().flatten()
    }

    /// The channels that begin here and are established, with the version in use.
    pub fn established(&self) -> impl Iterator<Item = (GlobalChannelId, Version)> + '_ {
        self.calls.iter().filter_map(|(local, call)| match &call.state {
            State::Established(established) => Some((self.own(*local), established.version)),
            State::Opening { .. } | State::Closing { .. } => None,
        })
    }

    /// The channels that end here and that the receiving program was notified of.
    pub fn received(&self) -> impl Iterator<Item = GlobalChannelId> + '_ {
        self.hops.iter().filter(|(_, hop)| hop.told).map(|(channel, _)| *channel)
    }

    /// The last life of `node` as the source of a channel that came by the neighbour `from`.
    pub fn epoch_of(&self, from: NodeId, node: NodeId) -> Option<Epoch> {
        self.epochs.get(&(from, node)).copied()
    }

    /// Requests of programs without an answer yet, releases included.
    pub fn pending(&self) -> usize {
        let pending = |state: &State| match state {
            State::Opening { .. } | State::Closing { .. } => true,
            State::Established(established) => established.change.is_some(),
        };
        self.calls.values().filter(|call| pending(&call.state)).count()
    }

    /// Entries of each table: channels at this node, channels that begin here, endings, known
    /// sources, timers, messages that wait.
    pub fn entries(&self) -> [usize; 6] {
        let out = self.out.len();
        [self.hops.len(), self.calls.len(), self.ended.len(), self.epochs.len(), self.timers.len(), out]
    }
}

fn held(channel: GlobalChannelId, hop: &Hop, slot: &Slot) -> HeldContract {
    let answer = slot.answer.as_deref().and_then(<[Span]>::split_last);
    HeldContract {
        channel,
        version: slot.version,
        contract: slot.contract,
        place: ChannelPlace { from: hop.prev, to: hop.next, port: hop.port },
        reservation: slot.reservation,
        deadline: slot.deadline,
        total: answer.map(|(_, sending)| division::total(sending.iter().copied())),
        rest: answer.map(|(rest, _)| *rest),
        drain: slot.drain,
        latest: slot.needs.latest,
        way: slot.way,
    }
}
