//! `kind = "generic"`: command queues, stages, resources and buffers.

use laxity_model::adapter::{
    AdapterBuffers, BufferPool, CommandQueue, Description, HostSide, Notification, Overload, Own, Policing,
    Release,
};

use super::flaw::explain;
use super::places::{Places, Side};
use super::resources::{Resources, rank};
use super::responses::response_queues;
use super::stage::stages;
use super::*;
use crate::choice::{AdapterQueueKind, AsContract};
use crate::raw::{RawBuffers, RawCommandQueue, RawPolicing, Slots};

pub(super) fn description(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    keys: AdapterKeys,
    owner: &Range<usize>,
) -> Result<Description, Reported> {
    let place = |span: Option<Range<usize>>| span.unwrap_or_else(|| owner.clone());
    let mut places = Places {
        whole: owner.clone(),
        queues: place(keys.queue.at()),
        responses: place(keys.response_queue.at()),
        transmit_buffers: place(keys.transmit_buffers.at()),
        receive_buffers: place(keys.receive_buffers.at()),
        ..Places::default()
    };
    if let (Some(_), Some(doorbell)) = (&keys.poll.at, &keys.doorbell.at) {
        let reason = "an adapter that polls is not told of commands";
        return Err(cx.fault(doorbell, reason, "remove this, or `poll`"));
    }
    let notification = keys.notification.value.map(|word| match word {
        Or::This(_) => Notification::Interrupt,
        Or::That(every) => Notification::Poll(every.get()),
    });
    let queues = command_queues(cx, sources, keys.queue);
    let responses = response_queues(cx, sources, keys.response_queue, notification.ok());
    let transmit_buffers =
        buffers(cx, sources, keys.transmit_buffers, Overload::Block, "the pool of transmit buffers");
    let receive_buffers =
        buffers(cx, sources, keys.receive_buffers, Overload::Drop, "the pool of receive buffers");
    let transmit_policing = policing(cx, sources, keys.transmit_policing, "the policing of what is sent");
    let receive_policing = policing(cx, sources, keys.receive_policing, "the policing of what comes in");
    let mut resources = Resources::new();
    let declared = resources.declare(cx, sources, keys.resource);
    let transmit = stages(cx, sources, &mut resources, &mut places, keys.transmit, Side::Transmit);
    let receive = stages(cx, sources, &mut resources, &mut places, keys.receive, Side::Receive);
    let held = declared.and_then(|()| match (&transmit, &receive) {
        (Ok(_), Ok(_)) => resources.all_held(cx),
        // The stage that would hold them may be one that could not be read.
        _ => Ok(()),
    });
    let description = Description {
        interface: HostSide {
            queues: queues?,
            selection: keys.selection.value?,
            doorbell: keys.doorbell.value?,
            poll: keys.poll.value?,
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
    let (span, keys) = cx.keys(part, "")?;
    let numbers = first([&keys.slots, &keys.spread]).is_some();
    let cited = sources.cite(cx, keys.source.placed(), numbers, &span, "a command queue");
    let takes = takes::takes(cx, keys.takes);
    let (kind, slots, release) = (keys.kind.value?, keys.slots.placed()?, keys.release.placed()?);
    if let (None, AdapterQueueKind::Fifo, Some(release)) = (&slots, kind, &release) {
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
        priority: rank(&keys.priority)?,
        slots,
        release: release.map_or(Release::Fetched, Spanned::into_inner),
        spread: keys.spread.value?.small(),
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
    let (span, keys) = cx.keys(part, "")?;
    let cited = sources.cite(cx, keys.source.placed(), true, &span, what);
    let own = keys.per_channel.value?.map(|own| match own {
        Or::This(AsContract) => Own::Contract,
        Or::That(each) => Own::Each(Slots::small(each)),
    });
    let shared = keys.shared.value?.map(Slots::small);
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
    Ok(AdapterBuffers { pool, overload: keys.overload.value?.unwrap_or(usual) })
}

fn policing(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    part: Option<Part<RawPolicing>>,
    what: &str,
) -> Result<Option<Policing>, Reported> {
    let Some(part) = part else { return Ok(None) };
    let (span, keys) = cx.keys(part, "")?;
    let cited = sources.cite(cx, keys.source.placed(), keys.tolerance.at.is_some(), &span, what);
    cited?;
    Ok(Some(Policing { excess: keys.excess.value?, tolerance: keys.tolerance.value? }))
}
