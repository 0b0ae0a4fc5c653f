//! The checks of a free that a class is to serve: is it a block of this allocator, of that class,
//! in use?
//!
//! The good way is a look into the map of superslabs, one into the slab, a multiplication and a
//! few comparisons. All that tells one fault from another is behind a single cold call.

#[cfg(all(test, not(loom)))]
mod tests;

use core::hint::cold_path;
use core::ptr::NonNull;

use crate::address_map;
use crate::checks::{ALIGNMENT, DOUBLE_FREE, FOREIGN, SIZE};
use crate::class::{self, Class, Found};
use crate::depot::Depots;
use crate::fault::Fault;
use crate::heap::Heap;
use crate::large::Larges;
use crate::misuse;
use crate::slab;

/// The checks that look at the slab.
const LOOKS: u16 = FOREIGN | ALIGNMENT | SIZE | DOUBLE_FREE;

/// A free as it was asked for.
#[derive(Clone, Copy)]
struct Asked {
    /// The class that serves its layout.
    number: usize,
    block: *mut u8,
    size: usize,
    align: usize,
}

/// Where a large block starts, and its bytes.
type LargeBlock = (*mut u8, usize);

impl<D: Depots, L: Larges> Heap<D, L> {
    /// Ends the process if the checks find fault with a free of `block` with a layout of `size` and
    /// `align`, which the class of this number serves.
    ///
    /// # Safety
    ///
    /// 1. There is such a class.
    /// 2. If `CHECKS` lacks [`FOREIGN`], `block` is a block of the class, in use or free. With it,
    ///    `block` may be anything, and the heap's terms come from [`checked`](crate::checked).
    #[inline]
    pub unsafe fn check_block<const CHECKS: u16>(
        &self,
        number: usize,
        block: *mut u8,
        size: usize,
        align: usize,
    ) {
        if const { CHECKS & LOOKS == 0 } {
            return;
        }
        // SAFETY: by (1) and (2).
        if !unsafe { self.is_faultless::<CHECKS>(number, block) } {
            cold_path();
            self.suspect::<CHECKS>(Asked { number, block, size, align });
        }
    }

    /// Whether a block is beyond doubt.
    ///
    /// # Safety
    ///
    /// As for [`Heap::check_block`].
    #[inline]
    unsafe fn is_faultless<const CHECKS: u16>(&self, number: usize, block: *mut u8) -> bool {
        if const { CHECKS & FOREIGN != 0 } && !address_map::contains(block.addr()) {
            return false;
        }
        // SAFETY: by (1) there is one; classes of the first shard come first.
        let size = unsafe { &self.classes.get_unchecked(number).size };
        // Without `FOREIGN` nobody has looked whether it is an address at all.
        if const { CHECKS & FOREIGN == 0 } && block.is_null() {
            return false;
        }
        // SAFETY: no superslab is at address 0, so it is not null by the map, or as seen above.
        let block = unsafe { NonNull::new_unchecked(block) };
        // SAFETY: the address lies in a superslab, by the map, or by (2).
        let place = unsafe { slab::place_of(size, block) };
        // SAFETY: headers are never unmapped.
        let slab = unsafe { place.slab.as_ref() };
        // What follows is about the asked class: another one is judged at length.
        slab.kind() == slab::kind_of(self.account, number)
            && (const { CHECKS & ALIGNMENT == 0 } || place.is_start(size))
            && (const { CHECKS & FOREIGN == 0 } || place.is_within(size))
            // SAFETY: it lies in a block of the slab's class.
            && (const { CHECKS & DOUBLE_FREE == 0 } || !unsafe { slab.is_free(place) })
    }

    #[cold]
    #[inline(never)]
    fn suspect<const CHECKS: u16>(&self, asked: Asked) {
        let large = |address| self.large_block::<CHECKS>(address);
        if let Some(fault) = self.judge::<CHECKS>(asked, large) {
            self.account.die_of(fault);
        }
    }

    /// The fault that the checks find with a free, if they do. What none of them is for goes on,
    /// and is found when the block is given back.
    fn judge<const CHECKS: u16>(
        &self,
        asked: Asked,
        large: impl FnOnce(*mut u8) -> Option<LargeBlock>,
    ) -> Option<Fault> {
        let known = CHECKS & FOREIGN == 0 || address_map::contains(asked.block.addr());
        let address = NonNull::new(asked.block).filter(|_| known);
        // SAFETY: it lies in a superslab: by the map, or by the contract of `check_block`.
        let found = address.and_then(|address| unsafe { self.find(address) });
        if let Some(found) = found {
            return judge_found::<CHECKS>(asked, &found);
        }
        if CHECKS & DOUBLE_FREE != 0
            && address.is_some_and(|address| self.was_freed(asked, address))
        {
            let bytes = self.classes[asked.number].size.bytes as usize;
            return Some(Fault::DoubleFree { block: asked.block.addr(), bytes });
        }
        let of_large = large(asked.block);
        let fault = of_large.and_then(|(start, bytes)| misfit::<CHECKS>(asked, start, bytes));
        let foreign = Fault::Foreign { address: asked.block.addr() };
        fault.or((CHECKS & FOREIGN != 0).then_some(foreign))
    }

    /// Whether the block was one of the asked class, and its slab was retired since.
    fn was_freed(&self, asked: Asked, address: NonNull<u8>) -> bool {
        let class: &Class = &self.classes[asked.number];
        // SAFETY: it lies in a superslab, as the caller saw.
        let place = unsafe { slab::place_of(&class.size, address) };
        let kind = slab::kind_of(self.account, asked.number);
        // SAFETY: as above.
        place.is_start(&class.size) && unsafe { class::was_of(address, kind) }
    }

    /// The large block in use that an address lies in, if there is one.
    fn large_block<const CHECKS: u16>(&self, address: *mut u8) -> Option<LargeBlock> {
        let address = NonNull::new(address)?;
        let (start, bytes) = match self.large.find(address) {
            misuse::Found::Start(request) => (address, request.bytes),
            misuse::Found::Inside(block) => (block.start, block.bytes),
            misuse::Found::Freed(_) | misuse::Found::Nowhere => return None,
        };
        let asked = misuse::without_canary::<CHECKS>(misuse::Request { bytes, align: 1 });
        Some((start.as_ptr(), asked.bytes))
    }

    /// Start and bytes of the block of a class that an address lies in, if it lies in one, in use
    /// or free. The heap's terms come from [`checked`](crate::checked) with [`FOREIGN`], or none is
    /// found.
    pub fn block_at(&self, address: *mut u8) -> Option<(*mut u8, usize)> {
        let address = NonNull::new(address).filter(|at| address_map::contains(at.addr().get()))?;
        // SAFETY: it lies in a superslab.
        let found = unsafe { self.find(address) }?;
        Some((found.start.as_ptr(), found.class.size.bytes as usize))
    }
}

/// The fault of a free of an address in a block of some class.
fn judge_found<const CHECKS: u16>(asked: Asked, found: &Found) -> Option<Fault> {
    let (start, bytes) = (found.start.as_ptr(), found.class.size.bytes as usize);
    // SAFETY: headers are never unmapped.
    let slab = unsafe { found.place.slab.as_ref() };
    // SAFETY: `find` gives the start of a block of the slab's class.
    let is_free = || unsafe { slab.is_free(found.place) };
    if found.class.number != asked.number || start != asked.block {
        misfit::<CHECKS>(asked, start, bytes)
    } else if CHECKS & DOUBLE_FREE != 0 && is_free() {
        Some(Fault::DoubleFree { block: start.addr(), bytes })
    } else {
        None
    }
}

/// The fault of a free of an address in a block that is another than was asked for.
fn misfit<const CHECKS: u16>(asked: Asked, start: *mut u8, bytes: usize) -> Option<Fault> {
    let Asked { block, size, align, .. } = asked;
    if block != start {
        let inside = Fault::Inside { address: block.addr(), start: start.addr(), bytes };
        return (CHECKS & ALIGNMENT != 0).then_some(inside);
    }
    let layout = Fault::Layout { block: start.addr(), bytes, size, align };
    (CHECKS & SIZE != 0).then_some(layout)
}
