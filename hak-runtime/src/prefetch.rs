//! Asks the processor for memory that will be written soon.

/// Asks for the cache line of an address, which may be any: no access is made, and nothing faults.
/// No instruction on processors for which none is known here.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // Becomes `prefetchw`, which takes the line away from other cores at once, where the
        // program is compiled for processors that have it; else `prefetcht0`.
        // SAFETY: a hint, for any address.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(address.cast()) };
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a hint, for any address.
    unsafe {
        core::arch::asm!(
            "prfm pstl1keep, [{}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", not(miri)))))]
    let _ = address;
}
