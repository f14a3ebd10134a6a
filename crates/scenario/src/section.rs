//! A section of a file as it was read: each key with its place, and its value or a report.
//!
//! The attribute `#[keys]` of `laxity-scenario-keys` makes the reading of a section out of its raw
//! form. All keys are read first, so all that is wrong with them is reported; a conversion then gives
//! up at the first that it needs.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_spanned::Spanned;

use crate::context::{Context, Reported};
use crate::draw::Dice;
use crate::draw::sketch::Drafted;
use crate::raw::Several;
use crate::written::{Either, Entries, Leaf, List, Part, Scalar, Written};

/// A raw form that declares its keys.
pub(crate) trait Section: DeserializeOwned + Default {
    /// Its keys as they were read.
    type Keys;
    /// What decides which keys it may have.
    type Kind;
    /// The keys that the generator draws by hand, by their fields.
    const BY_HAND: &'static [&'static str];

    /// Reads all keys of the section at `owner`, which errors call `what`.
    fn read(self, cx: &mut Context<'_>, owner: &Range<usize>, what: &str) -> Self::Keys;

    /// Draws the keys of a section of that kind that have a range.
    fn draw(dice: &mut Dice, kind: Self::Kind, drafted: &mut Drafted<Self>);
}

/// A key as it was read.
pub(crate) struct Key<V> {
    name: &'static str,
    /// Its place, if the file has it.
    pub(crate) at: Option<Range<usize>>,
    /// Its value: that of the file, or what it is without one.
    pub(crate) value: Result<V, Reported>,
    /// What would be valid.
    valid: fn() -> String,
}

/// A value of the file that is a table or a list has a place too.
pub(crate) trait At {
    /// The place, if the file has the key.
    fn at(&self) -> Option<Range<usize>>;
}

/// A key that not all kinds of section have.
pub(crate) struct Owned<K: 'static> {
    pub(crate) key: &'static str,
    /// The kinds that have it.
    pub(crate) of: &'static [K],
    /// Its place, if the file has it.
    pub(crate) at: Option<Range<usize>>,
}

/// The keys of the file among `owned` that a section of the kind `kind` does not have, and their
/// places.
pub(crate) fn strays<K: PartialEq>(
    owned: Vec<Owned<K>>,
    kind: K,
) -> impl Iterator<Item = (Owned<K>, Range<usize>)> {
    let stray = move |mut owned: Owned<K>| {
        let at = owned.at.take()?;
        (!owned.of.contains(&kind)).then_some((owned, at))
    };
    owned.into_iter().filter_map(stray)
}

/// The first place of a key that the file has.
pub(crate) fn first<const N: usize>(keys: [&dyn At; N]) -> Option<Range<usize>> {
    keys.into_iter().find_map(At::at)
}

/// A default that a declaration states, as it would stand in a file.
pub(crate) fn default<T: Leaf>(scalar: Scalar) -> T {
    T::read(scalar).unwrap_or_else(|fault| panic!("a default is valid: {}", fault.reason))
}

/// A `T` in words, from its error on a value of another kind.
pub(crate) fn example<T: Leaf>() -> String {
    T::read(Scalar::List).err().map(|fault| fault.valid).unwrap_or_default()
}

impl<V> Key<V> {
    /// Reads a key that its section must have.
    pub(crate) fn required<T: Leaf>(
        cx: &mut Context<'_>,
        field: Option<Written<T>>,
        name: &'static str,
        (owner, what): (&Range<usize>, &str),
        plain: impl FnOnce(T) -> V,
    ) -> Self {
        let at = field.at();
        let value = cx.required(field, name, owner, what).map(|value| plain(value.into_inner()));
        Key { name, at, value, valid: example::<T> }
    }

    /// Reads a key with a default.
    pub(crate) fn or<T: Leaf>(
        cx: &mut Context<'_>,
        field: Option<Written<T>>,
        name: &'static str,
        default: impl FnOnce() -> T,
        plain: impl FnOnce(T) -> V,
    ) -> Self {
        let at = field.at();
        let value = cx.optional(field).map(|value| plain(value.map_or_else(default, Spanned::into_inner)));
        Key { name, at, value, valid: example::<T> }
    }

    /// The place and the value of a key that its section must have.
    pub(crate) fn spanned(&self) -> Result<Spanned<V>, Reported>
    where
        V: Clone,
    {
        Ok(Spanned::new(self.at.clone().unwrap_or_default(), self.value.clone()?))
    }
}

impl<V: Clone> Key<Option<V>> {
    /// Reads a key that its section need not have.
    pub(crate) fn optional<T: Leaf>(
        cx: &mut Context<'_>,
        field: Option<Written<T>>,
        name: &'static str,
        plain: impl FnOnce(T) -> V,
    ) -> Self {
        let at = field.at();
        let value = cx.optional(field).map(|value| value.map(|value| plain(value.into_inner())));
        Key { name, at, value, valid: example::<T> }
    }

    /// The place and the value, where the file has the key.
    pub(crate) fn placed(&self) -> Result<Option<Spanned<V>>, Reported> {
        Ok(self.at.clone().zip(self.value.clone()?).map(|(at, value)| Spanned::new(at, value)))
    }

    /// The same of a key that some kinds of the section at `owner` must have.
    pub(crate) fn needed(
        &self,
        cx: &mut Context<'_>,
        owner: &Range<usize>,
        what: &str,
    ) -> Result<Spanned<V>, Reported> {
        self.placed()?.ok_or_else(|| cx.missing(self.name, owner, what, &(self.valid)()))
    }
}

impl<V> At for Key<V> {
    fn at(&self) -> Option<Range<usize>> {
        self.at.clone()
    }
}

impl At for Option<Range<usize>> {
    fn at(&self) -> Option<Range<usize>> {
        self.clone()
    }
}

impl<T> At for Option<Written<T>> {
    fn at(&self) -> Option<Range<usize>> {
        self.as_ref().map(|written| written.span.clone())
    }
}

impl<R> At for Option<Part<R>> {
    fn at(&self) -> Option<Range<usize>> {
        self.as_ref().map(|part| part.span.clone())
    }
}

impl<T> At for Option<List<T>> {
    fn at(&self) -> Option<Range<usize>> {
        self.as_ref().map(|list| list.span.clone())
    }
}

impl<T> At for Option<Entries<T>> {
    fn at(&self) -> Option<Range<usize>> {
        self.as_ref().map(|entries| entries.span.clone())
    }
}

impl<L, P> At for Option<Either<L, P>> {
    fn at(&self) -> Option<Range<usize>> {
        self.as_ref().map(Either::span)
    }
}

impl<R> At for Option<Several<R>> {
    fn at(&self) -> Option<Range<usize>> {
        self.as_ref().map(Several::span)
    }
}
