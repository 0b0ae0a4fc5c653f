//! Functions of one request each: what callgrind counts.
//!
//! A probe is what a caller of its allocator is compiled to, and a return. All are called through
//! the same three functions, whose names callgrind is told, so that what surrounds a request is
//! the same machine code for every allocator; [`Probes::NOTHING`] tells how much that is.

use std::alloc::Layout;
use std::arch::naked_asm;
use std::hint::black_box;

use super::script::CONSTANT;
use super::subject::Subject;

/// Takes size and alignment.
pub(crate) type Alloc = unsafe extern "C" fn(usize, usize) -> *mut u8;
/// Takes a block, its size and its alignment.
pub(crate) type Dealloc = unsafe extern "C" fn(*mut u8, usize, usize);
/// Takes a block, its size, its alignment and the new size.
pub(crate) type Realloc = unsafe extern "C" fn(*mut u8, usize, usize, usize) -> *mut u8;

/// The alloc and the dealloc that belong together.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) alloc: Alloc,
    pub(crate) dealloc: Dealloc,
}

/// The probes of one allocator.
pub(crate) struct Probes {
    /// Of a layout that the compiler knows; what they are given is ignored.
    pub(crate) constant: Pair,
    /// Of a layout that is known at run time only.
    pub(crate) variable: Pair,
    pub(crate) realloc: Realloc,
    pub(crate) trips: fn() -> u64,
}

impl Probes {
    pub(crate) const fn of<A: Subject>() -> Probes {
        Probes {
            constant: Pair { alloc: alloc_constant::<A>, dealloc: dealloc_constant::<A> },
            variable: Pair { alloc: alloc_variable::<A>, dealloc: dealloc_variable::<A> },
            realloc: realloc::<A>,
            trips: A::trips,
        }
    }

    /// Probes that return at once: they make no block, and what they return means nothing.
    pub(crate) const NOTHING: Probes = {
        let pair = Pair { alloc: no_alloc, dealloc: no_dealloc };
        Probes { constant: pair, variable: pair, realloc: no_realloc, trips: || 0 }
    };
}

/// What callgrind is told to count: these functions, and what they call.
pub(crate) const COUNTED: &str = "price_list_counted_*";
/// Where callgrind is told to write down what it counted, and to begin anew.
pub(crate) const MARK: &str = "price_list_mark";

/// Calls an alloc, to be counted.
///
/// # Safety
/// As for the probe.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) unsafe extern "C" fn price_list_counted_alloc(
    probe: Alloc,
    size: usize,
    align: usize,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { probe(size, align) }
}

/// Calls a dealloc, to be counted.
///
/// # Safety
/// As for the probe.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) unsafe extern "C" fn price_list_counted_dealloc(
    probe: Dealloc,
    block: *mut u8,
    size: usize,
    align: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { probe(block, size, align) }
}

/// Calls a realloc, to be counted.
///
/// # Safety
/// As for the probe.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) unsafe extern "C" fn price_list_counted_realloc(
    probe: Realloc,
    block: *mut u8,
    size: usize,
    align: usize,
    new_size: usize,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { probe(block, size, align, new_size) }
}

/// Ends one figure and begins the next.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn price_list_mark() {
    // Or the compiler would see that nothing happens here, and call nothing.
    black_box(());
}

/// # Safety
/// There is none; the type of a probe is unsafe.
unsafe extern "C" fn alloc_constant<A: Subject>(_: usize, _: usize) -> *mut u8 {
    // SAFETY: the layout has bytes.
    unsafe { A::ALLOCATOR.alloc(CONSTANT) }
}

/// # Safety
/// The block is one of `alloc_constant`, and no one uses it any more.
unsafe extern "C" fn dealloc_constant<A: Subject>(block: *mut u8, _: usize, _: usize) {
    // SAFETY: the caller's promise; that layout made the block.
    unsafe { A::ALLOCATOR.dealloc(block, CONSTANT) }
}

/// # Safety
/// Size and alignment are those of a layout with bytes.
unsafe extern "C" fn alloc_variable<A: Subject>(size: usize, align: usize) -> *mut u8 {
    // SAFETY: they are those of a layout.
    let layout = unsafe { Layout::from_size_align_unchecked(size, align) };
    // SAFETY: it has bytes.
    unsafe { A::ALLOCATOR.alloc(layout) }
}

/// # Safety
/// The block is one of `alloc_variable` with this size and alignment, and no one uses it any more.
unsafe extern "C" fn dealloc_variable<A: Subject>(block: *mut u8, size: usize, align: usize) {
    // SAFETY: they are those of a layout.
    let layout = unsafe { Layout::from_size_align_unchecked(size, align) };
    // SAFETY: the caller's promise.
    unsafe { A::ALLOCATOR.dealloc(block, layout) }
}

/// # Safety
/// The block is one of `alloc_variable` with this size and alignment; the new size is that of a
/// layout with bytes.
unsafe extern "C" fn realloc<A: Subject>(
    block: *mut u8,
    size: usize,
    align: usize,
    new_size: usize,
) -> *mut u8 {
    // SAFETY: they are those of a layout.
    let layout = unsafe { Layout::from_size_align_unchecked(size, align) };
    // SAFETY: the caller's promise.
    unsafe { A::ALLOCATOR.realloc(block, layout, new_size) }
}

/// # Safety
/// There is none; the type of a probe is unsafe.
#[unsafe(naked)]
unsafe extern "C" fn no_alloc(_: usize, _: usize) -> *mut u8 {
    naked_asm!("ret")
}

/// # Safety
/// There is none; the type of a probe is unsafe.
#[unsafe(naked)]
unsafe extern "C" fn no_dealloc(_: *mut u8, _: usize, _: usize) {
    naked_asm!("ret")
}

/// # Safety
/// There is none; the type of a probe is unsafe.
#[unsafe(naked)]
unsafe extern "C" fn no_realloc(_: *mut u8, _: usize, _: usize, _: usize) -> *mut u8 {
    naked_asm!("ret")
}
