//! Large requests with checks: each block is on record, and what a free says is held against it.
//!
//! # Rules
//!
//! 1. A block enters the registry before the program gets it, in a place that was reserved before
//!    there was memory for it: no block is ever in use without a record.
//! 2. A block is marked freed under the lock, at once with the test that it is in use: of two
//!    frees at a time one is a double free. What is done with its memory comes after, so no one
//!    else can have got the place by then.
//! 3. What a failed check says is not followed. A check that is off is not made: the block's own
//!    record is followed where there is one, and where there is none the process ends all the same.
//! 4. With `POISON` or `GUARD` each block is a [`mapping`] of its own, which ends with the free.
//!    Else blocks are those of [`Large`].
//! 5. A mapping that the system refuses to take stays on record, and is offered again.
//! 6. The lock is not held while memory comes or goes, but for the registry's own.

mod mapping;
mod quarantine;
mod registry;
#[cfg(all(test, not(loom)))]
mod tests;

use core::mem;
use core::ptr::NonNull;

use crate::account::Account;
use crate::canary::Canary;
use crate::checks::{ALIGNMENT, CANARY, FOREIGN, GUARD, POISON, QUARANTINE, SIZE, ZERO};
use crate::fault::Fault;
use crate::huge;
use crate::large::{Large, Larges};
use crate::misuse::{self, Block, Found, Request};
use crate::os;
use crate::span::Want;
use crate::sync::Mutex;
use quarantine::Quarantine;
use registry::{Entry, Registry};

/// Large requests with a set of checks.
pub struct CheckedLarge<const CHECKS: u16> {
    plain: Large,
    records: Mutex<Records>,
}

struct Records {
    registry: Registry,
    quarantine: Quarantine,
}

impl<const CHECKS: u16> CheckedLarge<CHECKS> {
    /// Each block is a mapping of its own (rule 4).
    const OWN: bool = CHECKS & (POISON | GUARD) != 0;
    /// A block keeps its OS pages while it is in use: what it leaves would be used again.
    const STAYS: bool = CHECKS & (POISON | GUARD | QUARANTINE) != 0;

    /// Without `POISON` and `GUARD` as for [`Large::new`]; else the figures mean nothing.
    #[must_use]
    pub const fn new(spans_to: usize, keep: usize) -> Self {
        let records = Records { registry: Registry::new(), quarantine: Quarantine::new() };
        CheckedLarge { plain: Large::new(spans_to, keep), records: Mutex::new(records) }
    }

    fn alloc_memory(&self, request: Request, want: Want, account: &Account) -> Option<NonNull<u8>> {
        if const { Self::OWN } {
            mapping::map::<CHECKS>(request, account)
        } else {
            self.plain.alloc(request, want, account)
        }
    }

    /// Bytes that a request is charged.
    fn charged(&self, request: Request) -> Option<usize> {
        if const { Self::OWN } { mapping::body_bytes(request) } else { self.plain.charged(request) }
    }

    /// Does something with the record of a block in use, or ends the process if there is none, or
    /// `SIZE` finds that it is of another request.
    fn with_live<T>(
        &self,
        start: NonNull<u8>,
        request: Request,
        account: &Account,
        small: impl FnOnce(NonNull<u8>) -> Option<Block>,
        act: impl FnOnce(&mut Registry) -> T,
    ) -> T {
        let mut records = self.records.lock();
        if let Some(entry) = records.registry.live(start)
            && (const { CHECKS & SIZE == 0 } || entry.request == request)
        {
            return act(&mut records.registry);
        }
        let found = find::<CHECKS>(&records.registry, start);
        drop(records);
        account.die_of(misuse::fault_of::<CHECKS>(start, request, found, small))
    }

    /// Ends the process if the canary of a block in use was changed. What was asked for is in the
    /// block's record, whatever the program says now.
    fn check_canary(&self, start: NonNull<u8>, account: &Account) {
        if const { CHECKS & CANARY == 0 } {
            return;
        }
        let live = self.records.lock().registry.live(start).map(|entry| entry.request);
        let Some(request) = live else { return };
        let size = misuse::without_canary::<CHECKS>(request).bytes;
        // That it is free, the registry would know.
        // SAFETY: a block in use has the bytes of its request, a canary's among them.
        unsafe { Canary::check::<false>(account, start.as_ptr(), size, size) };
    }

    /// Whether a block of one request serves another as it is, or may be made to.
    fn is_alike(&self, old: Request, new: Request) -> bool {
        Self::OWN || self.plain.is_span(old) == self.plain.is_span(new)
    }

    /// What is to be done to resize a block in use; done already, if it is nothing but to record
    /// it. A block to be resized counts as freed until it is entered again, in a reserved place.
    fn plan(&self, registry: &mut Registry, start: NonNull<u8>, new_bytes: usize) -> Plan {
        let Some(entry) = registry.live(start) else { return Plan::Copy };
        let old = entry.request;
        let new = Request { bytes: new_bytes, align: old.align };
        if !self.is_alike(old, new) {
            return Plan::Copy;
        }
        if self.charged(new) == Some(entry.charged) {
            entry.request = new;
            return Plan::Done(old);
        }
        if Self::STAYS || !registry.reserve() {
            return Plan::Copy;
        }
        registry.free(start);
        Plan::Resize(old)
    }

    /// Resizes a block of [`Large`] that is marked freed, and has a place reserved.
    ///
    /// # Safety
    ///
    /// As for [`Larges::resize`].
    unsafe fn resize_plain(
        &self,
        start: NonNull<u8>,
        old: Request,
        new_bytes: usize,
        account: &Account,
    ) -> Option<NonNull<u8>> {
        let new = Request { bytes: new_bytes, align: old.align };
        // A shorter block of the same kind is made where it stands, and that does not fail.
        // SAFETY: by (1) the block is that long, and by (2) its end is not used any more.
        unsafe { Self::zero_end(start, old.bytes, new_bytes) };
        // SAFETY: by (1) and (2).
        let resized = unsafe { self.plain.resize(start, old, new_bytes, account, |_| None) };
        let (now, request) = resized.map_or((start, old), |moved| (moved, new));
        let entry = Entry::new(now, request, self.charged(request).unwrap_or(0));
        self.records.lock().registry.enter(entry);
        resized
    }

    /// Makes the end that a block loses zero, where that is checked; a mapping of its own goes with
    /// all that is in it.
    ///
    /// # Safety
    ///
    /// The block had `old_bytes` from `start` on. If it loses some, no one uses them any more.
    unsafe fn zero_end(start: NonNull<u8>, old_bytes: usize, new_bytes: usize) {
        if const { CHECKS & ZERO != 0 && !Self::OWN } && new_bytes < old_bytes {
            // SAFETY: by this function's contract.
            unsafe { zero_from(start, new_bytes, old_bytes) };
        }
    }

    /// Lets a freed block wait for its turn.
    fn hold(&self, mut entry: Entry, account: &Account) {
        let (Some(start), Some(bytes)) = (entry.start(), self.charged(entry.request)) else {
            return;
        };
        if bytes > quarantine::BYTES_MAX {
            return self.release(entry, account);
        }
        if const { Self::OWN } {
            // SAFETY: the block is freed, and ours until it is released.
            let returned = unsafe { mapping::close(start, entry.request) };
            refund_returned(&mut entry, returned, account);
        }
        while let Some(oldest) = self.evict_for(entry, bytes) {
            self.release(oldest, account);
        }
    }

    fn evict_for(&self, entry: Entry, bytes: usize) -> Option<Entry> {
        self.records.lock().quarantine.evict_for(entry, bytes)
    }

    fn pop_oldest(&self) -> Option<Entry> {
        self.records.lock().quarantine.pop_oldest()
    }

    fn take_refused(&self) -> Option<Entry> {
        self.records.lock().registry.take_refused()
    }

    /// Ends the life of a freed block, which nobody else knows.
    fn release(&self, mut entry: Entry, account: &Account) {
        let Some(start) = entry.start() else { return };
        if const { !Self::OWN } {
            // SAFETY: it came from there for this request, and is freed.
            return unsafe { self.plain.dealloc(start, entry.request, account, |_| None) };
        }
        // SAFETY: it came from `map` for a request of these OS pages, and is freed.
        if unsafe { mapping::unmap::<CHECKS>(start, entry.request) } {
            return account.refund(entry.charged);
        }
        if entry.charged > 0 {
            // SAFETY: as above, and it is still mapped.
            let returned = unsafe { mapping::close(start, entry.request) };
            refund_returned(&mut entry, returned, account);
        }
        self.records.lock().registry.refuse(entry);
    }
}

/// Writes the canary behind what the program asked for.
///
/// # Safety
///
/// The block has the request's bytes, which are the caller's.
unsafe fn write_canary<const CHECKS: u16>(start: NonNull<u8>, request: Request) {
    if const { CHECKS & CANARY != 0 } {
        let size = misuse::without_canary::<CHECKS>(request).bytes;
        // SAFETY: by this function's contract; the request has a canary's bytes more.
        unsafe { Canary::write(start.as_ptr(), size) };
    }
}

/// How a block is resized.
enum Plan {
    /// It is; that is what it was.
    Done(Request),
    /// By the system, or the units behind it.
    Resize(Request),
    /// Not at all: the caller copies.
    Copy,
}

/// What the records know of an address.
#[cold]
fn find<const CHECKS: u16>(registry: &Registry, address: NonNull<u8>) -> Found {
    let found = registry.find_start(address);
    if const { CHECKS & ALIGNMENT != 0 }
        && found == Found::Nowhere
        && let Some(block) = registry.find_inside(address)
    {
        return Found::Inside(block);
    }
    found
}

/// Takes back a charge for a block whose memory the system got, if it did.
fn refund_returned(entry: &mut Entry, returned: bool, account: &Account) {
    if returned {
        account.refund(mem::take(&mut entry.charged));
    }
}

/// Makes the end of a block zero, up to a whole OS page: see [`huge::zero`].
///
/// # Safety
///
/// The block has `bytes` from `start` on, and the rest of its last OS page; its bytes from `from`
/// on are the caller's.
unsafe fn zero_from(start: NonNull<u8>, from: usize, bytes: usize) {
    let (Some(first), Some(end)) = (os::whole_pages(from), os::whole_pages(bytes)) else { return };
    // SAFETY: by this function's contract.
    let tail = unsafe { start.add(from) };
    // SAFETY: by this function's contract, up to the OS page's end.
    unsafe { tail.write_bytes(0, first - from) };
    if first < end {
        // SAFETY: by this function's contract.
        let pages = unsafe { start.add(first) };
        // SAFETY: these are whole OS pages of the block.
        unsafe { huge::zero(pages, end - first) };
    }
}

impl<const CHECKS: u16> Larges for CheckedLarge<CHECKS> {
    fn alloc(&self, request: Request, want: Want, account: &Account) -> Option<NonNull<u8>> {
        let charged = self.charged(request)?;
        if !self.records.lock().registry.reserve() {
            return None;
        }
        let start = self.alloc_memory(request, want, account);
        if let Some(start) = start {
            // SAFETY: the memory is ours, and that long.
            unsafe { write_canary::<CHECKS>(start, request) };
        }
        let registry = &mut self.records.lock().registry;
        match start {
            Some(start) => registry.enter(Entry::new(start, request, charged)),
            None => registry.cancel(),
        }
        start
    }

    unsafe fn dealloc(
        &self,
        start: NonNull<u8>,
        request: Request,
        account: &Account,
        small: impl FnOnce(NonNull<u8>) -> Option<Block>,
    ) {
        self.check_canary(start, account);
        let take_out = |registry: &mut Registry| {
            let entry = registry.live(start).map(|entry| *entry);
            registry.free(start);
            entry
        };
        let Some(entry) = self.with_live(start, request, account, small, take_out) else { return };
        if const { CHECKS & ZERO != 0 && !Self::OWN } {
            // SAFETY: by this function's contract the block is ours now.
            unsafe { zero_from(start, 0, entry.request.bytes) };
        }
        if const { CHECKS & QUARANTINE != 0 } {
            self.hold(entry, account);
        } else {
            self.release(entry, account);
        }
    }

    unsafe fn resize(
        &self,
        start: NonNull<u8>,
        request: Request,
        new_bytes: usize,
        account: &Account,
        small: impl FnOnce(NonNull<u8>) -> Option<Block>,
    ) -> Option<NonNull<u8>> {
        self.check_canary(start, account);
        let plan = |registry: &mut Registry| self.plan(registry, start, new_bytes);
        let resized = match self.with_live(start, request, account, small, plan) {
            Plan::Done(old) => {
                // SAFETY: by (1) the block was that long, and by (2) its end is not used any more.
                unsafe { Self::zero_end(start, old.bytes, new_bytes) };
                start
            }
            // SAFETY: by (1) and (2); the plan marked it, and reserved a place.
            Plan::Resize(old) => unsafe { self.resize_plain(start, old, new_bytes, account) }?,
            Plan::Copy => return None,
        };
        // SAFETY: the block has the new bytes.
        unsafe { write_canary::<CHECKS>(resized, Request { bytes: new_bytes, ..request }) };
        Some(resized)
    }

    unsafe fn inspect(
        &self,
        start: NonNull<u8>,
        request: Request,
        account: &Account,
        small: impl FnOnce(NonNull<u8>) -> Option<Block>,
    ) {
        self.with_live(start, request, account, small, |_| ());
        self.check_canary(start, account);
    }

    fn null(&self, account: &Account) {
        if const { CHECKS & FOREIGN != 0 } {
            account.die_of(Fault::Foreign { address: 0 });
        }
    }

    fn find(&self, address: NonNull<u8>) -> Found {
        find::<CHECKS>(&self.records.lock().registry, address)
    }

    fn kept_bytes(&self) -> usize {
        let held = self.records.lock().quarantine.charged();
        held + self.plain.kept_bytes()
    }

    fn trim(&self, account: &Account) {
        if const { CHECKS & QUARANTINE != 0 } {
            while let Some(oldest) = self.pop_oldest() {
                self.release(oldest, account);
            }
        }
        if const { !Self::OWN } {
            return self.plain.trim(account);
        }
        let refused_count = self.records.lock().registry.refused_count();
        for refused in (0..refused_count).map_while(|_| self.take_refused()) {
            self.release(refused, account);
        }
    }

    fn trim_idle(&self, account: &Account) {
        if const { CHECKS & QUARANTINE != 0 || Self::OWN } {
            let is_idle = self.records.lock().quarantine.is_idle();
            if is_idle {
                self.trim(account);
            }
        } else {
            self.plain.trim_idle(account);
        }
    }

    fn before_fork(&self) {
        self.plain.before_fork();
        self.records.before_fork();
    }

    unsafe fn after_fork(&self) {
        // SAFETY: by this function's contract.
        unsafe { self.records.after_fork() };
        // SAFETY: by this function's contract.
        unsafe { self.plain.after_fork() };
    }
}
