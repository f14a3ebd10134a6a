//! Common keys of nodes and networks.
//!
//! `[node.NAME.host]` has only the keys that differ from `[host]`. Before anything is read, each
//! such table is laid over the common one, key by key and table by table. So every key can be
//! common or a node's own, and an error is shown at the key that caused it. Under all of them lies
//! the file of an adapter (`beneath.rs`).

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::beneath::{Tables, lay_over_file};
use crate::overlay::over;
use crate::raw::{RawAdapter, RawNetwork};
use crate::written::keys;

/// Lays the tables of nodes and named networks over what they have in common, and adapters over
/// their `files`.
pub(crate) fn lay_over<'i>(document: &mut DeTable<'i>, files: &Tables<'i>) {
    let common =
        |section: &str| document.get(section).map(Spanned::get_ref).and_then(DeValue::as_table).cloned();
    let (host, adapter) = (common("host"), common("adapter"));
    if let Some(DeValue::Table(nodes)) = document.get_mut("node").map(Spanned::get_mut) {
        for (_, node) in nodes.iter_mut() {
            let DeValue::Table(node) = node.get_mut() else { continue };
            if let (Some(DeValue::Table(own)), Some(common)) =
                (node.get_mut("host").map(Spanned::get_mut), &host)
            {
                *own = over(common, std::mem::take(own));
            }
            if let Some(DeValue::Table(own)) = node.get_mut("adapter").map(Spanned::get_mut) {
                if let Some(common) = &adapter {
                    lay_adapter(common, own);
                }
                lay_over_named(own, keys::<RawAdapter>(), lay_adapter);
                for (name, named) in own.iter_mut() {
                    if let DeValue::Table(named) = named.get_mut()
                        && !keys::<RawAdapter>().contains(&name.get_ref().as_ref())
                    {
                        lay_over_file(named, files);
                    }
                }
                lay_over_file(own, files);
            }
        }
    }
    if let Some(DeValue::Table(adapter)) = document.get_mut("adapter").map(Spanned::get_mut) {
        lay_over_file(adapter, files);
    }
    if let Some(DeValue::Table(networks)) = document.get_mut("network").map(Spanned::get_mut) {
        lay_over_named(networks, keys::<RawNetwork>(), |common, own| {
            *own = over(common, std::mem::take(own));
        });
    }
}

/// Lays an adapter over another, unless it is one of another kind, which has other keys.
fn lay_adapter<'i>(common: &DeTable<'i>, own: &mut DeTable<'i>) {
    if !["kind", "file"].iter().any(|key| own.contains_key(*key)) {
        *own = over(common, std::mem::take(own));
    }
}

/// Lays each table that is under a name of the user's, and not under one of the `known`, over what
/// stands beside them.
fn lay_over_named<'i>(table: &mut DeTable<'i>, known: &[&str], lay: impl Fn(&DeTable<'i>, &mut DeTable<'i>)) {
    let mut common = table.clone();
    let names: Vec<_> = table.keys().map(|key| key.get_ref().to_string()).collect();
    for name in names.iter().filter(|name| !known.contains(&name.as_str())) {
        common.remove(name.as_str());
    }
    for (name, named) in table.iter_mut() {
        if let DeValue::Table(own) = named.get_mut()
            && !known.contains(&name.get_ref().as_ref())
        {
            lay(&common, own);
        }
    }
}
