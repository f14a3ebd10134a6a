//! A drawn file before it is text: a tree that prints as TOML and that a shrinker can cut.
//!
//! The drawing of a section names every key of its raw form that has no range beside its declaration,
//! with [`table!`]: the macro compares the names, and ties each value to the type of its field. So a new
//! key, or a changed unit, does not compile here until its drawing is decided. A section that is drawn
//! at several places has one that names every key. The others end in `..` and name only the keys that
//! they draw.

use std::fmt::Write;
use std::marker::PhantomData;

use laxity_clock::Shift;
use laxity_units::{Bytes, Rate, Span};

use super::names::ADAPTERS;
use crate::leaf::{Bounded, Bounds, Choice, EndName, Factor, Name, Or, Share, Whole};
use crate::raw::{Difference, RateError, Several};
use crate::section::Section;
use crate::written::{Either, Entries, List, Part, Written};

/// A value as it will stand in the file.
#[derive(Debug, Clone)]
pub enum SketchNode {
    /// Any text.
    Text(String),
    /// One of the format's words, and all of those.
    Word(&'static str, fn() -> Vec<&'static str>),
    /// A time.
    Span(Span),
    /// A size.
    Bytes(Bytes),
    /// A rate.
    Rate(Rate),
    /// A whole number.
    Whole(u64),
    /// A decimal number.
    Decimal(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A list.
    List(Vec<SketchNode>),
    /// A table.
    Table(Table),
}

/// Keys and what they are, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub(super) keys: Vec<(&'static str, SketchNode)>,
}

impl From<Span> for SketchNode {
    fn from(span: Span) -> Self {
        SketchNode::Span(span)
    }
}

impl From<Bytes> for SketchNode {
    fn from(bytes: Bytes) -> Self {
        SketchNode::Bytes(bytes)
    }
}

impl From<Rate> for SketchNode {
    fn from(rate: Rate) -> Self {
        SketchNode::Rate(rate)
    }
}

/// The value of a key with the raw form `F`, if any.
pub(crate) struct Drawn<F> {
    pub(super) node: Option<SketchNode>,
    field: PhantomData<fn() -> F>,
}

/// A table with the raw form `R`.
pub(crate) struct Drafted<R> {
    pub(crate) table: Table,
    raw: PhantomData<fn() -> R>,
}

impl<R> Drafted<R> {
    pub(crate) fn new() -> Self {
        Self { table: Table::default(), raw: PhantomData }
    }

    /// Puts `drawn` at `key`, which is the one that `field` reads.
    pub(crate) fn put<F>(&mut self, _field: fn(R) -> F, key: &'static str, drawn: Drawn<F>) {
        if let Some(node) = drawn.node {
            self.table.keys.push((key, node));
        }
    }
}

/// A raw form with a place that decides each of its keys.
pub(crate) trait Decided {}

impl<R: Decided> Drafted<R> {
    /// A table that leaves out the keys that it does not name.
    pub(super) fn in_part() -> Self {
        Self::new()
    }
}

/// Whether `named` has every key of `R` that is drawn by hand, or else which it lacks.
pub(super) const fn missing<R: Section>(named: &[&str]) -> Option<&'static str> {
    let mut key = 0;
    while key < R::BY_HAND.len() {
        let mut place = 0;
        while place < named.len() && !same(R::BY_HAND[key].as_bytes(), named[place].as_bytes()) {
            place += 1;
        }
        if place == named.len() {
            return Some(R::BY_HAND[key]);
        }
        key += 1;
    }
    None
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The table of a section: with every key decided that is drawn by hand, at one place for each type;
/// with `..plain(dice, kind)` behind those, to draw the keys that have a range; or with `..` behind some
/// keys. It is `field as "key"` where serde calls a field otherwise.
macro_rules! table {
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@put $drafted:expr; $($field:ident $($key:literal)? : $value:expr),*) => {{
        let mut drafted = $drafted;
        $(drafted.put(|raw| raw.$field, table!(@key $field $($key)?), $value);)*
        drafted
    }};
    ($raw:ident { $($field:ident $(as $key:literal)? : $value:expr),* $(,)? }) => {
        table!($raw { $($field $(as $key)? : $value,)* ..plain() })
    };
    ($raw:ident { $($field:ident $(as $key:literal)? : $value:expr,)* ..plain($($dice:expr, $kind:expr)?) }) => {{
        const {
            // A key that is not decided does not compile, nor does a second place that decides all.
            if let Some(key) = $crate::draw::sketch::missing::<$raw>(&[$(stringify!($field)),*]) {
                panic!("{}", key);
            }
        }
        #[allow(non_local_definitions, reason = "a second place that decides all keys does not compile")]
        impl $crate::draw::sketch::Decided for $raw {}
        #[allow(unused_mut, reason = "few sections have keys with a range")]
        let mut drafted =
            table!(@put $crate::draw::sketch::Drafted::<$raw>::new(); $($field $($key)? : $value),*);
        $(<$raw as $crate::section::Section>::draw($dice, $kind, &mut drafted);)?
        drafted
    }};
    ($raw:ident <$of:ident> { $($field:ident : $value:expr),* $(,)? }) => {{
        let _ = |raw: $raw<$of>| { let $raw { $($field: _),* } = raw; };
        table!(@put $crate::draw::sketch::Drafted::<$raw<$of>>::new(); $($field : $value),*)
    }};
    ($raw:ident { $($field:ident $(as $key:literal)? : $value:expr,)* .. }) => {
        table!(@put $crate::draw::sketch::Drafted::<$raw>::in_part(); $($field $($key)? : $value),*)
    };
}
pub(super) use table;

fn drawn<F>(node: impl Into<Option<SketchNode>>) -> Drawn<F> {
    Drawn { node: node.into(), field: PhantomData }
}

/// The key is left out.
pub(super) fn unsaid<F>() -> Drawn<F> {
    drawn(None)
}

/// The value that `draw` makes, where the key has a use.
pub(super) fn when<F>(used: bool, draw: impl FnOnce() -> Drawn<F>) -> Drawn<F> {
    if used { draw() } else { unsaid() }
}

pub(crate) fn quantity<B: Bounds>(quantity: B::Quantity) -> Drawn<Option<Written<Bounded<B>>>>
where
    B::Quantity: Into<SketchNode>,
{
    drawn(quantity.into())
}

pub(super) fn whole<const LEAST: u64, const MOST: u64>(n: u64) -> Drawn<Option<Written<Whole<LEAST, MOST>>>> {
    drawn(SketchNode::Whole(n.clamp(LEAST, MOST)))
}

pub(super) fn factor(factor: f64) -> Drawn<Option<Written<Factor>>> {
    drawn(SketchNode::Decimal(factor))
}

pub(super) fn share(share: f64) -> Drawn<Option<Written<Share>>> {
    drawn(SketchNode::Decimal(share))
}

pub(super) fn boolean(value: bool) -> Drawn<Option<Written<bool>>> {
    drawn(SketchNode::Boolean(value))
}

/// A difference of times, with its direction.
pub(super) fn difference(shift: Shift) -> Drawn<Option<Written<Difference>>> {
    drawn(SketchNode::Text(shift.to_string()))
}

/// The rate error of a clock in ppm.
pub(super) fn drift(ppm: i64) -> Drawn<Option<Written<RateError>>> {
    drawn(SketchNode::Text(format!("{ppm} ppm")))
}

pub(super) fn text(text: impl Into<String>) -> Drawn<Option<Written<String>>> {
    drawn(SketchNode::Text(text.into()))
}

pub(super) fn name(name: impl Into<String>) -> Drawn<Option<Written<Name>>> {
    drawn(SketchNode::Text(name.into()))
}

pub(super) fn names(names: Vec<String>) -> Drawn<Option<List<Written<Name>>>> {
    drawn(SketchNode::List(names.into_iter().map(SketchNode::Text).collect()))
}

pub(super) fn ends(names: Vec<String>) -> Drawn<Option<List<Written<EndName>>>> {
    drawn(SketchNode::List(names.into_iter().map(SketchNode::Text).collect()))
}

/// Every word of a choice.
pub(super) fn words<C: Choice>() -> Vec<&'static str> {
    C::CHOICES.iter().map(|(word, ..)| *word).collect()
}

/// The word `word` of a choice; panics if it is none.
pub(super) fn word<C: Choice>(word: &str) -> Drawn<Option<Written<C>>> {
    let known = words::<C>().into_iter().find(|known| *known == word);
    drawn(SketchNode::Word(known.unwrap_or_else(|| panic!("`{word}` is not one of the words")), words::<C>))
}

pub(super) fn part<R>(drafted: Drafted<R>) -> Drawn<Option<Part<R>>> {
    drawn(SketchNode::Table(drafted.table))
}

pub(super) fn parts<R>(drafted: Vec<Drafted<R>>) -> Drawn<Option<List<Part<R>>>> {
    match drafted.is_empty() {
        true => unsaid(),
        false => drawn(SketchNode::List(drafted.into_iter().map(|d| SketchNode::Table(d.table)).collect())),
    }
}

pub(super) fn items<T>(of: Vec<Drawn<Option<Written<T>>>>) -> Drawn<Option<List<Written<T>>>> {
    drawn(SketchNode::List(of.into_iter().filter_map(|drawn| drawn.node).collect()))
}

pub(super) fn scalar<L, P>(of: Drawn<Option<Written<L>>>) -> Drawn<Option<Either<L, P>>> {
    drawn(of.node)
}

pub(super) fn detailed<L, P>(drafted: Drafted<P>) -> Drawn<Option<Either<L, P>>> {
    drawn(SketchNode::Table(drafted.table))
}

pub(super) fn this<A, B>(of: Drawn<Option<Written<A>>>) -> Drawn<Option<Written<Or<A, B>>>> {
    drawn(of.node)
}

pub(super) fn that<A, B>(of: Drawn<Option<Written<B>>>) -> Drawn<Option<Written<Or<A, B>>>> {
    drawn(of.node)
}

/// Tables by names that are the user's.
pub(super) fn entries<R>(of: Vec<(&'static str, Drafted<R>)>) -> Drawn<Option<Entries<Part<R>>>> {
    let keys = of.into_iter().map(|(name, drafted)| (name, SketchNode::Table(drafted.table)));
    drawn(SketchNode::Table(Table { keys: keys.collect() }))
}

/// The common part of several tables, and each of them by its name.
pub(super) fn several<R>(
    common: Drafted<R>,
    of: Vec<(&'static str, Drafted<R>)>,
) -> Drawn<Option<Several<R>>> {
    let named = of.into_iter().map(|(name, drafted)| (name, SketchNode::Table(drafted.table)));
    drawn(SketchNode::Table(Table { keys: common.table.keys.into_iter().chain(named).collect() }))
}

/// One thing where several could be.
pub(super) fn one<R>(of: Drawn<Option<Part<R>>>) -> Drawn<Option<Several<R>>> {
    drawn(of.node)
}

impl Table {
    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.print(&mut text, "");
        text.trim_start().to_string()
    }

    /// The value at a dotted path of tables, if any.
    pub fn at(&self, path: &str) -> Option<&SketchNode> {
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        let node = self.keys.iter().find(|(other, _)| *other == key).map(|(_, node)| node)?;
        match (rest, node) {
            (None, node) => Some(node),
            (Some(rest), SketchNode::Table(table)) => table.at(rest),
            _ => None,
        }
    }

    /// Passes every word and every truth value to `see`, with the dotted path of its key; lists are
    /// passed through.
    pub fn visit_words(&self, see: &mut dyn FnMut(&str, &'static str, Vec<&'static str>)) {
        for (key, node) in &self.keys {
            match (*key, node) {
                // A node's own keys are those of `[host]` and `[adapter]`.
                ("node", SketchNode::Table(nodes)) => {
                    let keys =
                        nodes.keys.iter().filter_map(|(_, node)| node.table()).flat_map(|node| &node.keys);
                    for (key, node) in keys {
                        match (*key, node) {
                            ("adapter", SketchNode::Table(adapters)) => {
                                for (key, node) in &adapters.keys {
                                    match ADAPTERS.contains(key) {
                                        true => node.visit_words("adapter", see),
                                        false => node.visit_words(&format!("adapter.{key}"), see),
                                    }
                                }
                            }
                            ("host", node) => node.visit_words("host", see),
                            (key, node) => node.visit_words(&format!("node.{key}"), see),
                        }
                    }
                }
                ("network", SketchNode::Table(networks)) => {
                    for (key, node) in &networks.keys {
                        match node.table().filter(|network| network.at("joins").is_some()) {
                            Some(_) => node.visit_words("network", see),
                            None => node.visit_words(&format!("network.{key}"), see),
                        }
                    }
                }
                _ => node.visit_words(key, see),
            }
        }
    }

    fn print(&self, text: &mut String, path: &str) {
        let full = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        let tables = |node: &SketchNode| matches!(node, SketchNode::List(items) if matches!(items[..], [SketchNode::Table(_), ..]));
        let deep = path.contains('.');
        let heading = |node: &SketchNode| {
            !deep && matches!(node, SketchNode::Table(_)) || path.is_empty() && tables(node)
        };
        for (key, node) in self.keys.iter().filter(|(_, node)| !heading(node)) {
            let _ = writeln!(text, "{key} = {}", node.inline());
        }
        for (key, node) in self.keys.iter().filter(|(_, node)| heading(node)) {
            match node {
                SketchNode::Table(table) => {
                    let _ = write!(text, "\n[{}]\n", full(key));
                    table.print(text, &full(key));
                }
                SketchNode::List(items) => {
                    for item in items {
                        let _ = write!(text, "\n[[{key}]]\n");
                        let SketchNode::Table(table) = item else { unreachable!("a list of tables") };
                        for (key, node) in &table.keys {
                            let _ = writeln!(text, "{key} = {}", node.inline());
                        }
                    }
                }
                _ => unreachable!("only tables have headings"),
            }
        }
    }
}

impl SketchNode {
    fn table(&self) -> Option<&Table> {
        match self {
            SketchNode::Table(table) => Some(table),
            _ => None,
        }
    }

    fn inline(&self) -> String {
        match self {
            SketchNode::Text(text) => format!("\"{text}\""),
            SketchNode::Word(word, _) => format!("\"{word}\""),
            SketchNode::Span(span) => format!("\"{span}\""),
            SketchNode::Bytes(bytes) => format!("\"{bytes}\""),
            SketchNode::Rate(rate) => format!("\"{rate}\""),
            SketchNode::Whole(n) => n.to_string(),
            // With a point, or a whole number would be read.
            SketchNode::Decimal(n) => format!("{n:?}"),
            SketchNode::Boolean(value) => value.to_string(),
            SketchNode::List(items) => {
                let items: Vec<_> = items.iter().map(SketchNode::inline).collect();
                format!("[{}]", items.join(", "))
            }
            SketchNode::Table(table) => {
                let keys: Vec<_> =
                    table.keys.iter().map(|(key, node)| format!("{key} = {}", node.inline())).collect();
                format!("{{ {} }}", keys.join(", "))
            }
        }
    }

    fn visit_words(&self, path: &str, see: &mut dyn FnMut(&str, &'static str, Vec<&'static str>)) {
        match self {
            SketchNode::Word(word, all) => see(path, word, all()),
            SketchNode::Boolean(value) => {
                see(path, if *value { "true" } else { "false" }, vec!["true", "false"]);
            }
            SketchNode::List(items) => items.iter().for_each(|item| item.visit_words(path, see)),
            SketchNode::Table(table) => {
                for (key, node) in &table.keys {
                    node.visit_words(&format!("{path}.{key}"), see);
                }
            }
            _ => {}
        }
    }
}
