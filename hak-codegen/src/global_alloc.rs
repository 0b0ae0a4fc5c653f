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
                    Some(class) => unsafe { alloc_class(class) },
                    None => alloc_large(layout.size(), layout.align(), false),
                }
            }

            #inline
            unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
                match class_of(layout) {
                    Some(class) => unsafe { dealloc_class(block, class) },
                    None => unsafe { dealloc_large(block, layout.size(), layout.align()) },
                }
            }

            #inline
            unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
                let Some(class) = class_of(layout) else {
                    return alloc_large(layout.size(), layout.align(), true);
                };
                let block = unsafe { alloc_class(class) };
                if !block.is_null() {
                    unsafe { ptr::write_bytes(block, 0, layout.size()) };
                }
                block
            }

            #realloc
        }
    }
}

/// Resizing is out of line: its sizes are seldom constants, and it usually copies.
fn realloc() -> TokenStream {
    quote! {
        /// Out of line: it usually copies.
        #[inline(never)]
        unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
            let (size, align) = (layout.size(), layout.align());
            let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, align) };
            match (class_of(layout), class_of(new_layout)) {
                (Some(class), Some(new_class)) if class == new_class => return block,
                (None, None) => {
                    let resized = unsafe { HEAP.resize_large(block, size, new_size, align) };
                    if !resized.is_null() {
                        return resized;
                    }
                }
                _ => {}
            }
            let moved = unsafe { self.alloc(new_layout) };
            if !moved.is_null() {
                let kept = if size < new_size { size } else { new_size };
                unsafe { ptr::copy_nonoverlapping(block, moved, kept) };
                unsafe { self.dealloc(block, layout) };
            }
            moved
        }
    }
}
