//! What the generated type offers: `GlobalAlloc`, and a look at what it holds.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::checks::Guarded;
use crate::{counters, number, profile};
use hak_spec::{Inline, Spec};

/// The inherent methods.
pub(crate) fn methods(name: &Ident, spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let count = number(spec.classes.len() as u64);
    let flush =
        spec.layers.has_cache().then(|| quote!(CACHE.with(|cache| unsafe { cache.flush(&HEAP) });));
    let release = guarded.flush();
    let (counters, profile) = (counters::method(spec), profile::method(spec));
    quote! {
        impl #name {
            /// What this allocator holds now. Takes its locks for a moment, allocates nothing.
            pub fn stats() -> Stats<#count> {
                HEAP.stats()
            }

            /// Gives the free blocks that this thread and the depots keep back to their slabs.
            pub fn flush() {
                #release
                #flush
                HEAP.drain_depots();
            }

            /// Returns all memory that no block is in to the system, but for what other threads
            /// cache. Takes a while when there is much of it.
            pub fn purge() {
                Self::flush();
                HEAP.purge();
            }

            #counters
            #profile
        }
    }
}

/// What `alloc` does with its `layout`. `of_no_bytes` is an arm of the match, as for the next two.
pub(crate) fn alloc(guarded: &Guarded<'_>, of_no_bytes: Option<TokenStream>) -> TokenStream {
    let bytes = guarded.bytes(quote!(layout.size()));
    let obtain = guarded.obtain(quote!(layout.size()));
    quote! {
        match class_of(#bytes, layout.align()) {
            Some(place) => unsafe { #obtain },
            #of_no_bytes
            None => alloc_large(layout, Want::Bytes),
        }
    }
}

/// What `dealloc` does with its `block` and `layout`.
pub(crate) fn dealloc(guarded: &Guarded<'_>, of_no_bytes: Option<TokenStream>) -> TokenStream {
    let (bytes, release) = (guarded.bytes(quote!(layout.size())), guarded.release());
    quote! {
        match class_of(#bytes, layout.align()) {
            Some(place) => unsafe { #release },
            #of_no_bytes
            None => unsafe { dealloc_large(block, layout) },
        }
    }
}

/// What `alloc_zeroed` does with its `layout`.
pub(crate) fn alloc_zeroed(guarded: &Guarded<'_>, of_no_bytes: Option<TokenStream>) -> TokenStream {
    let bytes = guarded.bytes(quote!(layout.size()));
    let obtain = guarded.obtain(quote!(layout.size()));
    quote! {
        match class_of(#bytes, layout.align()) {
            Some(place) => {
                let block = unsafe { #obtain };
                if !block.is_null() {
                    unsafe { ptr::write_bytes(block, 0, layout.size()) };
                }
                block
            }
            #of_no_bytes
            None => alloc_large(layout, Want::Zeros),
        }
    }
}

/// The implementation of `GlobalAlloc`.
pub(crate) fn implementation(name: &Ident, spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let [inline, inline_realloc] = inlining(spec.hints.inline);
    let [alloc_byte, dealloc_byte, alloc_zeroed_byte] = [
        quote!(unsafe { GlobalAlloc::alloc(self, byte) }),
        quote!(unsafe { GlobalAlloc::dealloc(self, block, byte) }),
        quote!(unsafe { GlobalAlloc::alloc_zeroed(self, byte) }),
    ]
    .map(|call| call_of_itself(spec.hints.inline, &call));
    let alloc = alloc(guarded, alloc_byte);
    let alloc_zeroed = alloc_zeroed(guarded, alloc_zeroed_byte);
    let dealloc = dealloc(guarded, dealloc_byte);
    let [if_due, if_due_zeroed, if_known] = profile::detours(spec);
    let realloc = realloc(spec, guarded, &inline_realloc);
    quote! {
        unsafe impl GlobalAlloc for #name {
            #inline
            unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
                #if_due
                #alloc
            }

            #inline
            unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
                #if_known
                #dealloc
            }

            #inline
            unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
                #if_due_zeroed
                #alloc_zeroed
            }

            #realloc
        }
    }
}

/// For `inline = "constant"`, an arm of the match on the class in which a function calls itself.
///
/// Rust cannot ask whether a layout is a constant, but LLVM's inliner can be made to: it refuses a
/// function that calls itself, and of the function it looks at no more than the call's constants
/// leave. A constant layout that a class serves takes this arm away, and the few instructions that
/// remain are inlined. With any other layout the arm stays, and so does the call.
///
/// What the arm says is true: a request of no bytes, which `GlobalAlloc` does not allow, is one of
/// a byte. `unknown` hides that callers never make one; `black_box` keeps the call from becoming a
/// jump to the start.
fn call_of_itself(inline: Inline, call: &TokenStream) -> Option<TokenStream> {
    (inline == Inline::Constant).then(|| {
        quote! {
            None if runtime::unknown(layout.size()) == 0 => {
                let byte = runtime::at_least_a_byte(layout);
                let result = #call;
                black_box(());
                result
            }
        }
    })
}

/// The attributes of the methods, and of `realloc`, whose layouts are hardly ever constants.
fn inlining(inline: Inline) -> [TokenStream; 2] {
    let never = quote!(#[inline(never)]);
    match inline {
        Inline::Always => [quote!(#[inline(always)]), quote!(#[inline])],
        Inline::Constant => {
            let with_doc = quote! {
                /// Calls itself, for a request of no bytes: so the compiler inlines it for constant
                /// layouts only.
                #[inline]
            };
            [with_doc, never]
        }
        Inline::Never => [never.clone(), never],
    }
}

/// Resizing within a class is the short half; the other is out of line.
fn realloc(spec: &Spec, guarded: &Guarded<'_>, inline: &TokenStream) -> TokenStream {
    let resized = counters::resized(spec);
    let (bytes, new_bytes) =
        (guarded.bytes(quote!(layout.size())), guarded.bytes(quote!(new_size)));
    let keep = guarded.keep();
    quote! {
        #inline
        unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
            let new_layout =
                unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
            if let (Some(place), Some(new_place)) =
                (class_of(#bytes, layout.align()), class_of(#new_bytes, layout.align()))
                && place == new_place
            {
                #resized
                return #keep;
            }
            unsafe { realloc_slow(block, layout, new_layout) }
        }
    }
}

/// The out-of-line half of `realloc`.
pub(crate) fn realloc_slow(spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let (bytes, new_bytes) = (guarded.bytes(quote!(size)), guarded.bytes(quote!(new_size)));
    let (obtain, release) = (guarded.obtain(quote!(new_size)), guarded.release());
    let inspect = guarded.inspect_before_copy();
    let [hold, settle] = profile::around_resize(spec);
    let [sample, end] = profile::around_move(spec);
    let resized_large = counters::resized_large(spec);
    let at_least_a_byte = (spec.hints.inline == Inline::Constant).then(|| {
        quote! {
            let layout = runtime::at_least_a_byte(layout);
            let new_layout = runtime::at_least_a_byte(new_layout);
        }
    });
    quote! {
        /// Resizes a block whose class changes, or that no class serves.
        #[inline(never)]
        unsafe fn realloc_slow(
            block: *mut u8,
            layout: Layout,
            new_layout: Layout,
        ) -> *mut u8 {
            #at_least_a_byte
            let (size, new_size, align) = (layout.size(), new_layout.size(), layout.align());
            let (place, new_place) = (class_of(#bytes, align), class_of(#new_bytes, align));
            #inspect
            if place.is_none() && new_place.is_none() {
                #hold
                let resized = unsafe { HEAP.resize_large(block, #bytes, #new_bytes, align) };
                #settle
                if !resized.is_null() {
                    #resized_large
                    return resized;
                }
            }
            let want = if size < new_size { Want::Growth } else { Want::Bytes };
            let moved = match new_place {
                Some(place) => unsafe { #obtain },
                None => alloc_large(new_layout, want),
            };
            if moved.is_null() {
                return moved;
            }
            let kept = if size < new_size { size } else { new_size };
            unsafe { ptr::copy_nonoverlapping(block, moved, kept) };
            #sample
            #end
            match place {
                Some(place) => unsafe { #release },
                None => unsafe { dealloc_large(block, layout) },
            }
            moved
        }
    }
}
