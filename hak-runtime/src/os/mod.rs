//! The operating system, in one place: mappings, futexes, the error stream.
//!
//! # Contract of a port
//!
//! - Addresses and sizes are multiples of [`page_bytes`]; sizes are not 0.
//! - A failure is a normal event and is returned, never reported otherwise.
//! - `errno` is as it was when the function returns: a free must not change it.
//! - Nothing allocates.

#[cfg(target_os = "linux")]
#[cfg_attr(test, allow(dead_code, reason = "tests replace parts of it"))]
mod linux;
#[cfg(all(target_os = "linux", not(test)))]
pub(crate) use linux::*;

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
pub(crate) use fake::*;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("hak-runtime supports 64-bit Linux; another system needs a file in src/os");

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, Ordering};

/// Whether a discarded range is zero. Not everywhere: some emulators and sandboxes accept
/// `MADV_DONTNEED` and do nothing. Tried until there is an answer.
pub(crate) fn dontneed_zeroes() -> bool {
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    const UNKNOWN: u8 = 2;
    let known = ANSWER.load(Ordering::Relaxed);
    // Tests have systems of both kinds.
    if known != UNKNOWN && !cfg!(test) {
        return known != 0;
    }
    let Some(answer) = try_dontneed() else { return false };
    ANSWER.store(u8::from(answer), Ordering::Relaxed);
    answer
}

/// `None` when the system refuses to try.
fn try_dontneed() -> Option<bool> {
    let page = map(page_bytes())?;
    // SAFETY: the OS page is ours.
    unsafe { page.write_volatile(1) };
    // SAFETY: the OS page is ours.
    let discarded = unsafe { discard(page, page_bytes(), false) };
    // SAFETY: the OS page is ours, and initialised either way.
    let is_zero = unsafe { page.read_volatile() } == 0;
    // SAFETY: the OS page is ours, and not used below.
    unsafe { unmap(page, page_bytes()) };
    discarded.then_some(is_zero)
}

/// Rounds up to whole OS pages; `None` when that overflows.
pub(crate) fn whole_pages(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(page_bytes())
}

/// Maps zeroed memory at a multiple of `align`, a power of two; `None` when the system refuses.
///
/// What is mapped beyond `bytes` to find an aligned place is unmapped again at once.
pub(crate) fn map_aligned(bytes: usize, align: usize) -> Option<NonNull<u8>> {
    let first = map(bytes)?;
    if first.addr().get().is_multiple_of(align) {
        return Some(first);
    }
    // SAFETY: `first` was just mapped with this size and nobody has seen it.
    unsafe { unmap(first, bytes) };
    // An address is a multiple of the OS page size already, so one OS page less is enough.
    let wide_bytes = bytes.checked_add(align - page_bytes())?;
    let wide = map(wide_bytes)?;
    let head = wide.addr().get().next_multiple_of(align) - wide.addr().get();
    let tail = wide_bytes - head - bytes;
    // SAFETY: `head + bytes + tail` is the mapping's size, so all three lie within it.
    let aligned = unsafe { wide.add(head) };
    if head > 0 {
        // SAFETY: the head is ours, and nobody uses it.
        unsafe { unmap(wide, head) };
    }
    if tail > 0 {
        // SAFETY: as for `aligned`.
        let end = unsafe { aligned.add(bytes) };
        // SAFETY: the tail is ours, and nobody uses it.
        unsafe { unmap(end, tail) };
    }
    Some(aligned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aligned_mapping_is_aligned_and_zero() {
        for shift in 12..30 {
            let bytes = 3 * page_bytes();
            let memory = map_aligned(bytes, 1 << shift).unwrap();
            assert!(memory.addr().get().is_multiple_of(1 << shift));
            // SAFETY: the mapping has this many zeroed bytes, and nobody else knows it.
            let slice = unsafe { core::slice::from_raw_parts(memory.as_ptr(), bytes) };
            assert!(slice.iter().all(|&byte| byte == 0));
            // SAFETY: mapped above with this size, not used below.
            assert!(unsafe { unmap(memory, bytes) });
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(map(1 << 62).is_none());
        assert!(map_aligned(1 << 62, 1 << 62).is_none());
        assert_eq!(whole_pages(usize::MAX), None);
    }
}
