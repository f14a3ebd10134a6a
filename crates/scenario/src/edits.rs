//! Edits: values and axes that are laid over a scenario from outside its file.
//!
//! A command line sets a key (`laxity run --set`), and a program varies one file in many ways. An
//! edited text would lose the places of its errors, and a key in an adapter's file is in no text of
//! the scenario. So edits are values beside the document: axes join those of the file, and changed
//! values are put in their places at every point, behind the sweep.
//!
//! An error in an edit is shown in the edits' own text. A place is a range of bytes, and the ranges
//! from [`LARGEST`] up to [`FILES_APART`](crate::context::FILES_APART) are used by no file.

use std::ops::Range;
use std::sync::Arc;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::beneath::moved_value;
use crate::diagnostic::{Diagnostic, Diagnostics, Place, SourceText};
use crate::document;
use crate::files::LARGEST;
use crate::sweep::Change;

/// Changes and axes to lay over a scenario's file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits {
    /// Values in place of the file's. A later change wins over an earlier one of the same key; no
    /// change may set what an axis sets.
    pub changes: Vec<Change>,
    /// Further axes of the sweep as TOML, items `[[sweep]]`; they vary faster than those of the
    /// file. Empty for none.
    pub sweep: String,
}

impl Edits {
    /// Whether they leave the file as it is.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.sweep.is_empty()
    }

    /// Adds `change`, in place of one of the same key.
    pub fn set(&mut self, change: Change) {
        self.changes.retain(|other| other.key != change.key);
        self.changes.push(change);
    }
}

/// The first byte of the edits' text, as places count.
pub(crate) const EDITS_AT: usize = LARGEST as usize;

/// Edits as a text with places.
#[derive(Debug)]
pub(crate) struct Laid {
    source: Arc<SourceText>,
    /// How many bytes of the text are axes.
    sweep: usize,
    /// Key and value of each change.
    changes: Vec<(Range<usize>, Range<usize>)>,
}

/// A key and its value, with their places.
pub(crate) type Put<'i> = (Spanned<String>, Spanned<DeValue<'i>>);

impl Laid {
    /// The text of `edits`, which is called `settings` in messages.
    ///
    /// # Errors
    ///
    /// A change without a value of TOML, and axes that are no TOML or have other keys.
    pub(crate) fn new(edits: &Edits) -> Result<Laid, Diagnostics> {
        let mut text = edits.sweep.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let sweep = text.len();
        let mut changes = Vec::new();
        for Change { key, value } in &edits.changes {
            let key_at = text.len()..text.len() + key.len();
            text += &format!("{key} = ");
            changes.push((key_at, text.len()..text.len() + value.len()));
            text += &format!("{value}\n");
        }
        let source = Arc::new(SourceText::new("settings", text));
        if source.text().len() as u64 >= LARGEST {
            let reason = format!("the settings are larger than {} MiB", LARGEST >> 20);
            return Err(Diagnostic::of_file("settings", reason).into());
        }
        let laid = Laid { source, sweep, changes };
        let mut diagnostics = Diagnostics::default();
        for (_, value) in &laid.changes {
            if DeValue::parse(&laid.source.text()[value.clone()]).is_err() {
                let place = Place::new(&laid.source, value.clone());
                let help = "valid is a value as a file has it: a number, true, or a text in quotes";
                diagnostics.push(Diagnostic::new(place, "this is not a value").help(help));
            }
        }
        let axes = Arc::new(SourceText::new("settings", &laid.source.text()[..sweep]));
        let table = document::parse(&axes)?;
        if let Some((key, _)) = table.get_ref().iter().find(|(key, _)| key.get_ref() != "sweep") {
            let place = Place::new(&laid.source, key.span());
            let reason = format!("`{}` is no axis of a sweep", key.get_ref());
            diagnostics.push(Diagnostic::new(place, reason).help("valid is `[[sweep]]`"));
        }
        if diagnostics.is_empty() { Ok(laid) } else { Err(diagnostics) }
    }

    /// The text, for messages.
    pub(crate) fn source(&self) -> &Arc<SourceText> {
        &self.source
    }

    /// Puts the axes behind those of `document`.
    pub(crate) fn join_axes<'i>(&'i self, document: &mut DeTable<'i>) {
        let Some(added) = DeTable::parse(&self.source.text()[..self.sweep]).ok() else { return };
        let Some(added) = added.into_inner().remove("sweep") else { return };
        let added = moved_value(added, EDITS_AT);
        match document.get_mut("sweep").map(Spanned::get_mut) {
            Some(DeValue::Array(own)) => {
                let DeValue::Array(added) = added.into_inner() else { return };
                for axis in added {
                    own.push(axis);
                }
            }
            // The reader reports a `sweep` that is no list.
            Some(_) => {}
            None => {
                let key = Spanned::new(added.span(), "sweep".into());
                document.insert(key, added);
            }
        }
    }

    /// The changes.
    pub(crate) fn changes(&self) -> Vec<Put<'_>> {
        let text = self.source.text();
        let put = |(key, value): &(Range<usize>, Range<usize>)| {
            let parsed = DeValue::parse(&text[value.clone()]).expect("it was parsed before");
            let name = Spanned::new(key.start + EDITS_AT..key.end + EDITS_AT, text[key.clone()].to_string());
            (name, moved_value(parsed, EDITS_AT + value.start))
        };
        self.changes.iter().map(put).collect()
    }
}
