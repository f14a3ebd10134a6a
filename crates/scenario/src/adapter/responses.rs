//! `response_queue` of an adapter: what the adapter says, how much of it fits, and when it interrupts.

use laxity_model::adapter::{Answers, Moderation, Notification, Overload, ResponseQueue};

use super::*;
use crate::choice::FullAnswers;
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
    let part = cx.part(part)?;
    let span = part.span();
    let RawResponseQueue { answers, takes, spread, slots, overload, frames, delay, interval, source } =
        part.into_inner();
    let announced = [
        ("frames", frames.as_ref().map(Placed::place)),
        ("delay", delay.as_ref().map(Placed::place)),
        ("interval", interval.as_ref().map(Placed::place)),
    ];
    let announced: Vec<_> = announced.into_iter().filter_map(|(key, place)| Some((key, place?))).collect();
    let numbers = slots.is_some() || spread.is_some() || !announced.is_empty();
    let cited = sources.cite(cx, source, numbers, &span, "a response queue");
    let answers = cx.or(answers, Answers::All);
    let takes = takes::takes(cx, takes);
    let spread = takes::spread(cx, spread);
    let endless = slots.is_none();
    let slots = cx.optional(slots).map(|slots| slots.map(|slots| slots.into_inner().small()));
    let overload = cx.optional(overload);
    let frames = cx.optional(frames).map(|frames| frames.map(|frames| frames.into_inner().small()));
    let (delay, interval) = (or_zero(cx, delay), or_zero(cx, interval));
    let (slots, overload, frames) = (slots?, overload?, frames?);
    if let (true, Some(overload)) = (endless, &overload) {
        let reason = "a queue without `slots` is never full";
        return Err(cx.fault(&overload.span(), reason, "say how many `slots` it has, or remove this"));
    }
    if let (Some(Notification::Poll(every)), Some((key, place))) = (notification, announced.first()) {
        let reason = format!("`{key}` is about interrupts, and the host looks every {every} without any");
        return Err(cx.fault(place, reason, "say `notification = \"interrupt\"`, or remove this"));
    }
    cited?;
    Ok(ResponseQueue {
        answers: answers?,
        takes: takes?,
        slots,
        overload: match overload.map(Spanned::into_inner) {
            None | Some(FullAnswers::Block) => Overload::Block,
            Some(FullAnswers::Drop) => Overload::Drop,
        },
        spread: spread?,
        moderation: Moderation { frames, delay: delay?, interval: interval? },
    })
}
