//! `realloc` and `reallocarray`.

use core::ptr::{self, NonNull};

use super::standard::{obtain_for, place_of};
use super::{ALIGN, At, Library, canary_bytes, check_foreign, die_of_double_free, foreign};
use super::{free, look_up, malloc, no_memory};
use crate::misuse::Request;
use crate::span::Want;

/// A block is kept if what is asked for is at least this part of it.
const PART_KEPT: usize = 2;

/// `realloc`. As in glibc, no bytes free the block, and what comes back is null.
///
/// # Safety
///
/// As C has it: `block` is null or was got and not freed since; unless the result is null and
/// `bytes` is not 0, nobody uses it after this call.
pub unsafe fn realloc<A: Library>(block: *mut u8, bytes: usize) -> *mut u8 {
    let Some(start) = NonNull::new(block) else { return malloc::<A>(bytes) };
    if bytes == 0 {
        // SAFETY: by this function's contract.
        unsafe { free::<A>(block) };
        return ptr::null_mut();
    }
    match look_up::<A>(start) {
        At::Small { place, usable } => {
            // SAFETY: by this function's contract.
            unsafe { A::inspect(block, place) };
            if bytes <= usable && (bytes >= usable / PART_KEPT || is_served_by::<A>(bytes, place)) {
                return block;
            }
            // SAFETY: by this function's contract.
            unsafe { moved::<A>(block, usable, bytes) }
        }
        // SAFETY: by this function's contract.
        At::Large(request) => unsafe { resize_large::<A>(block, request, bytes) },
        At::Freed(request) => die_of_double_free::<A>(start, request),
        At::Elsewhere => {
            check_foreign::<A>(start);
            // SAFETY: by this function's contract; it is no block of ours.
            unsafe { foreign::realloc(start, bytes) }
        }
    }
}

/// Whether a request would get a block of the class at a place anyway.
fn is_served_by<A: Library>(bytes: usize, place: usize) -> bool {
    place_of::<A>(bytes, ALIGN) == Some(place)
}

/// # Safety
///
/// As for [`realloc`]; the block is a large one that got `old`.
unsafe fn resize_large<A: Library>(block: *mut u8, old: Request, bytes: usize) -> *mut u8 {
    let (heap, canary) = (A::heap(), canary_bytes::<A>());
    // SAFETY: the registry says that it is what this request got.
    unsafe { heap.inspect_large(block, old.bytes, old.align) };
    let Some(new_bytes) = bytes.checked_add(canary) else { return no_memory() };
    if place_of::<A>(bytes, ALIGN).is_none() {
        // SAFETY: as above, and by this function's contract.
        let resized = unsafe { heap.resize_large(block, old.bytes, new_bytes, old.align) };
        if !resized.is_null() {
            return resized;
        }
    }
    // SAFETY: by this function's contract.
    unsafe { moved::<A>(block, old.bytes - canary, bytes) }
}

/// Moves a block, of which the program may have used so many bytes.
///
/// # Safety
///
/// As for [`realloc`].
unsafe fn moved<A: Library>(block: *mut u8, usable: usize, bytes: usize) -> *mut u8 {
    let want = if usable < bytes { Want::Growth } else { Want::Bytes };
    let new = obtain_for::<A>(bytes, ALIGN, want);
    if new.is_null() {
        // A shorter one is not worth failing for.
        return if bytes <= usable { block } else { no_memory() };
    }
    // SAFETY: the old block has `usable` bytes, and the new one, which is another, has `bytes`.
    unsafe { ptr::copy_nonoverlapping(block, new, usable.min(bytes)) };
    // SAFETY: by this function's contract.
    unsafe { free::<A>(block) };
    new
}

/// `reallocarray`.
///
/// # Safety
///
/// As for [`realloc`].
pub unsafe fn reallocarray<A: Library>(block: *mut u8, count: usize, bytes: usize) -> *mut u8 {
    match count.checked_mul(bytes) {
        // SAFETY: by this function's contract.
        Some(bytes) => unsafe { realloc::<A>(block, bytes) },
        None => no_memory(),
    }
}
