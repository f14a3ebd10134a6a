//! `shapers`, `gates`, `gate_offset`, `cyclic`, `ats` and `preemptable_from` of a switch, and `shapers` of a
//! host.

use std::sync::Arc;

use laxity_model::switch::preemption::LONGEST_WAIT;
use laxity_qos::channel::Order;
use laxity_qos::discipline::{CyclicClass, GateList, Hold, LOWEST, Selection, Shaper, Window};
use laxity_world::experiment::Forwarding;

use super::*;
use crate::leaf::Whole;
use crate::raw::{AtsKeys, CyclicKeys, NodeKeys, RawAts, RawCyclic, RawShaper, RawWindow, ShaperKeys};
use crate::section::{At, Key, Section};
use crate::written::List;

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
    keys: NodeKeys,
    order: Order,
    forwarding: Forwarding,
) -> Result<Classes, Reported> {
    let NodeKeys { shapers, gates, gate_offset: offset, cyclic, ats, preemptable_from, .. } = keys;
    let spans = [
        ("shapers", shapers.at()),
        ("gates", gates.at()),
        ("cyclic", cyclic.at()),
        ("ats", ats.at()),
        ("preemptable_from", preemptable_from.at()),
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
    let from = preemptable_from.placed()?;
    if let Some(from) = from.as_ref().filter(|_| forwarding == Forwarding::CutThrough) {
        let reason = "a frame that is interrupted cannot leave before it has arrived";
        return Err(cx.fault(&from.span(), reason, "say `forwarding = \"store_and_forward\"`"));
    }
    let from = from.map(|from| from.get_ref().small() as u8);
    let (shapers, gates) = (self::shapers(cx, shapers), windows(cx, gates, from));
    let cyclic = self::cyclic(cx, cyclic);
    let ats = self::ats(cx, ats);
    let (shapers, windows, cyclic, ats) = (shapers?, gates?, cyclic?, ats?);
    let gates = match (offset.at, windows.is_empty()) {
        (Some(offset), true) => {
            return Err(cx.fault(&offset, "there are no gates", "add `gates`, or remove this"));
        }
        (None, true) => None,
        (_, false) => {
            let gates = GateList::new(offset.value?, windows);
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
    tolerance: &Key<Option<Span>>,
    order: Order,
) -> Result<Option<Span>, Reported> {
    if let Some(at) = tolerance.at.as_ref().filter(|_| !order.keeps_arrivals()) {
        let reason = "flow meters are of switches with FIFO queues, and this one has another order";
        let help = "say `order = \"fifo\"` or `order = \"strict_priority\"`, or remove this";
        return Err(cx.fault(at, reason, help));
    }
    tolerance.value
}

/// The shapers of a list, each of a level of its own.
pub(super) fn shapers(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawShaper>>>,
) -> Result<Vec<Shaper>, Reported> {
    let twice = ("has a shaper already", "give each level one shaper at most");
    by_level(cx, list, ("this shaper", twice), |keys: ShaperKeys| {
        let (level, small) = small(&keys.level)?;
        Ok((level, small, Shaper { level: small, idle_slope: keys.idle_slope.value? }))
    })
}

fn cyclic(cx: &mut Context<'_>, list: Option<List<Part<RawCyclic>>>) -> Result<Vec<CyclicClass>, Reported> {
    let twice = ("is cyclic already", "give each level one cycle at most");
    by_level(cx, list, ("this class", twice), |keys: CyclicKeys| {
        let (level, small) = small(&keys.level)?;
        Ok((level, small, CyclicClass { level: small, cycle: keys.cycle.value? }))
    })
}

fn ats(cx: &mut Context<'_>, list: Option<List<Part<RawAts>>>) -> Result<Vec<u8>, Reported> {
    let twice = ("has regulators already", "give each level once");
    by_level(cx, list, ("this class", twice), |keys: AtsKeys| {
        let (level, small) = small(&keys.level)?;
        Ok((level, small, small))
    })
}

/// The place of a level, and the level.
fn small<const LEAST: u64, const MOST: u64>(
    level: &Key<Whole<LEAST, MOST>>,
) -> Result<(Range<usize>, u8), Reported> {
    let level = level.spanned()?;
    Ok((level.span(), level.into_inner().small() as u8))
}

/// The classes of a list, each called `what`, of which `read` has the level and its place too. A level
/// that is there twice is an error: what it is already, and the help.
fn by_level<S: Section, T>(
    cx: &mut Context<'_>,
    list: Option<List<Part<S>>>,
    (what, (already, help)): (&str, (&str, &str)),
    read: impl Fn(S::Keys) -> Result<(Range<usize>, u8, T), Reported>,
) -> Result<Vec<T>, Reported> {
    let (mut levels, mut found) = (Vec::new(), Vec::new());
    for part in cx.items(list)? {
        let (_, keys) = cx.keys(part, what)?;
        let (span, level, class) = read(keys)?;
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
    let window = |cx: &mut Context<'_>, part: Part<RawWindow>| {
        let (_, keys) = cx.keys(part, "this window")?;
        let mut open = if keys.best_effort.value? { u32::MAX << from } else { 0 };
        for level in cx.items(keys.levels)? {
            let level = cx.value(level)?;
            let small = level.get_ref().small() as u8;
            if preemptable.is_some_and(|from| small >= from) {
                let reason =
                    format!("frames of level {small} can be preempted, so the gate of best effort is theirs");
                return Err(cx.fault(&level.span(), reason, "say `best_effort = true`, or remove the level"));
            }
            open |= 1_u32 << small;
        }
        Ok(Window { length: keys.length.value?, open })
    };
    cx.items(list)?.into_iter().map(|part| window(cx, part)).collect()
}
