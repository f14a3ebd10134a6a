//! `[host.compute.NAME]`: applications that compute at a host beside its communication; `reader`:
//! the program that takes a channel's messages.

use laxity_qos::channel::{CoreId, Reader};
use laxity_world::experiment::{BudgetSpec, ComputingSpec};

use super::*;
use crate::raw::{RawComputing, RawReader};
use crate::section::first;
use crate::written::Entries;

/// The applications of a host that compute, in the order of their names.
pub(super) fn computing(
    cx: &mut Context<'_>,
    entries: Option<Entries<Part<RawComputing>>>,
    cores: u8,
) -> Result<Vec<ComputingSpec>, Reported> {
    let mut all = Vec::new();
    let mut outcome = Ok(());
    for (name, part) in cx.entries(entries)? {
        match application(cx, &name, part, cores) {
            Ok(spec) => all.push(spec),
            Err(reported) => outcome = Err(reported),
        }
    }
    outcome.map(|()| all)
}

fn application(
    cx: &mut Context<'_>,
    name: &Spanned<String>,
    part: Part<RawComputing>,
    cores: u8,
) -> Result<ComputingSpec, Reported> {
    cx.named(name)?;
    let (owner, keys) = cx.keys(part, "this application")?;
    let core = keys.core.placed().and_then(|core| {
        let Some(said) = core else { return Ok(None) };
        let core = CoreId(said.get_ref().small() as u8);
        super::core::core(cx, core, &said.span(), cores, "the host").map(|()| Some(core))
    });
    let slice = keys.slice.value;
    let Some(budget) = keys.budget.placed()? else {
        let (reason, help) = ("this is a budget's", "remove this, or say the `budget`");
        let others = first([&keys.period, &keys.deadline, &keys.start, &keys.level]);
        if let Some(other) = others {
            return Err(cx.fault(&other, reason, help));
        }
        return Ok(ComputingSpec { name: name.get_ref().clone(), core: core?, slice: slice?, budget: None });
    };
    let period = keys.period.needed(cx, &owner, "a budget")?.into_inner();
    let (span, time) = (budget.span(), budget.into_inner());
    if time > period {
        let reason = format!("{time} of the CPU do not fit into a period of {period}");
        return Err(cx.fault(&span, reason, format!("valid is up to {period}")));
    }
    let budget = BudgetSpec {
        time,
        period,
        start: keys.start.value?,
        deadline: keys.deadline.value?.unwrap_or(period),
        level: keys.level.value?.small() as u8,
    };
    Ok(ComputingSpec { name: name.get_ref().clone(), core: core?, slice: slice?, budget: Some(budget) })
}

/// The program that takes the messages of a channel, which is `received` by a host or not; with
/// `slots` unless it says otherwise.
pub(super) fn reader(
    cx: &mut Context<'_>,
    part: Option<Part<RawReader>>,
    received: bool,
    slots: u32,
) -> Result<Option<Reader>, Reported> {
    let Some(part) = part else { return Ok(None) };
    if !received {
        let help = "remove this, or let a node receive: `[path] receive = true`, or `to`; at interfaces programs are `[[program]]`";
        return Err(cx.fault(&part.span, "no host receives this channel for a program", help));
    }
    let (_, keys) = cx.keys(part, "")?;
    Ok(Some(Reader {
        // Where it is placed is said of the host's others as well.
        core: CoreId::FIRST,
        work: keys.work.value?,
        per_byte: keys.work_byte.value?,
        slots: keys.slots.value?.map_or(slots, Whole::small),
    }))
}
