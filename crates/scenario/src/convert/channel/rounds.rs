//! `after`: channels that answer others.

use laxity_model::source::Sizes;
use laxity_world::experiment::ForEver;

use super::super::*;

/// Has the copies of a channel answer the channel called `answered`, or the k-th of them the k-th copy of
/// that channel.
pub(super) fn join(
    cx: &mut Context<'_>,
    channels: &mut [ChannelSpec],
    copies: Range<usize>,
    answered: &Spanned<Name>,
    around: &Surroundings,
) -> Result<(), Reported> {
    let name = &answered.get_ref().0;
    for (copy, i) in (1..).zip(copies) {
        let called = |name: &str| channels.iter().position(|channel| channel.name == name);
        let Some(other) = called(name).or_else(|| called(&format!("{name}-{copy}"))) else {
            let help = if around.cluster { "name the channel back" } else { "name a channel that ends here" };
            let (reason, help) = match called(&format!("{name}-1")) {
                Some(_) => {
                    let reason =
                        format!("there is no copy {copy} of channel `{name}`, for copy {copy} of this one");
                    (reason, "give both channels one `count`")
                }
                None => (format!("there is no channel `{name}`"), help),
            };
            return Err(cx.fault(&answered.span(), reason, help));
        };
        let fits = match around.cluster {
            true => leads_back(channels, i, other),
            false => arrives(channels, i, other),
        };
        if let Err((reason, help)) = fits {
            return Err(cx.fault(&answered.span(), reason, help));
        }
        if let SourceSpec::Rounds { after, .. } = &mut channels[i].source {
            *after = other;
        }
    }
    Ok(())
}

/// Whether channel `other`, of a virtual interface, answers channel `i` in the other direction, or else
/// why not and what then.
fn leads_back(channels: &[ChannelSpec], i: usize, other: usize) -> Result<(), (String, &'static str)> {
    let (channel, back) = (&channels[i], &channels[other]);
    match back.source {
        SourceSpec::Rounds { after, .. } if channel.route.iter().rev().eq(&back.route) => {
            // Each of them is looked at; the later knows whether the earlier has named it.
            if other < i && after != i {
                let reason = format!("channel `{}` is sent after another than this", back.name);
                return Err((reason, "let two channels, there and back, name each other"));
            }
            Ok(())
        }
        _ => {
            let reason = format!("channel `{}` does not lead back in rounds of its own", back.name);
            Err((reason, "let two channels of one copy each, there and back, name each other"))
        }
    }
}

/// Whether channel `i` can answer channel `other`, or else why not and what then.
fn arrives(channels: &[ChannelSpec], i: usize, other: usize) -> Result<(), (String, &'static str)> {
    let (channel, answered) = (&channels[i], &channels[other]);
    let largest = match channel.source {
        SourceSpec::Rounds { sizes: Sizes::Fixed(size) | Sizes::Uniform { most: size, .. }, .. } => {
            Some(size)
        }
        _ => None,
    };
    let most = channel.spec.max_message;
    match largest.filter(|size| channel.class == Class::RealTime && *size > most) {
        _ if i == other => {
            Err((format!("channel `{}` answers itself", channel.name), "name another channel"))
        }
        _ if !answered.received || answered.route.last() != channel.route.first() => {
            let reason = format!("channel `{}` does not end where `{}` begins", answered.name, channel.name);
            Err((reason, "name a channel that ends at the node from which this one leads"))
        }
        Some(size) => {
            let reason = format!("answers of {size} are larger than the contract's {most}");
            Err((
                reason,
                "answers wait until they keep the contract: make them smaller, or `max_message` larger",
            ))
        }
        None => Ok(()),
    }
}

/// Refuses answers that the hosts of `experiment` cannot send, and closed loops that stop or never do.
pub(in crate::convert) fn of_rounds(cx: &mut Context<'_>, experiment: &Experiment) -> Result<(), Reported> {
    for (i, channel) in experiment.channels.iter().enumerate() {
        if !channel.source.is_answer() {
            continue;
        }
        let circle = experiment.exchange(i).filter(|exchange| exchange.closed);
        let loses = |way: &usize| {
            let impairments = &experiment.networks[*way].impairments;
            impairments.loss.value() + impairments.corruption.value() > 0.0
        };
        let mut ways =
            circle.iter().flat_map(|circle| &circle.channels).flat_map(|i| &experiment.channels[*i].ways);
        let (reason, help) = match () {
            () if experiment.emulation.host == HostPlace::Thread => (
                "answers another, and a host in a thread sends by itself",
                "say `host = \"model\"` under `[emulation]`, or use another source",
            ),
            () if ways.any(loses) => (
                "is part of a closed loop, which stops for ever when its network loses a message",
                "remove `loss` and `corruption`, or let one channel of the loop have a source with a rate",
            ),
            () if channel.class == Class::BestEffort
                && experiment.sends_for_ever(channel) == Some(ForEver::Free) =>
            {
                (
                    "answers at one instant: neither host nor adapter take any time",
                    "give `first_packet` or the adapter a cost, or the channel a contract",
                )
            }
            () => continue,
        };
        return Err(cx.fault(&WHOLE, format!("channel `{}` {reason}", channel.name), help));
    }
    Ok(())
}
