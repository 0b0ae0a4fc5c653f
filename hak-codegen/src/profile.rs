//! What `stats.profile` adds to the code: nothing where a spec does not ask for it.
//!
//! A request that is to be sampled leaves the hit path at its start, for a function that does the
//! same and samples it. So the hit path keeps its registers, and what it jumps to.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

use crate::checks::Guarded;
use crate::{global_alloc, layers, number};
use hak_spec::Spec;

/// `tokens`, if things are sampled.
fn sampled(spec: &Spec, tokens: impl FnOnce() -> TokenStream) -> Option<TokenStream> {
    spec.profile.then(tokens)
}

fn count(spec: &Spec) -> Literal {
    number(spec.classes.len() as u64)
}

/// The runtime's types that the rest names.
pub(crate) fn imports(spec: &Spec) -> Option<TokenStream> {
    sampled(spec, || quote!(Profile, Profiler, ProfilerForks, Sampler,))
}

/// Where samples stand.
pub(crate) fn statics(spec: &Spec) -> Option<TokenStream> {
    sampled(spec, || {
        let (count, mean) = (count(spec), number(spec.sample_bytes));
        quote! {
            /// What was sampled: of so many classes, once in so many bytes.
            static PROFILER: Profiler<#count, #mean> = Profiler::new();
            static PROFILER_FORKS: ProfilerForks = ProfilerForks::new();

            runtime::thread_local! {
                /// How many bytes are left until the thread's next sample.
                static SAMPLER: Sampler<#mean> = const { Sampler::new() };
            }
        }
    })
}

/// Before `alloc`, `alloc_zeroed` and `dealloc`: the ways that a sampled request goes.
pub(crate) fn detours(spec: &Spec) -> [Option<TokenStream>; 3] {
    let if_due = |function: TokenStream| {
        quote! {
            if SAMPLER.with(|sampler| sampler.is_due(layout.size())) {
                cold_path();
                return unsafe { #function(layout) };
            }
        }
    };
    let if_known = quote! {
        if PROFILER.may_know(block) {
            cold_path();
            return unsafe { dealloc_known(block, layout) };
        }
    };
    [if_due(quote!(alloc_due)), if_due(quote!(alloc_zeroed_due)), if_known]
        .map(|detour| sampled(spec, || detour))
}

/// What sampled requests leave the hit path for.
pub(crate) fn functions(spec: &Spec, guarded: &Guarded<'_>) -> Option<TokenStream> {
    sampled(spec, || {
        let sample = sample(spec, guarded);
        let due = [
            due("alloc_due", " `alloc`, sampled.", &global_alloc::alloc(guarded, None)),
            due(
                "alloc_zeroed_due",
                " `alloc_zeroed`, sampled.",
                &global_alloc::alloc_zeroed(guarded, None),
            ),
        ];
        let dealloc = global_alloc::dealloc(guarded, None);
        quote! {
            #sample
            #(#due)*

            /// `dealloc` of a block that may have been sampled.
            #[cold]
            #[inline(never)]
            unsafe fn dealloc_known(block: *mut u8, layout: Layout) {
                end_sample(block);
                #dealloc
            }
        }
    })
}

/// A request that is due: what serves it, and what samples it.
fn due(name: &str, doc: &str, alloc: &TokenStream) -> TokenStream {
    let name = Ident::new(name, Span::call_site());
    quote! {
        #[doc = #doc]
        #[cold]
        #[inline(never)]
        unsafe fn #name(layout: Layout) -> *mut u8 {
            #[inline(always)]
            unsafe fn alloc(layout: Layout) -> *mut u8 {
                #alloc
            }
            let block = unsafe { alloc(layout) };
            sample(block, layout);
            block
        }
    }
}

/// How a sample begins and ends.
fn sample(spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let (class, count) = (layers::class_at_place(spec.layers), count(spec));
    let bytes = guarded.bytes(quote!(size));
    quote! {
        /// Samples a block whose request was due.
        fn sample(block: *mut u8, layout: Layout) {
            let (size, align) = (layout.size(), layout.align());
            let class = match class_of(#bytes, align) {
                Some(place) => #class,
                None => #count,
            };
            SAMPLER.with(|sampler| {
                PROFILER.allocated(&PROFILER_FORKS, sampler, block, size, class)
            });
        }

        /// Ends the sample of a block, if there is one. The block is still the caller's.
        fn end_sample(block: *mut u8) {
            SAMPLER.with(|sampler| PROFILER.freed(sampler, block));
        }
    }
}

/// Samples what a realloc moved a block to, if that is due.
fn sample_if_due(block: &TokenStream) -> TokenStream {
    quote! {
        if SAMPLER.with(|sampler| sampler.is_due(new_size)) {
            sample(#block, new_layout);
        }
    }
}

/// Before and after `resized` becomes what the system makes of `block`, or null.
pub(crate) fn around_resize(spec: &Spec) -> [Option<TokenStream>; 2] {
    let sample = sample_if_due(&quote!(resized));
    let settle = quote! {
        let has_moved = !resized.is_null() && resized != block;
        SAMPLER.with(|sampler| PROFILER.settle(sampler, held, has_moved));
        if has_moved {
            #sample
        }
    };
    [quote!(let held = PROFILER.hold(block);), settle].map(|part| sampled(spec, || part))
}

/// When `block` has been copied to `moved`: a sample of the new one, and the end of the old one's.
pub(crate) fn around_move(spec: &Spec) -> [Option<TokenStream>; 2] {
    [sample_if_due(&quote!(moved)), quote!(end_sample(block);)].map(|part| sampled(spec, || part))
}

/// The class of a function off the hit path: at its `place`, or its `class` without a cache.
fn class_of_slow(spec: &Spec) -> TokenStream {
    if spec.layers.has_cache() { layers::class_at_place(spec.layers) } else { quote!(class) }
}

/// A slow alloc, with its time taken; without a cache every alloc of a class.
pub(crate) fn timed_alloc(spec: &Spec, alloc: TokenStream) -> TokenStream {
    let class = class_of_slow(spec);
    timed_block(spec, alloc, &quote!(PROFILER.slow_alloc(#class, begun);))
}

/// A slow dealloc, with its time taken; without a cache every dealloc of a class.
pub(crate) fn timed_dealloc(spec: &Spec, dealloc: TokenStream) -> TokenStream {
    let class = class_of_slow(spec);
    timed(spec, dealloc, &quote!(PROFILER.slow_dealloc(#class, begun);))
}

/// An alloc above all classes, with its time taken.
pub(crate) fn timed_alloc_large(spec: &Spec, alloc: TokenStream) -> TokenStream {
    let count = count(spec);
    timed_block(spec, alloc, &quote!(PROFILER.slow_alloc(#count, begun);))
}

/// A dealloc above all classes, with its time taken.
pub(crate) fn timed_dealloc_large(spec: &Spec, dealloc: TokenStream) -> TokenStream {
    let count = count(spec);
    timed(spec, dealloc, &quote!(PROFILER.slow_dealloc(#count, begun);))
}

/// The method of the type.
pub(crate) fn method(spec: &Spec) -> Option<TokenStream> {
    sampled(spec, || {
        let count = count(spec);
        quote! {
            /// What was sampled since the start: sizes, lifetimes, and the times of slow paths.
            /// Allocates nothing; waits some milliseconds if the first sample was not long ago.
            pub fn profile() -> Profile<#count> {
                PROFILER.profile(&PROFILER_FORKS, &HEAP)
            }
        }
    })
}

/// What gives a block, between two looks at the clock.
fn timed_block(spec: &Spec, alloc: TokenStream, end: &TokenStream) -> TokenStream {
    if !spec.profile {
        return alloc;
    }
    quote! {
        let begun = runtime::ticks();
        let block = #alloc;
        #end
        block
    }
}

/// What gives nothing, between two looks at the clock.
fn timed(spec: &Spec, dealloc: TokenStream, end: &TokenStream) -> TokenStream {
    if !spec.profile {
        return dealloc;
    }
    quote! {
        let begun = runtime::ticks();
        #dealloc;
        #end
    }
}
