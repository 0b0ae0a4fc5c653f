//! Which block an address lies in, for those that must not trust it.

#[cfg(all(test, not(loom)))]
mod tests;

use core::ptr::NonNull;

use super::Class;
use crate::fault::Fault;
use crate::slab::{self, Kind, Place, Slab};
use crate::superslab::{self, Superslab};

/// A block that an address lies in.
pub(crate) struct Found {
    pub(crate) class: &'static Class,
    pub(crate) start: NonNull<u8>,
    pub(crate) place: Place,
}

/// The block of a living slab that an address lies in; `None` in a header, a span, a free unit, or
/// at the end of a slab, where no block is.
///
/// # Safety
///
/// The address lies in a superslab.
pub(crate) unsafe fn find(address: NonNull<u8>) -> Option<Found> {
    // SAFETY: by this function's contract.
    let slab = unsafe { slot_of(address) };
    // SAFETY: headers are never unmapped; a slot that never held a slab is zero, which is a slab
    // without an owner.
    let owner = unsafe { slab.as_ref() }.owner().cast::<Class>();
    // SAFETY: slabs' owners are classes of heaps, which are never dropped.
    let class = unsafe { owner.as_ref() }?;
    // SAFETY: by this function's contract.
    let place = unsafe { slab::place_of(&class.size, address) };
    if place.slab != slab || !place.is_within(&class.size) {
        return None;
    }
    // SAFETY: the block lies within the slab.
    let start = unsafe { Slab::start(slab).add(place.index as usize * class.size.bytes as usize) };
    Some(Found { class, start, place })
}

/// Whether an address is in a free unit that was last in a slab of a kind.
///
/// # Safety
///
/// The address lies in a superslab.
pub(crate) unsafe fn was_of(address: NonNull<u8>, kind: Kind) -> bool {
    // SAFETY: by this function's contract.
    let slab = unsafe { slot_of(address) };
    // SAFETY: headers are never unmapped.
    let was = unsafe { slab.as_ref() }.was_of(kind);
    was && superslab::is_free(Superslab::of(address), Superslab::unit_of(address))
}

/// The metadata slot of the run that an address's unit was handed out in last.
///
/// # Safety
///
/// The address lies in a superslab.
unsafe fn slot_of(address: NonNull<u8>) -> NonNull<Slab> {
    let superslab = Superslab::of(address);
    // SAFETY: by this function's contract.
    let first = unsafe { Superslab::last_head(superslab, Superslab::unit_of(address)) };
    Superslab::meta(superslab, first).cast()
}

impl Class {
    /// Why a block that was freed as one of this class cannot be one.
    pub(super) fn fault_of(&self, block: NonNull<u8>) -> Fault {
        let address = block.addr().get();
        let foreign = Fault::Foreign { address };
        if !superslab::has(block) {
            return foreign;
        }
        // SAFETY: it lies in a superslab.
        let found = unsafe { find(block) };
        match found.filter(|found| core::ptr::eq(found.class.account, self.account)) {
            Some(found) => self.fault_in(&found, address),
            // SAFETY: as above.
            None if unsafe { was_of(block, self.kind()) } => {
                Fault::DoubleFree { block: address, bytes: self.size.bytes as usize }
            }
            None => foreign,
        }
    }

    /// The same for an address in a block of this allocator.
    fn fault_in(&self, found: &Found, address: usize) -> Fault {
        let (start, bytes) = (found.start.addr().get(), found.class.size.bytes as usize);
        if address == start {
            Fault::Class { block: start, bytes, freed_as: self.size.bytes as usize }
        } else {
            Fault::Inside { address, start, bytes }
        }
    }
}
