//! A large block as a mapping of its own, with OS pages before and behind it that no one may touch.

use core::ptr::NonNull;

use crate::account::Account;
use crate::checks::GUARD;
use crate::guard;
use crate::huge;
use crate::misuse::Request;
use crate::os;

/// The parts of a mapping, in bytes: whole OS pages each.
struct Parts {
    front: usize,
    body: usize,
    back: usize,
}

impl Parts {
    /// `None` when they overflow.
    fn of<const CHECKS: u16>(request: Request) -> Option<Parts> {
        let (front, back) = if const { CHECKS & GUARD != 0 } {
            // The block behind it is aligned as the mapping is.
            (request.align.max(os::page_bytes()), os::page_bytes())
        } else {
            (0, 0)
        };
        let parts = Parts { front, body: body_bytes(request)?, back };
        parts.body.checked_add(front)?.checked_add(back)?;
        Some(parts)
    }

    fn all(&self) -> usize {
        self.front + self.body + self.back
    }
}

/// Bytes of a request's OS pages.
pub(super) fn body_bytes(request: Request) -> Option<usize> {
    os::whole_pages(request.bytes.max(1))
}

/// A mapping for a request, zero, and charged for its body; `None` when the system refuses, or the
/// account is at its limit. Guards that are too many, or that the system refuses, are left out.
pub(super) fn map<const CHECKS: u16>(request: Request, account: &Account) -> Option<NonNull<u8>> {
    let parts = Parts::of::<CHECKS>(request)?;
    if !account.charge(parts.body) {
        return None;
    }
    let base = if request.align <= os::page_bytes() {
        os::map(parts.all())
    } else {
        os::map_aligned(parts.all(), request.align)
    };
    let Some(base) = base else {
        account.refund(parts.body);
        return None;
    };
    // SAFETY: the body follows the front.
    let start = unsafe { base.add(parts.front) };
    // SAFETY: the body is ours.
    unsafe { huge::advise(start, parts.body, account) };
    if const { CHECKS & GUARD != 0 } && guard::count_block() {
        // SAFETY: the front is ours, and nobody uses it.
        unsafe { os::forbid(base, parts.front) };
        // SAFETY: the back follows the body.
        let back = unsafe { start.add(parts.body) };
        // SAFETY: the back is ours, and nobody uses it.
        unsafe { os::forbid(back, parts.back) };
    }
    Some(start)
}

/// Unmaps a block with its guards; false when the system refuses.
///
/// # Safety
///
/// `start` came from [`map`] with the same checks, for a request of the same OS pages and
/// alignment, and no one uses it after this call.
pub(super) unsafe fn unmap<const CHECKS: u16>(start: NonNull<u8>, request: Request) -> bool {
    let Some(parts) = Parts::of::<CHECKS>(request) else { return false };
    // SAFETY: the front is before the body.
    let base = unsafe { start.sub(parts.front) };
    // SAFETY: by this function's contract.
    let is_gone = unsafe { os::unmap(base, parts.all()) };
    if const { CHECKS & GUARD != 0 } && is_gone {
        guard::forget_block();
    }
    is_gone
}

/// Lets any access to a block fault, if the system agrees, and returns its memory; false when the
/// system does not take it.
///
/// # Safety
///
/// `start` came from [`map`] for a request of these OS pages, and no one uses it after this call.
pub(super) unsafe fn close(start: NonNull<u8>, request: Request) -> bool {
    let Some(bytes) = body_bytes(request) else { return false };
    // SAFETY: by this function's contract.
    unsafe { os::forbid(start, bytes) };
    // SAFETY: by this function's contract.
    unsafe { os::discard(start, bytes, false) }
}
