//! The place where the conversion from a raw form to valid types reports errors.
//!
//! A wrong field has been reported by the time its reader gets [`Reported`] in its place;
//! [`Reported`] has no other constructor. So a conversion first reads all its fields, and gives up
//! only then.

use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_spanned::Spanned;

use super::leaf::Name;
use super::written::{Either, Entries, Fault, Leaf, List, Part, Scalar, Written, keys};
use crate::diagnostic::{Diagnostic, Diagnostics, Place, SourceText, list, nearest};
use crate::edits::EDITS_AT;
use crate::files::LARGEST;
use crate::section::{At, Section, example};

/// Stands for a value that was wrong and has been reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reported(());

/// A file being converted, and what has been found wrong with it.
pub(crate) struct Context<'a> {
    pub(crate) source: &'a Arc<SourceText>,
    pub(crate) diagnostics: &'a mut Diagnostics,
    /// Files beneath it, whose places are [`FILES_APART`] apart.
    pub(crate) beside: Vec<Arc<SourceText>>,
    /// The edits that are laid over it. Their places begin at [`EDITS_AT`].
    pub(crate) edits: Option<&'a Arc<SourceText>>,
    /// Keys that were misspelt, by the place of their table: they are not missing as well.
    meant: Vec<(Range<usize>, String)>,
}

/// From the first byte of a file to that of the next, where files lie behind each other: more than
/// a file has.
pub(crate) const FILES_APART: usize = 2 * LARGEST as usize;

/// Stands for the file as a whole where a place is asked for.
pub(crate) const WHOLE: Range<usize> = 0..0;

impl<'a> Context<'a> {
    /// For the file `source`, its errors to go to `diagnostics`.
    pub(crate) fn new(source: &'a Arc<SourceText>, diagnostics: &'a mut Diagnostics) -> Self {
        Self { source, diagnostics, beside: Vec::new(), edits: None, meant: Vec::new() }
    }

    /// With `edits` laid over the file.
    pub(crate) fn edited(self, edits: Option<&'a Arc<SourceText>>) -> Self {
        Self { edits, ..self }
    }

    /// The text at `span` of the file or its edits.
    pub(crate) fn text(&self, span: &Range<usize>) -> String {
        let place = self.place(span);
        place.source().text().get(place.span()).unwrap_or_default().to_string()
    }

    /// The bytes `span` of the file, or of one that lies beneath it.
    pub(crate) fn place(&self, span: &Range<usize>) -> Place {
        let file = span.start / FILES_APART;
        match file.checked_sub(1).and_then(|file| self.beside.get(file)) {
            Some(source) => Place::new(source, span.start % FILES_APART..span.end - file * FILES_APART),
            None => match self.edits {
                Some(edits) if span.start >= EDITS_AT => {
                    Place::new(edits, span.start - EDITS_AT..span.end - EDITS_AT)
                }
                _ => Place::new(self.source, span.clone()),
            },
        }
    }

    /// Whether `span` is of a file that lies beneath this one.
    pub(crate) fn is_beneath(&self, span: &Range<usize>) -> bool {
        span.start >= FILES_APART
    }

    /// Reports `diagnostic`.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.diagnostics.push(diagnostic);
        Reported(())
    }

    /// Reports `reason` at `span`, and what would be valid.
    pub(crate) fn fault(
        &mut self,
        span: &Range<usize>,
        reason: impl Into<String>,
        help: impl Into<String>,
    ) -> Reported {
        let diagnostic = match *span == WHOLE {
            true => Diagnostic::of_file(self.source.name(), reason),
            false => Diagnostic::new(self.place(span), reason),
        };
        self.report(diagnostic.help(help))
    }

    fn invalid(&mut self, span: &Range<usize>, fault: Fault) -> Reported {
        self.fault(span, fault.reason, format!("valid is {}", fault.valid))
    }

    /// The value of a key, if it stands there.
    pub(crate) fn optional<T>(&mut self, field: Option<Written<T>>) -> Result<Option<Spanned<T>>, Reported> {
        field.map(|written| self.value(written)).transpose()
    }

    /// The value of a key, or `default`.
    pub(crate) fn or<T>(&mut self, field: Option<Written<T>>, default: T) -> Result<T, Reported> {
        Ok(self.optional(field)?.map_or(default, Spanned::into_inner))
    }

    /// The value of `key`, which a table at `owner`, called `what`, must have.
    pub(crate) fn required<T: Leaf>(
        &mut self,
        field: Option<Written<T>>,
        key: &str,
        owner: &Range<usize>,
        what: &str,
    ) -> Result<Spanned<T>, Reported> {
        match field {
            Some(written) => self.value(written),
            None => Err(self.missing(key, owner, what, &example::<T>())),
        }
    }

    /// Reports that `key` is not there.
    pub(crate) fn missing(&mut self, key: &str, owner: &Range<usize>, what: &str, valid: &str) -> Reported {
        if self.meant.iter().any(|(table, meant)| table == owner && meant == key) {
            return Reported(());
        }
        self.fault(owner, format!("{what} has no `{key}`"), format!("add `{key} = …` with {valid}"))
    }

    /// The value, or a report of why it is none.
    pub(crate) fn value<T>(&mut self, written: Written<T>) -> Result<Spanned<T>, Reported> {
        match written.value {
            Ok(value) => Ok(Spanned::new(written.span, value)),
            Err(fault) => Err(self.invalid(&written.span, fault)),
        }
    }

    /// The table, its unknown keys reported.
    pub(crate) fn part<T: DeserializeOwned>(&mut self, part: Part<T>) -> Result<Spanned<T>, Reported> {
        for key in &part.unknown {
            self.unknown(&part.span, key, keys::<T>());
        }
        match part.value {
            Ok(value) => Ok(Spanned::new(part.span, *value)),
            Err(fault) => Err(self.invalid(&part.span, fault)),
        }
    }

    /// The keys of the table, which errors call `what`, and its place.
    pub(crate) fn keys<S: Section>(
        &mut self,
        part: Part<S>,
        what: &str,
    ) -> Result<(Range<usize>, S::Keys), Reported> {
        let part = self.part(part)?;
        let owner = part.span();
        let keys = part.into_inner().read(self, &owner, what);
        Ok((owner, keys))
    }

    /// The keys of the table, or of an empty one at `owner`.
    pub(crate) fn keys_or_none<S: Section>(
        &mut self,
        part: Option<Part<S>>,
        owner: &Range<usize>,
    ) -> Result<(Range<usize>, S::Keys), Reported> {
        match part {
            Some(part) => self.keys(part, ""),
            None => Ok((owner.clone(), S::default().read(self, owner, ""))),
        }
    }

    /// Reports a key that its table does not know.
    pub(crate) fn unknown_key(
        &mut self,
        table: &Range<usize>,
        key: &Spanned<String>,
        known: &[&str],
    ) -> Reported {
        self.unknown(table, key, known);
        Reported(())
    }

    fn unknown(&mut self, table: &Range<usize>, key: &Spanned<String>, known: &[&str]) {
        let name = key.get_ref();
        let mut diagnostic =
            Diagnostic::new(self.place(&key.span()), format!("there is no key `{name}` here"));
        if let Some(meant) = nearest(name, known.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
            self.meant.push((table.clone(), meant.to_string()));
        }
        self.report(diagnostic.help(format!("valid keys are {}", list(known))));
    }

    /// The items of a list; none if it is not there.
    pub(crate) fn items<T>(&mut self, field: Option<List<T>>) -> Result<Vec<T>, Reported> {
        match field {
            None => Ok(Vec::new()),
            Some(List { value: Ok(items), .. }) => Ok(items),
            Some(List { span, value: Err(fault) }) => Err(self.invalid(&span, fault)),
        }
    }

    /// The entries of a table with the user's own keys; none if it is not there.
    pub(crate) fn entries<T>(
        &mut self,
        field: Option<Entries<T>>,
    ) -> Result<Vec<(Spanned<String>, T)>, Reported> {
        match field {
            None => Ok(Vec::new()),
            Some(Entries { value: Ok(entries), .. }) => Ok(entries),
            Some(Entries { span, value: Err(fault) }) => Err(self.invalid(&span, fault)),
        }
    }

    /// Reports a key of a user's table that is no [`Name`].
    pub(crate) fn named(&mut self, key: &Spanned<String>) -> Result<(), Reported> {
        match Name::read(Scalar::Text(key.get_ref().clone())) {
            Ok(_) => Ok(()),
            Err(fault) => Err(self.fault(&key.span(), fault.reason, format!("valid is {}", fault.valid))),
        }
    }

    /// Reports a key that its table cannot use beside the others, because of `reason`.
    pub(crate) fn foreign(&mut self, key: &dyn At, reason: &str, help: &str) -> Result<(), Reported> {
        match key.at() {
            None => Ok(()),
            Some(span) => Err(self.fault(&span, reason, help)),
        }
    }
}

impl<L, P> Either<L, P> {
    /// Its place.
    pub(crate) fn span(&self) -> Range<usize> {
        match self {
            Either::Scalar(written) => written.span.clone(),
            Either::Table(part) => part.span.clone(),
        }
    }
}
