//! `[host.compute.NAME]`: applications that compute at a host beside its communication; `reader`:
//! the program that takes a channel's messages.

use laxity_qos::channel::{CoreId, Reader};
use laxity_world::experiment::{BudgetSpec, ComputingSpec};

use super::*;
use crate::raw::{RawComputing, RawReader};
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
    let part = cx.part(part)?;
    let (owner, raw) = (part.span(), part.into_inner());
    let RawComputing { core, budget, period, deadline, start, level, slice } = raw;
    let core = super::core::core_number(cx, core).and_then(|core| {
        core.map(|(core, at)| super::core::core(cx, core, &at, cores, "the host").map(|()| core)).transpose()
    });
    let slice = cx.required(slice, "slice", &owner, "this application");
    let Some(budget) = budget else {
        let (reason, help) = ("this is a budget's", "remove this, or say the `budget`");
        cx.foreign(&period, reason, help)?;
        cx.foreign(&deadline, reason, help)?;
        cx.foreign(&start, reason, help)?;
        cx.foreign(&level, reason, help)?;
        let slice = slice?.into_inner().get();
        return Ok(ComputingSpec { name: name.get_ref().clone(), core: core?, slice, budget: None });
    };
    let budget = cx.value(budget);
    let period = cx.required(period, "period", &owner, "a budget");
    let deadline = cx.optional(deadline);
    let start = cx.optional(start);
    let level = cx.optional(level);
    let (budget, period) = (budget?, period?.into_inner().get());
    let (span, time) = (budget.span(), budget.into_inner().get());
    if time > period {
        let reason = format!("{time} of the CPU do not fit into a period of {period}");
        return Err(cx.fault(&span, reason, format!("valid is up to {period}")));
    }
    let budget = BudgetSpec {
        time,
        period,
        start: start?.map_or(Span::ZERO, |start| start.into_inner().get()),
        deadline: deadline?.map_or(period, |deadline| deadline.into_inner().get()),
        level: level?.map_or(0, |level| level.into_inner().small() as u8),
    };
    let slice = slice?.into_inner().get();
    Ok(ComputingSpec { name: name.get_ref().clone(), core: core?, slice, budget: Some(budget) })
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
    let part = cx.part(part)?;
    if !received {
        let help = "remove this, or let a node receive: `[path] receive = true`, or `to`; at interfaces programs are `[[program]]`";
        return Err(cx.fault(&part.span(), "no host receives this channel for a program", help));
    }
    // See `convert/channel.rs`.
    let RawReader { core: _, work, work_byte, slots: said } = part.into_inner();
    let (work, per_byte, said) = (cx.optional(work), cx.optional(work_byte), cx.optional(said));
    Ok(Some(Reader {
        // Where it is placed is said of the host's others as well.
        core: CoreId::FIRST,
        work: work?.map_or(Span::ZERO, |work| work.into_inner().get()),
        per_byte: per_byte?.map_or(Span::ZERO, |work| work.into_inner().get()),
        slots: said?.map_or(slots, |said| said.into_inner().small()),
    }))
}
