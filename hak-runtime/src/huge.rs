//! Huge allocations: a mapping each, and a bounded store of freed ones.
//!
//! No record is kept of a live mapping: its size follows from the layout it is freed with, by
//! rounding to OS pages. A freed mapping is kept for the next request, up to the allocator's
//! bound; the oldest goes back to the system first.
//!
//! # Rules
//!
//! 1. A kept range is used by no one and reached only under the lock.
//! 2. The system may refuse to unmap (at its limit of mappings, splitting one fails). Such a
//!    range is linked into `refused` through its own first bytes and handed out again: nothing
//!    is lost, and a free always succeeds.
//! 3. No system call is made while the lock is held.

use core::ptr::{self, NonNull};

use crate::os;
use crate::sync::Mutex;

/// Most freed ranges kept at a time.
const KEPT_MAX: usize = 32;

/// Freed mappings of one allocator.
pub(crate) struct Huge {
    /// Bytes of freed mappings kept at most.
    keep_bytes: usize,
    store: Mutex<Store>,
}

#[derive(Clone, Copy)]
struct Range {
    start: NonNull<u8>,
    bytes: usize,
}

/// A range that could not be unmapped, at its own start.
struct Refused {
    next: *mut Refused,
    bytes: usize,
}

struct Store {
    /// The first `len`, oldest first.
    kept: [Range; KEPT_MAX],
    len: usize,
    /// Sum of the kept ranges.
    bytes: usize,
    refused: *mut Refused,
}

// SAFETY: the ranges belong to the store (rule 1), whichever thread looks at it.
unsafe impl Send for Store {}

impl Huge {
    pub(crate) const fn new(keep_bytes: usize) -> Self {
        let none = Range { start: NonNull::dangling(), bytes: 0 };
        let store = Store { kept: [none; KEPT_MAX], len: 0, bytes: 0, refused: ptr::null_mut() };
        Huge { keep_bytes, store: Mutex::new(store) }
    }

    /// Bytes of freed mappings that are kept now.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.store.lock().bytes
    }

    /// Memory of `bytes` at a multiple of `align`; `None` when the system refuses.
    ///
    /// A zeroed request takes a fresh mapping, so that what is never touched costs nothing.
    pub(crate) fn alloc(&self, bytes: usize, align: usize, zeroed: bool) -> Option<NonNull<u8>> {
        let bytes = os::whole_pages(bytes)?;
        if !zeroed && let Some(start) = self.store.lock().take(bytes, align) {
            return Some(start);
        }
        if align <= os::page_bytes() { os::map(bytes) } else { os::map_aligned(bytes, align) }
    }

    /// Takes a mapping back. `errno` is kept.
    ///
    /// # Safety
    ///
    /// `start` came from this store for `bytes`, and no one uses its memory after this call.
    pub(crate) unsafe fn free(&self, start: NonNull<u8>, bytes: usize) {
        let Some(bytes) = os::whole_pages(bytes) else { return };
        let range = Range { start, bytes };
        if bytes > self.keep_bytes {
            return self.unmap(range);
        }
        while let Some(oldest) = self.evict_for(range) {
            self.unmap(oldest);
        }
    }

    /// Keeps `range` and returns nothing, or returns the oldest range that is in its way.
    fn evict_for(&self, range: Range) -> Option<Range> {
        let mut store = self.store.lock();
        if store.len == KEPT_MAX || store.bytes + range.bytes > self.keep_bytes {
            return Some(store.remove(0));
        }
        store.push(range);
        None
    }

    /// Returns a range to the system, or links it into `refused` (rule 2).
    fn unmap(&self, range: Range) {
        // SAFETY: the range is ours and unused (rule 1).
        if unsafe { os::unmap(range.start, range.bytes) } {
            return;
        }
        let refused = range.start.cast::<Refused>();
        let mut store = self.store.lock();
        // SAFETY: the range is still mapped, whole OS pages long, and unused.
        unsafe { refused.write(Refused { next: store.refused, bytes: range.bytes }) };
        store.refused = refused.as_ptr();
    }

    /// Resizes a mapping, in place or by moving its OS pages; `None` leaves it as it was.
    ///
    /// # Safety
    ///
    /// 1. `start` came from this store for `old_bytes` and `align`.
    /// 2. If the result is `Some`, no one uses the old memory after this call.
    pub(crate) unsafe fn resize(
        &self,
        start: NonNull<u8>,
        old_bytes: usize,
        new_bytes: usize,
        align: usize,
    ) -> Option<NonNull<u8>> {
        let old_bytes = os::whole_pages(old_bytes)?;
        let new_bytes = os::whole_pages(new_bytes)?;
        if new_bytes > old_bytes {
            let may_move = align <= os::page_bytes();
            // SAFETY: by (1) and (2).
            return unsafe { os::remap(start, old_bytes, new_bytes, may_move) };
        }
        if new_bytes < old_bytes {
            // SAFETY: `new_bytes` lies within the mapping.
            let tail = unsafe { start.add(new_bytes) };
            // SAFETY: by (1) the tail is a mapping of ours, and by (2) unused now.
            unsafe { self.free(tail, old_bytes - new_bytes) };
        }
        Some(start)
    }
}

impl Store {
    /// The smallest kept range that serves, or a refused one. What is left over stays here.
    fn take(&mut self, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let fits =
            |range: &Range| range.bytes >= bytes && range.start.addr().get().is_multiple_of(align);
        let kept = self.kept[..self.len].iter().enumerate().filter(|(_, range)| fits(range));
        let Some((at, _)) = kept.min_by_key(|(_, range)| range.bytes) else {
            return self.take_refused(bytes, align);
        };
        let range = self.kept[at];
        self.bytes -= bytes;
        if range.bytes == bytes {
            self.bytes += bytes;
            return Some(self.remove(at).start);
        }
        // SAFETY: the range is longer than `bytes`.
        let start = unsafe { range.start.add(bytes) };
        self.kept[at] = Range { start, bytes: range.bytes - bytes };
        Some(range.start)
    }

    /// The first refused range, when it serves as it is.
    fn take_refused(&mut self, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let first = NonNull::new(self.refused)?;
        // SAFETY: refused ranges are mapped, unused, and begin with their link.
        let Refused { next, bytes: first_bytes } = unsafe { first.read() };
        if first_bytes < bytes || !first.addr().get().is_multiple_of(align) {
            return None;
        }
        self.refused = next;
        if first_bytes > bytes {
            // SAFETY: the range is longer than `bytes`, by whole OS pages.
            let rest = unsafe { first.cast::<u8>().add(bytes) }.cast::<Refused>();
            // SAFETY: as above, the rest has room for a link.
            unsafe { rest.write(Refused { next, bytes: first_bytes - bytes }) };
            self.refused = rest.as_ptr();
        }
        Some(first.cast())
    }

    fn push(&mut self, range: Range) {
        self.kept[self.len] = range;
        self.len += 1;
        self.bytes += range.bytes;
    }

    fn remove(&mut self, at: usize) -> Range {
        let range = self.kept[at];
        self.kept.copy_within(at + 1..self.len, at);
        self.len -= 1;
        self.bytes -= range.bytes;
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_freed_mapping_is_used_again_and_split() {
        let huge = Huge::new(8 * MIB);
        let first = huge.alloc(4 * MIB, 1, false).unwrap();
        // SAFETY: allocated above with this size.
        unsafe { huge.free(first, 4 * MIB) };
        assert_eq!(huge.kept_bytes(), 4 * MIB);
        assert_eq!(huge.alloc(MIB, 4096, false), Some(first));
        assert_eq!(huge.kept_bytes(), 3 * MIB);
        let rest = huge.alloc(3 * MIB, 1, false).unwrap();
        assert_eq!(rest.addr().get(), first.addr().get() + MIB);
        assert_eq!(huge.kept_bytes(), 0);
    }

    #[test]
    fn no_more_is_kept_than_the_bound() {
        let huge = Huge::new(8 * MIB);
        let all: Vec<_> = (0..40).map(|_| huge.alloc(3 * MIB, 1, false).unwrap()).collect();
        for start in all {
            // SAFETY: allocated above with this size.
            unsafe { huge.free(start, 3 * MIB) };
            assert!(huge.kept_bytes() <= 8 * MIB);
        }
        assert_eq!(huge.kept_bytes(), 6 * MIB);
    }

    #[test]
    fn growing_keeps_contents_and_adds_zeros() {
        let huge = Huge::new(0);
        let start = huge.alloc(2 * MIB, 1, true).unwrap();
        // SAFETY: the block has 2 MiB.
        unsafe { start.write_bytes(7, 2 * MIB) };
        // SAFETY: allocated above; only the result is used from here on.
        let grown = unsafe { huge.resize(start, 2 * MIB, 64 * MIB, 1) }.unwrap();
        // SAFETY: the block has 64 MiB, written or zero.
        let bytes = unsafe { core::slice::from_raw_parts(grown.as_ptr(), 64 * MIB) };
        assert!(bytes[..2 * MIB].iter().all(|&byte| byte == 7));
        assert!(bytes[2 * MIB..].iter().all(|&byte| byte == 0));
    }
}
