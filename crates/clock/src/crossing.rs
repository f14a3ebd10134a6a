//! Deadlines across hops: the terms by which imperfect clocks lengthen a bound.
//!
//! A message of a channel has a logical arrival time `ℓ_k` at each node `k` of its route. Node `k`
//! sends it by `ℓ_k + d_k`, as the node's own clock counts. The link takes `x_min` to `x_max`.
//! `T_k` is the true time at which the clock of node `k` reaches `ℓ_k`. Perfect clocks give `T_n ≤
//! T_0 + Σ (d_k + x_max)`. This module has the terms to add. ρ is the tolerance of all clocks, ρ'
//! the rate of one clock as seen by another, `g` the grain of readings.
//!
//! # Regulation by arrivals ([`Crossing::Arrivals`])
//!
//! No time travels. A node regulates by its own arrivals, `ℓ_{k+1}(i) = max(a(i), ℓ_{k+1}(i−1) +
//! I_{k+1})`. *Claim:* `T_{k+1}(i) ≤ T_k(i) + D` with `D = (d_k + g)/(1 − ρ) + x_max`, if `I_{k+1}
//! ≤ (1 − ρ') I_k`. *Proof* by induction over messages: the arrival is at most `T_k(i) + D`, since
//! the node acts at most `g` after its clock reaches an instant. The clock of node `k` advances by
//! at least `I_k` from `T_k(i−1)` to `T_k(i)`, hence the clock of node `k + 1` by at least `(1 −
//! ρ') I_k ≥ I_{k+1}`. So its clock reaches `ℓ_{k+1}(i−1) + I_{k+1}` by `T_{k+1}(i−1) + T_k(i) −
//! T_k(i−1) ≤ T_k(i) + D`. ∎
//!
//! This is "shaping is for free" (Le Boudec and Thiran, "Network calculus", 1.5) with real clocks.
//! Without the factor `1 − ρ'` it is false: a sender with a fast clock and a regulator with a slow
//! one add `ρ' I` a message, without limit (Thomas and Le Boudec, "On time synchronization issues
//! in time-sensitive networks with regulators and nonideal clocks", 2020). The factor a hop is that
//! paper's rate-and-burst cascade; bursts do not grow here, since a regulator lets through one
//! message an interval.
//!
//! # Remaining time ([`Crossing::Remaining`])
//!
//! A packet carries `r = max(0, ℓ_k + d_k − reading)` when it leaves, and `ℓ_{k+1}(i) = max(a + r,
//! ℓ_{k+1}(i−1) + I_{k+1})`. The clocks of both nodes together count at most `d_k + g` between
//! `ℓ_k` and `a + r`, less the link: the upper bound is the same, and the proof too. They count at
//! least `d_k`: a message that leaves early is held, and `T_{k+1} ≥ T_k + d_k/(1 + ρ) + x_min` less
//! a grain.
//!
//! # Deadlines in synchronised time ([`Crossing::Deadline`])
//!
//! A packet carries the nominal `N_{k+1} = N_k + d_k + x_max` in the reference's time; `N_0 = ℓ_0`.
//! Node `k` shows the reference's time within ε. It makes a message current when it has arrived and
//! the shown time is `N_k`, and then counts `d_k` by its own oscillator. In the reference's time
//! `T_{k+1} ≤ max(N_{k+1} + ε, T_k + (1 + ρ')(d_k + g) + (1 + ρ) x_max)`. By induction `T_k ≤ N_k +
//! ε + Σ_{j<k} h_j` with `h = (1 + ρ')(d + g) − d + ρ x_max`. The error of the clocks counts once,
//! whatever the number of hops, because the carried time is nominal: a node that carried on its own
//! late `ℓ` would add ε at each hop. `T_0 ≥ N_0 − ε` makes it 2ε from end to end. `T_k ≥ N_k − ε`
//! always.
//!
//! No regulator acts: messages are `I` apart in nominal time and jitter by `J_k = 2ε + Σ_{j<k}
//! h_j`, which admission counts as release jitter.

use laxity_units::Span;

use crate::drift::Tolerance;

/// One node of a route and the link behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrossingHop {
    /// `d_k`: from the logical arrival until the message has left the node, by the node's clock.
    pub delay: Span,
    /// Least true time on the link, `x_min`.
    pub least_transit: Span,
    /// Greatest true time on the link, `x_max`.
    pub most_transit: Span,
}

/// How the logical arrival time at the next node is derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crossing {
    /// From arrivals at that node alone.
    Arrivals,
    /// From the remaining time to the deadline of the node before.
    Remaining,
    /// From a nominal deadline in synchronised time.
    Deadline {
        /// ε: bound on the error of each node's synchronised clock.
        error: Span,
    },
}

/// The tolerance and the grain of all clocks on a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quality {
    /// ρ.
    pub drift: Tolerance,
    /// `g`, at least one picosecond.
    pub grain: Span,
}

impl Crossing {
    /// The term of one hop: true time that the hop takes at most beyond `d + x_max`.
    ///
    /// For deadlines: `(d + x + h)/(1 − ρ) − d − x`, since the induction counts in the reference's
    /// time.
    pub fn hop_term(self, hop: &CrossingHop, clocks: Quality) -> Span {
        let nominal = hop.delay + hop.most_transit;
        let most = match self {
            Crossing::Arrivals | Crossing::Remaining => {
                clocks.drift.longest_true(hop.delay + clocks.grain) + hop.most_transit
            }
            Crossing::Deadline { .. } => clocks.drift.longest_true(nominal + late_in_reference(hop, clocks)),
        };
        most - nominal
    }

    /// The term of a route, whatever the number of its hops: `2ε/(1 − ρ)` for deadlines, zero
    /// otherwise.
    pub fn route_term(self, clocks: Quality) -> Span {
        match self {
            Crossing::Deadline { error } => clocks.drift.longest_true(error * 2),
            Crossing::Arrivals | Crossing::Remaining => Span::ZERO,
        }
    }

    /// Bound on the true time from `T_0` to the arrival behind the last of `hops`.
    pub fn delay(self, hops: &[CrossingHop], clocks: Quality) -> Span {
        let of_hop = |hop: &CrossingHop| hop.delay + hop.most_transit + self.hop_term(hop, clocks);
        hops.iter().map(of_hop).sum::<Span>() + self.route_term(clocks)
    }

    /// Bound on the difference of that true time between two messages.
    ///
    /// Arrivals: each hop adds its whole delay. Remaining time: each hop but the last adds
    /// rounding, drift and the link's variation. Deadlines: both ends of the route add 2ε, and the
    /// last hop its delay.
    pub fn jitter(self, hops: &[CrossingHop], clocks: Quality) -> Span {
        let Some((last, before)) = hops.split_last() else { return Span::ZERO };
        let least = match self {
            Crossing::Arrivals => hops.iter().map(|hop| hop.least_transit.saturating_sub(clocks.grain)).sum(),
            Crossing::Remaining => {
                let held = |hop: &CrossingHop| {
                    (clocks.drift.shortest_true(hop.delay) + hop.least_transit)
                        .saturating_sub(clocks.drift.longest_true(clocks.grain))
                };
                before.iter().map(held).sum::<Span>() + last.least_transit
            }
            Crossing::Deadline { error } => {
                // From T_0 ≤ N_0 + ε to T_{n−1} ≥ N_{n−1} − ε, and at once over the last link.
                let nominal: Span = before.iter().map(|hop| hop.delay + hop.most_transit).sum();
                clocks.drift.shortest_true(nominal.saturating_sub(error * 2)) + last.least_transit
            }
        };
        self.delay(hops, clocks) - least
    }

    /// The interval that the node behind `hops` hops has to reserve, if the source sends a message
    /// each `interval`.
    ///
    /// Regulated, the rate grows by `1/(1 − ρ')` a hop. With deadlines the rate is the source's in
    /// the reference's time, `interval (1 − ρ')` at most as any node counts, beside
    /// [`release_jitter`](Self::release_jitter).
    pub fn interval(self, interval: Span, hops: u32, clocks: Quality) -> Span {
        let relative = clocks.drift.seen_by(clocks.drift);
        match self {
            Crossing::Arrivals | Crossing::Remaining => {
                (0..hops).fold(interval, |interval, _| relative.shortest_shown(interval))
            }
            Crossing::Deadline { .. } => relative.shortest_shown(interval),
        }
    }

    /// `J_k` at the node behind `hops`, in the reference's time; zero where a regulator restores
    /// the contract.
    pub fn release_jitter(self, hops: &[CrossingHop], clocks: Quality) -> Span {
        match self {
            Crossing::Arrivals | Crossing::Remaining => Span::ZERO,
            Crossing::Deadline { error } => {
                error * 2 + hops.iter().map(|hop| late_in_reference(hop, clocks)).sum::<Span>()
            }
        }
    }
}

/// `h = (1 + ρ')(d + g) − d + ρ x_max`.
fn late_in_reference(hop: &CrossingHop, clocks: Quality) -> Span {
    let relative = clocks.drift.seen_by(clocks.drift);
    relative.longest_shown(hop.delay + clocks.grain) - hop.delay + clocks.drift.share(hop.most_transit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Drift;

    fn clocks(ppm: i64) -> Quality {
        Quality { drift: Tolerance::of(Drift::from_ppb(ppm * 1000).unwrap()), grain: Span::from_us(2) }
    }

    fn hop(delay: Span, variation: Span) -> CrossingHop {
        CrossingHop { delay, least_transit: Span::from_us(10), most_transit: Span::from_us(10) + variation }
    }

    /// d = 40 ms, g = 2 us, ρ = 100 ppm, ε = 1 ms. Regulated: (40.002 ms)/0.9999 − 40 ms = 6.0006
    /// us.
    #[test]
    fn terms_by_hand() {
        let (hop, clocks) = (hop(Span::from_ms(40), Span::ZERO), clocks(100));
        for way in [Crossing::Arrivals, Crossing::Remaining] {
            assert_eq!(way.hop_term(&hop, clocks).as_ps(), 6_000_601, "6.00060006 us");
            assert_eq!(way.route_term(clocks), Span::ZERO);
            assert_eq!(way.interval(Span::from_ms(50), 3, clocks).as_ps(), 49_970_002_850);
        }
        // h = 1.000200021 · 40.002 ms − 40 ms + 1 ns = 10.00224… us; (40.01 ms + h)/0.9999 − 40.01
        // ms.
        let synchronised = Crossing::Deadline { error: Span::from_ms(1) };
        let late = synchronised.release_jitter(&[hop], clocks) - Span::from_ms(2);
        assert_eq!(late.as_ps(), 10_002_241);
        assert_eq!(synchronised.hop_term(&hop, clocks).as_ps(), 14_004_642);
        assert_eq!(synchronised.route_term(clocks).as_ps(), 2_000_200_021);
        assert_eq!(synchronised.interval(Span::from_ms(50), 3, clocks).as_ps(), 49_989_998_950);
    }

    /// Which way is tighter, and where: the comparison of docs/design/clocks.md.
    #[test]
    fn each_way_is_tighter_somewhere() {
        let (clocks, us) = (clocks(100), Span::from_us);
        let synchronised = |error| Crossing::Deadline { error };
        let route = |hops: usize, variation| vec![hop(Span::from_ms(10), variation); hops];
        for hops in 1..20 {
            let route = route(hops, us(5));
            let by_arrivals = Crossing::Arrivals.delay(&route, clocks);
            assert_eq!(by_arrivals, Crossing::Remaining.delay(&route, clocks));
            // Delay: without synchronisation is tighter on every route, even if ε is zero.
            assert!(by_arrivals < synchronised(Span::ZERO).delay(&route, clocks));
            // Jitter: by arrivals it is the sum of delays, otherwise little more than the last.
            assert!(Crossing::Arrivals.jitter(&route, clocks) >= Span::from_ms(10) * hops as u64);
            assert!(Crossing::Remaining.jitter(&route, clocks) < Span::from_ms(10) + us(20) * hops as u64);
        }
        // Jitter of links that vary by 500 us: remaining time adds each, a deadline absorbs them.
        let jitter = |way: Crossing, hops| way.jitter(&route(hops, us(500)), clocks);
        assert!(jitter(Crossing::Remaining, 2) < jitter(synchronised(us(500)), 2));
        assert!(jitter(Crossing::Remaining, 8) > jitter(synchronised(us(500)), 8));
        // Reserved rate: the cascade exceeds the rate of the source more with each hop, a deadline
        // by one factor.
        let interval = |way: Crossing, hops| way.interval(Span::from_ms(50), hops, clocks);
        assert_eq!(interval(Crossing::Arrivals, 1), interval(synchronised(us(1)), 1));
        assert!(interval(Crossing::Arrivals, 2) < interval(synchronised(us(1)), 2));
    }

    /// The table of docs/design/clocks.md: 10 ms a hop, 100 ppm, 2 us, ε = 599 us; us rounded up.
    #[test]
    fn the_table_of_the_document() {
        let us = |span: Span| span.div_ceil(Span::from_us(1));
        let error = Span::from_us(599);
        let rows = [(1, 5), (3, 5), (10, 5), (10, 500)].map(|(hops, variation)| {
            let route = vec![hop(Span::from_ms(10), Span::from_us(variation)); hops];
            let nominal: Span = route.iter().map(|hop| hop.delay + hop.most_transit).sum();
            [Crossing::Arrivals, Crossing::Remaining, Crossing::Deadline { error }].map(|way| {
                (us(way.delay(&route, clocks(100)) - nominal), us(way.jitter(&route, clocks(100))))
            })
        });
        // Beyond the nominal delay, and jitter.
        let expected = [
            [(4, 10_011), (4, 10_009), (1204, 11_209)],
            [(10, 30_031), (10, 10_031), (1214, 12_419)],
            [(31, 100_101), (31, 10_108), (1249, 12_461)],
            [(31, 105_051), (31, 15_058), (1250, 12_957)],
        ];
        assert_eq!(rows, expected);
    }
}
