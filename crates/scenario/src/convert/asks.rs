//! `jitter`, `loss`, `late` and `mean_message` of a channel, and the `importance` of its messages.

use laxity_world::experiment::Asks;

use super::*;
use crate::leaf::Whole;
use crate::raw::ChannelKeys;
use crate::section::first;
use crate::written::List;

/// The requests of a channel beside its deadline; `ends` says whether it ends at an interface.
pub(super) fn asks(
    cx: &mut Context<'_>,
    keys: &ChannelKeys,
    (ends, around): (bool, &Surroundings),
) -> Result<Asks, Reported> {
    let best_effort = keys.class.value == Ok(Class::BestEffort);
    let reason = match () {
        () if best_effort => Some("best effort is promised nothing"),
        () if around.cluster => {
            Some("a virtual interface asks for a bandwidth, and its jitter follows from it")
        }
        () if around.is_managed() => Some("nodes with signalling promise deadlines"),
        () if ends => Some("what comes in at an interface is promised its deadline"),
        () => None,
    };
    if let Some(reason) = reason {
        let said = first([&keys.jitter, &keys.loss, &keys.late, &keys.mean_message]);
        cx.foreign(&said, reason, "remove this")?;
        return Ok(Asks::default());
    }
    if keys.late.at.is_none() {
        let help = "add `late`, such as `late = 0.001`, or remove this";
        cx.foreign(&keys.mean_message, "without `late` the largest messages are reserved for", help)?;
    }
    if let (Some(mean), Ok(largest)) = (keys.mean_message.placed()?, keys.max_message.value) {
        let (span, mean) = (mean.span(), mean.into_inner());
        if mean > largest {
            let reason = format!("the mean message, {mean}, is larger than the largest, {largest}");
            return Err(cx.fault(&span, reason, format!("valid is a size up to {largest}")));
        }
    }
    Ok(Asks {
        jitter: keys.jitter.value?,
        loss: keys.loss.value?,
        late: keys.late.value?,
        mean_message: keys.mean_message.value?,
    })
}

/// Refuses `late`, which stands at the places `said`, where no analysis has it.
pub(super) fn chances(
    cx: &mut Context<'_>,
    channels: &[ChannelSpec],
    said: &[(usize, Range<usize>)],
    around: &Surroundings,
) -> Result<(), Reported> {
    let Some((_, first)) = said.first() else { return Ok(()) };
    if !around.analysed {
        return Ok(());
    }
    if !around.beyond {
        let reason = "the chance of a late message is analysed beside the demand of all channels";
        return Err(cx.fault(first, reason, "say `test = \"demand\"` under `[admission]`"));
    }
    let without = |channel: &&ChannelSpec| channel.class == Class::RealTime && channel.asks.late.is_none();
    if let Some(other) = channels.iter().find(without) {
        let reason = format!("channel `{}` beside it accepts no late message", other.name);
        let help =
            "what exceeds the mean may delay every channel: add `late` to all of real time, or remove it";
        return Err(cx.fault(first, reason, help));
    }
    Ok(())
}

/// The importance of the messages in turn of a channel that `ends` at an interface.
pub(super) fn importance(
    cx: &mut Context<'_>,
    list: Option<List<Written<Whole<0, 7>>>>,
    ends: bool,
) -> Result<Vec<u8>, Reported> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let span = list.span.clone();
    if !ends {
        let help = "remove this, or add an `[[interface]]` with `discard = \"tag\"`";
        return Err(cx.fault(&span, "only interfaces discard by importance", help));
    }
    let items = cx.items(Some(list))?;
    if items.is_empty() {
        return Err(cx.fault(&span, "no message has an importance", "give at least one, such as `[3]`"));
    }
    items.into_iter().map(|item| cx.value(item).map(|value| value.into_inner().small() as u8)).collect()
}
