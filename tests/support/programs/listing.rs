//! One function for each way in which a program asks for memory, to be disassembled.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::hint::black_box;
use std::mem::MaybeUninit;

/// Six words: 48 bytes.
type Block = [u64; 6];

#[unsafe(no_mangle)]
#[inline(never)]
pub fn new_box() -> Box<Block> {
    Box::new([7; 6])
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn new_box_uninit() -> Box<MaybeUninit<Block>> {
    Box::new_uninit()
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn drop_box(block: Box<Block>) {
    drop(block);
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn new_zeroed() -> *mut u8 {
    // SAFETY: the layout has bytes.
    unsafe { alloc_zeroed(Layout::new::<Block>()) }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn new_vec(capacity: usize) -> Vec<u8> {
    Vec::with_capacity(capacity)
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn drop_vec(vec: Vec<u8>) {
    drop(vec);
}

#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe fn alloc_any(layout: Layout) -> *mut u8 {
    // SAFETY: by `alloc`'s contract, which is this function's.
    unsafe { alloc(layout) }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe fn dealloc_any(block: *mut u8, layout: Layout) {
    // SAFETY: by `dealloc`'s contract, which is this function's.
    unsafe { dealloc(block, layout) }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe fn realloc_any(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: by `realloc`'s contract, which is this function's.
    unsafe { realloc(block, layout, size) }
}

/// Functions whose address is taken are kept as they are, whoever calls them.
fn main() {
    black_box(new_box as fn() -> _);
    black_box(new_box_uninit as fn() -> _);
    black_box(drop_box as fn(_));
    black_box(new_zeroed as fn() -> _);
    black_box(new_vec as fn(_) -> _);
    black_box(drop_vec as fn(_));
    black_box(alloc_any as unsafe fn(_) -> _);
    black_box(dealloc_any as unsafe fn(_, _));
    black_box(realloc_any as unsafe fn(_, _, _) -> _);
}
