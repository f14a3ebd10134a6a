//! `[adapter]` of a scenario: what it says itself, or the file that it names.

use laxity_qos::channel::CoreId;

use super::*;
use crate::adapter::{given, of_scenario};
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

/// The same at a host of so many cores.
pub(super) fn steered(cx: &mut Context<'_>, said: &Interrupts, cores: u8) -> Result<Vec<CoreId>, Reported> {
    let Some(said) = said else { return Ok(vec![CoreId::FIRST]) };
    let each = said.iter().map(|(core, at)| host::core(cx, *core, at, cores, "the host").map(|()| *core));
    each.collect()
}

/// The adapter of a scenario.
pub(super) fn adapter(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    part: Part<RawAdapter>,
) -> Result<Located<Adapter, Range<usize>>, Reported> {
    let part = cx.part(part)?;
    let (span, mut raw) = (part.span(), part.into_inner());
    let Some(file) = raw.file.take() else {
        let value = of_scenario(cx, &span, raw)?;
        return Ok(Located { value: value.0, spans: value.1 });
    };
    let kind = raw.kind.as_ref().map(|kind| (None, "kind", kind.span.clone()));
    let source = raw.source.as_ref().map(|source| (None, "source", source.span.clone()));
    let others: Vec<_> = kind.into_iter().chain(source).chain(given(&raw)).collect();
    let mut alone = Ok(());
    for (_, key, span) in others {
        let reason = format!("`{key}` stands beside `file`, which has all there is to say");
        alone = Err(cx.fault(&span, reason, "keep either `file` or the adapter itself"));
    }
    let name = cx.value(file)?;
    let file = library.adapter(cx, name.get_ref(), &name.span())?;
    alone?;
    Ok(Located { value: file.adapter.clone(), spans: name.span() })
}
