//! Turns a checked spec into the tokens of an allocator.
//!
//! A plain library: the macro, the command line and the golden tests call the same [`expand`].
//! Comments do not survive as tokens, so what a reader of `hak expand` should know stands in doc
//! attributes.

mod c;
mod checks;
mod class_table;
mod counters;
mod fast_path;
mod global_alloc;
mod layers;
mod lookup;
mod names;
mod profile;
mod stub;
mod tables;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

use checks::Guarded;
use hak_spec::Spec;
use names::Names;

pub use c::library;
pub use stub::stub;

/// What the caller decides: where the allocator is declared, and under which name.
#[derive(Debug, Clone)]
pub struct Target {
    /// Path of the crate `hak`, as the caller's crate knows it.
    pub face: TokenStream,
    /// Attributes for the type, rustdoc included.
    pub attributes: TokenStream,
    /// Visibility of the type.
    pub visibility: TokenStream,
    /// Name of the type; the spec's when `None`.
    pub name: Option<Ident>,
    /// A static of the type, declared beside it.
    pub instance: Option<Instance>,
    /// Where the spec is from, for the type's rustdoc: a path, or `None` for an inline spec.
    pub origin: Option<String>,
}

/// A static that holds the allocator, such as the global one.
#[derive(Debug, Clone)]
pub struct Instance {
    /// Attributes, `#[global_allocator]` among them.
    pub attributes: TokenStream,
    /// Visibility of the static.
    pub visibility: TokenStream,
    /// Name of the static.
    pub name: Ident,
}

impl Target {
    /// A public type named by the spec, for `hak expand` and the golden tests.
    pub fn plain(origin: &str) -> Self {
        Target {
            face: quote!(::hak),
            attributes: TokenStream::new(),
            visibility: quote!(pub),
            name: None,
            instance: None,
            origin: Some(origin.to_owned()),
        }
    }

    fn type_name(&self, spec_name: &str) -> Ident {
        self.name.clone().unwrap_or_else(|| Ident::new(spec_name, Span::call_site()))
    }

    /// The static, if one is asked for.
    fn instance(&self, name: &Ident) -> TokenStream {
        let Some(Instance { attributes, visibility, name: instance }) = &self.instance else {
            return TokenStream::new();
        };
        quote!(#attributes #visibility static #instance: #name = #name;)
    }
}

/// The allocator that a spec describes: a type, its tables and its paths.
pub fn expand(spec: &Spec, target: &Target) -> TokenStream {
    let name = target.type_name(&spec.name);
    let names = Names::new(&target.face);
    let order = tables::Order::of(spec);
    let guarded = Guarded::new(spec);
    let Target { attributes, visibility, .. } = target;
    let rustdoc = class_table::rustdoc(spec, target.origin.as_deref());
    let uses = names.uses(spec, &guarded);
    let tables = tables::tables(spec, &order, &guarded, &name.to_string());
    let lookup = lookup::lookup(spec, &order);
    let paths = fast_path::paths(spec, &guarded);
    let realloc_slow = global_alloc::realloc_slow(spec, &guarded);
    let sampled = profile::functions(spec, &guarded);
    let block = names::block(&name, &uses, |name| {
        let methods = global_alloc::methods(name, spec, &guarded);
        let implementation = global_alloc::implementation(name, spec, &guarded);
        quote! {
            #tables
            #lookup
            #paths
            #realloc_slow
            #sampled
            #methods
            #implementation
            runtime::implement_allocator! { #name }
        }
    });
    let instance = target.instance(&name);
    let derives = names::derives();
    quote! {
        #rustdoc
        #attributes
        #derives
        #visibility struct #name;

        #[allow(unsafe_code, unused_imports, clippy::all, clippy::pedantic, clippy::restriction)]
        #block

        #instance
    }
}

/// Integer literals as a person would write them: no suffix, `_` between thousands.
fn number(value: impl Into<u64>) -> Literal {
    let value = value.into();
    if value < 10_000 {
        return Literal::u64_unsuffixed(value);
    }
    grouped(value).parse().expect("digits and `_` are a literal")
}

fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_a_person_would() {
        let written = [0u32, 9_999, 10_000, 100_000, 1 << 20].map(|n| number(n).to_string());
        assert_eq!(written, ["0", "9999", "10_000", "100_000", "1_048_576"]);
    }
}
