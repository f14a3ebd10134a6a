//! Whether a channel's source always keeps the channel's contract, whatever it draws.

use laxity_model::source::{Arrival, Sizes, SourceParameters};
use laxity_qos::discipline::Class;
use laxity_qos::limits::{Limits, MessageLimit};
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Bytes, Span, Time};

use crate::experiment::{ChannelSpec, Experiment, SourceSpec};

/// Whether the channel never sends more, larger or smaller messages than its contract has it, by all of
/// its limits.
///
/// Where a look at the whole run would be needed (a trace, chance, what goes when there is room),
/// the answer is no.
pub fn conforms(channel: &ChannelSpec) -> bool {
    keeps(channel, channel.limits)
}

/// The same by the burst and the interval of the contract, and by `limits`.
fn keeps(channel: &ChannelSpec, limits: Limits) -> bool {
    let spec = &channel.spec;
    let parameters = match &channel.source {
        SourceSpec::Timed { parameters, .. } => parameters,
        // Answers wait until they conform to the burst and the interval of the contract.
        SourceSpec::Rounds { .. } => {
            let own = spec.limit();
            return channel.class == Class::RealTime
                && limits.contracts(*spec).all(|kept| own.implies(kept.limit()));
        }
        source => return matches!(source, SourceSpec::None),
    };
    let all = |keeps: &dyn Fn(&TrafficSpec) -> bool| limits.contracts(*spec).all(|kept| keeps(&kept));
    let (sizes, arrivals) = match parameters {
        SourceParameters::Script(script) => return all(&|kept| listed(kept, &script.messages)),
        SourceParameters::Periodic(p) => {
            (p.sizes, all(&|kept| p.multiple.keeps(p.interval, kept.min_interval)))
        }
        // `burst` messages at once, and again after as many intervals.
        SourceParameters::Bursty(p) => {
            let keeps =
                |kept: &TrafficSpec| p.burst <= kept.burst && p.multiple.keeps(p.interval, kept.min_interval);
            (p.sizes, all(&keeps))
        }
        SourceParameters::Adversary(p) => {
            let own = TrafficSpec { burst: p.burst, min_interval: p.interval, ..*spec };
            let keeps =
                |kept: &TrafficSpec| p.limits.contracts(own).any(|own| own.limit().implies(kept.limit()));
            (p.sizes, all(&keeps))
        }
        SourceParameters::Poisson(_) | SourceParameters::Recorded(_) => return false,
    };
    let (least, most): (Bytes, Bytes) = match sizes {
        Sizes::Fixed(size) => (size, size),
        Sizes::Uniform { least, most } => (least, most),
    };
    channel.class == Class::RealTime && arrivals && spec.min_message <= least && most <= spec.max_message
}

/// Whether the source of `channel` keeps the burst and the interval of its contract in `experiment`, but for
/// periods that are rounded to the picosecond.
pub(crate) fn keeps_contract(experiment: &Experiment, channel: &ChannelSpec) -> bool {
    keeps(channel, Limits::NONE) && channel.carries.is_none() && experiment.commands.is_empty()
}

/// Those further limits that the source of `channel`, which keeps the rest of its contract, keeps as well.
pub fn kept_limits(channel: &ChannelSpec) -> impl Iterator<Item = MessageLimit> {
    let kept = |limit: &MessageLimit| Limits::new(&[*limit]).is_some_and(|limit| keeps(channel, limit));
    channel.limits.iter().filter(kept)
}

/// Whether the messages of a list conform to `spec`: one an interval, and up to a burst of them at
/// once.
fn listed(spec: &TrafficSpec, messages: &[Arrival]) -> bool {
    // How early the channel is; a burst is the maximum.
    let most = spec.min_interval.saturating_mul(u64::from(spec.burst));
    let (mut ahead, mut before) = (Span::ZERO, Time::ZERO);
    messages.iter().all(|message| {
        ahead = ahead.saturating_sub(message.at.saturating_since(before)).saturating_add(spec.min_interval);
        before = message.at;
        ahead <= most && (spec.min_message..=spec.max_message).contains(&message.size)
    })
}
