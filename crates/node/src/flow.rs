//! The data path of one contract of a channel at a node.

use laxity_clock::Tolerance;
use laxity_signalling::HeldContract;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::identity::{GlobalChannelId, Version};
use laxity_signalling::resources::{ChannelPlace, ReservationId};
use laxity_transport::{
    FragmentSizes, PacketArrival, Reassembly, Reservation, TransportHeader, WireChannelId as Wire,
};
use laxity_units::{Span, Time};

use crate::config::{NodeConfig, regulated};
use crate::counters::DropCause;

/// Messages that can be partial at once.
pub(crate) const BUFFERS: u32 = 2;

/// A contract of a channel.
pub(crate) type Key = (GlobalChannelId, Version);

/// The channel as a header names it; the epoch is a field of its own there.
pub(crate) fn wire(channel: GlobalChannelId) -> Wire {
    Wire { node: channel.node.0, local: channel.local }
}

/// The contract that a packet belongs to.
///
/// A message number has the version of the contract in its upper half and the number of the message
/// in its lower half. The latter goes on through changes.
pub(crate) fn key(header: &TransportHeader) -> Key {
    use laxity_signalling::identity::{Epoch, NodeId};
    let Wire { node, local } = header.channel;
    let channel = GlobalChannelId { node: NodeId(node), epoch: Epoch(header.epoch), local };
    (channel, Version((header.message >> 32) as u32))
}

/// The message number of a packet of `version`.
pub(crate) fn number(version: Version, message: u32) -> u64 {
    u64::from(version.0) << 32 | u64::from(message)
}

#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) reservation: ReservationId,
    /// After the source with the interval of regulation.
    pub(crate) contract: ChannelContract,
    pub(crate) place: ChannelPlace,
    /// The local deadline; `None` while it is tentative.
    pub(crate) deadline: Option<Span>,
    /// At the ends: the local deadlines of the nodes that send, together.
    pub(crate) total: Span,
    /// At the ends: what these and the links leave of the end-to-end deadline.
    pub(crate) rest: Span,
    /// At the source: the least logical arrival of the next message by the contract alone.
    pub(crate) conforming: Time,
    /// Least logical arrival of the next message.
    pub(crate) next: Time,
    /// Logical arrival of the last message of which a packet left.
    pub(crate) left: Option<Time>,
    /// The last packet that was relayed: message, fragment, logical arrival.
    pub(crate) last: Option<(u64, u32, Time)>,
    /// Packets in the queue of the link.
    pub(crate) waiting: u64,
    /// The most of them.
    pub(crate) most: u64,
    pub(crate) sizes: FragmentSizes,
    /// At the destination.
    pub(crate) reassembly: Option<Reassembly>,
    /// The timer of a partial message.
    pub(crate) armed: Option<Time>,
}

impl Flow {
    /// `None` for a contract that no packets can carry; `perfect` is a fault.
    pub(crate) fn new(held: &HeldContract, config: &NodeConfig, perfect: bool) -> Option<Self> {
        let HeldContract { channel, mut contract, reservation, deadline, place, .. } = *held;
        if place.from.is_some() && !perfect {
            contract.min_interval = regulated(config.drift, contract.min_interval);
        }
        let message = u32::try_from(contract.max_message.get()).ok()?;
        let sizes = FragmentSizes { message, packet: config.packet };
        let messages = messages(&contract, waits(place, held.drain, config.drift));
        let reassembly = (place.is_destination() && deadline.is_some()).then(|| {
            let reservation = Reservation { sizes, buffers: BUFFERS, timeout: contract.deadline };
            Reassembly::new(wire(channel), channel.epoch.0, reservation)
        });
        Some(Self {
            reservation,
            contract,
            place,
            deadline,
            total: held.total.unwrap_or_default(),
            rest: held.rest.unwrap_or_default(),
            conforming: Time::ZERO,
            next: Time::ZERO,
            left: None,
            last: None,
            waiting: 0,
            most: messages.saturating_mul(sizes.packets().into()),
            sizes,
            reassembly,
            armed: None,
        })
    }

    /// At the destination: the message that a packet completes, if it completes one.
    ///
    /// # Errors
    /// The packet is dropped.
    pub(crate) fn take(
        &mut self,
        now: Time,
        header: &TransportHeader,
        payload: &[u8],
    ) -> Result<Option<Vec<u8>>, DropCause> {
        let reassembly = self.reassembly.as_mut().ok_or(DropCause::Unknown)?;
        // Reassembly numbers the messages of one contract.
        let header = TransportHeader { message: u64::from(header.message as u32), ..*header };
        match reassembly.accept(now, &header, payload) {
            PacketArrival::Whole(message) => Ok(Some(message.to_vec())),
            PacketArrival::Complete(buffer) => {
                let message = reassembly.message(&buffer).to_vec();
                reassembly.release(buffer);
                Ok(Some(message))
            }
            PacketArrival::Partial => Ok(None),
            PacketArrival::Ignored(_) => Err(DropCause::Old),
        }
    }

    /// When a partial message is given up.
    pub(crate) fn partial_until(&self) -> Option<Time> {
        self.reassembly.as_ref()?.poll_timeout()
    }

    /// Until when link time that is used counts.
    pub(crate) fn used_until(&self) -> Option<Time> {
        self.left.map(|left| left.saturating_add(self.contract.min_interval))
    }

    /// At the source: the least logical arrival of a message that follows one which the nodes that
    /// send have passed on by `before`.
    pub(crate) fn behind(&self, before: Time) -> Time {
        before.saturating_sub(self.total.saturating_add(self.rest))
    }

    /// By when the last packet has left the queue of the link, if packets wait there. A packet
    /// without a flow is dropped when its turn is there.
    pub(crate) fn queued_until(&self) -> Option<Time> {
        (self.waiting > 0).then(|| self.next.saturating_add(self.deadline.unwrap_or_default()))
    }
}

/// Messages of a contract in a node at most: a burst, and those within the end-to-end deadline, or
/// within `waits` if that is longer.
pub(crate) fn messages(contract: &ChannelContract, waits: Span) -> u64 {
    u64::from(contract.burst)
        .saturating_add(contract.deadline.max(waits).div_ceil(contract.min_interval))
        .saturating_add(2)
}

/// How long a message stays at a node, if it waits for those of the contract before. Only the source
/// holds them back: see [`Node::send`](crate::Node).
pub(crate) fn waits(place: ChannelPlace, drain: Span, drift: Tolerance) -> Span {
    if place.from.is_none() && !drain.is_zero() {
        drain.saturating_add(apart(drift, drain))
    } else {
        Span::ZERO
    }
}

/// How much later than `span` of one clock an event may be that other clocks count: their rates
/// differ, and remaining time is rounded down by less than a microsecond over any route.
pub(crate) fn apart(drift: Tolerance, span: Span) -> Span {
    let seen = drift.seen_by(drift);
    seen.longest_true(span).saturating_sub(span).saturating_add(Span::from_us(1))
}
