//! `kind = "generic"`: command queues, stages, resources and buffers.

use laxity_model::adapter::{
    AdapterBuffers, BufferPool, CommandQueue, Description, Excess, HostSide, Notification, Overload, Own,
    Policing, QueueSelection, Release,
};

use super::flaw::explain;
use super::places::{Places, Side};
use super::resources::{Resources, rank};
use super::responses::response_queues;
use super::stage::stages;
use super::*;
use crate::choice::{AdapterQueueKind, AsContract};
use crate::raw::{NotificationWord, RawBuffers, RawCommandQueue, RawPolicing};

pub(super) fn description(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    raw: RawAdapter,
    owner: &Range<usize>,
) -> Result<Description, Reported> {
    let place = |span: Option<Range<usize>>| span.unwrap_or_else(|| owner.clone());
    let mut places = Places {
        whole: owner.clone(),
        queues: place(raw.queue.as_ref().map(Placed::place)),
        responses: place(raw.response_queue.as_ref().map(Placed::place)),
        transmit_buffers: place(raw.transmit_buffers.as_ref().map(Placed::place)),
        receive_buffers: place(raw.receive_buffers.as_ref().map(Placed::place)),
        ..Places::default()
    };
    if let (Some(_), Some(doorbell)) = (&raw.poll, &raw.doorbell) {
        let reason = "an adapter that polls is not told of commands";
        return Err(cx.fault(&doorbell.span, reason, "remove this, or `poll`"));
    }
    let poll = cx.optional(raw.poll).map(|poll| poll.map(|poll| poll.into_inner().get()));
    let doorbell = or_zero(cx, raw.doorbell);
    let selection = cx.or(raw.selection, QueueSelection::Priority);
    let notification = notification(cx, raw.notification);
    let queues = command_queues(cx, sources, raw.queue);
    let responses = response_queues(cx, sources, raw.response_queue, notification.as_ref().ok().copied());
    let transmit_buffers =
        buffers(cx, sources, raw.transmit_buffers, Overload::Block, "the pool of transmit buffers");
    let receive_buffers =
        buffers(cx, sources, raw.receive_buffers, Overload::Drop, "the pool of receive buffers");
    let transmit_policing = policing(cx, sources, raw.transmit_policing, "the policing of what is sent");
    let receive_policing = policing(cx, sources, raw.receive_policing, "the policing of what comes in");
    let mut resources = Resources::new();
    let declared = resources.declare(cx, sources, raw.resource);
    let transmit = stages(cx, sources, &mut resources, &mut places, raw.transmit, Side::Transmit);
    let receive = stages(cx, sources, &mut resources, &mut places, raw.receive, Side::Receive);
    let held = declared.and_then(|()| match (&transmit, &receive) {
        (Ok(_), Ok(_)) => resources.all_held(cx),
        // The stage that would hold them may be one that could not be read.
        _ => Ok(()),
    });
    let description = Description {
        interface: HostSide {
            queues: queues?,
            selection: selection?,
            doorbell: doorbell?,
            poll: poll?,
            notification: notification?,
            responses: responses?,
        },
        transmit: transmit?,
        receive: receive?,
        transmit_buffers: transmit_buffers?,
        receive_buffers: receive_buffers?,
        transmit_policing: transmit_policing?,
        receive_policing: receive_policing?,
        link: LinkCosts::default(),
        resources: resources.into_list(),
    };
    held?;
    match description.check() {
        Ok(()) => Ok(description),
        Err(flaw) => {
            let (place, reason, help) = explain(&flaw, &description, &places);
            Err(cx.fault(&place, reason, help))
        }
    }
}

fn notification(
    cx: &mut Context<'_>,
    word: Option<Written<NotificationWord>>,
) -> Result<Notification, Reported> {
    Ok(match cx.optional(word)?.map(Spanned::into_inner) {
        None | Some(Or::This(_)) => Notification::Interrupt,
        Some(Or::That(every)) => Notification::Poll(every.get()),
    })
}

fn command_queues(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    list: Option<List<Part<RawCommandQueue>>>,
) -> Result<Vec<CommandQueue>, Reported> {
    if list.is_none() {
        return Ok(vec![CommandQueue::default()]);
    }
    let items = cx.items(list)?;
    all(items.into_iter().map(|part| command_queue(cx, sources, part)).collect())
}

fn command_queue(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    part: Part<RawCommandQueue>,
) -> Result<CommandQueue, Reported> {
    let part = cx.part(part)?;
    let span = part.span();
    let RawCommandQueue { takes, spread, release, kind, slots, priority, source } = part.into_inner();
    let numbers = slots.is_some() || spread.is_some();
    let cited = sources.cite(cx, source, numbers, &span, "a command queue");
    let takes = takes::takes(cx, takes);
    let spread = takes::spread(cx, spread);
    let endless = slots.is_none();
    let release = cx.optional(release);
    let kind = cx.or(kind, AdapterQueueKind::Fifo);
    let priority = cx.optional(priority);
    let slots = cx.optional(slots);
    let (kind, slots, release) = (kind?, slots?, release?);
    if let (true, AdapterQueueKind::Fifo, Some(release)) = (endless, kind, &release) {
        let reason = "a queue without `slots` is never full, whatever has a place in it";
        return Err(cx.fault(&release.span(), reason, "say how many `slots` it has, or remove this"));
    }
    let slots = match (kind, slots) {
        (AdapterQueueKind::Mailbox, Some(slots)) if slots.get_ref().get() != 1 => {
            let help = "remove `slots`, or say `kind = \"fifo\"`";
            return Err(cx.fault(&slots.span(), "a mailbox holds one command", help));
        }
        (AdapterQueueKind::Mailbox, _) => Some(1),
        (AdapterQueueKind::Fifo, slots) => slots.map(|slots| slots.into_inner().small()),
    };
    cited?;
    Ok(CommandQueue {
        takes: takes?,
        priority: rank(priority?),
        slots,
        release: release.map_or(Release::Fetched, Spanned::into_inner),
        spread: spread?,
    })
}

fn buffers(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    part: Option<Part<RawBuffers>>,
    usual: Overload,
    what: &str,
) -> Result<AdapterBuffers, Reported> {
    let Some(part) = part else { return Ok(AdapterBuffers::default()) };
    let part = cx.part(part)?;
    let span = part.span();
    let RawBuffers { shared, per_channel, overload, source } = part.into_inner();
    let cited = sources.cite(cx, source, true, &span, what);
    let overload = cx.or(overload, usual);
    let own = match per_channel {
        Some(own) => Some(match cx.value(own)?.into_inner() {
            Or::This(AsContract) => Own::Contract,
            Or::That(each) => Own::Each(each.small()),
        }),
        None => None,
    };
    let shared = cx.optional(shared)?.map(|shared| shared.into_inner().small());
    let pool = match (own, shared) {
        (None, Some(shared)) => BufferPool::Shared(shared),
        (Some(Own::Each(each)), None) => BufferPool::PerChannel(each),
        (Some(own), Some(shared)) => BufferPool::Reserved { own, shared },
        (Some(Own::Contract), None) => {
            let reason = "a channel without a contract would have no buffer at all";
            return Err(cx.fault(&span, reason, "add how many are `shared`, such as `shared = 8`"));
        }
        (None, None) => {
            let help =
                "add `shared = 64`, `per_channel = 4` or both, or remove the table for as many as there are";
            return Err(cx.fault(&span, format!("nothing says how large {what} is"), help));
        }
    };
    cited?;
    Ok(AdapterBuffers { pool, overload: overload? })
}

fn policing(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    part: Option<Part<RawPolicing>>,
    what: &str,
) -> Result<Option<Policing>, Reported> {
    let Some(part) = part else { return Ok(None) };
    let part = cx.part(part)?;
    let span = part.span();
    let RawPolicing { excess, tolerance, source } = part.into_inner();
    let cited = sources.cite(cx, source, tolerance.is_some(), &span, what);
    let (excess, tolerance) = (cx.or(excess, Excess::Drop), or_zero(cx, tolerance));
    cited?;
    Ok(Some(Policing { excess: excess?, tolerance: tolerance? }))
}
