//! What nodes and networks have in common.
//!
//! `[node.NAME.host]` says only what differs from `[host]`: before anything is read, each such table is laid over the one that it
//! differs from, key by key and table by table. So every key that there is can be common or a node's own, with nothing to
//! keep in step, and an error is shown where the key stands that caused it.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::raw::RawNetwork;
use crate::written::keys;

/// Lays the tables of nodes and named networks over what they have in common.
pub(crate) fn lay_over(document: &mut DeTable<'_>) {
    let common =
        |section: &str| document.get(section).map(Spanned::get_ref).and_then(DeValue::as_table).cloned();
    let (host, adapter) = (common("host"), common("adapter"));
    if let Some(DeValue::Table(nodes)) = document.get_mut("node").map(Spanned::get_mut) {
        for (_, node) in nodes.iter_mut() {
            let DeValue::Table(node) = node.get_mut() else { continue };
            for (section, common) in [("host", &host), ("adapter", &adapter)] {
                let (Some(DeValue::Table(own)), Some(common)) =
                    (node.get_mut(section).map(Spanned::get_mut), common)
                else {
                    continue;
                };
                // One of another kind has other keys.
                let apart = section == "adapter" && ["kind", "file"].iter().any(|key| own.contains_key(*key));
                if !apart {
                    *own = over(common, std::mem::take(own));
                }
            }
        }
    }
    if let Some(DeValue::Table(networks)) = document.get_mut("network").map(Spanned::get_mut) {
        let known = keys::<RawNetwork>();
        let mut common = networks.clone();
        let names: Vec<_> = networks.keys().map(|key| key.get_ref().to_string()).collect();
        for name in names.iter().filter(|name| !known.contains(&name.as_str())) {
            common.remove(name.as_str());
        }
        for (name, network) in networks.iter_mut() {
            if let DeValue::Table(own) = network.get_mut()
                && !known.contains(&name.get_ref().as_ref())
            {
                *own = over(&common, std::mem::take(own));
            }
        }
    }
}

/// `common` with what `own` says in its place.
fn over<'i>(common: &DeTable<'i>, own: DeTable<'i>) -> DeTable<'i> {
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
