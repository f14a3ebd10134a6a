//! `#[keys]`: the declaration of a section of a scenario file, from which its reading follows.
//!
//! A key has a type, a meaning, an owner and perhaps a default. The owner is the kind of section that
//! the key is for: `latency` of a `[node]` is for switches. Without this attribute the conversion of a
//! section states all four a second time, and no test compares the two statements.
//!
//! ```text
//! #[keys(kind = NodeKind, fills = SwitchSpec)]
//! struct RawNode {
//!     /// Switch: the time until the frame is in the queue.
//!     #[key(of(Switch), default = "0 us", fills)]
//!     latency: Option<Written<Bounded<Delay>>>,
//! }
//! ```
//!
//! The attribute makes of it the raw struct, which serde fills, and `NodeKeys`, the struct of what was
//! read. There `latency` is a `Key<Span>`: a value or a reported error, and its place in the file. A
//! conversion that ignores a key is an error of the lint `dead_code`.
//!
//! | on a field | meaning |
//! |---|---|
//! | `required` | a section without the key is an error; the schema says so |
//! | `default = …` | the value without the key, and the sentence "Default `…`." of its description, at the end or in place of `{default}` |
//! | `said = "…"` | that default in words, where the value alone says too little |
//! | `silent` | the description says that default by itself |
//! | `of(A, B)` | the kinds of section that may have the key, as variants of `kind` |
//! | `fills`, `fills(field)` | the field of the type `fills` that has the value; without a default a field stays as it is unless the file has the key |
//! | `drawn(p)`, `drawn(p, "…", "…")` | the generator says the key with the probability `p`: any of its words, or a time of that range |
//! | `elsewhere` | the conversion of another section takes the key first |
//! | `by_hand` | where the section says `all` beside `fills`: this key does not fill its field |
//!
//! A field of another type than `Option<Written<…>>` (a table, a list) is left to its conversion.

mod declared;
mod section;
mod words;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, Path, parse_macro_input};

use section::Section;

/// Declares a section; see the head of this crate.
#[proc_macro_attribute]
pub fn keys(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    let mut section = Section::default();
    let parser = syn::meta::parser(|meta| {
        match () {
            () if meta.path.is_ident("kind") => section.kind = Some(meta.value()?.parse()?),
            () if meta.path.is_ident("fills") => section.fills = Some(meta.value()?.parse()?),
            () if meta.path.is_ident("all") => section.all = true,
            () => return Err(meta.error("a section has `kind`, `fills` and `all`")),
        }
        Ok(())
    });
    parse_macro_input!(arguments with parser);
    section.expand(item).unwrap_or_else(Error::into_compile_error).into()
}

/// Declares the words that a key takes: each variant is a word, and its documentation is the meaning.
///
/// The word is the name of the variant in `snake_case`, or that of `#[word("…")]`. The words of an
/// enum of another crate are declared by `#[words(of = Enum)]`, on an enum that is not kept.
#[proc_macro_attribute]
pub fn words(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    let mut of: Option<Path> = None;
    let parser = syn::meta::parser(|meta| match meta.path.is_ident("of") {
        true => {
            of = Some(meta.value()?.parse()?);
            Ok(())
        }
        false => Err(meta.error("words are `of` an enum")),
    });
    parse_macro_input!(arguments with parser);
    words::choices(of.as_ref(), item).unwrap_or_else(Error::into_compile_error).into()
}
