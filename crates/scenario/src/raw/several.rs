//! A table that stands for one thing, or for several under names of the user's.
//!
//! `[network]` is one network, or what `[network.NAME]`s have in common; `[node.x.adapter]` is the
//! adapter of a node, or what its `[node.x.adapter.NAME]`s have in common.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::{RawAdapter, RawNetwork};
use crate::written::{Named, Part, mixed};

/// A table that is a `T` by its own keys, and has further ones under names of the user's.
#[derive(Debug)]
pub(crate) struct Several<T> {
    /// Its own keys.
    pub(crate) own: Part<T>,
    /// Values under keys that are none of a `T`'s; a value that is no table is a misspelt key.
    pub(crate) named: Named<T>,
}

/// `[network]`.
pub(crate) type RawNetworks = Several<RawNetwork>;

/// `[node.NAME.adapter]`.
pub(crate) type RawAdapters = Several<RawAdapter>;

impl<T> Several<T> {
    /// Its place.
    pub(crate) fn span(&self) -> Range<usize> {
        self.own.span.clone()
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (own, named) = mixed(deserializer)?;
        Ok(Self { own, named })
    }
}

impl<T: JsonSchema> JsonSchema for Several<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}s", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let each = generator.subschema_for::<T>();
        let mut schema = T::json_schema(generator);
        schema.insert("additionalProperties".into(), each.into());
        schema
    }
}
