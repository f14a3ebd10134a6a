//! A table laid over another, key by key and table by table.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

/// `common` with what `own` says in its place.
pub(crate) fn over<'i>(common: &DeTable<'i>, own: DeTable<'i>) -> DeTable<'i> {
    let mut laid = common.clone();
    for (key, value) in own {
        let value = match (laid.remove(key.get_ref().as_ref()).map(Spanned::into_inner), value) {
            (Some(DeValue::Table(beneath)), value) if value.get_ref().is_table() => {
                let span = value.span();
                let DeValue::Table(above) = value.into_inner() else { unreachable!("it is a table") };
                Spanned::new(span, DeValue::Table(over(&beneath, above)))
            }
            (_, value) => value,
        };
        laid.insert(key, value);
    }
    laid
}
