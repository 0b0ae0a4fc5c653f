//! `Allocator` of the crate allocator-api2, on top of `GlobalAlloc`.
//!
//! Three rules differ from `GlobalAlloc`: a layout may have no bytes, a resize may change the
//! alignment, and the caller hears how many bytes it got.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::NonNull;

pub use allocator_api2::alloc::{AllocError, Allocator};

/// A block as the trait hands it out: with its size.
pub type Block = Result<NonNull<[u8]>, AllocError>;

/// Serves [`Allocator::allocate`] and its zeroed sister.
///
/// # Errors
///
/// If the allocator has no memory.
pub fn allocate(allocator: &impl GlobalAlloc, layout: Layout, zeroed: bool) -> Block {
    if layout.size() == 0 {
        return Ok(NonNull::slice_from_raw_parts(layout.dangling_ptr(), 0));
    }
    let start = if zeroed {
        // SAFETY: the layout has bytes.
        unsafe { allocator.alloc_zeroed(layout) }
    } else {
        // SAFETY: the layout has bytes.
        unsafe { allocator.alloc(layout) }
    };
    let start = NonNull::new(start).ok_or(AllocError)?;
    Ok(NonNull::slice_from_raw_parts(start, layout.size()))
}

/// Serves [`Allocator::deallocate`].
///
/// # Safety
///
/// `block` is a live block of `allocator` with this layout, and not used after this call.
pub unsafe fn deallocate(allocator: &impl GlobalAlloc, block: NonNull<u8>, layout: Layout) {
    if layout.size() > 0 {
        // SAFETY: by this function's contract; a block with bytes came from `GlobalAlloc`.
        unsafe { allocator.dealloc(block.as_ptr(), layout) };
    }
}

/// Serves [`Allocator::grow`], [`Allocator::grow_zeroed`] and [`Allocator::shrink`].
///
/// # Errors
///
/// If the allocator has no memory; the old block is then as it was.
///
/// # Safety
///
/// `block` is a live block of `allocator` with layout `old`. If the result is a block, the old one
/// is not used after this call.
pub unsafe fn resize(
    allocator: &impl GlobalAlloc,
    block: NonNull<u8>,
    old: Layout,
    new: Layout,
    zeroed: bool,
) -> Block {
    if old.align() == new.align() && old.size() > 0 && new.size() > 0 && !zeroed {
        // SAFETY: the block came from `GlobalAlloc`, and the new size is not 0.
        let start = unsafe { allocator.realloc(block.as_ptr(), old, new.size()) };
        let start = NonNull::new(start).ok_or(AllocError)?;
        return Ok(NonNull::slice_from_raw_parts(start, new.size()));
    }
    let moved = allocate(allocator, new, zeroed)?;
    let kept = old.size().min(new.size());
    // SAFETY: both blocks have that many bytes, and a fresh block is none that lives.
    unsafe { block.copy_to_nonoverlapping(moved.cast(), kept) };
    // SAFETY: by this function's contract.
    unsafe { deallocate(allocator, block, old) };
    Ok(moved)
}

/// Implements `Allocator` for a generated type.
#[doc(hidden)]
#[macro_export]
macro_rules! __implement_allocator {
    ($name:ident) => {
        const _: () = {
            use ::core::alloc::Layout;
            use ::core::ptr::NonNull;
            use $crate::__private::allocator_api::{
                Allocator, Block, allocate, deallocate, resize,
            };

            unsafe impl Allocator for $name {
                #[inline]
                fn allocate(&self, layout: Layout) -> Block {
                    allocate(self, layout, false)
                }

                #[inline]
                fn allocate_zeroed(&self, layout: Layout) -> Block {
                    allocate(self, layout, true)
                }

                #[inline]
                unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
                    unsafe { deallocate(self, block, layout) }
                }

                unsafe fn grow(&self, block: NonNull<u8>, old: Layout, new: Layout) -> Block {
                    unsafe { resize(self, block, old, new, false) }
                }

                unsafe fn grow_zeroed(
                    &self,
                    block: NonNull<u8>,
                    old: Layout,
                    new: Layout,
                ) -> Block {
                    unsafe { resize(self, block, old, new, true) }
                }

                unsafe fn shrink(&self, block: NonNull<u8>, old: Layout, new: Layout) -> Block {
                    unsafe { resize(self, block, old, new, false) }
                }
            }
        };
    };
}
