//! Alloc and dealloc of a known class: one branch, and what lies behind it out of line.

use proc_macro2::TokenStream;
use quote::quote;

use hak_spec::{Likely, Spec};

/// A branch whose condition says that the slow path is needed, hinted as the spec says.
fn branch(usually_fast: Likely, condition: TokenStream, slow: TokenStream) -> TokenStream {
    match usually_fast {
        Likely::Likely => quote! { if #condition { cold_path(); #slow } },
        Likely::Unlikely => quote! { if #condition { #slow } cold_path(); },
        Likely::None => quote! { if #condition { #slow } },
    }
}

/// `#[cold]` on a slow half makes every branch to it unlikely: only where the spec says so.
fn cold(usually_fast: Likely) -> Option<TokenStream> {
    (usually_fast == Likely::Likely).then(|| quote!(#[cold]))
}

/// The functions that serve a class.
pub(crate) fn paths(spec: &Spec) -> TokenStream {
    let miss = branch(spec.hints.hit, quote!(bin.is_empty()), quote!(return alloc_slow(place);));
    let full = branch(
        spec.hints.room,
        quote!(bin.is_full()),
        quote!(return unsafe { dealloc_slow(block, place) };),
    );
    let [hit, room, small] = [spec.hints.hit, spec.hints.room, spec.hints.small].map(cold);
    quote! {
        /// A block of the class at a place.
        #[inline(always)]
        unsafe fn alloc_class(place: usize) -> *mut u8 {
            CACHE.with(|cache| {
                let bin = unsafe { cache.bin(place) };
                #miss
                unsafe { bin.pop() }
            })
        }

        /// Takes back a block of the class at a place, which no one uses any more.
        #[inline(always)]
        unsafe fn dealloc_class(block: *mut u8, place: usize) {
            CACHE.with(|cache| {
                let bin = unsafe { cache.bin(place) };
                #full
                unsafe { bin.push(block) };
            })
        }

        /// `alloc_class` when the bin is empty.
        #hit
        #[inline(never)]
        fn alloc_slow(place: usize) -> *mut u8 {
            CACHE.with(|cache| unsafe { cache.alloc_slow(&HEAP, place) })
        }

        /// `dealloc_class` when the bin is full.
        #room
        #[inline(never)]
        unsafe fn dealloc_slow(block: *mut u8, place: usize) {
            CACHE.with(|cache| unsafe { cache.dealloc_slow(&HEAP, place, block) })
        }

        /// A request above all classes: a span or a mapping.
        #small
        #[inline(never)]
        fn alloc_large(layout: Layout, zeroed: bool) -> *mut u8 {
            CACHE.with(|cache| unsafe { cache.alloc_large(&HEAP, layout, zeroed) })
        }

        /// Takes back a span or a mapping.
        #small
        #[inline(never)]
        unsafe fn dealloc_large(start: *mut u8, layout: Layout) {
            unsafe { HEAP.dealloc_large(start, layout.size(), layout.align()) }
        }
    }
}
