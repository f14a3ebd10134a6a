//! Interleaved regulators of asynchronous traffic shaping (IEEE 802.1Qcr).
//!
//! A regulator is a FIFO queue before the queue of a level. It releases its first frame as soon as the
//! token bucket of the flow of that frame allows. So each flow leaves it within its own limits, and no
//! delay of a server becomes a burst at the next one. Rings of such servers do not depend on each
//! other: each bound is a closed form.
//!
//! **Shaping is for free** (Le Boudec 2018, *A theory of traffic regulators for deterministic networks
//! with application to interleaved regulators*). Let frames `1, 2, …` enter a system at
//! `R_1 ≤ R_2 ≤ …`, each flow within its bucket, and leave it in that order, by `R_n + D`. Let the
//! regulator behind it release frame `n` at
//!
//! ```text
//! E_n = max(A_n, E_{n−1}, Π_n(E)),     A_n ≤ R_n + D
//! ```
//!
//! where `Π_n(E)` is the first instant that the bucket allows after the releases of earlier frames of
//! the same flow. Then `E_n ≤ R_n + D`, by induction: `E_{n−1} ≤ R_{n−1} + D ≤ R_n + D`, and `Π_n` grows
//! with the earlier releases and shifts with them, so
//! `Π_n(E) ≤ Π_n(R + D) = Π_n(R) + D ≤ R_n + D`. The argument needs no lower limit of `A_n`, so frames may
//! be early. With integers it holds as it stands if `Π_n` is rounded up once.
//!
//! The system begins where the frames last were within their buckets and in order: at the regulator
//! before, or at their first server. It can have several servers in a row, if all flows of the
//! regulator pass all of them. Then a level is FIFO over all of them. Flows that joined on the way can
//! have overtaken each other: `R_n` is not in order, and a regulator behind no FIFO system can delay
//! frames for ever (Thomas and Le Boudec 2024, *Network-calculus service curves of the interleaved
//! regulator*). A flow that has the regulator alone is always in order.
//!
//! **At its server** a regulated flow arrives within its bucket, and flows of one link can be released
//! together. So the link upstream is no limit. The delay of a server is that of total flow
//! analysis. `D` is the maximum over the flows that share the next regulator, since each waits for
//! the others. End to end the delay is the sum of `D` over all regulators, and that of the flow itself
//! from the last regulator on.
//!
//! **Clocks.** Regulators of all servers measure time alike. With different clocks a regulator can be
//! slower than its flow for ever (Thomas and Le Boudec 2020, *On time synchronization issues in
//! time-sensitive networks with regulators and nonideal clocks*).

use std::collections::BTreeMap;

use laxity_units::Span;

use crate::network::{Flow, QueueNetwork};
use crate::total::Total;

impl Total {
    /// Adds the waits in regulators to the growth of the bounds, behind all bounds of servers.
    ///
    /// Takes the bounds of flows from the regulator on at which there is none.
    pub(crate) fn release(&mut self, network: &QueueNetwork) {
        let mut shared: BTreeMap<(usize, usize, u8), Vec<Passage>> = BTreeMap::new();
        for (index, flow) in network.flows.iter().enumerate() {
            let mut origin = 0;
            for hop in (1..flow.path.len()).filter(|&hop| network.regulates(index, hop)) {
                let servers = (flow.path[hop - 1], flow.path[hop], flow.level);
                shared.entry(servers).or_default().push(Passage { flow: index, origin, hop });
                origin = hop;
            }
        }
        let served = self.valid.clone();
        for passages in shared.values() {
            let bounded = passages.iter().all(|passage| served[passage.flow] >= passage.hop);
            let ordered = passages.iter().all(|passage| passage.begins_in_order(network));
            let together =
                passages.windows(2).all(|pair| pair[0].servers(network) == pair[1].servers(network));
            let fifo = passages.len() == 1 || ordered && together;
            if !(bounded && fifo) {
                for &Passage { flow, hop, .. } in passages {
                    if self.refuse_at(flow, hop) {
                        self.disordered[flow] = !fifo;
                    }
                }
                continue;
            }
            let delays = passages.iter().map(|passage| self.passes(passage));
            let delay = delays.max().unwrap_or_default();
            for passage in passages {
                let waits = delay.saturating_sub(self.passes(passage));
                self.waits[passage.flow][passage.hop] = waits;
            }
        }
        for (growth, waits) in self.growth.iter_mut().zip(&self.waits) {
            growth.iter_mut().zip(waits).for_each(|(growth, waits)| *growth = growth.saturating_add(*waits));
        }
    }

    /// By hop: how far frames of `flow` can be shifted against its source when they arrive, before a
    /// regulator.
    pub(crate) fn since_source(&self, network: &QueueNetwork, flow: usize) -> Vec<Span> {
        let Flow { path, jitter, shortest, .. } = &network.flows[flow];
        let mut shift = *jitter;
        let later = path.iter().zip(&self.growth[flow]).map(|(&server, growth)| {
            let fastest =
                network.servers[server].peak.time_for_ceil(*shortest).saturating_sub(Span::from_ps(1));
            let arrives = shift;
            shift = shift.saturating_add(growth.saturating_sub(fastest));
            arrives
        });
        later.collect()
    }

    /// Longest time of a flow from the begin of the system before a regulator to its end.
    fn passes(&self, passage: &Passage) -> Span {
        let growth = &self.growth[passage.flow][passage.origin..passage.hop];
        growth.iter().fold(Span::ZERO, |sum, &growth| sum.saturating_add(growth))
    }
}

/// A flow at a regulator, and the system before it.
#[derive(Debug, Clone, Copy)]
struct Passage {
    flow: usize,
    /// Hop of the last regulator, or the first hop.
    origin: usize,
    hop: usize,
}

impl Passage {
    /// The servers of the system.
    fn servers<'a>(&self, network: &'a QueueNetwork) -> &'a [usize] {
        &network.flows[self.flow].path[self.origin..self.hop]
    }

    /// Whether frames begin within their bucket.
    fn begins_in_order(&self, network: &QueueNetwork) -> bool {
        let Flow { jitter, tolerance, .. } = &network.flows[self.flow];
        network.regulates(self.flow, self.origin) || jitter <= tolerance
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::{Bytes, Rate};

    use super::*;
    use crate::{Bucket, Effort, FlowBound, Server, Unbounded, bounds_where};

    /// A link on which a byte takes 0.08 us, with regulators at level 0.
    fn regulated() -> Server {
        let rate = Rate::from_bits_per_sec(100_000_000);
        Server { regulated: vec![0], ..Server::by_level(rate) }
    }

    fn plain() -> Server {
        Server { regulated: Vec::new(), ..regulated() }
    }

    /// A flow of frames of `size` bytes, one each `interval` us.
    fn flow(path: &[usize], size: u64, interval: u64) -> Flow {
        let size = Bytes::new(size);
        let source = vec![Bucket::Frames { size, burst: 1, interval: Span::from_us(interval) }];
        Flow::of_frames(path.to_vec(), source, size)
    }

    fn of(servers: Vec<Server>, flows: Vec<Flow>) -> Vec<Result<FlowBound, Unbounded>> {
        let network = QueueNetwork::new(servers, flows).expect("a network");
        bounds_where(&network, Effort::default(), |_, _| true)
    }

    /// By hop in us, rounded to a nanosecond.
    fn passed(bound: &Result<FlowBound, Unbounded>) -> Vec<f64> {
        let passed = &bound.as_ref().expect("a bound").passed;
        passed.iter().map(|span| (span.as_ps() as f64 / 1000.0).round() / 1000.0).collect()
    }

    /// Six servers in a ring, each with four frames of 40 us at once: 160 us a hop. Without regulators
    /// bursts grow for ever where 97 % of each link are used.
    #[test]
    fn a_ring_has_a_closed_form() {
        let ring = |server: fn() -> Server| {
            let flows: Vec<Flow> =
                (0..6).map(|n| flow(&[0, 1, 2, 3].map(|hop| (n + hop) % 6), 500, 165)).collect();
            (vec![server(); 6], flows)
        };
        let (servers, flows) = ring(regulated);
        let network = QueueNetwork::new(servers.clone(), flows.clone()).expect("a network");
        assert_eq!(network.order().1, [], "no server depends on a ring");
        for bound in of(servers, flows) {
            assert_eq!(passed(&bound), [160.0, 320.0, 480.0, 640.0]);
        }
        let (servers, flows) = ring(plain);
        let short = |bound: &FlowBound| bound.delay < Span::from_secs(60);
        assert!(!of(servers, flows).iter().flatten().any(short));
    }

    /// A regulator can release frames that came over one link together, so each waits for the other.
    #[test]
    fn frames_of_one_link_wait_for_each_other() {
        let flows = vec![flow(&[0, 1], 500, 4000), flow(&[0, 1], 500, 4000)];
        let found = of(vec![regulated(), regulated()], flows.clone());
        assert_eq!(passed(&found[0]), [80.0, 160.0]);
        assert_eq!(passed(&of(vec![plain(), plain()], flows)[0]), [80.0, 120.0]);
    }

    /// A flow above takes half of the link. So a frame of 500 B waits 80 us longer behind one of 1000 B,
    /// which waits 40 us behind it, and both wait in the next regulator for the slower one.
    #[test]
    fn flows_of_a_regulator_wait_for_the_slowest() {
        let fast = Bucket::Fluid { burst: Bytes::new(500), rate: Rate::from_bits_per_sec(50_000_000) };
        let above = Flow { source: vec![fast], ..flow(&[0], 500, 1) };
        let low = |size| Flow { level: 1, ..flow(&[0, 1], size, 100_000) };
        let both = Server { regulated: vec![0, 1], ..regulated() };
        let found = of(vec![both.clone(), both], vec![above, low(500), low(1000)]);
        let (short, long) = (passed(&found[1]), passed(&found[2]));
        assert_eq!((short[0].round(), long[0].round()), (80.0 + 160.0 + 40.0, 80.0 + 80.0 + 80.0));
        assert_eq!((short[1] - short[0], long[1] - short[0]), (120.0, 120.0));
        let long = found[2].as_ref().expect("a bound");
        assert_eq!((long.stays[1].as_ps() / 1_000_000, long.jitter[1].as_ps() / 1_000_000), (160, 160));
    }

    /// A tolerance of three quarters of an interval lets 875 B pass at once: the last of them begin 30 us
    /// later, wherever in a message they are.
    #[test]
    fn a_tolerance_is_a_part_of_the_bucket() {
        let tolerance = Span::from_us(3000);
        let found =
            of(vec![regulated()], vec![Flow { tolerance, jitter: tolerance, ..flow(&[0], 500, 4000) }]);
        assert_eq!(passed(&found[0]), [70.0]);
        let exact = of(vec![regulated()], vec![Flow { jitter: tolerance, ..flow(&[0], 500, 4000) }]);
        assert_eq!(passed(&exact[0]), [40.0]);
        // A link of ten times the rate sends 500 B and the other 375 B in 7 us; 375 B take 30 us here.
        let rate = Rate::from_bits_per_sec(1_000_000_000);
        let fast = Server { rate, peak: rate, ..regulated() };
        let late = Flow { tolerance, jitter: tolerance, ..flow(&[0, 1], 500, 4000) };
        let behind = passed(&of(vec![fast, plain()], vec![late])[0]);
        assert_eq!(behind[0], 7.0);
        assert!((behind[1] - (7.0 + 30.0 - 3.0 + 40.0)).abs() < 0.1, "{behind:?}");
    }

    /// Two flows that met at a server without a regulator, or that were late before the first, have no
    /// bound behind a common regulator. One alone has, and so have two that were together all the way.
    #[test]
    fn flows_of_a_regulator_come_from_one_fifo_system() {
        let servers = || vec![plain(), plain(), regulated(), plain()];
        let wrong = |hop| Err(Unbounded { hop, disordered: true });
        let from_both = vec![flow(&[0, 2], 500, 4000), flow(&[1, 0, 2, 3], 500, 4000)];
        let found = of(servers(), from_both);
        assert_eq!((&found[0], &found[1]), (&wrong(1), &wrong(2)));
        let found = of(servers(), vec![flow(&[0, 1], 500, 4000), flow(&[1, 0, 2, 3], 500, 4000)]);
        assert!(found.iter().all(Result::is_ok), "{found:?}");
        let found = of(servers(), vec![flow(&[0, 1, 2], 500, 4000), flow(&[0, 1, 2, 3], 500, 4000)]);
        assert_eq!((passed(&found[0])[2], passed(&found[1])[2]), (120.0 + 80.0, 120.0 + 80.0));
        let late = |path: &[usize]| Flow { jitter: Span::from_us(100), ..flow(path, 500, 4000) };
        let found = of(servers(), vec![late(&[0, 2]), flow(&[0, 2], 500, 4000)]);
        assert_eq!((&found[0], &found[1]), (&wrong(1), &wrong(1)));
        let found = of(servers(), vec![late(&[0, 2]), flow(&[0], 500, 4000)]);
        assert_eq!(passed(&found[0]), [80.0, 120.0]);
    }

    /// A server without rate for its flows takes their bounds, and not those of flows that they meet
    /// behind regulators.
    #[test]
    fn an_overload_goes_no_further_than_a_regulator() {
        let slow = Server { rate: Rate::from_bits_per_sec(900_000), ..regulated() };
        let servers = vec![slow, regulated(), regulated()];
        let flows = vec![flow(&[0, 1], 500, 4000), flow(&[2, 1], 500, 4000)];
        let found = of(servers, flows);
        assert_eq!(found[0], Err(Unbounded { hop: 0, disordered: false }));
        assert_eq!(passed(&found[1]), [40.0, 120.0]);
    }

    /// All flows are of one level at a FIFO server, which has no regulators.
    #[test]
    fn a_fifo_server_regulates_nothing() {
        let fifo = Server { fifo: true, ..regulated() };
        let flows = vec![flow(&[0, 1], 500, 4000), flow(&[0, 1], 500, 4000)];
        assert_eq!(passed(&of(vec![fifo.clone(), fifo], flows)[0]), [80.0, 120.0]);
    }
}
