//! A text as a TOML document, ready to be read into raw types.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::context::{Context, Reported};
use super::values::Value;
use super::written::Part;
use crate::diagnostic::{Diagnostic, Diagnostics, Place, SourceText};
use crate::raw::FORMAT;

/// Parses `source`, all syntax errors at once.
pub(crate) fn parse(source: &Arc<SourceText>) -> Result<Spanned<DeTable<'_>>, Diagnostics> {
    let (mut table, errors) = DeTable::parse_recoverable(source.text());
    let mut diagnostics = Diagnostics::default();
    for error in errors {
        diagnostics.push(syntax(source, &error));
    }
    plain_table(source, table.get_mut(), &mut diagnostics);
    if diagnostics.is_empty() { Ok(table) } else { Err(diagnostics) }
}

fn syntax(source: &Arc<SourceText>, error: &toml::de::Error) -> Diagnostic {
    let mut words = error.message().split('\n').map(str::trim).filter(|line| !line.is_empty());
    let reason = words.next().unwrap_or("this is not TOML").to_string();
    let span = error.span().unwrap_or(0..0);
    words.fold(Diagnostic::new(Place::new(source, span), reason), Diagnostic::help)
}

/// Turns what the format has no use for into what it can complain about: dates into texts, and numbers that
/// no integer or double holds into errors.
fn plain(source: &Arc<SourceText>, value: &mut Spanned<DeValue<'_>>, diagnostics: &mut Diagnostics) {
    let span = value.span();
    let mut too_large = || {
        let place = Place::new(source, span.clone());
        diagnostics.push(Diagnostic::new(place, "the number is too large to be kept"));
    };
    match value.get_mut() {
        DeValue::Datetime(date) => *value.get_mut() = DeValue::String(date.to_string().into()),
        DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => {
            too_large();
        }
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(float) if float.is_infinite() && !number.as_str().contains("inf") => too_large(),
            Ok(_) => {}
            Err(_) => too_large(),
        },
        DeValue::Array(items) => items.iter_mut().for_each(|item| plain(source, item, diagnostics)),
        DeValue::Table(table) => plain_table(source, table, diagnostics),
        _ => {}
    }
}

fn plain_table(source: &Arc<SourceText>, table: &mut DeTable<'_>, diagnostics: &mut Diagnostics) {
    table.iter_mut().for_each(|(_, value)| plain(source, value, diagnostics));
}

/// Refuses a file of another version of the format.
///
/// Its keys may have other meanings there, so no other error of the file is reported. A `format`
/// that is no whole number is left to the reader of that key.
pub(crate) fn of_this_format(source: &Arc<SourceText>, document: &DeTable<'_>) -> Result<(), Diagnostics> {
    let Some(value) = document.get("format") else { return Ok(()) };
    let DeValue::Integer(number) = value.get_ref() else { return Ok(()) };
    match i64::from_str_radix(number.as_str(), number.radix()) {
        Ok(format) if i128::from(format) != i128::from(FORMAT) => {
            let reason = format!("this file has format {format}, and this program reads format {FORMAT}");
            let help = format!(
                "valid is `format = {FORMAT}`, or no `format`; CHANGELOG.md says what changed between formats"
            );
            Err(Diagnostic::new(Place::new(source, value.span()), reason).help(help).into())
        }
        _ => Ok(()),
    }
}

/// Reads the document into the raw form `T`; unknown keys are reported here, all other errors by
/// the readers of the fields.
pub(crate) fn read<T: DeserializeOwned>(
    cx: &mut Context<'_>,
    document: Spanned<DeTable<'_>>,
) -> Result<T, Reported> {
    match Part::<T>::deserialize_document(document) {
        Ok(part) => cx.part(part).map(Spanned::into_inner),
        // Raw forms take anything; this is for what the TOML reader itself may yet refuse.
        Err(error) => {
            let diagnostic = syntax(cx.source, &error);
            Err(cx.report(diagnostic))
        }
    }
}

impl<T: DeserializeOwned> Part<T> {
    fn deserialize_document(document: Spanned<DeTable<'_>>) -> Result<Self, toml::de::Error> {
        let span = document.span();
        serde::Deserialize::deserialize(Value(Spanned::new(span, DeValue::Table(document.into_inner()))))
    }
}
