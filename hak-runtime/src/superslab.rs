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

use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};

use crate::os;
use crate::sync::{AtomicPtr, AtomicU8, Mutex, Ordering};

/// Bytes of a superslab, and its alignment.
pub const SUPERSLAB_BYTES: usize = 2 << 20;
/// Bytes of a unit: the grain of slabs and spans.
pub const UNIT_BYTES: usize = 64 << 10;
/// Units of a superslab, the header's included.
const UNITS: usize = SUPERSLAB_BYTES / UNIT_BYTES;
/// Free units of a fresh superslab: all but the header's.
const FRESH: u32 = !1;
/// Bytes of one metadata slot.
pub(crate) const META_BYTES: usize = 640;

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
    /// One bit per free unit that was never handed out: its memory is zero.
    clean: u32,
    /// Neighbours among the superslabs with the same longest free run.
    next: *mut Superslab,
    previous: *mut Superslab,
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

/// Superslabs by the length of their longest free run.
struct Units {
    by_run: [*mut Superslab; UNITS],
    /// Bit `n` is set when `by_run[n]` is not empty.
    occupied: u32,
}

// SAFETY: superslabs belong to no thread; the lists are used only under the lock.
unsafe impl Send for Units {}

static UNITS_POOL: Mutex<Units> =
    Mutex::new(Units { by_run: [ptr::null_mut(); UNITS], occupied: 0 });
static NEWEST: AtomicPtr<Superslab> = AtomicPtr::new(ptr::null_mut());

/// Hands out `units` neighbouring units, 1 to 31; `None` when the system has no memory.
pub(crate) fn alloc_run(units: u32) -> Option<Run> {
    debug_assert!((1..u32::BITS).contains(&units));
    let mut pool = UNITS_POOL.lock();
    let superslab = match pool.occupied & (u32::MAX << units) {
        0 => Superslab::map()?,
        fitting => {
            let shortest = fitting.trailing_zeros() as usize;
            // SAFETY: the list is not empty, so its head is a superslab.
            unsafe { NonNull::new_unchecked(pool.by_run[shortest]) }
        }
    };
    pool.unlink(superslab);
    // SAFETY: the lock is held (rule 1).
    let shared = unsafe { Superslab::shared(superslab) };
    let first = first_run(shared.free, units);
    let mask = run_mask(first, units);
    let clean = shared.clean & mask == mask;
    shared.free &= !mask;
    shared.clean &= !mask;
    Superslab::set_heads(superslab, first..first + units, first);
    pool.link(superslab);
    Some(Run { superslab, first, clean })
}

/// Takes units back: a run, or the end of one. False when one of them is free already.
///
/// # Safety
///
/// The units are in use as one run, or one of them is free; no one uses their memory any more.
pub(crate) unsafe fn free_run(superslab: NonNull<Superslab>, first: u32, units: u32) -> bool {
    let mask = run_mask(first, units);
    let mut pool = UNITS_POOL.lock();
    // SAFETY: the lock is held (rule 1).
    let shared = unsafe { Superslab::shared(superslab) };
    if shared.free & mask != 0 {
        return false;
    }
    pool.unlink(superslab);
    // SAFETY: the lock is held, and the reference from before is not used any more.
    unsafe { Superslab::shared(superslab) }.free |= mask;
    pool.link(superslab);
    true
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
) -> bool {
    if first + wanted > u32::BITS {
        return false;
    }
    let more = run_mask(first + units, wanted - units);
    let mut pool = UNITS_POOL.lock();
    // SAFETY: the lock is held (rule 1).
    if unsafe { Superslab::shared(superslab) }.free & more != more {
        return false;
    }
    pool.unlink(superslab);
    // SAFETY: the lock is held (rule 1).
    let shared = unsafe { Superslab::shared(superslab) };
    shared.free &= !more;
    shared.clean &= !more;
    Superslab::set_heads(superslab, first + units..first + wanted, first);
    pool.link(superslab);
    true
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

    /// The metadata slot of `unit`.
    pub(crate) fn meta(this: NonNull<Superslab>, unit: u32) -> NonNull<u8> {
        let offset = core::mem::offset_of!(Superslab, metas) + unit as usize * size_of::<Meta>();
        // SAFETY: the slots of all 32 units lie within the header.
        unsafe { this.cast::<u8>().add(offset) }
    }

    /// Maps a superslab and enters it into the list of all; it is in no list by run yet.
    fn map() -> Option<NonNull<Superslab>> {
        let memory = os::map_aligned(SUPERSLAB_BYTES, SUPERSLAB_BYTES)?;
        // SAFETY: just mapped with this size.
        unsafe { os::no_huge_pages(memory, SUPERSLAB_BYTES) };
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

impl Units {
    /// Enters a superslab into the list of its longest free run; a full one into none.
    fn link(&mut self, superslab: NonNull<Superslab>) {
        // SAFETY: `self` is only reached under the lock.
        let shared = unsafe { Superslab::shared(superslab) };
        let run = longest_run(shared.free);
        if run == 0 {
            return;
        }
        let first = &mut self.by_run[run as usize];
        shared.previous = ptr::null_mut();
        shared.next = *first;
        if let Some(next) = NonNull::new(*first) {
            // SAFETY: the lock is held, and `next` is another superslab than this one.
            unsafe { Superslab::shared(next) }.previous = superslab.as_ptr();
        }
        *first = superslab.as_ptr();
        self.occupied |= 1 << run;
    }

    /// Takes a superslab out of the list it is in, if it is in one.
    fn unlink(&mut self, superslab: NonNull<Superslab>) {
        // SAFETY: `self` is only reached under the lock.
        let shared = unsafe { Superslab::shared(superslab) };
        let run = longest_run(shared.free) as usize;
        let (next, previous) = (shared.next, shared.previous);
        if previous.is_null() && self.by_run[run] != superslab.as_ptr() {
            return;
        }
        (shared.next, shared.previous) = (ptr::null_mut(), ptr::null_mut());
        if let Some(next) = NonNull::new(next) {
            // SAFETY: the lock is held, and `next` is another superslab than this one.
            unsafe { Superslab::shared(next) }.previous = previous;
        }
        match NonNull::new(previous) {
            // SAFETY: the lock is held, and `previous` is another superslab than this one.
            Some(previous) => unsafe { Superslab::shared(previous) }.next = next,
            None => self.by_run[run] = next,
        }
        if self.by_run[run].is_null() {
            self.occupied &= !(1 << run);
        }
    }
}

/// The bits of `units` units from `first`; `units` is 1 to 31.
fn run_mask(first: u32, units: u32) -> u32 {
    ((1 << units) - 1) << first
}

/// Where the lowest run of `units` set bits starts; 32 when there is none.
fn first_run(mask: u32, units: u32) -> u32 {
    // Bit `i` of `starts` says: the `seen` bits from `i` on are set.
    let (mut starts, mut seen) = (mask, 1);
    while seen < units {
        let step = seen.min(units - seen);
        starts &= starts >> step;
        seen += step;
    }
    starts.trailing_zeros()
}

/// Length of the longest run of set bits.
fn longest_run(mut mask: u32) -> u32 {
    let mut run = 0;
    while mask != 0 {
        mask &= mask >> 1;
        run += 1;
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_bits_are_found() {
        assert_eq!(first_run(0b1011_0111, 1), 0);
        assert_eq!(first_run(0b1011_0111, 3), 0);
        assert_eq!(first_run(0b1011_0110, 2), 1);
        assert_eq!(first_run(0b1011_0110, 3), 32);
        assert_eq!(first_run(FRESH, 31), 1);
        assert_eq!(longest_run(0b1011_0111), 3);
        assert_eq!(longest_run(FRESH), 31);
        assert_eq!(longest_run(0), 0);
    }

    #[test]
    fn runs_are_disjoint_and_come_back() {
        let sizes = [1, 31, 4, 16, 2, 9, 1, 7, 30, 3];
        let runs: Vec<_> =
            sizes.iter().map(|&units| (alloc_run(units).unwrap(), units as usize)).collect();
        let mut places: Vec<_> = runs
            .iter()
            .map(|(run, units)| (run.start().addr().get(), units * UNIT_BYTES))
            .collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        for (run, units) in runs {
            let last = run.first + u32::try_from(units).unwrap() - 1;
            // SAFETY: the run is held.
            assert_eq!(unsafe { Superslab::head(run.superslab, last) }, run.first);
            let units = u32::try_from(units).unwrap();
            // SAFETY: the run was handed out above and is not used.
            assert!(unsafe { free_run(run.superslab, run.first, units) });
        }
    }
}
