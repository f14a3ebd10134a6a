//! `shapers`, `gates`, `gate_offset`, `cyclic`, `ats` and `preemptable_from` of a switch, and `shapers` of a
//! host.

use std::sync::Arc;

use laxity_model::switch::preemption::LONGEST_WAIT;
use laxity_qos::channel::Order;
use laxity_qos::discipline::{CyclicClass, GateList, Hold, LOWEST, Selection, Shaper, Window};
use laxity_world::experiment::Forwarding;
use serde::de::DeserializeOwned;

use super::*;
use crate::leaf::{Bounded, Delay, Whole};
use crate::raw::{RawAts, RawCyclic, RawShaper, RawWindow};
use crate::written::List;

/// The keys of a switch about its classes.
pub(super) struct Raw {
    pub(super) shapers: Option<List<Part<RawShaper>>>,
    pub(super) gates: Option<List<Part<RawWindow>>>,
    pub(super) gate_offset: Option<Written<Bounded<Delay>>>,
    pub(super) cyclic: Option<List<Part<RawCyclic>>>,
    pub(super) ats: Option<List<Part<RawAts>>>,
    pub(super) preemptable_from: Option<Written<Whole<1, 31>>>,
}

/// The conditions of the classes of ports by strict priority.
#[derive(Debug, Clone, Default)]
pub(super) struct Classes {
    pub(super) selection: Option<Arc<Selection>>,
    /// The most urgent level with frames that can be preempted.
    pub(super) preemptable_from: Option<u8>,
}

/// The pairs of keys that a switch can have.
const TOGETHER: [(&str, &str); 2] = [("shapers", "gates"), ("gates", "preemptable_from")];

/// The classes of ports in `order`, of a switch with that `forwarding`.
pub(super) fn classes(
    cx: &mut Context<'_>,
    raw: Raw,
    order: Order,
    forwarding: Forwarding,
) -> Result<Classes, Reported> {
    let Raw { shapers, gates, gate_offset, cyclic, ats, preemptable_from } = raw;
    let offset = cx.optional(gate_offset);
    let spans = [
        ("shapers", shapers.as_ref().map(|list| list.span.clone())),
        ("gates", gates.as_ref().map(|list| list.span.clone())),
        ("cyclic", cyclic.as_ref().map(|list| list.span.clone())),
        ("ats", ats.as_ref().map(|list| list.span.clone())),
        ("preemptable_from", preemptable_from.as_ref().map(|level| level.span.clone())),
    ];
    let said: Vec<(&str, Range<usize>)> =
        spans.into_iter().filter_map(|(key, span)| Some((key, span?))).collect();
    let mut pairs =
        said.iter().enumerate().flat_map(|(place, one)| said[..place].iter().map(move |other| (other, one)));
    if let Some((other, one)) = pairs.find(|(other, one)| !TOGETHER.contains(&(other.0, one.0))) {
        let reason = format!("a switch has no `{}` beside `{}`", one.0, other.0);
        return Err(cx.fault(&one.1, reason, "remove one of them"));
    }
    if let Some((key, span)) = said.first().filter(|_| order != Order::StrictPriority) {
        let reason =
            format!("`{key}` is of ports by strict priority, and those of this switch have another order");
        return Err(cx.fault(span, reason, "say `order = \"strict_priority\"`, or remove this"));
    }
    let from = cx.optional(preemptable_from)?;
    if let Some(from) = from.as_ref().filter(|_| forwarding == Forwarding::CutThrough) {
        let reason = "a frame that is interrupted cannot leave before it has arrived";
        return Err(cx.fault(&from.span(), reason, "say `forwarding = \"store_and_forward\"`"));
    }
    let from = from.map(|from| from.get_ref().small() as u8);
    let (shapers, gates) = (self::shapers(cx, shapers), windows(cx, gates, from));
    let cyclic = self::cyclic(cx, cyclic);
    let ats = self::ats(cx, ats);
    let (shapers, windows, cyclic, ats) = (shapers?, gates?, cyclic?, ats?);
    let gates = match (offset?, windows.is_empty()) {
        (Some(offset), true) => {
            return Err(cx.fault(&offset.span(), "there are no gates", "add `gates`, or remove this"));
        }
        (_, true) => None,
        (offset, false) => {
            let gates = GateList::new(offset.map_or(Span::ZERO, |offset| offset.into_inner().get()), windows);
            Some(match from {
                Some(from) => gates.holding(Hold { from, least: LONGEST_WAIT }),
                None => gates,
            })
        }
    };
    let selection = Selection { shapers, gates, cyclic, ats };
    let selection = (selection != Selection::default()).then(|| Arc::new(selection));
    Ok(Classes { selection, preemptable_from: from })
}

/// The tolerance of the flow meters of a switch with ports in `order`.
pub(super) fn policing(
    cx: &mut Context<'_>,
    raw: Option<Written<Bounded<Delay>>>,
    order: Order,
) -> Result<Option<Span>, Reported> {
    let tolerance = cx.optional(raw)?;
    if let Some(said) = tolerance.as_ref().filter(|_| !order.keeps_arrivals()) {
        let reason = "flow meters are of switches with FIFO queues, and this one has another order";
        let help = "say `order = \"fifo\"` or `order = \"strict_priority\"`, or remove this";
        return Err(cx.fault(&said.span(), reason, help));
    }
    Ok(tolerance.map(|tolerance| tolerance.into_inner().get()))
}

/// The shapers of a list, each of a level of its own.
pub(super) fn shapers(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawShaper>>>,
) -> Result<Vec<Shaper>, Reported> {
    let twice = ("has a shaper already", "give each level one shaper at most");
    by_level(cx, list, twice, |cx, owner, RawShaper { level, idle_slope }| {
        let level = cx.required(level, "level", owner, "this shaper");
        let slope = cx.required(idle_slope, "idle_slope", owner, "this shaper");
        let (level, slope) = (level?, slope?);
        let small = level.get_ref().small() as u8;
        Ok((level.span(), small, Shaper { level: small, idle_slope: slope.into_inner().get() }))
    })
}

fn cyclic(cx: &mut Context<'_>, list: Option<List<Part<RawCyclic>>>) -> Result<Vec<CyclicClass>, Reported> {
    let twice = ("is cyclic already", "give each level one cycle at most");
    by_level(cx, list, twice, |cx, owner, RawCyclic { level, cycle }| {
        let level = cx.required(level, "level", owner, "this class");
        let cycle = cx.required(cycle, "cycle", owner, "this class");
        let (level, cycle) = (level?, cycle?);
        let small = level.get_ref().small() as u8;
        Ok((level.span(), small, CyclicClass { level: small, cycle: cycle.into_inner().get() }))
    })
}

fn ats(cx: &mut Context<'_>, list: Option<List<Part<RawAts>>>) -> Result<Vec<u8>, Reported> {
    by_level(cx, list, ("has regulators already", "give each level once"), |cx, owner, RawAts { level }| {
        let level = cx.required(level, "level", owner, "this class")?;
        let small = level.get_ref().small() as u8;
        Ok((level.span(), small, small))
    })
}

/// The classes of a list, of which `read` has the level and its place too. A level that is there twice
/// is an error: what it is already, and the help.
fn by_level<R: DeserializeOwned, T>(
    cx: &mut Context<'_>,
    list: Option<List<Part<R>>>,
    (already, help): (&str, &str),
    read: impl Fn(&mut Context<'_>, &Range<usize>, R) -> Result<(Range<usize>, u8, T), Reported>,
) -> Result<Vec<T>, Reported> {
    let (mut levels, mut found) = (Vec::new(), Vec::new());
    for part in cx.items(list)? {
        let part = cx.part(part)?;
        let owner = part.span();
        let (span, level, class) = read(cx, &owner, part.into_inner())?;
        if levels.contains(&level) {
            return Err(cx.fault(&span, format!("level {level} {already}"), help));
        }
        levels.push(level);
        found.push(class);
    }
    Ok(found)
}

/// The windows of a port with frames of levels from `preemptable` on that can be preempted. These have
/// the gate of best effort.
fn windows(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawWindow>>>,
    preemptable: Option<u8>,
) -> Result<Vec<Window>, Reported> {
    let from = preemptable.unwrap_or(LOWEST);
    let window = |cx: &mut Context<'_>, part| {
        let part = cx.part(part)?;
        let (owner, RawWindow { length, levels, best_effort }) = (part.span(), part.into_inner());
        let length = cx.required(length, "for", &owner, "this window");
        let levels = cx.items(levels);
        let best_effort = cx.or(best_effort, false);
        let mut open = if best_effort? { u32::MAX << from } else { 0 };
        for level in levels? {
            let level = cx.value(level)?;
            let small = level.get_ref().small() as u8;
            if preemptable.is_some_and(|from| small >= from) {
                let reason =
                    format!("frames of level {small} can be preempted, so the gate of best effort is theirs");
                return Err(cx.fault(&level.span(), reason, "say `best_effort = true`, or remove the level"));
            }
            open |= 1_u32 << small;
        }
        Ok(Window { length: length?.into_inner().get(), open })
    };
    cx.items(list)?.into_iter().map(|part| window(cx, part)).collect()
}
