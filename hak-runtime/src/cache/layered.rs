//! Bins with spare chains behind them: half an array becomes a chain, and a chain half an array.
//!
//! Half, so that the next misses are half an array away in either direction. A thread needs one
//! array for each class it uses; what waits behind it costs no memory but the blocks' own.

use core::ptr::{self, NonNull};

use super::{Front, Slow};
use crate::bin::Bin;
use crate::chain;
use crate::depot::Depots;
use crate::large::Larges;
use crate::magazine::Magazine;
use crate::parcel::{HalfChain, Parcel};
use crate::spares::{Bound, Chains};

impl<B: Bound> Front for Bin<Chains<B>> {
    type Spares = Chains<B>;
    type Parcel = HalfChain;

    const NEW: Self = Bin::new();
    const NO_SPARES: Chains<B> = Chains::NONE;

    fn alloc<D: Depots<Parcel = HalfChain>, L: Larges>(slow: &Slow<'_, Self, D, L>) -> *mut u8 {
        if !slow.open() {
            let first_use = slow.front.loaded().is_none();
            let Some(loaded) = slow.front.loaded().or_else(|| slow.equip()) else {
                return slow.class.take_one();
            };
            // SAFETY: nothing is given for it.
            match slow.spares.pop().or_else(|| unsafe { slow.take_parcel(None) }) {
                Some(full) => slow.load_chain(loaded, full),
                None => slow.fill_from_slabs(loaded, first_use),
            }
        }
        if slow.front.is_empty() {
            return ptr::null_mut();
        }
        // SAFETY: it is not empty.
        unsafe { slow.front.pop() }
    }

    unsafe fn dealloc<D: Depots<Parcel = HalfChain>, L: Larges>(
        slow: &Slow<'_, Self, D, L>,
        block: NonNull<u8>,
    ) {
        // SAFETY: the block is ours.
        if unsafe { slow.keep_apart(block) } {
            return;
        }
        if let Some(loaded) = slow.front.loaded() {
            slow.unload_half(loaded);
        } else if slow.equip().is_none() {
            // SAFETY: the block is ours.
            return unsafe { slow.class.give_back(&[block.as_ptr()]) };
        }
        // SAFETY: there is room now, and the block is ours.
        unsafe { slow.front.push(block.as_ptr()) };
    }

    fn unload<D: Depots<Parcel = HalfChain>, L: Larges>(slow: &Slow<'_, Self, D, L>) {
        slow.unload_array();
        slow.unload_chains();
    }

    fn release<D: Depots<Parcel = HalfChain>, L: Larges>(
        slow: &Slow<'_, Self, D, L>,
    ) -> Option<NonNull<u8>> {
        slow.release_chain()
    }

    fn bound(spares: &Chains<B>) -> (&impl Bound, u8) {
        (spares.bound(), spares.held())
    }
}

impl<B: Bound, D: Depots<Parcel = HalfChain>, L: Larges> Slow<'_, Bin<Chains<B>>, D, L> {
    /// Makes a full chain the contents of the empty array.
    fn load_chain(&self, loaded: NonNull<Magazine>, full: NonNull<u8>) {
        let count = HalfChain::blocks(&self.class.size);
        // SAFETY: the array has at least as many slots as half of them, rounded up.
        let end = unsafe { Magazine::slots(loaded).add(count) };
        // SAFETY: the chain is ours; it has that many blocks, and the array the places.
        unsafe { chain::unlink(full, end) };
        self.front.load(loaded, self.slots(), count);
    }

    /// Makes a chain of the older half of a full array, and lets it wait.
    fn unload_half(&self, loaded: NonNull<Magazine>) {
        let (count, slots) = (HalfChain::blocks(&self.class.size), self.slots() as usize);
        let low = Magazine::slots(loaded);
        // SAFETY: a full array has a block in each slot.
        let older = unsafe { core::slice::from_raw_parts(low, count) };
        // SAFETY: the blocks are the bin's, which forgets them below.
        let chain = unsafe { chain::link(older, None) };
        // SAFETY: `count` is at most `slots`.
        let newer = unsafe { low.add(count) };
        // SAFETY: both ranges lie within the array.
        unsafe { ptr::copy(newer, low, slots - count) };
        self.front.load(loaded, self.slots(), slots - count);
        if let Some(chain) = chain {
            // SAFETY: the chain is full, and the bin has forgotten it.
            unsafe { self.put_aside(chain) };
        }
    }
}
