//! `#[keys]`: the declaration of a section of a scenario file, from which its reading follows.
//!
//! A key has a type, a meaning, an owner and perhaps a default. The owner is the kind of section that
//! the key is for: `latency` of a `[node]` is for switches. Without this attribute the conversion of a
//! section states all four a second time, and nothing compares the two statements.
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
//! | `elsewhere` | the conversion of another section takes the key first |
//! | `by_hand` | where the section says `all` beside `fills`: this key does not fill its field |
//!
//! A field of another type than `Option<Written<…>>` (a table, a list) is left to its conversion.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, GenericArgument, Ident, Lit, LitStr, Meta,
    Path, PathArguments, Result, Token, Type, parse_macro_input, parse_quote,
};

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
    expand(&section, item).unwrap_or_else(Error::into_compile_error).into()
}

/// What the attribute of a section says.
#[derive(Default)]
struct Section {
    /// The type of its `kind`.
    kind: Option<Path>,
    /// The type that it fills in part.
    fills: Option<Path>,
    /// Whether its keys do so unless they say otherwise.
    all: bool,
}

/// What the attribute of a key says.
#[derive(Default)]
struct Declared {
    required: bool,
    default: Option<Lit>,
    said: Option<LitStr>,
    silent: bool,
    of: Vec<Ident>,
    fills: Option<Ident>,
    by_hand: bool,
    elsewhere: bool,
}

impl Declared {
    /// Takes the attribute off `field`.
    fn of(field: &mut Field) -> Result<Self> {
        let mut declared = Self::default();
        let name = field.ident.clone();
        for attribute in field.attrs.extract_if(.., |attribute| attribute.path().is_ident("key")) {
            attribute.parse_nested_meta(|meta| {
                match () {
                    () if meta.path.is_ident("required") => declared.required = true,
                    () if meta.path.is_ident("default") => declared.default = Some(meta.value()?.parse()?),
                    () if meta.path.is_ident("elsewhere") => declared.elsewhere = true,
                    () if meta.path.is_ident("by_hand") => declared.by_hand = true,
                    () if meta.path.is_ident("silent") => declared.silent = true,
                    () if meta.path.is_ident("said") => declared.said = Some(meta.value()?.parse()?),
                    () if meta.path.is_ident("of") => {
                        let kinds;
                        syn::parenthesized!(kinds in meta.input);
                        declared.of =
                            Punctuated::<Ident, Token![,]>::parse_terminated(&kinds)?.into_iter().collect();
                    }
                    () if meta.path.is_ident("fills") && meta.input.peek(syn::token::Paren) => {
                        let target;
                        syn::parenthesized!(target in meta.input);
                        declared.fills = Some(target.parse()?);
                    }
                    () if meta.path.is_ident("fills") => declared.fills = name.clone(),
                    () => return Err(meta.error("a key has `required`, `default`, `said`, `of` and `fills`")),
                }
                Ok(())
            })?;
        }
        Ok(declared)
    }

    /// Says the default in the description of the key.
    fn describe(&self, attributes: &mut [Attribute]) {
        const HOLE: &str = "{default}";
        let said = match (&self.said, &self.default) {
            _ if self.silent => return,
            (Some(words), _) => words.value(),
            (None, None) => return,
            (None, Some(Lit::Str(text))) => format!("`{}`", text.value()),
            (None, Some(Lit::Bool(truth))) => format!("`{}`", truth.value),
            (None, Some(number)) => number.to_token_stream().to_string(),
        };
        let said = format!("Default {said}.");
        let lines: Vec<Option<String>> = attributes.iter().map(text_of).collect();
        let hole = |line: &Option<String>| line.as_ref().is_some_and(|text| text.contains(HOLE));
        let place = lines.iter().position(hole).or_else(|| lines.iter().rposition(Option::is_some));
        let Some((place, Some(text))) = place.map(|place| (place, &lines[place])) else { return };
        let text = match text.contains(HOLE) {
            true => text.replace(HOLE, &said),
            false => format!("{text} {said}"),
        };
        attributes[place] = parse_quote!(#[doc = #text]);
    }

    /// The default as an expression of the type `leaf`.
    fn value(&self, leaf: &Type) -> Option<Tokens> {
        let scalar = match self.default.as_ref()? {
            Lit::Str(text) => quote!(Text(#text.into())),
            Lit::Bool(truth) => quote!(Boolean(#truth)),
            Lit::Float(number) => quote!(Float(#number)),
            number => quote!(Integer(#number)),
        };
        Some(quote!(crate::section::default::<#leaf>(crate::written::Scalar::#scalar)))
    }
}

/// The text of a line of documentation.
fn text_of(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The name that serde knows a field by.
fn name_of(field: &Field) -> Result<String> {
    let mut name = field.ident.as_ref().map(Ident::to_string).unwrap_or_default();
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            name = meta.value()?.parse::<LitStr>()?.value();
            Ok(())
        })?;
    }
    Ok(name)
}

/// The type within `outer<…>`, if `of` is one.
fn within<'a>(outer: &str, of: &'a Type) -> Option<&'a Type> {
    let Type::Path(path) = of else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == outer)?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
            GenericArgument::Type(inner) => Some(inner),
            _ => None,
        },
        _ => None,
    }
}

/// The type of a value that was read as a `leaf`, and how the one is made of the other.
fn plain(leaf: &Type) -> (Tokens, Tokens) {
    let is = |name: &str| matches!(leaf, Type::Path(path) if path.path.is_ident(name));
    match within("Bounded", leaf) {
        Some(bounds) => {
            (quote!(<#bounds as crate::leaf::Bounds>::Quantity), quote!(|value: #leaf| value.get()))
        }
        None if is("Factor") || is("Share") => (quote!(f64), quote!(|value: #leaf| value.get())),
        None => (quote!(#leaf), quote!(|value: #leaf| value)),
    }
}

fn expand(section: &Section, mut item: DeriveInput) -> Result<Tokens> {
    let raw = item.ident.clone();
    let keys = format_ident!("{}Keys", raw.to_string().trim_start_matches("Raw"), span = raw.span());
    let Data::Struct(data) = &mut item.data else {
        return Err(Error::new(raw.span(), "a section is a struct"));
    };
    let (mut names, mut types, mut readers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut visible, mut owned, mut filled) = (Vec::new(), Vec::new(), Vec::new());
    for field in &mut data.fields {
        let mut declared = Declared::of(field)?;
        let name = name_of(field)?;
        let Some(ident) = field.ident.clone() else { return Err(Error::new(raw.span(), "a key has a name")) };
        if section.all && !declared.by_hand {
            declared.fills = Some(ident.clone());
        }
        declared.describe(&mut field.attrs);
        if declared.required {
            field.attrs.push(parse_quote!(#[schemars(required)]));
        }
        if declared.elsewhere {
            continue;
        }
        let of_kind = &section.kind;
        match (&declared.of[..], of_kind) {
            ([], _) => {}
            (of, Some(kind)) => {
                let at = quote!(crate::section::At::at(&self.#ident));
                owned.push(quote!(crate::section::Owned { key: #name, of: &[#(#kind::#of),*], at: #at }));
            }
            (of, None) => return Err(Error::new(of[0].span(), "the section says no `kind`")),
        }
        match within("Option", &field.ty).and_then(|inner| within("Written", inner)) {
            Some(leaf) => {
                let (value, get) = plain(leaf);
                let (ty, read) = match (declared.value(leaf), declared.required) {
                    (Some(_), true) => {
                        return Err(Error::new(ident.span(), "a key that is required has no default"));
                    }
                    (None, true) => (value, quote!(required(cx, self.#ident, #name, (owner, what), #get))),
                    (Some(default), false) => (value, quote!(or(cx, self.#ident, #name, || #default, #get))),
                    (None, false) => (
                        quote!(::core::option::Option<#value>),
                        quote!(optional(cx, self.#ident, #name, #get)),
                    ),
                };
                types.push(quote_spanned!(ident.span()=> crate::section::Key<#ty>));
                readers.push(quote!(crate::section::Key::#read));
            }
            None => {
                types.push(field.ty.to_token_stream());
                readers.push(quote!(self.#ident));
            }
        }
        if let Some(target) = declared.fills {
            let sure = declared.required || declared.default.is_some();
            filled.push(match sure {
                true => quote!(of.#target = self.#ident.value?;),
                false => quote!(if let Some(value) = self.#ident.value? { of.#target = value; }),
            });
        }
        // With the place of the field, or the lint `dead_code` ignores what a macro made.
        visible.push(field.vis.clone());
        names.push(ident);
    }
    let owned = section.kind.as_ref().map(|kind| {
        quote! {
            impl #keys {
                /// The keys that not all kinds of the section have.
                pub(crate) fn owned(&self) -> Vec<crate::section::Owned<#kind>> {
                    vec![#(#owned),*]
                }
            }
        }
    });
    let filled = section.fills.as_ref().map(|target| {
        quote! {
            impl #keys {
                /// Fills what the keys decide by themselves.
                pub(crate) fn fill(&self, of: &mut #target) -> Result<(), crate::context::Reported> {
                    #(#filled)*
                    Ok(())
                }
            }
        }
    });
    let doc = format!("The keys of [`{raw}`] as they were read.");
    Ok(quote! {
        #[derive(Debug, Default, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        #item

        #[doc = #doc]
        pub(crate) struct #keys {
            #(#visible #names: #types),*
        }

        impl crate::section::Section for #raw {
            type Keys = #keys;

            #[allow(unused_variables)]
            fn read(
                self,
                cx: &mut crate::context::Context<'_>,
                owner: &::core::ops::Range<usize>,
                what: &str,
            ) -> #keys {
                #keys { #(#names: #readers),* }
            }
        }

        #owned
        #filled
    })
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
    choices(of, item).unwrap_or_else(Error::into_compile_error).into()
}

fn choices(of: Option<Path>, mut item: DeriveInput) -> Result<Tokens> {
    let name = item.ident.clone();
    let Data::Enum(data) = &mut item.data else {
        return Err(Error::new(name.span(), "words are of an enum"));
    };
    let target = of.clone().unwrap_or_else(|| name.clone().into());
    let mut choices = Vec::new();
    for variant in &mut data.variants {
        let ident = &variant.ident;
        let mut word = snake(&ident.to_string());
        for attribute in variant.attrs.extract_if(.., |attribute| attribute.path().is_ident("word")) {
            word = attribute.parse_args::<LitStr>()?.value();
        }
        let lines: Vec<String> = variant.attrs.iter().filter_map(text_of).collect();
        let meaning = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        choices.push(quote!((#word, #target::#ident, #meaning)));
    }
    let kept = match of {
        Some(_) => quote!(),
        None => quote!(#[derive(Debug, Clone, Copy, PartialEq, Eq)] #item),
    };
    Ok(quote! {
        #kept

        impl crate::leaf::Choice for #target {
            const CHOICES: &'static [(&'static str, Self, &'static str)] = &[#(#choices),*];
        }
    })
}

/// `TokenRing` as `token_ring`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
