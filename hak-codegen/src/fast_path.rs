//! Alloc and dealloc of a known class: one branch, and what lies behind it out of line.

use proc_macro2::TokenStream;
use quote::quote;

use crate::checks::Guarded;
use crate::{counters, layers, profile};
use hak_spec::{Layers, Likely, Spec};

/// A branch whose condition says that the slow path is needed, hinted as the spec says.
pub(crate) fn branch(
    usually_fast: Likely,
    condition: TokenStream,
    slow: TokenStream,
) -> TokenStream {
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

/// The functions that serve a request, by its class or above all classes.
pub(crate) fn paths(spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let class = if spec.layers.has_cache() { cached(spec, guarded) } else { direct(spec) };
    let large = large(spec, guarded);
    let checks = guarded.functions();
    quote!(#class #large #checks)
}

/// The functions that serve a class from a thread's cache.
fn cached(spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let miss = branch(spec.hints.hit, quote!(bin.is_empty()), quote!(return alloc_slow(place);));
    let is_list = matches!(spec.layers, Layers::Freelist { .. });
    let prefetch = if is_list { quote!(bin.prefetch()) } else { quote!(unsafe { bin.prefetch() }) };
    let pop = if spec.hints.prefetch {
        quote! {
            let block = unsafe { bin.pop() };
            #prefetch;
            block
        }
    } else {
        quote!(unsafe { bin.pop() })
    };
    let full = branch(
        spec.hints.room,
        is_full(spec, guarded),
        quote!(return unsafe { dealloc_slow(block, place) };),
    );
    let [hit, room] = [spec.hints.hit, spec.hints.room].map(cold);
    let (any, held) = (guarded.alloc(), guarded.dealloc(counters::freed(spec)));
    let alloc = if any.is_some() { quote!(alloc_top) } else { quote!(alloc_class) };
    let dealloc = if held.is_some() { quote!(dealloc_released) } else { quote!(dealloc_class) };
    let (alloc_hit, dealloc_hit) = (counters::alloc_hit(spec), counters::dealloc_hit(spec));
    let [alloc_slow, dealloc_slow] = slow_halves(spec, guarded);
    quote! {
        #any

        #held

        /// A block of the class at a place.
        #[inline(always)]
        unsafe fn #alloc(place: usize) -> *mut u8 {
            CACHE.with(|cache| {
                let bin = unsafe { cache.bin(place) };
                #miss
                #alloc_hit
                #pop
            })
        }

        /// Takes back a block of the class at a place, which no one uses any more.
        #[inline(always)]
        unsafe fn #dealloc(block: *mut u8, place: usize) {
            CACHE.with(|cache| {
                let bin = unsafe { cache.bin(place) };
                #full
                #dealloc_hit
                unsafe { bin.push(block) };
            })
        }

        /// The same when the bin is empty.
        #hit
        #[inline(never)]
        fn alloc_slow(place: usize) -> *mut u8 {
            #alloc_slow
        }

        /// The taking back when the bin is full.
        #room
        #[inline(never)]
        unsafe fn dealloc_slow(block: *mut u8, place: usize) {
            #dealloc_slow
        }
    }
}

/// Whether a bin has no room for one block more. A list counts first and asks then; an array asks,
/// and so does a list that threads may share.
pub(crate) fn is_full(spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    match (spec.layers, guarded.is_c()) {
        (Layers::Freelist { .. }, false) => quote!(!bin.count_in()),
        (Layers::Freelist { .. }, true) => quote!(!bin.count_in_if_room()),
        _ => quote!(bin.is_full()),
    }
}

/// What is done when a bin is empty, and when one is full.
fn slow_halves(spec: &Spec, guarded: &Guarded<'_>) -> [TokenStream; 2] {
    let class = layers::class_at_place(spec.layers);
    let alloc = guarded.with_cache(
        quote!(CACHE.with(|cache| unsafe { cache.alloc_slow(&HEAP, place) })),
        &quote!(unsafe { HEAP.take(#class) }),
    );
    let alloc = profile::timed_alloc(spec, guarded.in_need(alloc));
    let dealloc = guarded.with_cache(
        quote!(CACHE.with(|cache| unsafe { cache.dealloc_slow(&HEAP, place, block) })),
        &quote!(unsafe { HEAP.give_back(#class, block) }),
    );
    let dealloc = profile::timed_dealloc(spec, dealloc);
    [counters::missed(spec, alloc), counters::overflowed(spec, dealloc)]
}

/// The functions that serve a class from its slabs.
fn direct(spec: &Spec) -> TokenStream {
    let alloc = profile::timed_alloc(spec, quote!(unsafe { HEAP.take(class) }));
    let alloc = counters::direct_alloc(spec, alloc);
    let dealloc = profile::timed_dealloc(spec, quote!(unsafe { HEAP.give_back(class, block) }));
    let dealloc = counters::direct_dealloc(spec, dealloc);
    quote! {
        /// A block of a class.
        #[inline(never)]
        unsafe fn alloc_class(class: usize) -> *mut u8 {
            #alloc
        }

        /// Takes back a block of a class, which no one uses any more.
        #[inline(never)]
        unsafe fn dealloc_class(block: *mut u8, class: usize) {
            #dealloc
        }
    }
}

/// The functions above all classes.
fn large(spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let small = cold(spec.hints.small);
    let bytes = guarded.bytes(quote!(layout.size()));
    let directly = quote!(HEAP.alloc_large(#bytes, layout.align(), want));
    let alloc = if spec.layers.has_cache() {
        let through = quote! {
            CACHE.with(|cache| unsafe {
                cache.alloc_large(&HEAP, #bytes, layout.align(), want)
            })
        };
        guarded.with_cache(through, &directly)
    } else {
        directly
    };
    let alloc = guarded.in_need(alloc);
    let alloc = counters::alloc_large(spec, profile::timed_alloc_large(spec, alloc));
    let dealloc = quote!(unsafe { HEAP.dealloc_large(start, #bytes, layout.align()) });
    let dealloc = counters::dealloc_large(spec, profile::timed_dealloc_large(spec, dealloc));
    quote! {
        /// A request above all classes: a span or a mapping.
        #small
        #[inline(never)]
        fn alloc_large(layout: Layout, want: Want) -> *mut u8 {
            #alloc
        }

        /// Takes back a span or a mapping.
        #small
        #[inline(never)]
        unsafe fn dealloc_large(start: *mut u8, layout: Layout) {
            #dealloc
        }
    }
}
