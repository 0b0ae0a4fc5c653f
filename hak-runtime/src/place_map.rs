//! From an address to the class of its block, in one load: a byte for each unit of the address
//! space.
//!
//! The byte is 0 where no slab is; else it is the place of the slab's class, in the measure that
//! the library's code counts in. Two GiB of addresses are reserved for it, readable only, which
//! takes no memory; the OS pages in which something is noted become writable before that, a stretch
//! at a time, so that there are few mappings of it.
//!
//! # Rules
//!
//! 1. The map is a help and no more: where the system refuses it, or a stretch of it, the bytes are
//!    not there, or 0, and blocks are found by their superslab's header.
//! 2. A byte is noted before a block of its slab is handed out, and cleared when all blocks of it
//!    are back. Who holds a block got it after that, by whatever way, and sees the byte.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

use crate::os;
use crate::superslab::UNIT_BYTES;

/// Bits of an address: the system gives a program no more unless it asks for them.
const ADDRESS_BITS: u32 = 47;
/// Bytes of the map.
const BYTES: usize = (1 << ADDRESS_BITS) / UNIT_BYTES;
/// Bytes that become writable at a time. They are for 4 GiB of addresses.
const STRETCH_BYTES: usize = 64 << 10;
const STRETCHES: usize = BYTES / STRETCH_BYTES;
/// The map shall be no more than this part of the addresses that the process may have.
const PART_MAX: usize = 16;

/// The map; null where there is none.
static MAP: AtomicPtr<AtomicU8> = AtomicPtr::new(ptr::null_mut());

/// Which stretches are writable.
static WRITABLE: [AtomicU64; STRETCHES / 64] = [const { AtomicU64::new(0) }; STRETCHES / 64];

/// Reserves the map, if that was not done. Called before there is a slab.
pub(crate) fn reserve() {
    let may = os::address_limit().is_none_or(|bytes| bytes / PART_MAX >= BYTES);
    if may
        && MAP.load(Ordering::Relaxed).is_null()
        && let Some(map) = os::reserve(BYTES)
    {
        MAP.store(map.as_ptr().cast(), Ordering::Release);
    }
}

/// The map: the byte of an address is as far from its start as the address is in units. Null where
/// there is none.
#[inline(always)]
#[must_use]
pub fn place_map() -> *const u8 {
    MAP.load(Ordering::Relaxed).cast()
}

/// The byte of an address in the map, which there is.
///
/// # Safety
///
/// 1. `map` is what [`place_map`] gave, and is not null.
/// 2. The address is null, that of a block that the caller holds, or one in memory that is not
///    ours: then nobody writes to its byte meanwhile (rule 2).
#[inline(always)]
#[must_use]
pub unsafe fn place_in(map: *const u8, address: *const u8) -> usize {
    // SAFETY: the map has a byte for each unit of the address space.
    let byte = unsafe { map.add(address.addr() / UNIT_BYTES) };
    // SAFETY: as above, and by (2).
    usize::from(unsafe { byte.read() })
}

/// The byte of an address, which may be any.
#[inline]
pub(crate) fn at(address: usize) -> u8 {
    let (map, unit) = (MAP.load(Ordering::Relaxed), address / UNIT_BYTES);
    if map.is_null() || unit >= BYTES {
        return 0;
    }
    // SAFETY: the map has a byte for the unit.
    let byte = unsafe { byte_of(map, unit) };
    byte.load(Ordering::Relaxed)
}

/// Notes a byte for all units of a slab, or clears them.
pub(crate) fn note(slab: NonNull<u8>, bytes: usize, place: u8) {
    let map = MAP.load(Ordering::Relaxed);
    let first = slab.addr().get() / UNIT_BYTES;
    for unit in first..first + bytes / UNIT_BYTES {
        if map.is_null() || unit >= BYTES || !is_writable(map, unit / STRETCH_BYTES) {
            continue;
        }
        // SAFETY: the map has a byte for the unit; it is writable.
        let byte = unsafe { byte_of(map, unit) };
        byte.store(place, Ordering::Relaxed);
    }
}

/// The byte of a unit.
///
/// # Safety
///
/// `map` is the map, and has a byte for the unit.
unsafe fn byte_of<'a>(map: *mut AtomicU8, unit: usize) -> &'a AtomicU8 {
    // SAFETY: by this function's contract.
    let byte = unsafe { map.add(unit) };
    // SAFETY: as above; the map is never unmapped.
    unsafe { &*byte }
}

/// Whether a stretch is writable, or becomes so.
fn is_writable(map: *mut AtomicU8, stretch: usize) -> bool {
    let (word, bit) = (&WRITABLE[stretch / 64], 1 << (stretch % 64));
    if word.load(Ordering::Relaxed) & bit != 0 {
        return true;
    }
    // SAFETY: the stretch lies within the map.
    let start = unsafe { map.add(stretch * STRETCH_BYTES) };
    // SAFETY: it is mapped and ours.
    let is_allowed =
        NonNull::new(start.cast()).is_some_and(|at| unsafe { os::allow(at, STRETCH_BYTES) });
    if is_allowed {
        word.fetch_or(bit, Ordering::Relaxed);
    }
    is_allowed
}
