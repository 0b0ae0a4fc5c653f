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

/// What `alloc` does with its `layout`.
pub(crate) fn alloc(guarded: &Guarded<'_>) -> TokenStream {
    let bytes = guarded.bytes(quote!(layout.size()));
    let obtain = guarded.obtain(quote!(layout.size()));
    quote! {
        match class_of(#bytes, layout.align()) {
            Some(place) => unsafe { #obtain },
            None => alloc_large(layout, false),
        }
    }
}

/// What `dealloc` does with its `block` and `layout`.
pub(crate) fn dealloc(guarded: &Guarded<'_>) -> TokenStream {
    let (bytes, release) = (guarded.bytes(quote!(layout.size())), guarded.release());
    quote! {
        match class_of(#bytes, layout.align()) {
            Some(place) => unsafe { #release },
            None => unsafe { dealloc_large(block, layout) },
        }
    }
}

/// What `alloc_zeroed` does with its `layout`.
pub(crate) fn alloc_zeroed(guarded: &Guarded<'_>) -> TokenStream {
    let bytes = guarded.bytes(quote!(layout.size()));
    let obtain = guarded.obtain(quote!(layout.size()));
    quote! {
        let Some(place) = class_of(#bytes, layout.align()) else {
            return alloc_large(layout, true);
        };
        let block = unsafe { #obtain };
        if !block.is_null() {
            unsafe { ptr::write_bytes(block, 0, layout.size()) };
        }
        block
    }
}

/// The implementation of `GlobalAlloc`.
pub(crate) fn implementation(name: &Ident, spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let inline = match spec.hints.inline {
        Inline::Always => quote!(#[inline(always)]),
        Inline::Never => quote!(#[inline(never)]),
        Inline::Constant => quote!(#[inline]),
    };
    let (alloc, alloc_zeroed, dealloc) = (alloc(guarded), alloc_zeroed(guarded), dealloc(guarded));
    let [if_due, if_due_zeroed, if_known] = profile::detours(spec);
    let realloc = realloc(spec, guarded);
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

/// Resizing within a class is the short half; the other is out of line.
fn realloc(spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let resized = counters::resized(spec);
    let (bytes, new_bytes) =
        (guarded.bytes(quote!(layout.size())), guarded.bytes(quote!(new_size)));
    let keep = guarded.keep();
    quote! {
        #[inline]
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
    quote! {
        /// Resizes a block whose class changes, or that no class serves.
        #[inline(never)]
        unsafe fn realloc_slow(
            block: *mut u8,
            layout: Layout,
            new_layout: Layout,
        ) -> *mut u8 {
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
            let moved = match new_place {
                Some(place) => unsafe { #obtain },
                None => alloc_large(new_layout, false),
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
