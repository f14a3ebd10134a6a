//! The resources that a manager reserves: those of its own node behind one trait.

use laxity_units::Span;

use crate::contract::{ChannelContract, QuotaClaim};
use crate::identity::{NodeId, Port};
use crate::refusal::Shortage;

/// A reservation at one node, never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReservationId(pub u64);

/// The position of a channel at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelPlace {
    /// The node before; `None` at the source.
    pub from: Option<NodeId>,
    /// The node after, and so the link; `None` at the destination.
    pub to: Option<NodeId>,
    /// The queue at the destination.
    pub port: Port,
}

impl ChannelPlace {
    /// Whether source and destination are this node.
    pub fn is_within(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// Whether packets of a source elsewhere end here.
    pub fn is_destination(&self) -> bool {
        self.from.is_some() && self.to.is_none()
    }
}

/// A request to one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeRequest {
    /// The contract. The deadline in it is end to end.
    pub contract: ChannelContract,
    /// The position of the channel here.
    pub place: ChannelPlace,
    /// The rest of the end-to-end deadline for this node and those after it.
    pub balance: Span,
    /// [`ChannelContract::drain`] of the contract that this one follows, with what its messages waited for
    /// those of the one before; zero for a new channel. For so long after the swap messages may wait
    /// for those of the contract before.
    pub drain: Span,
}

/// A tentative reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Names the reservation.
    pub id: ReservationId,
    /// `l_n`: the least local deadline that the node can promise. The reservation holds it.
    pub least: Span,
    /// The latest local deadline that the node can use; at least `least`.
    pub latest: Span,
    /// `w_n`: the longest time from the end of a transmission here until the next node has the
    /// packet.
    pub way: Span,
    /// The part of a quota that the reservation takes.
    pub claim: QuotaClaim,
}

/// The resources of one node: link, CPU, buffers, receive places.
///
/// A promise once made holds until [`release`](Self::release): neither a reservation nor a
/// commitment of another channel may touch it.
pub trait Resources: Clone {
    /// Everything that is reserved, so that two nodes can be compared.
    type Snapshot: PartialEq + std::fmt::Debug;

    /// Reserves for `asked` at the least local deadline that can be promised now.
    ///
    /// # Errors
    /// The shortage, if no local deadline can be promised. The node reserves no part then. A
    /// deadline above the balance is no error: the manager compares.
    fn reserve(&mut self, asked: &NodeRequest) -> Result<Offer, Shortage>;

    /// Relaxes a reservation to `deadline`, which is between the `least` and the `latest` of its
    /// offer.
    ///
    /// # Errors
    /// The shortage, if the reservation is not known or cannot be kept at that deadline. The
    /// manager releases the reservation then.
    fn commit(&mut self, id: ReservationId, deadline: Span) -> Result<(), Shortage>;

    /// Frees a reservation; one that is not known is no error.
    fn release(&mut self, id: ReservationId);

    /// Frees a tentative reservation of which no contract was made, so that no packet ever used it.
    fn withdraw(&mut self, id: ReservationId) {
        self.release(id);
    }

    /// Everything that is reserved. Identities of reservations are not in it.
    fn snapshot(&self) -> Self::Snapshot;
}
