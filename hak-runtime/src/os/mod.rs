//! The operating system, in one place: mappings, futexes, the error stream.
//!
//! # Contract of a port
//!
//! - Addresses and sizes are multiples of [`page_bytes`]; sizes are not 0.
//! - A failure is a normal event and is returned, never reported otherwise.
//! - `errno` is as it was when the function returns: a free must not change it.
//! - Nothing allocates.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("hak-runtime supports 64-bit Linux; another system needs a file in src/os");

use core::ptr::NonNull;

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
