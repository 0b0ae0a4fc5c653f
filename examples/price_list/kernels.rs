//! Loops of requests: what the clock is read around.

use std::alloc::Layout;
use std::hint::black_box;
use std::ptr::NonNull;

use super::script::{CONSTANT, Request, SLOTS};
use super::subject::Subject;

/// Runs over the requests once.
pub(crate) type Kernel = fn(&[Request]);

/// The kernels of one allocator, in the order of [`NAMES`].
pub(crate) struct Kernels(pub(crate) [Kernel; NAMES.len()]);

/// What a kernel is called in the list.
pub(crate) const NAMES: [&str; 3] = ["pair 64", "pair 16–1040", "mixed"];

impl Kernels {
    pub(crate) const fn of<A: Subject>() -> Kernels {
        Kernels([pair_constant::<A>, pair_variable::<A>, mixed::<A>])
    }
}

/// A block of a known layout is made and dropped.
#[inline(never)]
fn pair_constant<A: Subject>(requests: &[Request]) {
    for _ in requests {
        let block = used::<A>(CONSTANT);
        // SAFETY: made just now, with this layout.
        unsafe { A::ALLOCATOR.dealloc(block.as_ptr(), CONSTANT) };
    }
}

/// A block of a layout that is known at run time is made and dropped.
#[inline(never)]
fn pair_variable<A: Subject>(requests: &[Request]) {
    for request in requests {
        let block = used::<A>(request.layout);
        // SAFETY: made just now, with this layout.
        unsafe { A::ALLOCATOR.dealloc(block.as_ptr(), request.layout) };
    }
}

/// One of the live blocks is replaced by one of another size.
#[inline(never)]
fn mixed<A: Subject>(requests: &[Request]) {
    let mut live = [const { None::<(NonNull<u8>, Layout)> }; SLOTS];
    let drop = |(block, layout): (NonNull<u8>, Layout)| {
        // SAFETY: made below, with this layout, and taken out of its slot.
        unsafe { A::ALLOCATOR.dealloc(block.as_ptr(), layout) };
    };
    for request in requests {
        let block = used::<A>(request.layout);
        if let Some(old) = live[request.slot].replace((block, request.layout)) {
            drop(old);
        }
    }
    live.into_iter().flatten().for_each(drop);
}

/// A block that someone writes to.
#[inline(always)]
fn used<A: Subject>(layout: Layout) -> NonNull<u8> {
    // SAFETY: all layouts of the list have bytes.
    let block = unsafe { A::ALLOCATOR.alloc(layout) };
    let block = NonNull::new(black_box(block)).expect("there is memory");
    // SAFETY: a byte of the new block.
    unsafe { block.write(1) };
    block
}
