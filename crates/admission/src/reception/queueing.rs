//! Queueing theory's estimate for a host that polls: throughput, blocking and latency, where Eqs.
//! 7.1 to 7.5 know throughput alone.
//!
//! Packets arrive as a Poisson process and their protocol takes an exponential time. So between
//! polls the host is a queue M/M/1/K, `K` being the packets that the adapter holds and the one in
//! work. Polling changes two things:
//!
//! *The server is slower.* Of each interval `I` a poll takes `C_poll`, and grants `Q` packets
//! beside the one that the poll before left in work. If there is always a packet, `N` could be done
//! in what is left of `I`, Poisson distributed with mean `(I − C_poll) / C_ri`. With `b` the share
//! of polls that find one in work,
//!
//! ```text
//!   b = b P(N ≤ Q) + (1 − b) P(N < Q)
//!   packets in an interval = b E[min(N, Q + 1)] + (1 − b) E[min(N, Q)]
//! ```
//!
//! which is less than `min(Q, E[N])`, Eq. 7.4's pattern, since what a short packet leaves of an
//! interval no later one is granted.
//!
//! *The server is away* when it has no work, until the next poll. In an M/G/1 queue with vacations
//! a packet waits for as long as in the one without, and what is left of a vacation on average
//! (Fuhrmann and Cooper 1985), `E[Σ V²] / 2 E[Σ V]` over those of an idle time. The first is what
//! is left of an interval, those after it are whole, `1 / λ E[I]` of them on average whatever their
//! distribution:
//!
//! ```text
//!   rest = (E[I³] / 3 E[I] + E[I²] / λ E[I]) / 2 (E[I²] / 2 E[I] + 1 / λ)        I / 2 at no load, I / 3 at a high one
//! ```
//!
//! A queue that is always full has no vacations: the rest counts by the probability `1 − ρ^K` with
//! which one without an end has fewer than `K`. That, and services that are taken as exponential
//! though they are granted in batches, is why this is an estimate.

/// Expected values of a queue in its steady state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Packets a second that are served.
    pub throughput: f64,
    /// Share of packets that find no place.
    pub blocking: f64,
    /// Mean packets in the system.
    pub packets: f64,
    /// Mean time in the system of a packet that found a place, in seconds.
    pub latency: f64,
}

/// A host that polls an interface; times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Polled {
    /// The mean of the time between polls, of its square and of its cube; above 0.
    pub interval: [f64; 3],
    /// `C_poll`: what a poll takes, on average.
    pub poll: f64,
    /// `Q`: packets that a poll grants; at least 1.
    pub quota: u32,
    /// `C_ri`: what a packet takes, exponentially distributed with this mean; above 0.
    pub service: f64,
    /// Packets in the system at most, the one in work included; at least 1.
    pub places: u32,
}

/// The queue M/M/1/K with `arrivals` and `services` a second, both above 0, and `places` for
/// packets, the one in work included.
pub fn mm1k(arrivals: f64, services: f64, places: u32) -> Estimate {
    let load = arrivals / services;
    // Weights of the states 0 … K by their likeliest, or powers of a load above 1 would not be
    // finite.
    let most = if load > 1.0 { f64::from(places) } else { 0.0 };
    let weights = || (0..=places).map(|n| (f64::from(n), load.powf(f64::from(n) - most)));
    let all: f64 = weights().map(|(_, weight)| weight).sum();
    let packets = weights().map(|(n, weight)| n * weight).sum::<f64>() / all;
    let blocking = load.powf(f64::from(places) - most) / all;
    let throughput = arrivals * (1.0 - blocking);
    Estimate { throughput, blocking, packets, latency: packets / throughput }
}

impl Polled {
    /// Expected values with `arrivals` a second, above 0; `None` if polls alone take all of the
    /// CPU.
    pub fn estimate(&self, arrivals: f64) -> Option<Estimate> {
        let [mean, square, cube] = self.interval;
        let services = self.saturated()?;
        let queue = mm1k(arrivals, services, self.places);
        let rest = (cube / (3.0 * mean) + square / (arrivals * mean)) / (square / mean + 2.0 / arrivals);
        let load = (arrivals / services).min(1.0);
        let latency = queue.latency + (1.0 - load.powf(f64::from(self.places))) * rest;
        Some(Estimate { latency, packets: latency * queue.throughput, ..queue })
    }

    /// Packets a second if there is always one; `None` if polls alone take all of the CPU.
    pub fn saturated(&self) -> Option<f64> {
        let [mean, ..] = self.interval;
        let could = (mean - self.poll) / self.service;
        if could <= 0.0 {
            return None;
        }
        // P(N = n) from n to n + 1; of a mean so large that P(N = 0) has no double, no quota that
        // is less cuts anything else.
        let mut likely = (-could).exp();
        let quota = f64::from(self.quota);
        if likely == 0.0 {
            return Some(could.min(quota) / mean);
        }
        // E[min(N, Q)] = Σ n P(N = n) over n < Q, and Q times the rest.
        let (mut below, mut granted, mut n) = (0.0, 0.0, 0.0);
        while n < quota && below < 1.0 - 1e-15 {
            below += likely;
            granted += n * likely;
            n += 1.0;
            likely *= could / n;
        }
        // A quota that is never used up has no effect.
        let (full, beyond) = if n < quota { (0.0, 0.0) } else { (likely, (1.0 - below - likely).max(0.0)) };
        granted += quota * (full + beyond);
        let one_more = granted + beyond;
        let in_work = below / (1.0 - full);
        Some((in_work * one_more + (1.0 - in_work) * granted) / mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1e-9)
    }

    #[test]
    fn the_finite_queue_has_its_closed_forms() {
        for load in [0.3, 0.9, 1.5, 40.0_f64] {
            for places in [1, 2, 7, 300] {
                let k = f64::from(places);
                let queue = mm1k(load * 5.0, 5.0, places as u32);
                let closed = match load > 1.0 {
                    true => (1.0 - 1.0 / load) / (1.0 - load.powf(-k - 1.0)),
                    false => (1.0 - load) * load.powf(k) / (1.0 - load.powf(k + 1.0)),
                };
                assert!(near(queue.blocking, closed), "{load} {places}: {queue:?}, not {closed}");
                // The input equals the output: the server is busy for as long as its work takes.
                let empty = queue.blocking / load.powf(k);
                assert!(load > 1.0 || near(queue.throughput, 5.0 * (1.0 - empty)));
                assert!(near(queue.packets, queue.latency * queue.throughput), "Little");
            }
        }
        // Erlang's formula for one place; at a load of 1 all states are as likely.
        assert!(near(mm1k(3.0, 2.0, 1).blocking, 1.5 / 2.5));
        let even = mm1k(2.0, 2.0, 9);
        assert!(near(even.blocking, 0.1) && near(even.packets, 4.5));
        // With places without end, M/M/1: ρ / (1 − ρ) packets, 1 / (μ − λ) seconds.
        let endless = mm1k(3.0, 5.0, 2000);
        assert!(near(endless.packets, 1.5) && near(endless.latency, 0.5) && near(endless.throughput, 3.0));
    }

    fn polled(quota: u32) -> Polled {
        Polled { interval: [20.0, 400.0, 8000.0], poll: 2.0, quota, service: 9.0, places: 1000 }
    }

    #[test]
    fn what_polls_grant_and_what_the_cpu_can_do_both_bound_a_full_queue() {
        // 18 of each 20 at 9 a packet: N has mean 2, and P(N = n) = 2ⁿ e⁻² / n!. With one granted,
        // P(N < 1) = e⁻², P(N = 1) = 2 e⁻²: b = e⁻² / (1 − 2 e⁻²); E[min(N, 1)] = 1 − e⁻², E[min(N,
        // 2)] = 2 − 4 e⁻².
        let e = (-2.0_f64).exp();
        let b = e / (1.0 - 2.0 * e);
        let one = b * (2.0 - 4.0 * e) + (1.0 - b) * (1.0 - e);
        assert!(near(polled(1).saturated().unwrap(), one / 20.0));
        // More granted is more done, up to what the CPU can do.
        let rates: Vec<f64> = (1..12).map(|quota| polled(quota).saturated().unwrap()).collect();
        assert!(rates.is_sorted() && rates[10] <= 0.1 && near(polled(100).saturated().unwrap(), 0.1));
        assert!(near(polled(u32::MAX).saturated().unwrap(), 0.1));
        // Packets of zero time: those granted, and the one that was in work is there no more.
        assert!(near(Polled { service: 1e-9, ..polled(3) }.saturated().unwrap(), 3.0 / 20.0));
        assert!(near(Polled { service: 0.05, ..polled(3) }.saturated().unwrap(), 3.0 / 20.0));
        assert_eq!(Polled { poll: 20.0, ..polled(1) }.estimate(1.0), None);
    }

    #[test]
    fn who_comes_waits_for_the_queue_and_the_rest_of_a_vacation() {
        // Hardly any load: the packet's own time, by the CPU that polls leave, and half an
        // interval.
        assert!((polled(100).estimate(1e-9).unwrap().latency - 20.0).abs() < 1e-6);
        // 0.05 of 0.1: M/M/1 has 1 / (0.1 − 0.05) = 20; λ I = 1, so the rest is 20 (1 / 3 + 1) / (1
        // + 2).
        let half = polled(100).estimate(0.05).unwrap();
        assert!(near(half.latency, 20.0 + 20.0 * 4.0 / 9.0) && near(half.throughput, 0.05), "{half:?}");
        assert!(near(half.packets, half.latency * 0.05), "Little");
        // Too much for it: full, and never away.
        let full = polled(100).estimate(1.0).unwrap();
        assert!(near(full.throughput, 0.1) && near(full.blocking, 0.9));
        assert!((full.latency - 999.0 / 0.1).abs() < 20.0, "{full:?}");
    }
}
