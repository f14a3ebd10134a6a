//! `#[keys]`: the structs and functions that a declared section has.

use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Data, DeriveInput, Error, Field, GenericArgument, Ident, LitStr, Path, PathArguments, Result, Type,
    parse_quote,
};

use crate::declared::Declared;

/// The attribute of a section, read.
#[derive(Default)]
pub(crate) struct Section {
    /// The type of its `kind`.
    pub(crate) kind: Option<Path>,
    /// The type that it fills in part.
    pub(crate) fills: Option<Path>,
    /// Whether its keys do so unless they say otherwise.
    pub(crate) all: bool,
}

/// Makes what belongs to a section, key by key.
#[derive(Default)]
struct Parts {
    names: Vec<Ident>,
    fields: Vec<Tokens>,
    readers: Vec<Tokens>,
    /// The keys that not all kinds have.
    owned: Vec<Tokens>,
    filled: Vec<Tokens>,
    /// The drawing of keys with a range.
    ranges: Vec<Tokens>,
    /// The keys without one.
    by_hand: Vec<String>,
}

impl Section {
    /// The section `item`, and what follows from its declaration.
    pub(crate) fn expand(&self, mut item: DeriveInput) -> Result<Tokens> {
        let raw = item.ident.clone();
        let keys = format_ident!("{}Keys", raw.to_string().trim_start_matches("Raw"), span = raw.span());
        let Data::Struct(data) = &mut item.data else {
            return Err(Error::new(raw.span(), "a section is a struct"));
        };
        let mut parts = Parts::default();
        for field in &mut data.fields {
            self.key(&raw, field, &mut parts)?;
        }
        let Parts { names, fields, readers, owned, filled, ranges, by_hand } = parts;
        let kind = self.kind.as_ref().map_or_else(|| quote!(()), ToTokens::to_token_stream);
        let owned = self.kind.as_ref().map(|kind| {
            quote! {
                /// The keys that not all kinds of the section have.
                pub(crate) fn owned(&self) -> Vec<crate::section::Owned<#kind>> {
                    vec![#(#owned),*]
                }
            }
        });
        let filled = self.fills.as_ref().map(|target| {
            quote! {
                /// Fills what the keys decide by themselves.
                pub(crate) fn fill(&self, of: &mut #target) -> Result<(), crate::context::Reported> {
                    #(#filled)*
                    Ok(())
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
                #(#fields),*
            }

            impl #keys {
                #owned
                #filled
            }

            #[allow(unused_variables, reason = "a section may have no key that is required or has a range")]
            impl crate::section::Section for #raw {
                type Keys = #keys;
                type Kind = #kind;
                const BY_HAND: &'static [&'static str] = &[#(#by_hand),*];

                fn read(
                    self,
                    cx: &mut crate::context::Context<'_>,
                    owner: &::core::ops::Range<usize>,
                    what: &str,
                ) -> #keys {
                    #keys { #(#names: #readers),* }
                }

                fn draw(
                    dice: &mut crate::draw::Dice,
                    kind: #kind,
                    drafted: &mut crate::draw::sketch::Drafted<Self>,
                ) {
                    #(#ranges)*
                }
            }
        })
    }

    /// Adds the key that `field` declares.
    fn key(&self, raw: &Ident, field: &mut Field, parts: &mut Parts) -> Result<()> {
        let mut declared = Declared::of(field)?;
        let name = name_of(field)?;
        let Some(ident) = field.ident.clone() else { return Err(Error::new(raw.span(), "a key has a name")) };
        if self.all && !declared.by_hand {
            declared.fills = Some(ident.clone());
        }
        declared.describe(&mut field.attrs);
        if declared.required {
            field.attrs.push(parse_quote!(#[schemars(required)]));
        }
        let of = match (&declared.of[..], &self.kind) {
            ([], _) => None,
            (of, Some(kind)) => Some(quote!([#(#kind::#of),*])),
            (of, None) => return Err(Error::new(of[0].span(), "the section says no `kind`")),
        };
        match declared.range(&format!("{raw}.{name}"))? {
            Some(drawn) => {
                let used = of.as_ref().map_or_else(|| quote!(true), |of| quote!(#of.contains(&kind)));
                parts.ranges.push(quote! {
                    if #used {
                        drafted.put(|raw: Self| raw.#ident, #name, #drawn);
                    }
                });
            }
            None => parts.by_hand.push(ident.to_string()),
        }
        if declared.elsewhere {
            return Ok(());
        }
        if let Some(of) = of {
            let at = quote!(crate::section::At::at(&self.#ident));
            parts.owned.push(quote!(crate::section::Owned { key: #name, of: &#of, at: #at }));
        }
        let (ty, reader) = match within("Option", &field.ty).and_then(|inner| within("Written", inner)) {
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
                let ty = quote_spanned!(ident.span()=> crate::section::Key<#ty>);
                (ty, quote!(crate::section::Key::#read))
            }
            None => (field.ty.to_token_stream(), quote!(self.#ident)),
        };
        if let Some(target) = declared.fills {
            parts.filled.push(match declared.required || declared.default.is_some() {
                true => quote!(of.#target = self.#ident.value?;),
                false => quote!(if let Some(value) = self.#ident.value? { of.#target = value; }),
            });
        }
        // With the place of the field, or the lint `dead_code` ignores what a macro made.
        let visible = &field.vis;
        parts.fields.push(quote!(#visible #ident: #ty));
        parts.readers.push(reader);
        parts.names.push(ident);
        Ok(())
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
