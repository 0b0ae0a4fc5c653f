//! The absolute paths that generated code mentions. Nothing else in this crate spells one: the rest
//! goes by these imports, or begins with `runtime`.
//!
//! Generated code begins with these imports, inside a block of its own. An import in a block
//! shadows whatever the user's module calls by the same name, a `mod u8 {}` included, and needs
//! no prelude.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote;

use crate::checks::Guarded;
use crate::{counters, layers, profile};
use hak_spec::{Inline, Spec};

/// The paths, for one place that the crate `hak` is known by.
pub(crate) struct Names<'a> {
    face: &'a TokenStream,
}

impl<'a> Names<'a> {
    pub(crate) fn new(face: &'a TokenStream) -> Self {
        Names { face }
    }

    /// The imports at the head of the generated block.
    pub(crate) fn uses(&self, spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
        let face = self.face;
        let (layers, checks) = (layers::imports(spec), guarded.imports());
        let black_box = (spec.hints.inline == Inline::Constant).then(|| quote!(, black_box));
        let purge = spec.superslab.purge.map(|_| quote!(Purge, PurgeHow,));
        let (counters, profile) = (counters::imports(spec), profile::imports(spec));
        quote! {
            use ::core::alloc::{GlobalAlloc, Layout};
            use ::core::hint::{cold_path #black_box};
            use ::core::option::Option::{self, None, Some};
            use ::core::primitive::{u8, u16, usize};
            use ::core::ptr;
            use #face::__private as runtime;
            use runtime::{
                Account, Class, Heap, SizeClass, Stats, Terms, Want,
                #purge #layers #checks #counters #profile
            };
        }
    }

    /// The imports of a stub.
    pub(crate) fn stub_uses(&self) -> TokenStream {
        let face = self.face;
        quote! {
            use ::core::alloc::{GlobalAlloc, Layout};
            use ::core::primitive::u8;
            use ::core::ptr;
            use #face::__private as runtime;
            use runtime::{Counters, Profile, Stats};
        }
    }
}

/// The block behind the type: `imports`, and what `body` makes of the type's name.
///
/// An import would shadow a type that is called the same. Such a type gets a second name, outside
/// of the imports' reach.
pub(crate) fn block(
    name: &Ident,
    imports: &TokenStream,
    body: impl FnOnce(&Ident) -> TokenStream,
) -> TokenStream {
    if !mentions(imports.clone(), name) {
        let body = body(name);
        return quote!(const _: () = { #imports #body };);
    }
    let second = Ident::new("Declared", Span::call_site());
    let body = body(&second);
    quote! {
        const _: () = {
            type #second = #name;
            const _: () = { #imports #body };
        };
    }
}

fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Ident(ident) => ident == *name,
        _ => false,
    })
}

/// The macro `assert`. Macros cannot be imported: a user's `macro_rules!` would come first.
pub(crate) fn assert() -> TokenStream {
    quote!(::core::assert)
}

/// What the generated type derives.
pub(crate) fn derives() -> TokenStream {
    quote! {
        #[derive(
            ::core::clone::Clone,
            ::core::marker::Copy,
            ::core::fmt::Debug,
            ::core::default::Default
        )]
    }
}
