//! The functions that take an alignment.

use core::ffi::c_int;

use super::standard::{BYTES_MAX, obtain};
use super::{ALIGN, Library, fail, no_memory, or_fail};
use crate::os;

/// `memalign`: an alignment that is no power of two is the next one that is, as in glibc.
pub fn memalign<A: Library>(align: usize, bytes: usize) -> *mut u8 {
    if align > BYTES_MAX {
        // There is no power of two beyond it but one, which no address is a multiple of.
        return if align > BYTES_MAX + 1 { fail(libc::EINVAL) } else { no_memory() };
    }
    or_fail(obtain::<A>(bytes, align.next_power_of_two().max(ALIGN)))
}

/// `aligned_alloc`. What the C standard leaves open is as in [`memalign`].
pub fn aligned_alloc<A: Library>(align: usize, bytes: usize) -> *mut u8 {
    memalign::<A>(align, bytes)
}

/// `posix_memalign`, which sets no `errno`: a block at `place`, or the error, and `place` as it
/// was.
///
/// # Safety
///
/// `place` is writable.
pub unsafe fn posix_memalign<A: Library>(place: *mut *mut u8, align: usize, bytes: usize) -> c_int {
    if !align.is_power_of_two() || align < size_of::<*mut u8>() {
        return libc::EINVAL;
    }
    let block = obtain::<A>(bytes, align.max(ALIGN));
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: by this function's contract.
    unsafe { place.write(block) };
    0
}

/// `valloc`: aligned to an OS page.
pub fn valloc<A: Library>(bytes: usize) -> *mut u8 {
    or_fail(obtain::<A>(bytes, os::page_bytes()))
}

/// `pvalloc`: whole OS pages.
pub fn pvalloc<A: Library>(bytes: usize) -> *mut u8 {
    match os::whole_pages(bytes) {
        Some(bytes) => or_fail(obtain::<A>(bytes, os::page_bytes())),
        None => no_memory(),
    }
}
