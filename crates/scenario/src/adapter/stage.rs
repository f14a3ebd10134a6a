//! `[[adapter.transmit]]` and `[[adapter.receive]]`: stages, their queues and phases.

use laxity_model::adapter::{Delay, LatePolicy, Overload, PROCESSOR, Phase, Queue, Stage, Tells};
use laxity_units::Bytes;

use super::places::{Places, Side};
use super::resources::{Resources, rank};
use super::*;
use crate::choice::PhaseKind;
use crate::frame::frame_of;
use crate::leaf::Whole;
use crate::raw::{RawPhase, RawQueue, RawStage};

/// The stages of one side, in order.
pub(super) fn stages(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    resources: &mut Resources,
    places: &mut Places,
    list: Option<List<Part<RawStage>>>,
    side: Side,
) -> Result<Vec<Stage>, Reported> {
    let raw = cx.items(list)?;
    let mut stages: Vec<Result<Stage, Reported>> = Vec::new();
    for part in raw {
        let span = part.span.clone();
        let stage = stage(cx, sources, resources, places, part, side).and_then(|(stage, name)| {
            let known = |other: &Result<Stage, _>| matches!(other, Ok(other) if other.name == stage.name);
            if stages.iter().any(known) {
                let reason = format!("there are two stages called `{}`", stage.name);
                return Err(cx.fault(&name, reason, "give each stage a name of its own"));
            }
            Ok(stage)
        });
        stages.push(stage);
        match side {
            Side::Transmit => places.transmit.push(span),
            Side::Receive => places.receive.push(span),
        }
    }
    all(stages)
}

fn stage(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    resources: &mut Resources,
    places: &mut Places,
    part: Part<RawStage>,
    side: Side,
) -> Result<(Stage, Range<usize>), Reported> {
    let (span, keys) = cx.keys(part, "this stage")?;
    let name = keys.name.spanned();
    let called = match &name {
        Ok(name) => format!("the stage `{}`", name.get_ref().0),
        Err(_) => "a stage".to_string(),
    };
    let servers = keys.servers.value.map(Whole::small);
    let several = servers != Ok(1) || first([&keys.batch, &keys.linger, &keys.ahead]).is_some();
    let cited = sources.cite(cx, keys.source.placed(), several, &span, &called);
    let queues = queues(cx, sources, keys.queue, &called);
    let phases = cx.items(keys.phase).and_then(|phases| {
        if phases.is_empty() {
            let valid = "a list of phases, such as `[{ fixed = \"40 us\", per_byte = \"50 ns\" }]`";
            return Err(cx.missing("phase", &span, "this stage", valid));
        }
        let several = phases.len() > 1;
        let phases = phases.into_iter().enumerate().map(|(number, part)| {
            let what = match several {
                true => format!("phase {} of {called}", number + 1),
                false => called.clone(),
            };
            let place = part.span.clone();
            let phase = self::phase(cx, sources, resources, part, &what)?;
            if phase.medium {
                places.medium.push((side, place));
            }
            Ok(phase)
        });
        all(phases.collect())
    });
    let (name, phases) = (name?, phases?);
    cited?;
    let (batch, linger) = (keys.batch.value?.small(), keys.linger.placed()?);
    if let (1, Some(linger)) = (batch, &linger) {
        let reason = "a server that takes one packet at a time waits for no other";
        return Err(cx.fault(&linger.span(), reason, "say how many are a `batch`, or remove this"));
    }
    let place = name.span();
    let stage = Stage {
        name: name.into_inner().0,
        servers: servers?,
        batch,
        linger: linger.map_or(Span::ZERO, Spanned::into_inner),
        queues: queues?,
        selection: keys.selection.value?,
        phases,
        ahead: keys.ahead.value?.map(Whole::small),
    };
    Ok((stage, place))
}

fn queues(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    list: Option<List<Part<RawQueue>>>,
    stage: &str,
) -> Result<Vec<Queue>, Reported> {
    if list.is_none() {
        return Ok(vec![Queue::default()]);
    }
    let what = format!("a queue of {stage}");
    let items = cx.items(list)?;
    all(items.into_iter().map(|part| queue(cx, sources, part, &what)).collect())
}

fn queue(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    part: Part<RawQueue>,
    what: &str,
) -> Result<Queue, Reported> {
    let (span, keys) = cx.keys(part, what)?;
    let numbers = first([&keys.slots, &keys.spread, &keys.margin]).is_some();
    let cited = sources.cite(cx, keys.source.placed(), numbers, &span, what);
    let takes = takes::takes(cx, keys.takes);
    let (slots, overload) = (keys.slots.value?.map(Whole::small), keys.overload.placed()?);
    if let (None, Some(overload)) = (slots, &overload) {
        let reason = "a queue without `slots` is never full";
        return Err(cx.fault(&overload.span(), reason, "say how many `slots` it has, or remove this"));
    }
    let late = keys.late.value?;
    if let (LatePolicy::Keep, Some(margin)) = (late, &keys.margin.at) {
        let help = "say `late = \"drop\"`, or remove this";
        return Err(cx.fault(margin, "what is late is kept here, whatever is left of its way", help));
    }
    cited?;
    let order = keys.order.value?;
    if let Some(overload) = overload.as_ref().filter(|overload| *overload.get_ref() == Overload::Importance)
        && !order.displaces()
    {
        let reason =
            "in this order what waits has been counted, and cannot be taken out for who is due sooner";
        let help =
            "let the order be `edf`, `multiclass_edf`, `fixed_priority` or `fifo`, or the overload another";
        return Err(cx.fault(&overload.span(), reason, help));
    }
    let overload = overload.map_or(Overload::Block, Spanned::into_inner);
    let frame = frame_of(cx, &keys.frame, order, &span)?;
    Ok(Queue {
        takes: takes?,
        order,
        frame,
        priority: rank(&keys.priority)?,
        slots,
        overload,
        late,
        margin: keys.margin.value?,
        spread: keys.spread.value?.small(),
    })
}

fn phase(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    resources: &mut Resources,
    part: Part<RawPhase>,
    what: &str,
) -> Result<Phase, Reported> {
    let (span, keys) = cx.keys(part, what)?;
    let said = |key: &dyn At| key.at().is_some();
    let together = [
        ("`segment` and `per_segment`", said(&keys.segment), said(&keys.per_segment)),
        ("`knee` and `per_byte_past`", said(&keys.knee), said(&keys.per_byte_past)),
    ];
    let sizes_said = first([&keys.fixed, &keys.per_packet, &keys.segment]);
    let numbers = said(&first([&sizes_said, &keys.per_byte, &keys.rate, &keys.knee]));
    let idle = !numbers && !said(&first([&keys.tells, &keys.releases]));
    let cited = sources.cite(cx, keys.source.placed(), numbers, &span, what);
    let takes = takes::takes(cx, keys.takes);
    let per_byte = self::per_byte(cx, &keys.per_byte, &keys.rate).map(Option::unwrap_or_default);
    let sizes = sizes(cx, &keys.from, &keys.up_to);
    let held =
        cx.items(keys.holds).and_then(|names| all(names.into_iter().map(|name| cx.value(name)).collect()));
    for (both, one, other) in together {
        if one != other {
            let reason = format!("{both} mean something only together");
            return Err(cx.fault(&span, reason, "give both, or neither"));
        }
    }
    if idle {
        let help = "add a time, such as `fixed = \"40 us\"` or `per_byte = \"50 ns\"`, or what it `tells`";
        return Err(cx.fault(&span, "this phase does nothing", help));
    }
    let kind = keys.kind.value?;
    let mut holds = match kind {
        PhaseKind::Delay => Vec::new(),
        PhaseKind::Synchronous | PhaseKind::Work => vec![PROCESSOR],
    };
    for name in held? {
        let index = resources.held(name.into_inner().0);
        if !holds.contains(&index) {
            holds.push(index);
        }
    }
    let (segment, trailer) =
        (keys.segment.value?.unwrap_or_default(), keys.trailer.value?.unwrap_or_default());
    let (yields, medium) = (keys.yields.value?, keys.medium.value?);
    if yields && (segment.is_zero() || holds.is_empty() || medium) {
        let reason = "a phase that yields does so between its segments, at a resource of the adapter's own";
        let help = "give it `segment` and `per_segment` and what it `holds`, and not the `medium`";
        return Err(cx.fault(&span, reason, help));
    }
    if let (true, Some(priority)) = (holds.is_empty(), &keys.priority.at) {
        let help = "name resources in `holds`, or remove the priority";
        return Err(cx.fault(priority, "a priority at no resource means nothing", help));
    }
    cited?;
    let (from, up_to) = sizes?;
    Ok(Phase {
        delay: Delay {
            fixed: keys.fixed.value?,
            per_packet: keys.per_packet.value?,
            segment,
            per_segment: keys.per_segment.value?.unwrap_or_default(),
            per_byte: per_byte?,
            knee: keys.knee.value?.unwrap_or_default(),
            per_byte_past: ByteTime::of(keys.per_byte_past.value?.unwrap_or_default()),
        },
        takes: takes?,
        from,
        up_to,
        holds,
        priority: rank(&keys.priority)?,
        work: kind == PhaseKind::Work,
        medium,
        tells: keys.tells.value?.unwrap_or(Tells::Nothing),
        since_service: false,
        releases: keys.releases.value?,
        yields,
        trailer,
    })
}

/// The sizes of packets that go through a phase.
fn sizes(
    cx: &mut Context<'_>,
    from: &Key<Option<Bytes>>,
    up_to: &Key<Option<Bytes>>,
) -> Result<(Bytes, Option<Bytes>), Reported> {
    let (from, up_to) = (from.value?.unwrap_or_default(), up_to.placed()?);
    if let Some(most) = up_to.as_ref().filter(|most| *most.get_ref() < from) {
        let reason = format!("no packet is of at least {from} and at most {}", most.get_ref());
        return Err(cx.fault(&most.span(), reason, "let `up_to` be no less than `from`"));
    }
    Ok((from, up_to.map(Spanned::into_inner)))
}
