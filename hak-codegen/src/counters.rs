//! What `stats.counters` adds to the code: nothing where a spec does not ask for it.
//!
//! With a cache each thread has counts of its own, at the places of its cache; without one the
//! totals are all there is.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::{layers, number};
use hak_spec::Spec;

/// Words of an allocator's counts without a cache: no thread has any, but the totals have a type.
const WORDS_MIN: u32 = 2;

/// `tokens`, if things are counted.
fn counted(spec: &Spec, tokens: impl FnOnce() -> TokenStream) -> Option<TokenStream> {
    spec.counters.then(tokens)
}

/// The two figures of the types.
fn figures(spec: &Spec) -> [Literal; 2] {
    let words = layers::words(spec.layers).max(WORDS_MIN);
    [number(words), number(spec.classes.len() as u64)]
}

/// The runtime's types that the rest names.
pub(crate) fn imports(spec: &Spec) -> Option<TokenStream> {
    counted(spec, || {
        let counts = spec.layers.has_cache().then(|| quote!(Counts,));
        quote!(CountTotals, Counters, #counts)
    })
}

/// Where counts stand.
pub(crate) fn statics(spec: &Spec) -> Option<TokenStream> {
    counted(spec, || {
        let [words, count] = figures(spec);
        let counts = spec.layers.has_cache().then(|| {
            quote! {
                runtime::thread_local! {
                    /// What a thread counts, at the places of its `CACHE`.
                    static COUNTS: Counts<#words, #count> = const { Counts::new() };
                }
            }
        });
        quote! {
            /// What ended threads have counted, and which live.
            static TOTALS: CountTotals<#words, #count> = CountTotals::new();
            #counts
        }
    })
}

/// After an alloc has found a block in `cache`.
pub(crate) fn alloc_hit(spec: &Spec) -> Option<TokenStream> {
    counted(spec, || quote!(COUNTS.with(|counts| unsafe { counts.alloc_hit(place) });))
}

/// After a dealloc has found room in `cache`.
pub(crate) fn dealloc_hit(spec: &Spec) -> Option<TokenStream> {
    if spec.checks.quarantine {
        return None;
    }
    counted(spec, || quote!(COUNTS.with(|counts| unsafe { counts.dealloc_hit(place) });))
}

/// A slow alloc of the class at `place`, counted.
pub(crate) fn missed(spec: &Spec, alloc: TokenStream) -> TokenStream {
    let count = quote! {
        COUNTS.with(|counts| {
            CACHE.with(|cache| unsafe { counts.missed(&TOTALS, cache, place, block) })
        });
    };
    then_for_block(spec, alloc, &count)
}

/// Before a block is held back: it is freed now, whenever it leaves for the cache.
pub(crate) fn freed(spec: &Spec) -> Option<TokenStream> {
    counted(spec, || {
        quote! {
            COUNTS.with(|counts| {
                CACHE.with(|cache| unsafe { counts.freed(&TOTALS, cache, place) })
            });
        }
    })
}

/// A slow dealloc of the class at `place`, counted.
pub(crate) fn overflowed(spec: &Spec, dealloc: TokenStream) -> TokenStream {
    if spec.checks.quarantine {
        return dealloc;
    }
    let count = quote! {
        COUNTS.with(|counts| {
            CACHE.with(|cache| unsafe { counts.overflowed(&TOTALS, cache, place) })
        });
    };
    then(spec, dealloc, &count)
}

/// An alloc of `class` without a cache, counted.
pub(crate) fn direct_alloc(spec: &Spec, alloc: TokenStream) -> TokenStream {
    then_for_block(spec, alloc, &quote!(TOTALS.alloc(class, block);))
}

/// A dealloc of `class` without a cache, counted.
pub(crate) fn direct_dealloc(spec: &Spec, dealloc: TokenStream) -> TokenStream {
    then(spec, dealloc, &quote!(TOTALS.dealloc(class);))
}

/// An alloc above all classes, counted.
pub(crate) fn alloc_large(spec: &Spec, alloc: TokenStream) -> TokenStream {
    then_for_block(spec, alloc, &quote!(TOTALS.alloc_large(block);))
}

/// A dealloc above all classes, counted.
pub(crate) fn dealloc_large(spec: &Spec, dealloc: TokenStream) -> TokenStream {
    then(spec, dealloc, &quote!(TOTALS.dealloc_large();))
}

/// When a realloc has left a block of the class at `place` where it was.
pub(crate) fn resized(spec: &Spec) -> Option<TokenStream> {
    counted(spec, || {
        if spec.layers.has_cache() {
            quote!(COUNTS.with(|counts| counts.resized(&TOTALS, place));)
        } else {
            quote!(TOTALS.resized(place);)
        }
    })
}

/// When a realloc above all classes has copied nothing.
pub(crate) fn resized_large(spec: &Spec) -> Option<TokenStream> {
    counted(spec, || quote!(TOTALS.resized_large();))
}

/// The method of the type.
pub(crate) fn method(spec: &Spec) -> Option<TokenStream> {
    counted(spec, || {
        let [_, count] = figures(spec);
        quote! {
            /// What was allocated and freed since the start. Takes locks for a moment, allocates
            /// nothing. Exact when the threads that use this allocator are quiet.
            pub fn counters() -> Counters<#count> {
                TOTALS.counters(&HEAP)
            }
        }
    })
}

/// What gives a block, and then what counts `block`.
fn then_for_block(spec: &Spec, alloc: TokenStream, count: &TokenStream) -> TokenStream {
    if !spec.counters {
        return alloc;
    }
    let alloc = one_expression(spec, alloc);
    quote! {
        let block = #alloc;
        #count
        block
    }
}

/// With its time taken, it is several statements.
fn one_expression(spec: &Spec, timed: TokenStream) -> TokenStream {
    if spec.profile { quote!({ #timed }) } else { timed }
}

/// What gives nothing, and then what counts it.
fn then(spec: &Spec, dealloc: TokenStream, count: &TokenStream) -> TokenStream {
    if !spec.counters {
        return dealloc;
    }
    let dealloc = one_expression(spec, dealloc);
    quote! {
        #dealloc;
        #count
    }
}
