//! `[[adapter.transmit]]` and `[[adapter.receive]]`: stages, their queues and phases.

use laxity_model::adapter::{
    Delay, LatePolicy, Overload, PROCESSOR, Phase, Queue, QueueSelection, Stage, Tells,
};
use laxity_qos::channel::Order;
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
    let part = cx.part(part)?;
    let span = part.span();
    let RawStage { name, servers, batch, linger, ahead, selection, queue, phase, source } = part.into_inner();
    let name = cx.required(name, "name", &span, "this stage");
    let called = match &name {
        Ok(name) => format!("the stage `{}`", name.get_ref().0),
        Err(_) => "a stage".to_string(),
    };
    let several = servers.as_ref().is_some_and(|servers| !matches!(servers.value, Ok(n) if n.get() == 1));
    let several = several || batch.is_some() || linger.is_some() || ahead.is_some();
    let cited = sources.cite(cx, source, several, &span, &called);
    let servers = cx.optional(servers).map(|n| n.map_or(1, Spanned::into_inner_small));
    let batch = cx.optional(batch).map(|n| n.map_or(1, Spanned::into_inner_small));
    let linger = linger.map(|linger| cx.value(linger)).transpose();
    let ahead = cx.optional(ahead).map(|ahead| ahead.map(Spanned::into_inner_small));
    let selection = cx.or(selection, QueueSelection::Priority);
    let queues = queues(cx, sources, queue, &called);
    let phases = cx.items(phase).and_then(|phases| {
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
    let (batch, linger) = (batch?, linger?);
    if let (1, Some(linger)) = (batch, &linger) {
        let reason = "a server that takes one packet at a time waits for no other";
        return Err(cx.fault(&linger.span(), reason, "say how many are a `batch`, or remove this"));
    }
    let place = name.span();
    let stage = Stage {
        name: name.into_inner().0,
        servers: servers?,
        batch,
        linger: linger.map_or(Span::ZERO, |linger| linger.into_inner().get()),
        queues: queues?,
        selection: selection?,
        phases,
        ahead: ahead?,
    };
    Ok((stage, place))
}

/// A number in 32 bits.
trait Small {
    fn into_inner_small(self) -> u32;
}

impl<const LEAST: u64, const MOST: u64> Small for Spanned<Whole<LEAST, MOST>> {
    fn into_inner_small(self) -> u32 {
        self.into_inner().small()
    }
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
    let part = cx.part(part)?;
    let span = part.span();
    let RawQueue { takes, spread, order, frame, priority, slots, overload, late, margin, source } =
        part.into_inner();
    let numbers = slots.is_some() || spread.is_some() || margin.is_some();
    let cited = sources.cite(cx, source, numbers, &span, what);
    let takes = takes::takes(cx, takes);
    let spread = takes::spread(cx, spread);
    let order = cx.or(order, Order::Fifo);
    let priority = cx.optional(priority);
    let endless = slots.is_none();
    let slots = cx.optional(slots).map(|slots| slots.map(Spanned::into_inner_small));
    let overload = cx.optional(overload);
    let late = cx.or(late, LatePolicy::Keep);
    let margin = cx.optional(margin);
    let (slots, overload) = (slots?, overload?);
    if let (true, Some(overload)) = (endless, &overload) {
        let reason = "a queue without `slots` is never full";
        return Err(cx.fault(&overload.span(), reason, "say how many `slots` it has, or remove this"));
    }
    let (late, margin) = (late?, margin?);
    if let (LatePolicy::Keep, Some(margin)) = (late, &margin) {
        let help = "say `late = \"drop\"`, or remove this";
        return Err(cx.fault(&margin.span(), "what is late is kept here, whatever is left of its way", help));
    }
    let margin = margin.map_or(Span::ZERO, |margin| margin.into_inner().get());
    cited?;
    let order = order?;
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
    let frame = {
        let frame = crate::section::Key::optional(cx, frame, "frame", |frame| frame.get());
        frame_of(cx, &frame, order, &span)?
    };
    Ok(Queue {
        takes: takes?,
        order,
        frame,
        priority: rank(priority?),
        slots,
        overload,
        late,
        margin,
        spread: spread?,
    })
}

fn phase(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    resources: &mut Resources,
    part: Part<RawPhase>,
    what: &str,
) -> Result<Phase, Reported> {
    let part = cx.part(part)?;
    let span = part.span();
    let RawPhase {
        fixed,
        per_packet,
        takes,
        segment,
        per_segment,
        per_byte,
        rate,
        knee,
        per_byte_past,
        from,
        up_to,
        kind,
        trailer,
        yields,
        holds,
        priority,
        medium,
        releases,
        tells,
        source,
    } = part.into_inner();
    let together = [
        ("`segment` and `per_segment`", segment.is_some(), per_segment.is_some()),
        ("`knee` and `per_byte_past`", knee.is_some(), per_byte_past.is_some()),
    ];
    let numbers = fixed.is_some()
        || per_packet.is_some()
        || segment.is_some()
        || per_byte.is_some()
        || rate.is_some()
        || knee.is_some();
    let idle = !numbers && tells.is_none() && releases.is_none();
    let cited = sources.cite(cx, source, numbers, &span, what);
    let fixed = or_zero(cx, fixed);
    let per_packet = or_zero(cx, per_packet);
    let takes = takes::takes(cx, takes);
    let segment = or_zero(cx, segment);
    let per_segment = or_zero(cx, per_segment);
    let per_byte = self::per_byte(cx, per_byte, rate).map(Option::unwrap_or_default);
    let knee = or_zero(cx, knee);
    let per_byte_past = or_zero(cx, per_byte_past).map(ByteTime::of);
    let sizes = sizes(cx, from, up_to);
    let kind = cx.or(kind, PhaseKind::Delay);
    let held = cx.items(holds).and_then(|names| all(names.into_iter().map(|name| cx.value(name)).collect()));
    let priority = cx.optional(priority);
    let medium = cx.or(medium, false);
    let releases = cx.or(releases, false);
    let (trailer, yields) = (or_zero(cx, trailer), cx.or(yields, false));
    let tells = cx.optional(tells).map(|tells| tells.map_or(Tells::Nothing, Spanned::into_inner));
    for (keys, one, other) in together {
        if one != other {
            let reason = format!("{keys} mean something only together");
            return Err(cx.fault(&span, reason, "give both, or neither"));
        }
    }
    if idle {
        let help = "add a time, such as `fixed = \"40 us\"` or `per_byte = \"50 ns\"`, or what it `tells`";
        return Err(cx.fault(&span, "this phase does nothing", help));
    }
    let kind = kind?;
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
    let (trailer, yields, medium) = (trailer?, yields?, medium?);
    if yields && (segment.as_ref().is_ok_and(|segment| segment.is_zero()) || holds.is_empty() || medium) {
        let reason = "a phase that yields does so between its segments, at a resource of the adapter's own";
        let help = "give it `segment` and `per_segment` and what it `holds`, and not the `medium`";
        return Err(cx.fault(&span, reason, help));
    }
    let priority = priority?;
    if let (true, Some(priority)) = (holds.is_empty(), &priority) {
        let help = "name resources in `holds`, or remove the priority";
        return Err(cx.fault(&priority.span(), "a priority at no resource means nothing", help));
    }
    cited?;
    let (from, up_to) = sizes?;
    Ok(Phase {
        delay: Delay {
            fixed: fixed?,
            per_packet: per_packet?,
            segment: segment?,
            per_segment: per_segment?,
            per_byte: per_byte?,
            knee: knee?,
            per_byte_past: per_byte_past?,
        },
        takes: takes?,
        from,
        up_to,
        holds,
        priority: rank(priority),
        work: kind == PhaseKind::Work,
        medium,
        tells: tells?,
        since_service: false,
        releases: releases?,
        yields,
        trailer,
    })
}

type Size = Bounded<crate::leaf::Size>;

/// The sizes of packets that go through a phase.
fn sizes(
    cx: &mut Context<'_>,
    from: Option<Written<Size>>,
    up_to: Option<Written<Size>>,
) -> Result<(Bytes, Option<Bytes>), Reported> {
    let from = or_zero(cx, from);
    let up_to = cx.optional(up_to);
    let (from, up_to) = (from?, up_to?);
    if let Some(most) = up_to.as_ref().filter(|most| most.get_ref().get() < from) {
        let reason = format!("no packet is of at least {from} and at most {}", most.get_ref().get());
        return Err(cx.fault(&most.span(), reason, "let `up_to` be no less than `from`"));
    }
    Ok((from, up_to.map(|most| most.into_inner().get())))
}
