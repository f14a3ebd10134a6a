//! `response_queue` of an adapter: what the adapter says, how much of it fits, and when it interrupts.

use laxity_model::adapter::{Moderation, Notification, Overload, ResponseQueue};

use super::*;
use crate::choice::FullAnswers;
use crate::leaf::Whole;
use crate::raw::RawResponseQueue;

pub(super) fn response_queues(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    list: Option<List<Part<RawResponseQueue>>>,
    notification: Option<Notification>,
) -> Result<Vec<ResponseQueue>, Reported> {
    if list.is_none() {
        return Ok(vec![ResponseQueue::default()]);
    }
    let items = cx.items(list)?;
    all(items.into_iter().map(|part| response_queue(cx, sources, part, notification)).collect())
}

fn response_queue(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    part: Part<RawResponseQueue>,
    notification: Option<Notification>,
) -> Result<ResponseQueue, Reported> {
    let (span, keys) = cx.keys(part, "")?;
    let announced =
        [("frames", &keys.frames as &dyn At), ("delay", &keys.delay), ("interval", &keys.interval)];
    let announced: Vec<_> = announced.into_iter().filter_map(|(key, said)| Some((key, said.at()?))).collect();
    let numbers = first([&keys.slots, &keys.spread]).is_some() || !announced.is_empty();
    let cited = sources.cite(cx, keys.source.placed(), numbers, &span, "a response queue");
    let takes = takes::takes(cx, keys.takes);
    let (slots, overload) = (keys.slots.value?.map(Whole::small), keys.overload.placed()?);
    if let (None, Some(overload)) = (slots, &overload) {
        let reason = "a queue without `slots` is never full";
        return Err(cx.fault(&overload.span(), reason, "say how many `slots` it has, or remove this"));
    }
    if let (Some(Notification::Poll(every)), Some((key, place))) = (notification, announced.first()) {
        let reason = format!("`{key}` is about interrupts, and the host looks every {every} without any");
        return Err(cx.fault(place, reason, "say `notification = \"interrupt\"`, or remove this"));
    }
    cited?;
    Ok(ResponseQueue {
        answers: keys.answers.value?,
        takes: takes?,
        slots,
        overload: match overload.map(Spanned::into_inner) {
            None | Some(FullAnswers::Block) => Overload::Block,
            Some(FullAnswers::Drop) => Overload::Drop,
        },
        spread: keys.spread.value?.small(),
        moderation: Moderation {
            frames: keys.frames.value?.map(Whole::small),
            delay: keys.delay.value?,
            interval: keys.interval.value?.unwrap_or_default(),
        },
    })
}
