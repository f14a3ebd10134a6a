//! Adapter files beneath the scenario's own keys of an adapter.
//!
//! A user who studies the adapter of another author varies one number of it and keeps the rest. So
//! keys beside `file` are laid over the file's `[adapter]` before anything is read, key by key and
//! table by table, as a node's keys are laid over a template (`templates.rs`); a list replaces the
//! file's list. Some keys then stand in the scenario and some in the file, and an error has to be
//! shown where its key stands. A place is a range of bytes. Files therefore have ranges of their
//! own, as if the files stood one after the other, far enough apart that none reaches the next
//! ([`FILES_APART`]); [`Context::place`] turns that back.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::context::{Context, FILES_APART};
use crate::diagnostic::SourceText;
use crate::document;
use crate::library::Library;
use crate::overlay::over;

/// The `[adapter]`s of files by what scenarios call the files, with places as if they stood behind
/// the scenario.
pub(crate) type Tables<'i> = BTreeMap<String, DeTable<'i>>;

/// The files that a scenario's adapters name, if it says more of any than that.
pub(crate) struct Beneath(BTreeMap<String, Arc<SourceText>>);

impl Beneath {
    /// The files of `document`. `reached` says whether a later step puts values into an adapter. A
    /// file that cannot be used is left out, and reported where the file itself is read.
    pub(crate) fn of(
        cx: &Context<'_>,
        library: &mut Library<'_>,
        document: &DeTable<'_>,
        reached: bool,
    ) -> Self {
        let adapters = adapters(document);
        let more = |adapter: &&DeTable<'_>| adapter.iter().any(|(key, _)| !is_beside(key.get_ref()));
        if !reached && !adapters.iter().any(more) {
            return Beneath(BTreeMap::new());
        }
        let files = adapters.iter().filter_map(|adapter| {
            let file = adapter.get("file")?;
            let name = file.get_ref().as_str()?;
            Some((name.to_string(), library.text_of_adapter(cx, name, &file.span())?))
        });
        Beneath(files.collect())
    }

    /// The files, in the order of their places.
    pub(crate) fn sources(&self) -> Vec<Arc<SourceText>> {
        self.0.values().cloned().collect()
    }

    /// Their tables.
    pub(crate) fn tables(&self) -> Tables<'_> {
        let tables = self.0.iter().enumerate().filter_map(|(number, (name, source))| {
            let mut document = document::parse(source).ok()?.into_inner();
            let DeValue::Table(adapter) = document.remove("adapter")?.into_inner() else { return None };
            Some((name.clone(), moved(adapter, (number + 1) * FILES_APART)))
        });
        tables.collect()
    }
}

/// Lays the keys of `adapter` over its file. An adapter with a `file` only, or with a `kind` of its
/// own, stays as it is.
pub(crate) fn lay_over_file<'i>(adapter: &mut DeTable<'i>, files: &Tables<'i>) {
    let more = adapter.iter().any(|(key, _)| !is_beside(key.get_ref()));
    let file = adapter.get("file").and_then(|file| file.get_ref().as_str());
    if let Some(file) = file.and_then(|file| files.get(file))
        && more
        && !adapter.contains_key("kind")
    {
        *adapter = over(file, std::mem::take(adapter));
    }
}

/// Whether it is about the file as a whole.
fn is_beside(key: &str) -> bool {
    matches!(key, "file" | "interrupts")
}

/// All tables of adapters, those under names of a node's included.
fn adapters<'a, 'i>(document: &'a DeTable<'i>) -> Vec<&'a DeTable<'i>> {
    fn table<'a, 'i>(value: &'a Spanned<DeValue<'i>>) -> Option<&'a DeTable<'i>> {
        value.get_ref().as_table()
    }
    let nodes = document.get("node").and_then(table);
    let nodes = nodes.into_iter().flat_map(DeTable::iter).filter_map(|(_, node)| table(node)?.get("adapter"));
    let mut all = Vec::new();
    for adapter in nodes.chain(document.get("adapter")).filter_map(table) {
        all.push(adapter);
        all.extend(adapter.iter().filter_map(|(_, named)| table(named)));
    }
    all
}

/// The same table, moved by a number of bytes.
fn moved(table: DeTable<'_>, by: usize) -> DeTable<'_> {
    let keys = table.into_iter();
    keys.map(|(key, value)| (Spanned::new(further(key.span(), by), key.into_inner()), moved_value(value, by)))
        .collect()
}

pub(crate) fn moved_value(value: Spanned<DeValue<'_>>, by: usize) -> Spanned<DeValue<'_>> {
    let span = further(value.span(), by);
    let value = match value.into_inner() {
        DeValue::Table(table) => DeValue::Table(moved(table, by)),
        DeValue::Array(items) => {
            DeValue::Array(items.into_iter().map(|item| moved_value(item, by)).collect())
        }
        value => value,
    };
    Spanned::new(span, value)
}

fn further(span: Range<usize>, by: usize) -> Range<usize> {
    span.start + by..span.end + by
}
