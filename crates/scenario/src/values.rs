//! The values of a TOML document as serde reads them, each with its place.
//!
//! The deserializers of `toml` would do. They also show a date as a table of its own kind, so that
//! every raw form would be compiled a second time, for tables that are dates. A document of ours has
//! no dates: [`parse`](super::document::parse) has made texts of them.

use std::vec;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_spanned::Spanned;
use serde_spanned::de::{SpannedDeserializer, is_spanned};
use toml::de::{DeTable, DeValue, Error};

/// A value, and all below it.
pub(crate) struct Value<'de>(pub(crate) Spanned<DeValue<'de>>);

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.into_inner() {
            DeValue::String(text) => visitor.visit_str(&text),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => visitor.visit_i64(number),
                Err(error) => Err(Error::custom(error)),
            },
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => visitor.visit_f64(number),
                Err(error) => Err(Error::custom(error)),
            },
            DeValue::Boolean(truth) => visitor.visit_bool(truth),
            DeValue::Datetime(date) => visitor.visit_str(&date.to_string()),
            DeValue::Array(items) => visitor.visit_seq(Items(items.into_iter())),
            DeValue::Table(table) => visitor.visit_map(Table { entries: table.into_iter(), value: None }),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if is_spanned(name) {
            let span = self.0.span();
            return visitor.visit_map(SpannedDeserializer::new(self, span));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for Value<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The values of an array.
struct Items<'de>(vec::IntoIter<Spanned<DeValue<'de>>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|item| seed.deserialize(Value(item))).transpose()
    }
}

/// The entries of a table.
struct Table<'de> {
    entries: <DeTable<'de> as IntoIterator>::IntoIter,
    /// The value of the key that was read last.
    value: Option<Spanned<DeValue<'de>>>,
}

impl<'de> MapAccess<'de> for Table<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some(value);
        let (span, key) = (key.span(), DeValue::String(key.into_inner()));
        seed.deserialize(Value(Spanned::new(span, key))).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Value(self.value.take().expect("a value is read after its key")))
    }
}
