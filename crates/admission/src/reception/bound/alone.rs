//! The bound of a program that has the host to itself.
//!
//! No other program can have the CPU, so the program has all that signals, batches and threads
//! leave, whether or not a budget is reserved for it. Suppose a packet of real time arrives at the
//! program at `s` and finds none of real time, neither waiting nor in work. From then until no
//! packet of real time is left the program finishes the packet in hand, of best effort and `v` at
//! most, and works on real time in order of arrival. Up to `s + x` there arrive at most `N(x)`
//! packets, by (1) of [`turns`](super::turns). So the last of them is done by `s + W(x)`,
//!
//! ```text
//! W(x) = the least W with v + N(x) v + X(N(x) + 1) + G_thread(W) ≤ W                                 (11)
//! ```
//!
//! with `G` of (6), and `X` of (8) for the packets that the program finishes until then. No packet
//! of real time is left at `s + L`, with
//!
//! ```text
//! L = the least W with v + N(W) v + X(N(W) + 1) + G_thread(W) ≤ W,
//! ```
//!
//! so a later packet has an `s` of its own, and every packet is done within
//!
//! ```text
//! D = max_{0 ≤ x < L} (W(x) − x).                                                                    (12)
//! ```
//!
//! `N` jumps at finitely many `x` below `L`, and between jumps `W(x) − x` falls, so jumps are looked
//! at, and 0. Where there are too many, `L` is no less than (12). ∎

use laxity_units::Span;

use super::turns::{Arrivals, count, ps};
use super::{Level, ReceptionHost, least};

/// The longest `L` that is looked for, in picoseconds: a second.
const LONGEST: u128 = 1_000_000_000_000;
/// Jumps of `N` that are looked at before `L` is taken.
const MOST_JUMPS: usize = 2000;

impl ReceptionHost {
    /// (12), if there is one program only, and an `L` of at most a second.
    pub(super) fn alone(&self, arrivals: &[Arrivals]) -> Option<Span> {
        let [worker] = &self.programs[..] else { return None };
        let packet = ps(worker.packet);
        let work = |come: u128, window: u128| {
            (1 + come) * packet + self.spare(come + 1) + self.others(None, Level::Thread, window)
        };
        let own = packet + self.spare(1);
        let busy = ps(least(own, LONGEST, |window| work(count(arrivals, window), window))?);
        let mut jumps: Vec<u128> = vec![0];
        for a in arrivals {
            let first = ps(a.interval) - ps(a.jitter) % ps(a.interval);
            let left = MOST_JUMPS.saturating_sub(jumps.len());
            let at = (0..).map(|n| first + n * ps(a.interval)).take_while(|x| *x < busy);
            jumps.extend(at.take(left));
        }
        if jumps.len() >= MOST_JUMPS {
            return Some(Span::from_ps(u64::try_from(busy).ok()?));
        }
        let worst = |x: u128| {
            let come = count(arrivals, x);
            least(own, busy, |window| work(come, window)).map(|within| ps(within).saturating_sub(x))
        };
        let worst = jumps.into_iter().map(worst).try_fold(0, |all, one| Some(all.max(one?)))?;
        u64::try_from(worst).ok().map(Span::from_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Worker;
    use super::super::tests::{polled, us, worker};
    use super::*;

    /// A program of 10 us a packet, without a budget, beside ticks each 100 us that take 23 us.
    fn host(rest: bool) -> ReceptionHost {
        let worker = Worker { reserved: None, rest, ..worker() };
        ReceptionHost { interfaces: vec![polled()], programs: vec![worker] }
    }

    fn from(burst: u32, interval: u64, jitter: u64) -> Arrivals {
        Arrivals { burst, interval: us(interval), jitter: us(jitter) }
    }

    #[test]
    fn a_burst_waits_for_the_packet_in_hand_and_for_turns() {
        // 10 in hand and 10: two turns of 23 in 66 us.
        assert_eq!(host(true).alone(&[from(1, 5000, 0)]), Some(us(66)));
        // 10 and 30; of six packets 70 and three turns in 139 us.
        assert_eq!(host(true).alone(&[from(3, 5000, 0)]), Some(us(86)));
        assert_eq!(host(false).alone(&[from(6, 5000, 0)]), Some(us(139)));
        // Others share the program, and arrive up to 20 us late: after 80 us there is one more, which
        // waits for 6 of them: 10 + 70 + 69 less 80, or the first 6 for 139.
        assert_eq!(host(true).alone(&[from(3, 100, 20); 2]), Some(us(139)));
    }

    /// 10 us a packet each 20 us, and 23 us of each 100: 73 %.
    #[test]
    fn a_packet_within_a_busy_time_counts_from_its_own_arrival() {
        let arrivals = [from(4, 20, 0)];
        let busy = |window: u64| 10 + 10 * (4 + window / 20) + 23 * (window.div_ceil(100) + 1);
        let mut end = 1;
        while busy(end) > end {
            end = busy(end);
        }
        let alone = host(true).alone(&arrivals).unwrap();
        assert_eq!(alone, us(10 + 50 + 69 - 20), "of the fifth, which arrives after 20 us");
        assert!(us(end) > alone.saturating_mul(2), "{end} us until no packet is left");
    }

    #[test]
    fn what_takes_all_of_the_cpu_leaves_no_bound() {
        assert_eq!(host(true).alone(&[from(1, 12, 0)]), None);
        let mut two = host(true);
        two.programs.push(two.programs[0]);
        assert_eq!(two.alone(&[from(1, 5000, 0)]), None);
    }
}
