//! Waiting for one's turn: arrivals that keep contracts, served up to `q` at a time, a turn every
//! `I`.
//!
//! Both halves of the way of a packet are of this kind (see [`super`]). A *turn* begins every `I`
//! at the latest. While any packet waits the turn serves `q` packets in order of arrival, or all
//! there are if those are fewer, within `R` of its beginning.
//!
//! Let `s` be when a packet waits that found no other waiting. The first turn after it begins by `s
//! + I`, the `m`-th by `s + m I`. Of those that came from `s` on, the `n`-th is served by turn
//! `⌈n/q⌉` or before, since no turn serves fewer than `q` as long as any wait; what was in service
//! at `s` only helps. At `s + x` there have arrived at most
//!
//! ```text
//! N(x) = Σ_c (B_c + ⌊(x + J_c)/I_c⌋)                                                                  (1)
//! ```
//!
//! packets: each channel conforms to `B_c` and `I_c` where it enters, and has been held up by up to
//! `J_c` since. So one that arrived at `s + x` is served by
//!
//! ```text
//! D = max_x (⌈N(x)/q⌉ I + R − x).                                                                     (2)
//! ```
//!
//! `N` jumps at finitely many `x` in any interval, and between jumps (2) falls, so jumps are looked
//! at, and 0. It is enough to look up to the first `m I` with `N(m I) ≤ m q`. Arrivals up to then
//! are served by turn `m`, so for later ones that time is an `s` of its own. There is one if `Σ
//! I/I_c < q`. Where it is far away, the line above `N` says
//!
//! ```text
//! D ≤ I U/q + I + R,   U = Σ_c (B_c + J_c/I_c),                                                       (3)
//! ```
//!
//! for `Σ I/I_c ≤ q`, since then `⌈N(x)/q⌉ I − x ≤ ((U + x Σ 1/I_c)/q + 1) I − x ≤ I U/q + I`.

use laxity_units::Span;

/// Packets of a channel: `B_c`, `I_c` and `J_c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrivals {
    pub(super) burst: u32,
    pub(super) interval: Span,
    pub(super) jitter: Span,
}

/// Turns: `I`, `q` and `R`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turns {
    pub(super) every: Span,
    pub(super) packets: u64,
    pub(super) within: Span,
}

/// Jumps of (1) that are looked at before (3) is taken.
const MOST_JUMPS: usize = 20_000;

/// Fixed point in which shares are added up, rounded up.
const UNIT: u128 = 1 << 40;

impl Turns {
    /// Whether the packets are no more than the turns can serve for ever: `Σ I/I_c ≤ q`.
    pub(super) fn keep_up_with(&self, arrivals: &[Arrivals]) -> bool {
        let every = ps(self.every);
        let each = |a: &Arrivals| (every * UNIT).div_ceil(ps(a.interval));
        let sum: u128 = arrivals.iter().map(each).sum();
        sum <= u128::from(self.packets) * UNIT
    }

    /// `D` without its `I + R`: for how long after the next turn would have served it a packet
    /// waits for those before it. `None` if turns do not keep up.
    pub(super) fn further(&self, arrivals: &[Arrivals]) -> Option<Span> {
        if self.packets == 0 || !self.keep_up_with(arrivals) {
            return None;
        }
        let further = self.by_jumps(arrivals).unwrap_or_else(|| self.by_line(arrivals));
        Some(Span::from_ps(u64::try_from(further).unwrap_or(u64::MAX)))
    }

    /// (2), unless there are too many jumps.
    fn by_jumps(&self, arrivals: &[Arrivals]) -> Option<u128> {
        let every = ps(self.every);
        let mut jumps: Vec<(u128, usize)> = arrivals
            .iter()
            .enumerate()
            .map(|(i, a)| (ps(a.interval) - ps(a.jitter) % ps(a.interval), i))
            .collect();
        let mut come = count(arrivals, 0);
        let (mut x, mut worst) = (0, 0);
        let mut end = 1;
        for _ in 0..MOST_JUMPS {
            let turns = come.div_ceil(u128::from(self.packets));
            worst = worst.max((turns * every).saturating_sub(every + x));
            let Some(next) = jumps.iter().map(|(at, _)| *at).min() else { return Some(worst) };
            // The first turn that has served all that came up to its beginning.
            while end * every < next {
                if come <= end * u128::from(self.packets) {
                    return Some(worst);
                }
                end += 1;
            }
            x = next;
            for (at, i) in jumps.iter_mut().filter(|(at, _)| *at == next) {
                *at += ps(arrivals[*i].interval);
                come += 1;
            }
        }
        None
    }

    /// (3).
    fn by_line(&self, arrivals: &[Arrivals]) -> u128 {
        let each = |a: &Arrivals| u128::from(a.burst) * UNIT + (ps(a.jitter) * UNIT).div_ceil(ps(a.interval));
        let all: u128 = arrivals.iter().map(each).sum();
        let whole = all.div_ceil(UNIT);
        // In whole packets, which only adds.
        (ps(self.every) * whole).div_ceil(u128::from(self.packets))
    }
}

/// `N(x)`: packets that can have arrived within `x` picoseconds.
pub(super) fn count(arrivals: &[Arrivals], x: u128) -> u128 {
    arrivals.iter().map(|a| u128::from(a.burst) + (x + ps(a.jitter)) / ps(a.interval)).sum()
}

pub(super) fn ps(span: Span) -> u128 {
    u128::from(span.as_ps())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Span {
        Span::from_us(n)
    }

    fn from(burst: u32, interval: u64, jitter: u64) -> Arrivals {
        Arrivals { burst, interval: us(interval), jitter: us(jitter) }
    }

    fn turns(every: u64, packets: u64) -> Turns {
        Turns { every: us(every), packets, within: us(1) }
    }

    #[test]
    fn as_many_as_a_turn_serves_wait_for_one() {
        assert_eq!(turns(10, 3).further(&[from(1, 100, 0); 3]), Some(us(0)));
        // The fourth waits for the second turn, the seventh for the third.
        assert_eq!(turns(10, 3).further(&[from(1, 100, 0); 4]), Some(us(10)));
        assert_eq!(turns(10, 3).further(&[from(1, 100, 0); 7]), Some(us(20)));
        assert_eq!(turns(10, 3).further(&[from(7, 100, 0)]), Some(us(20)), "a burst is as many");
    }

    #[test]
    fn what_comes_while_others_wait_counts_from_when_it_came() {
        // One a turn; 3 at once, and one of each again after 35: the third waits 20; the fourth
        // arrives at 35, behind none.
        assert_eq!(turns(10, 1).further(&[from(1, 35, 0); 3]), Some(us(20)));
        // 2 at 0, and each again at 15: the fourth's turn is at 40, 25 after it came, 15 more than
        // the next.
        assert_eq!(turns(10, 1).further(&[from(1, 15, 0); 2]), None, "1.33 a turn");
        assert_eq!(turns(10, 1).further(&[from(2, 15, 0), from(1, 100, 0)]), Some(us(20)));
        // 3 of them at 0 end at 30; one at 15 is the fourth: 40 − 15, of which 10 are in every
        // delay.
        assert_eq!(turns(10, 1).further(&[from(3, 15, 0)]), Some(us(20)));
    }

    #[test]
    fn what_was_held_up_comes_closer_together() {
        // Held up by 15 of 20, a second arrives 5 after the first; by 20, with it.
        assert_eq!(turns(10, 2).further(&[from(1, 10, 10); 1]), Some(us(0)));
        assert_eq!(turns(10, 1).further(&[from(1, 20, 20); 1]), Some(us(10)));
        assert_eq!(turns(10, 1).further(&[from(1, 20, 15); 1]), Some(us(5)));
    }

    #[test]
    fn the_line_is_above_the_jumps_and_turns_that_are_just_enough_have_one() {
        for (every, packets, arrivals) in [
            (10, 1, vec![from(3, 15, 0)]),
            (10, 4, vec![from(2, 11, 3), from(5, 13, 40), from(1, 17, 0)]),
            (7, 2, vec![from(1, 10, 25), from(2, 10, 0)]),
        ] {
            let turns = turns(every, packets);
            let (exact, line) = (turns.by_jumps(&arrivals).unwrap(), turns.by_line(&arrivals));
            assert!(exact <= line, "{exact} {line}");
        }
        // 1 a turn arrives and 1 a turn is served: the backlog never shrinks, and the line still
        // holds.
        assert_eq!(turns(10, 1).further(&[from(4, 10, 0)]), Some(us(40)));
        assert_eq!(turns(10, 1).further(&[from(1, 20, 0), from(1, 20, 0)]), Some(us(20)));
        assert_eq!(turns(10, 0).further(&[]), None);
    }

    /// (2) by brute force: every picosecond-like step, every prefix.
    #[test]
    fn jumps_are_where_the_worst_is() {
        let mut random = 7u64;
        let mut below = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        let mut looked = 0;
        for _ in 0..300 {
            let arrivals: Vec<Arrivals> =
                (0..1 + below(3)).map(|_| from(1 + below(3) as u32, 5 + below(30), below(40))).collect();
            let turns = turns(5 + below(20), 1 + below(4));
            let Some(further) = turns.further(&arrivals) else { continue };
            let step = ps(us(1));
            let worst = (0..20_000u128)
                .map(|x| {
                    let turn = count(&arrivals, x * step).div_ceil(u128::from(turns.packets));
                    (turn * ps(turns.every)).saturating_sub(ps(turns.every) + x * step)
                })
                .max();
            assert!(worst.unwrap() <= ps(further), "{turns:?} {arrivals:?}");
            looked += 1;
        }
        assert!(looked > 100);
    }
}
