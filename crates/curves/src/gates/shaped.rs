//! A class with a credit-based shaper behind gates.
//!
//! The credit `V` grows at the idle slope `I` while the gate of the class is open and a frame waits, and
//! loses the bits that are sent. It keeps its value while the gate is closed. In the guard band the gate
//! is open, so the credit grows (802.1Q-2018, 8.6.8.2; Zhao, Pop, Zheng, Daigmorte and Boyer 2021,
//! *Latency analysis of multiple classes of AVB traffic in TSN with standard credit behavior using
//! network calculus*, call it non-frozen there).
//!
//! **The service.** Let a frame wait at `t`. Let `o ≤ t` be the last instant with an empty queue and no
//! credit, and let `u` be the last one in `[o, t]` with a credit of zero at most. There is no reset
//! between `o` and `u`, so
//!
//! ```text
//! bits sent from o to u  =  I · open(o, u) − V(u)  ≥  I · open(o, u)
//! ```
//!
//! where `open` is the time with an open gate. From `u` to `t` frames wait and the credit lets all of
//! them pass. So the class sends in its windows as without a shaper: `S(u, t)` at least, see the
//! module above. All frames that came by `o` have left by `o`, so the class has the service curve
//!
//! ```text
//! β(t − o) = min over u of  I · open(o, u) + S(u, t)
//! ```
//!
//! The papers bound the highest credit instead, and that has a bound only if each window sends what the
//! credit earns in it. This sum needs no such condition. Without gates it is `I t − V_max` of
//! [`credit`](crate::credit).
//!
//! **Straight lines.** Let the windows send `R` on average over a cycle, and `G(u, t)` in a backlog
//! from `u` to `t`. Higher classes send `a + r w` at most in a time `w`, so `S ≥ [G − a − r w]⁺`. For a
//! rate `ρ ≤ R − r` that the credit earns over a cycle
//!
//! ```text
//! β(t − o)  ≥  ρ (t − o) − max over u of ( E(u) + X(u) )
//! E(u)  =  max over o ≤ u of  ρ (u − o) − I · open(o, u)
//! X(u)  =  max over t ≥ u of  ρ (t − u) − S(u, t)
//! ```
//!
//! `E` is highest for an `o` at the end of a window. Two limits of `X` hold, and the less counts:
//!
//! ```text
//! a + max of (ρ + r) w − G,      ρ / (R − r) · (a + max of R w − G)
//! ```
//!
//! The latter is what a rate-latency curve has. Each limit is a maximum over the begins of windows,
//! where `G` has stood still. As a function of `u` within a window, its sum with `E` is a maximum of
//! straight lines until no more than a lower frame and the guard band are left of the window. So the sum
//! is highest at the begin of the window, where a lower frame can begin while the credit is just
//! negative, or there. From there on, and while the gate is closed, `X` falls by `ρ` or more with time,
//! and `E` grows by `ρ` at most.
//!
//! Two rates are used: the highest, and the highest with which `E` is zero before a guard band. The
//! latter has the least latency.

use super::Steps;
use crate::arrival::{Arrival, Line};
use crate::service::{Piece, Service};

/// A port examines the credit at whole picoseconds, so a frame can begin less than one late.
const INSTANT: u128 = 1;

/// The service of a class with idle slope `slope` and an open gate at a link with that rate and debt.
pub(super) fn always_open(slope: u128, (link, debt): (u128, u128), above: &Arrival) -> Option<Service> {
    let backlog = Backlog { before: Vec::new(), corners: vec![(debt.div_ceil(link) + INSTANT, 0)] };
    Credited { slope, earned: slope, rate: link, backlogs: vec![backlog] }.service(above)
}

/// A class with a shaper.
struct Credited {
    slope: u128,
    /// The rate of the credit over a cycle, rounded down.
    earned: u128,
    /// The rate that the windows send over a cycle, rounded down.
    rate: u128,
    backlogs: Vec<Backlog>,
}

/// An instant at which the credit can become positive.
struct Backlog {
    /// From the end of each window before until then: the time, and the part with an open gate.
    before: Vec<(u128, u128)>,
    /// From then until frames of the class begin in each window: the time, and what the windows before
    /// sent.
    corners: Vec<(u128, u128)>,
}

impl Backlog {
    /// `E`.
    fn early(&self, rate: u128, slope: u128) -> Option<u128> {
        let early = |(time, open): &(u128, u128)| {
            Some(rate.checked_mul(*time)?.saturating_sub(slope.checked_mul(*open)?))
        };
        self.before.iter().map(early).try_fold(0, |most, early| Some(early?.max(most)))
    }

    /// The most by which the windows are behind `rate`.
    fn late(&self, rate: u128) -> Option<u128> {
        let late = |(time, sent): &(u128, u128)| Some(rate.checked_mul(*time)?.saturating_sub(*sent));
        self.corners.iter().map(late).try_fold(0, |most, late| Some(late?.max(most)))
    }
}

impl Credited {
    fn service(&self, above: &Arrival) -> Option<Service> {
        let left = above.lines().iter().filter_map(|line| self.rate.checked_sub(line.rate));
        let highest = left.map(|left| left.min(self.earned)).max().filter(|rate| *rate > 0)?;
        let before = self.backlogs.iter().flat_map(|backlog| &backlog.before);
        // At the begin of a window `E` is not zero.
        let earns =
            before.map(|(time, open)| self.slope.saturating_mul(*open) / time).filter(|rate| *rate > 0);
        let at_once = earns.min().filter(|rate| *rate < highest);
        let piece = |rate: u128| Some(Piece { rate, debt: self.debt(rate, above)? });
        let last = piece(highest)?;
        let first = at_once.and_then(piece).filter(|piece| piece.debt < last.debt);
        Some(Service::of(first.into_iter().chain([last]).collect()))
    }

    /// The least debt with which the class has `rate`, rounded up.
    fn debt(&self, rate: u128, above: &Arrival) -> Option<u128> {
        let most = |late: &dyn Fn(&Backlog) -> Option<u128>| {
            let mut debts =
                self.backlogs.iter().map(|one| late(one)?.checked_add(one.early(rate, self.slope)?));
            debts.try_fold(0, |most, debt| Some(debt?.max(most)))
        };
        let behind = |line: &Line| {
            let left = self.rate.checked_sub(line.rate).filter(|left| *left >= rate)?;
            let direct = most(&|one| one.late(rate + line.rate)?.checked_add(line.burst));
            let scaled = most(&|one| {
                let late = one.late(self.rate)?.checked_add(line.burst)?;
                Some(rate.checked_mul(late)?.div_ceil(left))
            });
            direct.into_iter().chain(scaled).min()
        };
        above.lines().iter().filter_map(behind).min()
    }
}

impl Steps {
    /// The service of the class with a shaper of that slope.
    pub(super) fn shaped(&self, slope: u128, above: &Arrival) -> Option<Service> {
        let number = self.steps.len();
        let all: u128 = self.steps.iter().map(|step| step.open).sum();
        let rate = self.steps.iter().map(|step| step.bits.all).sum::<u128>() / self.cycle;
        let before = |index: usize, left: u128| {
            let (mut time, mut open, mut before) = (left, left, Vec::new());
            for back in 0..number {
                let index = (index + number - back) % number;
                time += self.steps[index].closed;
                before.push((time, open));
                let last = self.steps[(index + number - 1) % number].open;
                (time, open) = (time + last, open + last);
            }
            before
        };
        let guarded = |index: usize| {
            let step = &self.steps[index];
            // The wait is longer than a short window, which then begins with it.
            let before = before(index, step.open.saturating_sub(step.missed));
            Backlog { before, corners: self.corners(index, (step.missed + INSTANT, 0), |step| step.bits) }
        };
        let at_begin = |index: usize| {
            let step = &self.steps[index];
            let blocked = step.missed - self.longest.div_ceil(self.link) + INSTANT;
            let sent = (step.open.saturating_sub(blocked) * self.link).saturating_sub(self.longest);
            let mut corners = self.corners(index, (step.open.max(blocked), sent), |step| step.bits);
            corners.push((self.latency + blocked, 0));
            Backlog { before: before(index, 0), corners }
        };
        let backlogs = (0..number).flat_map(|index| [guarded(index), at_begin(index)]).collect();
        let earned = slope.checked_mul(all)? / self.cycle;
        Credited { slope, earned, rate, backlogs }.service(above)
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Bytes;

    use super::super::tests::server;
    use super::super::{Class, Gates, class};
    use super::*;

    const US: u128 = 1_000_000;
    const BIT: u128 = 1_000_000_000_000;

    /// The windows of a class with 500 B (40 us at 100 Mbit/s) in a cycle of 1000 us.
    fn shaped(windows: &[(u8, &[(u64, u64)])], mbit: u128, lower: u64, above: &Arrival) -> Option<Service> {
        let (server, gates) = server(windows);
        let lower = [(Gates::BELOW, Bytes::new(lower))];
        let (longest, slope) = (Bytes::new(500), Some(mbit * 1_000_000));
        class(&server, &gates, &Class { level: 0, longest, lower: &lower, above: Some(above), slope }).service
    }

    /// Rate in Mbit/s and latency in us of each piece, rounded down.
    fn pieces(service: &Service) -> Vec<(u128, u128)> {
        service.pieces().iter().map(|piece| (piece.rate / 1_000_000, piece.debt / piece.rate / US)).collect()
    }

    /// A window of 800 us in each 1000 us, in which frames of 1500 B (120 us) can be below. 50 Mbit/s
    /// of the window are 40 on average; it sends 76. A frame waits for one below, 40 us of guard and
    /// 200 us.
    ///
    /// The credit earns no less than a rate of 38.07 Mbit/s from the begin of the closed time until the
    /// guard, 50 · 640 / 840, so for that rate nothing else counts. For 40 the credit is late by
    /// 40 · 840 − 50 · 640 = 1600 bits: 40 us more.
    #[test]
    fn a_shaped_class_waits_for_the_windows_and_for_its_credit() {
        let both: [(u8, &[(u64, u64)]); 2] = [(0, &[(100, 800)]), (Gates::BELOW, &[(100, 800)])];
        let found = shaped(&both, 50, 1500, &Arrival::none()).expect("a service");
        assert_eq!(pieces(&found), [(38, 360), (40, 400)]);
        // A lower gate that is open before the window blocks its begin as well. It then sends 64 Mbit/s.
        let longer: [(u8, &[(u64, u64)]); 2] = [(0, &[(100, 800)]), (Gates::BELOW, &[(0, 900)])];
        let found = shaped(&longer, 50, 1500, &Arrival::none()).expect("a service");
        assert_eq!(pieces(&found), [(38, 480), (40, 520)]);
    }

    /// 99 Mbit/s in 800 of 1000 us are more than the window sends, 76, so the window alone counts: an
    /// arrival behind the last frame that fits waits for 40 us and 200 us. With no lower frame the
    /// credit earns 99 · 760 / 960 = 78 Mbit/s until then.
    #[test]
    fn a_shaper_above_the_windows_does_not_count() {
        let found = shaped(&[(0, &[(100, 800)])], 99, 0, &Arrival::none()).expect("a service");
        assert_eq!(pieces(&found), [(76, 240)]);
        assert!(shaped(&[(0, &[])], 50, 0, &Arrival::none()).is_none(), "the gate never opens");
        assert!(
            shaped(&[(0, &[(0, 40)])], 50, 0, &Arrival::none()).is_none(),
            "less than a frame and a guard"
        );
    }

    /// Windows of 100 us from 0 and of 200 us from 700 us on. A lower frame of 120 us can begin with
    /// the second, while the credit is just negative: 600 us behind the first it blocks for 120 us
    /// more. In a guard band a wait begins that is shorter: 40 us and 600 us. The credit earns 50 · 40
    /// / 640 Mbit/s until 160 us before the end of the second window.
    #[test]
    fn a_lower_frame_begins_with_a_window_while_the_credit_is_negative() {
        let windows: [(u8, &[(u64, u64)]); 2] = [(0, &[(0, 100), (700, 200)]), (Gates::BELOW, &[(700, 200)])];
        let found = shaped(&windows, 50, 1500, &Arrival::none()).expect("a service");
        assert_eq!(pieces(&found), [(3, 720), (15, 1066)]);
    }

    /// An open gate: the service is that of the shaper alone. Traffic above of 20 Mbit/s and 1000 bits
    /// leaves 80, and the frame below and the 1000 bits take 13 000 / 80 us.
    #[test]
    fn an_open_gate_leaves_the_latency_of_the_shaper() {
        let above = Arrival::least(vec![Line { burst: 1000 * BIT, rate: 20_000_000 }]);
        let found = shaped(&[(7, &[(0, 10)])], 50, 1500, &above).expect("a service");
        assert_eq!(pieces(&found), [(50, 162)]);
    }

    /// The pieces are below what credit and windows send together, for all `o`, `u` and `t` by steps of
    /// 10 us: with a lower frame at `u`, and at the begin of each window that it can reach into.
    #[test]
    fn the_pieces_are_below_the_sum_of_credit_and_windows() {
        const STEP: usize = 10;
        let windows: [(u8, &[(u64, u64)]); 2] =
            [(0, &[(100, 150), (400, 60), (700, 250)]), (Gates::BELOW, &[(130, 120), (380, 80), (720, 250)])];
        let is_open = |level: usize, at: usize| {
            let us = (at * STEP % 1000) as u64;
            windows[level].1.iter().any(|(begin, length)| (*begin..begin + length).contains(&us))
        };
        let frame = 40 / STEP;
        let fits = |at: usize| (at..=at + frame).all(|at| is_open(0, at));
        let low = |at: usize| (at..at + frame).all(|at| is_open(1, at));
        for (mbit, burst, rate) in [(30, 0, 0), (60, 0, 0), (90, 0, 0), (45, 2000, 5), (70, 9000, 10)] {
            let line = Line { burst: burst * BIT, rate: rate * 1_000_000 };
            let service = shaped(&windows, mbit, 500, &Arrival::least(vec![line])).expect("a service");
            for u in 100..200 {
                // In bits, by the steps from `u` on.
                let (mut sent, mut free) = (vec![0], if low(u) { u + frame } else { u });
                for at in u..u + 300 {
                    if at > u && is_open(0, at) && !is_open(0, at - 1) && low(at - 1) {
                        free = at + frame;
                    }
                    sent.push(sent[at - u] + if at >= free && fits(at) { 1000 } else { 0 });
                }
                for o in u - 100..=u {
                    let credit = (o..u).filter(|at| is_open(0, *at)).count() as u128 * STEP as u128 * mbit;
                    for (steps, sent) in sent.iter().enumerate() {
                        let above = burst + rate * (steps * STEP) as u128;
                        let time = ((u - o + steps) * STEP) as u128 * US;
                        let least = (credit + u128::saturating_sub(*sent, above)) * BIT;
                        let said =
                            service.pieces().iter().map(|p| (p.rate * time).saturating_sub(p.debt)).max();
                        assert!(said <= Some(least), "{mbit} {burst}: {o} {u} {steps}");
                    }
                }
            }
        }
    }
}
