//! `[adapter]` of a scenario: what it says itself, or the file that it names.

use laxity_qos::channel::CoreId;

use super::*;
use crate::adapter::of_scenario;
use crate::diagnostic::Diagnostics;
use crate::raw::RawAdapter;

/// Which cores an adapter is said to interrupt, and where that is said.
pub(super) type Interrupts = Option<Vec<(CoreId, Range<usize>)>>;

/// Takes out of `part` which cores the adapter interrupts.
pub(super) fn interrupts(cx: &mut Context<'_>, part: &mut Part<RawAdapter>) -> Result<Interrupts, Reported> {
    let Some(list) = part.value.as_mut().ok().and_then(|raw| raw.interrupts.take()) else { return Ok(None) };
    let at = list.span.clone();
    let mut cores = Vec::new();
    for core in cx.items(Some(list))? {
        let core = cx.value(core)?;
        cores.push((CoreId(core.get_ref().get() as u8), core.span()));
    }
    match cores.is_empty() {
        true => {
            Err(cx.fault(&at, "interrupts go to some core", "name one, such as `[0]`, or leave this out"))
        }
        false => Ok(Some(cores)),
    }
}

/// The same at a host with several cores.
pub(super) fn steered(cx: &mut Context<'_>, said: &Interrupts, cores: u8) -> Result<Vec<CoreId>, Reported> {
    let Some(said) = said else { return Ok(vec![CoreId::FIRST]) };
    let each = said.iter().map(|(core, at)| core::core(cx, *core, at, cores, "the host").map(|()| *core));
    each.collect()
}

/// The adapter of a scenario.
pub(super) fn adapter(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    part: Part<RawAdapter>,
) -> Result<Located<AdapterSpec, AdapterSpans>, Reported> {
    let part = cx.part(part)?;
    let (span, mut raw) = (part.span(), part.into_inner());
    let Some(file) = raw.file.take() else {
        let bus = bus_place(&raw);
        let (value, whole) = of_scenario(cx, &span, raw)?;
        let bus = bus.unwrap_or_else(|| whole.clone());
        return Ok(Located { value, spans: AdapterSpans { whole, bus } });
    };
    let kind = raw.kind.as_ref().map(|kind| kind.span.clone());
    let laid_over = kind.as_ref().is_some_and(|kind| cx.is_beneath(kind));
    let bus = bus_place(&raw);
    let alone = match kind.filter(|_| !laid_over) {
        Some(kind) => {
            let help = "keep one of the two: other keys beside `file` replace those of the file";
            Err(cx.fault(&kind, "`kind` stands beside `file`, which says it", help))
        }
        None => Ok(()),
    };
    let name = cx.value(file)?;
    let file = library.adapter(cx, name.get_ref(), &name.span())?;
    alone?;
    let value = match laid_over {
        true => over_file(cx, &span, raw, &name.span())?,
        false => file.adapter.clone(),
    };
    let bus = bus.unwrap_or_else(|| name.span());
    Ok(Located { value, spans: AdapterSpans { whole: name.span(), bus } })
}

/// Where an adapter says which bus it is at.
fn bus_place(raw: &RawAdapter) -> Option<Range<usize>> {
    let resources = raw.resource.as_ref()?.value.as_ref().ok()?;
    resources.iter().find_map(|part| Some(part.value.as_ref().ok()?.bus.as_ref()?.span.clone()))
}

/// An adapter of which some stands in the scenario and some in the file that it names at `named`.
/// By itself the file is right, so what is wrong in it is so for what the scenario says, which is
/// then shown beside it.
fn over_file(
    cx: &mut Context<'_>,
    span: &Range<usize>,
    raw: RawAdapter,
    named: &Range<usize>,
) -> Result<AdapterSpec, Reported> {
    let mut diagnostics = Diagnostics::default();
    let within = &mut Context::new(cx.source, &mut diagnostics);
    within.beside = cx.beside.clone();
    within.edits = cx.edits;
    let adapter = of_scenario(within, span, raw);
    for error in diagnostics.iter() {
        let elsewhere = error.place().is_some_and(|place| place.source() != cx.source);
        let here = cx.place(named).label("named here, with something else laid over it");
        cx.report(if elsewhere { error.clone().related(here) } else { error.clone() });
    }
    adapter.map(|(adapter, _)| adapter)
}
