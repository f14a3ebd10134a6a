//! The attribute of a key.

use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, ExprLit, Field, Ident, Lit, LitStr, Meta, Result, Token, Type, parse_quote,
};

/// The attribute of a key, read.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) required: bool,
    pub(crate) default: Option<Lit>,
    said: Option<LitStr>,
    silent: bool,
    pub(crate) of: Vec<Ident>,
    pub(crate) fills: Option<Ident>,
    pub(crate) by_hand: bool,
    pub(crate) elsewhere: bool,
    /// The probability that the key is drawn, and the ends of its range.
    drawn: Vec<Lit>,
}

impl Declared {
    /// Takes the attribute off `field`.
    pub(crate) fn of(field: &mut Field) -> Result<Self> {
        let mut declared = Self::default();
        let name = field.ident.clone();
        for attribute in field.attrs.extract_if(.., |attribute| attribute.path().is_ident("key")) {
            attribute.parse_nested_meta(|meta| {
                match () {
                    () if meta.path.is_ident("required") => declared.required = true,
                    () if meta.path.is_ident("default") => declared.default = Some(meta.value()?.parse()?),
                    () if meta.path.is_ident("drawn") => {
                        let range;
                        syn::parenthesized!(range in meta.input);
                        let range = Punctuated::<Lit, Token![,]>::parse_terminated(&range)?;
                        declared.drawn = range.into_iter().collect();
                    }
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
    pub(crate) fn describe(&self, attributes: &mut [Attribute]) {
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

    /// The drawing of the key by the dice of its own, called `name`, if it has a range.
    pub(crate) fn range(&self, name: &str) -> Result<Option<Tokens>> {
        Ok(match &self.drawn[..] {
            [] => None,
            [share] => Some(quote!(dice.own(#name).any(#share))),
            [share, least, most] => Some(quote! {
                dice.own(#name).maybe(#share, |dice| {
                    let (least, most) = (crate::leaf::bound(#least), crate::leaf::bound(#most));
                    crate::draw::sketch::quantity(dice.span(least, most))
                })
            }),
            [share, ..] => return Err(Error::new(share.span(), "a range has two ends")),
        })
    }

    /// The default as an expression of the type `leaf`.
    pub(crate) fn value(&self, leaf: &Type) -> Option<Tokens> {
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
pub(crate) fn text_of(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}
