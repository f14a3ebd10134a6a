//! Bounds on exchanges: the time to an answer, and the rate of a closed loop.
//!
//! Channel `i` of an exchange has rounds of `w_i` messages, the contract `(B_max, I)_i`, and the bound
//! `d_i` from the logical arrival of a message to its delivery. All messages of a round are to be sent at
//! once, and logical arrivals are `I_i` apart at least, whatever the burst. With `s` for the time at which
//! round `k` of channel `i` is to be sent, the logical arrival `ℓ` of its last message is
//!
//! > `ℓ_i(k) = max(s_i(k), ℓ_i(k − 1) + I_i) + (w_i − 1) I_i`,
//!
//! the round is delivered by `ℓ_i(k) + d_i`, and `s` of the next channel is that time.
//!
//! # A line
//!
//! Channel 0 sends by itself; its messages have logical arrivals `I_0` apart at least. If `w_i I_i ≤ I_0`
//! for each answer, then no answer waits for the one before: by induction `s_i(k) ≤ ℓ_0(k) + S_i`, where
//! `S_i` is the sum of `d_j + (w_j − 1) I_j` over the channels before `i`. Round `k − m` was to be sent
//! `m I_0` earlier at least by that bound, and its successors take `m w_i I_i ≤ m I_0`. So round `k` of
//! channel `i` is delivered by
//!
//! > `ℓ_0(k) + Σ_{j ≤ i} (d_j + (w_j − 1) I_j)`.
//!
//! # A closed loop
//!
//! The equations of all channels are linear in the max-plus algebra (Baccelli et al. 1992). From one
//! beginning of a round to a later one each path takes at most `λ` for a round, with the greatest cycle
//! mean
//!
//! > `λ = max(w_i I_i for each i, Σ_i (d_i + (w_i − 1) I_i))`,
//!
//! so round `k`, counted from 0, ends by `(k + 1) λ` after the beginning of the first.
//!
//! A single round may take longer, if the rounds before were quick. A source sends a message at most
//! `(B_max − 1) I` before its logical arrival, and all messages of the round before were sent when a
//! round begins, at `a`. So `ℓ_i(k − 1) ≤ a + (B_max − 1)_i I_i`, and round `k` of channel `i` is delivered
//! by `a + t_i` with
//!
//! > `t_i = d_i + (w_i − 1) I_i + max(t_{i−1}, B_max,i I_i)`.

use laxity_qos::channel::MessageOverflow;
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::Promise;
use crate::experiment::{Exchange, Experiment};
use crate::traffic::conformance::conforms;

/// The bounds of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeBounds {
    /// From the logical arrival of the first message, or in a closed loop from the delivery of the last
    /// message of the round before, to the delivery of the last answer.
    pub response: Span,
    /// On the mean time of a round from the beginning of the first on, in a closed loop.
    pub round: Option<Span>,
}

/// Why an exchange has no bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// That channel has no bound.
    Unbounded(usize),
    /// The bound of that channel ends before its receiver.
    EndsEarly(usize),
    /// Messages of that channel, the first, go beside its contract as best effort.
    Beside(usize),
    /// Rounds of that channel take longer by its contract than the first channel's messages are apart.
    Slow(usize),
    /// The channel is not part of the closed loop from which the exchange comes, and may fall behind.
    Branch,
}

impl Unanswered {
    /// The reason in words.
    pub fn in_words(self, experiment: &Experiment, exchange: &Exchange) -> String {
        let name = |i: usize| &experiment.channels[i].name;
        let first = exchange.channels[0];
        match self {
            Unanswered::Unbounded(i) => format!("`{}` has no bound", name(i)),
            Unanswered::EndsEarly(i) => format!("the bound of `{}` ends before its receiver", name(i)),
            Unanswered::Beside(i) => format!("`{}` may send beside its contract", name(i)),
            Unanswered::Slow(i) => {
                let (round, apart) = (round(experiment, i), experiment.channels[first].spec.min_interval);
                format!(
                    "a round of `{}` takes {round} by its contract, `{}` sends each {apart}",
                    name(i),
                    name(first)
                )
            }
            Unanswered::Branch => "the loop that it answers does not wait for it".into(),
        }
    }
}

/// The time that the contract of channel `i` gives a round.
fn round(experiment: &Experiment, i: usize) -> Span {
    experiment.channels[i].spec.min_interval.saturating_mul(u64::from(experiment.round_of(i)))
}

/// The bounds of an exchange of `experiment` with those promises of its channels, or why there are none.
pub fn exchange_bounds(
    experiment: &Experiment,
    promises: &[Promise],
    exchange: &Exchange,
) -> Result<ExchangeBounds, Unanswered> {
    let channels = &exchange.channels;
    let first = channels[0];
    let interval = |i: usize| experiment.channels[i].spec.min_interval;
    // From when a round can be sent to its delivery, if the round before is no hindrance.
    let takes = |i: usize| {
        let why = match promises[i].bound() {
            Some(_) => Unanswered::EndsEarly(i),
            None => Unanswered::Unbounded(i),
        };
        let bound = promises[i].delivery_bound().ok_or(why)?;
        Ok(bound.saturating_add(round(experiment, i).saturating_sub(interval(i))))
    };
    let each = channels.iter().map(|i| takes(*i)).collect::<Result<Vec<Span>, _>>()?;
    let sum = each.iter().fold(Span::ZERO, |sum, takes| sum.saturating_add(*takes));
    if !exchange.closed {
        if experiment.is_in_loop(first) {
            return Err(Unanswered::Branch);
        }
        if let Some(slow) = channels.iter().find(|i| round(experiment, **i) > interval(first)) {
            return Err(Unanswered::Slow(*slow));
        }
        return match sends_in_order(experiment, first) {
            true => Ok(ExchangeBounds { response: sum, round: None }),
            false => Err(Unanswered::Beside(first)),
        };
    }
    let mut delivered = Span::ZERO;
    for (i, takes) in channels.iter().zip(each) {
        let spec = experiment.channels[*i].spec;
        delivered = delivered.max(spec.min_interval.saturating_mul(spec.burst.into())).saturating_add(takes);
    }
    let slowest = channels.iter().map(|i| round(experiment, *i)).fold(sum, Span::max);
    Ok(ExchangeBounds { response: delivered, round: Some(slowest) })
}

/// Whether all messages of channel `i` have logical arrivals of its contract: none goes beside them as
/// best effort.
fn sends_in_order(experiment: &Experiment, i: usize) -> bool {
    let channel = &experiment.channels[i];
    let enforced = experiment.host(channel.route[0]).subsystem.enforcement;
    let beside = channel.message_overflow == MessageOverflow::BestEffort;
    channel.class == Class::RealTime && (conforms(channel) || enforced && !beside)
}
