//! Superslabs: 2 MiB regions cut into units, shared by all classes of all allocators.
//!
//! Unit 0 holds the header: which units are free, which run each unit belongs to, and one metadata
//! slot per unit, for whoever holds the run that starts there.
//!
//! # Rules
//!
//! 1. `free`, `clean` and the links of a superslab belong to the units lock.
//! 2. `heads` of a run are written under that lock before the run is handed out. Whoever holds
//!    a live block or span of the run may read them without it.
//! 3. A header is never unmapped: a stale pointer to a metadata slot is a pointer to one.
//! 4. Free units that were used are dirty. To return their OS pages they are claimed: they are
//!    neither free nor in use until they come back, clean, so no lock is held meanwhile. Who finds
//!    no other memory waits for them.
//! 5. A run that grows starts at [`ROOM`], the upper half of a superslab, and the rest of that
//!    half is reserved for it: free, but in no list, so that no other run is put in its way.
//!    Memory that is not touched costs nothing; when the system has no more addresses, reserves
//!    are given up.

mod claim;
#[cfg(all(test, loom))]
mod models;
mod pool;
mod runs;
#[cfg(test)]
mod tests;

use core::ptr::{self, NonNull};

use crate::account::{Account, Prefault};
use crate::os;
use crate::sync::{AtomicPtr, AtomicU8, AtomicUsize, Ordering, UnsafeCell};

pub(crate) use claim::{Claim, claim_due, claim_now, is_purge_due, next_purge_in};
use pool::{Due, UNITS_POOL};
pub(crate) use pool::{Watcher, after_fork, before_fork, unclaim, watch};
use runs::run_mask;

/// Bytes of a superslab, and its alignment.
pub const SUPERSLAB_BYTES: usize = 2 << 20;
/// Bytes of a unit: the grain of slabs and spans.
pub const UNIT_BYTES: usize = 64 << 10;
/// Units of a superslab, the header's included.
const UNITS: usize = SUPERSLAB_BYTES / UNIT_BYTES;
/// Free units of a fresh superslab: all but the header's.
const FRESH: u32 = !1;
/// The units for a run that grows (rule 5): a largest span of them.
const ROOM: u32 = 0xffff_0000;
/// Bytes of one metadata slot.
pub(crate) const META_BYTES: usize = 640;

/// Bytes of the header that are used.
pub(crate) const HEADER_BYTES: usize = size_of::<Superslab>();

const _: () = assert!(UNITS == u32::BITS as usize, "one bit of a `u32` per unit");
const _: () = assert!(size_of::<Superslab>() <= UNIT_BYTES, "the metadata fits the header");

/// A metadata slot. What is in it is the business of the run's holder.
#[repr(C, align(64))]
struct Meta(UnsafeCell<[u8; META_BYTES]>);

/// The header of a superslab.
#[repr(C, align(64))]
pub(crate) struct Superslab {
    shared: UnsafeCell<Shared>,
    /// All superslabs, in a list that only grows.
    older: AtomicPtr<Superslab>,
    /// For each unit the first unit of its run.
    heads: [AtomicU8; UNITS],
    metas: [Meta; UNITS],
}

/// What the units lock protects.
struct Shared {
    /// One bit per free unit.
    free: u32,
    /// One bit per unit that is kept for the run before it to grow into (rule 5).
    reserved: u32,
    /// One bit per free unit whose memory is zero: it was never handed out, or was purged.
    clean: u32,
    /// One bit per unit that is claimed (rule 4).
    claimed: u32,
    /// One bit per free unit that was offered to the system, which takes it when it needs memory.
    offered: u32,
    /// Neighbours among the superslabs with the same longest free run.
    next: *mut Superslab,
    previous: *mut Superslab,
    /// The next superslab that waits to be purged.
    next_waiting: *mut Superslab,
    is_waiting: bool,
    /// Since when it waits, and when its dirty units are due: milliseconds of the system's clock.
    since_ms: u64,
    due_ms: u64,
    lazily: bool,
}

/// A run of units that was handed out.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) superslab: NonNull<Superslab>,
    pub(crate) first: u32,
    /// The run's memory has never been used: it is zero.
    pub(crate) clean: bool,
}

impl Run {
    /// The run's memory.
    pub(crate) fn start(self) -> NonNull<u8> {
        // SAFETY: a run lies within its superslab.
        unsafe { self.superslab.cast::<u8>().add(self.first as usize * UNIT_BYTES) }
    }
}

static MAPPED_BYTES: AtomicUsize = AtomicUsize::new(0);
/// The head of the list of all superslabs.
static NEWEST: AtomicPtr<Superslab> = AtomicPtr::new(ptr::null_mut());

/// Hands out `units` neighbouring units, 1 to 31; `None` when the system has no memory, or the
/// account is at its limit.
pub(crate) fn alloc_run(units: u32, account: &Account) -> Option<Run> {
    charged(units, account, || find_run(units, account))
}

/// Hands out a run that is likely to grow, where it may (rule 5) if there is such a place.
pub(crate) fn alloc_growing_run(units: u32, account: &Account) -> Option<Run> {
    charged(units, account, || find_room(units, account).or_else(|| find_run(units, account)))
}

fn charged(units: u32, account: &Account, find: impl FnOnce() -> Option<Run>) -> Option<Run> {
    debug_assert!((1..u32::BITS).contains(&units));
    if !account.charge(units as usize * UNIT_BYTES) {
        return None;
    }
    let run = find();
    if run.is_none() {
        account.refund(units as usize * UNIT_BYTES);
    }
    run
}

fn find_room(units: u32, account: &Account) -> Option<Run> {
    let mut pool = UNITS_POOL.lock();
    if units > ROOM.count_ones() || !pool.may_reserve() {
        return None;
    }
    let superslab = pool.with_room().or_else(|| pool.map(account))?;
    Some(pool.take_with_room(superslab, units))
}

fn find_run(units: u32, account: &Account) -> Option<Run> {
    loop {
        let mut pool = UNITS_POOL.lock();
        if let Some(superslab) = pool.with_run(units).or_else(|| pool.map(account)) {
            return Some(pool.take(superslab, units));
        }
        if pool.give_up_reserves() {
            continue;
        }
        if !pool.has_claimed() {
            return None;
        }
        // There is memory: it is being purged.
        drop(pool);
        os::give_way();
    }
}

/// Takes units back: a run, or the end of one. False when one of them is free already.
///
/// # Safety
///
/// The units are in use as one run of the account, or one of them is free; no one uses their memory
/// any more.
pub(crate) unsafe fn free_run(
    superslab: NonNull<Superslab>,
    first: u32,
    units: u32,
    account: &Account,
) -> bool {
    let mask = run_mask(first, units);
    let due = Due::of(account);
    let mut pool = UNITS_POOL.lock();
    // SAFETY: the lock is held (rule 1).
    let shared = unsafe { Superslab::shared(superslab) };
    if (shared.free | shared.claimed) & mask != 0 {
        return false;
    }
    pool.set_free(superslab, mask, false);
    if mask & ROOM != 0 {
        // What grew was given back, or shrinks.
        pool.end_reserve(superslab);
    }
    pool.wait(superslab, due);
    drop(pool);
    account.refund(units as usize * UNIT_BYTES);
    true
}

/// Units in use of the run that starts at `first`: none when it is free. For words about a misuse.
#[cold]
pub(crate) fn run_units(superslab: NonNull<Superslab>, first: u32) -> u32 {
    let _pool = UNITS_POOL.lock();
    // SAFETY: the lock is held (rule 1).
    let shared = unsafe { Superslab::shared(superslab) };
    let unused = shared.free | shared.claimed;
    // SAFETY: the lock is held (rule 2).
    let head = |unit| unsafe { Superslab::head(superslab, unit) };
    let units = first..u32::BITS;
    let used = units.take_while(|&unit| unused & (1 << unit) == 0 && head(unit) == first);
    u32::try_from(used.count()).unwrap_or(0)
}

/// Makes the run at `first` longer, from `units` to `wanted`, when the units behind it are free.
///
/// # Safety
///
/// The caller holds the run.
pub(crate) unsafe fn extend_run(
    superslab: NonNull<Superslab>,
    first: u32,
    units: u32,
    wanted: u32,
    account: &Account,
) -> bool {
    let more_bytes = (wanted - units) as usize * UNIT_BYTES;
    if first + wanted > u32::BITS || !account.charge(more_bytes) {
        return false;
    }
    let more = run_mask(first + units, wanted - units);
    let mut pool = UNITS_POOL.lock();
    // SAFETY: the lock is held (rule 1).
    let shared = unsafe { Superslab::shared(superslab) };
    // Units that are reserved for another run lie behind that run.
    if shared.free & more != more {
        account.refund(more_bytes);
        return false;
    }
    pool.unlink(superslab);
    // SAFETY: the lock is held (rule 1).
    let shared = unsafe { Superslab::shared(superslab) };
    shared.free &= !more;
    shared.clean &= !more;
    shared.offered &= !more;
    pool.reserve(shared, shared.reserved & !more);
    Superslab::set_heads(superslab, first + units..first + wanted, first);
    pool.link(superslab);
    true
}

/// Bytes of all superslabs.
pub(crate) fn mapped_bytes() -> usize {
    MAPPED_BYTES.load(Ordering::Relaxed)
}

/// Bytes of units that are free and were used: what a purge would return.
pub(crate) fn dirty_bytes() -> usize {
    let _pool = UNITS_POOL.lock();
    // SAFETY: the lock is held (rule 1), and each reference ends before the next.
    let dirty = |superslab| unsafe { Superslab::shared(superslab) }.dirty().count_ones() as usize;
    all().map(dirty).sum::<usize>() * UNIT_BYTES
}

/// Whether a unit of a superslab is free.
#[cold]
pub(crate) fn is_free(superslab: NonNull<Superslab>, unit: u32) -> bool {
    let _pool = UNITS_POOL.lock();
    // SAFETY: the lock is held (rule 1).
    let shared = unsafe { Superslab::shared(superslab) };
    (shared.free | shared.claimed) & run_mask(unit, 1) != 0
}

/// Whether an address, which may be any, lies in a superslab. Looks through all of them, and not at
/// the address.
#[cold]
pub(crate) fn has(address: NonNull<u8>) -> bool {
    let base = address.addr().get() & !(SUPERSLAB_BYTES - 1);
    all().any(|superslab| superslab.addr().get() == base)
}

/// All superslabs there are, newest first.
pub(crate) fn all() -> impl Iterator<Item = NonNull<Superslab>> {
    let mut next = NonNull::new(NEWEST.load(Ordering::Acquire));
    core::iter::from_fn(move || {
        let this = next?;
        // SAFETY: headers are never unmapped (rule 3).
        next = NonNull::new(unsafe { this.as_ref() }.older.load(Ordering::Relaxed));
        Some(this)
    })
}

impl Superslab {
    /// The superslab that an address lies in, if it lies in one at all.
    pub(crate) fn of(address: NonNull<u8>) -> NonNull<Superslab> {
        let base = address.as_ptr().map_addr(|address| address & !(SUPERSLAB_BYTES - 1));
        // SAFETY: the first superslab-sized piece of the address space is never mapped.
        unsafe { NonNull::new_unchecked(base.cast()) }
    }

    /// The unit that an address lies in, counted from the start of its superslab.
    pub(crate) fn unit_of(address: NonNull<u8>) -> u32 {
        let unit = (address.addr().get() % SUPERSLAB_BYTES) / UNIT_BYTES;
        u32::try_from(unit).unwrap_or(0)
    }

    /// The first unit of the run that `unit` belongs to.
    ///
    /// # Safety
    ///
    /// `this` is a superslab, and the caller holds something in that run (rule 2).
    pub(crate) unsafe fn head(this: NonNull<Superslab>, unit: u32) -> u32 {
        // SAFETY: headers are never unmapped.
        let head = &unsafe { this.as_ref() }.heads[unit as usize % UNITS];
        u32::from(head.load(Ordering::Relaxed))
    }

    /// The first unit of the run that `unit` was handed out in last; 0 if it never was.
    ///
    /// # Safety
    ///
    /// `this` is a superslab.
    pub(crate) unsafe fn last_head(this: NonNull<Superslab>, unit: u32) -> u32 {
        // SAFETY: by this function's contract; what is read needs no holder to be a number.
        unsafe { Self::head(this, unit) }
    }

    /// The metadata slot of `unit`.
    pub(crate) fn meta(this: NonNull<Superslab>, unit: u32) -> NonNull<u8> {
        let offset = core::mem::offset_of!(Superslab, metas) + unit as usize * size_of::<Meta>();
        // SAFETY: the slots of all 32 units lie within the header.
        unsafe { this.cast::<u8>().add(offset) }
    }

    /// Maps a superslab and enters it into the list of all; it is in no list by run yet.
    fn map(account: &Account) -> Option<NonNull<Superslab>> {
        let memory = os::map_aligned(SUPERSLAB_BYTES, SUPERSLAB_BYTES)?;
        if account.terms.huge_pages {
            // SAFETY: just mapped with this size.
            unsafe { os::advise_huge_pages(memory, SUPERSLAB_BYTES) };
        } else {
            // SAFETY: just mapped with this size.
            unsafe { os::no_huge_pages(memory, SUPERSLAB_BYTES) };
        }
        if account.terms.prefault == Prefault::All {
            // SAFETY: just mapped with this size.
            unsafe { os::populate(memory, SUPERSLAB_BYTES) };
        }
        MAPPED_BYTES.fetch_add(SUPERSLAB_BYTES, Ordering::Relaxed);
        let this = memory.cast::<Superslab>();
        // SAFETY: fresh memory is zero, which is a valid header: null links, no free units.
        let shared = unsafe { Self::shared(this) };
        shared.free = FRESH;
        shared.clean = FRESH;
        // SAFETY: as above, and no one else knows the header yet.
        unsafe { this.as_ref() }.older.store(NEWEST.load(Ordering::Relaxed), Ordering::Relaxed);
        NEWEST.store(this.as_ptr(), Ordering::Release);
        Some(this)
    }

    /// What the units lock protects.
    ///
    /// # Safety
    ///
    /// The caller holds the units lock, and no other reference from this function.
    unsafe fn shared<'a>(this: NonNull<Superslab>) -> &'a mut Shared {
        // SAFETY: headers are never unmapped.
        let cell = unsafe { &this.as_ref().shared };
        // SAFETY: the lock makes this the only reference.
        unsafe { &mut *cell.get() }
    }

    fn set_heads(this: NonNull<Superslab>, units: core::ops::Range<u32>, head: u32) {
        for unit in units {
            // SAFETY: headers are never unmapped.
            let heads = unsafe { &this.as_ref().heads };
            heads[unit as usize].store(u8::try_from(head).unwrap_or(0), Ordering::Relaxed);
        }
    }
}

impl Shared {
    /// Free units that the system has not got back and was not offered.
    fn dirty(&self) -> u32 {
        self.free & !self.clean & !self.offered
    }

    /// Free units that any run may get.
    fn open(&self) -> u32 {
        self.free & !self.reserved
    }
}
