//! `[adapter]` of a scenario: what it says itself, or the file that it names.

use super::*;
use crate::adapter::{given, of_scenario};
use crate::raw::RawAdapter;

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
