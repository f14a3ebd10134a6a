//! `jitter`, `loss`, `late` and `mean_message` of a channel, and the `importance` of its messages.

use laxity_world::experiment::Asks;

use super::*;
use crate::leaf::{Interval, Share, Size, Whole};
use crate::written::List;

/// The keys of a file for them.
pub(super) type Asked = (
    Option<Written<Bounded<Interval>>>,
    Option<Written<Share>>,
    Option<Written<Share>>,
    Option<Written<Bounded<Size>>>,
);

/// The requests of a channel beside its deadline; `ends` says whether it ends at an interface.
pub(super) fn asks(
    cx: &mut Context<'_>,
    (jitter, loss, late, mean): Asked,
    class: &Result<Spanned<Class>, Reported>,
    largest: &Result<Spanned<Bounded<Size>>, Reported>,
    (ends, around): (bool, &Surroundings),
) -> Result<Asks, Reported> {
    let best_effort = class.as_ref().is_ok_and(|class| *class.get_ref() == Class::BestEffort);
    let reason = match () {
        () if best_effort => Some("best effort is promised nothing"),
        () if around.cluster => {
            Some("a virtual interface asks for a bandwidth, and its jitter follows from it")
        }
        () if around.managed.is_some() => Some("nodes with signalling promise deadlines"),
        () if ends => Some("what comes in at an interface is promised its deadline"),
        () => None,
    };
    if let Some(reason) = reason {
        let help = "remove this";
        cx.foreign(&jitter, reason, help)?;
        cx.foreign(&loss, reason, help)?;
        cx.foreign(&late, reason, help)?;
        cx.foreign(&mean, reason, help)?;
        return Ok(Asks::default());
    }
    if late.is_none() {
        let help = "add `late`, such as `late = 0.001`, or remove this";
        cx.foreign(&mean, "without `late` the largest messages are reserved for", help)?;
    }
    let jitter = cx.optional(jitter);
    let loss = cx.optional(loss);
    let late = cx.optional(late);
    let mean_message = match (cx.optional(mean)?, largest) {
        (Some(mean), Ok(largest)) => {
            let (span, mean, largest) = (mean.span(), mean.into_inner().get(), largest.get_ref().get());
            if mean > largest {
                let reason = format!("the mean message, {mean}, is larger than the largest, {largest}");
                return Err(cx.fault(&span, reason, format!("valid is a size up to {largest}")));
            }
            Some(mean)
        }
        _ => None,
    };
    Ok(Asks {
        jitter: jitter?.map(|span| span.into_inner().get()),
        loss: loss?.map(|share| share.into_inner().get()),
        late: late?.map(|share| share.into_inner().get()),
        mean_message,
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
