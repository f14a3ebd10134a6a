//! The part of the processor that channels take.
//!
//! A node takes a fixed time for each packet that it sends, and for each that it receives. A channel
//! takes that time for the packets of its contract, twice where the node relays. The sum has a limit,
//! since a node that cannot handle its packets keeps no promise about them. How long a packet waits
//! for the processor is part of [`LinkConfig::hosts`](crate::NodeLinkConfig::hosts).

use std::collections::BTreeMap;

use laxity_signalling::refusal::{Alternative, NodeResource, Shortage};
use laxity_signalling::resources::{NodeRequest, ReservationId};
use laxity_transport::FragmentSizes;
use laxity_units::Span;

use crate::config::NodeConfig;

/// The part of the processor that channels and signalling may take, in millionths. The rest is for
/// programs, best effort and the session between nodes.
const MOST: u64 = 750_000;
/// The whole processor.
const WHOLE: u64 = 1_000_000;

/// Parts of the processor in millionths, each rounded up.
#[derive(Debug, Clone)]
pub(crate) struct Processor {
    /// The time of a packet that is sent, or received.
    packet: Span,
    used: u64,
    taken: BTreeMap<ReservationId, u64>,
}

impl Processor {
    /// Signalling of each link, a frame out and one in for each spacing, is taken from the beginning.
    pub(crate) fn new(config: &NodeConfig) -> Self {
        let frames = 2 * config.links.len() as u64;
        let used = part(config.packet_time, frames, config.signalling);
        Self { packet: config.packet_time, used, taken: BTreeMap::new() }
    }

    /// The part that `asked` needs, with packets of `packet` bytes.
    pub(crate) fn needs(&self, asked: &NodeRequest, packet: u32) -> u64 {
        let message = u32::try_from(asked.contract.max_message.get()).unwrap_or(u32::MAX);
        let passages = 1 + u64::from(asked.place.from.is_some() && asked.place.to.is_some());
        let packets = u64::from(FragmentSizes { message, packet }.packets()) * passages;
        part(self.packet, packets, asked.contract.min_interval)
    }

    /// Whether `part` is left for a contract of that `interval`.
    pub(crate) fn check(&self, part: u64, interval: Span) -> Result<(), Shortage> {
        let missing = self.used.saturating_add(part).saturating_sub(MOST);
        if missing == 0 {
            return Ok(());
        }
        // The part is rounded up, so the accepted one is a millionth below what is left.
        let left = u128::from(MOST.saturating_sub(self.used).saturating_sub(1));
        let wider = (u128::from(interval.as_ps()) * u128::from(part)).checked_div(left);
        let acceptable = match wider.map(|wider| u64::try_from(wider + 1)) {
            None => Alternative::Later,
            Some(Ok(wider)) => Alternative::Interval(Span::from_ps(wider)),
            Some(Err(_)) => Alternative::Unknown,
        };
        Err(Shortage::of(NodeResource::Cpu, missing).but(acceptable))
    }

    pub(crate) fn take(&mut self, id: ReservationId, part: u64) {
        self.used += part;
        self.taken.insert(id, part);
    }

    pub(crate) fn give_back(&mut self, id: ReservationId) {
        self.used -= self.taken.remove(&id).unwrap_or(0);
    }

    /// The part that is taken.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }
}

/// `packets` in each `interval`, of `each`, in millionths.
fn part(each: Span, packets: u64, interval: Span) -> u64 {
    let time = u128::from(each.as_ps()) * u128::from(packets) * u128::from(WHOLE);
    u64::try_from(time.div_ceil(u128::from(interval.as_ps().max(1)))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use laxity_signalling::identity::NodeId;

    use super::*;
    use crate::memory::tests::asked;

    /// Three packets of 10 us in each 10 ms: 3000 ppm, 6000 at a relay. The relay's fits 120 times
    /// beside 30 000 ppm of signalling.
    #[test]
    fn a_relay_takes_each_packet_twice() {
        let mut processor = Processor { packet: Span::from_us(10), used: 30_000, taken: BTreeMap::new() };
        let interval = Span::from_ms(10);
        let [one, two] = [Some(NodeId(1)), Some(NodeId(2))];
        let needs = |processor: &Processor, from, to| {
            let mut asked = asked(to);
            asked.place.from = from;
            processor.needs(&asked, 1000)
        };
        assert_eq!(needs(&processor, None, two), 3000);
        assert_eq!(needs(&processor, one, None), 3000);
        let relayed = needs(&processor, one, two);
        assert_eq!(relayed, 6000);
        for id in 0..120 {
            assert_eq!(processor.check(relayed, interval), Ok(()));
            processor.take(ReservationId(id), relayed);
        }
        let full = Processor { used: MOST - 1, ..processor.clone() };
        let short = |missing| Shortage::of(NodeResource::Cpu, missing);
        assert_eq!(full.check(6000, interval), Err(short(5999).but(Alternative::Later)));
        processor.give_back(ReservationId(7));
        processor.give_back(ReservationId(7));
        assert_eq!((processor.check(6000, interval), processor.used()), (Ok(()), 744_000));
        // 5999 millionths are left for 12 000 of each 10 ms.
        let wider = Alternative::Interval(Span::from_ps(20_003_333_889));
        assert_eq!(processor.check(12_000, interval), Err(short(6000).but(wider)));
        let endless = processor.check(u64::MAX, Span::from_secs(3600));
        assert_eq!(endless, Err(short(u64::MAX - MOST)));
    }
}
