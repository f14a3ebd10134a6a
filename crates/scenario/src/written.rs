//! Values as they stand in a file, each with its place, wrong or not.
//!
//! Serde stops at the first error, forgets where it was as soon as a type has alternatives, and knows no
//! unit. So the raw form of a file is deserialised with wrappers that accept anything: [`Written`] for a
//! scalar, [`Part`] for a table, [`List`] for an array, [`Entries`] for a table with the user's own keys,
//! and [`Either`] for a scalar or a table. Each keeps its place, and either what was meant or why it is
//! not that. Only the conversion to valid types, which looks at every field, reports; and so it reports
//! everything.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::{Error as NoError, MapAccessDeserializer, StringDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_spanned::Spanned;

/// Why a value is not what its key wants, and what would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) reason: String,
    pub(crate) valid: String,
}

impl Fault {
    pub(crate) fn new(reason: impl Into<String>, valid: impl Into<String>) -> Self {
        Self { reason: reason.into(), valid: valid.into() }
    }
}

/// A TOML value, of which only scalars are kept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Text(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    List,
    Table,
}

impl Scalar {
    /// The fault of being of another type.
    pub(crate) fn mistyped(&self, valid: impl Into<String>) -> Fault {
        let kind = match self {
            Scalar::Text(_) => "a text",
            Scalar::Integer(_) => "a whole number",
            Scalar::Float(_) => "a decimal number",
            Scalar::Boolean(_) => "`true` or `false`",
            Scalar::List => "a list",
            Scalar::Table => "a table",
        };
        Fault::new(format!("wrong type: this is {kind}"), valid)
    }
}

/// Types that a scalar can be read as.
pub(crate) trait Leaf: Sized {
    /// Reads it, or says what would be valid.
    fn read(scalar: Scalar) -> Result<Self, Fault>;
    /// Schema for an editor.
    fn schema() -> Schema;
}

/// A scalar with its place.
#[derive(Debug, Clone)]
pub(crate) struct Written<T> {
    pub(crate) span: Range<usize>,
    pub(crate) value: Result<T, Fault>,
}

/// A table with its place, and its unknown keys. A table that is not there takes next to no memory in
/// those around it: a network has many nodes, of which few say what their host is.
#[derive(Debug, Clone)]
pub(crate) struct Part<T> {
    pub(crate) span: Range<usize>,
    pub(crate) value: Result<Box<T>, Fault>,
    pub(crate) unknown: Vec<Spanned<String>>,
}

/// An array with its place.
#[derive(Debug, Clone)]
pub(crate) struct List<T> {
    pub(crate) span: Range<usize>,
    pub(crate) value: Result<Vec<T>, Fault>,
}

/// A table with keys of the user, with its place.
#[derive(Debug, Clone)]
pub(crate) struct Entries<T> {
    pub(crate) span: Range<usize>,
    pub(crate) value: Result<Vec<(Spanned<String>, T)>, Fault>,
}

/// A scalar or, with more values, a table.
#[derive(Debug, Clone)]
pub(crate) enum Either<L, P> {
    Scalar(Written<L>),
    Table(Part<P>),
}

/// Any value at all; its readers find it in the document.
#[derive(Debug, Clone)]
pub(crate) struct Anything;

/// A type that any value can be made into.
trait FromAny<'de>: Sized {
    fn scalar(scalar: Scalar) -> Self;

    fn table<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::scalar(Scalar::Table))
    }

    fn array<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::scalar(Scalar::List))
    }
}

/// Visits any value.
struct AnyVisitor<X>(PhantomData<X>);

impl<'de, X: FromAny<'de>> Visitor<'de> for AnyVisitor<X> {
    type Value = X;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<X, E> {
        Ok(X::scalar(Scalar::Text(text.to_string())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<X, E> {
        Ok(X::scalar(Scalar::Boolean(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<X, E> {
        Ok(X::scalar(Scalar::Integer(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<X, E> {
        Ok(X::scalar(Scalar::Integer(value.into())))
    }

    fn visit_i128<E>(self, value: i128) -> Result<X, E> {
        Ok(X::scalar(Scalar::Integer(value)))
    }

    fn visit_u128<E>(self, value: u128) -> Result<X, E> {
        Ok(X::scalar(Scalar::Integer(i128::try_from(value).unwrap_or(i128::MAX))))
    }

    fn visit_f64<E>(self, value: f64) -> Result<X, E> {
        Ok(X::scalar(Scalar::Float(value)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<X, A::Error> {
        X::table(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<X, A::Error> {
        X::array(seq)
    }
}

/// [`FromAny`] as serde sees it, for [`Spanned`] to wrap.
struct Any<X>(X);

impl<'de, X: FromAny<'de>> Deserialize<'de> for Any<X> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyVisitor(PhantomData)).map(Any)
    }
}

/// Any value and its place.
fn placed<'de, X: FromAny<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(Range<usize>, X), D::Error> {
    let spanned = Spanned::<Any<X>>::deserialize(deserializer)?;
    Ok((spanned.span(), spanned.into_inner().0))
}

impl FromAny<'_> for Scalar {
    fn scalar(scalar: Scalar) -> Self {
        scalar
    }
}

impl<'de, T: Leaf> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (span, scalar) = placed::<Scalar, D>(deserializer)?;
        Ok(Written { span, value: T::read(scalar) })
    }
}

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Anything)
    }
}

/// A table of known keys, or what stands in its place.
struct Known<T>(Result<(T, Vec<Spanned<String>>), Scalar>);

impl<'de, T: DeserializeOwned> FromAny<'de> for Known<T> {
    fn scalar(scalar: Scalar) -> Self {
        Known(Err(scalar))
    }

    fn table<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        let mut unknown = Vec::new();
        let filter = KnownKeys { map, known: keys::<T>(), unknown: &mut unknown };
        let value = T::deserialize(MapAccessDeserializer::new(filter))?;
        Ok(Known(Ok((value, unknown))))
    }
}

const A_TABLE: &str = "a table, such as `{ key = \"value\" }`, or its keys under a heading in brackets";

impl<T> Part<T> {
    fn of(span: Range<usize>, known: Known<T>) -> Self {
        match known.0 {
            Ok((value, unknown)) => Part { span, value: Ok(Box::new(value)), unknown },
            Err(other) => Part { span, value: Err(other.mistyped(A_TABLE)), unknown: Vec::new() },
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Part<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (span, known) = placed(deserializer)?;
        Ok(Part::of(span, known))
    }
}

impl<'de, L: Leaf, P: DeserializeOwned> Deserialize<'de> for Either<L, P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (span, known) = placed::<Known<P>, D>(deserializer)?;
        Ok(match known.0 {
            Err(scalar) => Either::Scalar(Written { span, value: L::read(scalar) }),
            known => Either::Table(Part::of(span, Known(known))),
        })
    }
}

/// A table of known keys with further such tables under the user's own, or what stands in its place.
struct Mixed<T>(Known<T>, Named<T>);

/// Tables by the user's names.
pub(crate) type Named<T> = Vec<(Spanned<String>, Part<T>)>;

impl<'de, T: DeserializeOwned> FromAny<'de> for Mixed<T> {
    fn scalar(scalar: Scalar) -> Self {
        Mixed(Known(Err(scalar)), Vec::new())
    }

    fn table<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        let mut named = Vec::new();
        let filter = MixedKeys { map, known: keys::<T>(), named: &mut named };
        let value = T::deserialize(MapAccessDeserializer::new(filter))?;
        Ok(Mixed(Known(Ok((value, Vec::new()))), named))
    }
}

/// A table with known keys, and what stands under others: tables of the same kind, by the user's names.
pub(crate) fn mixed<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(Part<T>, Named<T>), D::Error> {
    let (span, Mixed(known, named)) = placed::<Mixed<T>, D>(deserializer)?;
    Ok((Part::of(span, known), named))
}

/// Lets through the known keys of a table, and reads what stands at others as such tables.
struct MixedKeys<'a, A, T> {
    map: A,
    known: &'static [&'static str],
    named: &'a mut Named<T>,
}

impl<'de, A: MapAccess<'de>, T: DeserializeOwned> MapAccess<'de> for MixedKeys<'_, A, T> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<Spanned<String>>()? {
            if self.known.contains(&key.get_ref().as_str()) {
                return seed.deserialize(StringDeserializer::new(key.into_inner())).map(Some);
            }
            let part = self.map.next_value()?;
            self.named.push((key, part));
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// An array, or what stands in its place.
struct Items<T>(Result<Vec<T>, Scalar>);

impl<'de, T: Deserialize<'de>> FromAny<'de> for Items<T> {
    fn scalar(scalar: Scalar) -> Self {
        Items(Err(scalar))
    }

    fn array<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Items(Ok(items)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (span, items) = placed::<Items<T>, D>(deserializer)?;
        let list =
            "a list in brackets: `[…]` for values, a heading `[[…]]` for each table of a list of tables";
        Ok(List { span, value: items.0.map_err(|scalar| scalar.mistyped(list)) })
    }
}

/// A table of the user's keys, or what stands in its place.
struct Pairs<T>(Result<Vec<(Spanned<String>, T)>, Scalar>);

impl<'de, T: Deserialize<'de>> FromAny<'de> for Pairs<T> {
    fn scalar(scalar: Scalar) -> Self {
        Pairs(Err(scalar))
    }

    fn table<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(Ok(pairs)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (span, pairs) = placed::<Pairs<T>, D>(deserializer)?;
        Ok(Entries { span, value: pairs.0.map_err(|scalar| scalar.mistyped(A_TABLE)) })
    }
}

/// Lets through the known keys of a table and notes the others.
struct KnownKeys<'a, A> {
    map: A,
    known: &'static [&'static str],
    unknown: &'a mut Vec<Spanned<String>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for KnownKeys<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<Spanned<String>>()? {
            if self.known.contains(&key.get_ref().as_str()) {
                return seed.deserialize(StringDeserializer::new(key.into_inner())).map(Some);
            }
            self.map.next_value::<IgnoredAny>()?;
            self.unknown.push(key);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// The keys of a raw table, from what serde derived for it.
pub(crate) fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Asked<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Asked<'_> {
        type Error = NoError;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoError> {
            Err(NoError::custom("not a table"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, NoError> {
            *self.0 = fields;
            Err(NoError::custom("only asked"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut fields: &'static [&'static str] = &[];
    let _ = T::deserialize(Asked(&mut fields));
    fields
}

impl<T: Leaf> JsonSchema for Written<T> {
    fn schema_name() -> Cow<'static, str> {
        "Written".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

impl JsonSchema for Anything {
    fn schema_name() -> Cow<'static, str> {
        "Anything".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer", "number", "boolean", "array", "object"] })
    }
}

impl<T: JsonSchema> JsonSchema for Part<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn schema_name() -> Cow<'static, str> {
        "List".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": generator.subschema_for::<T>() })
    }
}

impl<T: JsonSchema> JsonSchema for Entries<T> {
    fn schema_name() -> Cow<'static, str> {
        "Entries".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}

impl<L: Leaf, P: JsonSchema> JsonSchema for Either<L, P> {
    fn schema_name() -> Cow<'static, str> {
        "Either".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [L::schema(), generator.subschema_for::<P>()] })
    }
}
