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
    /// The kind of section, which decides the keys that it may have.
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
    /// The valid values, in words.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use laxity_scenario_keys::keys;
    use laxity_units::Span;

    use super::*;
    use crate::choice::NodeKind;
    use crate::diagnostic::{Diagnostics, SourceText};
    use crate::draw::sketch::Table;
    use crate::leaf::{Bounded, Delay, Name, Whole};
    use crate::schema::schema_of;
    use crate::{document, leaf};

    /// The type that the trial section fills.
    #[derive(Debug, Default, PartialEq)]
    struct Filled {
        wait: Span,
        most: Option<u64>,
    }

    #[keys(kind = NodeKind, fills = Filled)]
    struct RawTrial {
        /// Its name.
        #[key(required)]
        name: Option<Written<Name>>,
        /// A time. {default} It may be zero.
        #[key(of(Switch), default = "3 us", fills(wait), drawn(0.5, "1 us", "8 us"))]
        delay: Option<Written<Bounded<Delay>>>,
        /// A number.
        #[key(of(Host, Switch), default = 4, said = "4, as ever")]
        number: Option<Written<Whole<0, 9>>>,
        /// A key of hosts.
        #[key(of(Host))]
        quiet: Option<Written<bool>>,
    }

    /// The keys that are read of `text`, and the reasons of its errors.
    fn read(text: &str) -> (TrialKeys, Vec<String>) {
        let source = Arc::new(SourceText::new("trial.toml", text));
        let mut diagnostics = Diagnostics::default();
        let cx = &mut Context::new(&source, &mut diagnostics);
        let document = document::parse(&source).unwrap();
        let raw: RawTrial = document::read(cx, document).unwrap();
        let keys = raw.read(cx, &(0..1), "this trial");
        (keys, diagnostics.iter().map(|error| error.reason().to_string()).collect())
    }

    #[test]
    fn a_key_has_the_value_of_the_file_or_its_default() {
        let (keys, errors) = read("name = \"one\"\ndelay = \"7 us\"");
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!((keys.delay.value, keys.number.value.unwrap().get()), (Ok(Span::from_us(7)), 4));
        assert_eq!((keys.delay.at, keys.number.at, keys.quiet.value), (Some(21..27), None, Ok(None)));
        let mut filled = Filled { wait: Span::ZERO, most: Some(1) };
        let (keys, _) = read("name = \"one\"");
        keys.fill(&mut filled).unwrap();
        assert_eq!(filled, Filled { wait: Span::from_us(3), most: Some(1) });
    }

    #[test]
    fn each_key_in_error_is_reported() {
        let (keys, errors) = read("delay = 3\nnumber = 12");
        assert_eq!(errors, ["this trial has no `name`", "`3` has no unit", "12 is more than 9"]);
        assert!(keys.name.value.is_err() && keys.delay.value.is_err() && keys.number.value.is_err());
    }

    #[test]
    fn a_key_of_another_kind_is_a_stray() {
        let (keys, _) = read("delay = \"1 us\"\nnumber = 1\nquiet = true");
        let strays_of = |kind| strays(keys.owned(), kind).map(|(owned, _)| owned.key).collect::<Vec<_>>();
        assert_eq!((strays_of(NodeKind::Host), strays_of(NodeKind::Switch)), (vec!["delay"], vec!["quiet"]));
    }

    #[test]
    fn the_description_says_the_default() {
        let schema = schema_of::<RawTrial>();
        let said = |key: &str| schema["properties"][key]["description"].as_str().unwrap().to_string();
        assert_eq!(said("delay"), "A time. Default `3 us`. It may be zero.");
        assert_eq!(said("number"), "A number. Default 4, as ever.");
        assert_eq!(schema["required"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_range_draws_its_key_for_the_kinds_that_have_it() {
        let drawn = |number, kind| {
            let mut drafted = Drafted::<RawTrial>::new();
            RawTrial::draw(&mut Dice::new(1, number), kind, &mut drafted);
            Table::text(&drafted.table)
        };
        let texts: Vec<String> = (0..100).map(|number| drawn(number, NodeKind::Switch)).collect();
        assert!((25..75).contains(&texts.iter().filter(|text| text.starts_with("delay = ")).count()));
        let value = |text: &str| text.split('"').nth(1).unwrap().parse::<Span>().unwrap();
        let (least, most): (Span, Span) = (leaf::bound("1 us"), leaf::bound("100 us"));
        assert!(
            texts.iter().filter(|text| !text.is_empty()).all(|text| (least..=most).contains(&value(text)))
        );
        assert!((0..100).all(|number| drawn(number, NodeKind::Host).is_empty()));
        assert_eq!(RawTrial::BY_HAND, ["name", "number", "quiet"]);
    }
}
