//! What is declared in place of an allocator whose spec is wrong.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::Target;
use crate::names::{self, Names};

/// A type with the allocator's interface that serves nothing. It stands beside the errors of its
/// spec, so that no second error follows from the first, and is never run.
pub fn stub(target: &Target, name: &Ident) -> TokenStream {
    let Target { attributes, visibility, .. } = target;
    let uses = Names::new(&target.face).stub_uses();
    let block = names::block(name, &uses, interface);
    let derives = names::derives();
    let instance = target.instance(name);
    quote! {
        /// Stands for an allocator whose spec has errors.
        #attributes
        #derives
        #visibility struct #name;

        #[allow(unsafe_code, clippy::all, clippy::pedantic, clippy::restriction)]
        #block

        #instance
    }
}

fn interface(name: &Ident) -> TokenStream {
    quote! {
        impl #name {
            /// Nothing.
            pub fn stats() -> Stats<0> {
                Stats::NONE
            }

            /// Nothing.
            pub fn counters() -> Counters<0> {
                Counters::NONE
            }

            /// Nothing.
            pub fn profile() -> Profile<0> {
                Profile::NONE
            }

            /// Does nothing.
            pub fn flush() {}

            /// Does nothing.
            pub fn purge() {}
        }

        unsafe impl GlobalAlloc for #name {
            unsafe fn alloc(&self, _: Layout) -> *mut u8 {
                ptr::null_mut()
            }

            unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
        }

        runtime::implement_allocator! { #name }
    }
}
