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

#[unsafe(no_mangle)]
#[inline(never)]
pub fn zeroed_vec(length: usize) -> Vec<u8> {
    vec![0; length]
}

/// One after the other: what stands between them, and what behind both?
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe fn two_allocs(first: Layout, second: Layout) -> [*mut u8; 2] {
    // SAFETY: by `alloc`'s contract, which is this function's.
    let first = unsafe { alloc(first) };
    // SAFETY: as above.
    [first, unsafe { alloc(second) }]
}

#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe fn two_deallocs(blocks: [*mut u8; 2], first: Layout, second: Layout) {
    // SAFETY: by `dealloc`'s contract, which is this function's.
    unsafe { dealloc(blocks[0], first) };
    // SAFETY: as above.
    unsafe { dealloc(blocks[1], second) };
}

#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe fn two_reallocs(blocks: [*mut u8; 2], layout: Layout, size: usize) -> [*mut u8; 2] {
    // SAFETY: by `realloc`'s contract, which is this function's.
    let first = unsafe { realloc(blocks[0], layout, size) };
    // SAFETY: as above.
    [first, unsafe { realloc(blocks[1], layout, size) }]
}

/// A function that allocates so many words.
macro_rules! new_words {
    ($($name:ident: $words:literal),*) => {
        $(
            #[unsafe(no_mangle)]
            #[inline(never)]
            pub fn $name() -> Box<MaybeUninit<[u64; $words]>> {
                Box::new_uninit()
            }
        )*
    };
}

new_words! { new_2: 2, new_4: 4, new_8: 8, new_16: 16, new_32: 32, new_64: 64 }

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
    black_box(zeroed_vec as fn(_) -> _);
    black_box(two_allocs as unsafe fn(_, _) -> _);
    black_box(two_deallocs as unsafe fn(_, _, _));
    black_box(two_reallocs as unsafe fn(_, _, _) -> _);
    black_box((new_2 as fn() -> _, new_4 as fn() -> _, new_8 as fn() -> _));
    black_box((new_16 as fn() -> _, new_32 as fn() -> _, new_64 as fn() -> _));
}
