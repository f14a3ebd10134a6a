//! The state of a channel at a node: soft state, which ends by a lease.

use laxity_units::{Span, Time};

use crate::contract::{ChannelContract, QuotaClaim};
use crate::division::Needs;
use crate::identity::{NodeId, Owner, Port, Version};
use crate::resources::{ChannelPlace, NodeRequest, ReservationId};

/// A channel at a node of its route.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    /// The node before; `None` at the source.
    pub(crate) prev: Option<NodeId>,
    /// The node after; `None` at the destination.
    pub(crate) next: Option<NodeId>,
    pub(crate) owner: Owner,
    pub(crate) port: Port,
    /// The number of the node on the route, 0 at the source.
    pub(crate) index: u8,
    /// The highest number of a message of the source.
    pub(crate) sequence: u32,
    /// The end of the lease; [`Time::MAX`] at the source.
    pub(crate) expires: Time,
    /// The program at the destination was notified of the channel.
    pub(crate) told: bool,
    /// At the source: how much later than by the contract in use alone a message under it may be
    /// due. It waits for messages of the contract before.
    pub(crate) waits: Span,
    /// The contracts: the one in use and the one that is being established or retired; at most two.
    pub(crate) slots: Vec<Slot>,
}

/// One contract of a channel at a node.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) version: Version,
    pub(crate) contract: ChannelContract,
    pub(crate) reservation: ReservationId,
    pub(crate) claim: QuotaClaim,
    pub(crate) needs: Needs,
    pub(crate) way: Span,
    /// The local deadline; `None` while the reservation is tentative.
    pub(crate) deadline: Option<Span>,
    /// [`NodeRequest::drain`] of its reservation.
    pub(crate) drain: Span,
    /// At the destination, the local deadlines that it answered with; at the source, those of the
    /// commitment. The last one is all that the nodes before leave to the destination.
    pub(crate) answer: Option<Box<[Span]>>,
}

impl Hop {
    pub(crate) fn slot(&self, version: Version) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.version == version)
    }

    pub(crate) fn slot_mut(&mut self, version: Version) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| slot.version == version)
    }

    /// Whether the version is committed.
    pub(crate) fn has_committed(&self, version: Version) -> bool {
        self.slot(version).is_some_and(|slot| slot.deadline.is_some())
    }

    /// The request to the resources here.
    pub(crate) fn asked(&self, contract: ChannelContract, balance: Span) -> NodeRequest {
        let last = self.slots.iter().map(|slot| slot.contract.drain()).max();
        let drain = last.map_or(Span::ZERO, |last| last.saturating_add(self.waits));
        NodeRequest {
            contract,
            place: ChannelPlace { from: self.prev, to: self.next, port: self.port },
            balance,
            drain,
        }
    }
}
