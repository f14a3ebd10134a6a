//! `#[words]`.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Data, DeriveInput, Error, LitStr, Path, Result};

use crate::declared::text_of;

/// The words of `item`, or of the enum `of` that it stands for.
pub(crate) fn choices(of: Option<&Path>, mut item: DeriveInput) -> Result<Tokens> {
    let name = item.ident.clone();
    let Data::Enum(data) = &mut item.data else {
        return Err(Error::new(name.span(), "words are of an enum"));
    };
    let target = of.cloned().unwrap_or_else(|| name.clone().into());
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
