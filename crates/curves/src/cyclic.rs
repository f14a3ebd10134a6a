//! Cyclic queueing and forwarding of IEEE 802.1Qch.
//!
//! A frame that arrives in a cycle of length `T` leaves in the next one, if all frames of a cycle fit
//! into it: what arrives in a cycle, all of higher cyclic levels with it, and one lower frame that
//! has begun take `S ≤ T`. Such a frame leaves by the end of its cycle of arrival and `S`.
//!
//! **In step.** If a frame reaches the next port in the cycle in which it was sent (`S` and the path
//! between both are less than `T`), frames of one cycle stay together. So each further port takes
//! one cycle, and no port ever has more of a flow in a cycle than the first: over `h` ports
//!
//! ```text
//! delay ≤ h T + S_h ≤ (h + 1) T
//! ```
//!
//! Behind a longer path, or where the cycles change, a port counts as a first one, and a flow
//! arrives there with a jitter of `T + S`.

use std::collections::BTreeMap;

use laxity_units::Span;

use crate::arrival::picobits;
use crate::network::{QueueNetwork, Server, Visit};
use crate::total::{Total, longest};

/// A level with cyclic queueing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cyclic {
    /// Priority level.
    pub level: u8,
    /// Length of a cycle; not zero.
    pub cycle: Span,
    /// Least and longest time from the end of a transmission to the arrival at the next server, beside
    /// [`Server::propagation`]: no delay contains it.
    pub behind: (Span, Span),
}

impl Server {
    /// The cycle of `level`, if the level is cyclic.
    pub(crate) fn cycle(&self, level: u8) -> Option<&Cyclic> {
        self.cyclic.iter().find(|cyclic| cyclic.level == level)
    }
}

impl Total {
    /// Bounds of the cyclic levels at `server`, which are its highest; whether one grew.
    pub(crate) fn turn(&mut self, network: &QueueNetwork, server: usize) -> bool {
        let (spec, visits) = (&network.servers[server], &network.visits[server]);
        let (mut changed, mut start, mut load, mut fits) = (false, 0, 0_u128, true);
        for own in visits.chunk_by(|one, other| one.level == other.level) {
            let Some(cyclic) = spec.cycle(own[0].level) else { return changed };
            start += own.len();
            let lower = longest(network, &visits[start..]).max(spec.below);
            let entries: Vec<Entry> = own.iter().map(|visit| self.entry(network, cyclic, visit)).collect();
            fits &= self.known(network, own);
            let counted = |(visit, _): &(&Visit, &Entry)| network.counts(visit.flow, visit.hop);
            for (visit, entry) in own.iter().zip(&entries).filter(counted) {
                let source = network.limits(visit.flow, visit.hop);
                let cycle = u128::from(cyclic.cycle.as_ps());
                let most = source.iter().map(|bucket| bucket.within(entry.jitter, cycle)).min();
                load = load.saturating_add(most.unwrap_or(0));
            }
            let rate = u128::from(spec.rate.bits_per_sec());
            let sent = load.saturating_add(picobits(lower)).div_ceil(rate);
            let sent = sent.saturating_add(u128::from(spec.latency.as_ps()));
            fits &= sent <= u128::from(cyclic.cycle.as_ps());
            if !fits {
                self.sends[server].remove(&cyclic.level);
                changed |= self.refuse(own);
                continue;
            }
            let sent = Span::from_ps(u64::try_from(sent).unwrap_or(u64::MAX));
            self.sends[server].insert(cyclic.level, sent);
            let stay = cyclic.cycle.saturating_add(sent);
            for (visit, Entry { jitter, earlier }) in own.iter().zip(entries) {
                let (flow, hop) = (visit.flow, visit.hop);
                changed |= stay > self.delay[flow][hop];
                self.delay[flow][hop] = stay;
                self.growth[flow][hop] = stay.saturating_sub(earlier);
                self.base[flow][hop] = jitter;
                changed |= self.arrives(network, (flow, hop + 1), jitter.saturating_add(stay));
            }
        }
        changed
    }

    /// How the flow of `visit` arrives at a cyclic level.
    fn entry(&self, network: &QueueNetwork, cyclic: &Cyclic, visit: &Visit) -> Entry {
        let in_step = || {
            let hop = visit.hop.checked_sub(1)?;
            let before = network.flows[visit.flow].path[hop];
            let spec = &network.servers[before];
            let level = self.level(network, before, visit);
            let last = spec.cycle(level).filter(|last| last.cycle == cyclic.cycle)?;
            let sent = *self.sends[before].get(&level)?;
            let arrives = sent.saturating_add(last.behind.1).saturating_add(spec.propagation);
            // The first time in its cycle at which a frame of the last server arrives is part of it.
            let earlier = sent.saturating_add(last.behind.0).saturating_add(spec.propagation);
            (arrives < cyclic.cycle).then(|| Entry { jitter: self.base[visit.flow][hop], earlier })
        };
        in_step().unwrap_or(Entry { jitter: self.jitter[visit.flow][visit.hop], earlier: Span::ZERO })
    }
}

/// How a flow arrives at a cyclic level.
struct Entry {
    /// Jitter at the first server in step with this one.
    jitter: Span,
    /// How long before the end of a cycle the bound of the path before this server is.
    earlier: Span,
}

/// By server: what the frames of a cycle take there, by level.
pub(crate) type Sends = Vec<BTreeMap<u8, Span>>;

#[cfg(test)]
mod tests {
    use laxity_units::{Bytes, Rate};

    use crate::{Bucket, Cyclic, Effort, Flow, QueueNetwork, Server, bounds};

    use super::*;

    /// Three ports with cycles of 500 us, and a path of `behind` us between two of them.
    fn passed(behind: u64, burst: u64) -> Option<Vec<u64>> {
        let rate = Rate::from_bits_per_sec(100_000_000);
        let span = Span::from_us(behind);
        let cyclic = vec![Cyclic { level: 0, cycle: Span::from_us(500), behind: (span, span) }];
        let server = Server { below: Bytes::new(1500), cyclic, ..Server::by_level(rate) };
        let size = Bytes::new(500);
        let source = vec![Bucket::Frames { size, burst, interval: Span::from_us(500) }];
        let flow = Flow::of_frames(vec![0, 1, 2], source, size);
        let network = QueueNetwork::new(vec![server; 3], vec![flow]).expect("a network");
        let bound = bounds(&network, Effort::default()).remove(0)?;
        Some(bound.passed.iter().map(|span| span.as_ps() / 1_000_000).collect())
    }

    /// A frame of 1500 B below (120 us) and one or nine of 500 B (40 us) in a cycle: 3 cycles and 160 us,
    /// or 480 us. The path between two ports is no delay of a server. Ten frames do not fit.
    #[test]
    fn each_port_takes_a_cycle() {
        assert_eq!(passed(0, 1), Some(vec![660, 1160, 1660]));
        assert_eq!(passed(20, 1), Some(vec![660, 1140, 1620]));
        assert_eq!(passed(0, 9), Some(vec![980, 1480, 1980]));
        assert_eq!(passed(0, 10), None);
    }

    /// Behind a path of 340 us a frame reaches the next port in the cycle after its own. The port
    /// counts as a first one, where the jitter of 660 us makes one frame in a cycle three, and at the third port four.
    #[test]
    fn a_long_path_puts_ports_out_of_step() {
        assert_eq!(passed(340, 1), Some(vec![660, 660 + 740, 660 + 740 + 780]));
    }
}
