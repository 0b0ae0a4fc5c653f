//! Huge allocations: a mapping each, and a bounded store of freed ones.
//!
//! No record is kept of a live mapping: its size follows from the layout it is freed with, by
//! rounding to OS pages. A freed mapping is kept for the next request, up to the allocator's
//! bound; a shorter request takes a part of it, and the parts become one again when they are freed.
//! A request that is longer than all of them takes the longest, which the system makes longer: its
//! pages are resident already. Of what is too much the oldest goes back to the system first.
//!
//! # Rules
//!
//! 1. A kept range is used by no one and reached only under the lock.
//! 2. The system may refuse to unmap (at its limit of mappings, splitting one fails). Such a
//!    range is linked into `refused` through its own first bytes, handed out again, and offered
//!    to the system again at the next trim: nothing is lost, and a free always succeeds.
//! 3. No system call is made while the lock is held.

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests;

use core::mem;
use core::ptr::{self, NonNull};

use crate::account::{Account, Prefault};
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

impl Range {
    fn end(self) -> usize {
        self.start.addr().get() + self.bytes
    }

    /// The two as one range, if one begins where the other ends.
    fn joined(self, other: Range) -> Option<Range> {
        let bytes = self.bytes + other.bytes;
        if self.end() == other.start.addr().get() {
            return Some(Range { start: self.start, bytes });
        }
        (other.end() == self.start.addr().get()).then_some(Range { start: other.start, bytes })
    }
}

/// What the store has for a request, taken out of it.
enum Found {
    /// As many bytes as were asked for.
    Whole(NonNull<u8>),
    /// A range with fewer.
    Shorter(Range),
}

/// A range that could not be unmapped, at its own start.
struct Refused {
    next: *mut Refused,
    bytes: usize,
}

impl Refused {
    /// The list from this range on, when `bytes` at its start are taken out.
    fn without(self, range: NonNull<Refused>, bytes: usize) -> *mut Refused {
        if self.bytes == bytes {
            return self.next;
        }
        // SAFETY: the range is longer than `bytes`, by whole OS pages.
        let rest = unsafe { range.cast::<u8>().add(bytes) }.cast::<Refused>();
        // SAFETY: as above, the rest has room for a link.
        unsafe { rest.write(Refused { next: self.next, bytes: self.bytes - bytes }) };
        rest.as_ptr()
    }
}

struct Store {
    /// The first `len`, oldest first.
    kept: [Range; KEPT_MAX],
    len: usize,
    /// Sum of the kept ranges.
    bytes: usize,
    refused: *mut Refused,
    /// Something was kept or taken since somebody last asked.
    was_used: bool,
}

// SAFETY: the ranges belong to the store (rule 1), whichever thread looks at it.
unsafe impl Send for Store {}

impl Huge {
    pub(crate) const fn new(keep_bytes: usize) -> Self {
        let none = Range { start: NonNull::dangling(), bytes: 0 };
        let store = Store {
            kept: [none; KEPT_MAX],
            len: 0,
            bytes: 0,
            refused: ptr::null_mut(),
            was_used: false,
        };
        Huge { keep_bytes, store: Mutex::new(store) }
    }

    /// Bytes of freed mappings that are kept now.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.store.lock().bytes
    }

    /// Memory of `bytes` at a multiple of `align`; `None` when the system refuses, or the account
    /// is at its limit.
    pub(crate) fn alloc(
        &self,
        bytes: usize,
        align: usize,
        zeroed: bool,
        account: &Account,
    ) -> Option<NonNull<u8>> {
        let bytes = os::whole_pages(bytes)?;
        let found = self.store.lock().find(bytes, align);
        match found {
            Some(Found::Whole(start)) => {
                if zeroed {
                    // SAFETY: the range is ours now.
                    unsafe { zero(start, bytes) };
                }
                return Some(start);
            }
            Some(Found::Shorter(range)) => {
                let start = self.make_longer(range, bytes, zeroed, account);
                if start.is_some() {
                    return start;
                }
            }
            None => {}
        }
        if !account.charge(bytes) {
            return None;
        }
        let start = map(bytes, align, account);
        if start.is_none() {
            account.refund(bytes);
        }
        start
    }

    /// Takes a mapping back. `errno` is kept.
    ///
    /// # Safety
    ///
    /// `start` came from this store for `bytes` and this account, and no one uses its memory after
    /// this call.
    pub(crate) unsafe fn free(&self, start: NonNull<u8>, bytes: usize, account: &Account) {
        if let Some(bytes) = os::whole_pages(bytes) {
            self.keep(Range { start, bytes }, account);
        }
    }

    /// Memory of `bytes` from a shorter range that was kept; keeps it again when the system
    /// refuses, or the account is at its limit.
    fn make_longer(
        &self,
        range: Range,
        bytes: usize,
        zeroed: bool,
        account: &Account,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the range is ours, shorter, and alignment is as good everywhere.
        let longer = unsafe { grow(range.start, [range.bytes, bytes], 1, account) };
        match longer {
            // SAFETY: the mapping is ours, and longer.
            Some(start) if zeroed => unsafe { zero(start, range.bytes) },
            Some(_) => {}
            None => self.keep(range, account),
        }
        longer
    }

    /// Keeps a range, if the bound allows.
    fn keep(&self, range: Range, account: &Account) {
        if range.bytes > self.keep_bytes {
            return self.unmap(range, account);
        }
        while let Some(oldest) = self.evict_for(range) {
            self.unmap(oldest, account);
        }
    }

    /// Returns the kept mappings to the system if none came or went since the last call.
    pub(crate) fn trim_idle(&self, account: &Account) {
        let is_idle = {
            let mut store = self.store.lock();
            !mem::replace(&mut store.was_used, false)
        };
        if is_idle {
            self.trim(account);
        }
    }

    /// Returns all kept mappings to the system, and those that it refused before.
    pub(crate) fn trim(&self, account: &Account) {
        while let Some(oldest) = self.pop_oldest() {
            self.unmap(oldest, account);
        }
        let mut refused = mem::replace(&mut self.store.lock().refused, ptr::null_mut());
        while let Some(first) = NonNull::new(refused) {
            // SAFETY: the list is ours now, and refused ranges begin with their link.
            let Refused { next, bytes } = unsafe { first.read() };
            self.unmap(Range { start: first.cast(), bytes }, account);
            refused = next;
        }
    }

    fn pop_oldest(&self) -> Option<Range> {
        let mut store = self.store.lock();
        if store.len == 0 { None } else { Some(store.remove(0)) }
    }

    /// Takes the lock for a fork.
    pub(crate) fn before_fork(&self) {
        self.store.before_fork();
    }

    /// Releases it again.
    ///
    /// # Safety
    ///
    /// Follows [`Huge::before_fork`] in the same thread, or its copy in the child.
    pub(crate) unsafe fn after_fork(&self) {
        // SAFETY: by this function's contract.
        unsafe { self.store.after_fork() };
    }

    /// Keeps `range`, which is no longer than the bound, and returns nothing; or returns what is in
    /// its way: of the oldest range as much as is too much.
    fn evict_for(&self, range: Range) -> Option<Range> {
        let mut store = self.store.lock();
        let excess = (store.bytes + range.bytes).saturating_sub(self.keep_bytes);
        // The bound need not be whole OS pages; what is unmapped is.
        let excess = os::whole_pages(excess).unwrap_or(usize::MAX);
        if excess == 0 && store.has_room_for(range) {
            store.push(range);
            return None;
        }
        let oldest = store.kept[0];
        if excess == 0 || excess >= oldest.bytes {
            return Some(store.remove(0));
        }
        Some(store.cut(0, excess))
    }

    /// Returns a range to the system, or links it into `refused` (rule 2).
    fn unmap(&self, range: Range, account: &Account) {
        // SAFETY: the range is ours and unused (rule 1).
        if unsafe { os::unmap(range.start, range.bytes) } {
            return account.refund(range.bytes);
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
    /// 1. `start` came from this store for `old_bytes`, `align` and this account.
    /// 2. If the result is `Some`, no one uses the old memory after this call.
    pub(crate) unsafe fn resize(
        &self,
        start: NonNull<u8>,
        old_bytes: usize,
        new_bytes: usize,
        align: usize,
        account: &Account,
    ) -> Option<NonNull<u8>> {
        let old_bytes = os::whole_pages(old_bytes)?;
        let new_bytes = os::whole_pages(new_bytes)?;
        if new_bytes > old_bytes {
            // SAFETY: by (1) and (2).
            return unsafe { grow(start, [old_bytes, new_bytes], align, account) };
        }
        if new_bytes < old_bytes {
            // SAFETY: `new_bytes` lies within the mapping.
            let tail = unsafe { start.add(new_bytes) };
            // SAFETY: by (1) the tail is a mapping of ours, and by (2) unused now.
            unsafe { self.free(tail, old_bytes - new_bytes, account) };
        }
        Some(start)
    }
}

/// Makes a used range zero: a short one by writing, since it is likely to be touched; a long one by
/// handing its OS pages back, so that what is not touched costs nothing.
///
/// # Safety
///
/// The range is mapped, whole OS pages, and the caller's.
pub(crate) unsafe fn zero(start: NonNull<u8>, bytes: usize) {
    /// Longest range that is written.
    const WRITTEN_MAX: usize = 4 << 20;
    // SAFETY: by this function's contract.
    let is_zero =
        bytes > WRITTEN_MAX && os::dontneed_zeroes() && unsafe { os::discard(start, bytes, false) };
    if !is_zero {
        // SAFETY: by this function's contract.
        unsafe { start.write_bytes(0, bytes) };
    }
}

/// A fresh mapping, on the account's terms.
fn map(bytes: usize, align: usize, account: &Account) -> Option<NonNull<u8>> {
    let start =
        if align <= os::page_bytes() { os::map(bytes) } else { os::map_aligned(bytes, align) }?;
    // SAFETY: just mapped with this size.
    unsafe { advise(start, bytes, account) };
    Some(start)
}

/// Says of a fresh mapping what the account's terms are.
///
/// # Safety
///
/// The range is mapped, whole OS pages, and the caller's.
pub(crate) unsafe fn advise(start: NonNull<u8>, bytes: usize, account: &Account) {
    if account.terms.huge_pages {
        // SAFETY: by this function's contract.
        unsafe { os::advise_huge_pages(start, bytes) };
    }
    if account.terms.prefault == Prefault::All {
        // SAFETY: by this function's contract.
        unsafe { os::populate(start, bytes) };
    }
}

/// Makes a mapping larger, moving it if its alignment allows.
///
/// # Safety
///
/// As for [`Huge::resize`], and `new_bytes` is more than `old_bytes`.
unsafe fn grow(
    start: NonNull<u8>,
    [old_bytes, new_bytes]: [usize; 2],
    align: usize,
    account: &Account,
) -> Option<NonNull<u8>> {
    if !account.charge(new_bytes - old_bytes) {
        return None;
    }
    let may_move = align <= os::page_bytes();
    // SAFETY: by this function's contract.
    let grown = unsafe { os::remap(start, old_bytes, new_bytes, may_move) };
    match grown {
        None => account.refund(new_bytes - old_bytes),
        Some(start) if account.terms.prefault == Prefault::All => {
            // SAFETY: the mapping is that long now, and the caller's.
            unsafe { os::populate(start, new_bytes) };
        }
        Some(_) => {}
    }
    grown
}

impl Store {
    /// What serves a request, or may be made to: one look, so that nothing comes in between which
    /// is as long as the request.
    fn find(&mut self, bytes: usize, align: usize) -> Option<Found> {
        if let Some(start) = self.take(bytes, align) {
            return Some(Found::Whole(start));
        }
        // What the system makes longer may move, to another OS page.
        if align > os::page_bytes() {
            return None;
        }
        self.pop_longest().map(Found::Shorter)
    }

    /// The smallest kept range that serves, or a refused one. What is left over stays here.
    fn take(&mut self, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let fits =
            |range: &Range| range.bytes >= bytes && range.start.addr().get().is_multiple_of(align);
        let kept = self.kept[..self.len].iter().enumerate().filter(|(_, range)| fits(range));
        let Some((at, _)) = kept.min_by_key(|(_, range)| range.bytes) else {
            return self.take_refused(bytes, align);
        };
        self.was_used = true;
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

    /// The longest kept range. It is none that was refused: the system would refuse again.
    fn pop_longest(&mut self) -> Option<Range> {
        let kept = self.kept[..self.len].iter().enumerate();
        let (at, _) = kept.max_by_key(|(_, range)| range.bytes)?;
        self.was_used = true;
        Some(self.remove(at))
    }

    /// The first refused range that serves. What is left over stays here.
    fn take_refused(&mut self, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let mut link = &raw mut self.refused;
        loop {
            // SAFETY: `link` is the list's head, or that of a range in it.
            let range = NonNull::new(unsafe { link.read() })?;
            // SAFETY: refused ranges are mapped, unused, and begin with their link.
            let found = unsafe { range.read() };
            if found.bytes >= bytes && range.addr().get().is_multiple_of(align) {
                // SAFETY: as for the first read.
                unsafe { link.write(found.without(range, bytes)) };
                return Some(range.cast());
            }
            // SAFETY: as above, the range begins with its link.
            link = unsafe { &raw mut (*range.as_ptr()).next };
        }
    }

    /// Whether there is a place for a range.
    fn has_room_for(&self, range: Range) -> bool {
        self.len < KEPT_MAX || self.neighbour(range).is_some()
    }

    /// Keeps a range, as one with those that it touches: pieces of what was one mapping are one
    /// again, and a longer request finds it.
    fn push(&mut self, mut range: Range) {
        self.was_used = true;
        while let Some((at, joined)) = self.neighbour(range) {
            self.remove(at);
            range = joined;
        }
        self.kept[self.len] = range;
        self.len += 1;
        self.bytes += range.bytes;
    }

    /// A kept range that a range touches, and the two as one.
    fn neighbour(&self, range: Range) -> Option<(usize, Range)> {
        let mut kept = self.kept[..self.len].iter().enumerate();
        kept.find_map(|(at, kept)| Some((at, kept.joined(range)?)))
    }

    /// Takes `bytes` from the end of a kept range, which is longer.
    fn cut(&mut self, at: usize, bytes: usize) -> Range {
        let Range { start, bytes: whole } = self.kept[at];
        self.kept[at].bytes -= bytes;
        self.bytes -= bytes;
        // SAFETY: the range is longer than `bytes`.
        Range { start: unsafe { start.add(whole - bytes) }, bytes }
    }

    fn remove(&mut self, at: usize) -> Range {
        let range = self.kept[at];
        self.kept.copy_within(at + 1..self.len, at);
        self.len -= 1;
        self.bytes -= range.bytes;
        range
    }
}
