//! Requests by size alone, all aligned to 8, which must be served.

use std::alloc::{GlobalAlloc, Layout};

pub(crate) const KIB: usize = 1 << 10;
pub(crate) const MIB: usize = 1 << 20;

pub(crate) fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

pub(crate) fn alloc(allocator: &impl GlobalAlloc, size: usize) -> *mut u8 {
    // SAFETY: the layout has bytes.
    let block = unsafe { allocator.alloc(layout(size)) };
    assert!(!block.is_null());
    block
}

pub(crate) fn free(allocator: &impl GlobalAlloc, block: *mut u8, size: usize) {
    // SAFETY: callers give a block of this size, which they do not use again.
    unsafe { allocator.dealloc(block, layout(size)) };
}

pub(crate) fn realloc(
    allocator: &impl GlobalAlloc,
    block: *mut u8,
    size: usize,
    new_size: usize,
) -> *mut u8 {
    // SAFETY: as for `free`, and the new size is not 0.
    let block = unsafe { allocator.realloc(block, layout(size), new_size) };
    assert!(!block.is_null());
    block
}
