//! `[adapter]`: a family and its numbers.

use laxity_model::adapter::{
    Buffers, CommandQueue, Delay, Description, Interface, Notification, Overload, Phase, Queue, Resource,
    Selection, Stage, Takes,
};
use laxity_qos::channel::Order;
use laxity_qos::costs::LinkCosts;
use laxity_units::{Bytes, Rate};

use super::*;
use crate::scenario::choice::AdapterKind;
use crate::scenario::leaf::{PerByte, bound};
use crate::scenario::raw::{RawAdapter, RawPhase, RawStage};

pub(super) fn adapter(
    cx: &mut Context<'_>,
    part: Part<RawAdapter>,
) -> Result<Located<Adapter, Range<usize>>, Reported> {
    let part = cx.part(part)?;
    let (span, RawAdapter { kind, startup, per_byte, rate, stage }) = (part.span(), part.into_inner());
    let kind = cx.required(kind, "kind", &span, "the adapter");
    let place = kind.as_ref().map_or(span.clone(), Spanned::span);
    let value = match kind?.into_inner() {
        AdapterKind::Null => {
            if let Some(stage) = &stage {
                let help = "say `kind = \"staged\"`, or remove the stages";
                return Err(cx.fault(&stage.span, "a null adapter has no stages", help));
            }
            let startup = cx.optional(startup);
            let per_byte = self::per_byte(cx, per_byte, rate, &span);
            let startup = startup?.map_or(Span::ZERO, |startup| startup.into_inner().get());
            Adapter::Null(LinkCosts { startup, per_byte: per_byte? })
        }
        AdapterKind::Staged => {
            let reason = "a staged adapter has its costs in its stages";
            let help = "move this to a phase of a stage, or say `kind = \"null\"`";
            let startup = cx.foreign(startup.as_ref(), reason, help);
            let per_byte = cx.foreign(per_byte.as_ref(), reason, help);
            let rate = cx.foreign(rate.as_ref(), reason, help);
            let stages = stages(cx, stage, &span);
            startup.and(per_byte).and(rate)?;
            Adapter::Described(Box::new(stages?))
        }
    };
    Ok(Located { value, spans: place })
}

/// Time per byte, written so or as a rate, rounded up.
fn per_byte(
    cx: &mut Context<'_>,
    per_byte: Option<Written<Bounded<PerByte>>>,
    rate: Option<Written<Bounded<crate::scenario::leaf::Flow>>>,
    owner: &Range<usize>,
) -> Result<Span, Reported> {
    match (per_byte, rate) {
        (Some(per_byte), None) => Ok(cx.value(per_byte)?.into_inner().get()),
        (None, Some(rate)) => {
            let rate = cx.value(rate)?;
            let (span, rate): (_, Rate) = (rate.span(), rate.into_inner().get());
            let ps = 8_000_000_000_000u64.div_ceil(rate.bits_per_sec());
            let most: Span = bound(<PerByte as crate::scenario::leaf::Bounds>::MOST);
            if Span::from_ps(ps) > most {
                return Err(cx.fault(
                    &span,
                    format!("a byte takes more than {most} at {rate}"),
                    "use a faster rate",
                ));
            }
            Ok(Span::from_ps(ps))
        }
        (Some(_), Some(rate)) => {
            let help = "keep either `per_byte` or `rate`";
            Err(cx.fault(&rate.span, "the time per byte is given twice", help))
        }
        (None, None) => {
            let help = "add `per_byte = \"50 ns\"` or `rate = \"160 Mbit/s\"`";
            Err(cx.fault(owner, "nothing says how fast the adapter is", help))
        }
    }
}

fn stages(
    cx: &mut Context<'_>,
    list: Option<crate::scenario::written::List<Part<RawStage>>>,
    owner: &Range<usize>,
) -> Result<Description, Reported> {
    let raw = cx.items(list)?;
    if raw.is_empty() {
        let help = "add `[[adapter.stage]]` with a `name` and its `phase` list";
        return Err(cx.fault(owner, "a staged adapter needs at least one stage", help));
    }
    let mut resources: Vec<Name> = Vec::new();
    let stages: Vec<_> = raw.into_iter().map(|part| stage(cx, part, &mut resources)).collect();
    let stages = stages.into_iter().collect::<Result<Vec<(Stage, Range<usize>)>, _>>()?;
    for (number, (stage, span)) in stages.iter().enumerate() {
        if stages[..number].iter().any(|(other, _)| other.name == stage.name) {
            let reason = format!("there are two stages called `{}`", stage.name);
            return Err(cx.fault(span, reason, "give each stage a name of its own"));
        }
    }
    let resource = |name: String, preemptive| Resource { name, servers: 1, preemptive };
    let processor = [resource("processor".into(), false)];
    Ok(Description {
        interface: Interface {
            queues: vec![CommandQueue { takes: Takes::All, priority: 0, slots: None }],
            poll: None,
            notification: Notification::Interrupt,
        },
        resources: processor
            .into_iter()
            .chain(resources.into_iter().map(|name| resource(name.0, true)))
            .collect(),
        transmit: stages.into_iter().map(|(stage, _)| stage).collect(),
        receive: Vec::new(),
        transmit_buffers: Buffers::default(),
        receive_buffers: Buffers::default(),
    })
}

fn stage(
    cx: &mut Context<'_>,
    part: Part<RawStage>,
    resources: &mut Vec<Name>,
) -> Result<(Stage, Range<usize>), Reported> {
    let part = cx.part(part)?;
    let (span, RawStage { name, phase }) = (part.span(), part.into_inner());
    let name = cx.required(name, "name", &span, "this stage");
    let phases = cx.items(phase).and_then(|phases| {
        if phases.is_empty() {
            let valid = "a list of phases, such as `[{ fixed = \"40 us\", per_byte = \"50 ns\" }]`";
            return Err(cx.missing("phase", &span, "this stage", valid));
        }
        let phases: Vec<_> = phases.into_iter().map(|part| self::phase(cx, part, resources)).collect();
        phases.into_iter().collect::<Result<Vec<_>, _>>()
    });
    let name = name?;
    let place = name.span();
    let queue =
        Queue { takes: Takes::All, order: Order::Fifo, priority: 0, slots: None, overload: Overload::Block };
    let selection = Selection::Priority;
    Ok((
        Stage { name: name.into_inner().0, servers: 1, queues: vec![queue], selection, phases: phases? },
        place,
    ))
}

fn phase(cx: &mut Context<'_>, part: Part<RawPhase>, resources: &mut Vec<Name>) -> Result<Phase, Reported> {
    let part = cx.part(part)?;
    let span = part.span();
    let RawPhase { fixed, segment, per_segment, per_byte, knee, per_byte_past, resource, priority } =
        part.into_inner();
    let segments = segment.is_some() == per_segment.is_some();
    let knees = knee.is_some() == per_byte_past.is_some();
    let fixed = cx.optional(fixed).map(|time| time.map_or(Span::ZERO, |time| time.into_inner().get()));
    let segment = cx.optional(segment).map(|size| size.map_or(Bytes::ZERO, |size| size.into_inner().get()));
    let per_segment =
        cx.optional(per_segment).map(|time| time.map_or(Span::ZERO, |time| time.into_inner().get()));
    let per_byte = cx.optional(per_byte).map(|time| time.map_or(Span::ZERO, |time| time.into_inner().get()));
    let knee = cx.optional(knee).map(|size| size.map_or(Bytes::ZERO, |size| size.into_inner().get()));
    let past = cx.optional(per_byte_past).map(|time| time.map_or(Span::ZERO, |time| time.into_inner().get()));
    let resource = cx.optional(resource);
    let priority = cx.optional(priority);
    if !segments {
        let help = "give both, or neither";
        return Err(cx.fault(&span, "`segment` and `per_segment` mean something only together", help));
    }
    if !knees {
        let help = "give both, or neither";
        return Err(cx.fault(&span, "`knee` and `per_byte_past` mean something only together", help));
    }
    let (resource, priority) = (resource?, priority?);
    if let (None, Some(priority)) = (&resource, &priority) {
        let help = "name the `resource`, or remove the priority";
        return Err(cx.fault(&priority.span(), "a priority at no resource means nothing", help));
    }
    let resource = resource.map(|name| {
        let name = name.into_inner();
        let index = resources.iter().position(|known| *known == name).unwrap_or_else(|| {
            resources.push(name);
            resources.len() - 1
        });
        (index + 1, priority.map_or(0, |priority| priority.into_inner().small() as u8))
    });
    let delay = Delay {
        fixed: fixed?,
        segment: segment?,
        per_segment: per_segment?,
        per_byte: per_byte?,
        knee: knee?,
        per_byte_past: past?,
    };
    let (holds, priority) = resource.map_or((Vec::new(), 0), |(index, priority)| (vec![index], priority));
    Ok(Phase { delay, holds, priority, ..Phase::default() })
}
