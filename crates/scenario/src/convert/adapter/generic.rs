//! `kind = "generic"`: command queues, stages, resources and buffers.

use laxity_model::adapter::{
    Buffers, CommandQueue, Description, Interface, Notification, Overload, PROCESSOR, Pool, Resource, Takes,
};

use super::flaw::{Places, explain};
use super::stage::{Side, stages};
use super::*;
use crate::choice::AdapterQueueKind;
use crate::raw::{NotificationWord, RawBuffers, RawCommandQueue, RawResource};

/// What the adapter's processor is called.
pub(super) const PROCESSOR_NAME: &str = "processor";

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
        receive_buffers: place(raw.receive_buffers.as_ref().map(Placed::place)),
        ..Places::default()
    };
    let poll = cx.optional(raw.poll).map(|poll| poll.map(|poll| poll.into_inner().get()));
    let notification = notification(cx, raw.notification);
    let queues = command_queues(cx, sources, raw.queue);
    let transmit_buffers =
        buffers(cx, sources, raw.transmit_buffers, Overload::Block, "the pool of transmit buffers");
    let receive_buffers =
        buffers(cx, sources, raw.receive_buffers, Overload::Drop, "the pool of receive buffers");
    let mut resources = Resources::new();
    let declared = resources.declare(cx, sources, raw.resource);
    let transmit = stages(cx, sources, &mut resources, &mut places, raw.transmit, Side::Transmit);
    let receive = stages(cx, sources, &mut resources, &mut places, raw.receive, Side::Receive);
    let held = declared.and_then(|()| match (&transmit, &receive) {
        (Ok(_), Ok(_)) => resources.all_held(cx),
        // Who would hold them may be what could not be read.
        _ => Ok(()),
    });
    let description = Description {
        interface: Interface { queues: queues?, poll: poll?, notification: notification? },
        transmit: transmit?,
        receive: receive?,
        transmit_buffers: transmit_buffers?,
        receive_buffers: receive_buffers?,
        resources: resources.list,
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
        return Ok(vec![CommandQueue { takes: Takes::All, priority: 0, slots: None }]);
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
    let RawCommandQueue { takes, kind, slots, priority, source } = part.into_inner();
    let cited = sources.cite(cx, source, slots.is_some(), &span, "a command queue");
    let takes = cx.or(takes, Takes::All);
    let kind = cx.or(kind, AdapterQueueKind::Fifo);
    let priority = cx.optional(priority);
    let slots = cx.optional(slots);
    let (kind, slots) = (kind?, slots?);
    let slots = match (kind, slots) {
        (AdapterQueueKind::Mailbox, Some(slots)) if slots.get_ref().get() != 1 => {
            let help = "remove `slots`, or say `kind = \"fifo\"`";
            return Err(cx.fault(&slots.span(), "a mailbox holds one command", help));
        }
        (AdapterQueueKind::Mailbox, _) => Some(1),
        (AdapterQueueKind::Fifo, slots) => slots.map(|slots| slots.into_inner().small()),
    };
    cited?;
    Ok(CommandQueue { takes: takes?, priority: rank(priority?), slots })
}

/// The rank, or the first.
pub(super) fn rank(priority: Option<Spanned<crate::raw::Rank>>) -> u8 {
    priority.map_or(0, |priority| priority.into_inner().small() as u8)
}

fn buffers(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    part: Option<Part<RawBuffers>>,
    usual: Overload,
    what: &str,
) -> Result<Buffers, Reported> {
    let Some(part) = part else { return Ok(Buffers::default()) };
    let part = cx.part(part)?;
    let span = part.span();
    let RawBuffers { shared, per_channel, overload, source } = part.into_inner();
    let cited = sources.cite(cx, source, true, &span, what);
    let overload = cx.or(overload, usual);
    let pool = match (shared, per_channel) {
        (Some(shared), None) => Pool::Shared(cx.value(shared)?.into_inner().small()),
        (None, Some(each)) => Pool::PerChannel(cx.value(each)?.into_inner().small()),
        (Some(_), Some(each)) => {
            let help = "keep either `shared` or `per_channel`";
            return Err(cx.fault(&each.span, "buffers are for whoever comes or for one channel", help));
        }
        (None, None) => {
            let help = "add `shared = 64` or `per_channel = 4`, or remove the table for as many as there are";
            return Err(cx.fault(&span, format!("nothing says how large {what} is"), help));
        }
    };
    cited?;
    Ok(Buffers { pool, overload: overload? })
}

/// The adapter's resources, as they are declared or named.
pub(super) struct Resources {
    list: Vec<Resource>,
    /// Where those are declared that no phase has held so far.
    unheld: Vec<Option<Range<usize>>>,
}

impl Resources {
    fn new() -> Self {
        let processor = Resource { name: PROCESSOR_NAME.into(), servers: 1, preemptive: false };
        Self { list: vec![processor], unheld: vec![None] }
    }

    fn declare(
        &mut self,
        cx: &mut Context<'_>,
        sources: &mut Sources,
        list: Option<List<Part<RawResource>>>,
    ) -> Result<(), Reported> {
        let mut outcome = Ok(());
        let mut known: Vec<String> = Vec::new();
        for part in cx.items(list)? {
            if let Err(reported) = self.declare_one(cx, sources, part, &mut known) {
                outcome = Err(reported);
            }
        }
        outcome
    }

    fn declare_one(
        &mut self,
        cx: &mut Context<'_>,
        sources: &mut Sources,
        part: Part<RawResource>,
        known: &mut Vec<String>,
    ) -> Result<(), Reported> {
        let part = cx.part(part)?;
        let span = part.span();
        let RawResource { name, servers, preemptive, source } = part.into_inner();
        let name = cx.required(name, "name", &span, "this resource")?;
        let (place, name) = (name.span(), name.into_inner().0);
        let servers = cx.optional(servers).map(|n| n.map_or(1, |n| n.into_inner().small()));
        let preemptive = cx.or(preemptive, name != PROCESSOR_NAME);
        let (servers, preemptive) = (servers?, preemptive?);
        sources.cite(cx, source, servers != 1, &span, &format!("the resource `{name}`"))?;
        if known.contains(&name) {
            let reason = format!("there are two resources called `{name}`");
            return Err(cx.fault(&place, reason, "declare each resource once"));
        }
        known.push(name.clone());
        if name == PROCESSOR_NAME {
            self.list[PROCESSOR] = Resource { name, servers, preemptive };
        } else {
            self.list.push(Resource { name, servers, preemptive });
            self.unheld.push(Some(place));
        }
        Ok(())
    }

    /// The resource called `name`, which a phase holds.
    pub(super) fn held(&mut self, name: String) -> usize {
        let index = self.list.iter().position(|resource| resource.name == name).unwrap_or_else(|| {
            self.list.push(Resource { name, servers: 1, preemptive: true });
            self.unheld.push(None);
            self.list.len() - 1
        });
        self.unheld[index] = None;
        index
    }

    /// Reports those that were declared and no phase holds: more likely the phase has another name for one.
    fn all_held(&self, cx: &mut Context<'_>) -> Result<(), Reported> {
        let mut outcome = Ok(());
        for (resource, place) in self.list.iter().zip(&self.unheld) {
            if let Some(place) = place {
                let reason = format!("no phase holds the resource `{}`", resource.name);
                outcome = Err(cx.fault(place, reason, "name it in the `holds` of a phase, or remove it"));
            }
        }
        outcome
    }
}
