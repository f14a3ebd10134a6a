//! The chance that a message is late, where channels accept a small one.
//!
//! # The problem
//!
//! [`super::demand`] reserves for messages that are all of the largest size. A film sends a few large
//! messages among many small ones, so most of what is reserved is not used. A channel that accepts a
//! late message now and then can share that rest with others (thesis 3.3.3, statistical real-time
//! channels; 8.2).
//!
//! # What is assumed
//!
//! Each channel keeps to its contract, and declares the mean size of its messages. The sizes of
//! messages are independent of each other and of the times of messages. Their distribution is not
//! known.
//!
//! # The analysis
//!
//! Let `m` be a message with absolute deadline `D`, and `f` its end under EDF. By the proof of
//! [`super::demand`], `f > D` only if for some `s` at or before the arrival of `m`, with `t = D − s`,
//!
//! ```text
//! W + G(t) + Σ_j Σ_{k ≤ n_j} S_j(X_jk) > t,   n_j ≤ b_j(t) = ⌊(t − d_j)/I_j⌋ + 1,
//! ```
//!
//! where `X_jk` are the sizes of the messages of `j` in the window and `S_j(x)` is the service of a
//! message of `x` bytes. `b_j` changes at absolute deadlines `τ_i` only, and a window of which `t` is
//! in `[τ_i, τ_{i+1})` holds at most the last `b_j(τ_i)` messages of `j`. All these windows are one
//! event, and Chernoff's bound on the event is, for every `θ > 0`,
//!
//! ```text
//! exp(θ (W + G(τ_{i+1}) − τ_i)) Π_j ψ_j(θ)^{b_j(τ_i)},   ψ_j(θ) = E exp(θ S_j(X)).
//! ```
//!
//! `exp` is convex. Of all distributions with services between `a` and `b` and the mean `c` at most,
//! the one on `a` and `b` alone therefore has the largest `ψ` (Hoeffding 1963):
//!
//! ```text
//! ψ(θ) ≤ (1 − q) e^{θa} + q e^{θb},   q = (c − a)/(b − a).
//! ```
//!
//! `ln ψ(θ)/θ` is the effective bandwidth of a message. The chance that `m` is late is at most the
//! sum of these bounds over all `τ_i ≥ d_m`. A `θ` of its own is chosen for each. Where
//! `Σ_j ln ψ_j(θ)/I_j + θ Σ_g A_g/interval_g < θ`, the terms from some `τ_i` on are below geometric
//! series, of which the sums are taken.
//!
//! # Full queues
//!
//! A message that finds its queue full is dropped. The message at the head of that queue is late
//! then, and a different one for each message that is dropped. So twice the chance is a bound on the
//! share of messages that are late or dropped ([`share_late`]).

use laxity_qos::channel::Block;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::Bytes;

use super::buffers;
use super::decision::{AdmissionRefusal, Claimant, Deficit, Impossible, Reason, Scarce};
use super::demand::{Host, Stream};
use super::environment::{Environment, Request};
use super::model::Shared;
use super::population::Population;
use super::response::{Effort, Task};

/// Windows that are looked at for one channel.
const MOST_WINDOWS: u32 = 20_000;
/// Sizes of messages of which the service is asked for.
const MOST_SIZES: u64 = 64;

/// A channel that accepts late messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Varying {
    /// The contract and the deadline.
    pub request: Request,
    /// The declared mean size of its messages, at most the largest.
    pub mean_message: Bytes,
}

/// Bounds on the share of late or dropped messages of each of `channels`, which a host serves by EDF
/// by the requested deadlines; or why they have none. A share of 1 or more says that there is no
/// useful bound.
pub fn share_late(environment: &Environment, channels: &[Varying]) -> Result<Vec<f64>, AdmissionRefusal> {
    let of_all = |(resource, deficit, reason): Impossible| {
        AdmissionRefusal::new(resource, deficit, reason, Claimant::Newcomer)
    };
    let best_effort = Population::of_best_effort(environment);
    let population =
        channels.iter().fold(best_effort, |all, channel| all.with(environment, &channel.request));
    if environment.block_real_time == Block::Never {
        return Err(of_all((Scarce::Deadline, Deficit::Unbounded, Reason::BeyondInterval)));
    }
    let shared = Shared::new(environment, &population).map_err(of_all)?;
    let mut messages: Vec<Messages> = Vec::new();
    for channel in channels {
        buffers::check(environment, &channel.request).map_err(of_all)?;
        let one = Messages::of(environment, &shared, channel);
        match messages.iter_mut().find(|other| other.is_like(&one)) {
            Some(other) => other.channels += 1.0,
            None => messages.push(one),
        }
    }
    let demand = Demand::new(&shared, messages);
    let share = |channel: &Varying| {
        let least = channel.request.deadline().as_ps();
        (2.0 * demand.chance_late(least)).min(1.0)
    };
    // Alike channels have alike shares, and each takes time to find.
    let mut known: Vec<(u64, f64)> = Vec::new();
    let shares = channels.iter().map(|channel| {
        let deadline = channel.request.deadline().as_ps();
        if let Some((_, share)) = known.iter().find(|(other, _)| *other == deadline) {
            return *share;
        }
        let found = share(channel);
        known.push((deadline, found));
        found
    });
    Ok(shares.collect())
}

/// The messages of channels that are alike; times in seconds unless they are exact.
#[derive(Debug, Clone, Copy)]
struct Messages {
    channels: f64,
    deadline: u64,
    interval: u64,
    /// The longest service, in picoseconds.
    longest: u128,
    least: f64,
    most: f64,
    /// The chance of the longest, in the distribution with the largest `ψ`.
    chance: f64,
}

fn seconds(picoseconds: u128) -> f64 {
    picoseconds as f64 * 1e-12
}

impl Messages {
    fn of(environment: &Environment, shared: &Shared, channel: &Varying) -> Self {
        let Varying { request, mean_message } = *channel;
        let spec = *request.spec();
        let service = |size: Bytes| {
            let of_size = TrafficSpec { max_message: size, min_message: spec.min_message.min(size), ..spec };
            Request::new(of_size, request.deadline())
                .map_or(u128::MAX, |request| shared.demand(environment, &request))
        };
        let packets = spec.max_message.div_ceil(environment.packet).max(1);
        let step = environment.packet * packets.div_ceil(MOST_SIZES);
        // The least size for which each service is taken, and that service.
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let mut from = Bytes::ZERO;
        while from < spec.max_message {
            let to = (from + step).min(spec.max_message);
            if to >= spec.min_message {
                let least = (from + Bytes::new(1)).max(spec.min_message);
                steps.push((least.get() as f64, seconds(service(to))));
            }
            from = to;
        }
        let longest = service(spec.max_message);
        let most = seconds(longest);
        steps.push((spec.max_message.get() as f64, most));
        let least = steps[0].1.min(most);
        let mean = highest_mean(&steps, mean_message.get() as f64).clamp(least, most);
        let chance = if most > least { (mean - least) / (most - least) } else { 1.0 };
        let (deadline, interval) = (request.deadline().as_ps(), spec.min_interval.as_ps());
        Self { channels: 1.0, deadline, interval, longest, least, most, chance }
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.deadline, self.interval, self.longest) == (other.deadline, other.interval, other.longest)
            && (self.least, self.chance) == (other.least, other.chance)
    }

    /// `b(t)` of one channel.
    fn due(&self, t: u64) -> f64 {
        t.checked_sub(self.deadline).map_or(0.0, |since| (since / self.interval + 1) as f64)
    }

    /// The next absolute deadline after `t`.
    fn next_after(&self, t: u64) -> u64 {
        match t.checked_sub(self.deadline) {
            None => self.deadline,
            Some(since) => {
                (since / self.interval + 1).saturating_mul(self.interval).saturating_add(self.deadline)
            }
        }
    }

    /// `ln ψ(θ)`.
    fn log_moment(&self, theta: f64) -> f64 {
        let x = theta * (self.most - self.least);
        let q = self.chance;
        let rest = match x > 30.0 {
            true => x + libm::log(q + (1.0 - q) * libm::exp(-x)),
            false => libm::log1p(q * libm::expm1(x)),
        };
        theta * self.least + rest
    }

    /// Its derivative.
    fn slope(&self, theta: f64) -> f64 {
        let width = self.most - self.least;
        let q = self.chance;
        let tilted = q / (q + (1.0 - q) * libm::exp(-theta * width));
        self.least + width * if q > 0.0 { tilted } else { 0.0 }
    }
}

/// The largest mean of a service with the mean size `mean`, where sizes from `steps[i].0` on take at
/// most `steps[i].1`.
fn highest_mean(steps: &[(f64, f64)], mean: f64) -> f64 {
    let below = || steps.iter().filter(|(size, _)| *size <= mean);
    let above = || steps.iter().filter(|(size, _)| *size > mean);
    let mixed = below().flat_map(|(x, f)| above().map(move |(y, g)| f + (g - f) * (mean - x) / (y - x)));
    let alone = below().map(|(_, f)| *f);
    let smallest = steps.first().map_or(0.0, |(_, f)| *f);
    mixed.chain(alone).fold(smallest, f64::max)
}

/// All that a host serves.
struct Demand<'a> {
    shared: &'a Shared,
    messages: Vec<Messages>,
    /// The end of the windows in which the longest messages would be late; `None` if there is none.
    end: Option<u64>,
    /// `Σ_g A_g/interval_g`.
    above: f64,
}

impl<'a> Demand<'a> {
    fn new(shared: &'a Shared, messages: Vec<Messages>) -> Self {
        let all = messages.iter().flat_map(|one| {
            let task = Task::new(one.interval, one.longest);
            std::iter::repeat_n(task.map(|task| Stream::new(&task, one.deadline)), one.channels as usize)
        });
        let streams: Option<Vec<Stream>> = all.collect();
        let effort = Effort::of(1);
        let host = Host {
            constant: shared.constant(),
            stairs: &[],
            activations: &shared.activations,
            effort: &effort,
        };
        let end = streams.and_then(|streams| host.horizon(streams.iter()));
        let above =
            shared.activations.iter().map(|task| task.service() as f64 / task.interval() as f64).sum();
        Self { shared, messages, end, above }
    }

    /// `W + G(t)` in seconds.
    fn beside(&self, t: u64) -> f64 {
        let above: u128 = self.shared.activations.iter().map(|task| task.demand(t)).sum();
        seconds(self.shared.constant().saturating_add(above))
    }

    /// A bound on the chance that a message with a deadline `least` after its arrival is late.
    fn chance_late(&self, least: u64) -> f64 {
        let (mut t, mut sum) = (least, 0.0);
        for _ in 0..MOST_WINDOWS {
            if self.end.is_some_and(|end| t >= end) {
                return sum;
            }
            let next = self.messages.iter().map(|one| one.next_after(t)).min().unwrap_or(u64::MAX);
            let Some(theta) = self.best(t, next) else {
                // The longest messages are in time.
                t = next;
                continue;
            };
            let log = theta * (self.beside(next) - seconds(t.into())) + self.moments(t, theta);
            sum += libm::exp(log.min(0.0));
            if sum >= 1.0 {
                return 1.0;
            }
            if let Some(rest) = self.rest(next, theta)
                && rest <= sum.max(1e-12) * 0.01
            {
                return sum + rest;
            }
            t = next;
        }
        1.0
    }

    fn moments(&self, t: u64, theta: f64) -> f64 {
        self.messages.iter().map(|one| one.channels * one.due(t) * one.log_moment(theta)).sum()
    }

    /// The `θ` with the least bound for the windows from `t` to `next`: 0 if the mean is late there,
    /// `None` if nothing can be.
    fn best(&self, t: u64, next: u64) -> Option<f64> {
        let free = seconds(t.into()) - self.beside(next);
        let work = |of: &dyn Fn(&Messages) -> f64| -> f64 {
            self.messages.iter().map(|one| one.channels * one.due(t) * of(one)).sum()
        };
        if work(&|one| one.most) <= free {
            return None;
        }
        let rises = |theta: f64| work(&|one| one.slope(theta)) > free;
        if rises(0.0) {
            return Some(0.0);
        }
        let mut high = 1.0 / seconds(t.into()).max(1e-12);
        while !rises(high) && high < 1e18 {
            high *= 2.0;
        }
        let mut low = 0.0;
        for _ in 0..48 {
            let middle = 0.5 * (low + high);
            *(if rises(middle) { &mut high } else { &mut low }) = middle;
        }
        Some(low)
    }

    /// A bound on the sum over the windows from `from` on; `None` if it does not fall with that `θ`.
    fn rest(&self, from: u64, theta: f64) -> Option<f64> {
        let rate: f64 = self
            .messages
            .iter()
            .map(|one| one.channels * one.log_moment(theta) / seconds(one.interval.into()))
            .sum();
        let falls = theta * (1.0 - self.above) - rate;
        if falls <= 0.0 {
            return None;
        }
        // The next absolute deadline is no further away than the interval of a channel that has had one.
        let begun = self.messages.iter().filter(|one| one.deadline <= from);
        let gap = begun.map(|one| one.interval).min().unwrap_or(u64::MAX);
        let once = theta * (self.beside(0) + self.above * seconds(gap.into()));
        let heads: f64 = self
            .messages
            .iter()
            .map(|one| {
                let head = 1.0 - one.deadline as f64 / one.interval as f64;
                one.channels * one.log_moment(theta) * head.max(0.0)
            })
            .sum();
        let first = libm::exp(once + heads - falls * seconds(from.into()));
        let series = |one: &Messages| 1.0 / -libm::expm1(-falls * seconds(one.interval.into()));
        Some(first * self.messages.iter().map(series).sum::<f64>())
    }
}

#[cfg(test)]
mod tests;
