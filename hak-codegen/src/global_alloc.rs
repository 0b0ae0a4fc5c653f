//! What the generated type offers: `GlobalAlloc`, and a look at what it holds.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::number;
use hak_spec::{Inline, Spec};

/// The inherent methods.
pub(crate) fn methods(name: &Ident, spec: &Spec) -> TokenStream {
    let count = number(spec.classes.len() as u64);
    quote! {
        impl #name {
            /// What this allocator holds now. Takes its locks for a moment, allocates nothing.
            pub fn stats() -> Stats<#count> {
                HEAP.stats()
            }

            /// Gives the free blocks that this thread and the depots keep back to their slabs.
            pub fn flush() {
                CACHE.with(|cache| unsafe { cache.flush(&HEAP) });
                HEAP.drain_depots();
            }

            /// Returns all memory that no block is in to the system, but for what other threads
            /// cache. Takes a while when there is much of it.
            pub fn purge() {
                Self::flush();
                HEAP.purge();
            }
        }
    }
}

/// The implementation of `GlobalAlloc`.
pub(crate) fn implementation(name: &Ident, spec: &Spec) -> TokenStream {
    let inline = match spec.hints.inline {
        Inline::Always => quote!(#[inline(always)]),
        Inline::Never => quote!(#[inline(never)]),
    };
    let realloc = realloc();
    quote! {
        unsafe impl GlobalAlloc for #name {
            #inline
            unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
                match class_of(layout) {
                    Some(place) => unsafe { alloc_class(place) },
                    None => alloc_large(layout, false),
                }
            }

            #inline
            unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
                match class_of(layout) {
                    Some(place) => unsafe { dealloc_class(block, place) },
                    None => unsafe { dealloc_large(block, layout) },
                }
            }

            #inline
            unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
                let Some(place) = class_of(layout) else {
                    return alloc_large(layout, true);
                };
                let block = unsafe { alloc_class(place) };
                if !block.is_null() {
                    unsafe { ptr::write_bytes(block, 0, layout.size()) };
                }
                block
            }

            #realloc
        }
    }
}

/// Resizing within a class is the short half; the other is out of line.
fn realloc() -> TokenStream {
    quote! {
        #[inline]
        unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
            let new_layout =
                unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
            if let (Some(place), Some(new_place)) = (class_of(layout), class_of(new_layout))
                && place == new_place
            {
                return block;
            }
            unsafe { realloc_slow(block, layout, new_layout) }
        }
    }
}

/// The out-of-line half of `realloc`.
pub(crate) fn realloc_slow() -> TokenStream {
    quote! {
        /// Resizes a block whose class changes, or that no class serves.
        #[inline(never)]
        unsafe fn realloc_slow(
            block: *mut u8,
            layout: Layout,
            new_layout: Layout,
        ) -> *mut u8 {
            let (size, new_size, align) = (layout.size(), new_layout.size(), layout.align());
            let (place, new_place) = (class_of(layout), class_of(new_layout));
            if place.is_none() && new_place.is_none() {
                let resized = unsafe { HEAP.resize_large(block, size, new_size, align) };
                if !resized.is_null() {
                    return resized;
                }
            }
            let moved = match new_place {
                Some(place) => unsafe { alloc_class(place) },
                None => alloc_large(new_layout, false),
            };
            if moved.is_null() {
                return moved;
            }
            let kept = if size < new_size { size } else { new_size };
            unsafe { ptr::copy_nonoverlapping(block, moved, kept) };
            match place {
                Some(place) => unsafe { dealloc_class(block, place) },
                None => unsafe { dealloc_large(block, layout) },
            }
            moved
        }
    }
}
