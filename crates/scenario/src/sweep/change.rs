//! Single values put in place of the file's, beside its sweep.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Plan, Setting, Step, resolve};
use crate::context::{Context, Reported};
use crate::diagnostic::Diagnostic;
use crate::edits::Put;

/// A value in place of the file's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The key, dotted, as a sweep names it: `channel.video.deadline`.
    pub key: String,
    /// The value as it stands in a file: `"40 ms"` with its quotes, or `1.5`.
    pub value: String,
}

impl Change {
    /// `text` as a value: itself if it is one of TOML, and as a text in quotes otherwise.
    pub fn value_of(text: &str) -> String {
        match DeValue::parse(text) {
            Ok(_) => text.to_string(),
            Err(_) => Change::quoted(text),
        }
    }

    /// `text` as a text in quotes.
    pub fn quoted(text: &str) -> String {
        let mut quoted = String::from("\"");
        for c in text.chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                c if c.is_control() => quoted += &format!("\\u{:04X}", c as u32),
                c => quoted.push(c),
            }
        }
        quoted + "\""
    }

    /// The value as TOML; `None` if the text is not one value.
    pub(crate) fn parsed(&self) -> Option<DeValue<'_>> {
        DeValue::parse(&self.value).ok().map(Spanned::into_inner)
    }
}

impl<'i> Plan<'i> {
    /// Puts `values` in their places in `document` at every point, after all axes.
    pub(crate) fn change(
        &mut self,
        cx: &mut Context<'_>,
        document: &DeTable<'i>,
        values: Vec<Put<'i>>,
    ) -> Result<(), Reported> {
        for (key, value) in values {
            for path in resolve(cx, &key, document)? {
                self.fixed.push(Setting { path, key: key.clone(), value: value.clone() });
            }
        }
        Ok(())
    }

    /// Reports a changed value that an axis sets too.
    pub(crate) fn check_changes(&self, cx: &mut Context<'_>) -> Result<(), Reported> {
        let swept = || self.settings.iter().flatten().flatten();
        for fixed in &self.fixed {
            let meets = |other: &&Setting<'i>| {
                other.path.starts_with(&fixed.path) || fixed.path.starts_with(&other.path)
            };
            if let Some(other) = swept().find(meets) {
                let reason = format!("an axis of the sweep sets `{}` too", fixed.key.get_ref());
                let diagnostic = Diagnostic::new(cx.place(&fixed.key.span()), reason)
                    .related(cx.place(&other.key.span()).label("set here"))
                    .help("leave one of them out");
                return Err(cx.report(diagnostic));
            }
        }
        Ok(())
    }

    /// The seed that a change sets.
    pub(crate) fn changed_seed(&self) -> Option<u64> {
        let sets_it = |setting: &&Setting<'i>| setting.path == [Step::Key("seed".into())];
        match self.fixed.iter().rev().find(sets_it)?.value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        }
    }
}
