//! Memory for channels, bounded for each neighbour.
//!
//! A contract takes memory before it sends: buffers of reassembly, messages that wait for others,
//! packets that wait for a link. A neighbour chooses the contracts that it asks for, so the sum of
//! their needs has a bound. The programs of the node count as one neighbour.

use std::collections::BTreeMap;

use laxity_clock::Tolerance;
use laxity_signalling::identity::NodeId;
use laxity_signalling::refusal::{Alternative, NodeResource, Shortage};
use laxity_signalling::resources::{NodeRequest, ReservationId};
use laxity_transport::{FragmentSizes, HEADER_LEN};
use laxity_units::Span;

use crate::flow::{BUFFERS, messages, waits};

/// Bytes of the state of a contract in the tables, at most.
const STATE: u64 = 2048;
/// The longest interval and deadline of a contract. A contract that ends leaves link time and packets
/// for so long.
const LONGEST: Span = Span::from_secs(3600);

/// Bytes that contracts need, by the neighbour that they come from.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    most: u64,
    used: BTreeMap<Option<NodeId>, u64>,
    taken: BTreeMap<ReservationId, (Option<NodeId>, u64)>,
}

impl Memory {
    /// Each neighbour has `most` bytes.
    pub(crate) fn new(most: u64) -> Self {
        Self { most, used: BTreeMap::new(), taken: BTreeMap::new() }
    }

    /// Whether `bytes` more are there for a neighbour, with packets of `packet` bytes.
    pub(crate) fn check(&self, from: Option<NodeId>, bytes: u64, packet: u64) -> Result<(), Shortage> {
        let used = self.used.get(&from).copied().unwrap_or(0);
        let missing = used.saturating_add(bytes).saturating_sub(self.most);
        let acceptable = if bytes > self.most { Alternative::Unknown } else { Alternative::Later };
        match missing {
            0 => Ok(()),
            _ => Err(Shortage::of(NodeResource::Packets, missing.div_ceil(packet)).but(acceptable)),
        }
    }

    pub(crate) fn take(&mut self, id: ReservationId, from: Option<NodeId>, bytes: u64) {
        *self.used.entry(from).or_default() += bytes;
        self.taken.insert(id, (from, bytes));
    }

    pub(crate) fn give_back(&mut self, id: ReservationId) {
        let Some((from, bytes)) = self.taken.remove(&id) else { return };
        if let Some(used) = self.used.get_mut(&from) {
            *used -= bytes;
            if *used == 0 {
                self.used.remove(&from);
            }
        }
    }

    /// Bytes that are taken, by neighbour.
    pub(crate) fn used(&self) -> &BTreeMap<Option<NodeId>, u64> {
        &self.used
    }
}

/// Bytes that a contract may take at a node with packets of `packet` bytes, where clocks drift by
/// `drift` at most.
///
/// # Errors
/// No packets can carry the contract, or it would hold resources for too long after its end.
pub(crate) fn needs(asked: &NodeRequest, packet: u32, drift: Tolerance) -> Result<u64, Shortage> {
    let message = u32::try_from(asked.contract.max_message.get());
    let message = message.map_err(|_| Shortage::of(NodeResource::Valid, 0))?;
    if asked.contract.min_interval.max(asked.contract.deadline) > LONGEST {
        return Err(Shortage::of(NodeResource::Valid, 0));
    }
    let waiting = messages(&asked.contract, waits(asked.place, asked.drain, drift));
    let each = match asked.place.to {
        None => u64::from(message),
        Some(_) => {
            let headers = u64::from(FragmentSizes { message, packet }.packets()) * HEADER_LEN as u64;
            u64::from(message) + headers
        }
    };
    let buffers = if asked.place.is_destination() { u64::from(BUFFERS) } else { 0 };
    Ok(waiting.saturating_add(buffers).saturating_mul(each).saturating_add(STATE))
}

#[cfg(test)]
pub(crate) mod tests {
    use laxity_signalling::contract::ChannelContract;
    use laxity_signalling::identity::Port;
    use laxity_signalling::resources::ChannelPlace;
    use laxity_units::Bytes;

    use super::*;

    pub(crate) fn asked(to: Option<NodeId>) -> NodeRequest {
        let contract = ChannelContract {
            max_message: Bytes::new(2500),
            min_message: Bytes::new(1),
            min_interval: Span::from_ms(10),
            burst: 2,
            deadline: Span::from_ms(25),
        };
        let place = ChannelPlace { from: Some(NodeId(1)), to, port: Port(0) };
        NodeRequest { contract, place, balance: Span::ZERO, drain: Span::ZERO }
    }

    fn needs(asked: &NodeRequest, packet: u32) -> Result<u64, Shortage> {
        super::needs(asked, packet, Tolerance::NONE)
    }

    /// Seven messages: two of a burst, three within the deadline, two more. A relay has 2500 bytes
    /// and three headers for each; the destination has two buffers more.
    #[test]
    fn a_contract_needs_its_messages() {
        assert_eq!(needs(&asked(Some(NodeId(2))), 1000), Ok(2048 + 7 * (2500 + 3 * 72)));
        assert_eq!(needs(&asked(None), 1000), Ok(2048 + 9 * 2500));
        // A change at the source: ten messages within the 95 ms of the contract before, and a microsecond.
        let mut change = NodeRequest { drain: Span::from_ms(95), ..asked(Some(NodeId(2))) };
        assert_eq!(needs(&change, 1000), Ok(2048 + 7 * (2500 + 3 * 72)));
        change.place.from = None;
        assert_eq!(needs(&change, 1000), Ok(2048 + 14 * (2500 + 3 * 72)));
        let mut long = asked(None);
        long.contract.max_message = Bytes::new(1 << 32);
        assert_eq!(needs(&long, 1000), Err(Shortage::of(NodeResource::Valid, 0)));
        long.contract.max_message = Bytes::new((1 << 32) - 1);
        (long.contract.min_interval, long.contract.deadline) = (Span::from_ps(1), LONGEST);
        assert_eq!(needs(&long, 1000), Ok(u64::MAX));
        long.contract.deadline = LONGEST + Span::from_ps(1);
        assert_eq!(needs(&long, 1000), Err(Shortage::of(NodeResource::Valid, 0)));
    }

    #[test]
    fn each_neighbour_has_its_own_bytes() {
        let mut memory = Memory::new(10_000);
        let [one, two] = [Some(NodeId(1)), None];
        memory.take(ReservationId(0), one, 8000);
        assert_eq!(memory.check(one, 2000, 1000), Ok(()));
        let short = |missing| Err(Shortage::of(NodeResource::Packets, missing).but(Alternative::Later));
        assert_eq!(memory.check(one, 4001, 1000), short(3));
        assert_eq!(memory.check(two, 10_000, 1000), Ok(()));
        assert_eq!(memory.check(two, 10_001, 1000), Err(Shortage::of(NodeResource::Packets, 1)));
        memory.give_back(ReservationId(0));
        memory.give_back(ReservationId(0));
        assert_eq!((memory.check(one, 10_000, 1000), memory.used().len()), (Ok(()), 0));
    }
}
