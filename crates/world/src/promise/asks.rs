//! Requests beside the deadline: jitter and loss.
//!
//! # Jitter
//!
//! A message whose host holds it until its logical arrival is not delivered before its own
//! transmission on the first link, however idle the path is. So the longest delay less the shortest
//! is at most the bound less that time, and a request for a jitter is one for a shorter deadline:
//! the requested jitter after the shortest delay. The tables of admission know that deadline only.
//! Where messages leave ahead of their logical arrival there is no shortest delay. With launch times
//! no packet leaves ahead of its own, so the shortest delay is longer by them. Messages that are carried
//! as best effort have no launch times.
//!
//! # Loss
//!
//! A message within its contract finds a buffer at each station where it has a bound. What is left
//! are frames that a network loses or damages. A message of `n` packets over networks with the
//! probabilities `p_k` loses a packet with probability `n Σ_k p_k` at most, however losses depend on
//! each other.

use laxity_units::{Bytes, Span};

use super::answer::Promise;
use crate::coverage::{Coverage, is_queue};
use crate::experiment::{AdapterSpec, ChannelSpec, Experiment};

/// A lower bound on the delay of the messages of `channel` from their logical arrival, where its
/// host holds early messages.
fn shortest_delay(experiment: &Experiment, channel: &ChannelSpec) -> Span {
    let AdapterSpec::Null(link) = experiment.adapter_of(channel.route[0], experiment.link_out(channel, 0))
    else {
        return Span::ZERO;
    };
    let packet = experiment.packet();
    let smallest = channel.spec.min_message;
    let whole = smallest.get() / packet.get();
    let last = smallest - packet * whole;
    let rest = if last > Bytes::ZERO { link.transmit(last) } else { Span::ZERO };
    let own = link.transmit(packet).saturating_mul(whole).saturating_add(rest);
    let launch = experiment.launch(channel.route[0]).filter(|_| !channel.sends_excess());
    launch.unwrap_or_default().saturating_add(own)
}

/// The bound on the longest delay of `channel` less the shortest, if it asks for one and has it.
pub fn jitter_bound(experiment: &Experiment, channel: &ChannelSpec, promise: &Promise) -> Option<Span> {
    channel.asks.jitter?;
    Some(promise.end_to_end_bound()?.saturating_sub(shortest_delay(experiment, channel)))
}

/// The deadline that admission reserves for: that of `channel`, or what its requested jitter leaves.
pub(super) fn deadline(experiment: &Experiment, channel: &ChannelSpec) -> Option<Span> {
    let deadline = channel.deadline?;
    let by_jitter =
        channel.asks.jitter.map(|jitter| shortest_delay(experiment, channel).saturating_add(jitter));
    Some(by_jitter.map_or(deadline, |by_jitter| by_jitter.min(deadline)))
}

/// The jitter that `channel` has to request to be delivered after up to `delay`, if its own is less.
pub(super) fn jitter_with(experiment: &Experiment, channel: &ChannelSpec, delay: Span) -> Option<Span> {
    let needed = delay.saturating_sub(shortest_delay(experiment, channel));
    channel.asks.jitter.is_some_and(|jitter| jitter < needed).then_some(needed)
}

/// A bound on the share of messages of `channel` that networks lose.
pub fn share_lost(experiment: &Experiment, channel: &ChannelSpec) -> f64 {
    let packets = channel.spec.max_message.div_ceil(experiment.packet()).max(1) as f64;
    let on_way = |way: &usize| {
        let impairments = &experiment.networks[*way].impairments;
        impairments.loss.value() + impairments.corruption.value()
    };
    (packets * channel.ways.iter().map(on_way).sum::<f64>()).min(1.0)
}

/// Why a request of `channel` beside its deadline cannot be kept, whatever else is reserved.
pub(super) fn unkept(experiment: &Experiment, coverage: &Coverage, channel: &ChannelSpec) -> Option<String> {
    if let Some(loss) = channel.asks.loss {
        let share = share_lost(experiment, channel);
        if share > loss {
            return Some(format!("networks may lose {share} of its messages, and {loss} is asked for"));
        }
    }
    channel.asks.jitter?;
    let first = channel.route[0];
    let is_burst = channel.spec.burst > 1 || channel.sends_excess();
    let works_ahead = coverage.first(first).is_ok_and(|covered| covered.ahead || covered.unheld && is_burst);
    let ahead = is_queue(experiment, first) || works_ahead && experiment.launch(first).is_none();
    ahead.then(|| "its messages may leave ahead of their logical arrival, so no jitter is bounded".into())
}
