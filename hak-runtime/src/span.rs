//! Spans: large allocations as runs of units.
//!
//! A span's length follows from the layout it is freed with, so it has no record of its own.

use core::ptr::NonNull;

use crate::account::Account;
use crate::superslab::{self, Superslab, UNIT_BYTES};

/// Largest span: half a superslab.
pub(crate) const SPAN_BYTES_MAX: usize = 1 << 20;

/// What is wanted of the memory for a large request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Bytes, whatever is in them.
    Bytes,
    /// Bytes that are zero.
    Zeros,
    /// Bytes for a block that outgrew its place, and is likely to grow on.
    Growth,
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

/// A span of `bytes`, 1 to [`SPAN_BYTES_MAX`], at a multiple of [`UNIT_BYTES`], and whether its
/// memory is zero.
pub(crate) fn alloc(bytes: usize, want: Want, account: &Account) -> Option<(NonNull<u8>, bool)> {
    let run = match want {
        Want::Bytes | Want::Zeros => superslab::alloc_run(units(bytes), account),
        Want::Growth => superslab::alloc_growing_run(units(bytes), account),
    }?;
    Some((run.start(), run.clean))
}

/// Moves a span that grows, to where it may grow on; `None` when there is no memory.
///
/// # Safety
///
/// `start` came from [`alloc`] for `old_bytes`, fewer than `new_bytes`, and this account. If it
/// moves, no one uses the old memory after this call.
pub(crate) unsafe fn grow_elsewhere(
    start: NonNull<u8>,
    old_bytes: usize,
    new_bytes: usize,
    account: &Account,
) -> Option<NonNull<u8>> {
    let (moved, _) = alloc(new_bytes, Want::Growth, account)?;
    // SAFETY: both are the caller's, and at least as long.
    unsafe { moved.copy_from_nonoverlapping(start, old_bytes) };
    // SAFETY: by this function's contract. What is wrong about it, `resize` would have found.
    let _ = unsafe { free(start, old_bytes, account) };
    Some(moved)
}

/// Why an address is no span of some size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// No span starts there.
    NoStart,
    /// Its units are free.
    Free,
    /// It has so many bytes only.
    Shorter(usize),
}

/// Where a span starts, and its units, as far as the records of runs agree.
///
/// # Safety
///
/// `start` is in a superslab, in a run that the caller holds. Most of what breaks this is told.
unsafe fn find(start: NonNull<u8>, bytes: usize) -> Result<(NonNull<Superslab>, u32, u32), Misfit> {
    let (superslab, first, units) = (Superslab::of(start), Superslab::unit_of(start), units(bytes));
    // SAFETY: by this function's contract.
    let is_headed = |unit| unit < u32::BITS && unsafe { Superslab::head(superslab, unit) } == first;
    // Unit 0, the header's, is in no run.
    if first == 0 || !is_headed(first) {
        return Err(Misfit::NoStart);
    }
    if !is_headed(first + units - 1) {
        return Err(Misfit::of(superslab, first));
    }
    Ok((superslab, first, units))
}

impl Misfit {
    /// What is wrong with a run at `first` that is longer than the one there.
    fn of(superslab: NonNull<Superslab>, first: u32) -> Misfit {
        match superslab::run_units(superslab, first) {
            0 => Misfit::Free,
            units => Misfit::Shorter(units as usize * UNIT_BYTES),
        }
    }
}

/// Takes a span back.
///
/// # Errors
///
/// If there is none of this size, as far as that can be seen.
///
/// # Safety
///
/// `start` came from [`alloc`] for `bytes` and this account, and no one uses its memory after this
/// call.
pub(crate) unsafe fn free(
    start: NonNull<u8>,
    bytes: usize,
    account: &Account,
) -> Result<(), Misfit> {
    // SAFETY: by this function's contract.
    let (superslab, first, units) = unsafe { find(start, bytes) }?;
    // SAFETY: by this function's contract.
    let freed = unsafe { superslab::free_run(superslab, first, units, account) };
    if freed { Ok(()) } else { Err(Misfit::of(superslab, first)) }
}

/// Resizes a span where it stands; false when the units behind it are taken.
///
/// # Errors
///
/// As for [`free`].
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
) -> Result<bool, Misfit> {
    // SAFETY: by this function's contract.
    let (superslab, first, old) = unsafe { find(start, old_bytes) }?;
    let new = units(new_bytes);
    if new > old {
        // SAFETY: the caller holds the run.
        return Ok(unsafe { superslab::extend_run(superslab, first, old, new, account) });
    }
    if new < old {
        // SAFETY: the run's end is in use until now, and by the contract no more.
        let freed = unsafe { superslab::free_run(superslab, first + new, old - new, account) };
        return if freed { Ok(true) } else { Err(Misfit::of(superslab, first)) };
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fake::ALONE;

    #[test]
    fn a_span_grows_into_free_units_and_shrinks() {
        let account = Account::for_test();
        let (span, _) = alloc(100 << 10, Want::Bytes, account).unwrap();
        // SAFETY: the span is ours, and nothing is stored in it.
        let resize_to = |old, new| unsafe { resize(span, old, new, account) }.unwrap();
        let now = if resize_to(100 << 10, 300 << 10) { 300 << 10 } else { 100 << 10 };
        assert!(resize_to(now, 70 << 10));
        // SAFETY: as above.
        unsafe { free(span, 70 << 10, account) }.unwrap();
    }

    #[test]
    fn what_is_no_span_is_not_freed() {
        let _alone = ALONE.lock();
        let account = Account::for_test();
        let (span, _) = alloc(3 * UNIT_BYTES, Want::Bytes, account).unwrap();
        // SAFETY: the span has three units.
        let inside = unsafe { span.add(UNIT_BYTES) };
        let header = Superslab::of(span).cast();
        // SAFETY: what is no span is seen before anything is done.
        let freed = |start, bytes| unsafe { free(start, bytes, account) };
        assert_eq!(freed(inside, UNIT_BYTES), Err(Misfit::NoStart));
        assert_eq!(freed(header, UNIT_BYTES), Err(Misfit::NoStart));
        let longer = freed(span, SPAN_BYTES_MAX);
        assert_eq!(longer, Err(Misfit::Shorter(3 * UNIT_BYTES)));
        assert_eq!(account.held(), 3 * UNIT_BYTES);
        assert_eq!(freed(span, 3 * UNIT_BYTES), Ok(()));
        assert_eq!(freed(span, 3 * UNIT_BYTES), Err(Misfit::Free));
    }
}
