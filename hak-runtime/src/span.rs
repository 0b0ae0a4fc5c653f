//! Spans: large allocations as runs of units.
//!
//! A span's length follows from the layout it is freed with, so it has no record of its own.

use core::ptr::NonNull;

use crate::account::Account;
use crate::superslab::{self, Superslab, UNIT_BYTES};

/// Largest span: half a superslab.
pub(crate) const SPAN_BYTES_MAX: usize = 1 << 20;

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

/// A span of `bytes`, 1 to [`SPAN_BYTES_MAX`], at a multiple of [`UNIT_BYTES`], and whether its
/// memory is zero.
pub(crate) fn alloc(bytes: usize, account: &Account) -> Option<(NonNull<u8>, bool)> {
    let run = superslab::alloc_run(units(bytes), account)?;
    Some((run.start(), run.clean))
}

/// Takes a span back; false when it was free already.
///
/// # Safety
///
/// `start` came from [`alloc`] for `bytes` and this account, and no one uses its memory after this
/// call.
#[must_use]
pub(crate) unsafe fn free(start: NonNull<u8>, bytes: usize, account: &Account) -> bool {
    let (superslab, first) = (Superslab::of(start), Superslab::unit_of(start));
    // SAFETY: by this function's contract.
    unsafe { superslab::free_run(superslab, first, units(bytes), account) }
}

/// Resizes a span where it stands; false when the units behind it are taken.
///
/// # Safety
///
/// `start` came from [`alloc`] for `old_bytes` and this account, and no one uses what is beyond
/// `new_bytes`.
pub(crate) unsafe fn resize(
    start: NonNull<u8>,
    old_bytes: usize,
    new_bytes: usize,
    account: &Account,
) -> bool {
    let (superslab, first) = (Superslab::of(start), Superslab::unit_of(start));
    let (old, new) = (units(old_bytes), units(new_bytes));
    if new > old {
        // SAFETY: the caller holds the run.
        return unsafe { superslab::extend_run(superslab, first, old, new, account) };
    }
    if new < old {
        // SAFETY: the run's end is in use until now, and by the contract no more.
        unsafe { superslab::free_run(superslab, first + new, old - new, account) };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_grows_into_free_units_and_shrinks() {
        let account = Account::for_test();
        let (span, _) = alloc(100 << 10, account).unwrap();
        // SAFETY: the span is ours, and nothing is stored in it.
        let resize_to = |old, new| unsafe { resize(span, old, new, account) };
        let now = if resize_to(100 << 10, 300 << 10) { 300 << 10 } else { 100 << 10 };
        assert!(resize_to(now, 70 << 10));
        // SAFETY: as above.
        assert!(unsafe { free(span, 70 << 10, account) });
    }
}
