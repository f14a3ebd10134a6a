//! `[network]`: one network, or what `[network.NAME]`s have in common.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

use super::RawNetwork;
use crate::written::{Named, Part, mixed};

/// A table that is a network by its own keys, and has further networks under names of the user's.
#[derive(Debug)]
pub(crate) struct RawNetworks {
    /// Its own keys.
    pub(crate) own: Part<RawNetwork>,
    /// What stands under keys that are none of a network's; a value that is no table is a key misspelt.
    pub(crate) named: Named<RawNetwork>,
}

impl RawNetworks {
    /// Its place.
    pub(crate) fn span(&self) -> Range<usize> {
        self.own.span.clone()
    }
}

impl<'de> Deserialize<'de> for RawNetworks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (own, named) = mixed(deserializer)?;
        Ok(Self { own, named })
    }
}

impl JsonSchema for RawNetworks {
    fn schema_name() -> Cow<'static, str> {
        "RawNetworks".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let each = generator.subschema_for::<RawNetwork>();
        let mut schema = RawNetwork::json_schema(generator);
        schema.insert("additionalProperties".into(), each.into());
        schema
    }
}
