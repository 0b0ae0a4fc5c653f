//! `malloc`, `calloc`, `free`, `malloc_usable_size`: what a hit path does not do itself.

use core::ptr::{self, NonNull};

use super::own::without_arriving;
use super::{ALIGN, At, Library, canary_bytes, check_foreign, die_of_double_free, foreign};
use super::{look_up, no_memory, or_fail};
use crate::span::Want;

/// Most bytes of a request: what is beyond is no difference of two pointers.
pub(super) const BYTES_MAX: usize = isize::MAX as usize;

/// The place of the class that serves a request, if one does. A request of no bytes is one of a
/// byte, so that its block is unlike all others.
#[inline]
pub(super) fn place_of<A: Library>(bytes: usize, align: usize) -> Option<usize> {
    if bytes > BYTES_MAX {
        return None;
    }
    A::class_of(bytes.max(1) + canary_bytes::<A>(), align)
}

/// A block for a request; null without memory. `align` is a power of two, and at least [`ALIGN`].
#[inline]
pub(super) fn obtain<A: Library>(bytes: usize, align: usize) -> *mut u8 {
    obtain_for::<A>(bytes, align, Want::Bytes)
}

/// A block for a request, as for [`obtain`]; a large one is as it is wanted.
#[inline]
pub(super) fn obtain_for<A: Library>(bytes: usize, align: usize, want: Want) -> *mut u8 {
    match place_of::<A>(bytes, align) {
        // SAFETY: it is the place of a class.
        Some(place) => unsafe { A::obtain(place) },
        None => obtain_large::<A>(bytes, align, want),
    }
}

/// A block that no class serves; null without memory.
pub(super) fn obtain_large<A: Library>(bytes: usize, align: usize, want: Want) -> *mut u8 {
    // A canary's bytes do not overflow: addresses end long before.
    let possible = bytes <= BYTES_MAX - canary_bytes::<A>() && align <= BYTES_MAX;
    if possible { A::obtain_large(bytes, align, want) } else { ptr::null_mut() }
}

/// `malloc`, whatever the size.
pub fn malloc<A: Library>(bytes: usize) -> *mut u8 {
    or_fail(obtain::<A>(bytes, ALIGN))
}

/// `malloc` when the hit path has found no block, or no class.
#[cold]
#[inline(never)]
pub fn malloc_elsewhere<A: Library>(bytes: usize) -> *mut u8 {
    malloc::<A>(bytes)
}

/// What glibc's thread library allocates in a thread that uses a key beyond the first 32.
const KEYS_BYTES: usize = 32 * 2 * size_of::<usize>();

/// `calloc`.
pub fn calloc<A: Library>(count: usize, bytes: usize) -> *mut u8 {
    let Some(bytes) = count.checked_mul(bytes) else { return no_memory() };
    let Some(place) = place_of::<A>(bytes, ALIGN) else {
        return or_fail(obtain_large::<A>(bytes, ALIGN, Want::Zeros));
    };
    let block = if bytes == KEYS_BYTES {
        // SAFETY: it is the place of a class.
        without_arriving::<A::Own, _>(|| unsafe { A::obtain(place) })
    } else {
        // SAFETY: as above.
        unsafe { A::obtain(place) }
    };
    if block.is_null() {
        return no_memory();
    }
    // SAFETY: the block has as many bytes, which are the caller's.
    unsafe { block.write_bytes(0, bytes) };
    block
}

/// `free`, of whatever it may be.
///
/// # Safety
///
/// As C has it: `block` is null or was got and not freed since, and nobody uses it after this call.
pub unsafe fn free<A: Library>(block: *mut u8) {
    let Some(start) = NonNull::new(block) else { return };
    match look_up::<A>(start) {
        // SAFETY: by this function's contract.
        At::Small { place, .. } => unsafe { A::release(block, place) },
        At::Large(request) => {
            // SAFETY: the registry says that it is what this request got.
            unsafe { A::heap().dealloc_large(block, request.bytes, request.align) };
        }
        At::Freed(request) => die_of_double_free::<A>(start, request),
        At::Elsewhere => {
            check_foreign::<A>(start);
            // SAFETY: by this function's contract; it is no block of ours.
            unsafe { foreign::free(start) };
        }
    }
}

/// `free` when the hit path has found no room, or no place.
///
/// # Safety
///
/// As for [`free`].
#[cold]
#[inline(never)]
pub unsafe fn free_elsewhere<A: Library>(block: *mut u8) {
    // SAFETY: by this function's contract.
    unsafe { free::<A>(block) };
}

/// `malloc_usable_size`.
///
/// # Safety
///
/// `block` is null, or was got and not freed since.
pub unsafe fn malloc_usable_size<A: Library>(block: *mut u8) -> usize {
    let Some(start) = NonNull::new(block) else { return 0 };
    match look_up::<A>(start) {
        At::Small { usable, .. } => usable,
        At::Large(request) => request.bytes - canary_bytes::<A>(),
        At::Freed(request) => die_of_double_free::<A>(start, request),
        // SAFETY: by this function's contract; it is no block of ours.
        At::Elsewhere => unsafe { foreign::usable_size(start) },
    }
}
