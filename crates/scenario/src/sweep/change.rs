//! Single values put in place of the file's, beside its sweep.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Plan, Setting, resolve};
use crate::context::{Context, Reported, WHOLE};

/// A value in place of the file's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The key, dotted, as a sweep names it: `channel.video.deadline`.
    pub key: String,
    /// The value as it stands in a file: `"40 ms"` with its quotes, or `1.5`.
    pub value: String,
}

impl Change {
    /// The value as TOML; `None` if the text is not one value.
    pub(crate) fn parsed(&self) -> Option<DeValue<'_>> {
        DeValue::parse(&self.value).ok().map(Spanned::into_inner)
    }
}

impl<'i> Plan<'i> {
    /// Adds an axis of one point, which puts `changes` in their places in `document` after all other axes.
    pub(crate) fn change(
        &mut self,
        cx: &mut Context<'_>,
        document: &DeTable<'i>,
        changes: &'i [Change],
    ) -> Result<(), Reported> {
        let mut settings = Vec::new();
        for change in changes {
            let key = Spanned::new(WHOLE, change.key.clone());
            let Some(value) = change.parsed() else {
                let reason = format!("`{}` is not a value", change.value);
                return Err(cx.fault(&WHOLE, reason, "valid is a value as a file has it"));
            };
            for path in resolve(cx, &key, document)? {
                let value = Spanned::new(WHOLE, value.clone());
                settings.push(Setting { path, key: key.clone(), value });
            }
        }
        self.settings.push(vec![settings]);
        Ok(())
    }
}
